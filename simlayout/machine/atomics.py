"""Counters in global memory with which CTAs order their work: atomics that release and acquire, and waits that acquire.

PTX ISA, Memory Consistency Model: what a thread did and knew before it released at an address is known to who acquires there
later. Strong accesses do not race with one another; with plain ones they do, as plain ones among themselves.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.clocks import joined


class AtomicTwins:
    """What a Warp does with counters: GlobalPointers, 4 bytes each, uniform or lane by lane."""

    def atomic_add(self, pointer, value):
        """atom.add.acq_rel.gpu.u32: int64 [32], what each active lane found; lane by lane."""
        held = np.zeros(LANES, np.int64)
        added = np.broadcast_to(np.asarray(value), LANES)
        for lane in np.flatnonzero(self.active).tolist():
            one, thread = self.lane == lane, self.threads(np.array([lane]))
            held[lane] = pointer.peek(one, 4).view(np.uint32)[lane, 0]
            data = np.zeros((LANES, 1), np.uint32)
            data[lane] = (held[lane] + added[lane]) & 0xFFFFFFFF
            releases = None if self.cta.shadow is None else self._releases(pointer, lane)
            if releases:                                 # whose atomics come before this one, not only before what follows
                self.cta.clocks.acquire(thread, releases[-1][1])
            pointer.write(one, data.view(np.uint8), strong=True)
            if releases is not None:
                clock = self.cta.clocks.release(thread)
                releases.append((int(data[lane, 0]), joined(releases[-1][1] if releases else None, clock)))
        return held

    def wait_at_least(self, pointer, value):
        """ld.acquire.gpu.u32 again and again, until every active lane has found at least `value`."""
        wanted = np.broadcast_to(np.asarray(value), LANES)

        def present():
            return pointer.peek(self.active, 4).view(np.uint32)[self.active, 0]

        def text():
            return (f"{pointer}, which holds {int(present().min())}, to reach {int(wanted[self.active].max())}"
                    f"{self._not_there()}")

        self.block_until(lambda: bool((present() >= wanted[self.active]).all()), text)
        pointer.read(self.active, 4, strong=True)
        if self.cta.shadow is not None:
            for lane in np.flatnonzero(self.active).tolist():
                known = _first_to_reach(int(wanted[lane]), self._releases(pointer, lane))
                if known is not None:
                    self.cta.clocks.acquire(self.threads(np.array([lane])), known)

    def _not_there(self):
        left = self.cta.launch.not_started
        return f" ({left} CTAs of the grid are not resident: a cooperative launch is together=True)" if left else ""

    def _releases(self, pointer, lane):
        """[(the counter's value then, the clock of all that was released until then)] at an address, oldest first.

        Clocks of CTAs that do not run at the same time have nothing in common.
        """
        key = self.cta.clocks.serial, pointer.start + int(pointer.addresses()[lane])
        return self.cta.launch.released.setdefault(key, [])


def _first_to_reach(wanted, releases):
    """The clock of the release with which a counter that only grows reached a value; None if no release did.

    That is all that whoever waits for the value may count on, however late it looks. (A plain store may have set the counter
    back in between: then what came before does not count.)

    >>> _first_to_reach(2, [(1, "a"), (2, "b"), (3, "c")]), _first_to_reach(2, [(2, "a"), (1, "b"), (2, "c")])
    ('b', 'c')
    """
    clock, above = None, None
    for value, known in reversed(releases):
        if value < wanted or above is not None and value >= above:
            break
        clock, above = known, value
    return clock
