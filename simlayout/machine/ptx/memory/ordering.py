"""What strong accesses of a PTX program order (PTX ISA, Memory Consistency Model: release and acquire patterns).

A release pattern is one of: a store or atomic that releases; such a one, followed by a strong store or atomic of the same
place; a fence, followed by a strong store or atomic. An acquire pattern is one of: a load or atomic that acquires; a strong
load, followed by such a one of the same place; a strong load, followed by a fence. Whoever reads by an acquire pattern what
a release pattern wrote, or an atomic after it, knows what was done and known before the release. Places are addresses: ints
in global memory, (CTA, address) in shared.
"""

from functools import reduce
from typing import NamedTuple

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.clocks import joined
from simlayout.machine.hazards.kinds import ATOMICS, Flag
from simlayout.machine.hazards.scopes import GPU, home_of
from simlayout.machine.ptx.memory.published import Did, Store

ACQUIRES, RELEASES = ("acquire", "acq_rel"), ("release", "acq_rel")


class _Phases:
    """Of mbarriers, in the place of a `releases.Place`."""

    @staticmethod
    def acquire(clocks, threads, phase, home, reach):
        """`threads` know what those knew who arrived in a Phase."""
        clocks.acquire(threads, phase.clock)


class Fences(NamedTuple):
    """What fence.sc's of the GPU hand on through a barrier. made: (met, clock) of what was done and known before some of
    them; seen: {place: release} of what was read last and not fenced yet.

    A thread writes, and fences; another one that met it writes a flag; who reads that, or meets who did, fences, and reads:
    that the second fence came first would contradict that the flag was read, so the first one did, and they synchronize
    (PTX ISA, Memory Consistency Model: Fence-SC order, Causality). So does PyTorch's reduction: __threadfence() by all, then
    __syncthreads(), then one counts. That the other fence is a fence.sc too is not asked for.
    """

    made: tuple | None
    seen: dict

    def joined(self, other):
        """The Fences of both."""
        return Fences(_both(self.made, other.made), self.seen | other.seen)


def _both(one, other):
    """(met, clock) of what two of them say; None says nothing."""
    if one is None or other is None or one is other:
        return one or other
    met = one[0] if one[0] is other[0] else [*map(min, zip(one[0], other[0], strict=True))]
    return met, joined(one[1], other[1])


