"""translate: one index function of a tile in another notation, proved equal on the tile, or why there is none.

>>> from simlayout.algebra import parse
>>> tile = parse("Sw<3,3,3> o (16,64):(64,1)")
>>> print(translate(tile, "triton"))
vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]
>>> translation = translate(tile, "formula")
>>> print(translation, "--", translation.proof)
(row << 6) + (col ^ ((row & 7) << 3)) -- equal: all 1024 points
>>> print(translate(translation.result, "cute", tile=(16, 64)))
Sw<3,3,3> o (16,64):(64,1)
>>> translate(parse("Rot<8,4,64> o (16,32):(32,1)"), "f2")
Traceback (most recent call last):
...
simlayout.codegen.translators.TranslationError: Rot<8,4,64,4> o (16,32):(32,1) is no F2 map: its bits do not XOR: at \
row = 2, col = 8 it is 80, and its bits give 64
"""

from dataclasses import dataclass

from simlayout.algebra import Composed, F2Map, Layer, Layout, Rotation, Swizzle, Tile, dtype_of
from simlayout.algebra.aliases import AnyDType, IndexFunction
from simlayout.algebra.notation import as_layout, in_two_modes
from simlayout.algebra.translate import TritonSwizzle
from simlayout.codegen.notations import TmaSwizzle, text_of
from simlayout.codegen.translators import (
    TiledSource,
    TranslationError,
    to_cute,
    to_f2,
    to_formula,
    to_rotation,
    to_tma,
    to_triton,
)
from simlayout.errors import LayoutError, VerificationError, brief
from simlayout.proofs import Equivalence, equivalent
from simlayout.shown import Shown

__all__ = ["NOTATIONS", "Translation", "TranslationError", "translate"]

_TRANSLATORS = {"cute": to_cute, "triton": to_triton, "tma": to_tma, "formula": to_formula, "rotation": to_rotation,
                "f2": to_f2}

NOTATIONS = tuple(_TRANSLATORS)

MOST = 1 << 22
"""Elements of a tile at most: more than any shared memory has."""


@dataclass(frozen=True)
class Translation(Shown):
    """What `translate` found.

    notation: of NOTATIONS; result: the index function in it, (row, column) -> offset in elements; text: as that notation
    writes it (`read_notation` reads it back); proof: that it is the source, on every element of the tile.
    """

    notation: str
    result: object
    text: str
    proof: Equivalence

    def __str__(self):
        return self.text


def translate(source: IndexFunction, to: str, tile: tuple[int, int] | Layout | None = None,
              dtype: AnyDType = "f16") -> Translation:
    """The Translation of an index function of a two-dimensional tile.

    source: a Layout, a composition, a bare Swizzle, Rotation or F2Map, a TritonSwizzle, a TmaSwizzle, a Formula, a Tile,
    or any function of (row, column). to: of NOTATIONS. tile: (rows, columns); or for a bare layer the Layout under it,
    instead of the row-major one. Layouts and compositions bring their own. dtype: of the elements, which only TMA asks for.

    "cute" is a Layout, or one Swizzle<B,M,S> over a row-major or column-major one (or over the source's own, where that is
    compact); so is "rotation", a Rotation. "f2", "triton" and "tma" are of the row-major tile: bit i of row * columns + col
    is that of an F2 map. "formula" is text of row and col.

    Raises TranslationError where the notation has no equivalent, with the reason and the coordinates that show it, and
    LayoutError for a source without a tile, with another number of modes, or with more than 2**22 elements.

    >>> print(translate(Swizzle(3, 3, 3), "formula", tile=(16, 64)))
    (row << 6) + (col ^ ((row & 7) << 3))
    """
    if not isinstance(to, str) or to not in NOTATIONS:
        raise LayoutError(f"no notation {brief(to)}; there are {', '.join(NOTATIONS)}")
    dtype_of(dtype)                                      # most notations do not ask
    tiled = _tiled_source(source, tile, dtype)
    result = tiled.source if _is_already(tiled.source, to, dtype) else _TRANSLATORS[to](tiled)
    proof = equivalent(tiled.source, result, tiled.domain)
    if not proof:
        raise VerificationError(f"{tiled.name} as {text_of(result)}: {proof}", proof.counterexample)
    return Translation(to, result, text_of(result), proof)


def _tiled_source(source, tile, dtype):
    """The source over its tile."""
    source = as_layout(source)
    if isinstance(source, Tile):
        source, tile = source.function, source.shape
    if isinstance(source, Layer) and not hasattr(source, "shape"):
        if tile is None:
            raise LayoutError(f"{source} has no coordinates of its own: give the tile, (rows, columns), or compose it with "
                              "a layout")
        source = source @ (tile if isinstance(tile, Layout) else Layout.row_major(*_sizes(tile)))
    if isinstance(source, (Layout, Composed)):
        sizes = _sizes(source if isinstance(source, Layout) else source.layout)
        if tile is not None and not isinstance(tile, Layout) and _sizes(tile) != sizes:
            raise LayoutError(f"{source} brings its own tile, {sizes[0]} x {sizes[1]}, which is not {brief(tile)}: leave "
                              "that out")
    elif tile is None:
        raise LayoutError(f"{text_of(source)} does not say how large its tile is: give tile=(rows, columns)")
    else:
        sizes = _sizes(tile)
    if sizes[0] * sizes[1] > MOST:
        raise LayoutError(f"a tile of {sizes[0]} x {sizes[1]} elements: at most {MOST} are compared")
    if isinstance(source, (TritonSwizzle, TmaSwizzle)) and source.columns != sizes[1]:
        raise LayoutError(f"{text_of(source)} is of {source.columns} columns, the tile has {sizes[1]}")
    return TiledSource(source, *sizes, dtype)


def _sizes(tile):
    """(rows, columns) of a Layout, or as they are given."""
    if isinstance(tile, Layout):
        if tile.rank != 2 or not isinstance(tile.shape, tuple):
            raise LayoutError(f"{tile} has modes {tile.shape}, a tile rows and columns: nest them, as in "
                              f"{in_two_modes(tile)}, or write (1,64) for a single row")
        return tile[0].size, tile[1].size
    if not isinstance(tile, tuple) or len(tile) != 2 or not all(isinstance(n, int) and n > 0 for n in tile):
        raise LayoutError(f"a tile is (rows, columns), at least 1 each, not {brief(tile)}")
    return tile


def _is_already(source, to, dtype):
    """Whether the source is in that notation as it is."""
    layers = source.layers if isinstance(source, Composed) else ()
    if to == "cute":
        return isinstance(source, Layout) or bool(layers) and all(isinstance(a, (Swizzle, Layout)) for a in layers)
    if to == "rotation":
        return len(layers) == 1 and isinstance(layers[0], Rotation)
    if to == "f2":
        return len(layers) == 1 and isinstance(layers[0], F2Map) and source.offset == 0 and (
            TiledSource(source, *_sizes(source.layout)).row_major == source.layout)
    if to == "tma":
        return isinstance(source, TmaSwizzle) and source.dtype == dtype
    return to == "triton" and isinstance(source, TritonSwizzle)
