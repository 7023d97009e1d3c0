"""2**x, log2, sin and cos of turns, tanh in float64, from sums and products alone: the same bits on every machine, in NumPy
and compiled, which libraries do not promise. Relative errors are below 2**-45, far below half a unit of f32.
"""

from math import factorial, log, pi

import numpy as np

from simlayout.machine.arithmetic.primitives import F64, U64, Carrier, bits_f64, float_f64, select

_LN2, _TURN = F64(log(2)), F64(2 * pi)
_EXP = tuple(F64(1 / factorial(n)) for n in range(14))
_SIN = tuple(F64((-1) ** n / factorial(2 * n + 1)) for n in range(9))
_COS = tuple(F64((-1) ** n / factorial(2 * n)) for n in range(9))
_LOG = tuple(F64(2 / (log(2) * (2 * n + 1))) for n in range(14))
_Z, _ONE, _TWO, _HALF, _QUARTER = (F64(x) for x in (0, 1, 2, 0.5, 0.25))
_ROOT_2 = F64(2**0.5)
_U52, _FRACTION, _ONE_BITS = U64(52), U64((1 << 52) - 1), U64(1023 << 52)
_BIAS = np.int64(1023)
_FAR = F64(1000)


def _series(x, coefficients):
    """The sum of coefficients[n] * x**n."""
    total = coefficients[-1] + x * _Z
    for k in range(len(coefficients) - 1):
        total = total * x + coefficients[len(coefficients) - 2 - k]
    return total


def exp2(x: Carrier) -> Carrier:
    """2**x of float64 with -1000 <= x <= 1000; further ones as these, NaN of NaN.

    >>> float(exp2(np.float64(3)))
    8.0
    """
    x = np.minimum(np.maximum(x, -_FAR), _FAR)
    whole = np.rint(x)
    power = float_f64(np.uint64(np.int64(select(x == x, whole, _Z)) + _BIAS) << _U52)
    return _series((x - whole) * _LN2, _EXP) * power


def log2(x: Carrier) -> Carrier:
    """log2 of positive normal float64; of others nothing that means anything.

    >>> float(log2(np.float64(8)))
    3.0
    """
    bits = bits_f64(x)
    fraction = float_f64(bits & _FRACTION | _ONE_BITS)
    above = fraction > _ROOT_2
    fraction = select(above, fraction * _HALF, fraction)
    exponent = F64(np.int64(bits >> _U52) - _BIAS) + select(above, _ONE, _Z)
    ratio = (fraction - _ONE) / (fraction + _ONE)
    return exponent + ratio * _series(ratio * ratio, _LOG)


def sin_turns(x: Carrier) -> Carrier:
    """The sine of x turns (of 2 pi), for finite x.

    >>> float(sin_turns(np.float64(0.25)))
    1.0
    """
    x = x - np.rint(x)                                        # -0.5 to 0.5
    side = select(x < _Z, -_ONE, _ONE)
    size = np.abs(x)
    size = select(size > _QUARTER, _HALF - size, size)
    near = size * _TURN
    far = (_QUARTER - size) * _TURN
    made = select(size < _QUARTER * _HALF, near * _series(near * near, _SIN), _series(far * far, _COS))
    return made * side


def cos_turns(x: Carrier) -> Carrier:
    """The cosine of x turns (of 2 pi), for finite x.

    >>> float(cos_turns(np.float64(0.5)))
    -1.0
    """
    x = np.abs(x - np.rint(x))
    return sin_turns(_QUARTER - x)


def tanh(x: Carrier) -> Carrier:
    """tanh of float64.

    >>> round(float(tanh(np.float64(0.5))), 12)
    0.46211715726
    """
    size = np.minimum(np.abs(x), F64(40))
    small = size * (_ONE + size * size * (F64(-1 / 3) + size * size * (F64(2 / 15) + size * size * F64(-17 / 315))))
    power = exp2(-_TWO * size / _LN2)
    made = select(size < F64(0.01), small, (_ONE - power) / (_ONE + power))
    return select(x < _Z, -made, select(x == _Z, x, made))
