"""A tile that is no layout: any index function, a formula say, with the sizes of its coordinates."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from math import prod

import numpy as np

from simlayout.algebra.aliases import AnyDType, Coordinate, Index, IndexFunction, check_order
from simlayout.algebra.exact import exact_offsets
from simlayout.algebra.layout import as_index, byte_address
from simlayout.arguments import as_int
from simlayout.drawn import drawn_by
from simlayout.errors import LayoutError, brief

MOST = 1 << 26
"""Elements of a tile whose offsets are written out at once."""


@dataclass(frozen=True)
class Tile:
    """An index function of some coordinates, and how many values each of them takes.

    function: of one integer for each coordinate (ints, arrays and symbols alike), the offset in elements. domain: {name:
    size}, or (name, size) pairs, in the order of the arguments; or the sizes alone, which the arguments name. Called as a
    Layout is, with one argument for each coordinate, a tuple of them, or one linear index, leftmost fastest. Raises
    LayoutError for a size below 1.

    >>> tile = Tile(lambda row, col: row * 64 + (col ^ ((row & 7) << 3)), {"row": 16, "col": 64})
    >>> tile(1, 8), tile.shape, tile.cosize
    (64, (16, 64), 1024)
    >>> Tile(lambda row, col: row * 64 + col, (16, 64)).domain
    (('row', 16), ('col', 64))
    """

    function: IndexFunction
    domain: tuple

    def __post_init__(self):
        if not callable(self.function):
            raise LayoutError(f"a Tile has a function (row, col) -> offset, not {brief(self.function)}")
        domain = tuple((str(name), _size(name, size)) for name, size in _pairs(self.function, self.domain))
        if not domain or len(dict(domain)) < len(domain):
            raise LayoutError("a tile's coordinates have a name and a size each, as in row=16 col=64, not "
                              f"{brief(self.domain)}")
        check_order(self.function, dict(domain), "the function of a tile")
        object.__setattr__(self, "domain", domain)

    def __call__(self, *coordinate):
        if len(coordinate) == 1 and isinstance(coordinate[0], tuple):
            coordinate, = coordinate
        if len(coordinate) == 1 < self.rank:
            coordinate = self._counted(as_index(coordinate[0]))
        if len(coordinate) != self.rank:
            names = ", ".join(name for name, _ in self.domain)
            raise LayoutError(f"{self} takes {self.rank} coordinates, {names}, not {len(coordinate)}")
        return self.function(*map(as_index, coordinate))

    def _counted(self, index):
        """The coordinate that a linear index counts to; the last one has no end."""
        coordinates = []
        for size in self.shape[:-1]:
            coordinates.append(index % size)
            index = index // size
        return (*coordinates, index)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the coordinates."""
        return tuple(size for _, size in self.domain)

    @property
    def size(self) -> int:
        """How many coordinates it has."""
        return prod(self.shape)

    @property
    def rank(self) -> int:
        """How many modes its coordinates have."""
        return len(self.domain)

    @cached_property
    def cosize(self) -> int:
        """One more than the largest offset, in elements."""
        return 1 + int(self.offsets().max())

    def coordinates(self) -> tuple[np.ndarray, ...]:
        """The domain, leftmost fastest: one int64 array [size] for each coordinate."""
        if self.size > MOST:
            raise LayoutError(f"{self} has {self.size} elements: at most {MOST} are written out; use a smaller tile")
        return tuple(np.unravel_index(np.arange(self.size), self.shape, order="F"))

    def offsets(self) -> np.ndarray:
        """The offsets of the whole domain, leftmost fastest, in elements: int64 array [size].

        Raises UndefinedError where the function has no value in 64-bit integers: see `exact`.
        """
        points = self.coordinates()
        return np.array(exact_offsets(self.function, list(points), str(self), lambda number: {
            name: int(x[number]) for (name, _), x in zip(self.domain, points, strict=True)}))

    def byte_address(self, *coordinate: Coordinate, dtype: AnyDType, base: Index = 0) -> Index:
        """The byte address of a coordinate: base (bytes) + offset * the bytes of one element."""
        return byte_address(self, *coordinate, dtype=dtype, base=base)

    plot = drawn_by("layout", 'Draws where each coordinate lies, by="offset", "bank" or "chunk".')

    def __repr__(self):
        return f"Tile({self.function!r}, {dict(self.domain)})"

    def __str__(self):
        name = getattr(self.function, "__name__", None) or str(self.function)
        called = "a function" if name == "<lambda>" else name
        return f"{called} for {', '.join(f'{name}<{size}' for name, size in self.domain)}"


def _pairs(function, domain):
    """(name, size) of each coordinate, as given; none where that is not known."""
    domain = domain.tolist() if isinstance(domain, np.ndarray) else domain              # one of no dimensions is a number
    given = domain.items() if isinstance(domain, dict) else domain if isinstance(domain, Iterable) else ()
    pairs = [item if isinstance(item, tuple | list) else (None, item) for item in given]
    if any(len(pair) != 2 or not isinstance(pair[0], str | None) for pair in pairs):
        return []
    names = [name for name, _ in pairs]
    if names and not any(name is not None for name in names):
        try:
            names = list(signature(function).parameters)
        except (TypeError, ValueError):                  # no function of Python's
            names = []
        names = names if len(names) == len(pairs) else [f"x{i}" for i in range(len(pairs))]
    return [(name, size) for name, (_, size) in zip(names, pairs, strict=True)]


def _size(name, size):
    try:
        if as_int(size) > 0:
            return as_int(size)
    except TypeError:
        pass
    raise LayoutError(f"{name} has {brief(size)} values: give an int of at least 1")
