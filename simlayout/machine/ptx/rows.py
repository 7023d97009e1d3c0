"""Registers of a warp as rows of 64 bits a lane, and what PTX types make of them.

A row is uint64 [32]: the raw bits of a register in every lane, zero above its width; a predicate is 0 or 1. An instruction
takes *carriers* of its types: int64 of signed integers, float32 and float64 of f32 and f64, and uint64 of everything else.
"""

from collections.abc import Callable

import numpy as np

from simlayout.machine.ptx.syntax import BITS

WIDTHS = {**BITS, "pred": 1, "cc": 1}
"""Type -> bits; of the carry flag too."""

_SIGNED = {8: (np.int8, 8), 16: (np.int16, 4), 32: (np.int32, 2)}
_MASKS = {bits: np.uint64((1 << bits) - 1) for bits in (1, 8, 16, 32)}


def reader(type: str, held: int = 64) -> Callable[[np.ndarray], np.ndarray]:
    """What makes a carrier of a row, for a register of `held` bits read as a type.

    >>> row = np.full(32, 0xFFFFFFFE, np.uint64)
    >>> int(reader("s32", 32)(row)[0]), int(reader("u32", 32)(row)[0]), int(reader("u8", 32)(row)[0])
    (-2, 4294967294, 254)
    """
    bits = WIDTHS[type]
    if type == "f32":
        return lambda row: row.view(np.float32)[::2]
    if type == "f64":
        return lambda row: row.view(np.float64)
    if type == "s64":
        return lambda row: row.view(np.int64)
    if type[0] == "s":
        dtype, step = _SIGNED[bits]
        return lambda row: row.view(dtype)[::step].astype(np.int64)
    if held > bits:
        mask = _MASKS[bits]
        return lambda row: row & mask
    return lambda row: row


def writer(type: str, held: int = 64) -> Callable[[np.ndarray], np.ndarray]:
    """What makes the bits of a row of a carrier (unsigned integers), for a result of a type in a register of `held` bits: a
    narrower signed one is extended with its sign (PTX ISA: Operand Size Exceeding Instruction-Type Size).

    >>> hex(int(writer("s8", 32)(np.full(32, -2, np.int64))[0])), int(writer("u8", 32)(np.full(32, 257, np.uint64))[0])
    ('0xfffffffe', 1)
    """
    bits = WIDTHS[type]
    if type in ("pred", "cc"):
        return lambda value: value if value.dtype == np.uint64 else value != 0
    if type == "f32":
        return lambda value: np.ascontiguousarray(value, np.float32).view(np.uint32)
    if type == "f64":
        return lambda value: np.ascontiguousarray(value, np.float64).view(np.uint64)
    if type[0] == "s" and held > bits:
        dtype, _ = _SIGNED[bits]
        wide = held if held in _MASKS else None
        return lambda value: _masked(value.astype(dtype).astype(np.int64).view(np.uint64), wide)
    return lambda value: _masked(value if value.dtype == np.uint64 else value.astype(np.int64).view(np.uint64), bits)


def _masked(value, bits):
    return value & _MASKS[bits] if bits in _MASKS else value
