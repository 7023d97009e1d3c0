"""Hazards in two steps. First a launch runs fast, with a look at each access that is quick and misses nothing: it asks
whether another thread may have touched the same memory, one of the two writing it, with no barrier of the whole CTA between,
or in shared memory of the whole warp.
Where there is a doubt, memory becomes what it was, and the launch runs again with the shadows, which know who is ordered
with whom and tell what is wrong.

Where hazards are reported a doubt does not end the first run, and the shadows look until they have told of each instruction
that was in doubt (`told_of`): of shared memory, where one CTA knows nothing of another, at the first CTA in which each was,
of global memory at one after the other.

Most launches of most kernels leave no doubt. What can be looked at like this are programs of plain loads and stores,
arithmetic, shuffles, votes, barriers of the whole CTA, assertions, atomics that order nothing, matrices in registers, and
copies by cp.async that are waited for in groups; and, with clocks, those in `ordered`.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.launch import NEVER_WAITED
from simlayout.machine.hazards.kinds import Hazard, HazardLog, Place, calls_of, located
from simlayout.machine.hazards.telling import EQUAL
from simlayout.machine.hazards.units import in_shared
from simlayout.machine.ptx.looked import is_ordered, is_plain, pieces

CELL, WROTE, CTA, INTERVAL, FIRST, ARRIVED, SYNCED, PARTED = range(8)
"""Of the numbers that a warp's accesses are looked at with: log2 of the bytes of a cell of memory; where in this process the
flags are of what its lanes have written of their local memory, 0 for none; its CTA + 1, the interval between barriers that
it is in, from 1 on, its first thread; at how many barriers it has arrived otherwise than in the compiled loop, at how many
bar.warp.sync of all its lanes it has been, and at how many of some. All are 0 where nobody looks."""

TRIED = 1 << 20
"""Instructions that a warp executes at most where it has read what nobody has defined: it may be how often a loop runs."""

MANY = 16
"""CTAs of a grid of which the shadows look at some; at a quarter of them at most."""

ENOUGH = 4096
"""Instructions for which the shadows go on when all that was in doubt has been told: it may race with other threads too, and
the hazards of short launches are all told and counted."""

MOST_BYTES = 1 << 28
"""Of all arrays of a launch that is looked at quickly: what they hold is kept, and each cell has 24 bytes beside it."""

MOST_INTERVALS = 1 << 16
"""Barriers that a CTA may pass: as many as are told apart."""

SOME_OF_WARP, SEVERAL, ALL = 0x8000, 0xFFFF, np.uint64(0xFFFFFFFFFFFFFFFF)
"""In the place of a thread: several of a warp, whose number is added, or of the CTA; and instead of everything: threads of
several CTAs."""

ON_ITS_WAY = ALL.astype(np.int64)
"""Instead of what has written a cell of shared memory: a copy that is on its way to it."""

MIXED = 0
"""Instead of what cells were written by: stores of several places or values, of which nothing is known."""

_SYNCS, _LOW = 0xFFFFFFFF, np.uint64(0xFFFF)

class Doubt(Exception):
    """Something may be wrong, or is more than a quick look understands. matters: whether it is known that what the launch
    does depends on what nobody has defined."""

    matters = False


UNWRITTEN, INACTIVE = "unwritten read", "inactive source"
"""Kinds of hazards that are reads of what is not defined."""


class Enough(Exception):
    """All that was in doubt has been told."""


class TooLong(Exception):
    """A launch runs long enough to be worth a start from the beginning, with the compiled loop."""


class Doubts:
    """In the place of a HazardLog: what is added to it is a Doubt. space: the GlobalSpace of the launch; goes_on: whether it
    does where an access may race; tolerates: where it reads what is not defined (see `unwritten`). look:
    `compiled.look.found`, which programs need that copy to shared memory or have matrices there.

    everywhere: of global memory (wrote, read, updated), uint64 [cells]: who did last, the third by atomics, and by, uint32
    [cells]: what wrote; see `compiled.doubts`. Where there are no atomics the third has no cells. equal: int64 [steps], 1
    for each store of what another thread stores there too. doubted: the same, for each access that may race 1 + the first
    CTA where it may; None where that is a Doubt at once. unwritten: int64 [steps + 1, 2], how often each has read shared
    memory that nothing has written, and as which one it was the first to, from 1 on; None where that is a Doubt. aside:
    whether such reads, and shuffles from lanes that do not execute them, are kept apart.
    """

    def __init__(self, program, space, goes_on, tolerates, look=None):
        updates = {step.updates for step in program.steps} - {0}
        self.cell = int(min(pieces(program) | updates, default=4)).bit_length() - 1
        self._shared, self._cta, self._space, self._updates, self._look = None, None, space, bool(updates), look
        self._count = space.count
        self.everywhere = self._tables(size_of(space) + 16 * space.count)
        self._steps, self.equal = program.steps, np.zeros(len(program.steps), np.int64)
        self.doubted = np.zeros(len(program.steps), np.int64) if goes_on else None
        self.unwritten = np.zeros((len(program.steps) + 1, 2), np.int64) if tolerates else None
        self.aside, self._inactive, self._named = tolerates, HazardLog("report"), {}

    reports = clocked = False                            # clocked: whether Clocks say who is ordered with whom

    def add(self, kind, *what, **words):
        """As of HazardLog."""
        if not self.aside or kind != INACTIVE:
            raise Doubt(kind)
        self._inactive.add(kind, *what, **words)

    def check_executed(self, steps):
        """A warp has executed so many instructions: a Doubt where it may go on because of what nobody has defined."""
        if steps > TRIED and self.aside and (self.unwritten[-1, 1] or self._inactive.hazards()):
            raise Doubt("what is not defined may be how often a loop runs")

    def put_aside(self):
        """As of HazardLog. Raises Doubt where it is not known of each read whether it uses what nothing has written."""
        found: dict[tuple, Hazard] = {}                  # as of HazardLog: one of each place
        steps = [] if self.unwritten is None else np.flatnonzero(self.unwritten[:-1, 0]).tolist()
        for at in sorted(steps, key=lambda at: self.unwritten[at, 1]):
            one = self._read_of(at)
            key = one.second.file, one.second.line, one.second.callers
            found[key] = replace(found[key], count=found[key].count + one.count) if key in found else one
        return *self._inactive.hazards(), *found.values()

    def _read_of(self, at):
        """The Hazard of what a step has read that nothing has written, told without lanes and bytes."""
        step, count = self._steps[at], int(self.unwritten[at, 0])
        if at in self._named:
            instruction = self._named[at]
        elif step.matrices is not None:
            instruction = step.matrices.name
        elif step.memory is None or step.memory.used is not None:
            raise Doubt("something else, or a vector of which some elements are used")
        else:
            instruction = f"ld.shared.b{8 * step.memory.size * len(step.memory.elements)}"
        place = Place(*step.site, instruction, (0, 0, 0), 0, (), calls_of(step.caller))
        return Hazard(UNWRITTEN, "", None, place, (), count)

    def hazards(self):
        """None have been found."""
        return ()

    def note_equal(self, recorder):
        """Notes the stores of what another thread stores there too, as the shadows do."""
        for at in np.flatnonzero(self.equal).tolist():
            step = self._steps[at]
            nbytes = step.memory.size * len(step.memory.elements)
            name = f"st.shared.b{8 * nbytes}" if step.memory.space == "shared" else step.name
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

    def update_shared(self, warp, where, nbytes):
        """An atomic of nbytes of shared memory by the active lanes of a warp, at bytes int64 [32]."""
        wrote, read, updated, _ = self.shared_of(warp.cta)
        interval, synced, number = int(warp.who[INTERVAL]), int(warp.who[SYNCED]), int(warp.who[FIRST]) // LANES
        at, threads = where[warp.active], int(warp.who[FIRST]) + np.flatnonzero(warp.active) + 1
        for cells in self._cells(at, nbytes):
            if not wrote[cells].all():
                raise Doubt("an atomic of what nobody has written")
            for marks in (wrote[cells].astype(np.int64), read[cells].astype(np.int64)):
                apart = (marks & SEVERAL != threads) & ((_warps(marks) != number) | (marks >> 16 & _SYNCS == synced))
                if ((marks == ON_ITS_WAY) | (marks >> 48 == interval) & apart).any():
                    self._doubt(warp)
            before = updated[cells].astype(np.int64)
            others = (before >> 48 == interval) & (_warps(before) != number)
            updated[cells] = interval << 48 | synced << 16 | np.where(others, SEVERAL, SOME_OF_WARP + number)

    def update_global(self, warp, addresses, lanes, nbytes):
        """The same of global memory, by lanes bool [32] at addresses int64 [32], all in one array."""
        wrote, read, updated, _ = self.everywhere
        at = addresses[lanes]
        start = self._start_of(int(at[0]))
        threads = int(warp.who[FIRST]) + np.flatnonzero(lanes) + 1
        cta, interval = int(warp.who[CTA]), int(warp.who[INTERVAL])
        for cells in self._cells(at + start, nbytes):
            for marks in (wrote[cells], read[cells]):
                of, when, who = (marks >> np.uint64(32)).astype(np.int64), marks >> np.uint64(16) & _LOW, marks & _LOW
                if ((marks != 0) & ((of != cta) | (when == interval) & (who != threads))).any():
                    self._doubt(warp)
            before = updated[cells]
            alone = (before == 0) | (before >> np.uint64(32) == cta)
            updated[cells] = np.where(alone, np.uint64(cta << 32 | interval << 16 | SEVERAL), ALL)

    def look(self, what, warp, at, nbytes, lanes):
        """Of what a warp does to pieces of nbytes of shared memory, at bytes int64 [n, 32]: the name of it in
        `compiled.look`. lanes: bool [32]."""
        self._looked(what, warp, at, nbytes, lanes, self.shared_of(warp.cta))

    def copied(self, warp, addresses, lanes, nbytes):
        """Of global memory that lanes, bool [32], copy: nbytes each at addresses int64 [32], all in one array."""
        start = self._start_of(int(addresses[lanes][0]))
        whole = -(-nbytes >> self.cell << self.cell)     # a src-size may end within a cell
        self._looked("COPIED", warp, (addresses + start)[None], whole, lanes, self.everywhere)

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
        if instruction is not None:
            self._named[at] = instruction
        first = self.unwritten[at]
        first[0] += 1
        if not first[1]:
            self.unwritten[-1, 1] += 1
            first[1] = self.unwritten[-1, 1]

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

    def _cells(self, at, nbytes):
        """int64 [n] each: the first cell of nbytes at bytes int64 [n], the second, ..."""
        return [(at >> self.cell) + i for i in range(max(nbytes >> self.cell, 1))]

    def _doubt(self, warp):
        """What a warp does may race."""
        if self.doubted is None:
            raise Doubt("an access that may be part of a race")
        self.doubted[warp.part.at] = self.doubted[warp.part.at] or warp.who[CTA]

    def is_of(self, cta):
        """What is known of shared memory is of this CTA."""
        self._cta = cta

    def who(self, warp):
        """int64 [8]: what a warp's accesses are looked at with, at its start."""
        x, y, _ = warp.grid
        made = np.zeros(8, np.int64)
        made[CELL] = self.cell
        made[WROTE] = 0 if warp.local_written is None else warp.local_written.__array_interface__["data"][0]
        made[CTA] = 1 + warp.index[0] + x * (warp.index[1] + y * warp.index[2])
        made[INTERVAL], made[FIRST] = 1, warp.tid[0]
        return made


