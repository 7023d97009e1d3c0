"""wmma of 16 x 16 x 16 (PTX ISA: wmma.load, wmma.mma, wmma.store): a warp's tiles by their address and stride alone.

PTX keeps the fragments opaque; the twins hold them as an sm_90 does (`hardware.matrix.wmma`), and touch memory with the
instructions that ptxas makes for sm_90 (13.4; a test compares): of A or B from shared memory one ldmatrix.x4, with .trans
where the memory's order is not the fragment's; else loads and stores of 4 bytes per lane, or 8 where two f32 are neighbours.
"""

import inspect
from functools import lru_cache

import numpy as np

from cuda_kernels.intrinsics.instruction import Instruction
from cuda_kernels.intrinsics.mma import mma_sync
from cuda_kernels.intrinsics.shared import _bytes, _collected, _distribute, _registers, _transposed
from simlayout.errors import AddressError, InstructionError
from simlayout.hardware import fragment
from simlayout.hardware.tables.arch import LANES

SHAPE = "m16n16k16"

ALIGNED = 32
"""Bytes: the address of a matrix is a multiple of it, a row or column of 16 halves (PTX ISA: wmma.load, alignment)."""

BLOCKS = 4
"""8 x 8 blocks of a matrix: a register of 16-bit elements, or two of f32, holds one."""


@lru_cache(None)
def wmma_load(operand, dtype, layout, space="shared"):
    """The instruction that loads a 16 x 16 matrix: `load(address, stride)` in a kernel gives its registers.

    operand: "a", "b" or "c"; dtype: "f16" or "bf16", of C "f16" or "f32"; layout: "row" or "col", which of its lines are
    contiguous; space: "shared" (a u32 address) or "global" (u64). stride: elements from one line to the next. Address and
    stride are the same in all lanes; the address is 32-byte aligned, the stride a multiple of 16 bytes.

    >>> wmma_load("b", "f16", "col").text
    'wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, [$8], $9;'
    """
    matrix = _Matrix(operand, dtype, layout, space, f"load.{operand}")
    f, n = matrix.fragment, matrix.fragment.registers
    text = (f"wmma.load.{operand}.sync.aligned.{layout}.{SHAPE}.{space}.{dtype} "
            f"{{{', '.join(f'${i}' for i in range(n))}}}, [${n}], ${n + 1};")

    def twin(warp, address, stride):
        return tuple(matrix.load(warp, address, stride) * f.copies)

    return Instruction(f"wmma_load_{operand}_{dtype}_{layout}_{space}", text, ("f32" if dtype == "f32" else "b32",) * n,
                       (matrix.address, "s32"), twin, converged=True)


@lru_cache(None)
def wmma_store(dtype, layout, space="shared"):
    """The instruction that stores D: `store(address, stride, *registers)` in a kernel; the rest as of `wmma_load`.

    >>> wmma_store("f32", "row").text
    'wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [$0], {$2, $3, $4, $5, $6, $7, $8, $9}, $1;'
    """
    matrix = _Matrix("d", dtype, layout, space, "store.d")
    n = matrix.fragment.registers
    text = (f"wmma.store.d.sync.aligned.{layout}.{SHAPE}.{space}.{dtype} [$0], "
            f"{{{', '.join(f'${i + 2}' for i in range(n))}}}, $1;")

    def twin(warp, address, stride, *registers):
        matrix.store(warp, address, stride, registers)

    twin.__signature__ = _signature("address", "stride", *(f"d{i}" for i in range(n)))
    return Instruction(f"wmma_store_{dtype}_{layout}_{space}", text, (),
                       (matrix.address, "s32", *("f32" if dtype == "f32" else "b32",) * n), twin, converged=True)


