"""Assertions on index functions: one-to-one, equal to another.

They hold on every point of a domain, or raise CounterexampleError, an AssertionError: its `counterexample` holds the first
point, or the first two, at which they do not. Arguments that make no sense raise the library's own errors, ValueErrors.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from simlayout.algebra import Layer, Layout, dtype_of
from simlayout.algebra.aliases import AnyDType, Domain, IndexFunction
from simlayout.algebra.exact import box_arguments, box_point, exact_offsets, pieces
from simlayout.algebra.notation import as_layout
from simlayout.errors import LayoutError, brief
from simlayout.proofs import Access, equivalent
from simlayout.proofs.equivalence import named_domain
from simlayout.testing.conflicts import place_of
from simlayout.testing.counterexample import Place, grid_of_places, refuted

MOST = 1 << 24
"""Points that `assert_bijective` compares at most: it holds them all at once."""


def assert_bijective(subject: Access | IndexFunction, domain: Domain | None = None, size: int | None = None, *,
                     dtype: AnyDType | None = None) -> None:
    """Every point of a domain has an offset of its own, and together they are 0 to size - 1 (or some of these).

    subject: a layout, a composition, or any function of integer arrays to offsets in elements; or an Access, whose
    instruction then moves every element once. domain: {name: size} or sizes, as for `equivalent`; None: the coordinates of
    the layout, or the domain of the Access. size: elements; None: as many as there are points, so that the function is a
    permutation; give the `cosize` of a padded tile. dtype: shows where the elements lie in the banks.

    Raises CounterexampleError with the first point whose offset is outside, else with the first two that share one;
    LayoutError without a domain, for one that is not, or of more than 2**24 points.

    >>> from simlayout import Layout
    >>> assert_bijective(Layout((16, 64), (72, 1)), size=15 * 72 + 64)
    >>> assert_bijective(lambda row, col: row * 32 + (col | (row & 3) << 3), {"row": 8, "col": 32})
    Traceback (most recent call last):
    ...
    simlayout.testing.counterexample.CounterexampleError: the function is not one-to-one
    smallest counterexample: two points have the same offset
      first at row = 1, col = 0: offset 40
      second at row = 1, col = 8: offset 40
    """
    __tracebackhide__ = True
    subject = as_layout(subject)
    points = _access_points(subject, domain) if isinstance(subject, Access) else _points(subject, domain, dtype)
    offsets, wants_size = points.offsets, size is None
    size = offsets.size if wants_size else size
    if not isinstance(size, int | np.integer) or size < 1:
        raise LayoutError(f"size = {size!r}: it is a number of elements, at least 1")
    outside = (offsets < 0) | (offsets >= size)
    if outside.any():
        places = [points.place(int(np.argmax(outside)), "first")]
        hint = f" (of a padded tile give size={offsets.max() + 1})" if wants_size and offsets.min() >= 0 else ""
        raise refuted(f"{points.name} leaves its {size} elements{hint}",
                      f"smallest counterexample: an offset that is not in 0..{size - 1}", places,
                      grid_of_places(places, "a"))
    _, first, which = np.unique(offsets, return_index=True, return_inverse=True)
    earlier = first[which.reshape(-1)]
    again = earlier < np.arange(offsets.size)
    if again.any():
        second = int(np.argmax(again))
        places = [points.place(int(earlier[second]), "first"), points.place(second, "second")]
        raise refuted(f"{points.name} is not one-to-one", f"smallest counterexample: {points.clash}", places,
                      grid_of_places(places, "ab"))


@dataclass(frozen=True)
class _Points:
    """The offsets of all points in elements, int64 [points]. clash: what it means if two are equal, in words; place: from
    a point's number and a name to its Place."""

    name: str
    offsets: np.ndarray
    clash: str
    place: object


def _points(function, domain, dtype):
    """The _Points of an index function."""
    if not callable(function):
        raise LayoutError(f"assert_bijective takes a layout, another function, or an Access, not {brief(function)}")
    names, sizes = named_domain(domain, function, function)
    total = prod(sizes)
    if total > MOST:
        raise LayoutError(f"{total} points: at most {MOST} are compared; give a smaller domain")
    whole = [(0, n) for n in sizes]
    offsets = np.empty(total, np.int64)
    start = 0
    for box in pieces(sizes):
        part = exact_offsets(function, box_arguments(box), name_of(function), lambda i, box=box: box_point(names, box, i))
        offsets[start:start + part.size] = part.reshape(-1)
        start += part.size
    step = None if dtype is None else dtype_of(dtype).bytes

    def place(number, label):
        return _element(label, box_point(names, whole, number), int(offsets[number]), step)

    return _Points(name_of(function), offsets, "two points have the same offset", place)


