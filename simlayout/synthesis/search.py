"""search: which layout serves all of some accesses at once, within a family, with its proof or the proof that none does."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from simlayout.codegen.emit import trace
from simlayout.codegen.printer import count_operations
from simlayout.errors import LayoutError, SimlayoutError
from simlayout.hardware import analyze
from simlayout.proofs import verify
from simlayout.synthesis.families import paddings, rotations, swizzles

FAMILIES = ("swizzle", "pad", "rotation")

BATCH = 64
"""Candidates at a time: between batches a search says how far it is, and can be interrupted."""


@dataclass(frozen=True)
class Candidate:
    """A layout for all accesses.

    family: of FAMILIES; layout: of the tile; excess: wavefronts beyond the ideal, over the domains of all accesses;
    wasted_bytes: by which it is larger than the tile; accesses: those of the search, with this layout.
    """

    family: str
    layout: object
    excess: int
    wasted_bytes: int
    accesses: tuple

    @cached_property
    def operations(self):
        """Integer operations of the emitted addresses of all accesses together."""
        return sum(count_operations(trace(access)) for access in self.accesses)

    @cached_property
    def certificates(self):
        """{access: Certificate}: each proved with this layout, its excess as it is. Raises VerificationError."""
        return {access.name: verify(replace(access, excess=None)) for access in self.accesses}

    def __str__(self):
        return f"{self.layout}: excess {self.excess}, {self.wasted_bytes} bytes wasted, {self.operations} operations"


@dataclass(frozen=True)
class Found:
    """What a search came to.

    candidates: best first, by excess, wasted bytes and operations, at most as many as were asked for. conflict_free: how
    many layouts have no excess. examined, total: layouts that were tried, and that the families hold: equal where the
    families are exhausted. least: the least excess of all that were tried: where they are exhausted, no layout of the
    families has less.
    """

    candidates: tuple
    conflict_free: int
    examined: int
    total: int
    least: int

    @property
    def exhausted(self):
        """Whether every layout of the families was tried."""
        return self.examined == self.total

    def __str__(self):
        what = "all" if self.exhausted else f"{self.examined} of"
        head = f"{what} {self.total} layouts: {self.conflict_free} conflict-free, least excess {self.least}"
        return "\n".join([head, *map(str, self.candidates)])


def search(accesses, families=("swizzle",), layers=1, limit=10, budget=None, progress=None, executor=None):
    """The Found of some accesses to one tile.

    accesses: Accesses with the same tile, a Layout, which the search replaces. families: of FAMILIES; layers: 1 or 2
    swizzles one over the other. limit: candidates to return. budget: bytes that the tile may take at most. progress:
    called with (layouts tried, layouts). executor: of concurrent.futures, on which batches run; None: here. Interrupted by
    Ctrl-C it returns what it has. Raises SimlayoutError for accesses that do not share a tile, or other families.

    >>> import simlayout as sl
    >>> load = sl.Access("load A", "ldmatrix.x4", sl.Layout((16, 64), (64, 1)), domain={"tid": 32, "k": 4}, dtype="f16",
    ...                  lanes=lambda tid, k: (tid % 16, 16*k + 8*(tid % 32 // 16)))
    >>> print(search([load], limit=2))
    all 12 layouts: 1 conflict-free, least excess 0
    Sw<3,3,3> o (16,64):(64,1): excess 0, 0 bytes wasted, 9 operations
    Sw<2,3,3> o (16,64):(64,1): excess 16, 0 bytes wasted, 9 operations
    """
    tile, chunk, itemsize = _shared(accesses)
    if layers not in (1, 2) or set(families) - set(FAMILIES):
        raise SimlayoutError(f"families {families}, layers {layers}: choose from {', '.join(FAMILIES)}, and 1 or 2 layers")
    plans = [plan for plan in _plans(tile, chunk, families, layers)
             if budget is None or itemsize * (tile.cosize + plan[2]) <= budget]
    coordinates = [_coordinates(access) for access in accesses]
    jobs = [([p[1] for p in plans[i:i + BATCH]], coordinates, [a.instruction for a in accesses], itemsize)
            for i in range(0, len(plans), BATCH)]
    excess = []
    try:
        for found in (executor.map if executor else map)(_excess_of, jobs):
            excess += found
            if progress:
                progress(len(excess), len(plans))
    except KeyboardInterrupt:
        pass
    return _found(accesses, plans, excess, limit, itemsize)


def _shared(accesses):
    """(tile, elements of the widest access, bytes of an element)."""
    if not accesses:
        raise SimlayoutError("search needs at least one access")
    first = accesses[0]
    for other in accesses[1:]:
        if other.tile != first.tile or other.dtype != first.dtype:
            raise SimlayoutError(f"{first.name!r} and {other.name!r} have different tiles: search lays out one at a time")
    if not hasattr(first.tile, "cosize") or first.tile.cosize < 2:
        raise LayoutError(f"{first.tile!r} is no layout that could be replaced: give the plain one, row-major, say")
    size = first.bytes // first.elements
    return first.tile, max(a.elements for a in accesses), size


def _plans(tile, chunk, families, layers):
    """[(family, layout, wasted elements)] of all candidates."""
    made = []
    if "swizzle" in families:
        single = swizzles(tile, chunk)
        made += [("swizzle", swizzle @ tile) for swizzle in single]
        if layers == 2:
            made += [("swizzle", outer @ inner @ tile) for outer, inner in product(single, repeat=2)]
    if "rotation" in families:
        made += [("rotation", rotation @ tile) for rotation in rotations(tile, chunk)]
    if "pad" in families:
        made += [("pad", layout) for layout in paddings(tile, chunk)]
    return [(family, layout, layout.cosize - tile.cosize) for family, layout in made]


def _coordinates(access):
    """The access's coordinates over its domain, int64 arrays [instructions, 32]."""
    found = np.broadcast_arrays(*(np.asarray(x, np.int64) for x in access.coordinate(*access.points())))
    sizes = list(access.domain.values())
    return [np.broadcast_to(x, (*sizes[1:], sizes[0])).reshape(-1, 32) for x in found]


def _excess_of(job):
    """[excess of all accesses] for each layout of a batch; plain data in, so that other processes can do it."""
    layouts, coordinates, instructions, itemsize = job
    return [sum(int(analyze(name, itemsize * layout(*at)).excess.sum()) for name, at in zip(instructions, coordinates))
            for layout in layouts]


def _found(accesses, plans, excess, limit, itemsize):
    """Operations are counted where they decide: of candidates that are as good as the last one wanted, or better."""
    cost = [(x, plan[2]) for x, plan in zip(excess, plans)]
    last = sorted(cost)[:limit][-1] if cost else None
    made = [Candidate(family, layout, x, itemsize * wasted, tuple(a.with_tile(layout) for a in accesses))
            for x, (family, layout, wasted) in zip(excess, plans) if (x, wasted) <= last]
    ranked = sorted(made, key=lambda c: (c.excess, c.wasted_bytes, c.operations))[:limit]
    return Found(tuple(ranked), excess.count(0), len(excess), len(plans), min(excess, default=0))
