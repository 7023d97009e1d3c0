"""Constants: numbers as PTX writes them, and constant expressions, which are evaluated in 64 bits as PTX ISA 4.5 says.

    expression = binary ["?" expression ":" expression]
    binary     = unary { operator unary }      by C's precedence: * / %  + -  << >>  < > <= >=  == !=  &  ^  |  &&  ||
    unary      = ("+" | "-" | "!" | "~" | "(" (".s64" | ".u64") ")") unary | "(" expression ")" | number | "WARP_SZ"
"""

import re
import struct
from collections.abc import Callable
from typing import NamedTuple

from simlayout.machine.ptx.syntax import Float, Integer
from simlayout.machine.ptx.tokens import MAX_NESTING, Tokens

_INTEGER = re.compile(r"(?:0[xX](?P<hex>[0-9A-Fa-f]+)|0[bB](?P<binary>[01]+)|0(?P<octal>[0-7]+)|"
                      r"(?P<decimal>0|[1-9][0-9]*))(?P<U>U?)\Z")
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_FLOAT = re.compile(r"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?\Z")
_BITS = re.compile(r"0(?:[fF](?P<single>[0-9A-Fa-f]{8})|[dD](?P<double>[0-9A-Fa-f]{16}))\Z")
_SIGNS = {"+", "-"}
_LONGEST = 80           # characters of an integer: 64 binary digits, and some zeros


class _Value(NamedTuple):
    """An integer in 64 bits; whether it is unsigned decides what division, shifts right and comparisons do with it."""

    value: int
    unsigned: bool


def _in_64_bits(value: int, unsigned: bool) -> _Value:
    value &= 2**64 - 1
    return _Value(value if unsigned or value < 2**63 else value - 2**64, unsigned)


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _converted(a: _Value, b: _Value) -> tuple[int, int, bool]:
    unsigned = a.unsigned or b.unsigned
    return _in_64_bits(a.value, unsigned).value, _in_64_bits(b.value, unsigned).value, unsigned


def _arithmetic(rule: Callable[[int, int], int]) -> Callable[[_Value, _Value], _Value]:
    def of(a, b):
        a, b, unsigned = _converted(a, b)
        return _in_64_bits(rule(a, b), unsigned)
    return of


def _comparison(rule: Callable[[int, int], bool]) -> Callable[[_Value, _Value], _Value]:
    def of(a, b):
        return _Value(int(rule(*_converted(a, b)[:2])), False)
    return of


def _shift(rule: Callable[[int, int], int]) -> Callable[[_Value, _Value], _Value]:
    def of(a, b):
        return _in_64_bits(rule(a.value, min(b.value & 2**64 - 1, 64)), a.unsigned)
    return of


_OPERATORS: dict[str, tuple[int, Callable[[_Value, _Value], _Value]]] = {
    "*": (10, _arithmetic(lambda a, b: a * b)), "/": (10, _arithmetic(_quotient)),
    "%": (10, _arithmetic(lambda a, b: a - b * _quotient(a, b))),
    "+": (9, _arithmetic(lambda a, b: a + b)), "-": (9, _arithmetic(lambda a, b: a - b)),
    "<<": (8, _shift(lambda a, b: a << b)), ">>": (8, _shift(lambda a, b: a >> b)),
    "<": (7, _comparison(lambda a, b: a < b)), ">": (7, _comparison(lambda a, b: a > b)),
    "<=": (7, _comparison(lambda a, b: a <= b)), ">=": (7, _comparison(lambda a, b: a >= b)),
    "==": (6, _comparison(lambda a, b: a == b)), "!=": (6, _comparison(lambda a, b: a != b)),
    "&": (5, _arithmetic(lambda a, b: a & b)), "^": (4, _arithmetic(lambda a, b: a ^ b)),
    "|": (3, _arithmetic(lambda a, b: a | b)),
    "&&": (2, _comparison(lambda a, b: bool(a and b))), "||": (1, _comparison(lambda a, b: bool(a or b))),
}
"""{operator: (its precedence, what it does)}."""


