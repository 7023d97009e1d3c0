"""Matrices: ldmatrix, stmatrix, movmatrix, mma, wmma (PTX ISA: Warp Level Matrix Instructions)."""

import re
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import InstructionError
from simlayout.hardware import sparse_mma
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.engine.matrices import load_matrices, mma, moved, store_matrices
from simlayout.machine.engine.warp import matrix_rows
from simlayout.machine.engine.wmma import Matrix, SharedTile, product
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.groups import address, elements, number, put, results, sources
from simlayout.machine.ptx.opcodes.memory import Bounds
from simlayout.machine.ptx.opcodes.rows import Place
from simlayout.machine.ptx.opcodes.warps import everyone

_SHAPE = re.compile(r"m\d+n\d+(k\d+)?")
_SPARSE = {"sp", "sp::ordered_metadata"}
_PLAIN = {"sync", "aligned", "shared", "shared::cta", "global", "row", "col", "rn"}


def _shape(modifiers):
    return next((m for m in modifiers if _SHAPE.fullmatch(m)), "")


def _types(modifiers):
    return tuple(m for m in modifiers if m in TYPES)


def _suffix(modifiers):
    """.satfinite, or how bits multiply, as `simlayout.numerics` writes them."""
    if "popc" in modifiers:
        return ".xor.popc" if "xor" in modifiers else ".and.popc"
    return ".satfinite" if "satfinite" in modifiers else ""


def _form(instruction, operand):
    """(name, count) of an ldmatrix or stmatrix: "ldmatrix.x2.trans"; operand: its registers."""
    modifiers = instruction.modifiers
    count = next((int(m[1:]) for m in modifiers if re.fullmatch("x[124]", m)), 0)
    if _shape(modifiers) != "m8n8" or modifiers[-1] != "b16":
        raise InstructionError(f"the machine has {instruction.opcode} of .m8n8 and .b16")
    if count != len(elements(operand)):
        raise InstructionError(f"{len(elements(operand))} registers")
    return f"{instruction.opcode}.x{count}{'.trans' if 'trans' in modifiers else ''}"


@dataclass(frozen=True, slots=True)
class Matrices:
    """ldmatrix as data. name: as it is counted; base, offset: the row of the address, of 32 bits, and bytes to add;
    registers: the Places that it loads; within: the Bounds of its address, or None."""

    name: str
    base: int
    offset: int
    registers: tuple[Place, ...]
    within: Bounds | None


@dataclass(frozen=True, slots=True)
class Product:
    """mma as data: name: as `simlayout.numerics` has it; registers: the Places of D; operands: those of A, B and C."""

    name: str
    registers: tuple[Place, ...]
    operands: tuple[Place, ...]


def ldmatrix(instruction, names):
    """ldmatrix: 8 x 8 matrices of b16 from shared memory."""
    target, place = instruction.operands
    name, where, wanted = _form(instruction, target), address(place, names), results(target, "b32", names)
    generic, givers = "shared" not in instruction.spaces, np.arange(LANES) < matrix_rows(name)

    def run(warp):
        rows = warp.in_shared(where(warp), generic, name)
        if warp.fits(rows, 16, "reads", givers):
            put(warp, wanted, load_matrices(warp, name, rows))

    within, matrices = names.bounds(place), None
    if not generic and (not isinstance(place.base, syntax.Register) or width_of(place.base.type) == 32):
        matrices = Matrices(name, *names.address(place), tuple(wanted), within)
    return {"run": run, "together": everyone, "within": within, "matrices": matrices}


def stmatrix(instruction, names):
    """stmatrix: 8 x 8 matrices of b16 to shared memory."""
    place, values = instruction.operands
    name, where, given = _form(instruction, values), address(place, names), sources(values, "b32", names)
    generic, givers = "shared" not in instruction.spaces, np.arange(LANES) < matrix_rows(name)

    def run(warp):
        rows = warp.in_shared(where(warp), generic, name)
        if warp.fits(rows, 16, "writes", givers):
            store_matrices(warp, name, rows, given(warp))

    return {"run": run, "together": everyone, "within": names.bounds(place)}


def movmatrix(instruction, names):
    """movmatrix: the transpose of an 8 x 8 matrix of b16 across the warp."""
    target, value = instruction.operands
    wanted, given = results(target, "b32", names), sources(value, "b32", names)
    return {"run": lambda warp: put(warp, wanted, [moved(*given(warp))]), "together": everyone}


def matrix_product(instruction, names):
    """mma: every one of `simlayout.numerics`."""
    modifiers = instruction.modifiers
    types, shape, sparse = _types(modifiers), _shape(modifiers), _SPARSE & set(modifiers)
    strange = set(modifiers) - _PLAIN - _SPARSE - {shape, *types, "satfinite", "xor", "and", "popc"}
    if strange:
        raise InstructionError(f"the machine has no .{', .'.join(sorted(strange))}")
    layouts = tuple(m for m in modifiers if m in ("row", "col"))
    if (shape, types[1:2]) == ("m8n8k4", ("f16",)) or layouts != ("row", "col"):
        raise InstructionError("no tensor core since sm_80 has it, and the order of its sums is not "
                               "established")
    name = "mma.sp." * bool(sparse) + ".".join((shape, *types)) + _suffix(modifiers)
    if sparse:
        return _sparse_product(instruction, names, name, types)
    made = _product_of(instruction, names, mma(name), types)
    target, *operands = instruction.operands
    given = [names.source(one, TYPES[type].register) for group, type in zip(operands, types[1:]) for one in elements(group)]
    return made | {"product": Product(name, tuple(results(target, TYPES[types[0]].register, names)), tuple(given))}


