"""What `translate` does: a tile's index function into each notation, or the reason why not and the coordinates that show it.

A notation is a family of functions. Where a family can be solved (F2 maps and swizzles from the images of single bits,
rotations from what moves first) it is; where it is small (Triton's, TMA's) all of it is tried, and a refusal names points
through which no member goes.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simlayout.algebra import Composed, Layout, Swizzle, coalesce, make_layout
from simlayout.algebra.exact import exact_offsets
from simlayout.algebra.layout import from_modes
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

    witness: coordinates of the tile from which that follows, a tuple of {"row": ..., "col": ..., "value": the offset there}.
    """

    def __init__(self, message, witness=()):
        super().__init__(message)
        self.witness = tuple(witness)


@dataclass(frozen=True)
class Asked:
    """An index function with its tile. dtype: of the elements, for TMA."""

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
        compact = own is not None and (np.sort(own.offsets()) == np.arange(own.size)).all()
        return list(dict.fromkeys([*([own] if compact else []), self.row_major, Layout((self.rows, self.columns))]))

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

def to_f2(asked):
    """An F2Map over the row-major tile."""
    return _f2(asked, "no F2 map", asked.row_major) @ asked.row_major


def to_cute(asked):
    """A Layout, or a Swizzle over a compact one."""
    plain = _plain(asked)
    if plain is not None:
        return plain
    for base in asked.bases:
        swizzle = _swizzle_over(asked, base)
        if swizzle is not None:
            return swizzle @ base
    base = asked.bases[0]
    what = f"no Swizzle<B,M,S> of {base}"
    bits, why = not_a_swizzle(_f2(asked, what, base))
    _, places = asked.along(base)
    return asked.refuse(what, f"of its offset {why}", [places[0], *(places[1 << i] for i in bits)])


def _f2(asked, what, base):
    """The F2Map over a base; refuses where bits do not XOR, saying that the source is `what`."""
    values, places = asked.along(base)
    if values.min() < 0:
        asked.refuse(what, "it has offsets below 0", [places[int(values.argmin())]])
    made, wrong = f2_of_values(values)
    if wrong is not None:
        at, rest = asked.point(places[wrong]), wrong & (wrong - 1)
        asked.refuse(what, f"its bits do not XOR: at row = {at['row']}, col = {at['col']} it is {at['value']}, and its bits "
                     f"give {made(wrong)}", places[[0, wrong ^ rest, rest, wrong]])
    return made


def _swizzle_over(asked, base):
    """The Swizzle with source == swizzle @ base on the tile, or None."""
    values, _ = asked.along(base)
    if values.min() < 0:
        return None
    made, wrong = f2_of_values(values)
    return f2_to_swizzle(made) if wrong is None and not_a_swizzle(made) is None else None


def _plain(asked):
    """The Layout that the values are, or None."""
    values = asked.values
    steps = values[:, 0] - values[0, 0], values[0] - values[0, 0]
    if values[0, 0] or min(steps[0].min(), steps[1].min()) < 0:
        return None
    found = make_layout(*map(_mode, steps))
    return found if asked.is_(found) else None


def _mode(steps):
    """The mode that goes so many elements with its coordinate: nested where its size is a power of two."""
    n = len(steps)
    if n == 1 or n & (n - 1):
        return Layout(n, int(steps[min(1, n - 1)]))
    return coalesce(from_modes([(2, int(steps[1 << i])) for i in range(n.bit_length() - 1)]))


# ---- rotations -------------------------------------------------------------------------------------------------------

def to_rotation(asked):
    """A Rotation over a compact layout."""
    for base in asked.bases:
        for rotation in rotations_like(asked.along(base)[0]):
            if asked.is_(rotation @ base):
                return rotation @ base
    base = asked.bases[0]
    values, places = asked.along(base)
    near = rotations_like(values)
    first = int(np.argmax(values != np.arange(len(values))))
    if not near:
        at = asked.point(places[first])
        return asked.refuse(f"no Rotation of {base}", f"the first element that moves, row = {at['row']}, col = {at['col']}, "
                            f"goes from {first} to {at['value']}; a rotation would move it up, by a divisor of {first}",
                            [places[first]])
    wrong = [int(np.argmax(values != rotation(np.arange(len(values))))) for rotation in near]
    last = max(wrong)
    at, nearest = asked.point(places[last]), near[wrong.index(last)]
    return asked.refuse(f"no Rotation of {base}", f"the nearest is {nearest}, which at row = {at['row']}, col = {at['col']} "
                        f"gives {nearest(last)}, not {at['value']}", [places[w] for w in dict.fromkeys([first, *wrong])])


# ---- families that are tried -----------------------------------------------------------------------------------------

def to_triton(asked):
    """A TritonSwizzle."""
    family = triton_swizzles(asked.rows, asked.columns)
    layer = asked.source.layers[0] if isinstance(asked.source, Composed) and asked.source.layers else None
    if isinstance(layer, Swizzle) and asked.source == layer @ asked.row_major:
        with suppress(LayoutError):
            known = swizzle_to_triton(layer, asked.columns)     # on few rows others equal it: it is equal on all of them
            family = [known, *(t for t in family if t != known)]
    why = f"none of the {len(family)} on rows of {asked.columns}"
    swizzle = _swizzle_over(asked, asked.row_major)
    if swizzle is not None:
        try:
            swizzle_to_triton(swizzle, asked.columns)
        except LayoutError as error:
            why = f"{error}; none of the {len(family)}"
    return _one_of(asked, family, "none of Triton's swizzles", f"{why} goes through")


def to_tma(asked):
    """A TmaSwizzle."""
    family, faults = [], []
    for mode in SWIZZLE_MODES:
        try:
            family.append(TmaSwizzle(mode, asked.dtype, asked.columns))
        except LayoutError as error:
            faults.append(str(error))
    if not family:
        raise TranslationError(f"{asked.name} is no tile of TMA: {faults[0]}", [asked.point(asked.columns - 1)])
    modes = " or ".join(map(str, family))
    return _one_of(asked, family, "no tile of TMA", f"rows of {asked.columns} {asked.dtype} lie as {modes} says, which does "
                   "not go through")


def _one_of(asked, family, what, why):
    """The first of a family that is the source on the tile. Where none is, each is wrong at one of a few points."""
    places = []
    while family:
        found = equivalent(asked.source, family[0], asked.domain)
        if found:
            return family[0]
        row, column = found.counterexample["row"], found.counterexample["col"]
        places.append(row * asked.columns + column)
        family = [f for f in family if f(row, column) == found.counterexample["left"]]
    said = [f"({p['row']}, {p['col']}) at {p['value']}" for p in map(asked.point, places)]
    return asked.refuse(what, f"{why} {' and '.join(said)}", places)


# ---- formulas --------------------------------------------------------------------------------------------------------

def to_formula(asked):
    """A Formula of row and col, simplified with the tile's ranges."""
    try:
        made = asked.source(symbol("row", asked.rows), symbol("col", asked.columns))
        return formula(expression_text(made))
    except (TypeError, ValueError, ArithmeticError) as error:
        raise TranslationError(f"{asked.name} has no formula: {error}", [asked.point(0)]) from error