def name_of(function):
    """What a failure calls an index function or an Access."""
    if isinstance(function, Access):
        return f"access {function.name!r}"
    name = str(function) if isinstance(function, (Layout, Layer)) else getattr(function, "__name__", "<lambda>")
    return "the function" if name == "<lambda>" else name


def _element(name, at, offset, step, lane=None):
    """The Place of one element; step: its bytes, None where they are not known."""
    return Place(name, at, offset=offset, address=None if step is None else offset * step, bytes=step, lane=lane)


def _access_points(access, domain):
    """The _Points of the elements that an Access moves, its lanes in order."""
    if domain is not None:
        raise LayoutError(f"access {access.name!r} has a domain of its own: leave out domain")
    each = access.elements
    used = np.flatnonzero(np.broadcast_to(access.used_lanes(), (access.instructions(), access.warp)).reshape(-1))
    offsets = (access.offsets().reshape(-1)[used][:, None] + np.arange(each)).reshape(-1)
    return _Points(name_of(access), offsets, "two points of its domain move the same element",
                   lambda number, _: place_of(access, *divmod(int(used[number // each]), access.warp)))


def assert_equivalent(left: Access | IndexFunction, right: Access | IndexFunction, domain: Domain | None = None, *,
                      dtype: AnyDType | None = None) -> None:
    """Two index functions are one, on a domain.

    left, right: layouts, compositions, formulas, functions of integer arrays to offsets in elements, or Accesses, which
    are functions of their domain. domain: as for `equivalent`; None: that of the Access, or the shape of a layout. dtype:
    shows where the elements lie in the banks; of an Access it is known.

    Raises CounterexampleError with the first point at which they differ; what `equivalent` raises; LayoutError for two
    Accesses of different domains.

    >>> import simlayout as sl
    >>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
    >>> assert_equivalent(tile, lambda row, col: row * 64 + (col ^ (row & 7) << 3))
    >>> assert_equivalent(tile, lambda row, col: row * 64 + (col ^ (row & 3) << 3), {"row": 16, "col": 64}, dtype="f16")
    Traceback (most recent call last):
    ...
    simlayout.testing.counterexample.CounterexampleError: Sw<3,3,3> o (16,64):(64,1) and the function are not \
equal: 288 and 256 (257 of 1024 points compared)
    smallest counterexample: the first point at which they differ
      left at row = 4, col = 0: offset 288, bytes 576-577, bank 16, word 144
      right at row = 4, col = 0: offset 256, bytes 512-513, bank 0, word 128
    bank  0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    L     .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  X  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
    R     X  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
    """
    __tracebackhide__ = True
    accesses = [side for side in (left, right) if isinstance(side, Access)]
    if any(access.domain != accesses[0].domain for access in accesses):
        one, other = accesses
        raise LayoutError(f"accesses {one.name!r} and {other.name!r} have the domains {one.domain} and {other.domain}: "
                          "compare accesses of the same threads and loops")
    if accesses and domain is None:
        domain = accesses[0].domain
    if accesses and dtype is None:
        dtype = accesses[0].dtype
    functions = [side.offset if isinstance(side, Access) else side for side in (left, right)]
    equivalence = equivalent(functions[0], functions[1], domain)
    if equivalence:
        return
    at, step = dict(equivalence.counterexample or ()), None if dtype is None else dtype_of(dtype).bytes
    one, other = at.pop("left"), at.pop("right")
    lane = at["tid"] % accesses[0].warp if accesses and "tid" in at else None
    of = "" if lane is None else f", lane {lane},"
    places = [_element(f"{side}{of}", at, value, step, lane) for side, value in (("left", one), ("right", other))
              if value is not None]
    values = " and ".join("nothing" if value is None else str(value) for value in (one, other))
    raise refuted(f"{name_of(left)} and {name_of(right)} are not equal: {values} ({equivalence.how})",
                  "smallest counterexample: the first point at which they differ", places, grid_of_places(places, "LR"))
