"""Layouts from layouts: what a layout leaves out, what cuts it into tiles, what repeats it, what undoes it.

The names and the results are CuTe's (02_layout_algebra.md of the CuTe documentation). A tiler is a Layout, an int n
(the layout n:1), or a tuple of tilers that apply to the modes one by one.
"""

from math import prod

from simlayout.algebra.aliases import Shape
from simlayout.algebra.layout import Layout, as_layout, by_mode, coalesce, composition, from_modes, make_layout
from simlayout.algebra.nested import check_nesting, compact, flatten
from simlayout.arguments import typed
from simlayout.errors import LayoutError, require, require_ints


@typed(LayoutError)
def complement(layout: Layout, cotarget: Shape = 1) -> Layout:
    """The layout of the offsets that `layout` leaves out: together they reach every offset below `cotarget` once.

    cotarget: elements, as an int or a shape; the result rounds it up to whole repetitions. The strides of the result
    rise. Raises LayoutError if two coordinates of the layout share an offset, or if no layout fills the gaps.

    >>> print(complement(Layout(4, 2), 24))
    (2,3):(1,8)
    >>> print(complement(Layout((2, 4), (1, 6)), 24))
    3:2
    """
    require(Layout, "complement", layout)
    check_nesting(cotarget)
    filled, result = 1, []
    for stride, size in sorted((d, s) for s, d in layout.modes() if s > 1 and d > 0):
        if stride < filled or stride % filled:
            raise LayoutError(f"{layout} has no complement: stride {stride} is not a multiple of {filled}, "
                              "the offsets that its smaller strides fill")
        result.append((stride // filled, filled))
        filled = stride * size
    require_ints(LayoutError, "complement", **{f"cotarget {i}": size for i, size in enumerate(flatten(cotarget))})
    target = prod(map(int, flatten(cotarget)))           # NumPy's unsigned ones have no negative
    return coalesce(from_modes([*result, (-(-target // filled), filled)]))


def logical_divide(layout: Layout, tiler: Layout | Shape) -> Layout:
    """The layout with each tiled mode split into (the tile, the tiles): ((tile, rest), ...).

    tiler: the size of a tile, or a Layout of its elements; or a tuple of these, one for each of the first modes. Where a
    tile does not divide a mode, the last one ends beyond it, as in CuTe. Raises LayoutError as `composition` does, and for
    more tilers than modes.

    >>> print(logical_divide(Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2)))
    ((2,2),(2,3)):((4,1),(2,8))
    >>> print(logical_divide(Layout((16, 64), (64, 1)), (8, 32)))
    ((8,2),(32,2)):((64,512),(1,32))
    """
    require(Layout, "logical_divide", layout)
    if isinstance(tiler, tuple):
        if not tiler:
            raise LayoutError("a tiler of no modes divides nothing: give the size of the tile, of each mode one")
        check_nesting(tiler)
        return by_mode(logical_divide, layout, tiler)
    tiler = as_layout(tiler)
    return composition(layout, make_layout(tiler, complement(tiler, layout.size)))


def zipped_divide(layout: Layout, tiler: Layout | Shape) -> Layout:
    """The layout as (all that is inside a tile, which tile): two modes, however many the tiler has. tiler, errors: as of
    `logical_divide`.

    >>> print(zipped_divide(Layout((16, 64), (64, 1)), (8, 32)))
    ((8,32),(2,2)):((64,1),(512,32))
    """
    return make_layout(*_unzip(logical_divide(layout, tiler), tiler))


def tiled_divide(layout: Layout, tiler: Layout | Shape) -> Layout:
    """The layout as (all that is inside a tile, tile index 0, tile index 1, ...). tiler, errors: as of `logical_divide`.

    >>> print(tiled_divide(Layout((16, 64), (64, 1)), (8, 32)))
    ((8,32),2,2):((64,1),512,32)
    """
    inside, which = zipped_divide(layout, tiler)
    return make_layout(inside, *which)


def _unzip(divided, tiler):
    """The (inside, which) layouts of a logical_divide by the tiler; modes without a tiler count as `which`."""
    if not isinstance(tiler, tuple):
        return tuple(divided)
    modes = list(divided)
    inside, which = zip(*map(_unzip, modes, tiler), strict=True)
    return make_layout(*inside), make_layout(*which, *modes[len(tiler):])


def logical_product(block: Layout, tiler: Layout | Shape) -> Layout:
    """The block repeated as the tiler says: (the block, the repetitions), which lie where the block leaves room.

    A tuple repeats mode by mode, and then each mode is a product of its own: the blocks of two modes may collide
    unless the block's other modes are accounted for, as in CuTe. tiler, errors: as of `logical_divide`.

    >>> print(logical_product(Layout((2, 2), (4, 1)), Layout(6)))
    ((2,2),(2,3)):((4,1),(2,8))
    """
    require(Layout, "logical_product", block)
    if isinstance(tiler, tuple):
        check_nesting(tiler)
        return by_mode(logical_product, block, tiler)
    tiler = as_layout(tiler)
    return make_layout(block, composition(complement(block, block.size * tiler.cosize), tiler))


def right_inverse(layout: Layout) -> Layout:
    """The longest compact R with `layout(R(i)) == i`: from an offset to the linear index that maps there.

    >>> print(right_inverse(Layout((4, 8), (8, 1))))
    (8,4):(4,1)
    """
    require(Layout, "right_inverse", layout)
    sizes, strides = zip(*layout.modes(), strict=True)
    reached, result = 1, []
    for stride, size, step in sorted(zip(strides, sizes, compact(sizes), strict=True)):
        if size > 1 and stride == reached:
            result.append((size, step))
            reached *= size
    return coalesce(from_modes(result or [(1, 0)]))


def left_inverse(layout: Layout) -> Layout:
    """The layout L with `L(layout(i)) == i` for every index i of the layout, which must be one-to-one (LayoutError).

    >>> print(left_inverse(Layout((4, 8), (9, 36))))
    (9,32):(32,1)
    """
    require(Layout, "left_inverse", layout)
    if any(stride == 0 and size > 1 for size, stride in layout.modes()):
        raise LayoutError(f"{layout} has no left inverse: a stride of 0 maps several coordinates to one offset")
    return right_inverse(make_layout(layout, complement(layout)))
