"""Which of two accesses came first on every GPU: vector clocks over the threads of a CTA, or of a cluster.

Every access belongs to an *epoch* of its warp; a warp's epoch ends whenever it releases (arrives at a barrier). Thread t
*knows* thread u up to an epoch: all that u did until then happens before whatever t does next. What makes threads know
is a release by some and an acquire by others of what was released, and nothing else:

    bar.sync by the whole CTA      meet()                                     everyone knows everything so far
    bar.sync by some warps         release by each arrival, acquire by each that leaves
    bar.warp.sync                  release and acquire by the same lanes
    mbarrier                       release by each arrival, acquire by each wait of what came before its phase completed
    barrier.cluster                release and acquire by all threads of the cluster; arrive.relaxed releases what a fence
                                   before it has released, and nothing else

An *engine* is what works beside the threads: the copies that complete on an mbarrier, the wgmma of a warpgroup, the bulk
stores of a thread. What it does is numbered, and done in that order; threads know an engine up to a number. What CTAs that
have ended released at a counter in global memory is numbered too, and has a column as an engine has (see `releases`).

The async proxy sees what threads write only after a fence.proxy.async of that memory on the way: so each thread also has
clocks of what has passed a fence. Divergence, reconvergence and the `.sync` of ldmatrix or mma are no edges: PTX promises
no order there. Nor does it where lanes exchange values (shfl, vote, match, redux). But there a lane cannot go on before the
others have given theirs, and CUDA's cooperative groups rely on it: in a tile of several warps one lane acquires, and others
read what is ready behind a shuffle. So what a lane has acquired of other warps is known to those that it exchanges values
with, and a note says that no promise is behind it (`hand_on`); what lanes of one warp do is ordered by bar.warp.sync alone.
"""

from itertools import count

import numpy as np

from simlayout.hardware.tables.arch import LANES

ENGINES = 32
"""Columns of the table that are added at a time."""

SPARE = 512
"""Columns for engines that the table has room for from the beginning: what no access touches costs no memory."""

IN_SHARED, IN_GLOBAL = 1, 2
"""Planes of a clock: what has passed a fence.proxy.async of shared memory, and of global memory."""

HANDED_ON = ("shuffle or vote behind which lanes know what one of them has acquired: PTX promises no order there, and a "
             "bar.warp.sync does (__syncwarp())")
"""The note of what `Clocks.hand_on` has handed on."""

_serials = count()


