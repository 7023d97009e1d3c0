"""What `translate` does: a tile's index function into each notation, or the reason why not and the coordinates that show it.

A notation is a family of functions. Some families can be solved for the member that matches: F2 maps and swizzles from
the images of single bits, rotations from the first elements that move. Small families (Triton's, TMA's) are tried member
by member. A refusal names points that no member of the family matches.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simlayout.algebra import Composed, Layout, Swizzle, coalesce, make_layout
from simlayout.algebra.exact import exact_offsets
from simlayout.algebra.layout import from_modes
from simlayout.algebra.notation import swizzle_of_bytes
from simlayout.algebra.swizzle_modes import SWIZZLE_MODES
from simlayout.algebra.translate import (
    f2_of_values,
    f2_to_swizzle,
    not_a_swizzle,
    rotations_like,
    swizzle_to_triton,
    triton_swizzles,
)
from simlayout.codegen.index_text import formula
from simlayout.codegen.notations import TmaSwizzle, text_of
from simlayout.codegen.printer import expression_text
from simlayout.codegen.symbols import symbol
from simlayout.errors import LayoutError
from simlayout.proofs import equivalent


class TranslationError(LayoutError):
    """There is no equivalent.

    witness: coordinates of the tile that prove it, a tuple of {"row": ..., "col": ..., "value": the offset there}.
    """

    def __init__(self, message: str, witness: Iterable[dict] = ()):
        super().__init__(message)
        self.witness = tuple(witness)


@dataclass(frozen=True)
class TiledSource:
    """An index function with the tile that it is translated for. dtype: of the elements; only TMA needs it."""

    source: object
    rows: int
    columns: int
    dtype: str = "f16"

    @property
    def domain(self):
        """As `equivalent` takes it."""
        return {"row": self.rows, "col": self.columns}

    @property
    def name(self):
        """What the source is called."""
        return text_of(self.source)

    @property
    def row_major(self):
        """The row-major layout of the tile."""
        return Layout.row_major(self.rows, self.columns)

    @cached_property
    def values(self):
        """The offsets, int64 [rows, columns]."""
        rows, columns = np.indices((self.rows, self.columns))
        return exact_offsets(self.source, [rows, columns], self.name, lambda number: {
            "row": number // self.columns, "col": number % self.columns})

    @cached_property
    def bases(self):
        """Compact layouts of the tile: the source's own where it is one, row-major, column-major."""
        own = getattr(self.source, "layout", None)
        compact = [own] if own is not None and own.is_compact else []
        return list(dict.fromkeys([*compact, self.row_major, Layout((self.rows, self.columns))]))

    def along(self, base):
        """(values, places): for x = 0, 1, ..., the offset of the element that a compact layout puts at x, and its place:
        row * columns + column."""
        rows, columns = np.indices((self.rows, self.columns))
        places = np.argsort(np.asarray(base(rows, columns)).reshape(-1))
        return self.values.reshape(-1)[places], places

    def point(self, place):
        """The entry of a witness for a place."""
        row, column = divmod(int(place), self.columns)
        return {"row": row, "col": column, "value": int(self.values[row, column])}

    def is_(self, other):
        """Whether another function is the source on the tile."""
        return bool(equivalent(self.source, other, self.domain))

    def refuse(self, what, why, places):
        """Raises the TranslationError of some places."""
        raise TranslationError(f"{self.name} is {what}: {why}", map(self.point, places))


# ---- F2 maps, swizzles and plain layouts ----------------------------------------------------------------------------

def to_f2(tiled):
    """An F2Map over the row-major tile."""
    return _f2(tiled, "no F2 map", tiled.row_major) @ tiled.row_major


def to_cute(tiled):
    """A Layout, or a Swizzle over a compact one."""
    plain = _plain(tiled)
    if plain is not None:
        return plain
    for base in tiled.bases:
        swizzle = _swizzle_over(tiled, base)
        if swizzle is not None:
            return swizzle @ base
    base = tiled.bases[0]
    what = f"no Swizzle<B,M,S> of {base}"
    bits, why = not_a_swizzle(_f2(tiled, what, base))
    _, places = tiled.along(base)
    return tiled.refuse(what, f"of its offset {why}", [places[0], *(places[1 << i] for i in bits)])


def _f2(tiled, what, base):
    """The F2Map over a base; refuses where bits do not XOR, saying that the source is `what`."""
    values, places = tiled.along(base)
    if values.min() < 0:
        tiled.refuse(what, "it has offsets below 0", [places[int(values.argmin())]])
    f2, wrong = f2_of_values(values)
    if wrong is not None:
        at, rest = tiled.point(places[wrong]), wrong & (wrong - 1)
        tiled.refuse(what, f"its bits do not XOR: at row = {at['row']}, col = {at['col']} it is {at['value']}, and its bits "
                     f"give {f2(wrong)}", places[[0, wrong ^ rest, rest, wrong]])
    return f2


