"""Elements of every type as bit patterns, as registers of a warp, and as numbers."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.mma import BITS, per_register
from simlayout.numerics.formats import exact

ONE = {"f64": 0x3FF0000000000000, "f32": 0x3F800000, "tf32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "e4m3": 0x38,
       "e5m2": 0x3C, "s32": 1, "s8": 1, "u8": 1, "s4": 1, "u4": 1, "b1": 1}
"""The bit pattern of 1 in each type."""

_RAW = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "s32": np.int32, "s8": np.int8}


def register_bytes(dtype):
    """Bytes of a register that holds elements of a type: 8 for f64, else 4."""
    return max(32, BITS[dtype]) // 8


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
    words = (split << (BITS[dtype] * np.arange(per, dtype=np.uint64))).sum(axis=-1, dtype=np.uint64)
    return words.astype(_RAW[8 * width]).view(np.uint8).reshape(*patterns.shape[:-2], -1)


def from_registers(block, dtype):
    """`to_registers` backwards: uint8 [..., bytes] -> int64 [..., 32, values]."""
    per, width = per_register(dtype), register_bytes(dtype)
    words = np.ascontiguousarray(block).view(_RAW[8 * width]).reshape(*block.shape[:-1], LANES, -1, 1)
    split = words.astype(np.uint64) >> (BITS[dtype] * np.arange(per, dtype=np.uint64))
    if BITS[dtype] < 64:
        split &= np.uint64((1 << BITS[dtype]) - 1)
    return split.astype(np.int64).reshape(*block.shape[:-1], LANES, -1)


def to_memory(patterns, dtype):
    """Bit patterns along the last axis -> consecutive memory, uint8 [..., bytes]; below 8 bits the low ones come first."""
    patterns, bits = np.asarray(patterns, np.int64), BITS[dtype]
    if bits >= 8:
        return np.ascontiguousarray(patterns.astype(_RAW[bits])).view(np.uint8)
    split = patterns.reshape(*patterns.shape[:-1], -1, 8 // bits)
    return (split << bits * np.arange(8 // bits)).sum(axis=-1).astype(np.uint8)


def from_memory(block, dtype):
    """`to_memory` backwards: uint8 [..., bytes] -> int64 [..., elements]."""
    bits = BITS[dtype]
    if bits >= 8:
        return np.ascontiguousarray(block).view(_RAW[bits]).astype(np.int64)
    made = block[..., None].astype(np.int64) >> bits * np.arange(8 // bits) & (1 << bits) - 1
    return made.reshape(*block.shape[:-1], -1)


def to_numbers(patterns, dtype):
    """The numbers that bit patterns mean, float64.

    >>> to_numbers([0x3C00, 0xC000], "f16").tolist(), to_numbers([15, 7], "s4").tolist()
    ([1.0, -2.0], [-1.0, 7.0])
    """
    patterns, bits = np.asarray(patterns, np.int64), BITS[dtype]
    if dtype in _NUMPY:
        return patterns.astype(_RAW[bits]).view(_NUMPY[dtype]).astype(np.float64)
    if dtype in ("bf16", "tf32", "e4m3", "e5m2"):
        return exact(dtype, patterns.astype(_RAW[bits]))
    return (patterns - (patterns >> 3 << 4) if dtype == "s4" else patterns).astype(np.float64)


def to_patterns(numbers, dtype):
    """The bit patterns of numbers that the type holds exactly, int64; dtype: f64, f32, f16, s32 or s8."""
    made = np.asarray(numbers).astype(_NUMPY[dtype])
    return made.view(_RAW[BITS[dtype]]).astype(np.int64)
