"""What PTX calls approximate, of f32 and f64 on sm_90: what ptxas makes of it around one MUFU instruction, bit for bit.

Seen in ptxas's code for sm_90a: scalings, so that no operand and no result of MUFU is subnormal, and products. `mufu` has
MUFU itself. Each of these functions, and ex2 and tanh of halves, makes the bits that an H200 made of 262,144 operands (of
all, where 16 bits are all; `tests/data/h200_opcodes.json.xz`).

The PTX ISA states as errors: rcp.approx 1 ulp; sqrt.approx, rsqrt.approx 2**-23 and 2**-22.9 relative; ex2.approx 2 ulp;
lg2.approx 2**-22 (0.5 < x < 2: absolute, elsewhere relative); sin.approx, cos.approx 2**-20.5 absolute from -2 pi to 2 pi;
tanh.approx 2**-11 relative; div.approx, div.full 2 ulp; rcp.approx.ftz.f64, rsqrt.approx.ftz.f64 none; ex2 and tanh of f16
2**-9.9 and 2**-10.987 relative, of bf16 2**-7 and 2**-8 (which tanh exceeds: it loses a whole unit).
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.floats import canonical_f32, f32, flush_f32, fused_f64, nan_of_one
from simlayout.machine.arithmetic.mufu import (
    mufu_cos,
    mufu_ex2,
    mufu_lg2,
    mufu_rcp,
    mufu_rsq,
    mufu_rsq64h,
    mufu_sin,
    mufu_sqrt,
)
from simlayout.machine.arithmetic.primitives import F32, F64, Carrier, select

_LEAST_NORMAL, _GREAT, _ZERO, _ONE = F32(2.0**-126), F32(2.0**126), F32(0), F32(1)
_UP, _QUARTER, _HALF, _TURNS = F32(2.0**24), F32(0.25), F32(0.5), F32(0.15915494)
_ROOT_DOWN, _ROOT_UP, _LOG_UP, _LOW_EXPONENT = F32(2.0**-12), F32(2.0**12), F32(-24), F32(-126)
_Z, _ONE_F64, _HALF_F64, _THREE_EIGHTHS, _LEAST_F64 = (F64(x) for x in (0, 1, 0.5, 0.375, 2.0**-1022))
_NAN, _INFINITY = F64("nan"), F64("inf")
_UP_F64, _ROOT_UP_F64 = F64(2.0**54), F64(2.0**27)


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
