"""What a layout must be besides free of conflicts: one that TMA can write, or one that may lie on any `base` bytes."""

from math import lcm

from simlayout.algebra import F2Map, Layout, Rotation, Swizzle
from simlayout.algebra.swizzle_modes import SWIZZLE_MODES
from simlayout.algebra.translate import tma_to_swizzle
from simlayout.errors import LayoutError
from simlayout.hardware import TensorMap

BOX = 256
"""Elements of a TMA box along one dimension, at most (CUDA Driver API, cuTensorMapEncodeTiled)."""

CHUNK_BYTES = 16
"""TMA moves rows of a multiple of so many bytes, and its swizzles keep so many together."""


def period(layout):
    """Elements after which a layout's layers begin again; 1 without layers. Moved by a multiple of it, in shared memory, a
    tile keeps its pattern: then it does not matter whether the layers act on offsets or on absolute addresses.

    >>> period(Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))), period(Layout((16, 64), (72, 1)))
    (512, 1)
    """
    return lcm(1, *(_of_layer(layer) for layer in getattr(layout, "layers", ())))


def _of_layer(layer):
    if isinstance(layer, Swizzle):
        return 1 << layer.bits + layer.base + layer.shift
    if isinstance(layer, Rotation):
        return layer.line * layer.period
    return 1 << layer.inputs if isinstance(layer, F2Map) else 1


def tma_layouts(tile, dtype):
    """Every layout of a plain tile of two modes or more that TMA writes box by box: the swizzles of 32, 64 and 128 bytes,
    with rows of as many bytes, and boxes without a swizzle, with rows of 16, 32, 64, ... bytes.

    tile: one mode is contiguous, the rows follow, then the other modes; all of them without gaps. A row that is longer than
    a box is cut, and the boxes lie one after the other. Raises LayoutError for other tiles, and types that TMA has not.

    >>> for layout in tma_layouts(Layout((64, 128), (128, 1)), "f16")[:4]:
    ...     print(layout)
    Sw<1,3,3> o (64,(16,8)):(16,(1,1024))
    Sw<2,3,3> o (64,(32,4)):(32,(1,2048))
    Sw<3,3,3> o (64,(64,2)):(64,(1,4096))
    (64,(8,16)):(8,(1,512))
    """
    inner, row = _rows_of(tile)
    columns, rows = tile.shape[inner], tile.shape[row]
    itemsize = TensorMap(dtype, (1 << 16,), (), (CHUNK_BYTES,)).itemsize     # refuses a dtype that TMA has not
    spans = [(span, span // itemsize) for span in SWIZZLE_MODES if span]
    plain, width = [], CHUNK_BYTES // itemsize
    while width <= min(columns, BOX):
        plain.append((0, width))
        width *= 2
    layouts = []
    for span, width in spans + plain:
        below = next(n for n in range(min(rows, BOX), 0, -1) if rows % n == 0)
        if columns % width or width > BOX or (rows > below or columns > width) and below * width * itemsize % 128:
            continue
        TensorMap(dtype, (columns, rows), (columns * itemsize,) if columns * itemsize % 16 == 0 else (16,), (width, below),
                  swizzle=span)                          # refuses what cuTensorMapEncodeTiled would
        boxes = _in_boxes(tile, inner, row, width)
        layouts.append(tma_to_swizzle(span, dtype) @ boxes if span else boxes)
    return layouts


def _rows_of(tile):
    """(the contiguous mode, the mode of rows) of a tile without gaps."""
    if isinstance(tile, Layout) and tile.rank > 1 and tile.depth == 1:
        order = sorted(range(tile.rank), key=lambda mode: tile.stride[mode])
        expected = 1
        for mode in order:
            if tile.stride[mode] != expected:
                break
            expected *= tile.shape[mode]
        else:
            return order[:2]
    raise LayoutError(f"{tile} is no plain tile that TMA could write: give a row-major one without gaps, such as "
                      "(64,128):(128,1)")


def _in_boxes(tile, inner, row, width):
    """The tile with its contiguous mode cut into boxes of so many columns, one after the other."""
    if tile.shape[inner] == width:
        return tile
    shape, stride = list(tile.shape), list(tile.stride)
    shape[inner] = (width, tile.shape[inner] // width)
    stride[inner], stride[row] = (1, width * tile.shape[row]), width
    return Layout(tuple(shape), tuple(stride))
