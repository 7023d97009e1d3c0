"""Groups of registers `{a, b, ...}`, and addresses in brackets, as instructions of many registers take them."""

import numpy as np

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.rows import reader

ALL_BITS = (1 << 64) - 1


def elements(operand):
    """The operands of a vector, or the operand itself as a tuple."""
    return operand.operands if isinstance(operand, syntax.Vector) else (operand,)


def sources(operand, type, names):
    """What gives the carriers of a group that is read, a list, of a warp."""
    given = [(place.row, reader(place)) for place in (names.source(one, type) for one in elements(operand))]
    return lambda warp: [read(warp.rows[row]) for row, read in given]


def results(operand, type, names):
    """The Places of a group that is written."""
    return [names.result(one, type) for one in elements(operand)]


def put(warp, places, carriers):
    """Writes carriers to `results`."""
    for place, carrier in zip(places, carriers, strict=True):
        warp.give(place, np.asarray(carrier))


def number(operand, names, type="s32"):
    """What gives the carrier [32] of a register or a number, of a warp."""
    place = names.source(operand, type)
    row, read = place.row, reader(place)
    return lambda warp: read(warp.rows[row])


def address(operand, names):
    """What gives the addresses of an operand in brackets, uint64 [32], of a warp."""
    row, offset = names.address(operand)
    distance = np.uint64(offset & ALL_BITS)
    return lambda warp: warp.rows[row] + distance


def generic_address(operand, names):
    """The same where the name of a variable or parameter means its generic address."""
    if not isinstance(operand.base, syntax.Symbol):
        return address(operand, names)
    row = names.lowering.constant(names.generic(operand.base) + operand.offset)
    return lambda warp: warp.rows[row]


def window(instruction):
    """The window of memory that an instruction names: "shared" for that of the cluster, "" for generic addresses."""
    return "shared" if instruction.names_shared else "".join(instruction.spaces)
