"""Compositions that are no longer a plain layout: `Sw<3,3,3> o (16,64):(64,1)`.

A `Layer` is an index function on offsets (a swizzle, a rotation). Layers compose with `@` in any order and number.
The rightmost part may be a layout, which gives the composition its coordinates.

>>> from simlayout.algebra import Layout, Swizzle
>>> tile = Swizzle(1, 3, 3) @ Swizzle(3, 3, 5) @ Layout((16, 64), (64, 1))
>>> print(tile)
Sw<1,3,3> o Sw<3,3,5> o (16,64):(64,1)
>>> tile(4, 9)
257
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, overload

import numpy as np

from simlayout.algebra.aliases import AnyDType, Coordinate, Index, Shape
from simlayout.algebra.exact import exactly
from simlayout.algebra.layout import INDEX_LIMIT, Layout, as_index, byte_address, composition, not_inner, piecewise
from simlayout.arguments import typed
from simlayout.drawn import drawn_by
from simlayout.errors import LayoutError, brief


class Layer:
    """The base of everything that composes with `@`: Swizzle, Rotation, F2Map and Composed. It is called with one offset."""

    __call__: Callable[..., Index]

    @property
    def block(self) -> int | None:
        """How many offsets, from a multiple of it on, it permutes among themselves; None where that is not known."""
        return None

    def _absorbed(self, inner: object) -> "Layer | None":
        """The one layer that this and its neighbour inside are together; None where they stay two."""
        return None

    @overload
    def __matmul__(self, inner: "Layout | Composed") -> "Composed": ...

    @overload
    def __matmul__(self, inner: "Layer") -> "Layer": ...

    def __matmul__(self, inner):
        return compose(self, inner) if isinstance(inner, (Layer, Layout)) else not_inner(inner)

    def __rmatmul__(self, outer: Layout) -> "Composed":
        return compose(outer, self) if isinstance(outer, Layout) else NotImplemented

    def __getitem__(self, index: Any) -> NoReturn:
        """Brackets take modes of a Layout; what a layer permutes has none."""
        raise LayoutError(f"{self} has no modes to be taken by [...]; the offset of an element is a call, as in tile(3, 4)")

    def __format__(self, spec):
        """As of its text."""
        return format(str(self), spec)


class NoDomainError(LayoutError, AttributeError):
    """A composition without a layout has no coordinates and no size. `hasattr` is False for them."""


@typed(LayoutError)
@dataclass(frozen=True)
class Composed(Layer):
    """layers[0](layers[1](... (layout(coordinate) + offset))): layers outermost first, then an offset, then a layout.

    layers: Swizzles, Rotations, F2Maps, Layouts (of a linear index) or ints (which add). layout: a Layout, or None for a
    function of an offset. offset: elements added to the layout's offset, printed as CuTe's middle term `o 16 o`. Usually
    `@` makes it. It compares and hashes by its parts. Raises LayoutError if malformed.

    >>> from simlayout.algebra import Layout, Swizzle
    >>> tile = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))
    >>> tile
    Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))
    >>> tile(3, 8), tile.size, tile.cosize, tile.shape
    (208, 1024, 1024, (16, 64))
    >>> print(tile @ Layout((8, 8), (1, 16)))
    Sw<3,3,3> o (8,8):(64,1)
    >>> print(Composed((Swizzle(3, 3, 3),), Layout((16, 64), (64, 1)), offset=16))
    Sw<3,3,3> o 16 o (16,64):(64,1)
    """

    layers: tuple
    layout: Layout | None = None
    offset: int = 0

    def __post_init__(self):
        object.__setattr__(self, "layers", tuple(self.layers))
        if not isinstance(self.layout, (Layout, type(None))):
            raise LayoutError("the innermost part of a composition is a Layout or None, not "
                              f"{brief(self.layout)}")
        for part in (*self.layers, self.offset):
            if isinstance(part, Composed) or not isinstance(part, (Layer, Layout, int)):
                raise LayoutError(f"{brief(part)} is not a layer: compose swizzles, rotations, layouts and int "
                                  "offsets")
            if isinstance(part, int) and part < 0:
                raise LayoutError(f"an offset must be at least 0, not {part}")
        if join(self.parts()) != self:
            raise LayoutError(f"{self.layers} over {self.layout} is not in its simplest form: compose with @")

    def parts(self) -> tuple:
        """The whole chain, outermost first: layers, then the offset if there is one, then the layout."""
        offset = (self.offset,) if self.offset else ()
        return self.layers + offset + (() if self.layout is None else (self.layout,))

    def __call__(self, *coordinate: Coordinate) -> Index:
        """The offset, in elements, of a coordinate (as the layout takes it; a single offset if there is none)."""
        if self.layout is None:
            if len(coordinate) != 1:
                raise LayoutError(f"{self} takes one offset, not {len(coordinate)} coordinates")
            x = as_index(coordinate[0])
        else:
            x = self.layout(*coordinate)
        for part in reversed((*self.layers, self.offset)):
            if not isinstance(part, int):
                x = part(x)
            elif part:
                x = x + part
        return x

    def _domain(self):
        if self.layout is None:
            raise NoDomainError(f"{self} has no coordinates of its own: compose it with a layout, `... @ layout`")
        return self.layout

    @property
    def shape(self) -> Shape:
        """The shape of the coordinates it takes."""
        return self._domain().shape

    @property
    def size(self) -> int:
        """How many coordinates it has."""
        return self._domain().size

    @property
    def rank(self) -> int:
        """How many modes its coordinates have."""
        return self._domain().rank

    @cached_property
    def cosize(self) -> int:
        """One more than the largest offset: the elements of memory that it spans. By enumeration, unless its layers permute
        what a layout without gaps fills."""
        blocks = [getattr(layer, "block", None) for layer in self.layers]
        if not self.offset and self._domain().is_compact and all(block and self.size % block == 0 for block in blocks):
            return self.size
        return int(self.offsets().max()) + 1

    def coordinates(self) -> tuple[np.ndarray, ...]:
        """The domain in CuTe's order: one int64 array [size] for each top-level mode, leftmost fastest."""
        return self._domain().coordinates()

    def offsets(self) -> np.ndarray:
        """The offsets of the whole domain in CuTe's order, in elements: int64 array [size].

        Raises UndefinedError where a layer leaves 64 bits, LayoutError for more than 2**26 coordinates.
        """
        def some(index):
            return exactly(self, [index], str(self), lambda number: {"index": int(index[number])})

        return piecewise(some, self, f"layout {self}")

    def byte_address(self, *coordinate: Coordinate, dtype: AnyDType, base: Index = 0) -> Index:
        """The byte address of a coordinate: base (bytes) + offset * the bytes of one element."""
        return byte_address(self, *coordinate, dtype=dtype, base=base)

    plot = drawn_by("layout", 'Draws where each coordinate lies, by="offset", "bank" or "chunk".')

    def __str__(self):
        return " o ".join(map(str, self.parts()))

    def __repr__(self):
        if any(isinstance(part, int) for part in self.parts()):
            return f"Composed({self.layers!r}, {self.layout!r}, {self.offset})"
        return " @ ".join(map(repr, self.parts()))


