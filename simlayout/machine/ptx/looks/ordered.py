"""The quick look at programs in which more than barriers of the whole CTA orders what happens: mbarriers, barriers of some
warps, engines that copy and multiply.

Who is ordered with whom the clocks know, as they do where shadows look (see `hazards.clocks`). In the place of the shadow of
a CTA's shared memory is a Look, which is told of the same, and notes of each cell only who touched it last: what may be
wrong by that is a Doubt. Plain loads and stores are looked at in the compiled loop. Global memory is looked at as in all
quick looks, where threads of a CTA are ordered by barriers of all of it; what an engine does there is ordered with nothing.
"""

from functools import cached_property

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.clocks import IN_SHARED
from simlayout.machine.hazards.global_access import STRONG, WRITES
from simlayout.machine.hazards.proxies import CELL as UNIT
from simlayout.machine.ptx.looks.doubts import Doubt, Doubts
from simlayout.machine.ptx.memory.held import INTERVAL
from simlayout.machine.ptx.memory.marks import ALL, MIXED, MOST_INTERVALS

MOST_ENGINES = 64
"""Engines that read shared memory: each has a number of its own for each of its units."""

NEVER = 1 << 40
"""The number of what an engine reads until that is known: as of no clock."""

_EVERYTHING, _NOTHING = np.zeros((0, 1), bool), np.zeros(0, np.int64)


