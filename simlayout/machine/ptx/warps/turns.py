"""The turns of a PtxWarp: until it waits, ends, or has run for long."""

import numpy as np

from simlayout.errors import TOGETHER, MachineError
from simlayout.machine.engine.waiting import AnyOf, Poll, waits_of
from simlayout.machine.ptx.warps.parts import PATIENCE

TURN = 32
"""Instructions after which a warp lets the others go on: so warps stay about as close to one another as on a GPU, and what a
program does that orders them nowhere comes out as it mostly does there."""

LONG = 4096
"""The same of a warp that runs alone."""

IDLE = 1 << 14
"""Instructions that a warp executes without changing memory before the machine looks whether it is in a loop for good."""

LONGEST_LOOP = 2048
"""Steps of the longest loop that is recognized then."""

NO_WAY_OUT = "the end of a loop that has none: it reads nothing that may change (the compiler reads a plain variable once)"
"""What a warp waits for in such a loop."""

MOST_POLLS = 1000
"""How often in a row a warp may ask in vain (mbarrier.test_wait) and go on, before that is a deadlock."""

ASKING = 1 << 15
"""Instructions that it may execute meanwhile without changing memory, before that is a deadlock: a wait of libcu++ that nvcc
-G has translated takes 700 for each time that it asks."""


class PtxTurns:
    """What runs a PtxWarp, for `scheduler.run_residents`. limit: instructions that it may execute in all; left: those that
    are left."""

    def __init__(self, warp, limit):
        self.warp, self.finished, self.left, self._limit = warp, False, limit, limit
        self._changes, self._idle = -1, 0                # changes in memory when last seen; steps since they grew
        self._given_up, self._asking = 0, 0              # how often in a row it has gone on without what it asked for, and
        #                                                  steps since then, or since they grew

    @property
    def can_run(self):
        """Whether lanes of the warp have not ended, and none of them waits for anything."""
        warp = self.warp
        return bool(warp.parts) and warp.is_free and warp.waiting is None and self.left > TURN

    @property
    def asks(self):
        """Whether it goes on without what it asks for (mbarrier.test_wait)."""
        return self._given_up > 0

    def has_run(self, steps):
        """Steps of the warp have been executed elsewhere."""
        self._spend(steps)
        self._idle += steps
        self._asking += steps

    def _spend(self, steps):
        self.left -= steps
        doubts = self.warp.cta.launch.doubts
        if doubts is not None:
            doubts.check_executed(self._limit - self.left)

    def resume(self):
        """Runs the warp until it waits, ends, or has run for long."""
        warp = self.warp
        if warp.polls:
            self._give_up(warp)
        warp.waiting, warp.polls, warp.idle, warp.watches_time = None, False, False, False
        before = self.left
        with np.errstate(all="ignore"):
            self._run(LONG if warp.is_lone else TURN)
            if warp.cta.launch.changes != self._changes:
                self._changes, self._idle = warp.cta.launch.changes, 0
                self._asking = 0
            self._idle += before - self.left
            self._asking += before - self.left
            if self._idle > IDLE and not self.finished and warp.waiting is None:
                self._idle = 0
                self._look_for_a_loop()

    def goes_round(self, reads, watches_time):
        """The warp is in a loop that only another warp's change, or time that passes, can end: it waits for that. reads,
        watches_time: whether it, or those that go round with it, look at memory, and at a clock."""
        warp, launch = self.warp, self.warp.cta.launch
        changes = launch.changes
        warp.stand_at(warp.program.steps[warp.parts[0].at])
        warp.polls = warp.idle = True
        warp.watches_time = watches_time
        warp.waiting = (lambda: launch.changes != changes), warp.poll_text if reads else NO_WAY_OUT, None

    def _run(self, budget, watched=None):
        """Runs at most so many steps; watched: called before each part runs, with it, ends the run by returning True."""
        warp, most_steps, running = self.warp, budget, self.warp.running
        while warp.parts and budget > 0:
            part = warp.next_part()
            if budget < most_steps and watched is None and running.gathers and running.stands(warp):
                break
            if part is None:
                self._wait()
                return
            if part.waits is not None:
                warp.resume(part)
                continue
            if watched is not None and watched(part):
                return
            most = 1 if watched is not None else budget
            done = warp.run_part(part, min(most, self.left))
            budget -= done
            self._spend(done)
            if warp.spins and len(warp.parts) == 1 and watched is None:
                warp.spins = False                       # another warp may have to go on first
                break
            if self.left <= 0 and warp.parts:
                warp.stand_at(warp.program.steps[warp.parts[0].at])
                raise MachineError(f"the warp has executed {self._limit} instructions and does not end: if it should, pass "
                                   f"a larger limit=; if it waits for another CTA, {TOGETHER}")
        self.finished = not warp.parts

    def _look_for_a_loop(self):
        """Nothing in memory has changed for long. If the warp comes back to where it stands now, and all registers that
        decide what it did on the way hold the same, it will go on like that until another warp changes something, or time
        passes."""
        warp, launch = self.warp, self.warp.cta.launch
        changes, clock = launch.changes, launch.clock
        start, steps, rows, way, seen = warp.state_of_parts(), warp.steps_run, warp.rows.copy(), set(), False

        def again(part):
            nonlocal seen
            if way and warp.state_of_parts() == start and warp.have_run_since(steps) and not warp.program.meets_others(way):
                which = warp.program.deciding(way)
                seen = np.array_equal(rows[which], warp.rows[which])
            way.add(part.at)                             # not where others stand, as in front of a barrier
            return seen

        able = sum(not part.parked and part.waits is None for part in warp.parts)
        self._run(LONGEST_LOOP + PATIENCE * able * (able > 1), again)
        if seen and launch.changes == changes:
            self.goes_round(any(warp.program.steps[at].run is not None for at in way), launch.clock != clock)
            self._idle = IDLE * warp.watches_time        # is looked at again as soon as time has passed

    def _wait(self):
        waiting = [part for part in self.warp.parts if part.waits is not None]
        if not waiting:
            self.warp.stuck()
        waits = [part.waits[0] for part in waiting]
        _, text, mbarrier = waits[0]
        self.warp.stand_at(self.warp.program.steps[waiting[0].at])
        self.warp.waiting = AnyOf(waits), text, mbarrier
        self.warp.polls = any(isinstance(ready, Poll) for ready, _, _ in waits)
        self.warp.idle = self._given_up >= MOST_POLLS or self._given_up > 0 and self._asking > ASKING
        self.warp.watches_time = self.warp.polls and self.warp.program.reads_clocks

    def _give_up(self, warp):
        """Goes on without what a part asks for, if the turn came without it."""
        asked = [ready for ready, _, _ in waits_of(warp) if isinstance(ready, Poll)]
        if warp.waiting[0]():
            self._given_up = self._asking = 0
        elif asked:
            self._given_up, asked[0].given_up = self._given_up + 1, True

    def cancel(self):
        """Nothing is left behind."""