@overload
def compose(outer: Layout, inner: Layout) -> Layout: ...


@overload
def compose(outer: Layer, inner: Layer | Layout) -> Composed: ...


@overload
def compose(outer: Layout, inner: Layer) -> Composed: ...


def compose(outer: Layer | Layout | Composed, inner: Layer | Layout | Composed) -> Layer | Layout | Composed:
    """outer o inner: the function that first applies `inner`, then `outer`. It is what `@` does.

    outer, inner: layers, layouts or compositions, in any order. Returns a Layout if both are layouts, else a Composed.

    Neighbouring layouts become one by `composition`, whose LayoutError passes through; neighbouring F2Maps their product.

    >>> from simlayout.algebra import Layout, Rotation
    >>> compose(Rotation(8, 4, 64), Layout((384, 32), (32, 1)))
    Rotation(8, 4, 64, 4) @ Layout((384, 32), (32, 1))
    """
    return join((outer, inner))


def join(parts):
    """A chain of parts (outermost first; ints add; compositions are theirs) in its simplest form: a Layout, a Layer or a
    Composed."""
    chain = []
    for part in (part for item in parts for part in (item.parts() if isinstance(item, Composed) else (item,))):
        if isinstance(part, int) and not part:
            continue
        last = chain[-1] if chain else None
        if isinstance(part, int) and isinstance(last, int):
            chain[-1] += part
        elif isinstance(part, Layout) and isinstance(last, Layout):
            chain[-1] = composition(last, part)
        elif isinstance(last, Layer) and (one := last._absorbed(part)) is not None:
            chain[-1] = one
        else:
            chain.append(part)
    if not chain or isinstance(chain[-1], int):
        raise LayoutError("a composition ends in a layer or a layout: an offset needs one to its right")
    return chain[0] if len(chain) == 1 else _composed(chain)


def _composed(chain):
    layout = chain.pop() if isinstance(chain[-1], Layout) else None
    offset = chain.pop() if layout is not None and isinstance(chain[-1], int) else 0
    if max((part for part in (*chain, offset) if isinstance(part, int)), default=0) >= INDEX_LIMIT:
        raise LayoutError(f"an offset must be below {INDEX_LIMIT}: addresses have 64 bits")
    composed = object.__new__(Composed)         # the chain is in its simplest form: no need to check it again
    for name, value in (("layers", tuple(chain)), ("layout", layout), ("offset", offset)):
        object.__setattr__(composed, name, value)
    return composed