class Clocks:
    """Who knows whom among `warps` warps. Thread ids are ints, 32 * warp + lane. serial: tells clocks from others; epochs:
    the present one of each warp; met: that before which everyone knows everything, a list that is replaced, never changed;
    counters: those that CTAs which have ended released -> their column; released: (counter, number) -> the clock of that
    release by these threads.

    >>> clocks = Clocks(2)
    >>> epoch = clocks.epochs[0]                                 # thread 3 does something now ...
    >>> clocks.ordered(np.array([3]), epoch, np.array([40])).tolist()
    [False]
    >>> seen = clocks.release(np.arange(32))                     # ... its warp arrives, the other one leaves
    >>> clocks.acquire(np.arange(32, 64), seen)
    >>> clocks.ordered(np.array([3]), epoch, np.array([40])).tolist()
    [True]
    """

    def __init__(self, warps):
        self.threads, self.serial = warps * LANES, next(_serials)
        self.epochs = [1] * warps
        self.met = [1] * warps                           # everyone knows all epochs before these
        self.counters, self.released, self._engines = {}, {}, 0
        self._learned, self._handed = 0, {}              # how often somebody has learned; threads -> at hand_on
        self._room = None        # what `known` is the beginning of: more engines and a second plane copy nothing
        self.known = None       # int32 [plane, t, u]: t knows u (a thread or an engine) up to this; made when needed.
        #                          Planes IN_SHARED, IN_GLOBAL, made by fences: the same of what has passed a fence

    def ordered(self, before, epoch, after):
        """bool [n]: whether what threads `before` (of one warp) did in `epoch` happens before what `after` do now."""
        if epoch < self.met[before[0] // LANES]:
            return np.full(len(before), True)
        same = before == after                           # program order
        return same if self.known is None else same | (self.known[0, after, before] >= epoch)

    def warps_ordered(self, before, epoch, after):
        """Whether all that the lanes of warp `before` did in `epoch` happens before what any lane of `after` does now."""
        if epoch < self.met[before]:
            return True
        if self.known is None:
            return False
        return bool(self._between(before, after).min() >= epoch)

    def any_ordered(self, before, epoch, after):
        """Whether anything that a lane of warp `before` did in `epoch` happens before what some lane of `after` does now."""
        if epoch < self.met[before] or before == after:
            return True
        return self.known is not None and bool(self._between(before, after).max() >= epoch)

    def _between(self, before, after):
        """What the lanes of warp `after` know of those of `before`."""
        return self.known[0, LANES * after:LANES * (after + 1), LANES * before:LANES * (before + 1)]

    def ordered_before(self, before, epoch, after):
        """bool [before]: whether what threads `before` (of one warp) did in `epoch` happens before what any of `after` does
        now."""
        if epoch < self.met[before[0] // LANES]:
            return np.full(len(before), True)
        known = 0 if self.known is None else self.known[0, after[:, None], before]
        return ((known >= epoch) | (before == after[:, None])).all(axis=0)

    def unordered(self, before, epochs, after):
        """bool [n]: what of threads `before` did each in its epoch that does not happen before what thread `after` does
        now."""
        known = 0 if self.known is None else self.known[0, after, before]
        return (epochs >= np.array(self.met)[before // LANES]) & (known < epochs) & (before != after)

    def release(self, threads):
        """The clock of what `threads` (int [n], of one warp) did and know: int32 [planes, columns]. Ends their epoch."""
        clock = self._table()[:, threads].max(axis=1)
        warp = int(threads[0]) // LANES
        clock[0, threads] = self.epochs[warp]
        self.epochs[warp] += 1
        return clock

    def acquire(self, threads, clock):
        """`threads` know what the clock knows, from now on."""
        planes, columns = clock.shape
        self._learned += 1
        known = self._table(planes)
        for plane in range(planes):
            known[plane, threads, :columns] = np.maximum(known[plane, threads, :columns], clock[plane])

    def hand_on(self, threads):
        """Threads of one warp (int [n]) have exchanged values; returns whether one knew what another did not."""
        who, own = threads.tobytes(), int(threads[0]) // LANES * LANES
        if self._handed.get(who) == self._learned:
            return False
        self._handed[who] = self._learned
        known = self._table()[0, threads]
        most = known.max(axis=0)
        most[own:own + LANES] = 0                        # known[...] stays as it is
        if (known >= most).all():
            return False
        self.known[0, threads] = np.maximum(known, most)
        return True

    def meet(self):
        """Everyone knows everything so far: a barrier of the whole CTA."""
        self.epochs = [epoch + 1 for epoch in self.epochs]
        self.met = list(self.epochs)
        if self.known is not None:
            if self._engines:
                self.known[0, :, self.threads:] = self.known[0, :, self.threads:].max(axis=0)
            for passed in self.known[1:]:
                passed[:] = passed.max(axis=0)

    # ---- engines and the async proxy -----------------------------------------------------------------------------

    def engine(self):
        """The column of a new engine."""
        self._engines += 1
        self._table()
        return self.threads + self._engines - 1

    def learn(self, threads, engine, number):
        """`threads` know that an engine has done what it did up to `number`."""
        self._learned += 1
        known = self._table()
        known[0, threads, engine] = np.maximum(known[0, threads, engine], number)

    def knows(self, threads, engine, number):
        """bool [n]: which of `threads` know that the engine has done `number`."""
        return self._table()[0, threads, engine] >= number

    def fence(self, threads, planes=(IN_SHARED, IN_GLOBAL)):
        """fence.proxy.async by `threads` (of one warp): what they know so far has passed a fence of shared memory, of global
        memory, or both. Ends their epoch."""
        known, warp = self._table(max(planes) + 1), int(threads[0]) // LANES
        seen = np.maximum(known[0, threads, :self.threads], np.repeat(np.array(self.met, np.int32) - 1, LANES))
        seen[np.arange(len(threads)), threads] = self.epochs[warp]
        for plane in planes:
            known[plane, threads, :self.threads] = np.maximum(known[plane, threads, :self.threads], seen)
            for column in self.counters.values():
                known[plane, threads, column] = np.maximum(known[plane, threads, column], known[0, threads, column])
        self.epochs[warp] += 1

    def fenced(self, before, epoch, after, plane=IN_SHARED):
        """bool [before, after]: whether what threads `before` did in `epoch` passed a fence before what `after` do now."""
        if self.known is None or len(self.known) <= plane:
            return np.full((len(before), len(after)), False)
        return self.known[plane][after[None, :], before[:, None]] >= epoch

    # ---- counters ------------------------------------------------------------------------------------------------

    def learn_counters(self, threads, plane, counters, numbers):
        """`threads` (int [n]) know counters (int [m]) up to numbers (int [m]); plane: as of `fence`, or 0."""
        self._learned += 1
        for counter in counters.tolist():
            if counter not in self.counters:
                self.counters[counter] = self.engine()
        known, at = self._table(plane + 1), (threads[:, None], [self.counters[counter] for counter in counters.tolist()])
        known[plane][at] = np.maximum(known[plane][at], numbers)

    def counted(self, clock):
        """What a clock knows of counters: (counters, numbers), int32 [n] each, for each of its planes."""
        of = np.array([(counter, column) for counter, column in self.counters.items() if column < clock.shape[1]], np.int32)
        return [(of[plane[of[:, 1]] > 0, 0], plane[of[:, 1]][plane[of[:, 1]] > 0]) for plane in clock] if of.size else ()

    def counted_by(self, warp, counters, plane=0):
        """int32 [32, n]: the numbers up to which the lanes of a warp know counters (int [n])."""
        known = self.known
        if known is None or len(known) <= plane:
            return np.zeros((LANES, len(counters)), np.int32)
        columns = np.array([self.counters.get(counter, -1) for counter in counters.tolist()], np.int64)
        return np.where(columns < 0, 0, known[plane, LANES * warp:LANES * (warp + 1)][:, columns])

    def _table(self, planes=1):
        """The table, of so many planes at least, with a column for every engine."""
        known, columns = self.known, self.threads + -(-self._engines // ENGINES) * ENGINES
        if known is not None and known.shape[2] >= columns and len(known) >= planes:
            return known
        room, used = self._room, 0 if known is None else known.shape[2]
        if room is None or room.shape[2] < columns:
            self._room = np.zeros((3, self.threads, max(self.threads + SPARE, columns + columns // 4)), np.int32)
            if known is not None:
                self._room[:len(known), :, :used] = known
        planes = planes if known is None else max(planes, len(known))
        self.known = self._room[:planes, :, :max(columns, used)]
        return self.known


def joined(one, other):
    """The clock of what either knows; None knows nothing.

    >>> joined(np.array([[1, 5]]), np.array([[3, 2, 1], [0, 4, 0]])).tolist()
    [[3, 5, 1], [0, 4, 0]]
    """
    if one is None or other is None:
        return other if one is None else one
    both = np.zeros(np.maximum(one.shape, other.shape), np.int32)
    for clock in (one, other):
        part = both[:clock.shape[0], :clock.shape[1]]
        np.maximum(part, clock, out=part)
    return both