class OrderTwins:
    """What strong accesses and fences of a PtxWarp make its threads know. value: what a lane reads or writes, bytes."""

    def begin_ordering(self):
        """Nobody has fenced, and nobody has read what others released."""
        self._fenced = {}, {}, {}                        # lane -> (met, clock) of its last fence: of a CTA, CLUSTER, GPU
        self._read = {}                                  # lane -> {(place, release): None} since its last fence of the GPU
        self._gave = {}                                  # (lane, place) -> what it has released there last, see `_releases`
        self._handed = {}                                # lane -> {place: release} of others, until its next fence.sc
        self._made = self._taken = None                  # Fences.made: of this warp and those that it met; of these alone

    def fence_memory(self, reach, sequential):
        """membar, fence.sc or fence.acq_rel by the active lanes. reach: how far its scope does; sequential: as of
        `scopes.is_sequential`."""
        if self.cta.shadow is None:
            return
        clocks, made = self.cta.clocks, self._made
        for lane in np.flatnonzero(self.active).tolist():
            thread = self.threads(np.array([lane]))
            for place, release in self._read.get(lane, ()) if reach < GPU else self._read.pop(lane, ()):
                place.acquire(clocks, thread, release, home_of(self.cta), reach)
            for place, release in self._handed.pop(lane, {}).items() if sequential else ():
                place.acquire(clocks, thread, release, home_of(self.cta), reach)
            known = clocks.met, clocks.release(thread)
            for fences in self._fenced[:reach + 1]:
                fences[lane] = known
            made = _both(made, known) if sequential else made
        self._made = made

    def fences(self, lanes=None):
        """As of Warp. Of some lanes, what all of the warp have met."""
        if not self.program.is_sequential or self._made is None and not self._read and not self._handed:
            return None
        every = lanes is None or len(lanes) == np.count_nonzero(self.present)
        lanes = range(LANES) if every else lanes.tolist()
        seen = {place: release for lane in lanes for place, release in self._handed.get(lane, {}).items()}
        seen |= {place: release for lane in lanes for place, release in self._read.get(lane, ())}
        return Fences(self._made if every else self._taken, seen)

    def take_fences(self, fences, some=None):
        """As of Warp."""
        lanes = (np.flatnonzero(self.present) if some is None else some).tolist()
        for lane in lanes if fences.seen else ():
            self._handed.setdefault(lane, {}).update(fences.seen)
        if some is not None:
            self._made = _both(self._made, fences.made)
            if len(some) == np.count_nonzero(self.present):
                self._taken = _both(self._taken, fences.made)
            for known in self._fenced if fences.made is not None else ():
                known |= {lane: _both(known.get(lane), fences.made) for lane in lanes}
        elif fences.made is not None and fences.made is not self._taken:
            self._made, made = fences.made, {}           # made: what several lanes know is made once
            for known in self._fenced:
                for lane in lanes:
                    before = known.get(lane)
                    if id(before) not in made:
                        made[id(before)] = before, _both(before, fences.made)
                    known[lane] = made[id(before)][1]
            self._taken = fences.made

    def released_by_fences(self, reach, lanes=None):
        """As of MbarrierTwins."""
        clocks = [clock for lane, (_, clock) in self._fenced[reach].items() if lanes is None or lane in lanes]
        return reduce(joined, clocks, None)

    def seen_relaxed(self, lanes, phase):
        """As of MbarrierTwins."""
        for lane in lanes.tolist():
            self._read.setdefault(lane, {})[_Phases, phase] = None

    def orders_nothing(self, order):
        """Whether an access surely hands on nothing, and nothing is handed on to it."""
        quiet = self.cta.launch.counters.quiet and order not in RELEASES
        return quiet and not any(self._fenced) and not self._gave and not any(self.program.publishes)

    def strong_load(self, address, lane, value, order):
        """A strong load by a lane."""
        place = self.cta.launch.counters.at(address)
        if place.releases and place.releases[-1].value == value:
            self._acquire(place, lane, order)
        if self._publishes(address):
            self._look_at_published(address, lane, value)

    def strong_store(self, address, lane, value, order):
        """A strong store by a lane: what was released there before is over."""
        if self._publishes(address):
            self._publish(address, lane, value, order)
        place = self.cta.launch.counters.at(address)
        known = self._releases(lane, order, place)
        place.releases.clear()
        if known[GPU] is not None:
            place.release(self.cta.clocks, self.threads(np.array([lane])), value, True, *known[GPU])
        if self.program.orders_nearby:
            place.nearby(value, home_of(self.cta), known)

    def strong_update(self, address, lane, found, left, order, access=None):
        """An atomic by a lane, which found a value and left one: it carries on what was released before. access: its Access
        of global memory."""
        if self._publishes(address):
            if self.doing.waits:
                self.running.published.saw(address, found, self.cta.clocks, LANES * self.number + lane, False)
            self._publish(address, lane, left, order, self.running.published.found(address, found), False)
        place = self.cta.launch.counters.at(address)
        last = place.releases[-1] if place.releases and place.releases[-1].value == found else None
        if last is not None:
            self._acquire(place, lane, order)
        else:
            place.releases.clear()
        known = self._releases(lane, order, place)
        if known[GPU] is not None:
            starts = last is None or not last.counter
            place.release(self.cta.clocks, self.threads(np.array([lane])), left, starts, *known[GPU])
            if access is not None:
                access.released(lane, place.releases[-1])
        elif last is not None:
            place.carry(left)
        if self.program.orders_nearby:
            place.nearby(left, home_of(self.cta), known, () if last is None else last.nearby)

    def _publishes(self, address):
        """Whether somebody may wait for what is stored at an address: nobody does for what is in shared memory, as of warps
        that reduce in step, where all flags are in global memory."""
        return self.program.publishes[isinstance(address, tuple)]

    def _publish(self, address, lane, value, order, before=None, data=True):
        """A lane leaves a value where others may wait for it: see `published`."""
        clocks, thread = self.cta.clocks, LANES * self.number + lane
        epoch, knew = clocks.epochs[self.number], (clocks.met, clocks.release(np.array([thread])))
        fenced = [knew if order in RELEASES and reach <= self.reach else known.get(lane)
                  for reach, known in enumerate(self._fenced)]
        store = Store(value, self.place([lane]), home_of(self.cta), thread, epoch, knew, fenced, before, data)
        self.running.published.stored(address, store)

    def _look_at_published(self, address, lane, value):
        """A lane reads a value: a flag that it waits for, or data, of which it may know by a flag alone."""
        clocks, thread = self.cta.clocks, LANES * self.number + lane
        if self.doing.waits:
            self.running.published.saw(address, value, clocks, thread, True)
            return
        found = self.running.published.unfenced(address, value, self.cta, thread)
        if found is None or self._knows_of(found[0], lane):
            return
        data, *flag = found
        flag = Flag(flag[0].place, flag[1])
        between = "the load that has waited for it and this one" if flag.fenced else "these two stores"
        bytes, memory = self.bytes_at(address, len(value))
        self.cta.launch.log.add("missing fence", data.place, self.place([lane]), bytes, memory, flag,
                                between=between)

    def flag_behind(self, group, thread, epoch, lanes):
        """As of Polling."""
        found = self.running.published.flag_of(Did(group, thread, epoch), self.cta, self.threads(np.array(lanes)))
        if found is None:
            return ATOMICS if self.program.asks else None
        store, fenced = found
        return Flag(store.place, fenced, "cta" if store.home == home_of(self.cta) else "gl")

    def _knows_of(self, store, lane):
        """Whether a Store happens before what a lane does now."""
        clocks = self.cta.clocks
        if store.home[0] == clocks.serial:
            thread = self.threads(np.array([lane]))
            return bool(clocks.ordered(np.array([store.thread]), store.epoch, thread)[0])
        released = self.cta.launch.counters.released.get(store.home[0])
        if released is None:
            return False
        _, counters, numbers = released.covering(np.array([store.thread]), store.epoch)
        return bool((clocks.counted_by(self.number, counters)[lane] >= numbers).any())

    def _acquire(self, place, lane, order):
        release = place.releases[-1]
        if order in ACQUIRES:
            earlier = [known for at, known in self._read.get(lane, ()) if at is place]
            for known in dict.fromkeys([*earlier, release]):
                place.acquire(self.cta.clocks, self.threads(np.array([lane])), known, home_of(self.cta), self.reach)
        if order not in ACQUIRES or self.reach < GPU:
            self._read.setdefault(lane, {})[place, release] = None

    def _releases(self, lane, order, place):
        """What the lane releases at a Place to its CTA, its cluster, the GPU: (met, clock) of now, or of its last fence and
        what it has released there before, or None."""
        known, clocks, reach = [fences.get(lane) for fences in self._fenced], self.cta.clocks, self.reach
        if (lane, place) in self._gave and not (order in RELEASES and reach == GPU):
            known = [*map(_both, self._gave[lane, place], known)]
        if order in RELEASES:
            known[:reach + 1] = [(clocks.met, clocks.release(self.threads(np.array([lane]))))] * (reach + 1)
            self._gave[lane, place] = known
        return known
