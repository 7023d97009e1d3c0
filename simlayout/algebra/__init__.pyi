# What the names of this package are, for type checkers: it brings them when they are first used (simlayout.lazy).

from simlayout.algebra.composed import Composed, Layer, compose
from simlayout.algebra.dtypes import DTYPES, DType, dtype_of
from simlayout.algebra.f2 import F2Map
from simlayout.algebra.layout import Layout, byte_address, coalesce, composition, make_layout
from simlayout.algebra.notation import parse
from simlayout.algebra.swizzle import Rotation, Swizzle
from simlayout.algebra.tile import Tile
from simlayout.algebra.tiling import (
    complement,
    left_inverse,
    logical_divide,
    logical_product,
    right_inverse,
    tiled_divide,
    zipped_divide,
)

__all__ = [
    "DTYPES",
    "Composed",
    "DType",
    "F2Map",
    "Layer",
    "Layout",
    "Rotation",
    "Swizzle",
    "Tile",
    "byte_address",
    "coalesce",
    "complement",
    "compose",
    "composition",
    "dtype_of",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_layout",
    "parse",
    "right_inverse",
    "tiled_divide",
    "zipped_divide",
]
