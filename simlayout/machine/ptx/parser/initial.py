"""What variables hold at the start (PTX ISA 5.4.4).

    initial = "{" [initial { "," initial }] "}" | constant | mask | address        nested as the lengths of the variable are
    mask    = number "(" (address | integer) ")"                                   one byte of it, as 0xff00 or the like says
    address = ("generic" "(" address ")" | name) [("+" | "-") integer]
"""

import math
import struct
from collections.abc import Callable

from simlayout.machine.ptx.parser.constants import constant, integer, number
from simlayout.machine.ptx.parser.tokens import MAX_NESTING, Tokens, is_name
from simlayout.machine.ptx.syntax import BITS, Float, Relocation

_FLOATS = {"f32": "<f", "f64": "<d"}
INITIALISED = (*(f"{sign}{bits}" for sign in "bus" for bits in (8, 16, 32, 64)), "b128", *_FLOATS)
"""The types whose variables may have an initial value."""
_MASKS = [0xff << 8 * byte for byte in range(8)]
_ADDRESS_BYTES = (4, 8)
MOST_GIVEN = 2**27                  # bytes of an initial value


def initial_value(tokens: Tokens, type: str, shape: list[int | None], refer: Callable[[str, int], str]
                  ) -> tuple[bytes, tuple[Relocation, ...], list[int | None]]:
    """Passes the initial value of a variable: its bytes up to the last one given, the addresses among them, and the shape,
    whose first length may be how many elements are given. refer(name, token) returns what a symbol is called.

    >>> initial_value(Tokens("{{1, 2}, {3}}"), "u8", [None, 2], lambda name, at: name)
    (b'\\x01\\x02\\x03', (), [2, 2])
    >>> initial_value(Tokens("{7, generic(table)+8}"), "u64", [4], lambda name, at: name)[1]
    (Relocation(offset=8, bytes=8, symbol='table', addend=8, generic=True, mask=None),)
    """
    reader = _Initial(tokens, type, refer)
    if not shape:
        reader.element(0)
    else:
        count = reader.listed(0, shape)
        if shape[0] is None:
            shape = [count, *shape[1:]]
    return bytes(reader.given), tuple(reader.relocations), shape


class _Initial:
    """Reads an initial value element by element."""

    def __init__(self, tokens: Tokens, type: str, refer: Callable[[str, int], str]):
        self.tokens, self.type, self.refer = tokens, type, refer
        self.width = BITS[type] // 8
        self.given = bytearray()
        self.relocations: list[Relocation] = []

    def listed(self, start: int, shape: list[int | None]) -> int:
        """Passes braces around as many parts as shape[0] says, each of shape[1:], from element `start` on; returns how many
        there were."""
        tokens, most = self.tokens, shape[0]
        span = math.prod(each or 0 for each in shape[1:])
        tokens.require("{")
        count = 0
        if tokens.accept("}"):
            return count
        while True:
            if most is not None and count >= most:
                tokens.fail("'}', because all elements are given")
            if len(shape) > 1:
                self.listed(start + count * span, shape[1:])
            else:
                self.element(start + count)
            count += 1
            if not tokens.accept(","):
                tokens.require("}", "',' or '}'")
                return count

    def element(self, at: int) -> None:
        """Passes the value of one element."""
        tokens = self.tokens
        offset = at * self.width
        if offset + self.width > MOST_GIVEN:
            tokens.fail(f"at most {MOST_GIVEN} bytes of an initial value")
        self.given += bytes(max(0, offset + self.width - len(self.given)))
        word = tokens.words[tokens.at]
        if word[:1].isdigit() and tokens.words[tokens.at + 1] == "(":
            self._masked(offset)
        elif is_name(word) and word != "WARP_SZ":
            if self.width not in _ADDRESS_BYTES:
                tokens.fail(f"a constant, because no address fits .{self.type}")
            self._address(offset, None)
        else:
            self.given[offset:offset + self.width] = self._bytes()

    def _masked(self, offset: int) -> None:
        """`0xff00(symbol)`: one byte of an address or of a number."""
        tokens = self.tokens
        at = tokens.at
        mask = number(tokens, most=2**64 - 1)
        if mask not in _MASKS or self.width != 1:
            tokens.fail("a constant" if self.width != 1 else "0xff, 0xff00, 0xff0000, ..., which chooses one byte", at)
        tokens.require("(")
        if is_name(tokens.words[tokens.at]) and tokens.words[tokens.at] != "WARP_SZ":
            self._address(offset, mask)
        else:
            self.given[offset] = (integer(tokens) & mask) >> 8 * _MASKS.index(mask)
        tokens.require(")")

    def _address(self, offset: int, mask: int | None) -> None:
        symbol, addend, generic = self._symbol(0)
        self.relocations.append(Relocation(offset, self.width, symbol, addend, generic, mask))

    def _symbol(self, depth: int) -> tuple[str, int, bool]:
        tokens = self.tokens
        if tokens.words[tokens.at] == "generic" and tokens.words[tokens.at + 1] == "(":
            if depth >= MAX_NESTING:
                tokens.fail(f"at most {MAX_NESTING} levels of generic()")
            tokens.at += 2
            symbol, addend, _ = self._symbol(depth + 1)
            generic = True
            tokens.require(")")
        else:
            at = tokens.at
            symbol, addend, generic = self.refer(tokens.name("a constant or a name"), at), 0, False
        if tokens.words[tokens.at] in ("+", "-"):
            addend += integer(tokens)
        return symbol, addend, generic

    def _bytes(self) -> bytes:
        tokens, bits = self.tokens, 8 * self.width
        at = tokens.at
        value = constant(tokens)
        if isinstance(value, Float) and value.width == bits and self.type[0] in "bf":
            return value.bits.to_bytes(self.width, "little")
        if isinstance(value, Float) != (self.type in _FLOATS):
            tokens.fail(f"a constant of type .{self.type}", at)
        if isinstance(value, Float):
            given = struct.unpack(_FLOATS[f"f{value.width}"], value.bits.to_bytes(value.width // 8, "little"))[0]
            return _packed(self.type, given)
        if not -(2**(bits - 1)) <= value.value < 2**bits:
            tokens.fail(f"an integer of {bits} bits", at)
        return (value.value & (2**bits - 1)).to_bytes(self.width, "little")


def _packed(type: str, value: float) -> bytes:
    """A number in the bytes of a floating-point type, rounded to nearest; infinite where it is too large."""
    try:
        return struct.pack(_FLOATS[type], value)
    except OverflowError:
        return struct.pack(_FLOATS[type], math.copysign(math.inf, value))
