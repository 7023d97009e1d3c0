"""equivalent: proves that two index functions are equal on a domain, or finds the first point at which they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from simlayout.algebra.aliases import Domain, IndexFunction, check_order
from simlayout.algebra.exact import box_arguments, box_point, exact_offsets, pieces
from simlayout.algebra.f2 import F2Map
from simlayout.algebra.nested import mode_sizes
from simlayout.algebra.notation import as_layout
from simlayout.arguments import as_int
from simlayout.errors import LayoutError, brief
from simlayout.shown import Shown
from simlayout.wording import counted, tile_name

CHUNK = 1 << 18
"""Points that are compared at a time, so that memory stays bounded."""

MOST = 1 << 30
"""The most points that are compared."""


@dataclass(frozen=True)
class Equivalence(Shown):
    """The result of `equivalent`; it is true if `equal` is.

    equal: whether the two functions agree. how: what was compared, in words. counterexample: None, or the first coordinate
    at which they differ: {name: value} and the two offsets as "left" and "right" (None for a layout outside its shape).
    domain: {name: size} of what was compared; None for F2 maps, which are compared by their columns.

    >>> from simlayout import Layout
    >>> found = equivalent(Layout((4, 8), (8, 1)), Layout((4, 8), (1, 4)))
    >>> bool(found), found.counterexample
    (False, {'x0': 0, 'x1': 1, 'left': 1, 'right': 4})
    """

    equal: bool
    how: str
    counterexample: dict | None = None
    domain: dict | None = None

    def __bool__(self):
        return self.equal

    def __str__(self):
        if self.equal:
            return f"equal: {self.how}"
        at = ", ".join(f"{k} = {v}" for k, v in self.counterexample.items() if k not in ("left", "right"))
        one, other = ("nothing" if self.counterexample[k] is None else self.counterexample[k] for k in ("left", "right"))
        return f"different at {at}: {one} and {other} ({self.how})"


def equivalent(left: IndexFunction, right: IndexFunction, domain: Domain | None = None,
               names: Sequence[str] | None = None) -> Equivalence:
    """Compares two index functions: layouts, compositions, formulas, or any functions of integer arrays.

    domain: {name: size}, or the sizes alone; its points are all coordinates below the sizes. None: the shape of the two
    sides, one size for each top-level mode. (Two F2Maps need none: they are compared column by column, for all arguments.)
    names: of the coordinates, if the domain has none (default: x0, x1, ...).

    Returns an Equivalence. Its counterexample is the least coordinate at which the two differ; the last name counts fastest.
    Two layouts of different shapes are different, because a layout has no offsets outside its shape.

    Raises LayoutError if there is no domain, or if it leaves the shape of a layout, has another number of coordinates, or
    has more than 2**30 points; UndefinedError if a function has no value in 64-bit integers.

    >>> from simlayout import Layout, Swizzle, formula
    >>> tile, xor = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1)), formula("row * 64 + (col ^ ((row & 7) << 3))")
    >>> print(equivalent(tile, xor, {"row": 16, "col": 64}))
    equal: all 1024 points
    >>> print(equivalent(tile, formula("row * 64 + (col ^ ((row & 3) << 3))"), (16, 64)))
    different at x0 = 4, x1 = 0: 288 and 256 (257 of 1024 points compared)
    >>> print(equivalent(Layout((16, 64), (64, 1)), Layout((8, 8), (64, 1))))
    different at x0 = 0, x1 = 8: 8 and nothing ((16,64):(64,1) has coordinates below 16, 64, (8,8):(64,1) below 8, 8)
    """
    left, right = as_layout(left), as_layout(right)
    if domain is None and isinstance(left, F2Map) and isinstance(right, F2Map):
        return _by_column(left, right)
    for side in (left, right):
        if not callable(side):
            raise LayoutError(f"equivalent compares functions (layouts, formulas, ...), not {type(side).__name__}")
    names, sizes = named_domain(domain, left, right, names)
    total = prod(sizes)
    if total > MOST:
        raise LayoutError(f"{total} points: at most {MOST} are compared; give a smaller domain")
    compared, start = dict(zip(names, sizes)), 0
    for box in pieces(sizes, CHUNK):
        one, other = (exact_offsets(f, box_arguments(box), _called(f, side), lambda i, box=box: box_point(names, box, i))
                      for f, side in ((left, "left"), (right, "right")))
        wrong = one != other
        if wrong.any():
            i = int(np.argmax(wrong))
            return Equivalence(False, f"{start + i + 1} of {counted(total, 'point')} compared",
                               {**box_point(names, box, i), "left": int(one.flat[i]), "right": int(other.flat[i])}, compared)
        start += one.size
    mismatch = _size_mismatch(left, right, names) if domain is None else None
    return Equivalence(True, f"all {counted(total, 'point')}", None, compared) if mismatch is None else mismatch


def _called(function, side):
    """The name of a function in an error: its text, if it has one."""
    return str(function) if hasattr(function, "shape") or isinstance(function, F2Map) else f"the {side} function"


def named_domain(domain, left, right, names=None):
    """(names, sizes) of a domain; if it is None, of the coordinates that both sides have. LayoutError if it leaves the shape
    of a side."""
    shapes = [mode_sizes(side) for side in (left, right)]
    if domain is None:
        domain = _shared(left, right, *shapes)
    try:
        named = dict(domain) if isinstance(domain, dict) else dict(zip(_names(names, len(domain)), domain))
        sizes = tuple(as_int(n) for n in named.values())
    except TypeError:
        raise LayoutError(f"a domain is {{name: size}} or sizes, ints of at least 1, not {brief(domain)}") from None
    if not sizes or min(sizes) < 1:
        raise LayoutError(f"a domain has sizes of at least 1, not {domain}")
    for side, shape in zip((left, right), shapes):
        _check_shape(side, shape, sizes)
        if isinstance(domain, dict):
            check_order(side, domain, tile_name(side))
    return list(named), sizes


def _names(names, count):
    return names if names is not None and len(names) == count else [f"x{i}" for i in range(count)]


def _shared(left, right, one, other):
    """The coordinates that both sides have."""
    if one is None and other is None:
        which = "the function has no shape" if left is right else "neither function has a shape"
        raise LayoutError(f"{which}: say on which domain, {{name: size}}")
    if one is None or other is None:
        return one or other
    if len(one) != len(other):
        raise LayoutError(f"{left} has {len(one)} modes and {right} has {len(other)}: say on which domain; one size, of at "
                          f"most {min(prod(one), prod(other))}, compares them by the linear index")
    return tuple(map(min, one, other))


def _check_shape(function, shape, sizes):
    """Refuses a domain that leaves a layout's shape (a single size counts its linear index), or the columns of a tile."""
    domain = ", ".join(map(str, sizes))
    if shape is not None:
        limits = shape if len(sizes) == len(shape) else (prod(shape),)
        if len(limits) != len(sizes):
            raise LayoutError(f"{function} takes {len(shape)} coordinates below {', '.join(map(str, shape))}, or one below "
                              f"{prod(shape)}; the domain has {len(sizes)}: {domain}")
        if any(n > limit for n, limit in zip(sizes, limits)):
            raise LayoutError(f"{function} has coordinates below {', '.join(map(str, limits))} alone, the domain goes to "
                              f"{domain}: give a domain inside its shape")
    columns = getattr(function, "columns", None)
    if isinstance(columns, int) and len(sizes) == 2 and sizes[1] > columns:
        raise LayoutError(f"{function} has rows of {columns} columns, the domain {sizes[1]}: give a domain inside them")