def _warps(marks):
    """int64 [n]: the numbers of the warps of accesses of shared memory, or such as no warp has."""
    threads = marks & SEVERAL
    return np.where(threads >= SOME_OF_WARP, threads - SOME_OF_WARP, threads - 1 >> 5)


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


def _is_global(step):
    """Whether a step may access global memory."""
    return step.memory is None or step.memory.space != "shared"


class UntilTold(HazardLog):
    """A HazardLog that raises Enough a while after all that was in doubt has been told. program: the Program that runs;
    left: the lines that are yet to be told, {(file, line, callers)}; stopped: whether it has raised that."""

    def __init__(self, python, program, left):
        super().__init__("report", python)
        self.left, self.stopped, self._program, self._end = set(left), False, program, None

    def add(self, kind, first, second, bytes=(), memory=in_shared, **words):
        """As of HazardLog."""
        super().add(kind, first, second, bytes, memory, **words)
        self.left -= {(place.file, place.line, place.callers) for place in (first, second) if place is not None}
        if not self.left:
            executed = self._program.executed.sum()
            self._end = self._end or executed + ENOUGH
            self.stopped = executed >= self._end
        if self.stopped:
            raise Enough


def told_of(program, trace, doubted, ctas, look):
    """The Trace of a launch that ran quickly, with hazards as the shadows tell of them; and whether memory is to be as the
    quick run has left it. doubted: as of Doubts; ctas: of the grid; look: called with numbers of CTAs, or None for all, and
    with the lines that were in doubt, gives the Trace of a launch with shadows, and its UntilTold. Raises Doubt where that
    does not do."""
    doubts = np.flatnonzero(doubted).tolist()
    lines = {(*program.steps[at].site, calls_of(program.steps[at].caller)) for at in doubts}
    some = np.unique(doubted[doubts] - 1).tolist()
    if ctas < max(MANY, 4 * len(some)) or any(_is_global(program.steps[at]) for at in doubts):
        some = None
    seen, log = look(some, lines)
    if some is None and not log.stopped:
        return seen, False
    if any(NEVER_WAITED in note for note in trace.notes):
        raise Doubt("what is no note where a hazard says it")
    if log.left:
        raise Doubt("what may be a race in some CTAs and none in others")
    stores = tuple(f"{located(*one.lines[0])}: " for one in seen.hazards if len(one.lines) > 1 and len(set(one.lines)) == 1)
    if not {note for note in seen.notes if not note.startswith(stores)} <= set(trace.notes):
        raise Doubt("what makes no difference in one place, and may in others")
    where = "the beginning of the launch" if some is None else f"{len(some)} of {ctas} CTAs"
    note = f"hazards, and how often there are any, are those of {where}: elsewhere a quick look finds none in other lines"
    hazards = tuple(replace(one, at_least=True) for one in seen.hazards)
    return replace(trace, hazards=hazards, notes=(*trace.notes, note)), True


def in_two_steps(attempts, program, compiled):
    """The Trace of a launch, by one of its Attempts after the other. compiled: None where nothing is compiled; else whether
    the compiled loop is at hand."""
    if compiled is None or not (is_plain(program) or is_ordered(program)):
        return attempts.shadowed()
    if not compiled:
        try:
            return attempts.briefly()
        except TooLong:
            pass
    try:
        return attempts.quick()
    except Doubt as doubt:
        return attempts.once() if doubt.matters else attempts.shadowed()
