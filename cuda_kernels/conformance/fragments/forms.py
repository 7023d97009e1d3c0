"""Every instruction that has fragments, as one asm statement from memory to memory.

An instruction takes its registers from memory and leaves its results there, so that one small kernel serves every form
and the host alone says what goes in. Operands of the statement: $0 the lane's 16 bytes of shared memory (u32), $1 where
the results go, $2, $3, $4 where three inputs lie (u64, global).
"""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from cuda_kernels.conformance.fragments.bits import (
    from_memory,
    from_registers,
    register_bytes,
    to_memory,
    to_numbers,
    to_patterns,
    to_registers,
)
from cuda_kernels.intrinsics.mma import mma_sync
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware.matrix.fragments import fragment
from simlayout.hardware.matrix.sparse import metadata_nibbles, sparse_mma, stored_columns
from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.mma import QUAD_PAIR_MMAS

LANE = np.arange(LANES)
SHARED_BYTES = 16 * LANES


@dataclass(frozen=True)
class Registers:
    """`count` registers of every lane in memory: register r of lane l is at byte (l * count + r) * width."""

    count: int
    width: int = 4

    @property
    def bytes(self):
        return LANES * self.count * self.width

    @property
    def lane_bytes(self):
        return self.count * self.width


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory, which all lanes address alike: `lines` of `length` elements that lie `stride` elements apart."""

    lines: int
    length: int
    dtype: str
    lane_bytes = 0

    @property
    def stride(self):
        """Elements: 64 bytes more than a line has, so that a wrong stride shows."""
        return self.length + 512 // TYPES[self.dtype].bits

    @property
    def bytes(self):
        return -(-self.lines * self.stride * TYPES[self.dtype].bits // 8 // 128) * 128


NOTHING = Registers(0)


@dataclass(frozen=True)
class Form:
    """One instruction. text: the asm statement; out: what it writes; inputs: what it reads, at most three;
    twin: the same on the CPU machine, called as twin(warp, shared, out, a, b, c)."""

    name: str
    text: str
    out: object
    inputs: tuple
    twin: object

    def input(self, i):
        """Input i, or NOTHING."""
        return self.inputs[i] if i < len(self.inputs) else NOTHING


def _names(prefix, registers):
    return [f"{prefix}{r}" for r in range(registers.count)]


def vector(prefix, registers):
    """The registers as PTX lists them: {a0, a1}."""
    return "{" + ", ".join(_names(prefix, registers)) + "}"


def _declared(prefix, registers):
    return f".reg .b{8 * registers.width} {', '.join(_names(prefix, registers))};"


def _loaded(prefix, registers, address):
    moves = (f"ld.global.b{8 * registers.width} {name}, [{address}+{registers.width * r}];"
             for r, name in enumerate(_names(prefix, registers)))
    return f"{_declared(prefix, registers)} {' '.join(moves)}"


def _stored(prefix, registers):
    return " ".join(f"st.global.b{8 * registers.width} [$1+{registers.width * r}], {name};"
                    for r, name in enumerate(_names(prefix, registers)))


def register_text(instruction, out, inputs):
    """The statement around an instruction that names its registers d0.., a0.., b0.. and c0.."""
    loads = " ".join(_loaded(prefix, registers, f"${i}") for i, (prefix, registers) in enumerate(zip("abc", inputs), 2))
    return f"{{ {_declared('d', out)} {loads} {instruction} {_stored('d', out)} }}"


# ---- the CPU machine's side --------------------------------------------------------------------------------------------

def _read(warp, pointer, registers):
    """uint8 [bytes]: what the lanes' registers hold in memory."""
    return pointer.read(warp.active, registers.lane_bytes, alignment=registers.width).reshape(-1)


def _write(warp, pointer, registers, block):
    pointer.write(warp.active, block.reshape(LANES, -1), alignment=registers.width)


