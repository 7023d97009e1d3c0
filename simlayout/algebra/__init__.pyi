# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from simlayout.algebra.composed import Composed as Composed, Layer as Layer, compose as compose
from simlayout.algebra.dtypes import DTYPES as DTYPES, DType as DType, dtype_of as dtype_of
from simlayout.algebra.f2 import F2Map as F2Map
from simlayout.algebra.layout import (
    Layout as Layout, byte_address as byte_address, coalesce as coalesce, composition as composition,
    make_layout as make_layout
)
from simlayout.algebra.notation import parse as parse
from simlayout.algebra.swizzle import Rotation as Rotation, Swizzle as Swizzle
from simlayout.algebra.tile import Tile as Tile
from simlayout.algebra.tiling import (
    complement as complement, left_inverse as left_inverse, logical_divide as logical_divide,
    logical_product as logical_product, right_inverse as right_inverse, tiled_divide as tiled_divide,
    zipped_divide as zipped_divide
)