class OrderedDoubts(Doubts):
    """As Doubts, of a program that `understood.is_ordered`. Where an access may race is the end.

    compiled: the module `compiled.ordered`; copies: what engines have written to global memory, by 1 + the index that each
    cell of `owners` has."""

    clocked = True

    def __init__(self, program, space, tolerates, look, compiled):
        super().__init__(program, space, False, tolerates, look)
        self.compiled = compiled
        self.owners, self.copies = np.zeros(len(self.everywhere[0]), np.int32), []
        self._of, self._looks = None, ()                 # of how much memory and how many warps the tables of a Look are

    def look_at(self, cta):
        """The Look at the shared memory of a Cta, which begins."""
        size, warps = cta.shared.size, len(cta.clocks.epochs)
        if self._of != (size, warps):
            cells, units = (size >> self.cell) + 1, -(-size // UNIT) + 1
            self._of = size, warps
            self._looks = (np.zeros(cells, np.int64), np.zeros(cells, np.uint32), np.zeros((cells, warps), np.int64),
                           np.zeros((cells, warps), np.int64), np.zeros((MOST_ENGINES, units), np.int32))
        else:
            for table in self._looks:
                table[:] = 0
        return Look(self, cta, *self._looks)

    def shared_of(self, cta):
        """As of Doubts: nothing is there, because a Look knows."""
        return self.shared_tables(0)

    def update_shared(self, warp, where, nbytes):
        """As of Doubts."""
        raise Doubt("an atomic of shared memory")

    def look(self, what, warp, at, nbytes, lanes):
        """As of Doubts: a Look has been told of it."""

    def missed(self, cta, missing, site):
        """As of HazardLog."""
        raise Doubt("a barrier that warps which have ended did not come to")

    def global_of(self, allocation):
        """The GlobalLook of an Allocation."""
        return GlobalLook(self, allocation.launch, allocation.root[0])

    def at_global(self, what, warp, addresses, lanes, nbytes):
        """Lanes (int [n]) of a warp do something to nbytes each at addresses in this process, int64 [n]."""
        at, mask = np.zeros((1, LANES), np.int64), np.zeros(LANES, bool)
        at[0, lanes], mask[lanes] = self.bytes_at(addresses), True
        self._looked(what, warp, at, nbytes, mask, self.everywhere)

    def bytes_at(self, addresses):
        """int64 [n], bytes from the start of all memory, of addresses in this process. Raises Doubt where there is none."""
        self.check_arrays()
        starts, ends, cells = self._places
        which = np.searchsorted(starts, addresses, "right") - 1
        if (which < 0).any() or (addresses >= ends[which]).any():
            raise Doubt("memory that no array has")
        return addresses - starts[which] + cells[which]

    @cached_property
    def _places(self):
        """int64 [arrays] each, by address in this process: where arrays begin and end, and their bytes from the start of all
        memory."""
        rows = sorted((here, here + size, cells) for _, size, here, _, cells in self._ranges)
        return [np.array(column, np.int64) for column in zip(*rows, strict=True)] if rows else [_NOTHING] * 3


class Entered:
    """In the place of an Access of global memory: of an engine, its column in the clocks with that serial number; number: of
    what it did, once that is known. strong: whether it is a reduction."""

    number = epoch = None

    def __init__(self, engine=None, serial=None, strong=False):
        self.engine, self.serial, self.strong = engine, serial, strong

    def released(self, lane, release):
        """As of Access."""

    def is_over(self, clocks, threads):
        """Whether threads of a CTA, by its clocks, know that the engine has done this."""
        return (clocks.serial == self.serial and self.number is not None
                and bool(clocks.knows(threads, self.engine, self.number).all()))


class GlobalLook:
    """In the place of a GlobalShadow. start: where in this process the memory begins."""

    def __init__(self, doubts, launch, start):
        self._doubts, self._launch, self._start = doubts, launch, start

    def read(self, positions, lanes, nbytes, alignment, allocation, strong=False, copies=False, width=None):
        """As of GlobalShadow."""
        each = len(positions) // len(np.unique(lanes))   # elements of a vector
        for i in range(each):
            self._look("GLOBAL_READS", positions[i::each], lanes[i::each], nbytes)
        return Entered()

    def wrote(self, positions, lanes, store, alignment, allocation):
        """As of GlobalShadow; atomics are looked at otherwise."""
        if not store.strong:
            self._look("GLOBAL_WRITES", positions, lanes, store.data.shape[1])
        return Entered()

    def _look(self, what, positions, lanes, nbytes):
        self._doubts.at_global(what, self._launch.running, self._start + positions, lanes, nbytes)

    def enter(self, rows, unit, lanes, kind, allocation, copies=False, agent=None, instruction=None, stored=None):
        """As of GlobalShadow, of an engine: what it touches nobody may touch otherwise before or after."""
        doubts, shift = self._doubts, self._doubts.cell
        at = doubts.bytes_at(self._start + rows * unit)
        first, last = at >> shift, at + unit - 1 >> shift
        cells = (first[:, None] + np.arange(int((last - first).max()) + 1)).reshape(-1)
        wrote, read, updated, by = doubts.everywhere
        warp, strong = self._launch.running, bool(kind & STRONG)
        clocks, threads = warp.cta.clocks, warp.threads(np.unique(lanes))
        entered = Entered(agent.engine, clocks.serial, strong)
        before = wrote[cells]
        if before.any() and not (kind & WRITES and self._comes_after(cells[before != 0], clocks, threads, strong)):
            raise Doubt("a copy from or to global memory that something else writes")
        if len(updated) and updated[cells].any() or kind & WRITES and read[cells].any():
            raise Doubt("a copy from or to global memory that something else touches")
        if kind & WRITES:
            doubts.copies.append(Entered(strong=True) if strong and before.any() else entered)
            wrote[cells], by[cells], doubts.owners[cells] = ALL, MIXED, len(doubts.copies)
        else:
            read[cells] = ALL
        return entered

    def _comes_after(self, cells, clocks, threads, strong):
        """Whether a write by threads (int [n]) comes after those of cells by engines, or all are reductions."""
        doubts = self._doubts
        last = [doubts.copies[owner - 1] if owner else None for owner in np.unique(doubts.owners[cells]).tolist()]
        return all(one is not None and (one.is_over(clocks, threads) or one.strong and strong) for one in last)


class Look:
    """In the place of the SharedShadow of a Cta that is a cluster by itself. doubts: the OrderedDoubts; the rest: as of
    `compiled.ordered`, zeros. serial: the number of the last write."""

    def __init__(self, doubts, cta, wrote, by, read, writers, reading):
        ordered, clocks = doubts.compiled, cta.clocks
        self._doubts, self._do, self._cell, self._cta, self._clocks = doubts, ordered, doubts.cell, cta, clocks
        self._wrote, self._reading = wrote, reading
        self._met, self._epochs = np.array(clocks.met, np.int64), np.array(clocks.epochs, np.int64)
        self._known, self._was_met = None, clocks.met
        self._engines, self._columns = {}, np.zeros(MOST_ENGINES, np.int64)      # agent -> which it is
        self._numbers, self._count, self._open = np.zeros(256, np.int64), 0, []  # open: (index, Touch) without a number
        self._inits, self.serial = {}, 0                 # serial of an mbarrier's init -> the marks of its cells
        self._table = table = np.zeros(ordered.FIELDS, np.int64)
        self._at = _address(table)
        table[[ordered.MET, ordered.EPOCHS, ordered.WROTE, ordered.BY, ordered.READ, ordered.WRITERS, ordered.READING,
               ordered.NUMBERS, ordered.COLUMNS]] = [_address(one) for one in (
                   self._met, self._epochs, wrote, by, read, writers, reading, self._numbers, self._columns)]
        table[ordered.WARPS], table[ordered.THREADS] = len(clocks.epochs), clocks.threads
        table[ordered.UNITS] = reading.shape[1]

    def ready(self):
        """Where in this process that is which compiled functions are given, as it is now."""
        clocks, do = self._clocks, self._do
        self._epochs[:] = clocks.epochs
        if clocks.met is not self._was_met:
            self._was_met = clocks.met
            self._met[:] = clocks.met
        if clocks.known is not self._known:
            self._known = known = clocks.known
            self._table[do.KNOWN], self._table[do.STRIDE] = _address(known), known.strides[1] // known.itemsize
        if self._open:
            for index, touch in self._open:
                if touch.number is not None:
                    self._numbers[index] = touch.number
            self._open = [one for one in self._open if one[1].number is None]
        return self._at

    def _touched(self, what, touch, used=_EVERYTHING, number=0):
        do, passed = self._do, None
        self.ready()
        if what in (do.ENGINE_READS, do.ENGINE_WRITES):
            known = self._known
            passed = None if known is None or len(known) <= IN_SHARED else known[IN_SHARED, touch.threads()].min(axis=0)
        self._table[do.FENCED] = 0 if passed is None else _address(passed)
        lanes = touch.lanes if touch.lanes.ndim > 1 else touch.lanes[:, None]
        how = do.touched(what, touch.rows, touch.nbytes, lanes, used, number, touch.warp.who, self._table)
        if how == do.UNWRITTEN and what == do.READS:
            self._doubts.reads_unwritten(touch.warp.part.at, touch.instruction)
        elif how != do.SURE:
            raise Doubt("shared memory of which a Look is not sure")
        self.serial += 1

    # ---- what happens: as of a SharedShadow ----------------------------------------------------------------------

    def read(self, touch):
        """A load, or ldmatrix."""
        self._touched(self._do.READS, touch)

    def write(self, touch):
        """A store, stmatrix, or the init of an mbarrier."""
        self._touched(self._do.WRITES, touch)
        if touch.instruction == "mbarrier.init":
            self._inits[self.serial] = self._marks(touch.rows[0] * touch.nbytes)
            self._clocks.epochs[touch.warp.number] += 1  # so that no other mark is the same

    def _marks(self, address):
        """The marks of an mbarrier's 8 bytes."""
        return self._wrote[address >> self._cell:address + 8 >> self._cell].tolist()

    def changed_by(self, address, serial):
        """A Doubt where something has changed an mbarrier."""
        if self._marks(address) != self._inits.get(serial):
            raise Doubt("an mbarrier that has been overwritten")

    def check(self, touch):
        """Something uses bytes that threads wrote."""
        self._touched(self._do.CHECKS, touch)

    def check_async_read(self, touch, used=None):
        """An engine is told to read."""
        self._touched(self._do.ENGINE_READS, touch, _EVERYTHING if used is None else used)

    def async_read(self, touch):
        """It begins to."""
        if touch.agent not in self._engines:
            if len(self._engines) == MOST_ENGINES:
                raise Doubt("many engines that read")
            self._columns[len(self._engines)] = touch.agent.engine
            self._engines[touch.agent] = len(self._engines)
            self._table[self._do.ENGINES] = len(self._engines)
        if self._count == len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
            self._table[self._do.NUMBERS] = _address(self._numbers)
        self._numbers[self._count] = NEVER
        self._open.append((self._count, touch))
        self._count += 1
        self._reading[self._engines[touch.agent], touch.rows] = self._count

    def issue(self, touch, generic=False):
        """A copy begins."""
        by_engine = touch.agent is not None and not generic
        self._touched(self._do.ENGINE_WRITES if by_engine else self._do.COPIES, touch)

    def land(self, touch, waited):
        """It has landed."""
        number = 0 if touch.agent is None else self._do.mark_of(touch.number, 1 + touch.agent.engine)
        self._touched(self._do.LANDS, touch, number=number)

    def given(self, at, nbytes):
        """Bytes that have been written before the CTA began: before all epochs."""
        self._wrote[-(-at >> self._cell):at + nbytes >> self._cell] = self._do.mark_of(0, 1)

    def atomic(self, *_):
        """Not here, nor what engines reduce, or where lanes collide."""
        raise Doubt("what is not looked at")

    reduce = collided = atomic

    def met(self):
        """Clocks know; global memory is looked at by the interval."""
        intervals = self._cta.held.who[:, INTERVAL]
        intervals += 1
        if intervals[0] >= MOST_INTERVALS:
            raise Doubt("more barriers than are told apart")

    def met_in_warp(self, warp, serial):
        """Clocks know."""

    def exchanged_in_warp(self, warp):
        """What lanes of a warp do in no order is in doubt all the same."""

    def settle(self):
        """Nothing is open."""


def _address(array):
    return array.__array_interface__["data"][0]
