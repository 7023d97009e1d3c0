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
from simlayout.machine.arithmetic.halves import number_bf16, number_f16
from simlayout.machine.arithmetic.primitives import (
    F32,
    F64,
    I64,
    U64,
    Carrier,
    as_f64,
    bits_f64,
    float_f32,
    float_f64,
    same,
    select,
)
from simlayout.machine.arithmetic.rounding import encoder, flush_tiny, odd_sum
from simlayout.machine.arithmetic.rounding import target as format_of

_Z, _ONE = F64(0), F64(1)
_U1, _U16, _U32, _LOW = U64(1), U64(16), U64(32), U64(0xFFFFFFFF)
_I0, _I32, _LOW_SIGNED = I64(0), I64(32), I64(0xFFFFFFFF)
_WORD = F64(2.0**32)
_SIGN, _QUIET_64 = U64(1 << 63), U64(0x7FF8 << 48)
_SIGN_16, _SIZE_16, _INFINITY_16, _PAYLOAD_16 = U64(0x8000), U64(0x7FFF), U64(0x7C00), U64(0x01FF)
_U42, _U48, _U52, _U63 = U64(42), U64(48), U64(52), U64(63)


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

def wide_f64(x: Carrier) -> Carrier:
    """An f64 as it is."""
    return x


def wide_f32(x: Carrier) -> Carrier:
    """An f32 as float64."""
    return as_f64(x)


def wide_f16(bits: Carrier) -> Carrier:
    """Raw bits of f16 as float64."""
    return as_f64(number_f16(bits))


def payload_f16(bits: Carrier) -> Carrier:
    """Raw bits of f16 as float64; a NaN keeps its sign and its payload, and is made quiet (H200, 2026-11-23).

    >>> hex(payload_f16(np.uint64(0xFC01)).view(np.uint64))
    '0xfff8040000000000'
    """
    quiet = _QUIET_64 | (bits & _SIGN_16) << _U48 | (bits & _PAYLOAD_16) << _U42
    return select(bits & _SIZE_16 > _INFINITY_16, float_f64(quiet), wide_f16(bits))


def wide_bf16(bits: Carrier) -> Carrier:
    """Raw bits of bf16 as float64."""
    return as_f64(number_bf16(bits))


def _wide_flushed(x):
    return as_f64(flush_f32(x))


def _wide_canonical(x):
    return as_f64(canonical_f32(flush_f32(x)))


def _wide_u64(x):
    return odd_sum(as_f64(x >> _U32) * _WORD, as_f64(x & _LOW))


def _wide_s64(x):
    return odd_sum(as_f64(x >> _I32) * _WORD, as_f64(x & _LOW_SIGNED))


def _wide_integer(x):
    return as_f64(x)


WIDE = {"f64": wide_f64, "f32": wide_f32, "number": wide_f64, "f16": wide_f16, "bf16": wide_bf16,
        "u64": _wide_u64, "s64": _wide_s64,
        **dict.fromkeys(("u8", "u16", "u32", "s8", "s16", "s32"), _wide_integer)}
"""Type -> what makes float64 of its carriers: exactly, or of 64-bit integers rounded to odd."""


def shift_bf16(bits: Carrier) -> Carrier:
    """cvt.f32.bf16, on raw bits: a NaN keeps its own.

    >>> hex(shift_bf16(np.uint64(0x3F80)))
    '0x3f800000'
    """
    return bits << _U16


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
    return saturate_f64(as_f64(x))


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
        high, low = as_f64(x >> by) * _WORD, as_f64(x & low_bits)
        total = high + low
        lost = low - (total - high)                               # exactly: high is a multiple of 2**32, or zero
        negative = total < _Z
        return _step(total, lost, (total == total) & (up | toward_zero & negative),
                     (total == total) & down & ~(toward_zero & negative))

    return convert


@cache
def to_float(target: str, source: str, mode: str, ftz: bool = False, sat: bool = False, relu: bool = False,
             satfinite: bool = False) -> Callable:
    """cvt of a number to f16, bf16 or f32 by way of float64, in a rounding mode; NaN becomes the canonical one, but of f64
    it keeps its sign and the high bits of its payload, and is made quiet (H200, 2026-11-23).

    >>> hex(to_float("f16", "f32", "rz")(np.float32(1.9999)))
    '0x3fff'
    """
    if source == "f64" and not sat:
        return _keeping_nan(target, to_float(target, "number", mode, ftz))
    wide = _wide_flushed if ftz and source == "f32" and target != "f16" else WIDE[source]      # F2F.F16.F32 has no .FTZ
    encode = encoder(target, mode or "rn", satfinite)
    before = saturate_f64 if sat else rectified if relu else same

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

    def nearest_f32(x):
        return canonical_f32(F32(before(wide(x))))

    def to_f32(x):
        return float_f32(encode(before(wide(x))))

    return nearest_f32 if mode in ("", "rn") else to_f32


def _keeping_nan(name, convert):
    """convert, from f64, but of NaN what the format can keep of it."""
    form = format_of(name)
    infinity, quiet, payload = U64(form.infinity), U64(1 << form.fraction - 1), U64((1 << form.fraction) - 1)
    sign_by, by = U64(64 - form.width), U64(52 - form.fraction)
    sign = U64(1 << form.width - 1)
    of_bits = float_f32 if name == "f32" else same

    def converted(x):
        bits = bits_f64(x)
        nan = bits >> sign_by & sign | infinity | quiet | bits >> by & payload
        return select(x == x, convert(x), of_bits(nan))

    return converted


def rectified(x: Carrier) -> Carrier:
    """.relu before rounding: numbers below zero, and -0, become +0; NaN stays.

    >>> float(rectified(np.float64(-3)))
    0.0
    """
    return select((x < _Z) | (x == _Z), _Z, x)


def saturate_f64(x: Carrier) -> Carrier:
    """.sat of f64, or of what is rounded behind it, which changes neither 0 nor 1: at least +0, at most 1; NaN becomes +0.

    >>> float(saturate_f64(np.float64(-3)))
    0.0
    """
    return select(x > _Z, select(x < _ONE, x, _ONE), _Z)


@cache
def float_to_f64(source: str, ftz: bool = False, sat: bool = False) -> Callable:
    """cvt of f32, f16 or bf16 to f64, which is exact. A NaN keeps its payload and becomes quiet; with ftz it becomes that of
    0x7fffffff (H200, 2026-11-23), because ptxas makes an f32 addition of .ftz.

    >>> float(float_to_f64("f16")(np.uint64(0x3C00)))
    1.0
    """
    wide = _wide_canonical if ftz and source == "f32" else payload_f16 if source == "f16" else WIDE[source]
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
    before = saturate_f64 if sat else same

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
