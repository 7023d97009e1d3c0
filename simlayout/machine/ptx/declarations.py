"""Declarations of registers, variables and parameters, and what variables hold at the start.

    variable   = space { ".align" integer | ".attribute" "(" ... ")" } [".v2" | ".v4" | ".v8"] type
                 { ".ptr" | "." space | ".align" integer }             of parameters
                 declarator { "," declarator } ";"
    declarator = name { "[" [integer] "]" } ["=" initial]
    registers  = ".reg" [".v2" | ".v4" | ".v8"] type (name ["<" integer ">"]) { "," ... } ";"
    initial    = "{" [initial { "," initial }] "}" | constant | mask address | address
    mask       = integer "(" address ")" | "mask" "(" integer ")" address
    address    = ("generic" "(" address ")" | name) [("+" | "-") integer]
"""

import math
import struct
from collections.abc import Callable
from typing import NamedTuple

from simlayout.machine.ptx.constants import constant, integer, number
from simlayout.machine.ptx.scopes import Scope
from simlayout.machine.ptx.syntax import BITS, Float, Relocation, Variable
from simlayout.machine.ptx.tokens import MAX_NESTING, Tokens

SPACES = (".shared", ".global", ".const", ".local", ".param", ".tex", ".shared::cta", ".shared::cluster")
LINKAGES = (".extern", ".visible", ".weak", ".common")
_VECTORS = {".v2": 2, ".v4": 4, ".v8": 8}
_OPAQUE = ("texref", "samplerref", "surfref")
_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
_POINTED = {".generic": "", **{f".{space}": space for space in ("shared", "global", "const", "local", "param")}}
MOST_BYTES = 2**40                  # of a variable: more than any GPU has
MOST_GIVEN = 2**27                  # bytes of an initial value


def registers(tokens: Tokens, scope: Scope) -> None:
    """Passes what follows `.reg`, up to its semicolon."""
    components, kind = _type(tokens, registers=True)
    while True:
        at = tokens.at
        name = tokens.name("the name of a register")
        if tokens.accept("<"):
            scope.family(name, number(tokens), kind, components, at)
            tokens.require(">")
        else:
            scope.register(name, kind, components, at)
        if not tokens.accept(","):
            break
    tokens.require(";", "',' or ';'")


def _type(tokens: Tokens, registers: bool = False) -> tuple[int, str]:
    """Components, 0 where it is no vector, and the type."""
    components = _VECTORS.get(tokens.words[tokens.at], 0)
    tokens.at += bool(components)
    word = tokens.words[tokens.at]
    kind = word[1:]
    if word[:1] != "." or not (kind in BITS and (kind not in _OPAQUE or not registers) or kind == "pred" and registers):
        tokens.fail("a type such as .b32")
    tokens.at += 1
    return components, kind


class Kind(NamedTuple):
    """What stands before the names of a declaration; components: of a vector, else 0; align: 0 where it is not given."""

    space: str
    type: str
    components: int
    align: int
    pointer: tuple[str, int] | None = None


def kind(tokens: Tokens) -> Kind:
    """Passes the space, the alignment and the type of a variable or parameter."""
    word = tokens.words[tokens.at]
    if word not in SPACES and word != ".reg":
        tokens.fail("a space such as .shared")
    tokens.at += 1
    space = "global" if word == ".tex" else word[1:].partition("::")[0]
    align = 0
    while True:
        if tokens.accept(".align"):
            align = alignment(tokens)
        elif tokens.accept(".attribute"):
            attribute(tokens)
        else:
            break
    components, type_ = _type(tokens, registers=space == "reg")
    pointer = None
    if space == "param" and tokens.accept(".ptr"):
        word = tokens.words[tokens.at]
        pointed = _POINTED.get(word, "")
        tokens.at += word in _POINTED
        pointer = pointed, alignment(tokens) if tokens.accept(".align") else 4        # 4 unless it is told: PTX ISA 5.1.6.2
    return Kind(space, type_, components, align, pointer)


def alignment(tokens: Tokens) -> int:
    """Passes what follows `.align`."""
    at = tokens.at
    value = number(tokens)
    if not value or value & (value - 1):
        tokens.fail("a power of two", at)
    return value


def attribute(tokens: Tokens) -> None:
    """Passes what follows `.attribute`: where memory lies and who migrates it, which changes no value."""
    tokens.require("(")
    while not tokens.accept(")"):
        if tokens.words[tokens.at] in ("", ";", "{", "}"):
            tokens.fail("')'")
        tokens.at += 1


def declarator(tokens: Tokens, kind: Kind, linkage: str, named: Callable[[str, int], str],
               refer: Callable[[str, int], str]) -> Variable:
    """Passes a name with its lengths and initial value. named(name, token) declares it and returns what it is called;
    refer(name, token) returns what a symbol in an initial value is called."""
    at = tokens.at
    name = tokens.name("the name of a variable")
    shape: list[int | None] = []
    while tokens.accept("["):
        if not shape and tokens.accept("]"):
            shape.append(None)
            continue
        shape.append(_length(tokens))
        tokens.require("]")
    if kind.components:
        shape.append(kind.components)
    unique = named(name, at)
    width = BITS.get(kind.type, 8) // 8
    initial: bytes | None = None
    relocations: tuple[Relocation, ...] = ()
    if tokens.accept("="):
        if kind.type in _OPAQUE:
            _braces(tokens)
        else:
            initial, relocations, shape = _Initial(tokens, kind.type, shape, refer).whole()
    size = width * math.prod(each or 0 for each in shape)
    if size > MOST_BYTES:
        tokens.fail(f"a variable of at most {MOST_BYTES} bytes", at)
    align = kind.align or width * (kind.components or 1)
    return Variable(unique, kind.space, kind.type, align, size, tuple(shape), initial, relocations, linkage, kind.pointer,
                    tokens.line(at))


