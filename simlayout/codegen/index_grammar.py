"""The grammar of index texts, as Python and as C write them; `read` gives trees, nothing is ever evaluated.

    text      = { [type] name "=" value ";" } ["return"] value { "," value } [","] [";"]
    value     = operands and the operators below, with the precedence that Python and C share
    operator  = "+" "-" "*" "//" "/" "%" "&" "|" "^" "<<" ">>", and before an operand "+" "-" "~"
    operand   = name | integer [u, l, ul, ...] | "(" value ")" | "(" type ")" operand | type "(" value ")"
              | "static_cast" "<" type ">" "(" value ")"
    integer   = decimal, 0x... or 0b...;  type = int, unsigned, uint32_t, size_t, ...

`/` is C's integer division. A text with a `/`, a `;`, a type, or a number with a suffix is C: its `/`, `%` and `>>` are
refused where a value may be negative, and everything where a value may leave 32 bits, since C and Python part there. So
is a value that may be negative where C widens it to 64 bits, and nothing says that it has a sign: -8 of an unsigned int
becomes 2**32 - 8.
"""

import operator
import re
from dataclasses import dataclass

from simlayout.errors import ParseError

MAX_LENGTH = 1000       # characters of a text
MAX_DEPTH = 64          # of nested operations and parentheses
MAX_NODES = 2000        # operations of an index, with the names that it gave to parts of itself written out
MAX_INT = 2**31         # ints in the text are smaller

GRAMMAR = "an index is made of names, ints, parentheses and + - * // / % & | ^ << >> ~"

OPERATORS = {"|": (0, operator.or_), "^": (1, operator.xor), "&": (2, operator.and_), "<<": (3, operator.lshift),
             ">>": (3, operator.rshift), "+": (4, operator.add), "-": (4, operator.sub), "*": (5, operator.mul),
             "//": (5, operator.floordiv), "/": (5, operator.floordiv), "%": (5, operator.mod)}
"""Sign -> (how tightly it binds, what it does). Python's and C's order is the same."""

SHIFTS = (operator.lshift, operator.rshift)
DIVISIONS = (operator.floordiv, operator.mod)

SIGNED, UNSIGNED, WIDE = "signed", "unsigned", "wide"
"""The kinds of C's values: 32 bits with a sign; 32 bits without one, or nobody says; 64 bits."""

_TYPES = {word: kind for kind, words in {
    "": "auto const constexpr", SIGNED: "int signed int32_t std::int32_t int32",
    UNSIGNED: "unsigned uint uint32_t std::uint32_t uint32",
    WIDE: "long size_t ptrdiff_t int64_t uint64_t std::size_t std::int64_t std::uint64_t int64 uint64"}.items()
    for word in words.split()}
"""Word of a type -> the kind of its values; "": it does not say."""

_NARROW = frozenset("char short bool float double half int8_t uint8_t int16_t uint16_t".split())
_PYTHON_THREAD, _CUDA_THREAD = "tid", "threadIdx.x"
_THREADS = frozenset("lane laneid lane_id thread threadid thread_id t".split())

_TOKEN = re.compile(r"""\s*(?:
    (?P<int>[0-9][0-9A-Za-z_]*(?:\.[0-9]*)?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->)[A-Za-z_][A-Za-z0-9_]*)*)
  | (?P<mark>\*\*|/\*|//|\+\+|--|<<|>>|&&|\|\||[=!<>]=|[-+*/%&|^()~,;:<>=!?\[\]{}])
  | (?P<bad>\S) | (?P<end>\Z))""", re.VERBOSE | re.ASCII)

_NAMED = {"**": "a power is no integer arithmetic of index functions",
          **dict.fromkeys(("&&", "||", "!"), "an index has no conditions"),
          **dict.fromkeys(("?", ":"), "an index has no branches"),
          **dict.fromkeys(("==", "!=", "<=", ">=", "<", ">"), "an index has no comparisons"),
          **dict.fromkeys(("++", "--"), "C changes a variable there: write '- -x', with a space, for two signs"),
          "=": "give a part of the index its name first, as in 'chunk = col / 8; row * 8 + chunk'",
          "[": "give the index alone, without the array's name and brackets", "]": "no '[' was opened",
          "{": "give the index alone, without the function around it", "}": "no '{' was opened",
          "/*": "the comment is never closed",
          **dict.fromkeys(("if", "else", "switch"), f"an index has no branches: {GRAMMAR}"),
          **dict.fromkeys(("for", "while", "do", "in"), f"an index has no loops: {GRAMMAR}"),
          **dict.fromkeys(("and", "or", "not", "is"), f"an index has no conditions: {GRAMMAR}"),
          **dict.fromkeys(("def", "lambda"), "give the index alone, without the function around it")}
