"""Fused multiply-add of f64 and f32, correctly rounded, in NumPy.

Where exponents are moderate: the product as an unevaluated sum of two f64 (Dekker), added to c with one rounding by way of
rounding to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). Elsewhere: exact integers.
"""

import numpy as np

INVALID = np.uint64(0xFFF8000000000000)
"""The NaN of inf * 0 and inf - inf on an H200."""

NAN_F32 = np.uint32(0x7FFFFFFF).view(np.float32)
"""The NaN that f32 arithmetic makes on a GPU (PTX ISA, Floating Point Instructions: canonical NaN)."""

_LOW, _HIGH = 2.0**-400, 2.0**400


def fma(a, b, c):
    """a * b + c rounded once, to nearest even. float64, all of one shape.

    NaN: the payload of c, a or b, in this order; INVALID if none of them is NaN.

    >>> third = np.array([1 / 3])
    >>> float(fma(third, third * 3, -third)[0]), float(fma(third, np.array([3.0]), np.array([-1.0]))[0])
    (0.0, -5.551115123125783e-17)
    """
    with np.errstate(all="ignore"):
        d = _moderate(a, b, c)
        wild = np.flatnonzero(~(_tame(a) & _tame(b) & _tame(c)))
        if wild.size:
            d.reshape(-1)[wild] = _wild(*(x.reshape(-1)[wild] for x in (a, b, c)))
    return d


def fma_f32(a, b, c):
    """a * b + c of f32, rounded once to nearest even; numbers or arrays that broadcast. NaN becomes NAN_F32.

    >>> fma_f32(np.float32(3), np.float32(1 / 3), np.float32(-1))
    np.float32(2.9802322e-08)
    """
    with np.errstate(all="ignore"):
        product = np.multiply(a, b, dtype=np.float64)            # exact: 24 + 24 bits fit in 53
        total = np.add(product, c, dtype=np.float64)
        moved = total - product
        lost = (product - (total - moved)) + (c - moved)         # what the sum in f64 has rounded off (Knuth)
        if not np.any(lost):                                     # true of NaN as well
            return total.astype(np.float32)
        bits = np.asarray(total).view(np.int64)
        inexact = (lost != 0) & np.isfinite(lost) & (bits & 1 == 0)
        away = np.where((lost > 0) == (total > 0), 1, -1)        # to odd: f32 then rounds as if it saw all of the sum
        result = np.where(inexact, bits + away, bits).view(np.float64).astype(np.float32)
        return np.where(np.isnan(result), NAN_F32, result)[()]


def _tame(x):
    size = np.abs(x)
    return (size == 0) | (size > _LOW) & (size < _HIGH)


def _two_sum(x, y):
    """x + y exactly, as two f64 (Knuth)."""
    high = x + y
    z = high - x
    return high, (x - (high - z)) + (y - z)


def _split(x):
    """x exactly, as two f64 of 26 bits (Veltkamp)."""
    z = x * (2.0**27 + 1)
    high = z - (z - x)
    return high, x - high


def _moderate(a, b, c):
    """The fma where neither over- nor underflow is near."""
    product = a * b
    (a0, a1), (b0, b1) = _split(a), _split(b)
    low = ((a0 * b0 - product) + a0 * b1 + a1 * b0) + a1 * b1
    middle, bottom = _two_sum(c, low)
    high, middle = _two_sum(product, middle)
    odd, lost = _two_sum(middle, bottom)
    bits = odd.view(np.int64)
    away = np.where((lost > 0) == (odd > 0), 1, -1)                      # one ulp up or down in magnitude
    odd = np.where((lost != 0) & (bits & 1 == 0), bits + away, bits).view(np.float64)
    return np.where((a == 0) | (b == 0), product + c, high + odd)


def _wild(a, b, c):
    """The fma of one-dimensional arrays, one by one."""
    d = np.where(np.isfinite(a) & np.isfinite(b), c, a * b + c)
    for i in np.flatnonzero(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)).tolist():
        d[i] = _exact(float(a[i]), float(b[i]), float(c[i]))
    for x in (b, a, c):
        d = np.where(np.isnan(x), x, d)
    bits = d.view(np.uint64)
    bits[np.isnan(d) & ~(np.isnan(a) | np.isnan(b) | np.isnan(c))] = INVALID
    bits[np.isnan(d)] |= np.uint64(1 << 51)                              # a signalling NaN becomes quiet
    return d


def _exact(a, b, c):
    """The fma of finite floats: Python divides integers with one rounding, into subnormals too."""
    if a == 0 or b == 0:
        return a * b + c
    (an, ad), (bn, bd), (cn, cd) = a.as_integer_ratio(), b.as_integer_ratio(), c.as_integer_ratio()
    above, below = an * bn * cd + cn * ad * bd, ad * bd * cd
    try:
        return above / below
    except OverflowError:
        return float("inf") if above > 0 else float("-inf")
