"""Products with a sparse A: its stored elements, each times the row of B that the metadata names, are a dense product."""

from dataclasses import replace

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import InstructionError
from simlayout.hardware.tables.mma_sp import pattern_of

ELEMENTS = 1 << 22
"""Of B, that are gathered at once for the rows of A: each row needs others."""


def check_metadata(op, a, metadata):
    """The metadata of a TensorOp's operand a, which is checked: integers [..., M, groups], or None where A is dense.

    Raises InstructionError where there is metadata and A is dense, or none and A is sparse, or not for every group."""
    if not op.sparse:
        if metadata is not None:
            raise InstructionError(f"{op.name} has a dense A: it takes no metadata; mma.sp does")
        return None
    if metadata is None:
        raise InstructionError(f"{op.name} needs metadata, which says where the stored elements of A were: "
                               "a, metadata = simlayout.hardware.compress(a)")
    metadata, pattern = np.asarray(metadata), pattern_of(op.a)
    kept = pattern.stored * pattern.unit
    wanted = (*a.shape[:-1], a.shape[-1] // kept)
    if a.shape[-1] % kept or metadata.shape != wanted:
        raise InstructionError(f"{op.name}: a nibble of metadata goes with {kept} stored element{'s' * (kept > 1)} of a, so "
                               f"with a of {list(a.shape)} integers {list(wanted)}, not {list(metadata.shape)}")
    return metadata


def filled_up(op, a, metadata):
    """Metadata for an a that got further columns of zeros: any that are legal; None where A is dense."""
    if metadata is None:
        return None
    pattern = pattern_of(op.a)
    missing = a.shape[-1] // (pattern.stored * pattern.unit) - metadata.shape[-1]
    return np.pad(metadata, [(0, 0)] * (metadata.ndim - 1) + [(0, missing)],
                  constant_values=next(iter(pattern.codes.values())))


def by_rows(op, a, b, c, metadata, multiply):
    """d of a sparse a [..., M, K / 2] and its metadata, b [..., K, N], and c [..., M, N], which has all axes of d, by
    multiply(dense TensorOp, a, b, c) of every row with the rows of b that are its own."""
    dense = replace(op, family=op.family.removesuffix(".sp"), k=op.stored)
    chosen = chosen_units(op.a, metadata)[..., None]
    b = _units(op.a, b).reshape((1,) * (chosen.ndim - b.ndim - 1) + (*b.shape[:-2], 1, -1, b.shape[-1]))
    chosen = chosen.reshape((1,) * (b.ndim - chosen.ndim) + chosen.shape)
    high = max(ELEMENTS // max(chosen[..., :1, :, :].size * b.shape[-1], 1), 1)
    parts = []
    for first in range(0, max(a.shape[-2], 1), high):
        rows = slice(first, first + high)
        of_row = _elements(op.a, np.take_along_axis(b, chosen[..., rows, :, :], axis=-2))
        parts.append(multiply(dense, a[..., rows, None, :], of_row, c[..., rows, None, :])[..., 0, :])
    return np.concatenate(parts, axis=-2)


def chosen_units(dtype, metadata):
    """Which units of a column of B a row of A meets, int64 [..., units stored]: a unit is an element, of tf32 half of one,
    and a nibble says two of four units, of 4-bit elements pairs of units.

    Nibbles that PTX does not define do the same on an H200 (driver 580.159.04, 2026-11-30: `h200_mma_sp.npz`).

    >>> chosen_units("f16", np.array([0b0100, 0b1110, 0b0000])).tolist(), chosen_units("s4", np.array([0b1100])).tolist()
    ([0, 1, 6, 7, 8, 8], [0, 1, 6, 7])
    """
    metadata, together = np.asarray(metadata, np.int64), pattern_of(dtype).unit
    first = 4 * np.arange(metadata.shape[-1])[:, None] + np.stack([metadata & 3, metadata >> 2 & 3], axis=-1)
    return (together * first[..., None] + np.arange(together)).reshape(*metadata.shape[:-1], -1)


def _units(dtype, b):
    """[..., K, N] as [..., units, N], of tf32 its halves, the low one first."""
    if dtype != "tf32":
        return b
    halves = np.ascontiguousarray(b)[..., None].view(np.uint16)
    return halves.swapaxes(-1, -2).reshape(*b.shape[:-2], -1, b.shape[-1])


def _elements(dtype, units):
    """`_units` backwards."""
    if dtype != "tf32":
        return units
    pairs = units.reshape(*units.shape[:-2], -1, 2, units.shape[-1])
    return np.ascontiguousarray(pairs.swapaxes(-1, -2)).view(TYPES["tf32"].operand)[..., 0]
