"""Floating-point formats: from raw bits to values and exponents, by table where an element has 16 bits or fewer.

A decoded array is a pair (values, exponents). Values are exact, f32 where all products of the format are (f16, fp8),
else f64; infinities and NaN have the value 0. Exponents are int16: of the leading bit of a normal number, the smallest
normal one for subnormals, ZERO for zeros, SPECIAL for infinities and NaN, so that their sums stay apart.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simlayout.algebra.dtypes import TYPES, DType

ZERO, SPECIAL, SPECIAL_SUM = -1000, 2000, 500
"""The exponents of a zero and of an infinity or NaN; a sum above SPECIAL_SUM has one of the latter in it."""

TF32_MASK = np.uint32(0xFFFFE000)
"""The bits of an f32 that a tf32 operand has."""


@dataclass(frozen=True)
class Format:
    """exponent, fraction: bits; specials: "ieee" (largest exponent: infinity, NaN) or "fn" (all ones: NaN, no infinity);
    values: NumPy dtype in which all products of two such values are exact; bits: dtype of the raw bits."""

    exponent: int
    fraction: int
    specials: str
    values: type
    bits: np.dtype


def specials_of(row: DType) -> str:
    """What a float type of the table has beside numbers, as of `Format`."""
    return "ieee" if row.infinities else "fn"


FORMATS = {name: Format(row.exponent, row.bits - 1 - row.exponent, specials_of(row),
                        np.float32 if row.exponent <= 5 else np.float64, row.raw)
           for name, row in TYPES.items() if row.exponent and row.bits <= 32}
"""Those of TYPES that products are made of. A tf32 lies in an f32, whose fraction it has here."""


def patterns(exponent, fraction, specials, signed=True):
    """(exact values, f64; exponents, int64) of every bit pattern of a float with so many bits of exponent and fraction:
    exponents as they are encoded, of subnormals the least one. specials: as of Format, or "finite" (none).

    >>> [column[[1, 2, 15]].tolist() for column in patterns(2, 1, "finite")]      # e2m1
    [[0.5, 1.0, -6.0], [0, 0, 2]]
    """
    bits = np.arange(1 << signed + exponent + fraction)
    negative, field, last = (bits >> exponent + fraction, bits >> fraction & (1 << exponent) - 1, (1 << fraction) - 1)
    exponents = np.maximum(field, 1) - (1 << exponent - 1) + 1
    significands = ((bits & last) + (np.minimum(field, 1) << fraction)) * (1 - 2.0 * negative)
    exact = np.ldexp(significands, exponents - fraction)
    largest = field == (1 << exponent) - 1
    if specials == "ieee":
        exact[largest] = np.where(bits & last, np.nan, np.where(negative, -np.inf, np.inf))[largest]
    elif specials == "fn":
        exact[largest & (bits & last == last)] = np.nan
    return exact, exponents


@lru_cache(None)
def _tables(name):
    """(values, exponents, exact values as f64) of every bit pattern of a format of at most 16 bits."""
    form = FORMATS[name]
    exact, exponents = patterns(form.exponent, form.fraction, form.specials)
    finite = np.isfinite(exact)
    exponents[exact == 0] = ZERO
    exponents[~finite] = SPECIAL
    return np.where(finite, exact, 0).astype(form.values), exponents.astype(np.int16), exact


F32_EXPONENTS = np.tile(np.concatenate([[-126], np.arange(-126, 128), [SPECIAL]]).astype(np.int16), 2)
"""The exponent of an f32 from its highest nine bits; -126 for zeros too."""


def decode(name, bits):
    """(values, exponents) of raw bits of a format; see the module.

    >>> values, exponents = decode("f16", np.array([0x3C00, 0xC200, 0x0001, 0x8000, 0x7C00], np.uint16))
    >>> values.tolist(), exponents.tolist()
    ([1.0, -3.0, 5.960464477539063e-08, -0.0, 0.0], [0, 1, -14, -1000, 2000])
    """
    if FORMATS[name].fraction != 23:
        values, exponents, _ = _tables(name)
        return values.take(bits), exponents.take(bits)
    bits = bits & TF32_MASK if name == "tf32" else bits
    exponents = F32_EXPONENTS.take(bits >> 23)
    exponents[bits << 1 == 0] = ZERO
    values = bits.view(np.float32).astype(np.float64)
    special = exponents == SPECIAL
    if special.any():
        values[special] = 0
    return values, exponents


def exact(name, bits):
    """float64 values of raw bits of a format, infinities and NaN included."""
    if FORMATS[name].fraction != 23:
        return _tables(name)[2].take(bits)
    return (bits & TF32_MASK if name == "tf32" else bits).view(np.float32).astype(np.float64)


def nearest(name, values):
    """The raw bits of the finite numbers of a format of at most 16 bits that are nearest to float values: the lesser one of
    two, and the largest ones beyond.

    >>> exact("e4m3", nearest("e4m3", np.array([0.3, -1000, 1.0625]))).tolist()
    [0.3125, -448.0, 1.0]
    """
    every = np.arange(1 << TYPES[name].bits).astype(TYPES[name].raw)
    every = every[np.isfinite(exact(name, every))]
    ordered = every[np.argsort(exact(name, every), kind="stable")]
    known = exact(name, ordered)
    return ordered[np.searchsorted((known[1:] + known[:-1]) / 2, values)]


def bf16_bits(values):
    """float32 values rounded to the nearest bf16, ties to even: uint16 bits, 0x7fff for NaN (PTX ISA: cvt.rn.bf16.f32).

    >>> [hex(bits) for bits in bf16_bits(np.array([1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, np.inf, np.nan], np.float32))]
    ['0x3f80', '0x3f80', '0x3f82', '0x7f80', '0x7fff']
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    nearest = bits + np.uint32(0x7FFF) + (bits >> 16 & 1) >> 16      # of a NaN this may wrap: it is replaced
    return np.where((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FFF, nearest).astype(np.uint16)
