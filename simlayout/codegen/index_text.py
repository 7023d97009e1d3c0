"""Index functions as text: `parse_index` reads integer arithmetic by a grammar; nothing is ever evaluated as Python.

    index    = sum { "," sum } [","]                       one coordinate for each
    operator = "+" "-" "*" "//" "%" "&" "|" "^" "<<" ">>"   with Python's precedence and parentheses
    operand  = a name, or an int from 0 to 2**31 - 1
"""

import ast
import operator
import re
import warnings
from dataclasses import dataclass

import numpy as np

from simlayout.errors import LayoutError, ParseError

MAX_LENGTH = 1000       # characters of a text
MAX_DEPTH = 64          # of nested operations and parentheses
MAX_INT = 2**31         # ints in the text are smaller
MAX_BITS = 62           # of a value on the way: what int64 arrays compute, ints and symbols compute too

_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
              ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
              ast.LShift: operator.lshift, ast.RShift: operator.rshift}
_SHIFTS = (operator.lshift, operator.rshift)
_DIVISIONS = (operator.floordiv, operator.mod)
_GROWTH = {operator.add: operator.add, operator.sub: operator.add, operator.mul: operator.mul,
           operator.lshift: operator.lshift}
_FOREIGN = re.compile(r"[^A-Za-z0-9_ ,+*/%&|^<>()-]")
_GRAMMAR = "an index is made of names, ints, parentheses and + - * // % & | ^ << >>"


@dataclass(frozen=True)
class Index:
    """What `parse_index` returns: called with one value per name, it gives the coordinate as a tuple.

    The values are ints, NumPy integer arrays that broadcast, or symbols. Raises LayoutError for a division by zero,
    a shift by more than 63, or a value beyond 62 bits.
    """

    text: str
    names: tuple
    trees: tuple

    def __call__(self, *values):
        if len(values) != len(self.names):
            raise LayoutError(f"the index {self.text!r} takes {', '.join(self.names)}: {len(self.names)} values, "
                              f"not {len(values)}")
        known = dict(zip(self.names, values, strict=True))
        return tuple(_evaluate(tree, known) for tree in self.trees)


def parse_index(text, names):
    """The function of `names` that a text of integer arithmetic denotes; it returns a tuple, one entry per coordinate.

    Raises ParseError, one line with the column, for anything outside the grammar (see the head of this module), for
    more than 1000 characters and for more than 64 nested operations.

    >>> lanes = parse_index("tid % 16, 16*k + 8*(tid // 16)", ("tid", "k"))
    >>> lanes(17, 2)
    (1, 40)
    >>> lanes(np.array([0, 16]), 1)[1].tolist()
    [16, 24]
    >>> parse_index("tid ** 2", ("tid",))
    Traceback (most recent call last):
    ...
    simlayout.errors.ParseError: column 1: Pow is not allowed: an index is made of names, ints, parentheses and \
+ - * // % & | ^ << >>
    """
    names = tuple(names)
    _check_characters(text)
    tree = _python_tree(text)
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    if not parts:
        raise ParseError("column 1: expected an index such as 'tid % 16, 8*k', found nothing")
    return Index(text, names, tuple(_checked(part, names, 1) for part in parts))


@dataclass(frozen=True)
class Formula:
    """What `formula` returns: an Index of one coordinate, whose value it gives."""

    index: Index

    def __call__(self, *values):
        return self.index(*values)[0]


def formula(text, names=("row", "col")):
    """The index function of `names` that a text denotes, an offset for `equivalent` and for tiles of accesses. Errors as of
    `parse_index`.

    >>> tile = formula("row * 64 + (col ^ ((row & 7) << 3))")
    >>> tile(1, 8)
    64
    """
    index = parse_index(text, names)
    if len(index.trees) != 1:
        raise ParseError(f"column 1: a formula is one value, and this has {len(index.trees)}: leave out the commas")
    return Formula(index)


