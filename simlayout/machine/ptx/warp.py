"""A warp that runs a PTX program: parts of its lanes that have parted, and their turns.

Each part is at one place of the program. The part that is furthest back in the program's order runs (`order`), until it
comes to where another one is; then they go on as one. So lanes meet again where their ways do. A part that runs for long
while others stand lets these go on for a while, since threads are independent: a lane that spins waits for one that stands.
"""

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.divergence import lane_list
from simlayout.machine.hazards import error, hazard
from simlayout.machine.ptx.memory import MemoryTwins
from simlayout.machine.ptx.rows import writer
from simlayout.machine.warp import Warp

PATIENCE = 4096
"""Instructions that a part runs while others stand, before these have their turn."""

TURN = 1 << 16
"""Instructions after which a warp lets the others of its CTA go on."""

_ZERO, _ONES = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)

EVERYONE = np.full(LANES, True)
EVERYONE.setflags(write=False)


def _address(array):
    return array.__array_interface__["data"][0]


class Part:
    """Lanes at one place. lanes: bool [32]; at: index of the next step; waits: what a step waits for ((ready, text,
    mbarrier), and the generator that goes on then), or None; parked: whether it stands at a step that needs other lanes."""

    __slots__ = ("lanes", "at", "waits", "parked", "_mask")

    def __init__(self, lanes, at):
        self.lanes, self.at, self.waits, self.parked, self._mask = lanes, at, None, False, None

    @property
    def mask(self):
        """uint64 [32]: all ones for its lanes."""
        if self._mask is None or self._mask[0] is not self.lanes:
            self._mask = self.lanes, np.where(self.lanes, _ONES, _ZERO)
        return self._mask[1]


class PtxWarp(Warp, MemoryTwins):
    """32 lanes that run a Program. rows: uint64 [n, 32], its registers; local: uint8 [32, bytes], the lanes' own memory."""

    def __init__(self, cta, warp_index, program, space, running):
        super().__init__(cta, warp_index)
        self.program, self.space, self.running = program, space, running
        self.rows = program.initial_rows(self)
        self.begin_memory(program)
        self.parts = [Part(self.present, program.start)] if self.present.any() else []
        self.part, self.instruction = None, None
        shared = cta.shared.bytes
        self.places = np.array([_address(shared), shared.size, _address(self.local), self.local.shape[1],
                                _address(program.parameters), program.parameters.size])

    # ---- what steps use ------------------------------------------------------------------------------------------

    @property
    def cluster_size(self):
        """CTAs of the cluster."""
        return len(self.cta.cluster.ctas)

    @property
    def counted_at(self):
        """As of Warp."""
        return self.doing.counted_at

    @property
    def dynamic_bytes(self):
        """Bytes of dynamic shared memory."""
        return self.cta.launch.dynamic_bytes

    def put_bits(self, row, bits):
        """Writes unsigned integers [32] to a row, in the active lanes."""
        if self.whole:
            self.rows[row] = bits
        else:
            np.copyto(self.rows[row], bits, where=self.active, casting="unsafe")

    def give(self, place, carrier):
        """Writes the carrier of a result to its Place, in the active lanes."""
        if place.row is not None:
            self.put_bits(place.row, writer(place)(carrier))

    def clock(self):
        """A number that grows with every reading, as %clock does."""
        self.cta.launch.clock += 20
        return self.cta.launch.clock

    def check_sources(self, source):
        """Tells of lanes that read from a lane, int [32], which does not take part in the shuffle."""
        lost = self.active & ~self.active[source]
        if lost.any() and self.cta.launch.log is not None:
            which = np.flatnonzero(lost)
            self.cta.launch.log.add(hazard("inactive source", None, self.place(which), (),
                                           lanes=lane_list(np.isin(np.arange(LANES), source[which]))))

    def barrier_count(self, trues, lanes, id=0, threads=None):
        """bar.red: as bar.sync, and returns (how many threads said true, how many there were)."""
        barrier = self.cta.barrier(id)
        votes = barrier.votes.setdefault(barrier.opened, [0, 0])
        votes[0] += trues
        votes[1] += lanes
        yield from Warp.barrier.steps(self, id, threads)
        return votes[0], votes[0] == votes[1]

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
            return self._run_compiled(loop, part, patience)
        done = self._run_in_numpy(part, min(patience, PATIENCE))
        self.running.warm(done)
        return done

    def _run_compiled(self, loop, part, patience):
        program, total = self.program, 0
        while total < patience:
            limit = self._nearest(part)
            total += loop.run(self, part, limit, patience - total)
            if program.places[part.at] >= limit or total >= patience:
                break
            total += 1
            step = program.steps[part.at]
            program.executed[part.at] += 1
            active = self.lanes_of(step, part.lanes)
            if step.compute is not None:
                step.compute(self.rows, None if active.all() else active)
                part.at += 1
            elif not self._special(part, step, active):
                break
            if len(self.parts) > 1 and program.places[part.at] >= self._nearest(part):
                break
        return total

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
                if places[at] >= limit:
                    break
                continue
            part.at = at
            if not self._special(part, step, active):
                return done
            at = part.at
            if len(self.parts) > 1:
                limit = self._nearest(part)
                if places[at] >= limit:
                    break
        part.at = at
        return done

    def _special(self, part, step, active):
        """Executes a step that is more than arithmetic; returns whether the part goes on at once."""
        self.part, self.instruction = part, step
        self.site, self.doing = step.site, step
        self._narrow(active)
        if step.jump is not None:
            return step.jump(self, part, active)
        if not active.any():
            part.at += 1
            return True
        if step.together and not self._all_here(part, step, active):
            return False
        steps = step.run(self)
        if steps is None:
            part.at += 1
            return True
        return self._go_on(part, steps)

    def _go_on(self, part, steps):
        """Runs what a step does until it must wait; returns whether it is done."""
        for wait in steps:
            part.waits = (*wait, None)[:3], steps
            return False
        part.waits, part.at = None, part.at + 1
        return True

    def _all_here(self, part, step, active):
        """Whether the lanes that a step needs have come; else the part stands until they do."""
        lacking = step.together(self, active) & self.present & ~active
        if not lacking.any():
            return True
        part.parked = True
        return False

    def _narrow(self, lanes):
        if lanes is not self.active:
            self.narrow(lanes)

    # ---- parts ---------------------------------------------------------------------------------------------------

    def _nearest(self, part):
        """The place in the program's order of the part that is furthest back but for this one."""
        if len(self.parts) == 1:
            return self.program.end
        return min(self.program.places[other.at] for other in self.parts if other is not part)

    def part_ways(self, part, ways):
        """Lanes of a part go on at several places. ways: [(lanes, index of a step)]."""
        self.parts.remove(part)
        self.parts += [Part(lanes, at) for lanes, at in ways]
        self.unpark()

    def leave(self, part, lanes):
        """Lanes of a part end."""
        self.exit(lanes)
        left = part.lanes & ~lanes
        self.parts.remove(part)
        if left.any():
            self.parts.append(Part(left, part.at + 1))
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
        for together in by_place.values():
            if len(together) > 1:
                first = together[0]
                first.parked = False
                for other in together[1:]:
                    first.lanes = first.lanes | other.lanes
                    self.parts.remove(other)

    def next_part(self, tired=None):
        """The part to run: of those that can the one furthest back, but not `tired` if there is another; None if none
        can."""
        if len(self.parts) > 1:
            self._merge()
        able = [part for part in self.parts if not part.parked and (part.waits is None or part.waits[0][0]())]
        if len(able) > 1 and tired in able:
            able.remove(tired)
        return min(able, key=lambda part: self.program.places[part.at], default=None)

    def stuck(self):
        """Raises the HazardError of parts that stand where they need each other."""
        part = next(part for part in self.parts if part.parked)
        step = self.program.steps[part.at]
        others = [other for other in self.parts if other is not part]
        places = [f"lanes {lane_list(other.lanes)} are at {self.program.steps[other.at].where()}" for other in others]
        self.site, self.doing = step.site, step
        text = (f"{step.name} needs lanes that do not come: lanes {lane_list(part.lanes)} are here, "
                f"{'; '.join(places) or 'the others have ended'}")
        raise error(hazard("divergence", None, self.place(np.flatnonzero(part.lanes)), what=text))


