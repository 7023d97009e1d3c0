"""Parts of a warp: lanes that have parted, how they run, and where they meet again.

Each part stands at one place of the program. The part that is furthest back in the program's order (`passes.flow`) runs
until it reaches another one; then they go on as one. So lanes meet again where their ways do. A part that stands while
others run for long gets its turn too, since threads are independent: a lane that spins waits for one that stands.
"""

import numpy as np

from simlayout.errors import AddressError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.kinds import error, hazard
from simlayout.machine.hazards.units import named
from simlayout.machine.ptx.looks.doubts import Doubt
from simlayout.machine.ptx.opcodes.warps import everyone
from simlayout.machine.ptx.warps.meetings import meet

PATIENCE = 4096
"""Instructions that others run while a part stands that could go on, before it has its turn, which is as long."""

_ZERO, _ONES = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)

EVERYONE = np.full(LANES, True)
EVERYONE.setflags(write=False)


class Part:
    """Lanes at one place. lanes: bool [32]; at: index of the next step; ran: when it last ran, in steps of the warp.

    waits: what a step waits for ((ready, text, mbarrier), and the generator that goes on then), or None; parked: whether it
    stands at a step that needs other lanes.
    """

    __slots__ = ("lanes", "at", "ran", "waits", "parked", "_mask")

    def __init__(self, lanes, at, ran):
        self.lanes, self.at, self.ran, self.waits, self.parked, self._mask = lanes, at, ran, None, False, None

    @property
    def mask(self):
        """uint64 [32]: all ones for its lanes."""
        if self._mask is None or self._mask[0] is not self.lanes:
            self._mask = self.lanes, np.where(self.lanes, _ONES, _ZERO)
        return self._mask[1]


