"""The stages of a kernel in time where TMA fills them: when a chunk of K is requested, lands, is read and is released.

All of it follows from the Events that the machine reports (`simlayout.machine.Event`). A stage is where the loads of one
mbarrier land. Which chunk a wgmma or an ldmatrix reads follows from the bytes that it addresses, because the last chunk
that landed there is known.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.instructions import instruction
from simlayout.plots.timelines import Span, TmaTimeline, clocks, wavefronts
from simlayout.proofs.natural import CHUNK_BYTES

if TYPE_CHECKING:
    from simlayout.machine.engine.events import Event

BYTES_PER_CLOCK = 128
"""Bytes that shared memory takes from TMA, or gives to it, per clock: one access to each of its 32 banks."""

MANY = 64
"""Tiles that no grid of the CPU machine covers at once, if its CTAs stay."""


@typed()
def tma_timeline(events: Iterable["Event"], steps: int = 1, title: str = "",
                 cta: tuple[int, int, int] = (0, 0, 0)) -> TmaTimeline:
    """The TmaTimeline of a CTA from the Events of a run (`simlayout.machine.watching`).

    steps: chunks of K of a tile. What other CTAs do counts as far as it fills or frees the stages of this one. Raises
    SimlayoutError where TMA loads nothing.

    >>> from simlayout.machine import Event
    >>> cells = np.arange(64) * 16
    >>> events = [Event("load", "cp.async.bulk.tensor", (0, 0, 0), cells, mbarrier=4096),
    ...           Event("land", "cp.async.bulk.tensor", (0, 0, 0), cells, mbarrier=4096),
    ...           Event("read", "wgmma.m64n8k16.f32.f16.f16", (0, 0, 0), cells[:16], wavefronts=18)]
    >>> [(span.kind, span.start, span.end) for span in tma_timeline(events).spans]
    [('copy', 0, 8), ('read', 8, 26)]
    """
    cells = 1 + max((int(e.addresses.max()) // CHUNK_BYTES for e in events if e.addresses.size), default=0)
    ring, times = _Ring(cta, cells), clocks(_costs(events, cta))
    for event, start, end in zip(events, times.tolist(), times[1:].tolist()):
        ring.follow(event, start, end)
    if not ring.fills:
        raise SimlayoutError(f"TMA loads nothing into the shared memory of CTA {cta}: draw a kernel whose stages it fills")
    return TmaTimeline(title, len(ring.stages), int(times[-1]), tuple(ring.spans()), steps, ring.reader)


def of_tma_kernel(kernel, steps):
    """The TmaTimeline of a kernel whose operands TMA brings (a `cuda_kernels` HopperKernel), for so many K steps: of the
    first CTA, with the two tiles that it works on if it is persistent, else with one."""
    from simlayout.machine import execute, watching  # not above: the command line imports figures, and need not run it

    rows, columns, depth = kernel.plan.tile
    ctas = kernel.plan.predict(MANY * rows, columns, depth * steps).ctas // kernel.options.sharing
    tiles = 2 if ctas < MANY else 1
    height = rows * (2 * ctas if tiles == 2 else 1)
    a, b = (np.zeros((size, depth * steps), np.float16) for size in (height, columns))
    events, first = [], (0, 0, 0)
    with watching(lambda e: events.append(e) if e.cta == first or e.kind in ("wait", "phase", "load") else None):
        execute(kernel.work(a, b.T), hazards="off")
    of_tiles = f"{tiles} tiles of " if tiles > 1 else ""
    stages = f"{kernel.options.stages} stage{'s' * (kernel.options.stages > 1)}"
    title = f"{kernel.name}, {kernel.dtypes[0]}, {stages}, {of_tiles}{steps} K steps: shared memory of one CTA in time"
    return tma_timeline(events, steps, title)


def _costs(events, cta):
    """Clocks that each event takes of the shared memory of a CTA: int64 [n]."""
    costs = np.zeros(len(events), np.int64)
    mine = [(i, event) for i, event in enumerate(events) if event.cta == cta]
    accesses = [(i, event) for i, event in mine if event.kind == "access"]
    costs[[i for i, _ in accesses]] = wavefronts([(e.instruction, e.addresses, e.active) for _, e in accesses])
    for i, event in mine:
        if event.kind in ("land", "store"):
            costs[i] = -(-CHUNK_BYTES * len(event.addresses) // BYTES_PER_CLOCK)
        elif event.kind == "read":
            costs[i] = event.wavefronts
    return costs


@dataclass
class _Fill:
    """A chunk in a stage. issued: the clock at which it is requested; full: whether its mbarrier's phase is complete;
    copy, read: [start, end] clocks, or None; released: the clock, None if no mbarrier shows it."""

    stage: int
    chunk: int
    issued: int
    full: bool = False
    copy: list = field(default_factory=list)
    read: list = field(default_factory=list)
    released: int | None = None

    def spans(self):
        """Its Spans."""
        begun = (self.copy or self.read or [self.issued])[0]
        parts = [("wait", self.issued, begun), ("copy", *self.copy), ("wait", *self.copy[1:], *self.read[:1]),
                 ("read", *self.read), ("held", *self.read[1:], self.released)]
        return [Span(self.stage, part[0], self.chunk, *part[1:]) for part in parts
                if len(part) == 3 and None not in part and part[1] < part[2]]


def _grown(interval, start, end):
    """Makes a [start, end] cover another."""
    interval[:] = min([start, *interval[:1]]), max([end, *interval[1:]])


class _Ring:
    """The stages of a CTA as its events go by.

    stages: byte address of the mbarrier whose loads fill it -> stage, in the order in which they are first filled; fills:
    all _Fills in the order in which they were requested; stores: [start, end] of what else shared memory does.
    """

    def __init__(self, cta, cells):
        self.cta, self.stages, self.fills, self.stores, self.reader = cta, {}, [], [], "wgmma"
        self._holds = np.full(cells, -1)                 # number of the fill that landed last in each cell
        self._now, self._filling = {}, set()             # stage -> its _Fill; mbarriers of loads, of all CTAs
        self._waited, self._guards = {}, {}              # warp -> mbarrier of its last wait; mbarrier -> stages it guards

    def follow(self, event, start, end):
        """The next event, from one clock to another."""
        if event.kind == "wait":
            self._waited[event.warp] = event.cta, event.mbarrier
        elif event.kind == "phase":
            self._phase((event.cta, event.mbarrier), start)
        elif event.kind == "load":
            self._filling.add((event.cta, event.mbarrier))
        if event.cta == self.cta and event.kind in ("load", "land", "multiply", "read", "store", "access"):
            getattr(self, f"_{event.kind}")(event, start, end)

    def spans(self):
        """All Spans, in the order of their starts."""
        of_c = [Span(len(self.stages), "store", 0, *stored) for stored in self.stores]
        return sorted([s for fill in self.fills for s in fill.spans()] + of_c, key=lambda s: (s.start, s.stage))

    def _phase(self, mbarrier, start):
        """An mbarrier of loads says that a stage is full; one that a loading warp waits for, that it is released."""
        if mbarrier in self._filling:
            if mbarrier[0] == self.cta:
                self._now[self.stages[mbarrier[1]]].full = True
            return
        for stage in self._guards.get(mbarrier, ()):
            unreleased = (fill for fill in self.fills if fill.stage == stage and fill.read and fill.released is None)
            if oldest := next(unreleased, None):
                oldest.released = start

    def _load(self, event, start, end):
        stage = self.stages.setdefault(event.mbarrier, len(self.stages))
        if stage not in self._now or self._now[stage].full:
            self._now[stage] = _Fill(stage, len(self.fills), start)
            self.fills.append(self._now[stage])
        self._guards.setdefault(self._waited.get(event.warp), set()).add(stage)

    def _land(self, event, start, end):
        fill = self._now[self.stages[event.mbarrier]]
        _grown(fill.copy, start, end)
        self._holds[event.addresses // CHUNK_BYTES] = fill.chunk

    def _multiply(self, event, start, end):
        self._read_cells(event.addresses // CHUNK_BYTES, start, end)

    _read = _multiply

    def _store(self, event, start, end):
        """A store that follows directly becomes part of the same Span."""
        if self.stores and self.stores[-1][1] == start:
            self.stores[-1][1] = end
        else:
            self.stores.append([start, end])

    def _access(self, event, start, end):
        known = instruction(event.instruction)
        lanes = np.concatenate([np.array(group) for group in known.groups])
        cells = event.addresses[lanes if event.active is None else lanes[event.active[lanes]]] // CHUNK_BYTES
        if known.kind in ("load", "ldmatrix"):
            if self._read_cells(cells, start, end):
                self.reader = "ldmatrix" if known.kind == "ldmatrix" else known.name
                return
        else:
            self._holds[cells] = -1                      # no chunk is there any more
        self._store(event, start, end)

    def _read_cells(self, cells, start, end):
        """Notes that the chunks which lie there are read; returns them."""
        fills = [self.fills[i] for i in np.unique(self._holds[cells]).tolist() if i >= 0]
        for fill in fills:
            _grown(fill.read, start, end)
        return fills
