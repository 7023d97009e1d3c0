"""Approximate functions: the error bounds that the PTX ISA states, and what it says of special operands."""

import math
from fractions import Fraction

from lane_twin_floats import FLOATS, INF, number_of, value_of

RELATIVE = {"sqrt": 2.0**-22, "rsqrt": 2.0**-22.4, "rcp": 2.0**-23, "ex2": 2.0**-22, "tanh": 2.0**-10.98}
"""Greatest relative error of f32 (2 ulp of ex2 and 1 ulp of rcp as relative ones)."""
OF_HALVES = {("ex2", "f16"): 2.0**-9.9, ("ex2", "bf16"): 2.0**-7, ("tanh", "f16"): 2.0**-10, ("tanh", "bf16"): 2.0**-7}
"""Of tanh the PTX ISA states 2**-10.987 and 2**-8, which an H200 exceeds: it cuts off, so that a whole unit is lost."""


def _true(opcode, numbers):
    """The exact result, nearly, as a float; None where it is NaN."""
    x = float(numbers[0])
    if opcode == "div":
        y = numbers[1]
        if x == 0 and y == 0 or abs(x) == INF and abs(y) == INF:
            return None
        return math.copysign(INF, x) if y == 0 else 0.0 if abs(y) == INF else float(numbers[0] / y) if abs(x) != INF else x
    if opcode == "rcp":
        return INF if x == 0 else 1 / x
    if opcode in ("sqrt", "rsqrt"):
        if x < 0:
            return None
        return math.sqrt(x) if opcode == "sqrt" else INF if x == 0 else 1 / math.sqrt(x)
    if opcode == "lg2":
        return None if x < 0 else -INF if x == 0 else math.log2(x)
    if opcode == "ex2":
        return 0.0 if x < -1000 else INF if x > 1000 else 2.0**x
    if opcode == "tanh":
        return math.tanh(x)
    return None if abs(x) == INF else {"sin": math.sin, "cos": math.cos}[opcode](x)


def within(opcode, modifiers, name, operands):
    """Whether raw bits are what the operands may give."""
    ftz = "ftz" in modifiers
    if ftz and name == "f64":                                     # only the high word is read
        operands = [bits >> 32 << 32 for bits in operands]
    numbers = [number_of(bits, name, ftz) for bits in operands]
    form = FLOATS[name]
    if any(number is None for number in numbers):
        return lambda bits: number_of(bits, name) is None if name == "f64" else bits == form.nan
    true = _true(opcode, numbers)
    if true is None:
        return lambda bits: number_of(bits, name) is None if name == "f64" else bits == form.nan
    if opcode in ("sin", "cos") and abs(numbers[0]) > 6.2832:
        return lambda bits: value_of(bits, name)[1] <= 1 + 2**-20     # no bound is stated
    if opcode == "div" and "approx" in modifiers and abs(numbers[1]) > 2**126:
        return lambda bits: True                                  # zero, or NaN of infinities
    bound = _bound(opcode, name, abs(true), ftz)

    def right(bits):
        made = number_of(bits, name)
        if made is None:
            return False
        if abs(true) == INF or abs(made) == INF:
            largest = value_of(form.largest, name)[1]
            return abs(made) == INF if abs(true) == INF else abs(true) * (1 + 2.0**-7) > largest
        if ftz and made == 0:
            return abs(true) < form.least_normal * (1 + Fraction(2) ** -20) or abs(true) <= bound
        return abs(Fraction(made) - Fraction(true)) <= bound

    return right


def _bound(opcode, name, size, ftz):
    """The greatest error of a result of that size, and a unit more where results are subnormal."""
    if size == INF:
        return 0
    form = FLOATS[name]
    unit = Fraction(2) ** (1 - form.bias - form.fraction)
    if opcode in ("sin", "cos"):
        return Fraction(2.0**-20)
    if opcode == "lg2":
        return Fraction(2.0**-22) * max(1, Fraction(size))
    if name == "f64":
        return Fraction(size) * Fraction(2.0**-19 if ftz else 2.0**-51)
    relative = OF_HALVES.get((opcode, name)) or RELATIVE.get(opcode, 2.0**-22)
    return Fraction(relative) * Fraction(size) + unit
