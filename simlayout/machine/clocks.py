"""Which of two accesses came first on every GPU: vector clocks over the threads of a CTA.

Every access belongs to an *epoch* of its warp; a warp's epoch ends whenever it releases (arrives at a barrier). Thread t
*knows* thread u up to an epoch: all that u did until then happens before whatever t does next. What makes threads know
is a release by some and an acquire by others of what was released, and nothing else:

    bar.sync by the whole CTA      meet()                                     everyone knows everything so far
    bar.sync by some warps         release by each arrival, acquire by each that leaves
    bar.warp.sync                  release and acquire by the same lanes

An edge that is added later (mbarrier, cluster barrier) is a release into a clock kept with that object, and an acquire
from it. Divergence, reconvergence and the `.sync` of ldmatrix, mma or shfl are no edges: PTX promises no order there.
"""

import numpy as np

from simlayout.machine.tags import LANES


class Clocks:
    """Who knows whom in one CTA of `warps` warps. Thread ids are ints, 32 * warp + lane.

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
        self.threads = warps * LANES
        self.epochs = [1] * warps
        self._met = [1] * warps                          # everyone knows all epochs before these
        self._known = None                               # int32 [t, u]: t knows u up to this epoch; made when needed

    def ordered(self, before, epoch, after):
        """bool [n]: whether what threads `before` (of one warp) did in `epoch` happens before what `after` do now."""
        if epoch < self._met[before[0] // LANES]:
            return np.full(len(before), True)
        same = before == after                           # program order
        return same if self._known is None else same | (self._known[after, before] >= epoch)

    def warps_ordered(self, before, epoch, after):
        """Whether all that the lanes of warp `before` did in `epoch` happens before what any lane of `after` does now."""
        if epoch < self._met[before]:
            return True
        if self._known is None:
            return False
        known = self._known[LANES * after:LANES * (after + 1), LANES * before:LANES * (before + 1)]
        return bool(known.min() >= epoch)

    def release(self, threads):
        """The clock of what `threads` (int [n], of one warp) did and know: int32 [all threads]. Ends their epoch."""
        clock = self._table()[threads].max(axis=0)
        warp = int(threads[0]) // LANES
        clock[threads] = self.epochs[warp]
        self.epochs[warp] += 1
        return clock

    def acquire(self, threads, clock):
        """`threads` know what the clock knows, from now on."""
        known = self._table()
        known[threads] = np.maximum(known[threads], clock)

    def meet(self):
        """Everyone knows everything so far: a barrier of the whole CTA."""
        self.epochs = [epoch + 1 for epoch in self.epochs]
        self._met = list(self.epochs)

    def _table(self):
        if self._known is None:
            self._known = np.zeros((self.threads, self.threads), np.int32)
        return self._known
