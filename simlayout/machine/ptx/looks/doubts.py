"""Hazards in two steps. First a launch runs fast, with a look at each access that is quick and misses nothing: it asks
whether another thread may have touched the same memory, one of the two writing it, with no barrier of the whole CTA between,
or in shared memory of the whole warp.
Where there is a doubt, memory becomes what it was, and the launch runs again with the shadows, which know who is ordered
with whom and tell what is wrong.

Where hazards are reported a doubt does not end the first run, and the shadows look until they have told of each instruction
that was in doubt (`told`): of shared memory, where one CTA knows nothing of another, at the first CTA in which each was,
of global memory at one after the other.

Most launches of most kernels leave no doubt. What can be looked at like this are programs of plain and volatile loads and
stores, arithmetic, shuffles, votes, barriers of the whole CTA, assertions, atomics that order nothing, matrices in
registers, and copies by cp.async that are waited for in groups; and, with clocks, those in `ordered`. What stands here is
the quick look; it is compiled in `compiled.doubts`.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from simlayout.machine.hazards.kinds import Hazard, HazardLog, Place, calls_of
from simlayout.machine.hazards.telling import EQUAL
from simlayout.machine.ptx.looks.understood import pieces
from simlayout.machine.ptx.memory.held import CELL, CTA, FIRST, INTERVAL, WHO_EACH, WROTE, address_of

TRIED = 1 << 20
"""Instructions that a warp executes at most where it has read what nobody has defined: it may be how often a loop runs."""

MOST_BYTES = 1 << 28
"""Of all arrays of a launch that is looked at quickly: what they hold is kept, and each cell has 24 bytes beside it."""

UNWRITTEN, INACTIVE = "unwritten read", "inactive source"
"""Kinds of hazards that are reads of what is not defined."""


class Doubt(Exception):
    """Something may be wrong, or is more than a quick look understands. matters: whether it is known that what the launch
    does depends on what nobody has defined."""

    matters = False


class TooLong(Exception):
    """A launch runs long enough to be worth a start from the beginning, with the compiled loop."""


class Unwritten:
    """What the steps of a program have read of shared memory that nothing had written. times: int64 [steps], how often each
    did; order: int64 [steps], as which of them it was the first time, from 1 on, 0 for never; count: int64 [1], how many of
    them did. The compiled loop counts here too."""

    def __init__(self, steps):
        self.times, self.order, self.count = (np.zeros(n, np.int64) for n in (len(steps), len(steps), 1))
        self._steps, self._named = steps, {}

    def add(self, at, instruction):
        """A step, by its index, did. instruction: what it is called, None if its name tells."""
        if instruction is not None:
            self._named[at] = instruction
        self.times[at] += 1
        if not self.order[at]:
            self.count += 1
            self.order[at] = self.count[0]

    def hazards(self):
        """A Hazard of each place, as a HazardLog has one, told without lanes and bytes. Raises Doubt where it is not known
        whether a read uses what nothing has written."""
        found: dict[tuple, Hazard] = {}
        for at in sorted(np.flatnonzero(self.times).tolist(), key=self.order.__getitem__):
            step, count = self._steps[at], int(self.times[at])
            place = Place(*step.site, self._instruction(at, step), (0, 0, 0), 0, (), calls_of(step.caller))
            key = place.file, place.line, place.callers
            if key in found:
                found[key] = replace(found[key], count=found[key].count + count)
            else:
                found[key] = Hazard(UNWRITTEN, "", None, place, (), count)
        return tuple(found.values())

    def _instruction(self, at, step):
        if at in self._named:
            return self._named[at]
        if step.matrices is not None:
            return step.matrices.name
        if step.memory is None or step.memory.used is not None:
            raise Doubt("something else, or a vector of which some elements are used")
        return step.memory.name


class Doubts:
    """In the place of a HazardLog: what is added to it is a Doubt. space: the GlobalSpace of the launch; goes_on: whether it
    does where an access may race; tolerates: where it reads what is not defined (see `unwritten`). look:
    `compiled.look.found`, which programs need that copy to shared memory, have matrices there, or atomics.

    everywhere: of global memory (wrote, read, updated), uint64 [cells]: the marks of who did last (see `memory.marks`),
    the third by atomics, and by, uint32 [cells]: what wrote; see `compiled.doubts`. Where there are no atomics the third has
    no cells. equal: int64 [steps], 1 for each store of what another thread stores there too. doubted: the same, for each
    access that may race 1 + the first CTA where it may; None where that is a Doubt at once. unwritten: an Unwritten, None
    where there is a Doubt instead. aside: whether such reads, and shuffles from lanes that do not execute them, are kept
    apart.
    """

    def __init__(self, program, space, goes_on, tolerates, look=None):
        updates = {step.updates for step in program.steps} - {0}
        self.cell = int(min(pieces(program) | updates, default=4)).bit_length() - 1
        self._shared, self._cta, self._space, self._updates, self._look = None, None, space, bool(updates), look
        self._count = space.count
        self.everywhere = self._tables(size_of(space) + 16 * space.count)
        self._steps, self.equal = program.steps, np.zeros(len(program.steps), np.int64)
        self.doubted = np.zeros(len(program.steps), np.int64) if goes_on else None
        self.unwritten = Unwritten(program.steps) if tolerates else None
        self.aside, self._inactive = tolerates, HazardLog("report")

    reports = clocked = False                            # clocked: whether Clocks say who is ordered with whom

    def add(self, kind, *what, **words):
        """As of HazardLog."""
        if not self.aside or kind != INACTIVE:
            raise Doubt(kind)
        self._inactive.add(kind, *what, **words)

    def check_executed(self, steps):
        """A warp has executed so many instructions: a Doubt where it may go on because of what nobody has defined."""
        if steps > TRIED and self.aside and (self.unwritten.count[0] or self._inactive.hazards()):
            raise Doubt("what is not defined may be how often a loop runs")

    def put_aside(self):
        """As of HazardLog. Raises Doubt where it is not known of each read whether it uses what nothing has written."""
        return *self._inactive.hazards(), *(() if self.unwritten is None else self.unwritten.hazards())

    def hazards(self):
        """None have been found."""
        return ()

    def note_equal(self, recorder):
        """Notes the stores of what another thread stores there too, as the shadows do."""
        for at in np.flatnonzero(self.equal).tolist():
            step = self._steps[at]
            name = step.memory.name if step.memory.space == "shared" else step.name
            recorder.note_once(step.site, f"{name} {EQUAL}")

    def shared_of(self, cta):
        """(wrote, read, updated, by) of shared memory of a CTA, as of all of global memory."""
        tables = self.shared_tables(cta.shared.size)
        if self._cta is not cta:
            self.is_of(cta)
            for table in tables:
                table[:] = 0
        return tables

    def shared_tables(self, size):
        """The same of whichever CTA runs, since one does at a time. size: bytes of its shared memory."""
        if self._shared is None:
            self._shared = self._tables(size)
        return self._shared

    def _tables(self, size):
        cells = (size >> self.cell) + 1
        return *(np.zeros(n, np.uint64) for n in (cells, cells, cells * self._updates)), np.zeros(cells, np.uint32)

    def look(self, what, warp, at, nbytes, lanes):
        """Of what a warp does to pieces of nbytes of shared memory, at bytes int64 [n, 32]: the name of it in
        `compiled.look`. lanes: bool [32]."""
        self._looked(what, warp, at, nbytes, lanes, self.shared_of(warp.cta))

    def update_shared(self, warp, where, nbytes):
        """An atomic of nbytes of shared memory by the active lanes of a warp, at bytes int64 [32]."""
        self.look("UPDATES", warp, where[None], nbytes, warp.active)

    def update_global(self, warp, addresses, lanes, nbytes):
        """The same of global memory, by lanes bool [32] at addresses int64 [32], all in one array."""
        self._look_everywhere("GLOBAL_UPDATES", warp, addresses, lanes, nbytes)

    def copied(self, warp, addresses, lanes, nbytes):
        """Of global memory that lanes, bool [32], copy: nbytes each at addresses int64 [32], all in one array."""
        whole = -(-nbytes >> self.cell << self.cell)     # a src-size may end within a cell
        self._look_everywhere("COPIED", warp, addresses, lanes, whole)

    def _look_everywhere(self, what, warp, addresses, lanes, nbytes):
        start = self._start_of(int(addresses[lanes][0]))
        self._looked(what, warp, (addresses + start)[None], nbytes, lanes, self.everywhere)

    def _looked(self, what, warp, at, nbytes, lanes, tables):
        how = self._look(what, at, nbytes, lanes, warp.who, tables)
        if how == "doubtful":
            self._doubt(warp)
        elif how == "unwritten":
            self.reads_unwritten(warp.part.at)
        elif how != "sure":
            raise Doubt("an access of what nobody has written")

    def reads_unwritten(self, at, instruction=None):
        """A step, by its index, reads shared memory that nothing has written. instruction: what it is called, if its name
        does not tell."""
        if self.unwritten is None:
            raise Doubt("a read of what nobody has written")
        self.unwritten.add(at, instruction)

    def check_arrays(self):
        """A Doubt where there is memory that was not there at the start: it has no cells."""
        if self._space.count != self._count:
            raise Doubt("memory that was not known at the start, and has no cells")

    def _start_of(self, address):
        """What is added to addresses of an array that has this one, for its bytes from the start of all memory."""
        self.check_arrays()
        first, *_, start = next(row for row in self._ranges if row[0] <= address < row[0] + row[1])
        return start - first

    @cached_property
    def _ranges(self):
        return self._space.ranges().tolist()

    def _doubt(self, warp):
        """What a warp does may race."""
        if self.doubted is None:
            raise Doubt("an access that may be part of a race")
        self.doubted[warp.part.at] = self.doubted[warp.part.at] or warp.who[CTA]

    def is_of(self, cta):
        """What is known of shared memory is of this CTA."""
        self._cta = cta

    def who(self, warp):
        """int64 [9]: what a warp's accesses are looked at with, at its start."""
        x, y, _ = warp.grid
        made = np.zeros(WHO_EACH, np.int64)
        made[CELL] = self.cell
        made[WROTE] = 0 if warp.local_written is None else address_of(warp.local_written)
        made[CTA] = 1 + warp.index[0] + x * (warp.index[1] + y * warp.index[2])
        made[INTERVAL], made[FIRST] = 1, warp.tid[0]
        return made


def size_of(space):
    """Bytes of all arrays of a GlobalSpace."""
    return sum(last - first for first, last, *_ in space.memory())


class Before:
    """What the arrays of a launch hold before it. possible: whether it can be given back: they are not too large, and do not
    overlap. kept: [(memory, what it held)], uint8."""

    def __init__(self, space):
        ranges = sorted(space.memory(), key=lambda row: row[0])
        apart = all(one[1] <= other[0] for one, other in zip(ranges, ranges[1:]))
        self._space, self._count = space, space.count
        self.possible = apart and size_of(space) <= MOST_BYTES
        self.kept = [(bytes, bytes.copy()) for bytes in space.writeable()] if self.possible else []

    @property
    def complete(self):
        """Whether the launch has touched no other memory so far."""
        return self.possible and self._space.count == self._count

    def give_back(self):
        """Memory becomes what it was."""
        for bytes, before in self.kept:
            bytes[:] = before
