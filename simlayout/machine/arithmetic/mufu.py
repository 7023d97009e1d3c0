"""MUFU, the instruction of approximate functions, bit for bit as sm_90 works it out.

All functions are one interpolation in whole numbers (`interpolated`), whose coefficients stand in `mufu_tables`. What a
result has below its last bit is cut off; the constants that the tables add make that nearly a rounding. Subnormal operands
and results are zeros.
"""

import numpy as np

from simlayout.machine.arithmetic.floats import canonical_f32, flush_f32
from simlayout.machine.arithmetic.mufu_tables import (
    LOGARITHM,
    POWER,
    RECIPROCAL,
    ROOT,
    ROOT_RECIPROCAL,
    SINE,
    TANH,
    TANH_FIRST_SEGMENT,
    TANH_SEGMENT_BITS,
)
from simlayout.machine.arithmetic.primitives import (
    F32,
    F64,
    I64,
    U64,
    Carrier,
    as_f64,
    bits_f64,
    float_f64,
    select,
    signed,
    unsigned,
)
from simlayout.numerics.fma import NAN_F32

_U52, _EXPONENT, _BIAS, _SIGN, _MANTISSA = U64(52), U64(0x7FF), I64(1023), U64(1 << 63), U64((1 << 52) - 1)
_U28, _U29, _U35, _I0, _I1, _I9, _I17, _I23 = U64(28), U64(29), U64(35), *(I64(n) for n in (0, 1, 9, 17, 23))
_LOW_9, _LOW_17, _LOW_23 = (I64((1 << n) - 1) for n in (9, 17, 23))
_Z, _ONE, _NAN, _INFINITY = (F64(x) for x in (0, 1, "nan", "inf"))
_LEAST_F32, _LEAST_F64 = F64(2.0**-126), F64(2.0**-1022)
_CUT_24, _HIGH_WORD = U64(0xFFFFFFFFE0000000), U64(0xFFFFFFFF00000000)
_NAN_64H = U64(0x7FFFFFFF00000000).view(np.float64)
_NAN_F32, _ONE_F32 = F32(NAN_F32), F32(1)
_DOWN_36, _DOWN_37, _DOWN_38, _DOWN_40 = (F64(2.0**-n) for n in (36, 37, 38, 40))
_ONE_UP_40, _I2, _I36 = I64(1 << 40), I64(2), I64(36)
_UP_23, _UP_25, _FAR = F64(2.0**23), F64(2.0**25), F64(512)
_TANH_LEAST, _TANH_MOST, _TANH_DOWN = F32(2.0**-8), F32(8), I64(-38)
_FROM_TANH_LEAST, _LAST_BINADE, _HALF_EXPONENT = I64(8), I64(10), I64(-1)


# ---- the interpolation

def squared(x: Carrier) -> Carrier:
    """x**2 >> 19 of 0 <= x < 2**17, int64, as a squarer without its lower columns makes it: products of two bits that are
    worth less than 2**18 are left out.

    >>> int(squared(np.int64(0x1FFFF))), 0x1FFFF**2 >> 19
    (32759, 32767)
    """
    high, low = x >> _I9, x & _LOW_9
    total = high * high >> _I1
    for k in range(1, 8):
        total = total + (high >> I64(k) & _I1) * (low >> I64(9 - k))
    return total


def interpolated(table: np.ndarray, place: Carrier) -> Carrier:
    """c0 + c1 * x + c2 * x**2, int64, exact but for the square. table: of `mufu_tables`; place, int64: the segment, and
    below it the 17 bits of x.

    >>> round(float(interpolated(POWER, np.int64(1 << 22)) / 2**38), 6)              # 2**0.5
    1.414214
    """
    segment, x = place >> _I17, place & _LOW_17
    return table[segment, 0] + table[segment, 1] * x + table[segment, 2] * squared(x)


def _exponent(bits):
    """Of the bits of f64 numbers: 0 of 1 <= x < 2."""
    return signed(bits >> _U52 & _EXPONENT) - _BIAS


