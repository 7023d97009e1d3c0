"""Approximate functions of f32 and f64 on sm_90: what ptxas makes of them around one MUFU instruction.

The scalings and the products are the GPU's (seen in ptxas's code for sm_90a). What MUFU itself returns is not published:
here it is the exact value rounded to nearest, but what is cut off where a GPU cuts off (turns of sin and cos, high words of
f64, ex2 and tanh of halves), as an H200 was seen to do. The PTX ISA states as errors:

  rcp.approx 1 ulp; sqrt.approx, rsqrt.approx 2**-23 and 2**-22.9 relative; ex2.approx 2 ulp; lg2.approx 2**-22 (0.5 < x < 2:
  absolute, elsewhere relative); sin.approx, cos.approx 2**-20.5 absolute from -2 pi to 2 pi; tanh.approx 2**-11 relative;
  div.approx, div.full 2 ulp; rcp.approx.ftz.f64, rsqrt.approx.ftz.f64 none; ex2 and tanh of f16 2**-9.9 and 2**-10.987
  relative, of bf16 2**-7 and 2**-8 (which tanh exceeds: it loses a whole unit).

How many results of these functions are not those of an H200 (2026-11-23), and how far they are off. ex2 of halves is
bit-exact, of all operands.

  tanh.approx.f16: 48 of 65,536 differ, by at most 1 ulp, relative 0.000896
  tanh.approx.bf16: 2 of 65,536 differ, by at most 1 ulp, relative 0.00617
  tanh.approx.bf16x2: 4 of 65,536 differ, by at most 1 ulp, relative 0.00617
  tanh.approx.f16x2: 96 of 65,536 differ, by at most 1 ulp, relative 0.000896
  rcp.approx.f32: 31,017 of 262,144 differ, by at most 1 ulp, relative 4.75e-07
  rcp.approx.ftz.f32: 30,040 of 262,144 differ, by at most 1 ulp, relative 1.19e-07
  sqrt.approx.f32: 25,674 of 262,144 differ, by at most 1 ulp, relative 1.19e-07
  sqrt.approx.ftz.f32: 24,871 of 262,144 differ, by at most 1 ulp, relative 1.19e-07
  rsqrt.approx.f32: 32,606 of 262,144 differ, by at most 1 ulp, relative 1.19e-07
  rsqrt.approx.ftz.f32: 31,424 of 262,144 differ, by at most 1 ulp, relative 1.19e-07
  sin.approx.f32: 122,884 of 262,144 differ, by at most 3.43e-07
  sin.approx.ftz.f32: 122,884 of 262,144 differ, by at most 3.43e-07
  cos.approx.f32: 53,569 of 262,144 differ, by at most 3.28e-07
  cos.approx.ftz.f32: 53,569 of 262,144 differ, by at most 3.28e-07
  lg2.approx.f32: 64,326 of 262,144 differ, by at most 1.53e-05
  lg2.approx.ftz.f32: 62,434 of 262,144 differ, by at most 7.63e-06
  ex2.approx.f32: 20,044 of 262,144 differ, by at most 2 ulp, relative 3.48e-07
  ex2.approx.ftz.f32: 20,034 of 262,144 differ, by at most 2 ulp, relative 1.53e-07
  tanh.approx.f32: 17,869 of 262,144 differ, by at most 130 ulp, relative 1.04e-05
  div.approx.f32: 12,050 of 262,144 differ, by at most 2 ulp, relative 1.33e-06
  div.approx.ftz.f32: 11,555 of 262,144 differ, by at most 2 ulp, relative 2.17e-07
  div.full.f32: 12,088 of 262,144 differ, by at most 2 ulp, relative 1.33e-06
  div.full.ftz.f32: 11,593 of 262,144 differ, by at most 2 ulp, relative 2.17e-07
  rsqrt.approx.f64: 24 of 262,144 differ, by at most 1 ulp, relative 2.21e-16
  rsqrt.approx.ftz.f64: 7,253 of 262,144 differ, by at most 4294967296 ulp, relative 9.53e-07
  rcp.approx.ftz.f64: 16,119 of 262,144 differ, by at most 4294967296 ulp, relative 9.53e-07
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.elementary import cos_turns, exp2, log2, sin_turns, tanh
from simlayout.machine.arithmetic.floats import canonical_f32, f32, flush_f32, fused_f64, nan_of_one
from simlayout.machine.arithmetic.primitives import F32, F64, U64, Carrier, bits_f64, float_f64, select
from simlayout.numerics.fma import NAN_F32

_LEAST_NORMAL, _GREAT, _ZERO, _ONE = F32(2.0**-126), F32(2.0**126), F32(0), F32(1)
_UP, _QUARTER, _HALF, _TURNS = F32(2.0**24), F32(0.25), F32(0.5), F32(0.15915494)
_NAN, _INFINITY = F64("nan"), F64("inf")
_NAN_F32, _AS_IT_IS, _EIGHT, _NO_POWER = F32(NAN_F32), F32(2.0**-8 + 2.0**-15), F32(8), F32(2.0**-23)
_TURN_BITS = F64(2.0**25)
_ROOT_DOWN, _ROOT_UP, _LOG_UP, _LOW_EXPONENT = F32(2.0**-12), F32(2.0**12), F32(-24), F32(-126)
_Z, _ONE_F64, _HALF_F64, _THREE_EIGHTHS, _LEAST_F64 = (F64(x) for x in (0, 1, 0.5, 0.375, 2.0**-1022))
_UP_F64, _ROOT_UP_F64 = F64(2.0**54), F64(2.0**27)
_HIGH_WORD = U64(0xFFFFFFFF00000000)
_NAN_64H = U64(0x7FFFFFFF00000000).view(np.float64)


# ---- MUFU: subnormal operands and results are zeros

def _flushed(x):
    return canonical_f32(flush_f32(F32(x)))


def mufu_rcp(x: Carrier) -> Carrier:
    """1 / x.

    >>> float(mufu_rcp(np.float32(4)))
    0.25
    """
    return _flushed(F64(1) / F64(flush_f32(x)))


def mufu_sqrt(x: Carrier) -> Carrier:
    """The square root.

    >>> float(mufu_sqrt(np.float32(4)))
    2.0
    """
    return _flushed(np.sqrt(F64(flush_f32(x))))


def mufu_rsq(x: Carrier) -> Carrier:
    """1 / the square root; of -0 -inf.

    >>> float(mufu_rsq(np.float32(4)))
    0.5
    """
    return _flushed(F64(1) / np.sqrt(F64(flush_f32(x))))


def mufu_ex2(x: Carrier) -> Carrier:
    """2**x; 1 of numbers below 2**-23.

    >>> float(mufu_ex2(np.float32(4)))
    16.0
    """
    return _flushed(select(np.abs(x) < _NO_POWER, _ONE_F64, exp2(F64(flush_f32(x)))))


def mufu_lg2(x: Carrier) -> Carrier:
    """log2; of zeros -inf, of negative numbers NaN.

    >>> float(mufu_lg2(np.float32(4)))
    2.0
    """
    wide = F64(flush_f32(x))
    made = select(wide < _INFINITY, log2(wide), wide)
    return _flushed(select(wide == _Z, -_INFINITY, select(wide >= _Z, made, _NAN)))


def mufu_sin(x: Carrier) -> Carrier:
    """The sine of x turns, which are cut off after 25 bits of a turn.

    >>> float(mufu_sin(np.float32(0.25)))
    1.0
    """
    wide = _cut_turns(x)
    return _flushed(select(wide == _Z, wide, sin_turns(wide)))


def mufu_cos(x: Carrier) -> Carrier:
    """The cosine of x turns, which are cut off after 25 bits of a turn.

    >>> float(mufu_cos(np.float32(0.5)))
    -1.0
    """
    return _flushed(cos_turns(_cut_turns(x)))


def _cut_turns(x):
    return np.trunc(F64(flush_f32(x)) * _TURN_BITS) / _TURN_BITS


def tanh_f32(x: Carrier) -> Carrier:
    """tanh.approx.f32: of numbers below 2**-8 * (1 + 2**-7) the number itself, from 8 on 1.

    >>> float(tanh_f32(np.float32("inf")))
    1.0
    """
    size = np.abs(x)
    made = select(size < _AS_IT_IS, x, select(size < _EIGHT, F32(tanh(F64(x))), select(x < _ZERO, -_ONE, _ONE)))
    return select(x == x, made, _NAN_F32)


def _high_word(x):
    """The high 32 bits of an f64; the others are cut off."""
    return float_f64(bits_f64(x) & _HIGH_WORD)


def mufu_rcp64h(x: Carrier) -> Carrier:
    """rcp.approx.ftz.f64: of the high word of x, a high word; subnormal numbers are zeros.

    >>> float(mufu_rcp64h(np.float64(4)))
    0.25
    """
    x = _high_word(x)
    x = select(np.abs(x) < _LEAST_F64, x * _Z, x)
    made = _high_word(_ONE_F64 / x)
    made = select(np.abs(made) < _LEAST_F64, made * _Z, made)
    return select(x == x, made, _NAN_64H)


def mufu_rsq64h(x: Carrier) -> Carrier:
    """rsqrt.approx.ftz.f64: of the high word of x, a high word; subnormal numbers are zeros.

    >>> float(mufu_rsq64h(np.float64(4)))
    0.5
    """
    x = _high_word(x)
    x = select(np.abs(x) < _LEAST_F64, x * _Z, x)
    return select(x >= _Z, _high_word(_ONE_F64 / np.sqrt(x)), _NAN_64H)


# ---- what ptxas makes around it

def rsqrt_f64(x: Carrier) -> Carrier:
    """rsqrt.approx.f64: MUFU.RSQ64H and one step of third order, after which MUFU's error hardly counts.

    >>> float(rsqrt_f64(np.float64([4]))[0])
    0.5
    """
    tiny = x < _LEAST_F64
    scaled = select(tiny, x * _UP_F64, x)
    near = mufu_rsq64h(scaled)
    rest = fused_f64(scaled, -(near * near), _ONE_F64)
    made = fused_f64(fused_f64(rest, _THREE_EIGHTHS, _HALF_F64), near * rest, near)
    made = select(tiny, made * _ROOT_UP_F64, made)
    made = select((x > _Z) & (x < _INFINITY), made, near)             # of zeros and infinity
    return select(x >= _Z, made, nan_of_one(_NAN, x))

def _subnormal(x):
    return np.abs(x) < _LEAST_NORMAL


def _rcp(x):
    scale = select(np.abs(x) > _GREAT, _QUARTER, select(_subnormal(x), _UP, _ONE))
    return canonical_f32(scale * mufu_rcp(x * scale))


def _sqrt(x):
    return canonical_f32(mufu_sqrt(x * select(_subnormal(x), _UP, _ONE)) * select(_subnormal(x), _ROOT_DOWN, _ONE))


def _rsqrt(x):
    return canonical_f32(mufu_rsq(x * select(_subnormal(x), _UP, _ONE)) * select(_subnormal(x), _ROOT_UP, _ONE))


def _lg2(x):
    return canonical_f32(mufu_lg2(x * select(_subnormal(x), _UP, _ONE)) + select(_subnormal(x), _LOG_UP, _ZERO))


def _ex2(x):
    below = x < _LOW_EXPONENT
    made = mufu_ex2(select(below, x * _HALF, x))
    return canonical_f32(select(below, made * made, made))


_scaled_turn, _flushing_product = f32("mul", "rz"), f32("mul", "rn", True)


def _sin(x):
    return mufu_sin(_scaled_turn(x, _TURNS))


def _cos(x):
    return mufu_cos(_scaled_turn(x, _TURNS))


def _divide(a, b):
    scale = select(_subnormal(b), _UP, _ONE)
    return canonical_f32(mufu_rcp(b * scale) * (a * scale))


def _divide_flushing(a, b):
    return _flushing_product(mufu_rcp(b), a)


def _divide_full(a, b):
    scale = select(np.abs(b) > _GREAT, _QUARTER, select(_subnormal(b), _UP, _ONE))
    return canonical_f32(mufu_rcp(b * scale) * (a * scale))


def _divide_full_flushing(a, b):
    a, b = flush_f32(a), flush_f32(b)
    scale = select(np.abs(b) > _GREAT, _QUARTER, _ONE)
    return _flushing_product(mufu_rcp(flush_f32(b * scale)), flush_f32(a * scale))


_FUNCTIONS: dict[str, tuple[Callable, Callable]] = {
    # PTX's name: (without .ftz, with it)
    "rcp": (_rcp, mufu_rcp), "sqrt": (_sqrt, mufu_sqrt), "rsqrt": (_rsqrt, mufu_rsq), "lg2": (_lg2, mufu_lg2),
    "ex2": (_ex2, mufu_ex2), "sin": (_sin, _sin), "cos": (_cos, _cos), "div.approx": (_divide, _divide_flushing),
    "div.full": (_divide_full, _divide_full_flushing),
}


@cache
def approximate(name: str, ftz: bool) -> Callable:
    """rcp, sqrt, rsqrt, lg2, ex2, sin, cos, div.approx or div.full of f32.

    >>> float(approximate("ex2", False)(np.float32(-149))) == 2.0**-149
    True
    """
    return _FUNCTIONS[name][ftz]