def _check_characters(text):
    """The text's length, its characters, and that its parentheses pair up, none too deep."""
    if not isinstance(text, str):
        raise ParseError(f"an index is text such as 'tid % 16, 8*k', not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ParseError(f"column {MAX_LENGTH + 1}: {len(text)} characters: at most {MAX_LENGTH} are read")
    foreign = _FOREIGN.search(text)
    if foreign:
        raise ParseError(f"column {foreign.start() + 1}: unexpected character {ascii(foreign[0])}: {_GRAMMAR}")
    opened = []
    for column, character in enumerate(text, 1):
        if character == "(":
            opened.append(column)
            if len(opened) > MAX_DEPTH:
                raise ParseError(f"column {column}: more than {MAX_DEPTH} nested parentheses")
        elif character == ")":
            if not opened:
                raise ParseError(f"column {column}: ')' closes nothing")
            opened.pop()
    if opened:
        raise ParseError(f"column {opened[-1]}: '(' is never closed")


def _python_tree(text):
    """Python's syntax tree of the text; its columns are one too high, since parentheses make spaces free."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(f"({text})", mode="eval").body
    except SyntaxError as error:
        column = min(max((error.offset or 2) - 1, 1), len(text) + 1)
        raise ParseError(f"column {column}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ParseError(f"column 1: the index cannot be read: {_GRAMMAR}") from None


def _checked(node, names, depth):
    """The tree as ints, names and (operator, left, right), of which nothing but the grammar is left."""
    column = max(node.col_offset, 1)            # the parenthesis added by _python_tree makes it count from 1
    if depth > MAX_DEPTH:
        raise ParseError(f"column {column}: more than {MAX_DEPTH} nested operations: use parentheses to balance them")
    if isinstance(node, ast.Constant) and type(node.value) is int:
        if node.value >= MAX_INT:
            raise ParseError(f"column {column}: an int must be under 2**31")
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ParseError(f"column {column}: unknown name {node.id!r}; known: {', '.join(names)}")
        return node.id
    kind = type(node.op) if isinstance(node, (ast.BinOp, ast.UnaryOp)) else type(node)
    if not isinstance(node, ast.BinOp) or kind not in _OPERATORS:
        raise ParseError(f"column {column}: {kind.__name__} is not allowed: {_GRAMMAR}")
    operation = _OPERATORS[kind]
    left, right = (_checked(side, names, depth + 1) for side in (node.left, node.right))
    if operation in _DIVISIONS and right == 0:
        raise ParseError(f"column {node.right.col_offset}: division by zero")
    if operation in _SHIFTS and isinstance(right, int) and right > 63:
        raise ParseError(f"column {node.right.col_offset}: a shift must be by at most 63")
    return operation, left, right


def _evaluate(tree, values):
    """The value of a checked tree."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return values[tree]
    operation, *sides = tree
    left, right = (_evaluate(side, values) for side in sides)
    _check_values(operation, left, right)
    return operation(left, right)


def _check_values(operation, left, right):
    """Refuses what ints, int64 arrays and symbols would answer differently."""
    if operation in _DIVISIONS and isinstance(right, (int, np.integer, np.ndarray)) and np.any(right == 0):
        raise LayoutError("the index divides by zero")
    if operation in _SHIFTS and not 0 <= _least(right) <= _peak(right) <= 63:
        raise LayoutError("the index shifts by less than 0 or more than 63")
    if operation in _GROWTH and _GROWTH[operation](_peak(left), _peak(right)) >> MAX_BITS:
        raise LayoutError(f"the index grows beyond {MAX_BITS} bits")


def _peak(value):
    """The largest magnitude of an int, an array or a symbol that knows its range (0 if it does not)."""
    if isinstance(value, (int, np.integer)):
        return abs(int(value))
    if isinstance(value, np.ndarray):
        return max(abs(int(value.max())), abs(int(value.min()))) if value.size else 0
    return max(abs(getattr(value, "lo", 0)), abs(getattr(value, "hi", 0)))


def _least(value):
    """The smallest value of an int, an array or a symbol that knows its range (0 if it does not)."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, np.ndarray):
        return int(value.min()) if value.size else 0
    return getattr(value, "lo", 0)
