"""Constants: numbers as PTX writes them, and constant expressions, evaluated as PTX ISA 4.6 says.

    expression = binary ["?" expression ":" expression]
    binary     = unary { operator unary }      by C's precedence: * / %  + -  << >>  < > <= >=  == !=  &  ^  |  &&  ||
    unary      = ("+" | "-" | "!" | "~" | "(" (".s64" | ".u64") ")") unary | "(" expression ")" | number | "WARP_SZ"

Integers have 64 bits, and are unsigned with a U behind them or where they need the top bit. Floating-point numbers are
double; they take + - * / and comparisons, and do not mix with integers.
"""

import operator
import re
import struct
from collections.abc import Callable
from typing import NamedTuple

from simlayout.machine.ptx.parser.tokens import MAX_NESTING, Tokens
from simlayout.machine.ptx.syntax import Float, Integer

_INTEGER = re.compile(r"(?:0[xX](?P<hex>[0-9A-Fa-f]+)|0[bB](?P<binary>[01]+)|0(?P<octal>[0-7]+)|"
                      r"(?P<decimal>0|[1-9][0-9]*))(?P<U>U?)\Z")
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_FLOAT = re.compile(r"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?\Z")
_BITS = re.compile(r"0(?:[fF](?P<single>[0-9A-Fa-f]{8})|[dD](?P<double>[0-9A-Fa-f]{16}))\Z")
_SIGNS = ("+", "-")
_LONGEST = 80           # characters of an integer: 64 binary digits, and some zeros


class _Value(NamedTuple):
    """A number of an expression; of integers, whether unsigned decides what division, comparison and >> do."""

    value: int | float
    unsigned: bool = False