"""Marks and words that are read to be refused by name."""

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_COMMENT_LINES = re.compile(r"(?:\A|(?<=;))(?:\s*//[^\n]*)+")
"""Comments: C's own; and those of C++ at the start and behind a `;`, where `//` divides nothing."""


@dataclass(frozen=True)
class Node:
    """An operation: a function of two sides, which are Nodes, ints or names. depth, size: of the tree below, written out.
    kind: of its value in C; widened: the number of the side that C widens without its sign, or None."""

    operation: object
    left: object
    right: object
    depth: int
    size: int
    kind: str = UNSIGNED
    widened: int | None = None


class _Literal(int):
    """An int of the text whose suffix or cast says its kind."""

    def __new__(cls, value, kind):
        literal = super().__new__(cls, value)
        literal.kind = kind
        return literal


def _kind(value):
    """The kind of a Node, an int or a name."""
    return getattr(value, "kind", SIGNED if isinstance(value, int) else UNSIGNED)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    column: int         # counted from 1


def read(text, names):
    """(trees, one for each coordinate; whether the text is C). Raises ParseError, one line with the column."""
    if not isinstance(text, str):
        instead = ": a function is an index as it is, and sl.Tile gives it a size" if callable(text) else ""
        raise ParseError(f"an index is text such as 'tid % 16, 8*k', not {type(text).__name__}{instead}")
    if len(text) > MAX_LENGTH:
        raise ParseError(f"{len(text)} characters: at most {MAX_LENGTH} are read", MAX_LENGTH + 1)
    return _Reader(_tokens(without_comments(text)), tuple(names)).whole()


def without_comments(text):
    """The text with a space for every character of its comments, so that columns stay what they are.

    >>> without_comments("// rows\\nrow * 64 /* wide */ + col")
    '       \\nrow * 64            + col'
    """
    for comment in (_COMMENT, _COMMENT_LINES):
        text = comment.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


def is_word(name):
    """Whether a name is a word of the grammar: a type, `return` or `static_cast`, or one that it refuses."""
    return name in _TYPES or name in _NARROW or name in _NAMED or name in ("return", "static_cast", "std")


def _fail(column, fault):
    raise ParseError(fault, column)


def _tokens(text):
    """The text as _Tokens, the last of kind "end"; its parentheses pair up, none too deep."""
    tokens, at, opened = [], 0, []
    while not tokens or tokens[-1].kind != "end":
        match = _TOKEN.match(text, at)
        kind, at = match.lastgroup, match.end()
        token = _Token(kind, match[kind], match.start(kind) + 1)
        if kind == "bad":
            _fail(token.column, f"unexpected character {ascii(token.text)}: {GRAMMAR}")
        if token.text == "(":
            opened.append(token.column)
            if len(opened) > MAX_DEPTH:
                _fail(token.column, f"more than {MAX_DEPTH} nested parentheses")
        elif token.text == ")" and not opened:
            _fail(token.column, "')' closes nothing")
        elif token.text == ")":
            opened.pop()
        tokens.append(token)
    if opened:
        _fail(opened[-1], "'(' is never closed")
    return tokens