def _power_of_two(exponent):
    """As f64; 0 of -1023."""
    return float_f64(unsigned(exponent + _BIAS) << _U52)


def _cut(x, mask):
    return float_f64(bits_f64(x) & mask)


def _flushed(x, least):
    return select(np.abs(x) < least, x * _Z, x)


def _wide(x):
    """f32 as f64; subnormal numbers as zeros."""
    return as_f64(flush_f32(x))


def _narrow(x):
    """f64 of 24 bits as f32; subnormal numbers as zeros."""
    return canonical_f32(F32(_flushed(x, _LEAST_F32)))


# ---- 1 / x, sqrt(x), 1 / sqrt(x), of f64 numbers: of an operand's mantissa 24 or 23 bits count, a result has 24

def _reciprocal(x):
    bits = bits_f64(x)
    near = _cut(as_f64(interpolated(RECIPROCAL, signed((bits & _MANTISSA) >> _U28))) * _DOWN_40, _CUT_24)
    made = near * _power_of_two(-_exponent(bits))
    made = select(x == _Z, _INFINITY, select(np.abs(x) == _INFINITY, _Z, made))
    return select(x == x, float_f64(bits_f64(made) | bits & _SIGN), _NAN)


def _place_of_root(bits):
    """The place in a table of 1 <= x < 4, whose exponent is even without."""
    return (_exponent(bits) & _I1) << _I23 | signed((bits & _MANTISSA) >> _U29)


def _root(x):
    bits = bits_f64(x)
    near = _cut(as_f64(interpolated(ROOT, _place_of_root(bits))) * _DOWN_40, _CUT_24)
    made = near * _power_of_two(_exponent(bits) >> _I1)
    return select((x == _Z) | (x == _INFINITY), x, select(x > _Z, made, _NAN))


def _root_reciprocal(x):
    bits = bits_f64(x)
    place = _place_of_root(bits)
    total = select(place == _I0, _ONE_UP_40, interpolated(ROOT_RECIPROCAL, place))      # of 4**n it is exact
    made = _cut(as_f64(total) * _DOWN_40, _CUT_24) * _power_of_two(-(_exponent(bits) >> _I1))
    made = select(x > _Z, select(x == _INFINITY, _Z, made), _NAN)
    return select(x == _Z, float_f64(bits_f64(_INFINITY) | bits & _SIGN), made)


def mufu_rcp(x: Carrier) -> Carrier:
    """1 / x.

    >>> float(mufu_rcp(np.float32(4)))
    0.25
    """
    return _narrow(_reciprocal(_wide(x)))


def mufu_sqrt(x: Carrier) -> Carrier:
    """The square root.

    >>> float(mufu_sqrt(np.float32(4)))
    2.0
    """
    return _narrow(_root(_wide(x)))


def mufu_rsq(x: Carrier) -> Carrier:
    """1 / the square root; of -0 -inf.

    >>> float(mufu_rsq(np.float32(4)))
    0.5
    """
    return _narrow(_root_reciprocal(_wide(x)))


def _high_word(x):
    """The high 32 bits of an f64, the others are cut off; subnormal numbers are zeros."""
    return _flushed(_cut(x, _HIGH_WORD), _LEAST_F64)


def mufu_rcp64h(x: Carrier) -> Carrier:
    """rcp.approx.ftz.f64: of the high word of x, a high word; subnormal numbers are zeros.

    >>> float(mufu_rcp64h(np.float64(4)))
    0.25
    """
    made = _high_word(_reciprocal(_high_word(x)))
    return select(made == made, made, _NAN_64H)


def mufu_rsq64h(x: Carrier) -> Carrier:
    """rsqrt.approx.ftz.f64: of the high word of x, a high word; subnormal numbers are zeros.

    >>> float(mufu_rsq64h(np.float64(4)))
    0.5
    """
    made = _high_word(_root_reciprocal(_high_word(x)))
    return select(made == made, made, _NAN_64H)


# ---- powers, logarithms

