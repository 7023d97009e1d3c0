"""Layouts: `shape:stride`, the functions from coordinates to offsets that CuTe made popular.

A layout maps a coordinate to an offset in elements: the sum of each coordinate times its stride. A coordinate may be
nested as deep as the shape. A single int is the number of a coordinate, counted with the leftmost mode fastest.

>>> tile = Layout((16, 64), (64, 1))
>>> print(tile, "maps (3, 8) to", tile(3, 8))
(16,64):(64,1) maps (3, 8) to 200

Layouts compose as functions do, `(a @ b)(i) == a(b(i))`. The result is a layout with the modes of `b` if the sizes
and strides divide as CuTe demands; otherwise LayoutError says which do not.

>>> print(Layout((6, 2), (8, 2)) @ Layout((4, 3), (3, 1)))
((2,2),3):((24,2),8)

Reference: CuTe documentation, 01_layout.md and 02_layout_algebra.md (NVIDIA CUTLASS).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from simlayout.algebra.aliases import AnyDType, Coordinate, Index, IndexFunction, Shape
from simlayout.algebra.dtypes import dtype_of
from simlayout.algebra.nested import check_nesting, compact, congruent, depth_of, flatten, ints_of, mode_sizes, tuple_text
from simlayout.arguments import typed
from simlayout.drawn import drawn_by
from simlayout.errors import LayoutError, brief, refuse, require

MOST_POINTS = 1 << 26
"""The most points that a table of offsets may have: half a GiB of int64."""

PIECE = 1 << 20         # points that are computed at a time

INDEX_LIMIT = 1 << 63  # shapes, strides and offsets fit a signed 64-bit integer, as NumPy's do


@dataclass(frozen=True)
class Layout:
    """The layout `shape:stride`; both are an int or nested tuples of ints of the same form, strides in elements.

    Without a stride it is compact with the leftmost mode fastest (column-major), CuTe's default. Sizes are at least
    1, strides at least 0 (a stride of 0 broadcasts). Raises LayoutError if malformed.

    Called with a coordinate it gives the offset in elements. Coordinates are ints, NumPy integer arrays that
    broadcast, or anything else with the integer operators; the arithmetic never branches on their values.

    >>> layout = Layout((4, (2, 3)))
    >>> print(layout)
    (4,(2,3)):(1,(4,8))
    >>> layout(1, (1, 2)), layout((1, 5)), layout(21)      # nested, one int per mode, one int for all
    (21, 21, 21)
    >>> print(layout[1], layout.size, layout.cosize, layout.rank, layout.depth)
    (2,3):(4,8) 24 24 2 2
    """

    shape: int | tuple
    stride: int | tuple = None               # type: ignore[assignment]   # __post_init__ fills it in

    def __post_init__(self):
        check_nesting(self.shape)
        check_nesting(self.stride)
        shape = ints_of(self.shape, 1, "size")
        stride = compact(shape) if self.stride is None else ints_of(self.stride, 0, "stride")
        if not congruent(shape, stride):
            raise LayoutError(f"shape {tuple_text(shape)} and stride {tuple_text(stride)} are not nested alike: "
                              "give one stride per size")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", stride)
        if self.size >= INDEX_LIMIT or self.cosize > INDEX_LIMIT or max(flatten(stride)) >= INDEX_LIMIT:
            raise LayoutError(f"layout {self} does not fit 64-bit offsets: it has {self.size} coordinates, its largest "
                              f"offset is {self.cosize - 1}, its largest stride {max(flatten(stride))}")

    @classmethod
    def row_major(cls, *shape: Shape) -> "Layout":
        """The compact layout with the rightmost mode fastest; the arguments are its sizes.

        >>> print(Layout.row_major(16, 64))
        (16,64):(64,1)
        """
        sizes: Any = cls(shape).shape                    # refuses what are no sizes
        return cls(sizes, tuple(prod(flatten(sizes[i + 1:])) for i in range(len(sizes))))

    def __call__(self, *coordinate: Coordinate) -> Index:
        """The offset, in elements, of a coordinate: one argument per mode, or a tuple of them, or one linear index."""
        return _offset(coordinate[0] if len(coordinate) == 1 else coordinate, self.shape, self.stride, self)

    @property
    def size(self) -> int:
        """How many coordinates the layout has."""
        return prod(flatten(self.shape))

    @property
    def cosize(self) -> int:
        """One more than the largest offset: the elements of memory that the layout spans. `cosize - size` is padding."""
        return 1 + sum((s - 1) * d for s, d in self.modes())

    @property
    def is_compact(self) -> bool:
        """Whether it has each offset from 0 to size - 1 once: no gaps, nothing twice.

        >>> Layout((16, 64), (64, 1)).is_compact, Layout((16, 64), (72, 1)).is_compact
        (True, False)
        """
        filled = 1
        for stride, size in sorted((d, s) for s, d in self.modes() if s > 1):
            if stride != filled:
                return False
            filled *= size
        return True

    @property
    def rank(self) -> int:
        """How many modes the layout has at its top level."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def depth(self) -> int:
        """How deep the shape is nested; 0 for an int."""
        return depth_of(self.shape)

    def __len__(self):
        return self.rank

    def __iter__(self) -> Iterator["Layout"]:
        return (self[mode] for mode in range(self.rank))

    def __getitem__(self, mode: Any) -> "Layout":
        """The layout of one top-level mode."""
        if not isinstance(mode, slice) and not hasattr(type(mode), "__index__"):
            raise LayoutError(f"a mode is named by its number, not by {brief(mode)}; the offset of an element is a call, as "
                              "in layout(3, 4)")
        if not isinstance(self.shape, tuple):
            return (self,)[mode]
        return Layout(self.shape[mode], self.stride[mode])      # type: ignore[index]   # nested as the shape is

    def modes(self) -> tuple[tuple[int, int], ...]:
        """Every (size, stride) at the bottom of the nesting, left to right."""
        return tuple(zip(flatten(self.shape), flatten(self.stride), strict=True))

    def coordinates(self) -> tuple[np.ndarray, ...]:
        """The domain in CuTe's order: one int64 array [size] for each top-level mode, leftmost fastest.

        >>> [c.tolist() for c in Layout((2, 3)).coordinates()]
        [[0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2]]
        """
        check_points(self.size, f"layout {self}")
        return tuple(np.unravel_index(np.arange(self.size), mode_sizes(self), order="F"))

    def offsets(self) -> np.ndarray:
        """The offsets of the whole domain in CuTe's order, in elements: int64 array [size].

        >>> Layout((2, 3), (3, 1)).offsets().tolist()
        [0, 3, 1, 4, 2, 5]
        """
        return piecewise(self, self, f"layout {self}")

    def byte_address(self, *coordinate: Coordinate, dtype: AnyDType, base: Index = 0) -> Index:
        """The byte address of a coordinate: base (bytes) + offset * the bytes of one element.

        >>> Layout((16, 64), (72, 1)).byte_address(1, 8, dtype="f16", base=1024)
        1184
        """
        return byte_address(self, *coordinate, dtype=dtype, base=base)

    plot = drawn_by("layout", 'Draws where each coordinate lies, by="offset", "bank" or "chunk".')

    def __matmul__(self, inner: "Layout") -> "Layout":
        """self o inner, see `composition`."""
        return composition(self, inner) if isinstance(inner, Layout) else not_inner(inner)

    def __str__(self):
        return f"{tuple_text(self.shape)}:{tuple_text(self.stride)}"

    def __format__(self, spec):
        """As of its text.

        >>> f"{Layout((16, 64), (64, 1)):>16}|"
        '  (16,64):(64,1)|'
        """
        return format(str(self), spec)

    def __repr__(self):
        return f"Layout({self.shape}, {self.stride})"