def _size_mismatch(left, right, names):
    """The Equivalence of two layouts that agree wherever both have a coordinate, but one has more of them; else None."""
    one, other = mode_sizes(left), mode_sizes(right)
    if one is None or other is None or one == other:
        return None
    axis = max(i for i, (a, b) in enumerate(zip(one, other)) if a != b)
    larger = left if one[axis] > other[axis] else right
    at = [0] * len(one)
    at[axis] = min(one[axis], other[axis])
    value = int(larger(*at))
    below = [f"{side} {has}below {', '.join(map(str, sizes))}"
             for side, sizes, has in ((left, one, "has coordinates "), (right, other, ""))]
    values = {"left": value if larger is left else None, "right": value if larger is right else None}
    return Equivalence(False, ", ".join(below), {**dict(zip(names, at)), **values},
                       dict(zip(names, map(min, one, other))))


def _by_column(left, right):
    """Two F2Maps are equal exactly if their constants and their columns are; beyond their columns both leave bits as they
    are."""
    bits = max(left.inputs, right.inputs)
    for i, x in enumerate((0, *(1 << i for i in range(bits)))):
        if left(x) != right(x):
            at = {"x": x, "left": left(x), "right": right(x)}
            return Equivalence(False, f"{i + 1} of {bits + 1} columns compared", at)
    return Equivalence(True, f"the constants and all {bits} columns")