def _sparse_product(instruction, names, name, types):
    """mma.sp: its last operands are the metadata and the sparsity selector."""
    *operands, selector = instruction.operands
    without = replace(instruction, operands=tuple(operands))
    return _product_of(without, names, mma(name, sparse_mma(name).check_selector(selector.value)), (*types, "b32"))


def _product_of(instruction, names, multiply, types):
    """The step of a product; types: of its operands: D, A, B, C, and metadata."""
    target, *operands = instruction.operands
    wanted = results(target, TYPES[types[0]].register, names)
    for one, count in zip(instruction.operands, multiply.registers, strict=True):
        if len(elements(one)) != count:
            raise InstructionError(f"{len(elements(one))} registers where it has {count}")
    given = [sources(operand, TYPES[type].register, names) for operand, type in zip(operands, types[1:])]

    def run(warp):
        put(warp, wanted, multiply(*chain.from_iterable(part(warp) for part in given)))

    return {"run": run, "together": everyone}


# ---- wmma ------------------------------------------------------------------------------------------------------------


class ArrayTile(SharedTile):
    """A matrix in shared memory, which is told of where it leaves the array that it is in."""

    def rows(self, name, offsets):
        """As of SharedTile."""
        self.warp.stays_within(self.address + offsets, 16, "reads", np.arange(LANES) < matrix_rows(name))
        return super().rows(name, offsets)

    def read(self, offsets, nbytes):
        """As of SharedTile."""
        self.warp.stays_within(self.address + offsets, nbytes, "reads")
        return super().read(offsets, nbytes)

    def write(self, offsets, data):
        """As of SharedTile."""
        self.warp.stays_within(self.address + offsets, data.shape[1], "writes")
        super().write(offsets, data)


class SpaceTile:
    """A matrix in global memory, or at a generic address (see `simlayout.machine.engine.wmma`)."""

    matrices = False

    def __init__(self, warp, space, addresses):
        self.warp, self.space, self.addresses = warp, space, addresses

    def where(self):
        """The address in every lane."""
        return self.addresses

    def read(self, offsets, nbytes):
        """uint8 [32, nbytes]."""
        return self.warp.load(self.space, self.addresses + offsets.astype("u8"), nbytes)

    def write(self, offsets, data):
        """Stores uint8 [32, nbytes]."""
        self.warp.store(self.space, self.addresses + offsets.astype("u8"), data)


def wmma(instruction, names):
    """wmma.load, wmma.store, wmma.mma."""
    modifiers = instruction.modifiers
    if modifiers[0] == "mma":
        return _wmma_product(instruction, names)
    operand, dtype = modifiers[1], modifiers[-1]
    layout = "row" if "row" in modifiers else "col"
    matrix = Matrix(_shape(modifiers), f"{modifiers[0]}.{operand}", dtype, layout)
    space, stores = "".join(instruction.spaces), modifiers[0] == "store"
    first, second, *stride = instruction.operands
    place, values = (first, second) if stores else (second, first)
    where, type = address(place, names), TYPES[dtype].register
    lines = number(*stride, names) if stride else (lambda warp: matrix.fragment.shape[matrix.along])
    if len(elements(values)) != matrix.fragment.registers:
        raise InstructionError(f"{len(elements(values))} registers, and it has "
                               f"{matrix.fragment.registers}")

    def tile(warp):
        if space == "shared":
            return ArrayTile(warp, warp.in_shared(where(warp), False, instruction.name))
        return SpaceTile(warp, space, where(warp))

    if stores:
        given = sources(values, type, names)
        return {"run": lambda warp: matrix.store(tile(warp), lines(warp), given(warp)), "together": everyone,
                "within": names.bounds(place)}
    wanted = results(values, type, names)
    return {"run": lambda warp: put(warp, wanted, matrix.load(tile(warp), lines(warp))), "together": everyone,
            "within": names.bounds(place)}


def _wmma_product(instruction, names):
    modifiers = instruction.modifiers
    types, layouts = _types(modifiers), [m for m in modifiers if m in ("row", "col")]
    if len(types) == 2:                                  # of f16 those of D and C alone are written
        types = types[0], "f16", "f16", types[1]
    return _product_of(instruction, names, product(_shape(modifiers), *layouts, types, _suffix(modifiers)), types)


MATRIX = {"ldmatrix": ldmatrix, "stmatrix": stmatrix, "movmatrix": movmatrix, "mma": matrix_product, "wmma": wmma}
