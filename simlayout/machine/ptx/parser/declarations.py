"""Declarations of registers, variables and parameters (PTX ISA 5.1 to 5.4).

    variable   = space { ".align" integer | ".attribute" "(" ... ")" } [".v2" | ".v4" | ".v8"] type
                 { ".ptr" | "." space | ".align" integer }             of parameters
                 declarator { "," declarator } ";"
    declarator = name { "[" [integer] "]" } ["=" initial]                  initial: initial.py
    registers  = ".reg" [".v2" | ".v4" | ".v8"] type (name ["<" integer ">"]) { "," ... } ";"
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from simlayout.machine.ptx.parser.constants import integer, number
from simlayout.machine.ptx.parser.initial import INITIALISED, initial_value
from simlayout.machine.ptx.parser.scopes import Scope
from simlayout.machine.ptx.parser.tokens import MAX_NESTING, Tokens
from simlayout.machine.ptx.syntax import BITS, VECTORS, Relocation, Variable

SPACES = (".shared", ".global", ".const", ".local", ".param", ".tex", ".shared::cta", ".shared::cluster")
LINKAGES = (".extern", ".visible", ".weak", ".common")
_VECTORS = {f".{name}": count for name, count in VECTORS.items()}
_OPAQUE = ("texref", "samplerref", "surfref")
_POINTED = {".generic": "", **{f".{space}": space for space in ("shared", "global", "const", "local", "param")}}
MOST_BYTES = 2**40                  # of a variable: more than any GPU has


def linked(tokens: Tokens) -> str:
    """Passes a linkage, where there is one."""
    word = tokens.words[tokens.at]
    if word not in LINKAGES:
        return ""
    tokens.at += 1
    return word[1:]


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
        if kind.space == "reg" or len(shape) >= MAX_NESTING:
            tokens.fail("',' or ')'" if kind.space == "reg" else f"at most {MAX_NESTING} lengths", tokens.at - 1)
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
        elif kind.type not in INITIALISED or kind.space not in ("global", "const"):
            tokens.fail("';', because no variable of such a type or space has an initial value", tokens.at - 1)
        else:
            initial, relocations, shape = initial_value(tokens, kind.type, shape, refer)
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
