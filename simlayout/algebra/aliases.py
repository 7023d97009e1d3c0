"""Names of what public signatures take or return in more than one form."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike, DTypeLike

from simlayout.algebra.dtypes import DType

__all__ = ["AnyDType", "ArrayLike", "Coordinate", "Domain", "Index", "IndexFunction", "Progress", "Shape"]

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