class _Reader:
    """Recursive descent over the tokens; a value is a Node, an int or a name, a tuple in parentheses a list of them."""

    def __init__(self, tokens, names):
        self.tokens, self.names = tokens, names
        self.at = 0
        self.parts = {}             # name -> the value that the text gave it
        self.is_c = any(t.text in ("/", ";") or t.text in _TYPES and t.text not in names for t in tokens)

    @property
    def token(self):
        return self.tokens[self.at]

    def accept(self, *texts):
        if self.token.text not in texts or self.token.kind == "end":
            return None
        self.at += 1
        return self.tokens[self.at - 1]

    def require(self, text):
        if not self.accept(text):
            self.expected(repr(text))

    def expected(self, what):
        token = self.token
        self.refuse_named(token)
        _fail(token.column, f"expected {what}, found {repr(token.text) if token.text else 'the end of the text'}")

    def refuse_named(self, token):
        """Refuses what no index has, in words of its own."""
        if token.text in _NAMED and token.text not in self.names:
            _fail(token.column, f"{token.text!r}: {_NAMED[token.text]}")

    # ---- statements

    def whole(self):
        while self._names_a_part():
            self.part()
        self.accept("return")
        values = self.values()
        self.accept(";")
        if self.token.kind != "end":
            self.expected("an operator or the end of the text")
        if len(values) == 1 and isinstance(values[0], list):
            values = values[0]
        for value in values:
            self.single(value, 1)
        return tuple(values), self.is_c

    def _names_a_part(self):
        """Whether `[type] name =` comes next."""
        ahead = self.at
        while self.tokens[ahead].text in _TYPES and self.tokens[ahead].text not in self.names:
            ahead += 1
        return self.tokens[ahead].kind == "name" and self.tokens[ahead + 1].text == "="

    def part(self):
        kind = self.types()
        name = self.token
        if name.text in self.names:
            _fail(name.column, f"{name.text!r} is a variable of the index: give the part another name")
        self.at += 2
        value = self.cast(kind, self.single(self.value(), name.column))
        if self.token.kind == "end":            # `offset = row * 64 + col` is the index itself
            self.tokens.insert(self.at, _Token("name", name.text, name.column))
        elif self.token.text == ";" and self.tokens[self.at + 1].kind == "end":
            self.tokens[self.at] = _Token("name", name.text, name.column)
        else:
            self.require(";")
        self.parts[name.text] = value

    def values(self):
        """{ value "," }, the last comma being free."""
        values = [self.value()]
        while self.accept(",") and self.token.kind != "end" and self.token.text not in (")", ";"):
            values.append(self.value())
        return values

    # ---- values

    def value(self, least=0):
        """Operands with operators between that bind at least so tightly."""
        left = self.unary()
        while self.token.text in OPERATORS and OPERATORS[self.token.text][0] >= least:
            sign = self.accept(self.token.text)
            column, (level, operation) = self.token.column, OPERATORS[sign.text]
            left = self.node(sign, operation, left, self.value(level + 1), column)
        return left

    def node(self, sign, operation, left, right, column):
        """left operation right; column: of the right side."""
        left, right = self.single(left, sign.column), self.single(right, column)
        if operation in DIVISIONS and right == 0:
            _fail(column, "division by zero")
        if operation in SHIFTS and isinstance(right, int) and not 0 <= right <= 63:
            _fail(column, "a shift must be by at most 63")
        depth = 1 + max(getattr(side, "depth", 1) for side in (left, right))
        size = 1 + sum(getattr(side, "size", 1) for side in (left, right))
        if depth > MAX_DEPTH:
            _fail(sign.column, f"more than {MAX_DEPTH} nested operations: use parentheses to balance them")
        if size > MAX_NODES:
            _fail(sign.column, f"more than {MAX_NODES} operations, with the names written out")
        kinds = [_kind(left)] if operation in SHIFTS else [_kind(left), _kind(right)]
        if WIDE in kinds:
            return Node(operation, left, right, depth, size, WIDE, kinds.index(UNSIGNED) if UNSIGNED in kinds else None)
        return Node(operation, left, right, depth, size, UNSIGNED if UNSIGNED in kinds else SIGNED)

    def cast(self, kind, value):
        """The value as one of that kind."""
        if not kind or kind == _kind(value):
            return value
        if isinstance(value, int):
            return _Literal(value, kind)
        depth, size = getattr(value, "depth", 1), getattr(value, "size", 1)      # an addition of 0, which nobody wrote
        return Node(operator.add, value, 0, depth, size, kind, 0 if (_kind(value), kind) == (UNSIGNED, WIDE) else None)

    def single(self, value, column):
        if isinstance(value, list):
            _fail(column, f"{len(value)} coordinates in parentheses, where one value belongs")
        return value

    def unary(self):
        signs = []
        while sign := self.accept("+", "-", "~"):
            signs.append(sign)
        value = self.operand()
        for sign in reversed(signs):
            value = self.single(value, sign.column)
            start = {"+": None, "-": 0, "~": -1}[sign.text]
            if start is not None:
                value = (_Literal(start - value, _kind(value)) if isinstance(value, int) else
                         self.node(sign, operator.sub, start, value, sign.column))
        return value

    def operand(self):
        token = self.token
        if token.kind == "int":
            self.at += 1
            return self.integer(token)
        if self.accept("("):
            return self.in_parentheses(token)
        if token.kind != "name":
            self.expected("a name, an int or '('")
        if self.is_type(token):
            kind = self.types()
            self.require("(")
            return self.cast(kind, self.single(self.closed(self.value()), token.column))
        self.at += 1
        if token.text == "static_cast" and self.accept("<"):
            kind = self.types()
            self.require(">")
            self.require("(")
            return self.cast(kind, self.single(self.closed(self.value()), token.column))
        return self.variable(token)

    def in_parentheses(self, opening):
        """What follows "(": a cast, a value, or a tuple as a list."""
        if self.is_type(self.token):
            before, kind = self.at, self.types()
            if self.accept(")"):
                return self.cast(kind, self.single(self.unary(), opening.column))
            self.at = before
        values = self.values()
        return self.closed(values[0] if len(values) == 1 and self.tokens[self.at - 1].text != "," else values)

    def closed(self, value):
        if not self.accept(")"):
            self.expected("an operator or ')'")
        return value

    def is_type(self, token):
        return token.text not in self.names and (token.text in _TYPES or token.text in _NARROW)

    def types(self):
        """The kind that the words of a type say; one that cuts values short is refused."""
        kinds = set()
        while self.is_type(self.token):
            if self.token.text in _NARROW:
                _fail(self.token.column, f"{self.token.text!r} cuts or rounds values: an index is computed in whole numbers "
                                         "of 32 bits")
            kinds.add(_TYPES[self.token.text])
            self.at += 1
        return next((kind for kind in (WIDE, UNSIGNED, SIGNED) if kind in kinds), "")

    def variable(self, token):
        name = _PYTHON_THREAD if token.text == _CUDA_THREAD and _PYTHON_THREAD in self.names else token.text
        if self.token.text == "(":
            _fail(token.column, f"'{name}(': an index calls no functions: {GRAMMAR}")
        if name in self.parts:
            return self.parts[name]
        if name not in self.names:
            if self.token.text == "[" and self.token.kind == "mark":
                self.expected("")
            self.refuse_named(token)
            divided = any(before.text == "//" for before in self.tokens[:self.at])
            comment = "; // is integer division here: write comments as /* ... */" if divided else ""
            sized = f"; any other has its size in the domain, as in {name}=4" if name.isidentifier() else ""
            if name.lower() in _THREADS and _PYTHON_THREAD in self.names:
                sized = f"; the thread is {_PYTHON_THREAD}, its lane {_PYTHON_THREAD} % 32"
            _fail(token.column, f"unknown name {name!r}; known: {', '.join(self.names)}{comment or sized}")
        return name

    def integer(self, token):
        """An int as Python or C writes it."""
        match = re.fullmatch(r"(0[xX]_*[0-9a-fA-F][0-9a-fA-F_]*|0[bB]_*[01][01_]*|[0-9][0-9_]*)([uUlLzZ]{0,3})", token.text)
        if not match:
            _fail(token.column, f"{token.text!r} is no int: an index is computed in whole numbers")
        self.is_c |= bool(match[2])
        digits = match[1].replace("_", "")
        if len(digits) > 1 and digits[0] == "0" and digits.isdecimal() and digits.strip("0"):
            _fail(token.column, f"{token.text!r} begins with 0, which C reads as octal: leave out the zeros")
        if len(digits) > 40 or (value := int(digits, 0 if not digits.isdecimal() else 10)) >= MAX_INT:
            _fail(token.column, "an int must be under 2**31")
        suffix = match[2].lower()
        return _Literal(value, WIDE if set(suffix) & set("lz") else UNSIGNED if suffix else SIGNED)
