"""search: finds the layouts of some families that serve several accesses at once, or proves that there is none."""

from collections.abc import Iterator, Sequence, Set, ValuesView
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import permutations
from math import gcd, inf

import numpy as np

from simlayout.algebra import Tile
from simlayout.algebra.aliases import Progress
from simlayout.algebra.composed import join
from simlayout.arguments import as_int, typed
from simlayout.errors import LayoutError, SimlayoutError, brief
from simlayout.hardware import analyze, arch_of
from simlayout.proofs import Access
from simlayout.proofs.tables import Tables
from simlayout.proofs.verify import check_coordinates, verify
from simlayout.synthesis.constraints import period, tma_layouts
from simlayout.synthesis.f2 import f2_layers
from simlayout.synthesis.f2_banks import WORD_BYTES, differences, rules
from simlayout.synthesis.families import paddings, rotations, swizzles
from simlayout.synthesis.result import Candidate, SearchResult, Share
from simlayout.wording import meant, tile_name

FAMILIES = ("swizzle", "pad", "rotation", "f2")
"""Those that a search of any tile may ask for."""

ALL_FAMILIES = (*FAMILIES, "tma")

BATCH, BATCH_INSTRUCTIONS = 64, 1 << 14
"""Candidates of a batch at most, and instructions that it counts unless one candidate has more. Between batches a search
reports its progress, and can be interrupted."""

F2_CANDIDATES = 32
"""At least this many layouts of the family f2, all with its least excess, are compared by their operations."""


@typed(own=("accesses", "families", "layers", "limit", "budget"))
def search(accesses: Access | Sequence[Access], families: Sequence[str] = ("swizzle",), layers: int = 1, limit: int = 10,
           budget: int | None = None, progress: Progress | None = None, executor: Executor | None = None, *,
           base: int | None = None) -> SearchResult:
    """Finds the layouts of one tile that serve all of some accesses at once, and returns them as a SearchResult, best first.

    accesses: Accesses (or one) to the same tile, a plain Layout, which the search replaces. families: names, or one:
    "swizzle" (and with layers=2 one over the other), "pad", "rotation", "f2", all invertible XORs of the bits of the offset
    that keep the elements of the widest access together, and "tma", the layouts that TMA writes. limit: how many candidates
    to return. They are sorted by excess, wasted bytes, operations, and the length of their pattern: of equally good layouts
    the one whose pattern repeats soonest comes first. progress: called with (layouts tried, layouts), at first of those
    that are tried one by one, then of all, with f2, which decides very many at once, and last of the best, whose operations
    are counted. executor: of concurrent.futures, which runs the batches; None: this process runs them. With Dask, for
    example: `with LocalCluster() as cluster, Client(cluster) as client: search(accesses, executor=client.get_executor())`.
    Ctrl-C ends the search early; it then returns the best layouts so far.

    Accesses may be of several chips (`Access.arch`): a layout without excess then serves them all.

    Constraints: budget: the most bytes that the tile may take (default: the shared memory of a CTA). base: only layouts
    whose pattern repeats every `base` bytes. They are the same on absolute addresses, as TMA swizzles, and on offsets,
    wherever the tile starts at a multiple of `base`; their excess is that of the worst such start. (In the family f2 these
    are the layouts that XOR no bits above the base.) Without base the tile starts at a multiple of 128 bytes and the layout
    acts on offsets. Other starts then only number the banks differently, except for cp.async.cg, whose cost depends on
    lines of 128 bytes.

    Raises SimlayoutError for accesses that do not share a tile, for unknown families, or for two layers without the family
    of swizzles; LayoutError for a tile that cannot be replaced; VerificationError for one that is not one-to-one, and for
    accesses that no layout of it can serve, such as lanes that leave it.

    >>> import simlayout as sl
    >>> load = sl.Access("load A", "ldmatrix.x4", sl.Layout((16, 64), (64, 1)), domain={"tid": 32, "k": 4}, dtype="f16",
    ...                  lanes=lambda tid, k: (tid % 16, 16*k + 8*(tid % 32 // 16)))
    >>> print(search([load], limit=2))
    all 12 layouts: 1 conflict-free, least excess 0
    Sw<3,3,3> o (16,64):(64,1): excess 0, 0 bytes wasted, 8 operations
    Sw<2,3,3> o (16,64):(64,1): excess 16, 0 bytes wasted, 8 operations
    >>> print(search([load.with_tile("(16,64):(72,1)")], limit=1))                # which is free of conflicts already
    all 16 layouts: 2 conflict-free, least excess 0
    better as it is: (16,64):(72,1): excess 0, 0 bytes wasted, 7 operations
    Sw<1,3,2> o (16,64):(72,1): excess 0, 16 bytes wasted, 9 operations
    >>> result = search([load], ("swizzle", "f2"), base=512)
    >>> print(result.proof)
    swizzle: 6 of 6 examined, 0 conflict-free, least excess 16
    f2: 155 of 155 examined, 0 conflict-free, least excess 16
    """
    families = (families,) if isinstance(families, str) else families
    accesses = (accesses,) if isinstance(accesses, Access) else accesses
    accesses = tuple(accesses) if isinstance(accesses, Iterator | ValuesView) else accesses
    families = tuple(families) if isinstance(families, Iterator) else families
    families = sorted(families, key=str) if isinstance(families, Set) else families      # told in one order
    _check_arguments(accesses, families, layers, limit, budget, executor)
    task = _task(tuple(accesses), budget, base)
    repeating = [(family, layout) for family, layout in _plans(task, families, layers) if task.repeats(layout)]
    plans = [(family, layout) for family, layout in repeating if task.fits(layout)]
    of_f2 = "f2" in families and task.repeats(task.tile)
    with_f2 = of_f2 and task.fits(task.tile)
    known = task.differences() if with_f2 else None
    every = len(plans) + (known.total if known is not None else 0)
    excess, layers_of_f2, tried = [], None, (0, every)

    def tell(count=None, total=every):
        nonlocal tried
        tried = tried if count is None else (count, total)
        if progress:
            progress(*tried)

    try:
        for part in (executor.map if executor else map)(_excess_of, task.jobs([layout for _, layout in plans])):
            excess += part
            tell(len(excess), len(plans))
        if with_f2:
            layers_of_f2 = f2_layers(known, task.f2_chunk, max(4 * limit, F2_CANDIDATES),
                                     lambda count: tell(len(plans) + count), executor)
    except KeyboardInterrupt:
        pass
    shares = [_walked(name, plans, excess) for name in dict.fromkeys(families) if name != "f2"]
    if with_f2:
        share, more = _of_f2(task, known, layers_of_f2, tell)
        shares.append(share)
        plans, excess = plans[:len(excess)] + [("f2", layout) for layout, _ in more], excess + [x for _, x in more]
    least = None if every else _least_bytes(task, [layout for _, layout in repeating] + [task.tile] * of_f2)
    given = None if set(families) == {"tma"} else _given(task)       # which TMA writes only if it is among the candidates
    return SearchResult(_ranked(task, plans, excess, limit, tell), tuple(shares), least, given)


