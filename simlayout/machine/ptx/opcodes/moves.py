"""mov, cvta and their like: values that move between registers, vectors taken apart and put together."""

from functools import partial

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.memory.space import LOCAL, PARAMETERS, SHARED, WINDOW
from simlayout.machine.ptx.opcodes.lanewise import computed
from simlayout.machine.ptx.opcodes.rows import Place, same

_WINDOWS = {"shared": SHARED, "shared::cta": SHARED, "shared::cluster": SHARED, "local": LOCAL, "param": PARAMETERS,
            "param::entry": PARAMETERS, "global": 0, "const": 0}

CLOCKS = {"%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"}
"""Special registers that grow while the program runs."""


def mov(instruction, names):
    """mov: one register, a vector taken apart or put together, an address, or a clock (PTX ISA: mov)."""
    target, value = instruction.operands
    type = instruction.modifiers[-1]
    if isinstance(value, syntax.Special) and value.name in CLOCKS:
        return _clock(target, value.name, type, names)
    if type == "b128":
        return _wide(target, value, names)
    if isinstance(target, syntax.Vector):
        return _apart(target, names.source(value, type), names)
    if isinstance(value, syntax.Vector):
        return _together(names.result(target, type), value, names)
    plain = type if type == "pred" else f"b{width_of(type)}"
    return computed("mov", same, [names.result(target, plain)], [names.source(value, plain)])


def _clock(target, name, type, names):
    row, shift = names.result(target, type).row, np.uint64(32 if name.endswith("_hi") else 0)
    mask = np.uint64((1 << width_of(type)) - 1)

    def run(warp):
        warp.put_bits(row, np.full(32, np.uint64(warp.clock()) >> shift & mask))

    return {"run": run, "clock": row}


def _parts(vector, bits):
    """(type of a part, where each begins) of a register of so many bits."""
    part = bits // len(vector.operands)
    return f"b{part}", [part * i for i in range(len(vector.operands))]


def _apart(target, source, names):
    part, shifts = _parts(target, source.held)
    results = [names.result(operand, part) for operand in target.operands]

    def split(whole):
        return [whole >> np.uint64(shift) for shift in shifts]

    return computed(f"mov.{len(shifts)}.from.b{source.held}", split, results, [source])


def _together(result, vector, names):
    part, shifts = _parts(vector, result.held)
    sources = [names.source(operand, part) for operand in vector.operands]
    return computed(f"mov.{len(shifts)}.to.b{result.held}", partial(_joined, shifts), [result], sources)


def _joined(shifts, *parts):
    total = parts[0].copy()
    for one, shift in zip(parts[1:], shifts[1:]):
        total |= one << np.uint64(shift)
    return total


def _wide(target, value, names):
    """mov.b128: between two rows and a vector, or two rows."""
    if isinstance(target, syntax.Vector):
        results = [names.result(operand, "b64") for operand in target.operands]
        return computed("mov.b128", _copies, results, names.wide(value))
    if isinstance(value, syntax.Vector):
        halves = [names.source(operand, "b64") for operand in value.operands]
        return computed("mov.b128", _copies, names.wide(target), halves)
    return computed("mov.b128", _copies, names.wide(target), names.wide(value))


def _copies(low, high):
    return low.copy(), high.copy()


def cvta(instruction, names):
    """cvta, cvta.to: between addresses in a space and generic ones (PTX ISA: cvta)."""
    *_, space, type = instruction.modifiers
    target, value = instruction.operands
    start = _WINDOWS.get(space)
    if start is None:
        raise MachineError(f"cvta of {space}: the machine has {', '.join(_WINDOWS)}")
    step = -start if "to" in instruction.modifiers else start
    distance = Place(names.lowering.constant(step & (1 << 64) - 1), "u64", 64)
    return computed("add.u64", np.add, [names.result(target, type)], [names.source(value, type), distance])


def isspacep(instruction, names):
    """isspacep: whether a generic address lies in a space (PTX ISA: isspacep)."""
    space, (target, value) = instruction.modifiers[0], instruction.operands
    start = _WINDOWS[space]
    if start:
        def inside(at):
            return (at >= np.uint64(start)) & (at < np.uint64(start + WINDOW))
    else:
        def inside(at):
            return (at < np.uint64(PARAMETERS)) | (at >= np.uint64(SHARED + WINDOW))
    return computed(f"isspacep.{space}", inside, [names.result(target, "pred")], [names.source(value, "u64")])


MOVES = {"mov": mov, "cvta": cvta, "isspacep": isspacep}
