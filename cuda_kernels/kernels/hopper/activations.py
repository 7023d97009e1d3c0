"""Activations by name: what a kernel does to an element, in f32 by instructions whose bits are known, and what that means.

SiLU and the tanh form of GELU are x times a sigmoid. GELU is x or 0, less |x| times the normal distribution's tail beyond
|x|: nothing cancels, so that what is left of a negative x keeps its digits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cuda_kernels.intrinsics.instruction import Instruction
from cuda_kernels.intrinsics.straight import bits_of, straight

LOG2_E, TANH = math.log2(math.e), -2 * math.log2(math.e) * math.sqrt(2 / math.pi)

FAR = -13.5
"""From here on down the tail times |x| is below the least normal f32."""

SLOPE = -0.2635
TAIL = (-0.06991657614707947, 0.20717892050743103, -0.08084363490343094, 0.1515214592218399, 0.07929760217666626,
        0.10780069977045059, 0.1049613431096077)
"""The tail of the normal distribution beyond x is the polynomial of t = 1 / (1 - slope x) with these coefficients of t**7
to t, times exp(-x**2 / 2), but for 5e-7 of itself: a weighted least-squares fit, iterated to the least largest error."""

_SIGMOID = f"""ex2.approx.ftz.f32 e, m; add.rn.f32 d, e, {bits_of(1)}; rcp.approx.ftz.f32 r, d; mul.rn.f32 y, x, r;"""
"""y = x / (1 + 2**m)."""

relu = straight("relu", f"max.NaN.f32 y, x, {bits_of(0)};", "x or 0, the greater one; NaN stays NaN.")

silu = straight("silu", f"mul.rn.f32 m, x, {bits_of(-LOG2_E)}; {_SIGMOID}", "x / (1 + exp(-x)).")

gelu_tanh = straight("gelu_tanh", f"""
    mul.rn.f32 s, x, x; fma.rn.f32 c, s, {bits_of(0.044715 * TANH)}, {bits_of(TANH)}; mul.rn.f32 m, x, c; {_SIGMOID}""",
    "x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) / 2, which is x times a sigmoid.")

_HORNER = " ".join(f"fma.rn.f32 p, p, t, {bits_of(c)};" for c in TAIL[2:])

gelu = straight("gelu", f"""
    abs.f32 a, x; neg.f32 n, a; max.NaN.f32 n, n, {bits_of(FAR)};
    fma.rn.f32 d, n, {bits_of(SLOPE)}, {bits_of(1)}; rcp.approx.ftz.f32 t, d;
    fma.rn.f32 p, t, {bits_of(TAIL[0])}, {bits_of(TAIL[1])}; {_HORNER} mul.rn.f32 p, p, t;
    mul.rn.f32 s, n, n; mul.rn.f32 s, s, {bits_of(-LOG2_E / 2)}; ex2.approx.ftz.f32 e, s; mul.rn.f32 p, p, e;
    max.NaN.f32 u, x, {bits_of(0)}; fma.rn.f32 y, p, n, u;""", "x times the normal distribution up to x.")

_tail = np.vectorize(lambda x: math.erfc(x / math.sqrt(2)) / 2, [np.float64])


def _times_sigmoid(x, of):
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-of))


@dataclass(frozen=True)
class Activation:
    """apply: the instruction on an element in a kernel, f32; exact: of float64 arrays."""

    apply: Instruction
    exact: Callable[[np.ndarray], np.ndarray]


ACTIVATIONS = {
    "relu": Activation(relu, lambda x: np.maximum(x, 0)),
    "gelu": Activation(gelu, lambda x: x * _tail(-x)),
    "gelu_tanh": Activation(gelu_tanh, lambda x: _times_sigmoid(x, math.sqrt(8 / math.pi) * (x + 0.044715 * x**3))),
    "silu": Activation(silu, lambda x: _times_sigmoid(x, x)),
}
"""The activations by name, as torch.nn.functional has them; gelu_tanh is its gelu with approximate="tanh"."""
