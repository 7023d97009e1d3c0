"""Launches that go round in a circle: all warps are back where they were, and registers and memory hold the same again.

Such a launch does not end: CTAs that wait for one which runs only after them do so. A single warp in a loop that changes
nothing is found by itself (`turns`); here are warps that meet at a barrier on the way, or that store what is there already.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

FIRST = 64
"""Rounds of turns after which a state is kept for the first time; the next ones are kept after twice as many each."""


@dataclass(frozen=True)
class State:
    """How a round began, to compare later ones with.

    ready: the numbers of the warps that could run; places: of each that has not ended, as `Parts.state_of_parts`
    rows, steps: its registers, and how many steps it had executed; executed: how often each step had been
    memory: of the CTAs, as `_memory` gives it; held: a digest of global memory
    """

    ready: list
    places: list
    rows: list
    steps: list
    executed: np.ndarray
    memory: list
    held: bytes


class Circles:
    """Compares the rounds of a launch. program, launch, space: its Program, Launch and GlobalSpace.

    One state at a time is kept, and later ones are compared with it (Brent's way of finding a cycle): first where warps
    stand, then the registers that decide what was done since, then memory.
    """

    def __init__(self, program: Any, launch: Any, space: Any):
        self._program, self._launch, self._space, self._last = program, launch, space, None
        self._begin(None)

    def _begin(self, residents):
        self._residents, self._rounds, self._kept, self._next = residents, 0, None, FIRST

    def closed(self, ready: list, todo: list) -> bool:
        """Whether a new round begins as an earlier one did. ready, todo: the PtxTurns that can run, and all that have not
        ended, of CTAs that run at the same time: one that waits now may have counted something on the way. The search
        begins anew where other CTAs run than before, and after each circle, because time may pass or copies may come."""
        if any(turn.asks for turn in ready):
            return False                                 # it is told what they ask for
        able, warps = [turn.warp for turn in ready], [turn.warp for turn in todo]
        if warps[0].cta.grid_barrier is not self._residents:
            self._begin(warps[0].cta.grid_barrier)
        self._rounds += 1
        if self._rounds >= self._next:
            if not _under_way(warps):
                self._keep(able, warps)
        elif self._kept is not None and self._is_as_kept(able, warps):
            if self._held() == self._kept.held:
                self._tell_change(warps)
                self._begin(self._residents)
                return True
            self._kept = None                            # global memory differs: it is not looked at each time
        return False

    def _tell_change(self, warps):
        """Tells the launch of a change, where these go round otherwise than those before: time that has passed since got
        them on, as it does where they try something for a while, so many times."""
        state = _numbers(warps), self._kept.places, [warp.rows[self._deciding].tobytes() for warp in warps]
        self._launch.changes += state != self._last
        self._last = state

    @property
    def reads(self) -> bool:
        """Whether memory is looked at on the way round."""
        way = [self._program.steps[at] for at in np.flatnonzero(self._way)]
        return any(step.run is not None and not step.name.startswith("bar") for step in way)

    def _keep(self, able, warps):
        self._kept = State(_numbers(able), _places(warps), [warp.rows.copy() for warp in warps],
                           [warp.steps_run for warp in warps], self._program.executed.copy(), _memory(warps), self._held())
        self._way, self._deciding, self._next = None, None, 2 * self._rounds

    def _is_as_kept(self, able, warps):
        """Whether places, registers and the memory of CTAs are as they were, nothing is under way, and all lanes that can
        have run."""
        kept = self._kept
        if len(warps) != len(kept.places) or _numbers(able) != kept.ready or _places(warps) != kept.places:
            return False
        rows = self._decide()
        return (all(np.array_equal(warp.rows[rows], before[rows]) for warp, before in zip(warps, kept.rows))
                and all(warp.have_run_since(before) for warp, before in zip(warps, kept.steps) if warp in able)
                and _memory(warps) == kept.memory and not _under_way(warps))

    def _decide(self):
        """The rows that decide what steps have done since the state was kept."""
        way = self._program.executed != self._kept.executed
        if self._way is None or not np.array_equal(way, self._way):
            self._way, self._deciding = way, self._program.deciding({*np.flatnonzero(way).tolist()})
        return self._deciding

    def _held(self):
        """What global memory holds, as a digest."""
        digest = blake2b()
        for memory in self._space.writeable():
            digest.update(memory)
        return digest.digest()


def _numbers(warps):
    return [warp.number for warp in warps]


def _places(warps):
    return [warp.state_of_parts() for warp in warps]


def _memory(warps):
    """What local and shared memory hold, mbarriers are at, has come to barriers, and registers nobody has."""
    return [warp.local.tobytes() for warp in warps] + [
        (cta.shared.bytes.tobytes(), cta.arrivals(), cta.cluster.barrier.arrived, cta.free_registers,
         [(at, one.number % 2, one.count, one.pending, one.bytes) for at, one in cta.mbarriers.items()])
        for cta in _ctas(warps)]


def _under_way(warps):
    """Whether copies are: what they bring is in no memory yet."""
    return (any(warp.copies.under_way() for warp in warps)
            or any(one.loads for cta in _ctas(warps) for one in cta.mbarriers.values()))


def _ctas(warps):
    """The CTAs of warps, each once."""
    return {id(warp.cta): warp.cta for warp in warps}.values()
