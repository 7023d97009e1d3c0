"""Elements of every type as bit patterns, as registers of a warp, and as numbers."""

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.mma import per_register
from simlayout.numerics.formats import exact


def one(dtype):
    """The bit pattern of 1 in a type: of a float its bias, above the fraction that lies in memory.

    >>> hex(one("f16")), hex(one("tf32")), one("s8")
    ('0x3c00', '0x3f800000', 1)
    """
    row = TYPES[dtype]
    return row.bias << row.bits - 1 - row.exponent if row.exponent else 1


def _raw(width):
    """Unsigned integers of so many bytes."""
    return np.dtype(f"u{width}")


def register_bytes(dtype):
    """Bytes of a register that holds elements of a type: 8 for f64, else 4."""
    return max(32, TYPES[dtype].bits) // 8


def to_registers(patterns, dtype):
    """Bit patterns, int [..., 32, values] -> the registers of a warp in memory, uint8 [..., bytes].

    A lane's registers lie side by side, and lane after lane; a register's elements start at its lowest bits.

    >>> held = np.zeros((32, 2), np.int64)
    >>> held[1] = 7, 9
    >>> to_registers(held, "f16")[:8].tolist()
    [0, 0, 0, 0, 7, 0, 9, 0]
    """
    patterns = np.asarray(patterns, np.int64)
    per, width = per_register(dtype), register_bytes(dtype)
    split = patterns.reshape(*patterns.shape[:-1], -1, per).astype(np.uint64)
    words = (split << (TYPES[dtype].bits * np.arange(per, dtype=np.uint64))).sum(axis=-1, dtype=np.uint64)
    return words.astype(_raw(width)).view(np.uint8).reshape(*patterns.shape[:-2], -1)


def from_registers(block, dtype):
    """`to_registers` backwards: uint8 [..., bytes] -> int64 [..., 32, values]."""
    per, width = per_register(dtype), register_bytes(dtype)
    words = np.ascontiguousarray(block).view(_raw(width)).reshape(*block.shape[:-1], LANES, -1, 1)
    split = words.astype(np.uint64) >> (TYPES[dtype].bits * np.arange(per, dtype=np.uint64))
    if TYPES[dtype].bits < 64:
        split &= np.uint64((1 << TYPES[dtype].bits) - 1)
    return split.astype(np.int64).reshape(*block.shape[:-1], LANES, -1)


def to_memory(patterns, dtype):
    """Bit patterns along the last axis -> consecutive memory, uint8 [..., bytes]; below 8 bits the low ones come first."""
    patterns, bits = np.asarray(patterns, np.int64), TYPES[dtype].bits
    if bits >= 8:
        return np.ascontiguousarray(patterns.astype(TYPES[dtype].raw)).view(np.uint8)
    split = patterns.reshape(*patterns.shape[:-1], -1, 8 // bits)
    return (split << bits * np.arange(8 // bits)).sum(axis=-1).astype(np.uint8)


def from_memory(block, dtype):
    """`to_memory` backwards: uint8 [..., bytes] -> int64 [..., elements]."""
    bits = TYPES[dtype].bits
    if bits >= 8:
        return np.ascontiguousarray(block).view(TYPES[dtype].raw).astype(np.int64)
    elements = block[..., None].astype(np.int64) >> bits * np.arange(8 // bits) & (1 << bits) - 1
    return elements.reshape(*block.shape[:-1], -1)


def to_numbers(patterns, dtype):
    """The numbers that bit patterns mean, float64.

    >>> to_numbers([0x3C00, 0xC000], "f16").tolist(), to_numbers([15, 7], "s4").tolist()
    ([1.0, -2.0], [-1.0, 7.0])
    """
    patterns, row = np.asarray(patterns, np.int64), TYPES[dtype]
    if row.exponent and (not row.in_numpy or dtype == "tf32"):
        return exact(dtype, patterns.astype(row.raw))
    if row.bits >= 8:
        return patterns.astype(row.raw).view(row.plain).astype(np.float64)
    return np.where(patterns > row.limits[1], patterns - (1 << row.bits), patterns).astype(np.float64)


def to_patterns(numbers, dtype):
    """The bit patterns of numbers that the type holds exactly, int64; dtype: f64, f32, f16, s32 or s8."""
    values = np.asarray(numbers).astype(TYPES[dtype].plain)
    return values.view(TYPES[dtype].raw).astype(np.int64)
