"""Index functions as text: `parse_index` reads integer arithmetic, Python's or C's, by `index_grammar`; nothing is ever
evaluated as Python. What the two languages, or ints and arrays, would answer differently is refused where it arises."""

import operator
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from simlayout.algebra.checked import Checked
from simlayout.algebra.layout import as_index
from simlayout.arguments import typed
from simlayout.codegen.index_grammar import DIVISIONS, SHIFTS, Node, read
from simlayout.errors import LayoutError, ParseError

MAX_BITS = 62           # of a value on the way: what int64 arrays compute, ints and symbols compute too
C_BITS = 31             # of a value on the way in C

_GROWTH = {operator.add: operator.add, operator.sub: operator.add, operator.mul: operator.mul,
           operator.lshift: operator.lshift}


@dataclass(frozen=True)
class Index:
    """What `parse_index` returns: called with one value per name, it gives the coordinate as a tuple.

    The values are ints, NumPy integer arrays that broadcast, or symbols. Raises LayoutError for a division by zero,
    a shift by more than 63, or a value beyond 62 bits; where the text is C also for what C computes differently.
    """

    text: str
    names: tuple
    trees: tuple
    is_c: bool = False

    def __call__(self, *values):
        if len(values) != len(self.names):
            raise LayoutError(f"the index {self.text!r} takes {', '.join(self.names)}: {len(self.names)} values, "
                              f"not {len(values)}")
        known = dict(zip(self.names, map(as_index, values), strict=True))
        return tuple(_evaluate(tree, known, self.is_c) for tree in self.trees)

    def __str__(self):
        return " ".join(self.text.split())


@typed(ParseError)
def parse_index(text: str, names: Collection[str]) -> "Index":
    """The function of `names` that a text of integer arithmetic denotes; it returns a tuple, one entry per coordinate.

    Raises ParseError, one line with the column, for anything outside the grammar (see `index_grammar`), for more than
    1000 characters and for more than 64 nested operations.

    >>> lanes = parse_index("tid % 16, 16*k + 8*(tid // 16)", ("tid", "k"))
    >>> lanes(17, 2)
    (1, 40)
    >>> lanes(np.array([0, 16]), 1)[1].tolist()
    [16, 24]
    >>> parse_index("int chunk = col / 8u; return row * 64 + ((chunk ^ row & 7) * 8 | col % 8);", ("row", "col"))(1, 9)
    (65,)
    >>> parse_index("tid ** 2", ("tid",))
    Traceback (most recent call last):
    ...
    simlayout.errors.ParseError: column 5: '**': a power is no integer arithmetic of index functions
    """
    names = tuple(names)
    trees, is_c = read(text, names)
    return Index(text, names, trees, is_c)


@dataclass(frozen=True)
class Formula:
    """What `formula` returns: an Index of one coordinate, whose value it gives."""

    index: Index

    def __call__(self, *values):
        return self.index(*values)[0]

    def __str__(self):
        return str(self.index)

    def __repr__(self):
        return f"formula({self.index.text!r}, {self.index.names})"


@typed(ParseError)
def formula(text: str, names: Collection[str] = ("row", "col")) -> "Formula":
    """The index function of `names` that a text denotes, an offset for `equivalent` and for tiles of accesses. Errors as of
    `parse_index`.

    >>> tile = formula("row * 64 + (col ^ ((row & 7) << 3))")
    >>> tile(1, 8)
    64
    """
    index = parse_index(text, names)
    if len(index.trees) != 1:
        raise ParseError(f"a formula is one value, and this has {len(index.trees)}: leave out the commas", 1)
    return Formula(index)


def _evaluate(tree, values, is_c):
    """The value of a tree."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return values[tree]
    left, right = (_evaluate(side, values, is_c) for side in (tree.left, tree.right))
    _check_values(tree, left, right, is_c)
    return tree.operation(left, right)


def _check_values(tree: Node, left, right, is_c):
    """Refuses what ints, int64 arrays and symbols, or C and Python, would answer differently."""
    operation, exact = tree.operation, isinstance(left, Checked) or isinstance(right, Checked)
    if exact and not is_c:
        return                                            # they refuse by themselves, with the point
    left, right = (np.asarray(x) if isinstance(x, Checked) else x for x in (left, right))
    if operation in DIVISIONS and isinstance(right, (int, np.integer, np.ndarray)) and np.any(right == 0):
        raise LayoutError("the index divides by zero")
    most = C_BITS if is_c else 63
    if operation in SHIFTS and not 0 <= _least(right) <= _peak(right) <= most:
        raise LayoutError(f"the index shifts by less than 0 or more than {most}")
    if is_c and operation in (*DIVISIONS, operator.rshift) and min(_least(left), _least(right)) < 0:
        raise LayoutError("the index divides or shifts a value that may be negative, which C and Python do differently: add "
                          "a multiple of the divisor first, or write // for Python's division and leave out what is C")
    if is_c and tree.widened is not None:
        least = _least(left), _least(right)               # what & takes of a value below 2**31 has no sign
        if (max(least) if operation is operator.and_ else least[tree.widened]) < 0:
            raise LayoutError("the index widens a value to 64 bits that may be negative, which C does differently where its "
                              "32 bits have no sign: add before you subtract, or say that it has one, as in (int)(col - 8)")
    if operation in _GROWTH and _GROWTH[operation](_peak(left), _peak(right)) >> (C_BITS if is_c else MAX_BITS):
        raise LayoutError(f"the index grows beyond {f'{C_BITS} bits, which C cuts off' if is_c else f'{MAX_BITS} bits'}")


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
