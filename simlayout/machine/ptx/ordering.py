"""What strong accesses of a PTX program order (PTX ISA, Memory Consistency Model: release and acquire patterns).

A release pattern is a store or atomic that releases, or a fence and then a strong one; an acquire pattern is a load or
atomic that acquires, or a strong one and then a fence. Who reads what a release pattern wrote, or an atomic after it, by an
acquire pattern, knows what was done and known before it. Places are addresses: ints in global memory, (CTA, address) in
shared.
"""

from functools import reduce

import numpy as np

from simlayout.machine.engine.clocks import joined

ACQUIRES, RELEASES = ("acquire", "acq_rel"), ("release", "acq_rel")


class OrderTwins:
    """What strong accesses and fences of a PtxWarp make its threads know. value: what a lane reads or writes, bytes."""

    def begin_ordering(self):
        """Nobody has fenced, and nobody has read what others released."""
        self._fenced = {}, {}                            # lane -> (met, clock) of its last fence, and of its last one that
        self._read = {}                                  # is of more than its CTA; lane -> [(place, release)] since

    def fence_memory(self, scope):
        """membar or fence.sc, fence.acq_rel by the active lanes; scope: "cta" orders within the CTA alone."""
        if self.cta.shadow is None:
            return
        clocks = self.cta.clocks
        for lane in np.flatnonzero(self.active).tolist():
            thread = self.threads(np.array([lane]))
            for place, release in self._read.pop(lane, ()):
                if scope != "cta" or not isinstance(place.address, int):
                    place.acquire(clocks, thread, release)
            known = clocks.met, clocks.release(thread)
            for fences in self._fenced[:1] if scope == "cta" else self._fenced:
                fences[lane] = known

    def released_by_fences(self):
        """The clock of what fences of this warp have released to the cluster, None if nothing."""
        return reduce(joined, [clock for _, clock in self._fenced[1].values()], None)

    def strong_load(self, address, lane, value, order):
        """A strong load by a lane."""
        place = self.cta.launch.counters.at(address)
        if place.releases and place.releases[-1].value == value:
            self._acquire(place, lane, order)

    def strong_store(self, address, lane, value, order):
        """A strong store by a lane: what was released there before is over."""
        place = self.cta.launch.counters.at(address)
        as_of = self._as_of(address, lane, order)
        if as_of is None:
            place.releases.clear()
        else:
            place.release(self.cta.clocks, self.threads(np.array([lane])), value, True, *as_of)

    def strong_update(self, address, lane, found, left, order, access=None):
        """An atomic by a lane, which found a value and left one: it carries on what was released before. access: its Access
        of global memory."""
        place = self.cta.launch.counters.at(address)
        known = bool(place.releases) and place.releases[-1].value == found
        if known:
            self._acquire(place, lane, order)
        else:
            place.releases.clear()
        as_of = self._as_of(address, lane, order)
        if as_of is not None:
            place.release(self.cta.clocks, self.threads(np.array([lane])), left, not known, *as_of)
            if access is not None:
                access.released(lane, place.releases[-1])
        elif known:
            place.carry(left)

    def _acquire(self, place, lane, order):
        release = place.releases[-1]
        if order in ACQUIRES:
            place.acquire(self.cta.clocks, self.threads(np.array([lane])), release)
        else:
            self._read.setdefault(lane, []).append((place, release))

    def _as_of(self, address, lane, order):
        """(): the lane releases what it knows now; (met, clock): what it knew at its last fence; None: nothing."""
        if order in RELEASES:
            return ()
        return self._fenced[isinstance(address, int)].get(lane)
