"""Names of what public signatures take or return in more than one form; and arguments of index functions, which are given by
their place: that their names are in the order of the domain is checked here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike, DTypeLike

from simlayout.algebra.dtypes import DType
from simlayout.errors import LayoutError

__all__ = ["AnyDType", "ArrayLike", "Coordinate", "Domain", "Index", "IndexFunction", "Progress", "Shape", "check_order"]

Index = Any
"""One integer of a coordinate or an offset: an int, an integer array or a symbol, whatever has the integer operators."""

Coordinate = Any
"""A coordinate: an Index, or nested tuples of them."""

IndexFunction = Callable[..., Index]
"""What takes a coordinate to an offset: a layout, a swizzle, a composition, a Tile, or a Python function of integers."""

Shape = int | tuple
"""The sizes of a layout: an int or nested tuples of ints."""

Domain = Mapping[str, int] | Sequence
"""The points that are compared: {name: size}, or the sizes in their order."""

AnyDType = DType | DTypeLike
"""An element type: a DType, its name ("f16"), or what NumPy calls it."""

Progress = Callable[[int, int], object]
"""What is told how far a long computation is: (done, of how many)."""


def check_order(function: IndexFunction | None, names: Iterable[str], whose: str) -> None:
    """Raises LayoutError for a function whose arguments have the names of a domain in another order: it would be called with
    each in the place of another. Other names may be in any order. whose: what the function is called.

    >>> check_order(lambda row, col: 64 * row + col, ["row", "col"], "the tile")
    >>> check_order(lambda col, row: 64 * row + col, ["row", "col"], "the tile")
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: the tile takes (col, row), and the domain is (row, col): they are given by their place, \
so write both in one order
    """
    code = getattr(function, "__code__", None)           # Python's functions alone tell their arguments
    if code is None:
        return
    taken, given = code.co_varnames[:code.co_argcount], tuple(names)
    if taken != given and sorted(taken) == sorted(given):
        raise LayoutError(f"{whose} takes ({', '.join(taken)}), and the domain is ({', '.join(given)}): they are given by "
                          "their place, so write both in one order")
