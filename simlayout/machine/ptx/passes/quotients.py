"""Quotients and approximations of f32 as ptxas takes them apart, ahead of `contracted`.

Seen in the machine code of ptxas 13.0 for sm_90a. What PTX calls approximate is worked out of a number beforehand, and
rounded to nearest where MUFU's result is often one away. A quotient by a number is a product with its reciprocal, and
every other one a product as well: of MUFU.RCP and the dividend, both scaled where the divisor is very small or large. So is
an rcp without .ftz. These products are fused with sums as any other.
"""

from collections import Counter
from dataclasses import replace

import numpy as np

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import Statements

_OF_NUMBERS = {"rcp": lambda x: 1 / x, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "ex2": np.exp2, "lg2": np.log2,
               "sin": np.sin, "cos": np.cos}
_LEAST, _GREAT = 0x00800000, 0x7E800000
"""2**-126 and 2**126: divisors beyond them are scaled."""


def folded(body: Statements) -> list[syntax.Statement]:
    """The statements of a function where what is made of numbers is one, and quotients by numbers are products.

    >>> r = [syntax.Register(f"%f{i}", "b32") for i in range(3)]
    >>> three = syntax.Instruction("mov", ("b32",), (r[0], syntax.Float(0x40400000, 32)), None, 1, 1, None, "")
    >>> div = syntax.Instruction("div", ("full", "f32"), (r[2], r[1], r[0]), None, 2, 1, None, "")
    >>> folded([three, div])[1].name, hex(folded([three, div])[1].operands[2].bits)
    ('mul.f32', '0x3eaaaaab')
    """
    if not any(_is_approximate(one) for one in body):
        return list(body)
    times = Counter(name for one in body for name in one.writes)
    numbers: dict[str, int] = {}
    made = []
    for one in body:
        if _is_approximate(one):
            one = _folded(one, numbers)
        if one.opcode == "mov" and one.guard is None:
            target, bits = one.operands[0], _bits(one.operands[1], numbers)
            if bits is not None and isinstance(target, syntax.Register) and times[target.name] == 1:
                numbers[target.name] = bits
        made.append(one)
    return made


def _is_approximate(one):
    return (one.opcode in _OF_NUMBERS or one.opcode == "div") and (
        one.modifiers[-1] == "f32" and one.modifiers[0] in ("approx", "full"))


def _bits(operand, numbers):
    """The 32 bits of an operand that is a number, else None."""
    if isinstance(operand, syntax.Register):
        return numbers.get(operand.name)
    if isinstance(operand, syntax.Integer):
        return operand.value & 0xFFFFFFFF
    return operand.bits if isinstance(operand, syntax.Float) and operand.width == 32 else None


def _folded(one, numbers):
    bits = _bits(one.operands[-1], numbers)
    if bits is None:
        return one
    if one.opcode == "div":
        if not _LEAST <= bits & 0x7FFFFFFF <= _GREAT:
            return one
        return _as(one, "mul", (*_ftz(one), "f32"), *one.operands[:2], _float(1 / _value(bits)))
    flushes = "ftz" in one.modifiers or one.opcode == "sin"
    with np.errstate(all="ignore"):
        value = np.float32(_OF_NUMBERS[one.opcode](_value(_flushed(bits) if flushes else bits)))
    if np.isnan(value):
        return one
    made = _float(value)
    return _as(one, "mov", ("b32",), one.operands[0], syntax.Float(_flushed(made.bits), 32) if flushes else made)


def _as(one, opcode, modifiers, *operands):
    return replace(one, opcode=opcode, modifiers=modifiers, operands=operands)


def _value(bits):
    return np.float64(np.uint32(bits).view(np.float32))


def _float(value):
    return syntax.Float(int(np.float32(value).view(np.uint32)), 32)


def _flushed(bits):
    return bits if bits & 0x7F800000 else bits & 0x80000000


def _ftz(one):
    return ("ftz",) if "ftz" in one.modifiers else ()


def is_quotient(one: syntax.Statement) -> bool:
    """Whether an instruction ends with a product that may be fused."""
    return _is_approximate(one) and one.guard is None and (
        one.opcode == "div" or one.opcode == "rcp" and not _ftz(one))


def taken_apart(one: syntax.Instruction, at: int) -> tuple[tuple[syntax.Operand, ...], list[syntax.Instruction]]:
    """(the factors of the product that a quotient ends with, what makes them). at: a number that no other one has."""
    ftz, full, lines = _ftz(one), one.modifiers[0] == "full" or one.opcode == "rcp", []

    def line(opcode, *operands, type="b32"):
        target = syntax.Register(f"{one.operands[0].name} of {at}.{len(lines)}", type)
        name, *modifiers = opcode.split(".")
        lines.append(_as(one, name, tuple(modifiers), target, *operands))
        return target

    divisor, factor = one.operands[-1], one.operands[1]
    if full or not ftz:
        size, scale = line("abs.f32", divisor), syntax.Float(0x3F800000, 32)
        if not ftz:
            small = line("setp.lt.f32", size, syntax.Float(_LEAST, 32), type="pred")
            scale = line("selp.b32", syntax.Float(0x4B800000, 32), scale, small)
        if full:
            great = line("setp.gt.f32", size, syntax.Float(_GREAT, 32), type="pred")
            scale = line("selp.b32", syntax.Float(0x3E800000, 32), scale, great)
        times = ".".join(("mul.rn", *ftz, "f32"))
        divisor, factor = line(times, divisor, scale), scale if one.opcode == "rcp" else line(times, factor, scale)
    return (factor, line("rcp.approx.ftz.f32", divisor)), lines
