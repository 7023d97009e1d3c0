"""Counters in global memory with which CTAs order their work: atomics that release and acquire, and waits that acquire.

PTX ISA, Memory Consistency Model: what a thread did and knew before it released at an address is known to who acquires there
later. Strong accesses do not race with one another; with plain ones they do, as plain ones among themselves.
"""

import numpy as np

from simlayout.machine.clocks import joined
from simlayout.machine.tags import LANES


class AtomicTwins:
    """What a Warp does with counters: GlobalPointers, 4 bytes each, uniform or lane by lane."""

    def atomic_add(self, pointer, value):
        """atom.add.acq_rel.gpu.u32: int64 [32], what each active lane found; lane by lane."""
        held = np.zeros(LANES, np.int64)
        added = np.broadcast_to(np.asarray(value), LANES)
        for lane in np.flatnonzero(self.active).tolist():
            one = self.lane == lane
            held[lane] = pointer.read(one, 4, strong=True).view(np.uint32)[lane, 0]
            self._acquire(pointer, one)
            data = np.zeros((LANES, 1), np.uint32)
            data[lane] = (held[lane] + added[lane]) & 0xFFFFFFFF
            pointer.write(one, data.view(np.uint8), strong=True)
            self._release(pointer, one)
        return held

    def wait_at_least(self, pointer, value):
        """ld.acquire.gpu.u32 again and again, until every active lane has found at least `value`."""
        wanted = np.broadcast_to(np.asarray(value), LANES)[self.active]

        def found():
            return pointer.read(self.active, 4, strong=True).view(np.uint32)[self.active, 0]

        def text():
            return f"{pointer}, which holds {int(found().min())}, to reach {int(wanted.max())}{self._not_there()}"

        self.block_until(lambda: bool((found() >= wanted).all()), text)
        self._acquire(pointer, self.active)

    def _not_there(self):
        left = self.cta.launch.not_started
        return f" ({left} CTAs of the grid are not resident: a cooperative launch is together=True)" if left else ""

    def _acquire(self, pointer, lanes):
        if self.cta.shadow is None:
            return
        for lane in np.flatnonzero(lanes).tolist():
            known = self.cta.launch.released.get(self._key(pointer, lane))
            if known is not None:
                self.cta.clocks.acquire(self.threads(np.array([lane])), known)

    def _release(self, pointer, lanes):
        if self.cta.shadow is None:
            return
        for lane in np.flatnonzero(lanes).tolist():
            released, key = self.cta.launch.released, self._key(pointer, lane)
            released[key] = joined(released.get(key), self.cta.clocks.release(self.threads(np.array([lane]))))

    def _key(self, pointer, lane):
        """Clocks of CTAs that do not run at the same time have nothing in common."""
        return self.cta.clocks.serial, pointer.memory, int(pointer.addresses()[lane])