def _in_64_bits(value: int, unsigned: bool) -> _Value:
    value &= 2**64 - 1
    return _Value(value if unsigned or value < 2**63 else value - 2**64, unsigned)


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shifted(rule: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: rule(a, min(b & 2**64 - 1, 64))


class _Operator(NamedTuple):
    """precedence: the higher, the earlier; integers, floats: what it does, None where PTX has no such operator; compares:
    whether the result is 0 or 1, which is signed."""

    precedence: int
    integers: Callable[[int, int], int]
    floats: Callable[[float, float], float] | None = None
    compares: bool = False


_OPERATORS = {
    "*": _Operator(10, operator.mul, operator.mul), "/": _Operator(10, _quotient, operator.truediv),
    "%": _Operator(10, lambda a, b: a - b * _quotient(a, b)),
    "+": _Operator(9, operator.add, operator.add), "-": _Operator(9, operator.sub, operator.sub),
    "<<": _Operator(8, _shifted(operator.lshift)), ">>": _Operator(8, _shifted(operator.rshift)),
    **{sign: _Operator(precedence, rule, rule, True) for sign, precedence, rule in (
        ("<", 7, operator.lt), (">", 7, operator.gt), ("<=", 7, operator.le), (">=", 7, operator.ge),
        ("==", 6, operator.eq), ("!=", 6, operator.ne))},
    "&": _Operator(5, operator.and_), "^": _Operator(4, operator.xor), "|": _Operator(3, operator.or_),
    "&&": _Operator(2, lambda a, b: bool(a and b), None, True), "||": _Operator(1, lambda a, b: bool(a or b), None, True),
}


def constant(tokens: Tokens) -> Integer | Float:
    """Passes a constant: the bits of a floating-point number, or an expression.

    >>> constant(Tokens("0f3F800000")), constant(Tokens("-(2 + 0x10) / 5 % 2")), constant(Tokens("0xFFFFFFFFFFFFFFFF"))
    (Float(bits=1065353216, width=32), Integer(value=-1), Integer(value=18446744073709551615))
    >>> hex(constant(Tokens("-1.5")).bits), constant(Tokens("1.5 < 2.0 ? WARP_SZ : 0"))
    ('0xbff8000000000000', Integer(value=32))
    """
    at = tokens.at
    negative = False
    while tokens.words[at] in _SIGNS:
        negative ^= tokens.words[at] == "-"
        at += 1
    if match := _BITS.match(tokens.words[at]):
        tokens.at = at + 1
        width = 32 if match["single"] else 64
        return Float(int(match["single"] or match["double"], 16) ^ (negative << width - 1), width)
    value = _expression(tokens, 0).value
    if isinstance(value, float):
        return Float(int.from_bytes(struct.pack("<d", value), "little"), 64)
    return Integer(value)


def integer(tokens: Tokens) -> int:
    """Passes an integer expression; returns its value, -2**63 <= value < 2**64, negative only if it is signed."""
    at = tokens.at
    value = _expression(tokens, 0).value
    if isinstance(value, float):
        tokens.fail("an integer", at)
    return value


def number(tokens: Tokens, expected: str = "a number", most: int = 2**32 - 1) -> int:
    """Passes an integer that is no expression and is 0..most, as counts, alignments and lines are."""
    value = _integer(tokens, tokens.words[tokens.at], expected).value
    if value > most:
        tokens.fail(f"{expected} from 0 to {most}", tokens.at - 1)
    return int(value)


def _expression(tokens: Tokens, depth: int) -> _Value:
    at = tokens.at
    value = _binary(tokens, 1, depth)
    if not tokens.accept("?"):
        return value
    depth = _deeper(tokens, depth)
    chosen = _whole(tokens, value, at)
    there = tokens.at
    first = _expression(tokens, depth)
    _whole(tokens, first, there)
    tokens.require(":")
    there = tokens.at
    second = _expression(tokens, depth)
    _whole(tokens, second, there)
    return first if chosen else second


def _whole(tokens: Tokens, value: _Value, at: int) -> int:
    """The value, which has to be an integer."""
    if isinstance(value.value, float):
        tokens.fail("an integer", at)
    return value.value


def _deeper(tokens: Tokens, depth: int) -> int:
    if depth >= MAX_NESTING:
        tokens.fail(f"at most {MAX_NESTING} levels of a constant expression")
    return depth + 1


def _binary(tokens: Tokens, lowest: int, depth: int) -> _Value:
    value = _unary(tokens, depth)
    while (rule := _OPERATORS.get(tokens.words[tokens.at])) and rule.precedence >= lowest:
        at = tokens.at
        tokens.at += 1
        value = _applied(tokens, rule, value, _binary(tokens, rule.precedence + 1, depth), at)
    return value


def _applied(tokens: Tokens, rule: _Operator, a: _Value, b: _Value, at: int) -> _Value:
    """a rule b; at: the token of the operator."""
    if tokens.words[at] in ("/", "%") and not b.value:
        tokens.fail("a divisor that is not 0", at + 1)
    if isinstance(a.value, float) or isinstance(b.value, float):
        if rule.floats is None or type(a.value) is not type(b.value):
            tokens.fail("an operator that takes these two numbers", at)
        result = rule.floats(a.value, b.value)
        return _Value(int(result) if rule.compares else result)
    if rule.precedence == _OPERATORS["<<"].precedence:
        return _in_64_bits(rule.integers(a.value, b.value), a.unsigned)
    unsigned = a.unsigned or b.unsigned
    first, second = (_in_64_bits(int(each.value), unsigned).value for each in (a, b))
    return _in_64_bits(rule.integers(int(first), int(second)), unsigned and not rule.compares)


def _unary(tokens: Tokens, depth: int) -> _Value:
    word = tokens.words[tokens.at]
    if word in ("+", "-", "~", "!"):
        depth = _deeper(tokens, depth)
        tokens.at += 1
        at = tokens.at
        value = _unary(tokens, depth)
        if word in _SIGNS and isinstance(value.value, float):
            return _Value(-value.value if word == "-" else value.value)
        number = _whole(tokens, value, at)
        if word == "!":
            return _Value(int(not number))
        return _in_64_bits(-number if word == "-" else ~number if word == "~" else number, value.unsigned)
    if word == "(":
        depth = _deeper(tokens, depth)
        tokens.at += 1
        cast = tokens.words[tokens.at]
        if cast in (".s64", ".u64"):
            tokens.at += 1
            tokens.require(")")
            at = tokens.at
            return _in_64_bits(_whole(tokens, _unary(tokens, depth), at), cast == ".u64")
        result = _expression(tokens, depth)
        tokens.require(")")
        return result
    if word == "WARP_SZ":
        tokens.at += 1
        return _Value(32)
    if _FLOAT.match(word):
        tokens.at += 1
        return _Value(float(word))
    return _integer(tokens, word, "a number")


def _integer(tokens: Tokens, word: str, expected: str) -> _Value:
    if word.isdigit() and word.isascii() and len(word) < 19 and (word[0] != "0" or word == "0"):     # most are like this
        tokens.at += 1
        return _Value(int(word))
    match = _INTEGER.match(word) if len(word) <= _LONGEST else None
    if not match:
        tokens.fail("an integer of at most 64 bits" if word[:1].isdigit() else expected)
    value = next(int(match[kind], base) for kind, base in _BASES.items() if match[kind])
    if value >= 2**64:
        tokens.fail("an integer of at most 64 bits")
    tokens.at += 1
    return _Value(value, bool(match["U"]) or value >= 2**63)