class PtxTurns:
    """What runs a PtxWarp, for `scheduler.run_residents`."""

    def __init__(self, warp, limit):
        self.warp, self.finished, self._left, self._limit = warp, False, limit, limit

    def resume(self):
        """Runs the warp until it waits, ends, or has run for long."""
        warp = self.warp
        warp.waiting = None
        with np.errstate(all="ignore"):
            self._run(warp)

    def _run(self, warp):
        tired, budget = None, TURN
        while warp.parts:
            part = warp.next_part(tired)
            if part is None:
                self._wait(warp)
                return
            if budget <= 0:
                return
            if part.waits is not None:
                self._resume(warp, part)
                continue
            patience = min(PATIENCE if len(warp.parts) > 1 else TURN, budget, self._left)
            done = warp.run_part(part, patience)
            budget -= done
            tired = part if done == patience else None
            self._left -= done
            if self._left <= 0 and warp.parts:
                warp.site = warp.program.steps[warp.parts[0].at].site
                raise MachineError(f"the warp has executed {self._limit} instructions and does not end: if it should, pass "
                                   "a larger limit=; if it waits for another CTA, together=True")
        self.finished = True

    def _resume(self, warp, part):
        _, steps = part.waits
        step = warp.program.steps[part.at]
        warp.part, warp.site, warp.doing = part, step.site, step
        warp.narrow(warp.lanes_of(step, part.lanes))
        part.waits = None
        warp._go_on(part, steps)

    def _wait(self, warp):
        waits = [part.waits[0] for part in warp.parts if part.waits is not None]
        if not waits:
            warp.stuck()
        _, text, mbarrier = waits[0]
        warp.waiting = (lambda: any(ready() for ready, _, _ in waits)), text, mbarrier

    def cancel(self):
        """Nothing is left behind."""
