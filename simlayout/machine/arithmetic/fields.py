"""Bit fields on unsigned carriers (signed ones where a type is signed): bfe, bfi, bmsk, szext.

PTX ISA, Integer Arithmetic Instructions (bfe to szext).
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.bitwise import shift_left, shift_right_unsigned
from simlayout.machine.arithmetic.primitives import BITS, I64, U64, Carrier, predicate, select

_U0, _U1, _U31, _U63, _U64, _U255 = (U64(n) for n in (0, 1, 31, 63, 64, 255))
_I0, _LOW, _ONES = I64(0), BITS[32], BITS[64]


def _ones_up_to(n):
    """n ones, of at most 64."""
    return select(n > _U63, _ONES, (_U1 << (n & _U63)) - _U1)


@cache
def field_of(width: int) -> Carrier:
    """The bits of a field's start and length that count: eight, as the PTX ISA says; of 64-bit types all of them, because
    ptxas makes shifts of these, which clamp (measured on an H200, 2026-11-23, of registers).

    >>> hex(field_of(32)), hex(field_of(64))
    ('0xff', '0xffffffff')
    """
    return _U255 if width == 32 else _LOW


@cache
def extract_unsigned(width: int) -> Callable:
    """bfe of unsigned types.

    >>> hex(extract_unsigned(32)(np.uint64(0xABCD), np.uint64(4), np.uint64(8)))
    '0xbc'
    """
    counts = field_of(width)

    def extract(a, start, length):
        return shift_right_unsigned(a, start & counts) & _ones_up_to(length & counts)

    return extract


@cache
def extract_signed(width: int) -> Callable:
    """bfe of signed types: the highest bit of the field, or of a where the field ends beyond it, fills the rest.

    >>> int(extract_signed(32)(np.int64(0xABCD), np.uint64(4), np.uint64(8)))
    -68
    """
    counts = field_of(width)

    def extract(a, start, length):
        length = length & counts
        field = a >> np.int64(np.minimum(start & counts, _U63))
        by = np.int64(_U64 - np.minimum(np.maximum(length, _U1), _U64))
        return select(length == _U0, _I0, field << by >> by)

    return extract


@cache
def insert(width: int) -> Callable:
    """bfi: b with the low bits of a in a field of it.

    >>> hex(insert(32)(*np.uint64([0xF, 0xABCD, 4, 8])))
    '0xa0fd'
    """
    ones, to_left, counts = BITS[width], shift_left(64), field_of(width)

    def inserted(a, b, start, length):
        start = start & counts
        field = to_left(_ones_up_to(length & counts), start) & ones
        return b & ~field | to_left(a, start) & field

    return inserted


@cache
def mask_bits(mode: str) -> Callable:
    """bmsk: b ones from place a; both modulo 32 (.wrap), or at most 32 (.clamp).

    >>> hex(mask_bits("clamp")(np.uint64(4), np.uint64(8)))
    '0xff0'
    """
    clamp = mode == "clamp"
    limit = U64(32 if clamp else 1 << 32)

    def mask(a, b):
        start = a & _U31
        end = start + (b & _U31)
        from_start = select(a >= limit, _U0, _LOW << start)
        beyond = (end > _U31) | (a >= limit) | (b >= limit)
        return from_start & ~select(beyond, _U0, _LOW << (end & _U63)) & _LOW

    return mask


@cache
def extend_from(mode: str, is_signed: bool) -> Callable:
    """szext: the low b bits of a, sign- or zero-extended; b modulo 32 (.wrap), or at most 32 (.clamp). Bits in, bits out.

    >>> hex(extend_from("wrap", True)(np.uint64([0x8]), np.uint64([4]))[0])
    '0xfffffff8'
    """
    limit = U64(32 if mode == "clamp" else 1 << 32)
    sign = U64(1 if is_signed else 0)

    def extended(a, b):
        count = b & _U31
        rest = select(b >= limit, _U0, _LOW << count & _LOW)
        there = (a >> ((count - _U1) & _U31) & sign) & predicate(count != _U0)
        return a & ~rest | rest & (_U0 - there)

    return extended
