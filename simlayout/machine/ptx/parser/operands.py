"""Operands of instructions.

    operand   = word ["|" word] | ("!" | "-") word | symbol [("+" | "-") integer] | symbol "[" integer "]" | constant
              | "{" operand { "," operand } "}" ["|" word] | "[" place "]" [".unified"]
    place     = base [("+" | "-") integer] ["," [word ","] "{" operand { "," operand } "}"]
    base      = word | integer
    arguments = "(" [operand { "," operand }] ")"                                  only in calls

Two forms that ptxas takes and no compiler writes are refused: an index in a register (`table[%r1]`), and the sum of a
register and a number outside of brackets (`%r1+4`).
"""

from collections.abc import Mapping
from dataclasses import replace

from simlayout.machine.ptx.parser.constants import constant, integer
from simlayout.machine.ptx.parser.scopes import Pending, Scope
from simlayout.machine.ptx.parser.tokens import Tokens
from simlayout.machine.ptx.syntax import (
    Address,
    Arguments,
    Float,
    Integer,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Vector,
)

_ENDS = frozenset((",", ";", "]", "}", ")"))


class Operands:
    """Reads operands. Whoever reads the body sets `scope`, the innermost; `place`, the number of the instruction in the
    body; and `of_address`, whether `table[1]` means that address, as in `mov`, rather than what lies there."""

    def __init__(self, tokens: Tokens, scope: Scope, sizes: Mapping[str, int]):
        self.tokens = tokens
        self.scope = scope
        self.sizes = sizes                                  # bytes of an element, by the variable's name in the function
        self.place = 0
        self.of_address = False
        self._numbers: dict[str, Integer | Float] = {}

    def operand(self) -> Operand:
        """Passes one operand."""
        tokens = self.tokens
        at = tokens.at
        word = tokens.words[at]
        after = tokens.words[at + 1]
        if after in _ENDS:                                  # by far most operands are one token
            found = self.scope.known.get(word) or self._numbers.get(word)
            if found is not None:
                tokens.at = at + 1
                return found
        if word == "[":
            return self._address()
        if word == "{":
            vector = Vector(self._listed("{", "}"))
            return self._pair(vector) if tokens.accept("|") else vector
        if word in ("!", "-") and _begins_name(after):
            tokens.at = at + 1
            return Negated(self.register("pred" if word == "!" else None))
        if _begins_number(word) or word == "WARP_SZ":
            found = constant(tokens)
            if tokens.at == at + 1:
                self._numbers[word] = found
            return found
        return self._named()

    def register(self, kind: str | None = None) -> Register:
        """Passes a register, of a certain type if one is given."""
        tokens = self.tokens
        found = self.scope.find(tokens.words[tokens.at])
        if not isinstance(found, Register) or (kind and found.type != kind):
            tokens.fail("a register of type .pred" if kind == "pred" else "a register that is declared")
        tokens.at += 1
        return found

    def arguments(self) -> Arguments:
        """Passes `(a, b, ...)` or `()`."""
        tokens = self.tokens
        if tokens.words[tokens.at] == "(" and tokens.words[tokens.at + 1] == ")":
            tokens.at += 2
            return Arguments(())
        return Arguments(self._listed("(", ")"))

    def _listed(self, opening: str, closing: str) -> tuple[Operand, ...]:
        tokens = self.tokens
        tokens.require(opening)
        vectors = opening == "("
        found = [self._element(vectors)]
        while tokens.accept(","):
            found.append(self._element(vectors))
        tokens.require(closing, f"',' or '{closing}'")
        return tuple(found)

    def _element(self, vectors: bool) -> Operand:
        word = self.tokens.words[self.tokens.at]
        if word == "[" or word == "{" and not vectors:
            self.tokens.fail("a register or a constant")
        return self.operand()

    def _found(self) -> Operand:
        tokens = self.tokens
        word = tokens.words[tokens.at]
        found = self.scope.find(word)
        if found is None:
            if word[:1] == "%" and len(word) > 1:
                tokens.fail("a register that is declared")
            tokens.name("an operand")
            self.scope.pending.append(Pending(word, tokens.at - 1, self.place))
            return Symbol(word)
        tokens.at += 1
        return found

    def _named(self) -> Operand:
        tokens = self.tokens
        at = tokens.at
        found = self._found()
        after = tokens.words[tokens.at]
        if after == "|" and isinstance(found, Register | Sink):
            tokens.at += 1
            return self._pair(found)
        if isinstance(found, Symbol):
            if after in ("+", "-"):
                return replace(found, offset=_signed(integer(tokens)))
            if after == "[":
                return self._indexed(found, at)
        return found

    def _pair(self, first: Register | Sink | Vector) -> Pair:
        second = self.scope.find(self.tokens.words[self.tokens.at])
        if not isinstance(second, Register | Sink):
            self.tokens.fail("a register that is declared, or '_'")
        self.tokens.at += 1
        return Pair(first, second)

    def _indexed(self, found: Symbol, at: int) -> Address | Symbol:
        """`name[i]` is `[name + i * the size of an element]`."""
        tokens = self.tokens
        if found.name not in self.sizes:
            tokens.fail("a variable that is declared as an array", at)
        tokens.require("[")
        if isinstance(self.scope.find(tokens.words[tokens.at]), Register):
            tokens.fail("a number, because an index in a register has to be added to the address before")
        index = _signed(integer(tokens))
        tokens.require("]")
        offset = index * self.sizes[found.name]
        return Symbol(found.name, offset) if self.of_address else Address(found, offset)

    def _base(self, expected: str) -> Register | Symbol:
        at = self.tokens.at
        found = self._found()
        if not isinstance(found, Register | Symbol):
            self.tokens.fail(expected, at)
        return found

    def _address(self) -> Address | TensorAddress:
        tokens = self.tokens
        tokens.at += 1
        base: Register | Symbol | Integer
        offset = 0
        if _begins_number(tokens.words[tokens.at]):
            base = Integer(integer(tokens))
        else:
            base = self._base("a register, a variable or a number")
            if tokens.words[tokens.at] in ("+", "-"):
                offset = _signed(integer(tokens))
        if not tokens.accept(","):
            tokens.require("]", "'+', ',' or ']'")
            tokens.accept(".unified")                       # a promise about the address, which changes no value
            return Address(base, offset)
        sampler = None
        if tokens.words[tokens.at] != "{":
            sampler = self._base("a sampler or '{'")
            tokens.require(",")
        coordinates = self._listed("{", "}")
        tokens.require("]")
        return TensorAddress(base, coordinates, offset, sampler)


def _begins_number(word: str) -> bool:
    return word[:1].isdigit() or word in ("+", "-", "(", "~", "!") or (word[:1] == "." and word[1:2].isdigit())


def _begins_name(word: str) -> bool:
    return (word[:1].isalpha() or word[:1] in ("%", "_", "$")) and word not in ("%", "WARP_SZ")


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value
