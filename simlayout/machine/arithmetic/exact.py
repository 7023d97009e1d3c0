"""f64 arithmetic in directed rounding: number by number, as fractions. Slow, and rarely wanted."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import copysign, inf, isfinite, nextafter

import numpy as np

_EXACT = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
          "rcp": lambda a: 1 / a, "fma": lambda a, b, c: a * b + c, "sqrt": None}


@cache
def exactly_rounded(name: str, mode: str, nearest: Callable) -> Callable:
    """add, sub, mul, div, rcp, sqrt or fma of f64 arrays in the rounding mode rz, rm or rp. nearest: the operation in rn.

    >>> add = exactly_rounded("add", "rz", np.add)
    >>> float(add(np.float64([1]), np.float64([-2.0**-80]))[0]) == 1 - 2.0**-53
    True
    """
    def operate(*operands):
        operands = np.broadcast_arrays(*operands)
        made = np.array(nearest(*operands), np.float64)
        flat = made.reshape(-1)
        for i, numbers in enumerate(zip(*(x.reshape(-1).tolist() for x in operands))):
            if all(map(isfinite, numbers)) and flat[i] == flat[i] and not _divides_by_zero(name, numbers):
                flat[i] = _directed(name, mode, numbers, float(flat[i]))
        return made

    operate.arrays_only = True                               # type: ignore[attr-defined]
    return operate


def _divides_by_zero(name, numbers):
    return name in ("div", "rcp") and numbers[-1] == 0


def _directed(name, mode, numbers, near):
    """The result in a directed mode: that in rn, or its neighbour on the side of the exact one."""
    side = _side(name, [Fraction(x) for x in numbers], near)
    if side == 0:
        return _zero_sum(name, mode, numbers) if near == 0 and name in ("add", "sub", "fma") else near
    if mode == "rz":
        mode = "rm" if near > 0 or near == 0 and side > 0 else "rp"
    if mode == "rm" and side < 0:
        return nextafter(near, -inf)
    return nextafter(near, inf) if mode == "rp" and side > 0 else near


def _side(name, numbers, near):
    """Of which sign the exact result minus `near` is."""
    if not isfinite(near):
        return -1 if near > 0 else 1
    rest = numbers[0] - Fraction(near) ** 2 if name == "sqrt" else _EXACT[name](*numbers) - Fraction(near)
    return (rest > 0) - (rest < 0)


def _zero_sum(name, mode, numbers):
    """An exact sum that is zero: of zeros of one sign the same, else +0, but -0 where it is rounded down."""
    *first, last = numbers
    ours = copysign(1, first[0]) * (copysign(1, first[1]) if name == "fma" else 1)
    theirs = copysign(1, last) * (-1 if name == "sub" else 1)
    if last == 0 and ours == theirs:
        return copysign(0.0, ours)
    return -0.0 if mode == "rm" else 0.0