def constant(tokens: Tokens) -> Integer | Float:
    """Passes a constant: a floating-point number with or without a sign, or an integer expression.

    >>> constant(Tokens("0f3F800000")), constant(Tokens("-(2 + 0x10) / 5 % 2")), constant(Tokens("0xFFFFFFFFFFFFFFFF"))
    (Float(bits=1065353216, width=32), Integer(value=-1), Integer(value=18446744073709551615))
    >>> hex(constant(Tokens("-1.5")).bits)
    '0xbff8000000000000'
    """
    at = tokens.at
    negative = False
    while tokens.words[at] in _SIGNS:
        negative ^= tokens.words[at] == "-"
        at += 1
    found = floating(tokens.words[at])
    if found is None:
        return Integer(integer(tokens))
    tokens.at = at + 1
    return Float(found.bits ^ (negative << found.width - 1), found.width)


def floating(word: str) -> Float | None:
    """The floating-point constant that a token is, or None.

    >>> floating("1.5"), floating("12")
    (Float(bits=4609434218613702656, width=64), None)
    """
    if match := _BITS.match(word):
        return Float(int(match["single"], 16), 32) if match["single"] else Float(int(match["double"], 16), 64)
    if _FLOAT.match(word):
        return Float(int.from_bytes(struct.pack("<d", float(word)), "little"), 64)
    return None


def integer(tokens: Tokens) -> int:
    """Passes an integer expression; returns its value, -2**63 <= value < 2**64, negative only if it is signed."""
    return _expression(tokens, 0).value


def number(tokens: Tokens, expected: str = "a number", most: int = 2**32 - 1) -> int:
    """Passes a number that is no expression and is 0..most, as counts, alignments and lines are."""
    word = tokens.words[tokens.at]
    value = _number(tokens, word, expected).value
    if value > most:
        tokens.fail(f"{expected} from 0 to {most}", tokens.at - 1)
    return value


def _expression(tokens: Tokens, depth: int) -> _Value:
    value = _binary(tokens, 1, depth)
    if not tokens.accept("?"):
        return value
    chosen = _expression(tokens, _deeper(tokens, depth))
    tokens.require(":")
    other = _expression(tokens, _deeper(tokens, depth))
    return chosen if value.value else other


def _deeper(tokens: Tokens, depth: int) -> int:
    if depth >= MAX_NESTING:
        tokens.fail(f"at most {MAX_NESTING} levels of a constant expression")
    return depth + 1


def _binary(tokens: Tokens, lowest: int, depth: int) -> _Value:
    value = _unary(tokens, depth)
    while (found := _OPERATORS.get(tokens.words[tokens.at])) and found[0] >= lowest:
        at = tokens.at
        tokens.at += 1
        other = _binary(tokens, found[0] + 1, depth)
        if tokens.words[at] in ("/", "%") and not other.value:
            tokens.fail("a divisor that is not 0", at + 1)
        value = found[1](value, other)
    return value


def _unary(tokens: Tokens, depth: int) -> _Value:
    word = tokens.words[tokens.at]
    if word in ("+", "-", "~", "!"):
        depth = _deeper(tokens, depth)
        tokens.at += 1
        value, unsigned = _unary(tokens, depth)
        if word == "!":
            return _Value(int(not value), False)
        return _in_64_bits(-value if word == "-" else ~value if word == "~" else value, unsigned)
    if word == "(":
        depth = _deeper(tokens, depth)
        tokens.at += 1
        if tokens.words[tokens.at] in (".s64", ".u64"):
            unsigned = tokens.words[tokens.at] == ".u64"
            tokens.at += 1
            tokens.require(")")
            return _in_64_bits(_unary(tokens, depth).value, unsigned)
        result = _expression(tokens, depth)
        tokens.require(")")
        return result
    if word == "WARP_SZ":
        tokens.at += 1
        return _Value(32, False)
    return _number(tokens, word)


def _number(tokens: Tokens, word: str, expected: str = "a number") -> _Value:
    match = _INTEGER.match(word) if len(word) <= _LONGEST else None
    if not match:
        tokens.fail("an integer of at most 64 bits" if word[:1].isdigit() else expected)
    value = next(int(match[kind], base) for kind, base in _BASES.items() if match[kind])
    if value >= 2**64:
        tokens.fail("an integer of at most 64 bits")
    tokens.at += 1
    return _Value(value, bool(match["U"]) or value >= 2**63)
