"""equivalent: whether two index functions are one, on a domain: a proof, or the first point at which they differ."""

from dataclasses import dataclass

import numpy as np

from simlayout.algebra.f2 import F2Map
from simlayout.errors import LayoutError

CHUNK = 1 << 20
"""Points at a time: memory stays flat."""

MOST = 1 << 30
"""Points that are compared at most."""


@dataclass(frozen=True)
class Equivalence:
    """What `equivalent` found. equal: also the object's truth; how: what was compared, in words; counterexample: the first
    coordinate at which the two differ, {name: value} with "left" and "right" besides, or None."""

    equal: bool
    how: str
    counterexample: dict | None = None

    def __bool__(self):
        return self.equal

    def __str__(self):
        if self.equal:
            return f"equal: {self.how}"
        at = ", ".join(f"{k} = {v}" for k, v in self.counterexample.items() if k not in ("left", "right"))
        return f"different at {at}: {self.counterexample['left']} and {self.counterexample['right']} ({self.how})"


def equivalent(left, right, domain=None):
    """An Equivalence of two index functions: layouts, compositions, formulas, or any functions of integer arrays.

    domain: {name: size} or sizes, a point being a value below the size for each; None: the shape of `left`, or of `right`,
    flat (two F2Maps need none: they are compared column by column, for all arguments). The first counterexample is the one
    with the least coordinate, the last name counting fastest. Raises LayoutError without a domain, or for one of more than
    2**30 points.

    >>> from simlayout import Layout, Swizzle, formula
    >>> tile, xor = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1)), formula("row * 64 + (col ^ ((row & 7) << 3))")
    >>> print(equivalent(tile, xor, {"row": 16, "col": 64}))
    equal: all 1024 points
    >>> print(equivalent(tile, formula("row * 64 + (col ^ ((row & 3) << 3))"), (16, 64)))
    different at x0 = 4, x1 = 0: 288 and 256 (257 of 1024 points compared)
    """
    if domain is None and isinstance(left, F2Map) and isinstance(right, F2Map):
        return _by_column(left, right)
    names, sizes = named_domain(domain, left, right)
    total = int(np.prod(sizes, dtype=object))
    if total > MOST:
        raise LayoutError(f"{total} points: at most {MOST} are compared; give a smaller domain")
    for start in range(0, total, CHUNK):
        points = np.unravel_index(np.arange(start, min(start + CHUNK, total)), sizes)
        one, other = (np.broadcast_to(np.asarray(f(*points)), points[0].shape) for f in (left, right))
        wrong = one != other
        if wrong.any():
            i = int(np.argmax(wrong))
            at = {name: int(x[i]) for name, x in zip(names, points)}
            return Equivalence(False, f"{start + i + 1} of {total} points compared",
                               {**at, "left": int(one[i]), "right": int(other[i])})
    return Equivalence(True, f"all {total} points")


def named_domain(domain, left, right):
    """(names, sizes) of a domain."""
    if domain is None:
        shape = getattr(left, "shape", None) or getattr(right, "shape", None)
        if shape is None:
            raise LayoutError("neither function has a shape: say on which domain, {name: size}")
        domain = shape if isinstance(shape, tuple) else (shape,)
        if any(isinstance(n, tuple) for n in domain):
            raise LayoutError(f"the shape {domain} is nested: say on which domain, {{name: size}}")
    if not isinstance(domain, dict):
        domain = {f"x{i}": n for i, n in enumerate(domain)}
    if not domain or any(not isinstance(n, int | np.integer) or n < 1 for n in domain.values()):
        raise LayoutError(f"a domain has sizes of at least 1, not {domain}")
    return list(domain), tuple(int(n) for n in domain.values())


def _by_column(left, right):
    """Two F2Maps are equal exactly if their constants and their columns are; beyond their columns both leave bits as they
    are."""
    bits = max(left.inputs, right.inputs)
    for i, x in enumerate((0, *(1 << i for i in range(bits)))):
        if left(x) != right(x):
            at = {"x": x, "left": left(x), "right": right(x)}
            return Equivalence(False, f"{i + 1} of {bits + 1} columns compared", at)
    return Equivalence(True, f"the constants and all {bits} columns")
