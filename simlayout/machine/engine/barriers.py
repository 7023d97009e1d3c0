"""Barriers among the warps of a CTA (PTX ISA: bar.sync), and among those of a cluster (barrier.cluster)."""

from dataclasses import dataclass
from functools import reduce

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.memory import PerLane
from simlayout.machine.hazards.clocks import joined
from simlayout.machine.hazards.scopes import CLUSTER

BARRIERS = 16
"""Named barriers of a CTA, numbered from 0 (PTX ISA: bar, barrier)."""


class Barrier:
    """A named barrier of a CTA: opens when the expected number of threads has arrived.

    `bar.sync 0` of the whole CTA makes everyone know everything; where a count of threads is named, the barrier collects
    the clocks of those who arrive, and gives them to each that waits, as it leaves.
    """

    def __init__(self, cta, id):
        self.cta, self.id = cta, id
        self.opened = self.arrived = 0
        self.expected, self._here = None, []             # _here: warps of the whole CTA that have arrived
        self._known = Knowledge()
        self.votes = {}                                  # of bar.red: how often it had opened -> what the threads said

    def arrive(self, warp, threads):
        """Counts a warp in; returns (ready, text) for Warp.block_until.

        threads: None for all of the CTA that have not ended (CUDA C++ Programming Guide, Synchronization Functions).
        """
        everyone, expected = threads is None, LANES * self.cta.running if threads is None else threads
        if expected % LANES or not 0 < expected <= self.cta.threads_padded:
            raise MachineError(f"bar.sync {self.id} of {expected} threads: a barrier takes a multiple of 32, at most "
                               f"the {self.cta.threads_padded} of the CTA")
        if self.arrived and (expected, everyone) != self.expected and not (everyone and self.expected[1]):
            raise MachineError(f"bar.sync {self.id} of {expected} threads while others wait there for "
                               f"{self.expected[0]}: give every warp the same number (all or none of them may leave it "
                               "out), or use another barrier id")
        self.expected = expected, everyone
        self.arrived += LANES
        turn, last = self.opened, self.arrived == expected
        if everyone:
            self._here.append(warp)
        elif self.cta.shadow is not None:
            self._known.arrive(warp, last)               # now: it may go on
        if last:
            self._open()
        return (lambda: self.opened > turn), f"bar.sync {self.id} of {expected} threads"

    def ended(self):
        """A warp of the CTA has ended: the others may be all that are waited for."""
        if self.arrived and self.expected[1] and self.arrived == LANES * self.cta.running:
            self._open()

    def _open(self):
        """All have come: each of them knows what the others did before."""
        here = self._here if self.cta.shadow is not None else ()
        if here and self.cta.alone and LANES * len(here) == self.cta.threads_padded:
            self.cta.clocks.meet()
            self.cta.shadow.met()
            meet_fences(here)
        else:
            for warp in here:
                self._known.arrive(warp, warp is here[-1])
            if here:
                self._tell_missing(here)
        self._here, self.arrived, self.opened = [], 0, self.opened + 1
        self.cta.meetings += 1
        self.cta.tell("barrier", f"bar.sync {self.id}")

    def _tell_missing(self, here):
        """The warps that have ended did not come to where the others have met."""
        missing = {*range(self.cta.threads_padded // LANES)} - {warp.warp_index for warp in here}
        self.cta.launch.log.missed(self.cta.index, missing, here[0].site)

    def leave(self, warp):
        """The warp goes on, and knows what the others did before they arrived."""
        self._known.leave(warp)


class ClusterBarrier:
    """barrier.cluster among all `warps` warps of a cluster."""

    def __init__(self, warps):
        self.warps, self.arrived, self.opened = warps, 0, 0
        self._known = Knowledge()

    def arrive(self, warp, relaxed=False):
        """As Barrier.arrive. relaxed: it hands on only what a fence of the warp has released."""
        self.arrived += 1
        turn, last = self.opened, self.arrived == self.warps
        if warp.cta.shadow is not None:
            self._known.arrive(warp, last, relaxed)
        if last:
            self.arrived, self.opened = 0, turn + 1
        return (lambda: self.opened > turn), f"barrier.cluster of {self.warps} warps"

    def leave(self, warp, relaxed=False):
        """As Barrier.leave."""
        self._known.leave(warp, relaxed)


class GridBarrier:
    """The barrier of a whole grid: opens when all warps that have not ended have arrived, and at least one of every CTA, as
    that of the CUDA runtime, in which the threads of each CTA meet first. warps: of all CTAs that run at the same time."""

    def __init__(self, warps):
        self.warps, self.opened = warps, 0
        self._left, self._here, self._known = warps, [], Knowledge()

    def arrive(self, warp):
        """As Barrier.arrive."""
        self._here.append(warp)
        turn = self.opened
        return (lambda: self.opened > turn or self._open()), f"the synchronization of the grid of {self.warps} warps"

    def ended(self, cta):
        """A warp of a CTA has ended."""
        self._left -= bool(cta.running)

    def _open(self):
        """Opens, if all have come; returns whether it does."""
        if len(self._here) < self._left:
            return False
        for warp in self._here if self._here[0].cta.shadow is not None else ():
            self._known.arrive(warp, warp is self._here[-1])
        self._here, self.opened = [], self.opened + 1
        return True

    def leave(self, warp):
        """As Barrier.leave."""
        self._known.leave(warp)


class Turn:
    """What those who arrive hand on until a barrier opens: a clock, or None if it orders nothing; mbarriers: those whose
    init it orders; fences: `Warp.fences`."""

    def __init__(self):
        self.clock, self.mbarriers, self.fences = None, [], None


class Knowledge:
    """What those who arrive at a barrier did and knew, for those who leave it."""

    def __init__(self):
        self._turn, self._leaving = Turn(), {}           # _leaving: warp number -> the Turn that it arrived in
        self._came = {}                                  # warp number -> what its CTA's shadow had entered as it arrived

    def arrive(self, warp, last, relaxed=False):
        """A warp arrives; after the last one each may leave. relaxed: only what its fences have released is handed on."""
        turn, threads = self._turn, warp.threads(warp.lane)
        turn.clock = joined(turn.clock, warp.released_by_fences(CLUSTER) if relaxed else warp.cta.clocks.release(threads))
        turn.mbarriers += warp.fenced_mbarriers() if relaxed else ()
        turn.fences = both(turn.fences, None if relaxed else warp.fences())
        self._leaving[warp.number], self._came[warp.number] = turn, warp.cta.shadow.serial
        if last:
            self._turn = Turn()

    def leave(self, warp, relaxed=False):
        """A warp goes on, and knows what the others did before they arrived."""
        if warp.number in self._leaving:
            turn, threads = self._leaving.pop(warp.number), warp.threads(warp.lane)
            if turn.clock is not None:
                warp.cta.clocks.acquire(threads, turn.clock)
            for mbarrier in turn.mbarriers:
                mbarrier.handed_on(threads)
            if turn.fences is not None:
                warp.take_fences(turn.fences)
            if not relaxed:
                warp.cta.shadow.met_in_warp(warp.number, self._came[warp.number])


def meet_fences(warps):
    """Warps have met: each takes what the fences of all hand on."""
    fences = reduce(both, (warp.fences() for warp in warps))
    if fences is not None:
        for warp in warps:
            warp.take_fences(fences)


def both(one, other):
    """What two `Warp.fences` hand on together; None is nothing."""
    return one if other is None else other if one is None else one.joined(other)


@dataclass(frozen=True)
class Arrival:
    """What an arrival says besides: count: how many arrivals it is, uniform or int [32]; drop: whether later phases take so
    many fewer; incomplete: whether it promises that the phase does not complete; relaxed: whether it hands nothing on;
    reach: how far its scope does (see `scopes`)."""

    count: PerLane = 1
    drop: bool = False
    incomplete: bool = False
    relaxed: bool = False
    reach: int = CLUSTER


ONCE = Arrival()
