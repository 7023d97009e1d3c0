"""Counters in global memory with which CTAs order their work: atomics that release and acquire, and waits that acquire.

PTX ISA, Memory Consistency Model: what a thread did and knew before it released at an address is known to who acquires there
later. Strong accesses do not race with one another; with plain ones they do, as plain ones among themselves.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.global_memory import GlobalPointer
from simlayout.machine.engine.lanes import WarpPart
from simlayout.machine.engine.memory import PerLane


class AtomicTwins(WarpPart):
    """What a Warp does with counters: GlobalPointers, 4 bytes each, uniform or lane by lane."""

    def atomic_add(self, pointer: GlobalPointer, value: PerLane) -> np.ndarray:
        """atom.add.acq_rel.gpu.u32: int64 [32], what each active lane found; lane by lane."""
        held = np.zeros(LANES, np.int64)
        added = np.broadcast_to(np.asarray(value), LANES)
        for lane in np.flatnonzero(self.active).tolist():
            one, thread = self.lane == lane, self.threads(np.array([lane]))
            held[lane] = pointer.peek(one, 4).view(np.uint32)[lane, 0]
            data = np.zeros((LANES, 1), np.uint32)
            data[lane] = (held[lane] + added[lane]) & 0xFFFFFFFF
            place = self._counter(pointer, lane)
            if place is not None and place.releases:     # whose atomics come before this one, not only before what follows
                place.acquire(self.cta.clocks, thread, place.releases[-1])
            pointer.write(one, data.view(np.uint8), strong=True)
            if place is not None:
                place.release(self.cta.clocks, thread, int(data[lane, 0]))
        self.polled(pointer.addresses(), held)
        return held

    def wait_at_least(self, pointer: GlobalPointer, value: PerLane) -> None:
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
                place = self._counter(pointer, lane)
                release = _first_to_reach(int(wanted[lane]), place.releases)
                if release is not None:
                    place.acquire(self.cta.clocks, self.threads(np.array([lane])), release)

    def _counter(self, pointer, lane):
        """What was released where a lane points; None where nobody looks for hazards."""
        if self.cta.shadow is None:
            return None
        return self.cta.launch.counters.at(pointer.start + int(pointer.addresses()[lane]))


def _first_to_reach(wanted, releases):
    """The Release with which a counter that only grows reached a value; None if no release did.

    That is all that whoever waits for the value may count on, however late it looks. (A plain store may have set the counter
    back in between: then what came before does not count.)

    >>> from types import SimpleNamespace as Release
    >>> [_first_to_reach(2, [Release(value=value, number=number) for number, value in enumerate(values)]).number
    ...  for values in ((1, 2, 3), (2, 1, 2))]
    [1, 2]
    """
    first = None
    for release in reversed(releases):
        if release.value < wanted or first is not None and release.value >= first.value:
            break
        first = release
    return first
