"""wmma: a warp's matrices by their address and stride alone (PTX ISA: wmma.load, wmma.mma, wmma.store).

PTX keeps the fragments opaque; here they are as an sm_90 holds them (`hardware.matrix.wmma`), and memory is touched by the
instructions that ptxas makes for sm_90 (13.0, of every form there is): of A or B from shared memory ldmatrix, with .trans
where the memory's order is not the fragment's, or byte by byte for 8-bit elements then; everything else by what a lane holds
side by side, at most two elements.
"""

import re
from functools import lru_cache
from itertools import chain

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import AddressError, InstructionError
from simlayout.hardware import fragment
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.matrices import load_matrices, mma, moved
from simlayout.machine.engine.tags import Tagged, tag

ALIGNED = 32
"""Bytes of which the address of a matrix is a multiple, unless its lines are shorter (PTX ISA: wmma.load, alignment)."""

LINES = 16
"""Lines of a matrix that one ldmatrix brings at most."""

_LANE = np.arange(LANES)


@lru_cache(None)
def product(shape, a_layout, b_layout, types, suffix=""):
    """What wmma.mma makes of registers, as `matrices.mma` of another name does.

    types: those of D, A, B and C; suffix: ".satfinite", ".xor.popc" or ".and.popc". On sm_90 it is one mma, or two that
    share an operand, of tf32 each in two steps of half the depth, of which the second adds to what the first has rounded
    (ptxas 13.0: HMMA.1684). Raises InstructionError for what there is not.
    """
    d, a, b, c = types
    m, n, k = (int(size) for size in re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape).groups())
    matrices = [fragment(f"wmma.{shape}.{t}.{layout}", name) for t, layout, name in
                ((a, a_layout, "load.a"), (b, b_layout, "load.b"), (c, "row", "load.c"), (d, "row", "store.d"))]
    if c != d:
        raise InstructionError(f"wmma.mma of {c} into {d}: how that is rounded is not known: use one type")
    first, second, at = (b, a, 1) if (m, n) == (8, 32) else (a, b, 0)      # D' = B' A' where only that has the shape
    steps = 2 if a == "tf32" else 1
    multiply = mma(f"m{8 if m == n == 8 else 16}n8k{k // steps}.{d}.{first}.{second}.{c}{suffix}")
    given = [f.registers for f in matrices[:3]]
    taken = [f.registers // f.copies for f in matrices[:3]]
    halves = {(16, 16): (1, 2), (32, 8): (2, 1), (8, 32): (2, 1), (8, 8): (1, 1)}[m, n]

    def multiplied(*registers):
        left, right, c = (registers[sum(given[:i]):sum(given[:i]) + taken[i]] for i in (at, 1 - at, 2))
        pieces, made = zip(_cut(left, halves[0]) * halves[1], _cut(right, halves[1]) * halves[0], _cut(c, max(halves))), []
        for a, b, total in pieces:
            for step in zip(_cut(a, steps), _cut(b, steps)):
                total = multiply(*chain(*step), *total)
            made += total
        return made

    multiplied.registers = matrices[3].registers, *given
    return multiplied


def _cut(registers, parts):
    size = len(registers) // parts
    return [registers[i:i + size] for i in range(0, len(registers), size)]


class SharedTile:
    """A matrix in shared memory, at a byte address that all lanes have."""

    matrices = True

    def __init__(self, warp, address):
        self.warp, self.address = warp, address

    def where(self):
        """The address in every lane."""
        return self.address

    def rows(self, name, offsets):
        """Registers of an ldmatrix at these offsets."""
        return load_matrices(self.warp, name, self._moved(offsets))

    def read(self, offsets, nbytes):
        """uint8 [32, nbytes]."""
        return self.warp.shared_load(f"ld.shared.b{8 * nbytes}", self._moved(offsets), nbytes)

    def write(self, offsets, data):
        """Stores uint8 [32, nbytes]."""
        self.warp.shared_store(f"st.shared.b{8 * data.shape[1]}", self._moved(offsets), data)

    def _moved(self, offsets):
        """address + offsets. An address that an index function made keeps its access's name, but not which element it is of:
        the offsets lead to others."""
        addresses = self.address + offsets
        return tag(np.asarray(addresses), addresses.access) if isinstance(addresses, Tagged) else addresses


class PointedTile:
    """A matrix in global memory, behind a GlobalPointer."""

    matrices = False

    def __init__(self, warp, pointer):
        self.warp, self.pointer = warp, pointer

    def where(self):
        """The offset in every lane."""
        return self.pointer.offset

    def read(self, offsets, nbytes):
        """uint8 [32, nbytes]."""
        return (self.pointer + offsets).read(self.warp.active, nbytes)

    def write(self, offsets, data):
        """Stores uint8 [32, nbytes]."""
        (self.pointer + offsets).write(self.warp.active, data)


class Matrix:
    """A matrix of a wmma in memory, and who holds what of it. Registers are unsigned integers [32], or floats of f32, f64.

    shape: "m16n16k16"; name: "load.a", "load.b", "load.c" or "store.d"; dtype: of its elements; layout: "row" or "col",
    which of its lines are contiguous. Raises InstructionError for what there is not.

    >>> Matrix("m32n8k16", "load.a", "s8", "row").turned, Matrix("m32n8k16", "load.a", "s8", "col").turned
    (False, True)
    """

    def __init__(self, shape, name, dtype, layout):
        self.fragment = f = fragment(f"wmma.{shape}.{dtype}.{layout}", name)
        self.bits, self.along = TYPES[dtype].bits, 1 if layout == "row" else 0          # along: the contiguous axis
        self.each = f.per_register
        self.word = {"f32": "f4", "f64": "f8"}.get(dtype, f"u{max(4, self.bits // 8)}")             # of a register
        held = f.coordinates()[:, :f.values // f.copies]                                # what repeats is left out
        self.count, self.operand = held.shape[1] // self.each, name in ("load.a", "load.b")
        self.single = self.bits >= 32 and (self.operand or not self._neighbours(held))
        self.turned = not self.single and not self._neighbours(held)
        self.held, self.origins = held, held[0, ::self.each]
        self.aligned = min(ALIGNED, f.shape[self.along] * self.bits // 8)
        self.together = self.count // max(f.shape[name == "load.b"] // LINES, 1)        # registers of one ldmatrix

    def _neighbours(self, held):
        """Whether two elements that a lane holds one after the other are neighbours in memory."""
        return int(np.argmax(held[0, 1] - held[0, 0])) == self.along and (held[0, 1] - held[0, 0]).sum() == 1

    def load(self, tile, stride):
        """[registers] from a tile in memory. stride: elements from one line to the next."""
        stride = self._checked(tile, stride)
        values = self._by_matrices(tile, stride) if self._fit(tile) else self._by_elements(tile, stride)
        return values * self.fragment.copies

    def store(self, tile, stride, registers):
        """Writes registers to a tile in memory."""
        stride = self._checked(tile, stride)
        if self.bits == 16:
            for offsets, register in zip(self._offsets(stride), registers, strict=True):
                tile.write(offsets, _bytes([moved(register) if self.turned else register], np.dtype("u4")))
            return
        step = 1 if self.single else 2
        parts = [registers[i:i + step] for i in range(0, len(registers), step)]
        for offsets, part in zip(self._offsets(stride), parts, strict=True):
            tile.write(offsets, _bytes(part, np.dtype(f"u{self.bits // 8}")))

    def _fit(self, tile):
        """Whether ldmatrix brings it."""
        return tile.matrices and self.operand and self.bits <= 16 and not (self.turned and self.bits < 16)

    def _by_matrices(self, tile, stride):
        name, values = f"ldmatrix.x{self.together}{'.trans' if self.turned else ''}", []
        for first in range(0, self.count, self.together):
            row, col = self.origins[first + _LANE // 8 % self.together].T
            line = _LANE % 8
            values += tile.rows(name, self._offset(row + line, col, stride) if self.along else
                                self._offset(row, col + line, stride))
        return values

    def _by_elements(self, tile, stride):
        if self.bits < 16 and self.turned:
            return self._by_bytes(tile, stride)
        values = []
        nbytes = max(4, self.bits // 8) * (1 if self.single or self.bits <= 16 else 2)
        for offsets in self._offsets(stride):
            words = np.ascontiguousarray(tile.read(offsets, nbytes)).view(self.word)
            values += list(words.T)
        return [moved(register) for register in values] if self.turned else values

    def _by_bytes(self, tile, stride):
        """Registers of 8-bit elements that are no neighbours in memory."""
        rows, cols = self.held[..., 0], self.held[..., 1]
        data = [tile.read(self._offset(rows[:, i], cols[:, i], stride), 1)[:, 0] for i in range(rows.shape[1])]
        words = np.ascontiguousarray(np.stack(data, axis=1)).view(np.uint32)
        return list(words.T)

    def _offsets(self, stride):
        """int64 [32] for each access: where the elements lie that a lane moves at once, of 16 bits those of a block that may
        be turned yet."""
        step = 1 if self.single else max(self.each, 2)
        for i in range(0, self.held.shape[1], step):
            row, col = self.held[:, i].T
            if self.turned:
                line, at = _LANE // 4, _LANE % 4 * 2
                row, col = self.held[0, i][:, None] + np.stack((line, at) if self.along else (at, line))
            yield self._offset(row, col, stride)

    def _offset(self, row, col, stride):
        line, at = (row, col) if self.along else (col, row)
        return (line * stride + at) * self.bits // 8

    def _checked(self, tile, stride):
        """The stride, which all lanes have; AddressError where they or the address differ, or it is not aligned."""
        where, strides = np.unique(tile.where()), np.unique(stride)
        if where.size > 1 or strides.size > 1:
            raise AddressError("wmma takes one address and one stride for the warp, and its lanes give different ones")
        bytes = int(strides[0]) * self.bits // 8
        if where[0] % self.aligned or bytes % 16:
            raise AddressError(f"wmma at byte {where[0]} with a stride of {bytes} bytes: the address must be a multiple of "
                               f"{self.aligned}, the stride of 16")
        return int(strides[0])


def _bytes(registers, dtype):
    """uint8 [32, bytes] of registers as a lane stores them side by side. dtype: unsigned integers of their size."""
    parts = [np.broadcast_to(np.asarray(r), (LANES,)) for r in registers]
    columns = [np.ascontiguousarray(p).view(dtype) if p.dtype.itemsize == dtype.itemsize else
               p.astype(f"f{dtype.itemsize}").view(dtype) if p.dtype.kind == "f" else p.astype(dtype) for p in parts]
    return np.stack(columns, axis=1).view(np.uint8)