def _read_matrix(warp, pointer, matrix):
    """int64 [lines, stride]: the elements of a matrix in memory, with what lies between its lines."""
    parts = [(pointer + 128 * i + 4 * LANE).read(warp.active, 4) for i in range(matrix.bytes // 128)]
    elements = from_memory(np.concatenate(parts).reshape(-1), matrix.dtype)
    return elements[:matrix.lines * matrix.stride].reshape(matrix.lines, matrix.stride)


def _write_matrix(warp, pointer, matrix, elements):
    block = to_memory(elements.reshape(-1), matrix.dtype)
    for i, part in enumerate(np.pad(block, (0, matrix.bytes - len(block))).reshape(-1, LANES, 4)):
        (pointer + 128 * i + 4 * LANE).write(warp.active, part)


@cache
def _places(frag):
    return tuple(np.moveaxis(frag.coordinates(), -1, 0))


def _scattered(frag, elements):
    """int64 [rows, cols] of elements [32, values] by their fragment."""
    matrix = np.zeros(frag.shape, np.int64)
    matrix[_places(frag)] = elements
    return matrix


def _gathered(frag, matrix):
    """`_scattered` backwards."""
    return matrix[_places(frag)]


# ---- mma and mma.sp ----------------------------------------------------------------------------------------------------

def registers_of(frag):
    """The Registers of a Fragment."""
    return Registers(frag.registers, register_bytes(frag.dtype))


def mma_form(name):
    """A dense mma, the very instruction of `cuda_kernels.intrinsics.mma.mma_sync`: inputs A, B and C."""
    instruction = mma_sync(name)
    groups = [registers_of(fragment(name, operand)) for operand in "DABC"]
    names = [n for prefix, registers in zip("dabc", groups) for n in _names(prefix, registers)]
    text = re.sub(r"\$(\d+)", lambda match: names[int(match[1])], instruction.text)

    def twin(warp, shared, out, a, b, c):
        words = [_read(warp, p, r).reshape(LANES, r.count, r.width) for p, r in zip((a, b, c), groups[1:])]
        words = np.ascontiguousarray(np.concatenate(words, axis=1).swapaxes(0, 1))
        results = instruction.twin(warp, *(_typed(word, kind) for word, kind in zip(words, instruction.operands)))
        raw = [_raw(x, kind) for x, kind in zip(results, instruction.results)]
        _write(warp, out, groups[0], np.concatenate(raw, axis=1))

    return Form(name, register_text(text, groups[0], groups[1:]), groups[0], tuple(groups[1:]), twin)


def _typed(block, kind):
    """uint8 [32, 4 or 8] -> a register of 32 lanes as twins take it."""
    row = TYPES[kind]
    return block.view(row.plain)[:, 0] if row.exponent else block.view(np.uint32)[:, 0].astype(np.int64)


def _raw(register, kind):
    """`_typed` backwards."""
    row = TYPES[kind]
    return np.broadcast_to(register, LANES).astype(row.plain if row.exponent else np.uint32)[:, None].view(np.uint8)


def quad_pair_form(name):
    """An mma.m8n8k4 of f16: inputs A, B and C, stacks of four."""
    mma = QUAD_PAIR_MMAS[name]
    frags = {operand: fragment(name, operand) for operand in "ABCD"}

    def product(numbers, _):
        a, b, c = (numbers[o].reshape(mma.matrices, -1, numbers[o].shape[-1]) for o in "ABC")
        return (a @ b + c).reshape(numbers["C"].shape)

    return _register_form(name, f"{mma.opcode} {{d}}, {{a}}, {{b}}, {{c}};", frags, product)


def sparse_form(name, selector):
    """An mma.sp: inputs A (as it is stored), B, and C followed by the metadata register."""
    mma = sparse_mma(name)
    frags = {operand: fragment(name, operand) for operand in "ABCD"}

    def product(numbers, metadata):
        columns = stored_columns(metadata_nibbles(name, metadata, selector), mma.pattern.name)
        a = np.zeros((mma.m, mma.k))
        np.put_along_axis(a, columns, numbers["A"], axis=1)
        return a @ numbers["B"] + numbers["C"]

    instruction = f"{mma.opcode} {{d}}, {{a}}, {{b}}, {{c}}, c{frags['C'].registers}, {selector};"
    return _register_form(f"{name} selector {selector}", instruction, frags, product, extra=1)


def _register_form(name, instruction, frags, product, extra=0):
    """A Form of an instruction on registers; product: {operand: numbers}, the extra registers of C -> D as numbers."""
    out, a, b, c = (registers_of(frags[o]) for o in "DABC")
    with_extra = Registers(c.count + extra, c.width)
    text = register_text(instruction.format(**{p: vector(p, r) for p, r in zip("dabc", (out, a, b, c))}), out,
                         (a, b, with_extra))

    def twin(warp, shared, results, a_at, b_at, c_at):
        c_block = _read(warp, c_at, with_extra).reshape(LANES, -1)
        metadata = np.ascontiguousarray(c_block[:, c.lane_bytes:]).view(np.uint32).reshape(-1)
        blocks = _read(warp, a_at, a), _read(warp, b_at, b), c_block[:, :c.lane_bytes].reshape(-1)
        numbers = {o: to_numbers(_scattered(frags[o], from_registers(block, frags[o].dtype)), frags[o].dtype)
                   for o, block in zip("ABC", blocks)}
        d = to_patterns(product(numbers, metadata), frags["D"].dtype)
        _write(warp, results, out, to_registers(_gathered(frags["D"], d), frags["D"].dtype))

    return Form(name, text, out, (a, b, with_extra), twin)


# ---- wmma ----------------------------------------------------------------------------------------------------------------

def wmma_matrix(name, operand):
    """The Matrix that a wmma.load reads or a wmma.store writes, in the layout that its name says."""
    frag = fragment(name, operand)
    rows, cols = frag.shape if name.endswith(".row") else frag.shape[::-1]
    return Matrix(rows, cols, frag.dtype)


def wmma_form(name, operand):
    """A wmma.load (from a matrix to registers) or wmma.store (back)."""
    frag, matrix = fragment(name, operand), wmma_matrix(name, operand)
    registers = registers_of(frag)
    _, shape, dtype, layout = name.split(".")
    opcode = f"wmma.{operand}.sync.aligned.{layout}.{shape}.global.{dtype}"
    by_rows = layout == "row"

    def load(warp, shared, out, pointer, _b, _c):
        elements = _read_matrix(warp, pointer, matrix)[:, :matrix.length]
        _write(warp, out, registers, to_registers(_gathered(frag, elements if by_rows else elements.T), dtype))

    def store(warp, shared, out, pointer, _b, _c):
        elements = _scattered(frag, from_registers(_read(warp, pointer, registers), dtype))
        lines = np.pad(elements if by_rows else elements.T, ((0, 0), (0, matrix.stride - matrix.length)))
        _write_matrix(warp, out, matrix, lines)

    if operand == "store.d":
        text = f"{{ {_loaded('a', registers, '$2')} {opcode} [$1], {vector('a', registers)}, {matrix.stride}; }}"
        return Form(f"{name} {operand}", text, matrix, (registers,), store)
    text = (f"{{ {_declared('d', registers)} {opcode} {vector('d', registers)}, [$2], {matrix.stride};"
            f" {_stored('d', registers)} }}")
    return Form(f"{name} {operand}", text, registers, (matrix,), load)


# ---- ldmatrix, stmatrix, movmatrix -------------------------------------------------------------------------------------

ROWS = Registers(1, 16)
"""16 bytes per lane: the rows of ldmatrix and stmatrix, lane l has row l."""

_BAR = "bar.warp.sync 0xffffffff;"


def matrix_form(name):
    """An ldmatrix (from ROWS to registers) or a stmatrix (from registers to ROWS), by way of shared memory."""
    frag = fragment(name)
    registers = registers_of(frag)
    op, count, *trans = name.split(".")
    opcode = ".".join([f"{op}.sync.aligned.m8n8", count, *trans, "shared.b16"])
    rows = 8 * int(count[1])
    quad = "{r0, r1, r2, r3}"

    def load(warp, shared, out, pointer, _b, _c):
        warp.shared_store("st.shared.b128", shared, pointer.read(warp.active, 16))
        warp.sync()
        elements = warp.shared_rows(name, shared).view(np.uint16).astype(np.int64)
        warp.sync()
        _write(warp, out, registers, to_registers(_gathered(frag, elements), "b16"))

    def store(warp, shared, out, pointer, _b, _c):
        warp.shared_store("st.shared.b128", shared, np.zeros((LANES, 16), np.uint8))
        warp.sync()
        elements = _scattered(frag, from_registers(_read(warp, pointer, registers), "b16"))
        warp.shared_store_rows(name, shared, to_memory(elements, "b16").reshape(rows, 16))
        warp.sync()
        out.write(warp.active, warp.shared_load("ld.shared.b128", shared, 16))
        warp.sync()

    if op == "stmatrix":
        text = (f"{{ .reg .b32 r0, r1, r2, r3, z; mov.b32 z, 0; {_loaded('a', registers, '$2')}"
                f" st.shared.v4.b32 [$0], {{z, z, z, z}}; {_BAR} {opcode} [$0], {vector('a', registers)}; {_BAR}"
                f" ld.shared.v4.b32 {quad}, [$0]; st.global.v4.b32 [$1], {quad}; {_BAR} }}")
        return Form(name, text, ROWS, (registers,), store)
    text = (f"{{ .reg .b32 r0, r1, r2, r3; {_declared('d', registers)} ld.global.v4.b32 {quad}, [$2];"
            f" st.shared.v4.b32 [$0], {quad}; {_BAR} {opcode} {vector('d', registers)}, [$0]; {_BAR}"
            f" {_stored('d', registers)} }}")
    return Form(name, text, registers, (ROWS,), load)


def movmatrix_form():
    """movmatrix, from one register to another."""
    source, target = fragment("movmatrix.trans", "A"), fragment("movmatrix.trans", "D")
    one = Registers(1)

    def twin(warp, shared, out, pointer, _b, _c):
        elements = _scattered(source, from_registers(_read(warp, pointer, one), "b16"))
        _write(warp, out, one, to_registers(_gathered(target, elements), "b16"))

    return Form("movmatrix.trans", register_text("movmatrix.sync.aligned.m8n8.trans.b16 d0, a0;", one, (one,)), one,
                (one,), twin)
