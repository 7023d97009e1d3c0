"""cvt to tf32, to and from pairs of halves and bytes, and cvt.pack. PTX ISA: cvt, cvt.pack."""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.machine.arithmetic.conversions import rectified, to_float, wide_f16
from simlayout.machine.arithmetic.halves import rectify
from simlayout.machine.arithmetic.primitives import F64, I64, U64, Carrier, as_f64, bits_f32, same, select
from simlayout.machine.arithmetic.rounding import encoder, target

_U8, _U13, _U16, _U127, _U128 = (U64(n) for n in (8, 13, 16, 127, 128))
_ONES_8, _ONES_16, _LOW = U64(0xFF), U64(0xFFFF), U64(0xFFFFFFFF)
_INFINITY_16, _NAN_16 = U64(0x7C00), U64(0x7FFF)
_SIZE_32, _INFINITY_32 = U64(0x7FFFFFFF), U64(0x7F800000)
_HALF_TF32, _UNIT_TF32, _HIGH_TF32 = U64(0x1000), U64(0x2000), U64(0xFFFFE000)


def tie_away_tf32(bits: Carrier) -> Carrier:
    """cvt.rna.tf32.f32 on raw bits: half a unit more, and the low 13 bits cut off, of infinities and NaN too.

    >>> hex(tie_away_tf32(np.uint64(0x3F801000)))
    '0x3f802000'
    """
    return select(bits & _SIZE_32 < _INFINITY_32, bits + _HALF_TF32, bits) & _HIGH_TF32


def tie_away_tf32_finite(x: Carrier) -> Carrier:
    """cvt.rna.satfinite.tf32.f32: an infinity becomes the greatest number, because one unit is taken off, of NaN too (on an
    H200, 2026-11-23: 0x7fc00000 becomes 0x7fbfe000, 0x7f800001 a number).

    >>> hex(tie_away_tf32_finite(np.float32("inf"))), hex(tie_away_tf32_finite(np.float32("nan")))
    ('0x7f7fe000', '0x7fbfe000')
    """
    made = tie_away_tf32(bits_f32(x))
    return select(made & _SIZE_32 < _INFINITY_32, made, made - _UNIT_TF32)


@cache
def to_tf32(mode: str, relu: bool) -> Callable:
    """cvt.rn and cvt.rz of f32 to tf32: an f32 whose low 13 bits are zero; NaN becomes 0x7fffe000 (H200, 2026-11-23).

    >>> hex(to_tf32("rz", False)(np.float32(1 + 2**-10 - 2**-20)))
    '0x3f800000'
    """
    encode = encoder("tf32", mode)
    before = rectified if relu else same

    def convert(x):
        return encode(before(as_f64(x))) << _U13

    return convert


@cache
def two_to_packed(name: str, mode: str, relu: bool, satfinite: bool) -> Callable:
    """cvt of two f32 to a pair of f16, bf16, e4m3 or e5m2; the first becomes the high one.

    >>> hex(two_to_packed("f16", "rn", False, False)(np.float32(1), np.float32(2)))
    '0x3c004000'
    """
    one = to_float(name, "f32", mode, relu=relu, satfinite=satfinite)
    by = U64(TYPES[name].bits)

    def convert(a, b):
        return one(a) << by | one(b)

    return convert


@cache
def halves_to_bytes(name: str, relu: bool) -> Callable:
    """cvt.rn.satfinite of a pair of f16 to a pair of e4m3 or e5m2.

    >>> hex(halves_to_bytes("e4m3", False)(np.uint64(0x3C004000)))
    '0x3840'
    """
    one = to_float(name, "f16", "rn", relu=relu, satfinite=True)

    def convert(x):
        return one(x >> _U16) << _U8 | one(x & _ONES_16)

    return convert


@cache
def bytes_to_halves(source: str, relu: bool) -> Callable:
    """cvt.rn of a pair of e4m3 or e5m2 to a pair of f16, which is exact.

    >>> hex(bytes_to_halves("e4m3", False)(np.uint64(0x3840)))
    '0x3c004000'
    """
    row = target(source)
    up, scale = U64(10 - row.fraction), F64(2.0 ** (15 - row.bias))
    largest, infinity = U64(row.largest), U64(row.infinity if row.infinity < row.nan else 0)
    encode = encoder("f16")

    def one(bits):
        size = bits & _U127
        made = encode(wide_f16(size << up) * scale)
        made = select(size > largest, select(size == infinity, _INFINITY_16, _NAN_16), made)
        sign = (bits & _U128) << _U8
        return select(made > _INFINITY_16, made, made | sign)

    def onerectified(bits):
        return rectify(one(bits))

    each = onerectified if relu else one

    def convert(x):
        return each(x >> _U8) << _U16 | each(x & _ONES_8)

    return convert


@cache
def pack(name: str, with_third: bool) -> Callable:
    """cvt.pack.sat: a and b clamped to an integer type of 2 to 16 bits, a above b, and above them the low bits of c.

    >>> hex(pack("u8", True)(np.int64(300), np.int64(-1), np.uint64(0x1234)))
    '0x1234ff00'
    """
    width, signed = int(name[1:]), name[0] == "s"
    low, high = (I64(-(1 << width - 1)), I64((1 << width - 1) - 1)) if signed else (I64(0), I64((1 << width) - 1))
    ones, by, above = U64((1 << width) - 1), U64(width), U64(2 * width)

    def clamped(x):
        return np.uint64(np.minimum(np.maximum(x, low), high)) & ones

    def two(a, b):
        return clamped(a) << by | clamped(b)

    def three(a, b, c):
        return (c << above | clamped(a) << by | clamped(b)) & _LOW

    return three if with_third else two
