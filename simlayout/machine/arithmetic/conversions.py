"""cvt: between integers and floats of all widths.

PTX ISA, Data Movement and Conversion Instructions: cvt. Integers wrap, or are clamped with .sat; floats that become integers
are clamped always. Every float becomes a float64 first, which holds all but some of 64 bits; those are rounded to odd.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.machine.arithmetic.carriers import extension, width_of
from simlayout.machine.arithmetic.floats import canonical_f32, flush_f32, nan_of_one, saturate_f32
from simlayout.machine.arithmetic.halves import number_bf16, number_f16, rectify
from simlayout.machine.arithmetic.primitives import (
    F32,
    F64,
    I64,
    U64,
    bits_f32,
    bits_f64,
    float_f32,
    float_f64,
    same,
    select,
)
from simlayout.machine.arithmetic.rounding import encoder, flush_tiny, odd_sum
from simlayout.machine.arithmetic.rounding import target as target_of

_Z, _ONE = F64(0), F64(1)
_U0, _U1, _U8, _U13, _U16, _U32, _U127, _U128 = (U64(n) for n in (0, 1, 8, 13, 16, 32, 127, 128))
_ONES_8, _ONES_16, _LOW = U64(0xFF), U64(0xFFFF), U64(0xFFFFFFFF)
_INFINITY_16, _NAN_16 = U64(0x7C00), U64(0x7FFF)
_INFINITY, _HALF_TF32, _HIGH_TF32, _NAN_TF32 = F32("inf"), U64(0x1000), U64(0xFFFFE000), U64(0x7FFFFFFF)
_I0, _I32, _LOW_SIGNED = I64(0), I64(32), I64(0xFFFFFFFF)
_WORD = F64(2.0**32)
_SIGN = U64(1 << 63)


# ---- integers to integers

@cache
def integer_to_integer(target: str, source: str, sat: bool) -> Callable:
    """cvt between integers.

    >>> [int(integer_to_integer("s8", "u32", sat)(np.uint64(200))) for sat in (False, True)]
    [-56, 127]
    """
    signed, from_signed = target[0] == "s", source[0] == "s"
    wrap = extension(width_of(target), signed)
    if not sat:
        return wrap
    (low, high), (least, most) = TYPES[target].limits, TYPES[source].limits
    kind = I64 if from_signed else U64
    low, high = kind(max(low, least)), kind(min(high, most))

    def clamped(x):
        return wrap(np.minimum(np.maximum(x, low), high))

    return clamped


# ---- numbers as float64

def wide_f64(x):
    """An f64 as it is."""
    return x


def wide_f32(x):
    """An f32 as float64."""
    return F64(x)


def wide_f16(bits):
    """Raw bits of f16 as float64."""
    return F64(number_f16(bits))


def wide_bf16(bits):
    """Raw bits of bf16 as float64."""
    return F64(number_bf16(bits))


def _wide_flushed(x):
    return F64(flush_f32(x))


def _wide_u64(x):
    return odd_sum(F64(x >> _U32) * _WORD, F64(x & _LOW))


def _wide_s64(x):
    return odd_sum(F64(x >> _I32) * _WORD, F64(x & _LOW_SIGNED))


def _wide_integer(x):
    return F64(x)


WIDE = {"f64": wide_f64, "f32": wide_f32, "f16": wide_f16, "bf16": wide_bf16, "u64": _wide_u64, "s64": _wide_s64,
        **dict.fromkeys(("u8", "u16", "u32", "s8", "s16", "s32"), _wide_integer)}
"""Type -> what makes float64 of its carriers: exactly, or of 64-bit integers rounded to odd."""


# ---- floats to integers

def _nearest(x):
    return np.rint(x)


def _toward_zero(x):
    return np.trunc(x)


def _down(x):
    return np.floor(x)


def _up(x):
    return np.ceil(x)


TO_WHOLE = {"rni": _nearest, "rzi": _toward_zero, "rmi": _down, "rpi": _up}
"""Integer rounding modifier -> function."""


@cache
def float_to_integer(target: str, source: str, mode: str, ftz: bool = False) -> Callable:
    """cvt.rni, rzi, rmi, rpi of a float to an integer, clamped; NaN becomes zero, or, where either type has 64 bits, a
    number whose highest bit alone is set.

    >>> float_to_integer("s8", "f32", "rni")(np.float32([2.5, 300, "nan"])).tolist()
    [2, 127, 0]
    """
    wide = _wide_flushed if ftz and source == "f32" else WIDE[source]
    whole = TO_WHOLE[mode]
    width, signed = width_of(target), target[0] == "s"
    kind = I64 if signed else U64
    low, high = (kind(limit) for limit in TYPES[target].limits)
    special = source == "f64" or width == 64
    of_nan = kind((-(1 << width - 1) if signed else 1 << width - 1) if special else 0)
    first, beyond = F64(float(low)), F64(2.0 ** (width - signed))

    def convert(x):
        number = whole(wide(x))
        inside = (number >= first) & (number < beyond)
        made = kind(select(inside, number, _Z))
        return select(inside, made, select(number < first, low, select(number >= beyond, high, of_nan)))

    return convert


# ---- to floats

def _positive(x):
    """.sat of an integer."""
    return saturate_f64(F64(x))


def _step(total, lost, mode_up, mode_down):
    """total moved to its neighbour where what it lost lies on the side that the mode rounds to."""
    bits = bits_f64(total)
    up, down = mode_up & (lost > _Z), mode_down & (lost < _Z)
    larger, smaller = bits + _U1, bits - _U1
    negative = bits >= _SIGN
    return float_f64(select(up, select(negative, smaller, larger), select(down, select(negative, larger, smaller), bits)))


@cache
def integer_to_f64(source: str, mode: str, sat: bool = False) -> Callable:
    """cvt of an integer to f64.

    >>> float(integer_to_f64("u64", "rz")(np.uint64(2**64 - 1))) == 2.0**64 - 2**11
    True
    """
    signed = source[0] == "s"
    if sat:
        return _positive
    if width_of(source) < 64 or mode in ("rn", ""):
        return _wide_integer

    down = mode in ("rm", "rz")
    up = mode == "rp"
    toward_zero = mode == "rz"
    low_bits, by = (_LOW_SIGNED, _I32) if signed else (_LOW, _U32)

    def convert(x):
        high, low = F64(x >> by) * _WORD, F64(x & low_bits)
        total = high + low
        lost = low - (total - high)                               # exactly: high is a multiple of 2**32, or zero
        negative = total < _Z
        return _step(total, lost, (total == total) & (up | toward_zero & negative),
                     (total == total) & down & ~(toward_zero & negative))

    return convert


@cache
def to_float(target: str, source: str, mode: str, ftz: bool = False, sat: bool = False, relu: bool = False,
             satfinite: bool = False) -> Callable:
    """cvt of a number to f16, bf16 or f32 by way of float64, in a rounding mode; NaN becomes the canonical one.

    >>> hex(to_float("f16", "f32", "rz")(np.float32(1.9999)))
    '0x3fff'
    """
    wide = _wide_flushed if ftz and source == "f32" and target != "f16" else WIDE[source]      # F2F.F16.F32 has no .FTZ
    encode = encoder(target, mode or "rn", satfinite)
    before = _clamped if sat else _rectified if relu else same

    if target != "f32":
        def to_half(x):
            return encode(before(wide(x)))

        return to_half
    if ftz:
        drop = flush_tiny(mode or "rn")

        def to_flushed_f32(x):
            x = before(wide(x))
            return drop(x, float_f32(encode(x)))

        return to_flushed_f32

    def to_f32(x):
        return float_f32(encode(before(wide(x))))

    return to_f32


def _clamped(x):
    """.sat before rounding, which changes neither 0 nor 1."""
    return select(x > _Z, select(x < _ONE, x, _ONE), _Z)


def _rectified(x):
    """.relu before rounding: numbers below zero, and -0, become +0; NaN stays."""
    return select((x < _Z) | (x == _Z), _Z, x)


def saturate_f64(x):
    """cvt.sat of f64: at least +0, at most 1; NaN becomes +0.

    >>> float(saturate_f64(np.float64(-3)))
    0.0
    """
    return select(x > _Z, select(x < _ONE, x, _ONE), _Z)


@cache
def float_to_f64(source: str, ftz: bool = False, sat: bool = False) -> Callable:
    """cvt of f32, f16 or bf16 to f64, which is exact. A NaN keeps what it can of its payload and becomes quiet.

    >>> float(float_to_f64("f16")(np.uint64(0x3C00)))
    1.0
    """
    wide = _wide_flushed if ftz and source == "f32" else WIDE[source]
    end = saturate_f64 if sat else same

    def convert(x):
        made = wide(x)
        return end(nan_of_one(made, made))

    return convert


@cache
def whole_f32(mode: str, ftz: bool = False, sat: bool = False) -> Callable:
    """cvt.rni.f32.f32 and the like: the nearest whole number in that direction, of its sign.

    >>> float(whole_f32("rni")(np.float32(-0.5)))
    -0.0
    """
    whole = TO_WHOLE[mode]
    enter = flush_f32 if ftz else same
    end = saturate_f32 if sat else canonical_f32

    def convert(x):
        return end(whole(enter(x)))

    return convert


@cache
def whole_half(name: str, mode: str, sat: bool = False) -> Callable:
    """cvt.rni.f16.f16 and the like, of bf16 too.

    >>> hex(whole_half("f16", "rni")(np.uint64(0x3E00)))
    '0x4000'
    """
    whole, wide, encode = TO_WHOLE[mode], WIDE[name], encoder(name)
    before = _clamped if sat else same

    def convert(x):
        return encode(before(whole(wide(x))))

    return convert


@cache
def whole_f64(mode: str, sat: bool = False) -> Callable:
    """cvt.rni.f64.f64 and the like.

    >>> float(whole_f64("rpi")(np.float64(0.5)))
    1.0
    """
    whole = TO_WHOLE[mode]
    end = saturate_f64 if sat else same

    def convert(x):
        return end(nan_of_one(whole(x), x))

    return convert


def tie_away_tf32(x):
    """cvt.rna.tf32.f32, in integers: half a unit more, and the low 13 bits cut off, of infinities and NaN too.

    >>> hex(tie_away_tf32(np.float32(1 + 2**-11)))
    '0x3f802000'
    """
    bits = bits_f32(x)
    return select(np.abs(x) < _INFINITY, bits + _HALF_TF32, bits) & _HIGH_TF32


@cache
def to_tf32(mode: str, relu: bool, satfinite: bool = False) -> Callable:
    """cvt.rn, cvt.rz and cvt.rna.satfinite of f32 to tf32: an f32 whose low 13 bits are zero; NaN becomes 0x7fffffff.

    >>> hex(to_tf32("rz", False)(np.float32(1 + 2**-10 - 2**-20)))
    '0x3f800000'
    """
    encode = encoder("tf32", mode, satfinite)
    before = _rectified if relu else same

    def convert(x):
        return select(x == x, encode(before(F64(x))) << _U13, _NAN_TF32)

    return convert


@cache
def two_to_packed(target: str, mode: str, relu: bool, satfinite: bool) -> Callable:
    """cvt of two f32 to a pair of f16, bf16, e4m3 or e5m2; the first becomes the high one.

    >>> hex(two_to_packed("f16", "rn", False, False)(np.float32(1), np.float32(2)))
    '0x3c004000'
    """
    one = to_float(target, "f32", mode, relu=relu, satfinite=satfinite)
    by = U64(TYPES[target].bits)

    def convert(a, b):
        return one(a) << by | one(b)

    return convert


@cache
def halves_to_bytes(target: str, relu: bool) -> Callable:
    """cvt.rn.satfinite of a pair of f16 to a pair of e4m3 or e5m2.

    >>> hex(halves_to_bytes("e4m3", False)(np.uint64(0x3C004000)))
    '0x3840'
    """
    one = to_float(target, "f16", "rn", relu=relu, satfinite=True)

    def convert(x):
        return one(x >> _U16) << _U8 | one(x & _ONES_16)

    return convert


@cache
def bytes_to_halves(source: str, relu: bool) -> Callable:
    """cvt.rn of a pair of e4m3 or e5m2 to a pair of f16, which is exact.

    >>> hex(bytes_to_halves("e4m3", False)(np.uint64(0x3840)))
    '0x3c004000'
    """
    row = target_of(source)
    up, scale = U64(10 - row.fraction), F64(2.0 ** (15 - row.bias))
    largest, infinity = U64(row.largest), U64(row.infinity if row.infinity < row.nan else 0)
    encode = encoder("f16")

    def one(bits):
        size = bits & _U127
        made = encode(wide_f16(size << up) * scale)
        made = select(size > largest, select(size == infinity, _INFINITY_16, _NAN_16), made)
        sign = (bits & _U128) << _U8
        return select(made > _INFINITY_16, made, made | sign)

    def one_rectified(bits):
        return rectify(one(bits))

    each = one_rectified if relu else one

    def convert(x):
        return each(x >> _U8) << _U16 | each(x & _ONES_8)

    return convert


@cache
def pack(target: str, with_third: bool) -> Callable:
    """cvt.pack.sat: a and b clamped to an integer type of 2 to 16 bits, a above b, and above them the low bits of c.

    >>> hex(pack("u8", True)(np.int64(300), np.int64(-1), np.uint64(0x1234)))
    '0x1234ff00'
    """
    width, signed = int(target[1:]), target[0] == "s"
    low, high = (I64(-(1 << width - 1)), I64((1 << width - 1) - 1)) if signed else (I64(0), I64((1 << width) - 1))
    ones, by, above = U64((1 << width) - 1), U64(width), U64(2 * width)

    def clamped(x):
        return np.uint64(np.minimum(np.maximum(x, low), high)) & ones

    def two(a, b):
        return clamped(a) << by | clamped(b)

    def three(a, b, c):
        return (c << above | clamped(a) << by | clamped(b)) & _LOW

    return three if with_third else two
