"""Approximate functions of f32 on sm_90: what ptxas makes of them around one MUFU instruction.

The scalings and the products are the GPU's (seen in ptxas's code for sm_90a). What MUFU itself returns is not published:
here it is the exact value rounded to nearest, from which the GPU's may differ by the error that the PTX ISA states:

  rcp.approx 1 ulp; sqrt.approx, rsqrt.approx 2**-23 and 2**-22.9 relative; ex2.approx 2 ulp; lg2.approx 2**-22 (0.5 < x < 2:
  absolute, elsewhere relative); sin.approx, cos.approx 2**-20.5 absolute from -2 pi to 2 pi; tanh.approx 2**-11 relative;
  div.approx, div.full 2 ulp; ex2 and tanh of f16 2**-9.9 and 2**-10.987 relative, of bf16 2**-7 and 2**-8.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic import elementary
from simlayout.machine.arithmetic.floats import canonical_f32, f32, flush_f32
from simlayout.machine.arithmetic.primitives import F32, F64, select

_LEAST_NORMAL, _GREAT, _ZERO, _ONE = F32(2.0**-126), F32(2.0**126), F32(0), F32(1)
_UP, _QUARTER, _HALF, _TURNS = F32(2.0**24), F32(0.25), F32(0.5), F32(0.15915494)
_NAN, _INFINITY = F64("nan"), F64("inf")
_ROOT_DOWN, _ROOT_UP, _LOG_UP, _LOW_EXPONENT = F32(2.0**-12), F32(2.0**12), F32(-24), F32(-126)
_Z = F64(0)


# ---- MUFU: subnormal operands and results are zeros

def _flushed(x):
    return canonical_f32(flush_f32(F32(x)))


def mufu_rcp(x):
    """1 / x.

    >>> float(mufu_rcp(np.float32(4)))
    0.25
    """
    return _flushed(F64(1) / F64(flush_f32(x)))


def mufu_sqrt(x):
    """The square root.

    >>> float(mufu_sqrt(np.float32(4)))
    2.0
    """
    return _flushed(np.sqrt(F64(flush_f32(x))))


def mufu_rsq(x):
    """1 / the square root; of -0 -inf.

    >>> float(mufu_rsq(np.float32(4)))
    0.5
    """
    return _flushed(F64(1) / np.sqrt(F64(flush_f32(x))))


def mufu_ex2(x):
    """2**x.

    >>> float(mufu_ex2(np.float32(4)))
    16.0
    """
    return _flushed(elementary.exp2(F64(flush_f32(x))))


def mufu_lg2(x):
    """log2; of zeros -inf, of negative numbers NaN.

    >>> float(mufu_lg2(np.float32(4)))
    2.0
    """
    wide = F64(flush_f32(x))
    made = select(wide < _INFINITY, elementary.log2(wide), wide)
    return _flushed(select(wide == _Z, -_INFINITY, select(wide >= _Z, made, _NAN)))


def mufu_sin(x):
    """The sine of x turns.

    >>> float(mufu_sin(np.float32(0.25)))
    1.0
    """
    wide = F64(flush_f32(x))
    return _flushed(select(wide == _Z, wide, elementary.sin_turns(wide)))


def mufu_cos(x):
    """The cosine of x turns.

    >>> float(mufu_cos(np.float32(0.5)))
    -1.0
    """
    return _flushed(elementary.cos_turns(F64(flush_f32(x))))


def tanh_f32(x):
    """tanh.approx.f32.

    >>> float(tanh_f32(np.float32("inf")))
    1.0
    """
    return canonical_f32(F32(elementary.tanh(F64(x))))


# ---- what ptxas makes around it

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


_scaled_turn = f32("mul", "rz")


def _sin(x):
    return mufu_sin(_scaled_turn(x, _TURNS))


def _cos(x):
    return mufu_cos(_scaled_turn(x, _TURNS))


def _divide(a, b):
    scale = select(_subnormal(b), _UP, _ONE)
    return canonical_f32(mufu_rcp(b * scale) * (a * scale))


def _divide_flushing(a, b):
    return canonical_f32(flush_f32(mufu_rcp(b) * flush_f32(a)))


def _divide_full(a, b):
    scale = select(np.abs(b) > _GREAT, _QUARTER, select(_subnormal(b), _UP, _ONE))
    return canonical_f32(mufu_rcp(b * scale) * (a * scale))


def _divide_full_flushing(a, b):
    a, b = flush_f32(a), flush_f32(b)
    scale = select(np.abs(b) > _GREAT, _QUARTER, _ONE)
    return canonical_f32(flush_f32(mufu_rcp(flush_f32(b * scale)) * flush_f32(a * scale)))


_FUNCTIONS = {
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