def parameters(tokens: Tokens, scope: Scope | None) -> tuple[Variable, ...]:
    """Passes `(.param .b64 a, .reg .b32 b)`; declares them in the scope, where there is one."""
    tokens.require("(")
    found: list[Variable] = []
    while not tokens.accept(")"):
        if found:
            tokens.require(",", "',' or ')'")
        of = kind(tokens)

        def named(name: str, at: int, of: Kind = of) -> str:
            if scope is None:
                return name
            if of.space != "reg":
                return scope.symbol(name, at)
            scope.register(name, of.type, of.components, at)
            return name

        if tokens.words[tokens.at + 1] == "=":
            tokens.fail("',' or ')'", tokens.at + 1)
        found.append(declarator(tokens, of, "", named, lambda name, at: name))
    return tuple(found)


def _length(tokens: Tokens) -> int:
    at = tokens.at
    value = integer(tokens)
    if not 0 <= value <= MOST_BYTES:
        tokens.fail(f"a length from 0 to {MOST_BYTES}", at)
    return value


def _braces(tokens: Tokens) -> None:
    """Passes `{ ... }`."""
    depth = 0
    while True:
        word = tokens.words[tokens.at]
        if not word or (not depth and word != "{"):
            tokens.fail("'}'" if depth else "'{'")
        tokens.at += 1
        depth += (word == "{") - (word == "}")
        if not depth:
            return


class _Initial:
    """Reads an initial value. Braces may nest as the array does, or be left out, as in C."""

    def __init__(self, tokens: Tokens, type: str, shape: list[int | None], refer: Callable[[str, int], str]):
        self.tokens, self.type, self.shape, self.refer = tokens, type, shape, refer
        self.width = BITS[type] // 8
        self.given = bytearray()
        self.relocations: list[Relocation] = []

    def whole(self) -> tuple[bytes, tuple[Relocation, ...], list[int | None]]:
        """The bytes, the addresses in them, and the shape, whose first length may be told by how many there are."""
        tokens, shape = self.tokens, self.shape
        if not shape:
            self._one(0)
        elif tokens.words[tokens.at] != "{":
            tokens.fail("'{'")
        else:
            spans = [math.prod(each or 1 for each in shape[level + 1:]) for level in range(len(shape))]
            end = self._list(0, MOST_BYTES if shape[0] is None else shape[0] * spans[0], spans, 0)
            if shape[0] is None:
                shape = [-(-end // (spans[0] or 1)), *shape[1:]]
        return bytes(self.given), tuple(self.relocations), shape

    def _list(self, start: int, end: int, spans: list[int], level: int) -> int:
        """Passes braces that hold the elements from start up to end; returns where the next one would lie."""
        tokens = self.tokens
        if level >= MAX_NESTING:
            tokens.fail(f"at most {MAX_NESTING} levels of braces")
        tokens.require("{")
        at = start
        while not tokens.accept("}"):
            if at >= end:
                tokens.fail("'}', because all elements are given")
            if tokens.words[tokens.at] != "{":
                self._one(at)
                at += 1
            else:
                span = spans[level] if level < len(spans) else 1
                at = start + -(-(at - start) // (span or 1)) * span
                self._list(at, min(at + span, end), spans, level + 1)
                at += span
            if not tokens.accept(","):
                tokens.require("}", "',' or '}'")
                break
        return at

    def _one(self, at: int) -> None:
        tokens = self.tokens
        offset = at * self.width
        if offset + self.width > MOST_GIVEN:
            tokens.fail(f"at most {MOST_GIVEN} bytes of an initial value")
        self.given += bytes(max(0, offset + self.width - len(self.given)))
        word, after = tokens.words[tokens.at], tokens.words[tokens.at + 1]
        if word[:1].isdigit() and after == "(":
            mask = integer(tokens)
            tokens.at += 1
            self._address(offset, mask)
            tokens.require(")")
        elif word == "mask" and after == "(":
            tokens.at += 2
            mask = integer(tokens)
            tokens.require(")")
            self._address(offset, mask)
        elif (word[:1].isalpha() or word[:1] in ("_", "$", "%")) and word != "WARP_SZ":
            self._address(offset, None)
        else:
            self.given[offset:offset + self.width] = self._bytes()

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
        if isinstance(value, Float):
            if value.width == bits:
                return value.bits.to_bytes(self.width, "little")
            if self.type not in _FLOATS:
                tokens.fail(f"a constant of type .{self.type}", at)
            return _packed(self.type, struct.unpack(f"<{'fd'[value.width == 64]}", value.bits.to_bytes(value.width // 8,
                                                                                                       "little"))[0])
        if self.type in _FLOATS:
            return _packed(self.type, float(value.value))
        if not -(2**(bits - 1)) <= value.value < 2**bits:
            tokens.fail(f"an integer of {bits} bits", at)
        return (value.value & (2**bits - 1)).to_bytes(self.width, "little")


def _packed(type: str, value: float) -> bytes:
    """A number in the bytes of a floating-point type, rounded to nearest; infinite where it is too large."""
    try:
        return struct.pack(_FLOATS[type], value)
    except OverflowError:
        return struct.pack(_FLOATS[type], math.copysign(math.inf, value))
