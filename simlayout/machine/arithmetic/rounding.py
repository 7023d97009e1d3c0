"""Rounding to any float format, once: from a float64 that is exact, or was rounded to odd.

A number rounded to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008) keeps in its last bit
whether anything was lost, so that a second rounding to at most 51 bits, in any direction, comes out as if it had been the
only one. Sums of f32 and narrower numbers, and their products plus a number, become such a float64; quotients and roots
of f32 are never nearer to a number of 25 bits than float64 can tell, unless they are one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.machine.arithmetic.primitives import F32, F64, U64, Carrier, bits_f64, float_f32, float_f64, select

_U0, _U1, _U52 = U64(0), U64(1), U64(52)
_EXPONENT, _SIGN = U64(0x7FF), U64(1 << 63)
_Z, _HALF, _ZERO_32 = F64(0), F64(0.5), F32(0)
_BIAS_64 = np.int64(1023)


@dataclass(frozen=True)
class Target:
    """A float format to round to. fraction, bias: of the format; nan, infinity, largest: magnitude bits, infinity that of
    the NaN where there are no infinities."""

    width: int
    fraction: int
    bias: int
    nan: int
    infinity: int
    largest: int


@cache
def target(name: str) -> Target:
    """The Target of a type; of tf32 the 19 bits that it has at the top of an f32.

    >>> hex(target("f16").largest), hex(target("e4m3").largest)
    ('0x7bff', '0x7e')
    """
    row = TYPES[name]
    fraction = row.fraction or {"tf32": 10}.get(name) or row.bits - 1 - row.exponent
    top = (1 << row.exponent + fraction) - 1
    infinity = top + 1 - (1 << fraction)
    return Target(1 + row.exponent + fraction, fraction, row.bias, top, infinity if row.infinities else top,
                  infinity - 1 if row.infinities else top - 1)


def odd_sum(x: Carrier, y: Carrier) -> Carrier:
    """x + y of float64, rounded to odd.

    >>> odd_sum(np.float64(1), np.float64(2.0**-80)) == 1 + 2.0**-52
    np.True_
    """
    total = x + y
    z = total - x
    lost = (x - (total - z)) + (y - z)                            # exactly (Knuth); NaN where the sum is not finite
    return to_odd(total, lost)


def to_odd(total: Carrier, lost: Carrier) -> Carrier:
    """A float64 nearest to total + lost, exactly, as rounded to odd instead."""
    bits = bits_f64(total)
    inexact = ((lost > _Z) | (lost < _Z)) & (bits & _U1 == _U0)
    return float_f64(select(inexact, select((lost > _Z) == (total > _Z), bits + _U1, bits - _U1), bits))


def round_even(size: Carrier) -> Carrier:
    """A magnitude rounded to the nearest integer, ties to even."""
    return np.rint(size)


def round_down(size: Carrier) -> Carrier:
    """A magnitude rounded toward zero."""
    return np.floor(size)


def round_up(size: Carrier) -> Carrier:
    """A magnitude rounded away from zero."""
    return np.ceil(size)


def round_away(size: Carrier) -> Carrier:
    """A magnitude rounded to the nearest integer, ties away from zero."""
    return np.floor(size + _HALF)


_MODES = {"rn": (round_even, round_even), "rz": (round_down, round_down), "rm": (round_down, round_up),
          "rp": (round_up, round_down), "rna": (round_away, round_away)}
"""PTX's rounding modifiers -> how the magnitudes of positive and of negative numbers are rounded."""


@cache
def encoder(name: str, mode: str = "rn", satfinite: bool = False) -> Callable:
    """What rounds float64 numbers to a format: to its raw bits. mode: rn, rz, rm, rp or rna (ties away from zero).

    Overflow gives an infinity, or the largest number where the mode rounds toward zero, or with satfinite, which makes it
    of infinities too; a format without infinities has NaN in their place. NaN becomes the format's canonical one: all bits
    but the sign.

    >>> hex(encoder("f16")(np.float64(1 + 2**-11 + 2**-40))), hex(encoder("e4m3", satfinite=True)(np.float64(-1e9)))
    ('0x3c01', '0xfe')
    """
    form = target(name)
    above, below = _MODES[mode]
    fraction, bias = np.int64(form.fraction), np.int64(form.bias)
    shift, sign_at = U64(form.fraction), U64(form.width - 1)
    nan, infinity, largest = U64(form.nan), U64(form.infinity), U64(form.largest)
    finite = U64(0x7FF0000000000000)
    up_overflows = largest if satfinite or above is round_down else infinity
    down_overflows = largest if satfinite or below is round_down else infinity
    at_infinity = largest if satfinite else infinity

    def encode(x):
        bits = bits_f64(x)
        sign = bits >> np.uint64(63)
        size = bits & ~_SIGN
        field = np.maximum(np.int64(size >> _U52) - _BIAS_64 + bias, np.int64(1))     # biased exponent in the format
        unit = float_f64(np.uint64(field - bias - fraction + _BIAS_64) << _U52)
        count = float_f64(size) / unit                                                # exact, or far below a half
        whole = np.uint64(select(size < finite, select(sign == _U0, above(count), below(count)), _Z))
        made = whole + (np.uint64(field - np.int64(1)) << shift)
        made = select(made > largest, select(sign == _U0, up_overflows, down_overflows), made)
        made = select(size == finite, at_infinity, made)
        return select(size > finite, nan, made | sign << sign_at)

    return encode


@cache
def rounder_f32(mode: str) -> Callable:
    """What rounds float64 numbers to f32; of NaN, some NaN.

    >>> float(rounder_f32("rp")(np.float64(1e-99))) == 2.0**-149
    True
    """
    encode = encoder("f32", mode)

    def nearest(x):
        return F32(x)

    def rounded(x):
        return float_f32(encode(x))

    return nearest if mode == "rn" else rounded


_TINY = {"nearest": F64(2.0**-126 * (1 - 2.0**-25)), "up": F64(np.nextafter(2.0**-126 * (1 - 2.0**-24), 1)),
         "down": F64(2.0**-126)}
"""What an f32 result lies below, in magnitude, if it is subnormal when rounded to 24 bits: to nearest, away, toward zero."""


@cache
def flush_tiny(mode: str) -> Callable:
    """.ftz of results: (exact or odd float64, the same as f32) -> f32, a zero of its sign where the exact one, rounded to 24
    bits of any exponent, is below the normal numbers (as ptxas's code for div.ftz and cvt.ftz on sm_90 decides).

    >>> float(flush_tiny("rn")(np.float64(2.0**-126 * (1 - 2.0**-25)), np.float32(2.0**-126))) == 2.0**-126
    True
    """
    names = {round_even: "nearest", round_down: "down", round_up: "up"}
    above, below = (_TINY[names[function]] for function in _MODES[mode])

    def flush(exact, rounded):
        size = np.abs(exact)
        tiny = select(exact > _Z, size < above, size < below)
        return select(tiny, rounded * _ZERO_32, rounded)

    return flush
