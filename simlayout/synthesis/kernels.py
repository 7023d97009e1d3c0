"""Whole kernels: the layouts of a plan's tiles found again from its accesses alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simlayout.algebra import Layout, Tile
from simlayout.algebra.aliases import IndexFunction
from simlayout.errors import LayoutError, SimlayoutError, refuse
from simlayout.shown import Shown
from simlayout.synthesis.result import Candidate, SearchResult
from simlayout.synthesis.search import FAMILIES, search
from simlayout.wording import tile_name


@dataclass(frozen=True)
class TileResult(Shown):
    """What a search says of one tile of a plan. own: the plan's layout, as a Candidate of the family "own"; plain: the tile
    without it, which the search was given; result: the SearchResult."""

    own: Candidate
    plain: Layout
    result: SearchResult

    @property
    def names(self) -> tuple[str, ...]:
        """The accesses of the tile."""
        return tuple(a.name for a in self.own.accesses)

    @property
    def at_least_as_good(self) -> bool:
        """Whether the best layout found has no more excess than the plan's own."""
        return bool(self.result) and self.result[0].excess <= self.own.excess

    @property
    def plain_excess(self) -> int:
        """The excess of the same accesses to the plain tile."""
        return _excess(a.with_tile(self.plain) for a in self.own.accesses)

    def __str__(self):
        return (f"{', '.join(self.names)}\nown: {self.own}\nplain: {self.plain}: excess {self.plain_excess}\n{self.result}")


def plain_tile(tile: IndexFunction) -> Layout:
    """A layout without what serves against conflicts: its top-level modes, compact, in the order of their strides.

    Swizzles, rotations, padding and nesting go; which mode is contiguous stays. Of a `Tile`, which is a function with a
    shape, the first steps along each mode tell their order. Raises LayoutError for a mere function.

    >>> from simlayout.algebra import Rotation
    >>> print(plain_tile(Rotation(8, 4, 64) @ Layout((384, 32, 4), (40, 1, 15360))))
    (384,32,4):(32,1,12288)
    >>> print(plain_tile(Layout(((16, 8), (16, 2)), ((16, 512), (1, 256)))))
    (128,32):(32,1)
    """
    layout = getattr(tile, "layout", tile)
    if isinstance(tile, Tile):
        here = [0] * tile.rank
        steps = [abs(int(tile(*here[:i], 1, *here[i + 1:])) - int(tile(*here))) if size > 1 else 0
                 for i, size in enumerate(tile.shape)]
        return _compact(tile.shape, steps)
    if not isinstance(layout, Layout):
        raise LayoutError(f"{tile_name(tile)} is a function without a shape, so there is no plain tile to begin with: "
                          "give it one, as in sl.Tile(function, {'row': 64, 'col': 32})")
    modes = [layout[i] for i in range(layout.rank)]
    steps = [min((d for s, d in mode.modes() if s > 1), default=0) for mode in modes]
    if not isinstance(layout.shape, tuple):
        return Layout(modes[0].size)
    return _compact(tuple(mode.size for mode in modes), steps)


def _compact(shape, steps):
    """The compact layout of some modes whose strides are in the order of these steps."""
    stride, step = [0] * len(shape), 1
    for i in sorted(range(len(shape)), key=steps.__getitem__):
        stride[i] = step
        step *= shape[i]
    return Layout(shape, tuple(stride))


def search_plan(plan: Any, families: Sequence[str] = FAMILIES, **options: Any) -> tuple[TileResult, ...]:
    """(TileResult of each tile of a plan): the best layouts of the plain tile for all its accesses at once.

    plan: a Plan, or anything with `accesses`. families, options: as of `search`. Accesses with one tile and dtype belong
    together. Raises SimlayoutError for a plan without accesses; LayoutError for tiles that are functions.

    >>> import simlayout as sl
    >>> tile = sl.Swizzle(2, 3, 3) @ sl.Layout((64, 32), (32, 1))
    >>> load = sl.Access("load", "ldmatrix.x4", tile, lambda tid, k: (tid % 16, 16 * k + 8 * (tid % 32 // 16)),
    ...                  {"tid": 32, "k": 2})
    >>> (found,) = search_plan(sl.Plan("p", (64, 64, 32), 1, 1, "", (load,), (), (), 4096), families=("swizzle",), limit=1)
    >>> print(found)
    load
    own: Sw<2,3,3> o (64,32):(32,1): excess 0, 0 bytes wasted, 9 operations
    plain: (64,32):(32,1): excess 24
    all 16 layouts: 2 conflict-free, least excess 0
    Sw<2,3,3> o (64,32):(32,1): excess 0, 0 bytes wasted, 9 operations
    """
    if not hasattr(plan, "accesses") or not hasattr(plan, "predict"):
        refuse("Plan", "search_plan", plan)
    tiles = {}
    for access in plan.accesses:
        tiles.setdefault((access.tile, access.dtype), []).append(access)
    if not tiles:
        raise SimlayoutError("the plan has no accesses through index functions: TMA and wgmma do all of it")
    return tuple(_searched(tile, accesses, families, options) for (tile, _), accesses in tiles.items())


def _searched(tile, accesses, families, options):
    plain = plain_tile(tile)
    itemsize = accesses[0].bytes // accesses[0].elements
    own = Candidate("own", tile, _excess(accesses), itemsize * (tile.cosize - plain.cosize), tuple(accesses))
    return TileResult(own, plain, search([a.with_tile(plain) for a in accesses], families, **options))


def _excess(accesses):
    """Of all instructions of some accesses."""
    return sum(int(access.analyze().excess.sum()) for access in accesses)
