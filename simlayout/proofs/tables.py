"""The tables that proofs check: the coordinates and offsets of an access, box by box over its domain."""

from functools import cached_property
from math import prod

import numpy as np

from simlayout.algebra.exact import exact_offsets
from simlayout.algebra.nested import flatten
from simlayout.errors import VerificationError


class Tables:
    """The Tables of an access, in the order of its domain. A single box, the usual case, is computed once. Several boxes are
    computed again in every pass, so that memory stays bounded."""

    def __init__(self, access):
        self.access = access
        boxes = list(access.boxes())
        self._starts = [0]
        for box in boxes:
            self._starts.append(self._starts[-1] + prod(stop - start for start, stop in box) // access.warp)
        self._boxes = boxes
        self._only = [self._table(0)] if len(boxes) == 1 else None

    def _table(self, number):
        return Table(self.access, self._boxes[number], self._starts[number])

    def __iter__(self):
        return iter(self._only or map(self._table, range(len(self._boxes))))


class Table:
    """The coordinates of an access over a box of its domain: int64 [instructions, lanes] arrays `leaves`, nested as `form`.

    start: the number of the first instruction in the whole domain.
    """

    def __init__(self, access, box, start):
        self.access, self.tile, self.used, self.start = access, access.tile, access.used_lanes(), start
        self.form = access.over(access.coordinate, box)
        self.leaves = [leaf.reshape(-1, access.warp) for leaf in flatten(self.form)]

    @cached_property
    def base(self):
        """The offsets of all points, int64 [instructions, lanes]."""
        return self._offsets(0, range(1))[:, :, 0]

    def along(self, mode):
        """The offsets of the elements that follow along a coordinate, int64 [instructions, lanes, elements - 1]."""
        return self._offsets(mode, range(1, self.access.elements))

    def _offsets(self, mode, steps):
        """Offsets with leaf number `mode` further by each of some steps, int64 [instructions, lanes, steps]."""
        def offset(step, *leaves):
            return self.tile(*nested(self.form, iter([x + step if i == mode else x for i, x in enumerate(leaves)])))

        arguments = [np.array(steps)[None, None], *(leaf[:, :, None] for leaf in self.leaves)]
        return exact_offsets(offset, arguments, f"access {self.access.name!r}",
                             lambda number: self.point(*divmod(number // len(steps), self.access.warp)))

    def addresses(self):
        """The byte addresses of all points, int64 [instructions, lanes]."""
        return self.access.in_bytes(self.base, self.start)

    def point(self, row, lane):
        """{variable: value} of a lane of instruction `row` of this table."""
        return self.access.point(self.start + row, lane)

    def limits(self):
        """How many values each leaf may take; None if the tile is a function without a shape."""
        if not hasattr(self.tile, "shape"):
            return None
        form = self.form[0] if len(self.form) == 1 else self.form
        limits = _limits(form, self.tile.shape)
        if limits is None:
            first = nested(self.form, (int(leaf.flat[0]) for leaf in self.leaves))
            raise VerificationError(f"access {self.access.name!r} gives {first} to {self.tile}, which takes "
                                    f"{len(modes(self.tile.shape))} coordinates, nested as its shape or not")
        return limits

    def elements(self, mode):
        """Every element that the access moves: (offsets [n], keys [n, modes]); keys count along the tile's modes."""
        base, *used = (x[:, self.used].reshape(-1) for x in (self.base, *self.leaves))
        offsets, keys = [], []
        for j in range(self.access.elements):
            offsets.append(base + j)
            keys.append(np.stack(self._keys([x + j if i == mode else x for i, x in enumerate(used)]), axis=1))
        return np.concatenate(offsets), np.concatenate(keys)

    def _keys(self, leaves):
        shape = getattr(self.tile, "shape", None)
        if shape is None:
            return leaves
        form = nested(self.form, iter(leaves))
        if len(form) == 1 and isinstance(form[0], tuple):
            form = form[0]
        if len(form) == 1:
            return np.unravel_index(form[0], modes(shape), order="F")
        return [_linear(c, s) for c, s in zip(form, shape, strict=True)]

    def first(self, wrong):
        """(row, lane, domain point) of the first True of a mask over used lanes."""
        row, lane = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        return row, lane, self.point(row, lane)


def nested(form, leaves):
    """The values of an iterator, nested as `form` is: what `flatten` of it takes apart.

    >>> nested(("m", ("k", "l")), iter((1, 2, 3)))
    (1, (2, 3))
    """
    return tuple(nested(f, leaves) for f in form) if isinstance(form, tuple) else next(leaves)


def _limits(form, shape):
    """The limit of every leaf of a coordinate, or None if it is not nested as the shape."""
    if not isinstance(form, tuple):
        return [size(shape)]
    if not isinstance(shape, tuple) or len(form) != len(shape):
        return None
    limits_of_modes = [_limits(f, s) for f, s in zip(form, shape, strict=True)]
    return None if None in limits_of_modes else [limit for limits in limits_of_modes for limit in limits]


def _linear(coordinate, shape):
    """A possibly nested coordinate of one mode as a single int, leftmost fastest."""
    if not isinstance(coordinate, tuple):
        return coordinate
    total, step = 0, 1
    for c, s in zip(coordinate, shape, strict=True):
        total, step = total + step * _linear(c, s), step * size(s)
    return total


def modes(shape):
    """The sizes of the top-level modes."""
    return [size(s) for s in shape] if isinstance(shape, tuple) else [shape]


def size(shape):
    """How many coordinates a shape has."""
    return prod(modes(shape))