def _swizzle_over(tiled, base):
    """The Swizzle with source == swizzle @ base on the tile, or None."""
    values, _ = tiled.along(base)
    if values.min() < 0:
        return None
    f2, wrong = f2_of_values(values)
    return f2_to_swizzle(f2) if wrong is None and not_a_swizzle(f2) is None else None


def _plain(tiled):
    """The Layout that the values are, or None."""
    values = tiled.values
    steps = values[:, 0] - values[0, 0], values[0] - values[0, 0]
    if values[0, 0] or min(steps[0].min(), steps[1].min()) < 0:
        return None
    layout = make_layout(*map(_mode, steps))
    return layout if tiled.is_(layout) else None


def _mode(steps):
    """The mode that goes so many elements with its coordinate: nested where its size is a power of two."""
    n = len(steps)
    if n == 1 or n & (n - 1):
        return Layout(n, int(steps[min(1, n - 1)]))
    return coalesce(from_modes([(2, int(steps[1 << i])) for i in range(n.bit_length() - 1)]))


# ---- rotations -------------------------------------------------------------------------------------------------------

def to_rotation(tiled):
    """A Rotation over a compact layout."""
    for base in tiled.bases:
        for rotation in rotations_like(tiled.along(base)[0]):
            if tiled.is_(rotation @ base):
                return rotation @ base
    base = tiled.bases[0]
    values, places = tiled.along(base)
    near = rotations_like(values)
    first = int(np.argmax(values != np.arange(len(values))))
    if not near:
        at = tiled.point(places[first])
        return tiled.refuse(f"no Rotation of {base}", f"the first element that moves, row = {at['row']}, col = {at['col']}, "
                            f"goes from {first} to {at['value']}; a rotation would move it up, by a divisor of {first}",
                            [places[first]])
    wrong = [int(np.argmax(values != rotation(np.arange(len(values))))) for rotation in near]
    last = max(wrong)
    at, nearest = tiled.point(places[last]), near[wrong.index(last)]
    return tiled.refuse(f"no Rotation of {base}", f"the nearest is {nearest}, which at row = {at['row']}, col = {at['col']} "
                        f"gives {nearest(last)}, not {at['value']}", [places[w] for w in dict.fromkeys([first, *wrong])])


# ---- families that are tried -----------------------------------------------------------------------------------------

def to_triton(tiled):
    """A TritonSwizzle."""
    family = triton_swizzles(tiled.rows, tiled.columns)
    layer = tiled.source.layers[0] if isinstance(tiled.source, Composed) and tiled.source.layers else None
    if isinstance(layer, Swizzle) and tiled.source == layer @ tiled.row_major:
        with suppress(LayoutError):
            known = swizzle_to_triton(layer, tiled.columns)     # on few rows others equal it: it is equal on all of them
            family = [known, *(t for t in family if t != known)]
    why = f"none of the {len(family)} on rows of {tiled.columns}"
    swizzle = _swizzle_over(tiled, tiled.row_major)
    if swizzle is not None:
        try:
            swizzle_to_triton(swizzle, tiled.columns)
        except LayoutError as error:
            why = f"{error}; none of the {len(family)}"
    return _one_of(tiled, family, "none of Triton's swizzles", f"{why} goes through")


def to_tma(tiled):
    """A TmaSwizzle."""
    family, faults = [], []
    for mode in SWIZZLE_MODES:
        try:
            family.append(TmaSwizzle(mode, tiled.dtype, tiled.columns))
        except LayoutError as error:
            faults.append(str(error))
    if not family:
        raise TranslationError(f"{tiled.name} is no tile of TMA: {faults[0]}", [tiled.point(tiled.columns - 1)])
    modes = " or ".join(map(str, family))
    return _one_of(tiled, family, "no tile of TMA", f"rows of {tiled.columns} {tiled.dtype} lie as {modes} says, which does "
                   "not go through", swizzle_of_bytes(tiled.source, tiled.dtype))


def _one_of(tiled, family, what, why, hint=""):
    """The first of a family that is the source on the tile. Where none is, each is wrong at one of a few points."""
    places = []
    while family:
        equivalence = equivalent(tiled.source, family[0], tiled.domain)
        if equivalence:
            return family[0]
        row, column = equivalence.counterexample["row"], equivalence.counterexample["col"]
        places.append(row * tiled.columns + column)
        family = [f for f in family if f(row, column) == equivalence.counterexample["left"]]
    points = [f"({p['row']}, {p['col']}) at {p['value']}" for p in map(tiled.point, places)]
    return tiled.refuse(what, f"{why} {' and '.join(points)}{hint}", places)


# ---- formulas --------------------------------------------------------------------------------------------------------

def to_formula(tiled):
    """A Formula of row and col, simplified with the tile's ranges."""
    try:
        offset = tiled.source(symbol("row", tiled.rows), symbol("col", tiled.columns))
        return formula(expression_text(offset))
    except (TypeError, ValueError, ArithmeticError) as error:
        raise TranslationError(f"{tiled.name} has no formula: {error}", [tiled.point(0)]) from error