@dataclass(frozen=True)
class _Task:
    """What a search is to solve.

    coordinates: of each access over its domain, int64 arrays [instructions, lanes]; chunk: elements of the widest access;
    itemsize: bytes of an element; budget, memory: bytes, the latter of a CTA; base: elements, or None.
    """

    accesses: tuple
    tile: object
    coordinates: tuple
    chunk: int
    itemsize: int
    budget: int
    memory: int
    base: int | None

    @property
    def starts(self):
        """Bytes above a multiple of 128 at which the tile may start."""
        line = self.line_bytes
        return tuple(range(0, line, gcd(line, self.base * self.itemsize if self.base else line)))

    @property
    def rows(self):
        """What the tables say of the instructions, with the rules of sources that disagree."""
        return [rule for a in self.accesses for rule in rules(a.row)]

    @property
    def line_bytes(self):
        """Bytes after which the banks begin again, of the access that sees most of them."""
        return WORD_BYTES * max(row.banks for row in self.rows)

    def fits(self, layout):
        """Whether a layout fits the budget, which is the shared memory of a CTA at most."""
        return self.itemsize * layout.cosize <= self.budget

    def repeats(self, layout):
        """Whether a layout repeats as the base asks."""
        return self.base is None or self.base % period(layout) == 0

    def jobs(self, layouts):
        """The arguments of `_excess_of` for batches of layouts: plain data, so that other processes can take them."""
        rows = [(a.row, a.arch) for a in self.accesses]
        each = len(self.starts) * sum(a.instructions() for a in self.accesses)
        batch = max(min(BATCH, BATCH_INSTRUCTIONS // each), 1)
        return [(layouts[i:i + batch], self.coordinates, rows, self.itemsize, self.starts)
                for i in range(0, len(layouts), batch)]

    @property
    def f2_chunk(self):
        """Elements that f2 moves together: those of the widest access, but at least a word."""
        return max(self.chunk, WORD_BYTES // self.itemsize)

    @property
    def bits(self):
        """How many low bits of the chunk number f2 may permute: tile and base are multiples of 2**bits chunks."""
        size = gcd(self.tile.cosize, self.base or 0)
        return max((size & -size).bit_length() - self.f2_chunk.bit_length(), 0)

    def differences(self):
        """The Differences between the lanes' addresses in all accesses."""
        addresses = [self.itemsize * np.asarray(self.tile(*at), np.int64) for at in self.coordinates]
        return differences([a.row for a in self.accesses], addresses, self.f2_chunk * self.itemsize, self.bits, self.starts)


def _check_arguments(accesses, families, layers, limit, budget, executor):
    if not isinstance(accesses, (list, tuple)) or not all(isinstance(a, Access) for a in accesses):
        raise SimlayoutError(f"search takes a list of Accesses, not {brief(accesses)}: wrap a layout in Access(name, "
                             "instruction, layout, lanes, domain)")
    if not accesses:
        raise SimlayoutError("search needs at least one access")
    unknown = [f for f in families if f not in ALL_FAMILIES] if isinstance(families, (list, tuple)) else [families]
    if unknown or not families:
        near = meant(unknown[0], ALL_FAMILIES) if unknown else ""
        raise SimlayoutError(f"families {brief(families)}: choose from {', '.join(ALL_FAMILIES)}{near}")
    if not _counts(layers) or layers > 2:
        raise SimlayoutError(f"layers {brief(layers)}: 1 swizzle, or 2, one over the other")
    if layers == 2 and "swizzle" not in families:
        raise SimlayoutError(f"layers 2: one swizzle over another, and of {', '.join(families)} none is a swizzle: name "
                             "that family too, or leave out the layers")
    if executor is not None and not hasattr(executor, "map"):
        raise SimlayoutError(f"executor = {brief(executor)}: give one of concurrent.futures, or None; `jobs` is the command "
                             "line's")
    if not _counts(limit):
        raise SimlayoutError(f"limit = {brief(limit)}: how many layouts to return, at least 1")
    if budget is not None and not _counts(budget):
        raise SimlayoutError(f"budget = {brief(budget)}: bytes that the tile may take, at least 1")


def _counts(value):
    """Whether a value is an integer of at least 1."""
    try:
        return as_int(value) > 0
    except TypeError:
        return False


def _task(accesses, budget, base):
    first = accesses[0]
    for other in accesses[1:]:
        if other.tile != first.tile or other.dtype != first.dtype:
            differ = "tiles" if other.tile != first.tile else "dtypes"
            raise SimlayoutError(f"{first.name!r} and {other.name!r} have different {differ}: search lays out one tile at a "
                                 "time")
    if isinstance(first.tile, Tile) or not hasattr(first.tile, "cosize") or first.tile.cosize < 2:
        raise LayoutError(f"{tile_name(first.tile)} is no layout that could be replaced: give the plain one, as in "
                          "access.with_tile(sl.Layout((64, 32), (32, 1)))")
    itemsize, memory = first.bytes // first.elements, min(arch_of(a.arch).shared_bytes_per_cta for a in accesses)
    if itemsize * first.tile.cosize > memory:
        raise LayoutError(f"{first.tile} takes {itemsize * first.tile.cosize} bytes, a CTA has {memory}: use a smaller tile")
    widest = max(a.bytes for a in accesses)
    if base is not None and (base < 1 or base % max(widest, WORD_BYTES)):
        raise SimlayoutError(f"base = {base!r}: give the bytes that the tile's start is a multiple of, themselves a "
                             f"multiple of {max(widest, WORD_BYTES)} for the widest access")
    verify(first.tile)
    for access in accesses:                              # what leaves the tile, or is torn, would count as free of conflicts
        check_coordinates(Tables(access))
    most = memory if budget is None else min(budget, memory)
    return _Task(tuple(accesses), first.tile, tuple(_coordinates(access) for access in accesses), widest // itemsize,
                 itemsize, most, memory, None if base is None else int(base) // itemsize)


def _coordinates(access):
    """The access's coordinates over its domain, int64 arrays [instructions, lanes]."""
    coordinates = access.coordinates()
    if any(isinstance(x, tuple) for x in coordinates):
        raise LayoutError(f"access {access.name!r} gives nested coordinates: give one int for each mode of {access.tile}")
    arrays = np.broadcast_arrays(*(np.asarray(x, np.int64) for x in coordinates))
    sizes = list(access.domain.values())
    return [np.broadcast_to(x, (*sizes[1:], sizes[0])).reshape(-1, access.warp) for x in arrays]


def _plans(task, families, layers):
    """[(family, layout)] of all candidates that are tried one by one."""
    tile, chunk, plans = task.tile, task.chunk, []
    if "swizzle" in families:
        single = swizzles(tile, chunk)
        plans += [("swizzle", swizzle @ tile) for swizzle in single]
        if layers == 2:
            plans += [("swizzle", outer @ inner @ tile) for outer, inner in permutations(single, 2)]  # one twice is none
    if "rotation" in families:
        plans += [("rotation", rotation @ tile) for rotation in rotations(tile, chunk)]
    if "pad" in families:
        plans += [("pad", layout) for layout in paddings(tile, chunk)]
    if "tma" in families:
        plans += [("tma", layout) for layout in tma_layouts(tile, task.accesses[0].dtype)]
    return plans


def _excess_of(job):
    """The excess of all accesses together, at the worst start of the tile, for each layout of a batch. job: one of
    `_Task.jobs`."""
    layouts, coordinates, rows, itemsize, starts = job
    return [max(sum(int(analyze(row, start + itemsize * layout(*at), arch=arch).excess.sum())
                    for (row, arch), at in zip(rows, coordinates)) for start in starts) for layout in layouts]


def _least_bytes(task, layouts):
    """The bytes of the smallest of some layouts that the budget excludes; None where a larger one would not help."""
    least = min((task.itemsize * layout.cosize for layout in layouts), default=None)
    return least if least is not None and task.budget < least <= task.memory else None


def _given(task):
    """The Candidate of the tile as it is; None where it does not fit, or does not repeat as the base asks."""
    if not (task.fits(task.tile) and task.repeats(task.tile)):
        return None
    excess = sum((_excess_of(job) for job in task.jobs([task.tile])), [])
    return Candidate("own", task.tile, *excess, 0, task.accesses)


def _walked(name, plans, excess):
    """The Share of a family whose layouts are tried one by one."""
    total = sum(family == name for family, _ in plans)
    known = [x for (family, _), x in zip(plans, excess) if family == name]
    least = min(known, default=None)
    return Share(name, known.count(0), len(known), total, least, least if known and len(known) == total else 0)


def _of_f2(task, known, result, still):
    """(the Share of f2, [(layout, excess)] of the layouts that it found). still: called after each batch; where it
    interrupts, the layouts are those that are counted."""
    layouts, excess = [join((*of_layout, task.tile)) for of_layout in (result.layers if result else ())], []
    try:
        for job in task.jobs(layouts):
            excess += _excess_of(job)
            still()
    except KeyboardInterrupt:
        pass
    if not excess:
        return Share("f2", 0, 0, known.total, None, 0), []
    least = min(excess)
    free = result.free * (known.constant == 0) if known.decides else excess.count(0)
    return Share("f2", free, result.examined, known.total, least, result.bound), list(zip(layouts, excess))


def _ranked(task, plans, excess, limit, still):
    """The best Candidates. Operations are counted only if they can decide: for layouts that are no worse, in excess and
    waste, than number `limit`. still: called before each with (done, all of them); where it interrupts, those that are not
    counted come last among equals."""
    different = {}
    for (family, layout), x in zip(plans, excess):
        different.setdefault(layout, Candidate(family, layout, x, task.itemsize * (layout.cosize - task.tile.cosize),
                                               tuple(a.with_tile(layout) for a in task.accesses)))
    cost = {layout: (c.excess, c.wasted_bytes) for layout, c in different.items()}
    last = sorted(cost.values())[:limit][-1] if cost else None
    candidates, ops = [c for layout, c in different.items() if cost[layout] <= last], {}
    try:
        for done, candidate in enumerate(candidates):
            still(done, len(candidates))
            ops[candidate.layout] = candidate.ops
    except KeyboardInterrupt:
        pass
    return tuple(sorted(candidates, key=lambda c: (*cost[c.layout], ops.get(c.layout, inf), period(c.layout)))[:limit])