def byte_address(layout: IndexFunction, *coordinate: Coordinate, dtype: AnyDType, base: Index = 0) -> Index:
    """The byte address of a coordinate under any index function: base (bytes) + offset * the bytes of one element, of type
    dtype. LayoutError for arrays of coordinates some of whose addresses are beyond 64 bits.

    >>> byte_address(Layout((16, 64), (64, 1)), 2, 8, dtype="f16")
    272
    """
    if not callable(layout):
        refuse("Layout", "byte_address", layout)
    try:
        offset, size = as_index(layout(*coordinate)), dtype_of(dtype).bytes
    except TypeError as error:
        raise LayoutError(f"byte_address: the layout takes no coordinate {brief(coordinate)}: {error}") from error
    if isinstance(offset, np.ndarray) and offset.size and max(int(offset.max()), -int(offset.min())) >= INDEX_LIMIT // size:
        raise LayoutError(f"offsets up to {offset.max()} of {size}-byte elements have addresses beyond 64 bits: use a "
                          "smaller layout")
    return base + offset * size


def not_inner(inner):
    """NotImplemented for what may compose itself; LayoutError for what was written in the place of a layout."""
    written = isinstance(inner, (int, tuple, list, str)) and not hasattr(type(inner), "__rmatmul__")
    if written or isinstance(inner, np.ndarray | np.generic):
        raise LayoutError(f"@ takes a layout, not {brief(inner)}: write Layout(shape, strides), or parse(text)")
    return NotImplemented