def mufu_ex2(x: Carrier) -> Carrier:
    """2**x; what x has below 2**-23 is cut off.

    >>> float(mufu_ex2(np.float32(4)))
    16.0
    """
    wide = _wide(x)
    size = np.trunc(np.minimum(select(x == x, np.abs(wide), _Z), _FAR) * _UP_23)
    whole = I64(size)
    below = select(whole & _LOW_23 == _I0, -whole, ~whole)                 # not -whole: a unit of 2**-23 is left out
    whole = select(wide < _Z, below, whole)
    near = _cut(as_f64(interpolated(POWER, whole & _LOW_23)) * _DOWN_38, _CUT_24)
    return _narrow(select(x == x, near * _power_of_two(whole >> _I23), _NAN))


def mufu_lg2(x: Carrier) -> Carrier:
    """log2; of zeros -inf, of negative numbers NaN.

    >>> float(mufu_lg2(np.float32(4)))
    2.0
    """
    wide = _wide(x)
    bits = bits_f64(wide)
    total = (interpolated(LOGARITHM, signed((bits & _MANTISSA) >> _U29)) >> _I2) + (_exponent(bits) << _I36)
    total = select(wide == _ONE, _I0, total)
    size = as_f64(select(total < _I0, ~total, total))                         # not -total, likewise
    made = _cut(size, _CUT_24) * select(total < _I0, -_DOWN_36, _DOWN_36)
    made = select(wide < _INFINITY, made, wide)
    return _narrow(select(wide == _Z, -_INFINITY, select(wide >= _Z, made, _NAN)))


# ---- sines

def _sine(x, quarters):
    """The sine of |x| turns and some quarters; turns are cut off after 25 bits."""
    size = np.abs(x)
    size = select(size < _INFINITY, size, _Z)
    turn = I64(np.trunc((size - np.floor(size)) * _UP_25))
    quarter = (turn >> _I23) + quarters
    place = turn & _LOW_23
    place = select(quarter & _I1 == _I0, place, place ^ _LOW_23)           # not one more, likewise
    made = _cut(as_f64(interpolated(SINE, place)) * _DOWN_37, _CUT_24)
    made = select(quarter & _I2 == _I0, made, -made)
    return select(np.abs(x) < _INFINITY, made, _NAN)


def mufu_sin(x: Carrier) -> Carrier:
    """The sine of x turns, which are cut off after 25 bits of a turn.

    >>> float(mufu_sin(np.float32(0.25)))
    1.0
    """
    wide = _wide(x)
    made = _sine(wide, _I0)
    return _narrow(float_f64(bits_f64(made) ^ bits_f64(wide) & _SIGN))


def mufu_cos(x: Carrier) -> Carrier:
    """The cosine of x turns, which are cut off after 25 bits of a turn.

    >>> float(mufu_cos(np.float32(0.5)))
    -1.0
    """
    return _narrow(_sine(_wide(x), _I1))


def mufu_tanh(x: Carrier) -> Carrier:
    """tanh.approx.f32: of numbers below 2**-8 the number itself, from 8 on 1.

    >>> float(mufu_tanh(np.float32("inf")))
    1.0
    """
    bits = bits_f64(as_f64(x))
    exponent = _exponent(bits)
    binade = np.minimum(np.maximum(exponent + _FROM_TANH_LEAST, _I0), _LAST_BINADE)
    place = signed((bits & _MANTISSA) >> (_U35 - U64(TANH_SEGMENT_BITS[binade])))
    total = interpolated(TANH, (TANH_FIRST_SEGMENT[binade] << _I17) + place)
    unit = _power_of_two(np.minimum(np.maximum(exponent, -_FROM_TANH_LEAST), _HALF_EXPONENT) + _TANH_DOWN)
    made = F32(_cut(as_f64(total) * unit, _CUT_24))
    size = np.abs(x)
    made = select(size < _TANH_MOST, made, _ONE_F32)
    made = select(size < _TANH_LEAST, x, select(x < F32(0), -made, made))
    return select(x == x, made, _NAN_F32)
