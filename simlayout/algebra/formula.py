"""Index formulas as text, in: `formula("row * 64 + (col ^ ((row & 7) << 3))")` is a function of row and col.

    or     = xor { "|" xor }
    xor    = and { "^" and }
    and    = shift { "&" shift }
    shift  = sum { ("<<" | ">>") sum }
    sum    = term { ("+" | "-") term }
    term   = factor { ("*" | "//" | "/" | "%") factor }
    factor = int | name | "-" factor | "(" or ")"

The precedence is that of C and of Python; "/" is C's, of whole numbers from 0 on. Numbers may be decimal or 0x hexadecimal.
Nothing is ever evaluated as Python.
"""

import operator
import re

from simlayout.algebra.layout import as_index
from simlayout.errors import ParseError

MAX_LENGTH, MAX_NESTING, MAX_DIGITS = 2_000, 50, 18

_TOKEN = re.compile(r"\s*(?:(?P<int>0[xX][0-9a-fA-F]+|[0-9]+)|(?P<name>[A-Za-z_]\w*)|(?P<mark><<|>>|//|[-+*/%&|^()])"
                    r"|(?P<bad>\S)|(?P<end>\Z))", re.ASCII)
_LEVELS = ({"|": operator.or_}, {"^": operator.xor}, {"&": operator.and_}, {"<<": operator.lshift, ">>": operator.rshift},
           {"+": operator.add, "-": operator.sub},
           {"*": operator.mul, "//": operator.floordiv, "/": operator.floordiv, "%": operator.mod})
"""Binary operators, those that bind least first."""


class Formula:
    """A parsed formula: call it with a value per parameter, ints, integer arrays or symbols.

    text: as it was given; parameters: its names, in the order of their first appearance, or as they were asked for.
    """

    def __init__(self, text, parameters, tree):
        self.text, self.parameters, self._tree = text, parameters, tree

    def __call__(self, *values):
        if len(values) != len(self.parameters):
            raise TypeError(f"{self.text!r} is a function of {', '.join(self.parameters)}: {len(values)} values do not fit")
        return _value(self._tree, dict(zip(self.parameters, map(as_index, values))))

    def __repr__(self):
        return f"formula({self.text!r}, {self.parameters!r})"


def formula(text, parameters=None):
    """The Formula of a text. parameters: the names that it may have, in the order in which they are passed.

    Raises ParseError, whose first line says what was expected where, and whose next two show the text with a caret.

    >>> f = formula("row * 64 + (col ^ ((row & 7) << 3))")
    >>> f.parameters, f(1, 8)
    (('row', 'col'), 64)
    >>> formula("col ^ ((row & 7) << 3)", ("row", "col"))(1, 8)
    0
    >>> formula("(row & 7")
    Traceback (most recent call last):
    ...
    simlayout.errors.ParseError: column 9: expected an operator or ')', found the end of the text
        (row & 7
                ^
    """
    if not isinstance(text, str):
        raise ParseError(f"formula takes text such as 'col ^ ((row & 7) << 3)', not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ParseError(f"the formula has {len(text)} characters: at most {MAX_LENGTH} are read")
    reader = _Reader(text, parameters)
    tree = reader.binary(0, 0)
    if reader.kind != "end":
        reader.expected("an operator or the end of the text")
    return Formula(text, tuple(reader.names) if parameters is None else tuple(parameters), tree)


def _value(tree, values):
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return values[tree]
    function, *operands = tree
    return function(*(_value(part, values) for part in operands))


class _Reader:
    """Recursive descent, one token of lookahead; the tree is ints, names and (operator, operand, ...)."""

    def __init__(self, text, parameters):
        self.text, self.allowed, self.names, self.end = text, parameters, {}, 0
        self.advance()

    def advance(self):
        match = _TOKEN.match(self.text, self.end)
        self.kind, self.token, self.end = match.lastgroup, match[match.lastgroup], match.end()
        self.at = match.start(match.lastgroup)
        if self.kind == "bad":
            self.fail(f"{self.token!r} has no place in a formula")

    def fail(self, fault, at=None):
        at = self.at if at is None else at
        raise ParseError(f"column {at + 1}: {fault}\n    {self.text}\n    {' ' * at}^")

    def expected(self, what):
        self.fail(f"expected {what}, found {'the end of the text' if self.kind == 'end' else repr(self.token)}")

    def binary(self, level, depth):
        if level == len(_LEVELS):
            return self.factor(depth)
        tree = self.binary(level + 1, depth)
        while self.kind == "mark" and self.token in _LEVELS[level]:
            function = _LEVELS[level][self.token]
            self.advance()
            tree = function, tree, self.binary(level + 1, depth)
        return tree

    def factor(self, depth):
        if depth > MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} levels of nesting")
        at, kind, token = self.at, self.kind, self.token
        if kind == "mark" and token in "-(":
            self.advance()
            if token == "-":
                return operator.neg, self.factor(depth + 1)
            tree = self.binary(0, depth + 1)
            if self.token != ")":
                self.expected("an operator or ')'")
            self.advance()
            return tree
        if kind not in ("int", "name"):
            self.expected("a number, a name or '('")
        self.advance()
        if kind == "name":
            if self.allowed is not None and token not in self.allowed:
                self.fail(f"{token!r} is no parameter: there are {', '.join(self.allowed)}", at)
            self.names[token] = None
            return token
        if len(token) > MAX_DIGITS:
            self.fail(f"a number of {len(token)} digits: offsets fit 64 bits", at)
        return int(token, 0 if token[:2] in ("0x", "0X") else 10)