def as_index(value):
    """The index, ready for arithmetic: arrays of NumPy integers become int64, one of them, an array of no dimensions
    too, an int, which does not overflow; ints and symbols stay as they are.

    Raises LayoutError for anything that is not an integer, and for arrays of what 64 bits with a sign do not hold.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "iub":
            raise LayoutError(f"an index must be an integer, not {value.dtype}: convert the array first")
        if isinstance(value, np.generic) or type(value) is np.ndarray and not value.ndim:
            return int(value)
        if value.dtype == np.uint64 and value.size and value.max() >= INDEX_LIMIT:
            raise LayoutError(f"an index must be below 2**63, and one is {value.max()}: convert the array to int64 first")
        return value.astype(np.int64, copy=False)
    if not hasattr(type(value), "__floordiv__") or not hasattr(type(value), "__lshift__"):   # of fractions only the former
        raise LayoutError(f"an index must be an integer or a NumPy integer array, not {type(value).__name__}")
    return value


def _offset(coordinate, shape, stride, layout):
    """The offset of a coordinate in one (possibly nested) mode. layout: the whole layout, for the text of an error."""
    if not isinstance(shape, tuple):
        return _steps(as_index(coordinate), shape, stride, layout)
    if isinstance(coordinate, tuple):
        if len(coordinate) != len(shape):
            raise LayoutError(f"layout {layout} takes {len(shape)} coordinates for {tuple_text(shape)}, "
                              f"not {len(coordinate)}")
        parts = [_offset(c, s, d, layout) for c, s, d in zip(coordinate, shape, stride, strict=True)]
    else:
        index, parts = as_index(coordinate), []
        *sizes, size_of_last = flatten(shape)
        *steps, last = flatten(stride)
        for size, step in zip(sizes, steps, strict=True):
            parts.append(index % size * step)
            index = index // size
        parts.append(_steps(index, size_of_last, last, layout))      # the last mode has no upper limit, as in CuTe
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _steps(index, size, stride, layout):
    """So many steps of a mode; LayoutError for arrays that leave it so far that NumPy would wrap what Python does not."""
    if type(index) is np.ndarray and index.size:         # those of `exactly` look for themselves
        most = max(int(index.max()), -int(index.min()))
        if most >= size and most * stride + layout.cosize > INDEX_LIMIT:
            raise LayoutError(f"coordinate {most} of {layout} has an offset beyond 64 bits: use a smaller one, or ints")
    return index * stride


def check_points(total, what):
    """Raises LayoutError if a table of `total` points is too large, and says how much memory it would take."""
    if total > MOST_POINTS:
        raise LayoutError(f"{what} has {total} points: a table of its offsets would take {8 * total / 2**30:.1f} GiB, and "
                          f"at most {MOST_POINTS} points ({8 * MOST_POINTS / 2**30:.1f} GiB) are worked off: use fewer")


def piecewise(function, layout, what):
    """int64 [size]: the results of a function for all linear indices of a layout. what: names the function in an error.

    The function takes an int64 array. It is called with at most PIECE indices at a time, so that it needs little memory.
    """
    check_points(layout.size, what)
    offsets = np.empty(layout.size, np.int64)
    for start in range(0, layout.size, PIECE):
        index = np.arange(start, min(start + PIECE, layout.size))
        offsets[index[0]:index[-1] + 1] = function(index)
    return offsets


@typed(LayoutError)
def make_layout(*layouts: Layout) -> Layout:
    """The layout whose modes are the given layouts.

    >>> print(make_layout(Layout(4, 2), Layout((2, 2))))
    (4,(2,2)):(2,(1,2))
    """
    return Layout(tuple(a.shape for a in layouts), tuple(a.stride for a in layouts))


def from_modes(modes):
    """The flat layout of (size, stride) pairs; a single pair makes an int mode."""
    return Layout(*modes[0]) if len(modes) == 1 else Layout(*zip(*modes, strict=True))


def coalesce(layout: Layout) -> Layout:
    """The shortest flat layout that is the same function of the linear index on the domain.

    >>> print(coalesce(Layout((2, (1, 6)), (1, (6, 2)))))
    12:1
    """
    require(Layout, "coalesce", layout)
    return from_modes(_merge([(s, d) for s, d in layout.modes() if s > 1]) or [(1, 0)])


def _merge(modes):
    """The modes, with every two neighbours joined of which the second continues the first."""
    merged = []
    for size, stride in modes:
        if merged and merged[-1][0] * merged[-1][1] == stride:
            merged[-1] = (merged[-1][0] * size, merged[-1][1])
        else:
            merged.append((size, stride))
    return merged


def composition(outer: Layout, inner: Layout | Shape) -> Layout:
    """The layout with `composition(a, b)(i) == a(b(i))`, whose modes are those of b (each may become a nested one).

    outer is a, inner is b: a Layout; an int n, which means Layout(n); or a tuple of such tilers, one for each of the first
    modes of a (its other modes stay). Each stride of b must divide the sizes that it runs through in a, or be divided by
    them, and the modes of b must never add up to a carry inside a. Otherwise LayoutError. (CuTe checks the first condition
    and trusts the caller for the second.)

    >>> print(composition(Layout(20, 2), Layout((5, 4), (4, 1))))
    (5,4):(8,2)
    >>> print(composition(Layout((10, 2), (16, 4)), Layout((5, 4))))
    (5,(2,2)):(16,(80,4))
    >>> composition(Layout((4, 6), (1, 10)), Layout(6, 3))
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: (4,6):(1,10) o 6:3 is not a layout: stride 3 and size 4 do not divide
    """
    require(Layout, "composition", outer)
    if isinstance(inner, tuple):
        check_nesting(inner)
        return by_mode(composition, outer, inner)
    inner = as_layout(inner)
    modes = outer.modes()
    modes = _merge([mode for mode in modes[:-1] if mode[0] > 1] + [modes[-1]])      # keeps the last one: it has no limit
    reach = [0] * len(modes)

    def walk(part):
        if isinstance(part.shape, tuple):
            return make_layout(*map(walk, part))
        return from_modes(_run_through(modes, part.shape, part.stride, reach, f"{outer} o {inner}"))

    composed = walk(inner)
    for (size, _), highest in zip(modes, reach, strict=True):
        if highest >= size:
            raise LayoutError(f"{outer} o {inner} is not a layout: the modes of {inner} carry over size {size}")
    return composed


def _run_through(modes, size, stride, reach, text):
    """The (size, stride) pairs of i -> outer(i * stride) for i < size; adds to `reach` the highest coordinate used."""
    if size == 1 or stride == 0:
        return [(size, 0)]
    result = []
    for k, (mode_size, mode_stride) in enumerate(modes[:-1]):
        if stride >= mode_size:                         # steps over the whole mode
            if stride % mode_size:
                raise LayoutError(f"{text} is not a layout: stride {stride} and size {mode_size} do not divide")
            stride //= mode_size
            continue
        steps = min(size, -(-mode_size // stride))
        if steps < size and (mode_size % stride or size % steps):
            fault = f"stride {stride}" if mode_size % stride else f"size {size} in steps of {steps}"
            raise LayoutError(f"{text} is not a layout: {fault} and size {mode_size} do not divide")
        result.append((steps, stride * mode_stride))
        reach[k] += (steps - 1) * stride
        size, stride = size // steps, 1
        if size == 1:
            return result
    return result + [(size, stride * modes[-1][1])]


def as_layout(tiler: Layout | Shape) -> Layout:
    """A tiler as a Layout: an int n means Layout(n)."""
    return tiler if isinstance(tiler, Layout) else Layout(tiler)


def by_mode(operation, layout, tilers):
    """`operation` applied to the first modes of a layout with one tiler each; the other modes stay."""
    if len(tilers) > layout.rank:
        raise LayoutError(f"{len(tilers)} tilers for the {layout.rank} modes of {layout}: give at most one per mode")
    modes = list(layout)
    return make_layout(*map(operation, modes, tilers), *modes[len(tilers):])