class Parts:
    """The parts of a PtxWarp, and how it executes them."""

    def begin_parts(self):
        """All lanes are at the start."""
        self.steps_run, self._favourite, self._favoured_until = 0, None, 0
        self.spins, self._looked = False, None           # whether it has read again what nobody has changed
        self._early = ~EVERYONE                          # lanes that have had their turn before their place in the order
        self.parts = [Part(self.present, self.program.start, 0)] if self.present.any() else []

    # ---- one part ------------------------------------------------------------------------------------------------

    def lanes_of(self, step, lanes):
        """bool [32]: of these lanes those for which the guard of a step holds."""
        if step.guard is None:
            return lanes
        holds = self.rows[step.guard] != step.negated
        return holds if lanes is EVERYONE else holds & lanes

    def run_part(self, part, patience):
        """Runs a part until it waits, parts, ends, or comes to where another one may be; at most so many steps. Returns how
        many it has run."""
        loop = self.running.loop
        if loop is not None:
            done = self._run_parts(loop, part, patience)
            if done:
                return done
            done = self._run_compiled(loop, part, patience)
        else:
            done = self._run_in_numpy(part, min(patience, PATIENCE))
            self.running.warm(done)
        self.steps_run += done
        part.ran = self.steps_run
        return done

    def _run_parts(self, loop, part, patience):
        """The same of all parts, where nothing keeps any of them; 0 where `part` is at a step that is not compiled."""
        if not loop.is_compiled(part.at) or not self.is_free:
            return 0
        return loop.run_parts(self, patience)

    @property
    def is_free(self):
        """Whether no part waits, stands for others, or has its turn before its place in the order."""
        return self._favourite is None and all(part.waits is None and not part.parked for part in self.parts)

    def set_parts(self, at, lanes, ran):
        """All parts are at other places, and may have other lanes: lists, and bool [n, 32]. Lanes of none have ended."""
        for part, mine in zip(self.parts, lanes):
            if (part.lanes != mine).any():
                part.lanes = mine
        del self.parts[len(at):]
        self.parts += [Part(mine, 0, 0) for mine in lanes[len(self.parts):]]
        for part, place, when in zip(self.parts, at, ran):
            part.at, part.ran = place, when
        ended = self.present & ~lanes.any(axis=0)
        if ended.any():
            self.exit(ended)

    def _run_compiled(self, loop, part, patience):
        """As `run_part`: what is compiled, then a step that is not, in NumPy, and so on until what comes is compiled again:
        then all parts may go on at once."""
        places, total = self.program.places, 0
        while total < patience:
            limit = self._nearest(part)
            if len(self.parts) > 1 and self.cta.launch.doubts is not None:
                self._check_passed(part)
            total += loop.run(self, part, limit, patience - total)
            if total >= patience:
                break
            if total and (places[part.at] >= limit or self.running.gathers and self.running.stands(self)):
                break                                    # but after one step at least: another part may wait here
            total += 1
            if not self._run_step(part) or places[part.at] >= limit or loop.is_compiled(part.at):
                break
        return total

    def _run_step(self, part):
        """Executes the step at which a part is, in NumPy; returns whether the part goes on at once."""
        step = self.program.steps[part.at]
        self.program.executed[part.at] += 1
        active = self.lanes_of(step, part.lanes)
        if step.compute is None:
            return self._special(part, step, active)
        step.compute(self.rows, None if active.all() else active)
        part.at += 1
        return True

    def _run_in_numpy(self, part, patience):
        steps, executed, rows = self.program.steps, self.program.executed, self.rows
        places, limit = self.program.places, self._nearest(part)
        lanes = EVERYONE if part.lanes.all() else part.lanes
        at = part.at
        for done in range(1, patience + 1):
            step = steps[at]
            executed[at] += 1
            active = self.lanes_of(step, lanes) if step.guard is not None else lanes
            if step.compute is not None:
                if active is lanes or active.any():
                    step.compute(rows, None if active is EVERYONE else active)
                at += 1
            else:
                part.at = at
                if not self._special(part, step, active):
                    return done
                at = part.at
            if places[at] >= limit:
                break
        part.at = at
        return done

    def stand_at(self, step):
        """Says that a step is in progress."""
        self.site, self.caller, self.doing = step.site, step.caller, step

    def _special(self, part, step, active):
        """Executes a step that is more than arithmetic; returns whether the part goes on at once."""
        self.part = part
        self.stand_at(step)
        if active is not self.active:
            self.narrow(active)
        if step.jump is not None:
            return step.jump(self, part, active)
        if not self.count:
            part.at += 1
            return True
        if step.memory is not None and self.cta.looks_by_barriers:
            raise Doubt(f"{step.where()}: an access that is not compiled")
        if len(self.parts) > 1:
            self._check_skipped(part)
        if step.together and not self._all_here(part, step, active):
            return False
        try:
            steps = step.run(self)
        except AddressError as error:
            steps = self._leave_out(error)
        if steps is None:
            part.at += 1
            return not self.spins
        return self.go_on(part, steps)

    def _leave_out(self, error):
        """The step in progress is not done, because of an AddressError: that is reported, or raised."""
        log = self.cta.launch.log
        if log is None or not log.reports:
            raise error
        log.add("bad address", None, self.place(np.flatnonzero(self.active)), detail=str(error))

    def looked(self):
        """The step in progress has read memory that others change. When it does so again, and nothing has changed, the lanes
        that run may be waiting for those that stand."""
        now = self.part.at, self.cta.launch.changes
        self.spins = now == self._looked
        self._looked = now

    def go_on(self, part, steps):
        """Runs what a step does until it must wait; returns whether it is done."""
        try:
            for wait in steps:
                part.waits = (*wait, None)[:3], steps
                return False
        except AddressError as error:
            self._leave_out(error)
        part.waits, part.at = None, part.at + 1
        return True

    def resume(self, part):
        """Goes on with the step that a part waited in."""
        (_, steps), part.waits = part.waits, None
        step = self.program.steps[part.at]
        self.part = part
        self.stand_at(step)
        self.narrow(self.lanes_of(step, part.lanes))
        self.go_on(part, steps)

    def _all_here(self, part, step, active):
        """Whether the lanes that a step needs have come; else the part stands until they do."""
        if step.together is everyone and len(self.parts) == 1 and active is part.lanes:
            return True                                  # all that have not ended
        lacking = step.together(self, active) & self.present & ~active
        if not lacking.any():
            return True
        if step.exchange is not None and meet(self, part, active):
            return False
        part.parked, part.ran = True, self.steps_run
        self.program.executed[part.at] -= 1              # it will be executed when they have come
        return False

    def _check_skipped(self, part):
        """Reports lanes that do something beyond a barrier at which others of their warp stand: they have gone past it."""
        other = self._passed(part)
        if other is not None:
            where = self.program.steps[part.at].where()
            self._diverged(other, f"{_those(part.lanes, 'has', 'have')} gone past it, to {where}")

    def _check_passed(self, part):
        """The same, of lanes that may do so by compiled steps, is a Doubt; those that end there do nothing."""
        if self.program.steps[part.at].jump is None and self._passed(part) is not None:
            raise Doubt(f"{self.program.steps[part.at].where()}: lanes beyond a barrier at which others stand")

    def _passed(self, part):
        """A part that stands at a barrier which this one has gone past, or None. One that is there before its turn may be a
        round of a loop ahead of this one."""
        program = self.program
        for other in self.parts:
            if (other.parked and program.steps[other.at].aligned and program.places[part.at] > program.places[other.at]
                    and program.follows(other.at, part.at)
                    and not ((other.lanes & self._early).any() and program.follows(part.at, other.at))):
                return other
        return None

    # ---- all parts -----------------------------------------------------------------------------------------------

    def state_of_parts(self):
        """Where each part is, which lanes it has, and whether it could run: to be compared with the same at another time."""
        return [(part.at, part.lanes.tobytes(), part.parked, part.waits is None) for part in self.parts]

    def have_run_since(self, steps):
        """Whether all parts that could have run since the warp had executed so many steps: one may stand for long."""
        return len(self.parts) == 1 or all(part.ran > steps for part in self.parts
                                           if not part.parked and part.waits is None)

    def _nearest(self, part):
        """The place in the program's order at which the next other part stands; past the end if none does."""
        places = self.program.places
        here = places[part.at]
        ahead = [places[other.at] for other in self.parts if other is not part and places[other.at] > here]
        return min(ahead, default=self.program.end)

    def part_ways(self, part, ways):
        """Lanes of a part go on at several places. ways: [(lanes, index of a step)]."""
        self.parts.remove(part)
        self.parts += [Part(lanes, at, self.steps_run) for lanes, at in ways]
        self.unpark()

    def leave(self, part, lanes):
        """Lanes of a part end."""
        self.exit(lanes)
        left = part.lanes & ~lanes
        self.parts.remove(part)
        if left.any():
            self.parts.append(Part(left, part.at + 1, self.steps_run))
        self.unpark()

    def unpark(self):
        """Something has changed: parts that stand look again who is there."""
        for part in self.parts:
            part.parked = False

    def _merge(self):
        """Parts that came to the same place are one from now on."""
        by_place = {}
        for part in self.parts:
            if part.waits is None:
                by_place.setdefault(part.at, []).append(part)
        for first, *others in by_place.values():
            for other in others:
                first.lanes, first.parked = first.lanes | other.lanes, False
                self.parts.remove(other)

    def next_part(self):
        """The part to run: of those that can the one furthest back, but for one that has stood for long; None if none
        can."""
        if len(self.parts) == 1:
            only, self.spins, self._early = self.parts[0], False, ~EVERYONE
            return None if only.parked or only.waits is not None and not only.waits[0][0]() else only
        self._merge()
        able = [part for part in self.parts if not part.parked and (part.waits is None or part.waits[0][0]())]
        spins, self.spins = self.spins, False
        if spins:
            self._favoured_until = 0
        if self._favourite in able and self.steps_run < self._favoured_until:
            return self._favourite
        self._favourite = None
        first = min(able, key=lambda part: part.ran, default=None)
        if first is not None and (spins or self.steps_run - first.ran > PATIENCE):
            self._favourite, self._favoured_until = first, self.steps_run + PATIENCE
            self._early = self._early | first.lanes
            return first
        return min(able, key=lambda part: self.program.places[part.at], default=None)

    def stuck(self):
        """Raises the HazardError of parts that stand where they need each other."""
        part = min((part for part in self.parts if part.parked), key=lambda part: self.program.places[part.at])
        places = [f"{_those(other.lanes)} at {self.program.steps[other.at].where()}" for other in self.parts
                  if other is not part]
        self._diverged(part, "; ".join(places) or "the others have ended")

    def _diverged(self, part, where):
        """Raises the HazardError of a part that stands at a step which needs lanes that are elsewhere."""
        step = self.program.steps[part.at]
        self.stand_at(step)
        here = self.lanes_of(step, part.lanes)
        kept = part.lanes & ~here
        if kept.any():
            others = f", {where}" if len(self.parts) > 1 else ""
            where = f"its guard keeps {named('lane', np.flatnonzero(kept).tolist())} from it{others}"
        text = f"{step.name} needs lanes that do not come: {_those(here)} here, {where}"
        raise error(hazard("divergence", None, self.place(np.flatnonzero(part.lanes)), what=text))


def _those(lanes, one="is", several="are"):
    """Lanes (bool [32]) and the verb for so many."""
    return f"{named('lane', np.flatnonzero(lanes).tolist())} {one if lanes.sum() == 1 else several}"