@lru_cache(None)
def wmma_mma(a_layout="row", b_layout="col", dtype="f16", result="f32"):
    """The instruction D = A B + C: `mma(*registers of A, of B, of C)` in a kernel gives those of D. On sm_90 it is two
    mma.m16n8k16 on the registers as they are.

    >>> wmma_mma(dtype="bf16").text[:69]
    'wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {$0, $1, $2'
    """
    kinds = [fragment(f"wmma.{SHAPE}.{dtype}.{layout}", f"load.{x}") for x, layout in (("a", a_layout), ("b", b_layout))]
    count_a, count_b = (f.registers for f in kinds)
    count_c = 8 if result == "f32" else 4
    types = f"{result}.{result}" if dtype == "f16" else f"{result}.{dtype}.{dtype}.{result}"
    groups, first = [], 0
    for count in (count_c, count_a, count_b, count_c):
        groups.append("{" + ", ".join(f"${i}" for i in range(first, first + count)) + "}")
        first += count
    half, kind = mma_sync(f"m16n8k16.{result}.{dtype}.{dtype}.{result}"), "f32" if result == "f32" else "b32"

    def twin(warp, *registers):
        a, b, c = registers[:4], registers[count_a:count_a + 4], registers[count_a + count_b:]
        first, second = c[:count_c // 2], c[count_c // 2:]
        return (*half.twin(warp, *a, *b[:2], *first), *half.twin(warp, *a, *b[2:], *second))

    counts = ("a", count_a), ("b", count_b), ("c", count_c)
    twin.__signature__ = _signature(*(f"{x}{i}" for x, count in counts for i in range(count)))
    return Instruction(f"wmma_mma_{a_layout}_{b_layout}_{dtype}_{result}",
                       f"wmma.mma.sync.aligned.{a_layout}.{b_layout}.{SHAPE}.{types} {', '.join(groups)};",
                       (kind,) * count_c, ("b32",) * (count_a + count_b) + (kind,) * count_c, twin, ordered=False,
                       converged=True)


class _Matrix:
    """A 16 x 16 matrix in memory, and who holds what of it."""

    def __init__(self, operand, dtype, layout, space, name):
        kinds = ("f16", "bf16") if operand in "ab" else ("f16", "f32")
        if dtype not in kinds or layout not in ("row", "col") or space not in ("shared", "global"):
            raise InstructionError(f"wmma {name} of {dtype}, {layout}, {space}: types are {' and '.join(kinds)}, layouts "
                                   "row and col, spaces shared and global")
        self.fragment, self.shared = fragment(f"wmma.{SHAPE}.{dtype}.{layout}", name), space == "shared"
        self.address = "u32" if self.shared else "u64"
        self.size, self.along = 4 if dtype == "f32" else 2, 1 if layout == "row" else 0      # the contiguous axis
        values = self.fragment.coordinates()[:, :2 * BLOCKS]
        self.origins = values[0, ::2]                    # of the blocks, (row, column)
        self.pairs = int(np.argmax(values[0, 1] - values[0, 0]))
        self.matrices = operand in "ab" and self.shared
        self.turned = self.pairs != self.along

    def load(self, warp, address, stride):
        """[registers]: of 16 bits a block each, of f32 two per block."""
        base = self._checked(address, stride)
        if self.matrices:
            rows = warp.shared_rows(f"ldmatrix.x4{'.trans' if self.turned else ''}", _moved(base, self._rows(stride)))
            return list(_distribute(_transposed(rows) if self.turned else rows))
        if self.size == 4:
            found = []
            for offsets in self._words(stride):
                data = self._read(warp, base, offsets)
                found += [np.ascontiguousarray(data).view(np.float32)[:, i] for i in range(data.shape[1] // 4)]
            return found
        found = [_registers(self._read(warp, base, offsets))[0] for offsets in self._words(stride)]
        return [_turned(r) for r in found] if self.turned else found

    def store(self, warp, address, stride, registers):
        base, each = self._checked(address, stride), iter(registers)
        for offsets in self._words(stride):
            if self.size == 4:
                data = _bytes(*(np.asarray(next(each), np.float32) for _ in range(1 if self.turned else 2)))
            else:
                register = next(each)
                data = _bytes(_turned(register) if self.turned else register)
            if self.shared:
                warp.shared_store(f"st.shared.b{8 * data.shape[1]}", _moved(base, offsets), data)
            else:
                (base + offsets).write(warp.active, data)

    def _read(self, warp, base, offsets):
        nbytes = 8 if self.size == 4 and not self.turned else 4
        if self.shared:
            return warp.shared_load(f"ld.shared.b{8 * nbytes}", _moved(base, offsets), nbytes)
        return (base + offsets).read(warp.active, nbytes)

    def _checked(self, address, stride):
        """The address, which all lanes have; AddressError where they differ or it is not aligned."""
        where = np.unique(address if self.shared else address.offset)
        if where.size > 1 or np.unique(stride).size > 1:
            raise AddressError("wmma takes one address and one stride for the warp, and its lanes give different ones")
        if where[0] % ALIGNED or int(np.max(stride)) * self.size % 16:
            raise AddressError(f"wmma at byte {where[0]} with a stride of {int(np.max(stride)) * self.size} bytes: the "
                               f"address must be a multiple of {ALIGNED}, the stride of 16")
        return address

    def _offset(self, row, col, stride):
        line, at = (row, col) if self.along else (col, row)
        return self.size * (line * int(np.max(stride)) + at)

    def _rows(self, stride):
        """int64 [32]: where the lines of the blocks begin, as ldmatrix takes them: line i of block m from lane 8 m + i."""
        lane = np.arange(LANES)
        row, col = self.origins[lane // 8].T
        return self._offset(row, col + lane % 8, stride) if self.along == 0 else self._offset(row + lane % 8, col, stride)

    def _words(self, stride):
        """int64 [32] for each access of 4 or 8 bytes: what a lane holds side by side, turned where the memory's order is not
        the fragment's."""
        lane = np.arange(LANES)
        for row, col in self.origins:
            if self.size == 4 and self.turned:           # f32, one by one
                for i in (0, 1):
                    yield self._offset(row + lane // 4, col + lane % 4 * 2 + i, stride)
                continue
            across, down = (lane // 4, lane % 4 * 2) if self.along else (lane % 4 * 2, lane // 4)
            yield self._offset(row + across, col + down, stride)


def _moved(address, offsets):
    """address + offsets. An address that an index function made keeps its access's name, but not which element it is of: the
    offsets lead to others."""
    from simlayout.machine import Tagged, tag

    made = address + offsets
    return tag(np.asarray(made), made.access) if isinstance(made, Tagged) else made


def _turned(register):
    """A block's register for its transpose, as MOVM.16.MT88 makes it."""
    return _distribute(_transposed(_collected((register,))))[0]


def _signature(*names):
    return inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("warp", *names)])
