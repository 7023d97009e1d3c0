"""mma.sp and wgmma.sp: a sparse A, stored without its zeros, and the metadata that says where the stored elements were.

A row of A falls into groups, and half of each group is stored (see `PATTERNS`). Four bits of metadata belong to a group:
two indices, the lower one in the low bits; the nibbles of a row run along k. Which lane of a warp brings which nibbles
is `METADATA_MAPS`; everything else about the fragments is as for the dense mma with the stored columns in place of k.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from simlayout.algebra.dtypes import TYPES
from simlayout.arguments import typed
from simlayout.errors import InstructionError
from simlayout.hardware.matrix.fragments_base import fragments_of
from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.mma import hint
from simlayout.hardware.tables.mma_sp import PATTERNS, SPARSE_MMAS, SparseMma, SparseWgmma
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tensor_ops import TENSOR_OPS

NIBBLES = 8
"""Of a metadata register."""


SPARSE_FRAGMENTS = {(f.name, f.operand): f for f in fragments_of(
    SPARSE_MMAS, "PTX ISA, Matrix Fragments for sparse mma, of each shape")}
"""The fragments of mma.sp, by (name, operand)."""

METADATA_SOURCE = Provenance("measured", "on one NVIDIA H200, 2026-11-21: every legal change of one index, in every lane, "
                             "and which element of A it moves; see tests/data/h200_fragments.npz")

WGMMA_METADATA_SOURCE = Provenance("measured", "by the results of random products with random metadata on one NVIDIA H200, "
                                   "2026-11-30: tests/data/h200_wgmma_sp.json")

METADATA_MAPS = {
    "rows in one lane": lambda lane, nibble, lanes: (lane // 4 + 8 * (nibble // 4), nibble % 4 + 4 * (lane % lanes)),
    "a row per lane": lambda lane, nibble, lanes: (lane // 4 + 8 * (lane % 2), nibble + 8 * (lane % lanes // 2)),
}
"""The (row, group) of a lane's nibble, where `lanes` of every four bring metadata. With 16- and 32-bit elements a lane
brings half its nibbles for row lane / 4, half for the row 8 below; with 8- and 4-bit ones, even lanes the one, odd the
other."""


def _is_selected(lane, contributors, selector):
    """Whether a lane is among those that bring metadata: neighbours, the selector counts which."""
    return lane % 4 // contributors == selector


@typed(InstructionError)
def sparse_mma(name: str) -> SparseMma:
    """The SparseMma of a name of mma.sp, the SparseWgmma of one of wgmma.sp; raises InstructionError.

    >>> sparse_mma("mma.sp.m16n8k32.f32.f16.f16.f32").selectors, sparse_mma("wgmma.sp.m64n256k64.f32.e4m3.e4m3").selectors
    (2, 1)
    """
    op = TENSOR_OPS.get(name) if isinstance(name, str) else None
    if op is not None and op.family == "wgmma.sp":
        return SparseWgmma(op.m, op.n, op.k, (op.d, op.a, op.b, op.c), op.suffix)
    if name not in SPARSE_MMAS:
        raise InstructionError(f"unknown mma.sp {name!r}; {hint(name, SPARSE_MMAS, 'mma.sp.m16n8k32.f32.f16.f16.f32')}")
    return SPARSE_MMAS[name]


@typed(InstructionError)
def sparse_metadata(name: str, selector: int = 0) -> np.ndarray:
    """Which (row, group) of A each nibble of the metadata registers describes: int64 [32 lanes, 8 nibbles, 2], of wgmma.sp
    [128 threads, 8, 2].

    (-1, -1) where the hardware does not look. Nibble n is bits 4n to 4n + 3. selector: the sparsity selector, of mma.sp the
    last operand. Source: `METADATA_SOURCE`, `WGMMA_METADATA_SOURCE`. Raises InstructionError: an unknown name, a selector
    that the instruction has not.

    >>> sparse_metadata("mma.sp.m16n8k32.f32.f16.f16.f32", 1)[[6, 7], 4].tolist()      # lanes 6 and 7, bits 16 to 19
    [[9, 0], [9, 4]]
    """
    return _described(name, selector).copy()


def _described(name, selector):
    """`sparse_metadata`, made once."""
    mma = sparse_mma(name)
    return _of_mma(mma, mma.check_selector(selector))


@lru_cache(None)
def _of_mma(mma, selector):
    """`sparse_metadata` of a SparseMma."""
    lane, nibble = np.meshgrid(np.arange(mma.threads), np.arange(NIBBLES), indexing="ij")
    layout = "a row per lane" if TYPES[mma.types[1]].bits <= 8 else "rows in one lane"
    row, group = METADATA_MAPS[layout](lane % LANES, nibble, mma.contributors)
    described = np.stack([row + lane // LANES * 16, group], axis=-1)
    return np.where(_is_selected(lane, mma.contributors, selector)[..., None], described, -1)


@typed(InstructionError)
def metadata_registers(name: str, metadata: ArrayLike, selector: int = 0) -> np.ndarray:
    """The metadata register of every lane, uint32 [32], of wgmma.sp [128]: 0 where the hardware does not look.

    metadata: the nibbles of A, uint8 [16 or 64, groups], as `compress` makes them. Raises InstructionError.

    >>> nibbles = np.full((16, 4), 0b0100, np.uint8)
    >>> [hex(r) for r in metadata_registers("mma.sp.m16n8k16.f32.f16.f16.f32", nibbles)[:2]]
    ['0x44444444', '0x0']
    """
    mma = sparse_mma(name)
    metadata = np.asarray(metadata)
    if metadata.shape != (mma.m, mma.groups) or metadata.dtype.kind not in "iu":
        raise InstructionError(f"{name} takes nibbles of shape {(mma.m, mma.groups)}, integers, not {metadata.dtype} of "
                               f"shape {metadata.shape}")
    row, group = np.moveaxis(_described(name, selector), -1, 0)
    nibbles = np.where(row < 0, 0, metadata[row, group].astype(np.uint32) & 15)
    return (nibbles << 4 * np.arange(NIBBLES, dtype=np.uint32)).sum(axis=1, dtype=np.uint64).astype(np.uint32)


@typed(InstructionError)
def metadata_nibbles(name: str, registers: ArrayLike, selector: int = 0) -> np.ndarray:
    """The nibbles of A that the metadata registers of a warp hold: `metadata_registers` backwards.

    registers: integers [..., 32], one per lane, of wgmma.sp [..., 128]. Returns uint8 [..., 16 or 64, groups]. Raises
    InstructionError.

    >>> metadata_nibbles("mma.sp.m16n8k16.f32.f16.f16.f32", np.full(32, 0x4E4E4E4E))[0].tolist()
    [14, 4, 14, 4]
    """
    mma = sparse_mma(name)
    row, group = np.moveaxis(_described(name, selector), -1, 0)
    registers = np.asarray(registers)
    if registers.shape[-1:] != (mma.threads,) or registers.dtype.kind not in "iu":
        raise InstructionError(f"{name} takes metadata from {mma.threads} lanes, integers [..., {mma.threads}], not "
                               f"{registers.dtype} of shape {registers.shape}")
    held = registers.astype(np.uint32)[..., None] >> 4 * np.arange(NIBBLES, dtype=np.uint32) & 15
    nibbles = np.zeros((*registers.shape[:-1], mma.m, mma.groups), np.uint8)
    nibbles[..., row[row >= 0], group[row >= 0]] = held[..., row >= 0]
    return nibbles


def _pattern(pattern):
    if pattern not in PATTERNS:
        raise InstructionError(f"unknown sparsity {pattern!r}; known are {', '.join(PATTERNS)}")
    return PATTERNS[pattern]


@typed(InstructionError)
def compress(a: ArrayLike, pattern: str = "2:4") -> tuple[np.ndarray, np.ndarray]:
    """(values, metadata) of a matrix of which at most half of every group is not zero.

    a: [rows, k] of any dtype, k a multiple of the group; pattern: "2:4", "1:2" (tf32) or "4:8" (s4 and u4).
    values: [rows, k / 2], the stored elements in order; metadata: uint8 [rows, k / group], a nibble of indices per group.
    Where fewer elements are not zero, the first indices that go with them are taken, and zeros are stored. A zero that is
    not stored comes back as +0, whatever its sign.

    Raises InstructionError naming the first group that has too many. Source: PTX ISA, Sparse matrix storage.

    >>> values, metadata = compress(np.array([[0, 5, 0, 7, 0, 0, 9, 0]]))
    >>> values.tolist(), [bin(n) for n in metadata[0]]
    ([[5, 7, 0, 9]], ['0b1101', '0b1000'])
    """
    p = _pattern(pattern)
    a = np.asarray(a)
    if a.ndim != 2 or a.shape[1] % p.columns:
        raise InstructionError(f"{pattern} takes a matrix of a multiple of {p.columns} columns, not shape {a.shape}")
    units = a.reshape(a.shape[0], -1, p.columns // p.unit, p.unit)
    present = (units != 0).any(axis=-1)
    row, group = (x[0] if len(x) else None for x in np.nonzero(present.sum(axis=-1) > p.stored))
    if row is not None:
        first = group * p.columns
        raise InstructionError(f"not {pattern}: row {row}, columns {first} to {first + p.columns - 1} hold "
                               f"{a[row, first:first + p.columns].tolist()}; at most {p.stored} "
                               f"{'pairs' if p.unit == 2 else 'of them'} may be other than zero")
    columns = np.zeros((*present.shape[:2], p.stored), np.int64)
    metadata = np.zeros(present.shape[:2], np.uint8)
    for indices, code in reversed(p.codes.items()):              # the first that fits is written last
        fits = ~np.delete(present, indices, axis=-1).any(axis=-1)
        columns[fits], metadata[fits] = indices, code
    values = np.take_along_axis(units, columns[..., None], axis=2)
    return values.reshape(a.shape[0], -1), metadata


@typed(InstructionError)
def stored_columns(metadata: ArrayLike, pattern: str = "2:4") -> np.ndarray:
    """The column of A from which each stored element comes: int64 [..., k / 2].

    metadata: uint8 [..., groups]. Raises InstructionError for a nibble that is none of the pattern's.

    >>> stored_columns(np.array([[0b1101, 0b1000]])).tolist()
    [[1, 3, 4, 6]]
    """
    p = _pattern(pattern)
    metadata = np.asarray(metadata)
    if metadata.dtype.kind not in "iu" or not metadata.ndim:
        raise InstructionError(f"metadata are nibbles, integers [..., groups], not {metadata.dtype} of shape "
                               f"{metadata.shape}")
    columns = np.full((*metadata.shape, p.stored), -1, np.int64)
    for indices, code in p.codes.items():
        columns[metadata == code] = indices
    if (columns < 0).any():
        at = tuple(int(x[0]) for x in np.nonzero(columns[..., 0] < 0))
        legal = ", ".join(f"{code:04b}" for code in p.codes.values())
        raise InstructionError(f"row {', '.join(map(str, at[:-1]))}, group {at[-1]}: nibble {int(metadata[at]):04b} "
                               f"is none of {pattern}'s: {legal}")
    first = p.columns * np.arange(metadata.shape[-1])[:, None, None] + p.unit * columns[..., None]
    return (first + np.arange(p.unit)).reshape(*metadata.shape[:-1], -1)


@typed(InstructionError)
def expand(values: ArrayLike, metadata: ArrayLike, pattern: str = "2:4") -> np.ndarray:
    """The matrix that `compress` took apart, [rows, k].

    >>> expand(*compress(np.array([[0, 5, 0, 7]]))).tolist()
    [[0, 5, 0, 7]]
    """
    values = np.asarray(values)
    columns = stored_columns(metadata, pattern)
    if values.shape != columns.shape or values.ndim != 2:
        raise InstructionError(f"{list(columns.shape)} values go with these metadata, [rows, k / 2], not "
                               f"{list(values.shape)}")
    dense = np.zeros((len(values), 2 * values.shape[1]), values.dtype)
    np.put_along_axis(dense, columns, values, axis=1)
    return dense
