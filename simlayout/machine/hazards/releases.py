"""What was released at addresses of global memory, and who knows of it: those who run together, and those who come later.

Each release at an address has a number. Threads that run at the same time as the one that released know of it by its clock
(see `clocks`). Later ones know a counter up to a number: that is a column of their clocks, and a release hands on these
columns too. What CTAs that have ended did happens before whatever a later thread does, if a release of theirs covered it and
the thread knows that release's counter up to its number, or a later one.

A counter is a release sequence (PTX ISA, Memory Consistency Model): atomics read what the release before them left, and so
know all that was released before; a store that releases knows nothing of it, and begins a counter of its own.
"""

import numpy as np

from simlayout.errors import TOGETHER
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.clocks import joined
from simlayout.machine.hazards.scopes import CLUSTER, CTA, GPU

NEVER = 2**31 - 1
"""In place of the number of a release where there is none."""

MOST_KNOWN = 2**22
"""How many pairs (counter, number) are kept with releases, 32 MiB; releases after that hand on no other counters."""

_TOO_MANY = ("counter too many: what later CTAs know by more than one of them is forgotten, so that a race may be told of "
             f"what is ordered; {TOGETHER}, orders all")

_NONE = np.empty(0, np.int32)


class Counters:
    """The counters of a Launch. released: serial number of clocks -> Released, of those who released something that CTAs may
    acquire which have not started. quiet: whether nobody has released anything yet."""

    def __init__(self, launch):
        self._launch, self._places, self._counters, self._kept = launch, {}, 0, 0
        self.released, self.quiet = {}, True

    def at(self, address):
        """The Place of an address: an int, or a tuple, that no two bytes share."""
        if address not in self._places:
            self._places[address] = Place(self, address)
        return self._places[address]

    def started(self):
        """The identity of a new counter."""
        self._counters += 1
        return self._counters

    def entered(self, clocks, counter, number, clock, met):
        """A release by threads with these Clocks; met: theirs before it. Returns what it hands on to later CTAs."""
        if not self._launch.not_started:
            return ()
        if clocks.serial not in self.released:
            self.released[clocks.serial] = Released(clocks.threads)
        before = clocks.released.get((counter, number - 1))
        counted = [column for column in clocks.counters.values() if column < clock.shape[1]]      # not of later ones
        self.released[clocks.serial].add(counter, number, clock, before, met, counted)
        known = clocks.counted(clock)
        self._kept += sum(len(numbers) for _, numbers in known)
        if self._kept <= MOST_KNOWN:
            return known
        self._launch.recorder.note_once(self._launch.running.site, _TOO_MANY)
        return ()


class Release:
    """One release. value: what it left at the address, an int; counter, number: which it is; group: the serial number of the
    clocks of those who ran then; known: what it hands on to later CTAs, (counters, numbers) of each plane, int32 [n].
    nearby: {a home, or what all homes of a cluster begin with (see `scopes`): the clock that it hands on to those who are
    there}, where some programs order no more; counter is 0 where it hands on nothing else. earlier: the last one before it
    on its counter by those who have run before, if this one does not know of it; else None."""

    __slots__ = ("value", "counter", "number", "group", "known", "nearby", "earlier")

    def __init__(self, value, counter, number, group, known):
        self.value, self.counter, self.number, self.group, self.known = value, counter, number, group, known
        self.nearby, self.earlier = {}, None


class Place:
    """An address at which threads release and acquire. releases: all of them, oldest first."""

    def __init__(self, counters, address):
        self._counters, self._counter, self.releases, self.address = counters, counters.started(), [], address

    def carry(self, value):
        """An atomic that releases nothing itself leaves a value there: who finds that knows what was released before."""
        last = self.releases[-1]
        self.releases.append(Release(value, last.counter, last.number, last.group, last.known))
        self.releases[-1].earlier = last.earlier

    def nearby(self, value, home, known, before=()):
        """Who has just left a value there hands on what it has released to its CTA and its cluster: known[CTA] and
        known[CLUSTER], (met, clock) or None. home: its own; before: `Release.nearby` of what it found."""
        made = dict(before)
        for reach in (CTA, CLUSTER):
            if known[reach] is not None:
                made[home[:3 - reach]] = joined(made.get(home[:3 - reach]), known[reach][1])
        self._counters.quiet &= not made
        if made and not self.releases:
            self.releases.append(Release(value, 0, 0, home[0], ()))
        if made:
            self.releases[-1].nearby = made

    def release(self, clocks, threads, value, starts=False, met=None, clock=None):
        """`threads` (int [n], of one warp) release what they did and know, and leave a value there.

        starts: whether it is a store, which carries on nothing that was released before; an atomic does. met, clock: what
        they knew earlier, if that is released: `Clocks.met` and the clock of a `Clocks.release`.
        """
        self._counters.quiet = False
        if starts:
            self._counter = self._counters.started()
        last = self.releases[-1] if self.releases else None
        follows = last is not None and last.counter == self._counter
        number = last.number + 1 if follows else 1
        if clock is None:
            met, clock = clocks.met, clocks.release(threads)
        earlier = last if follows else None
        if follows and last.group == clocks.serial:
            clock, earlier = joined(clock, clocks.released[last.counter, last.number]), last.earlier
        if earlier is not None and _knows(clocks, clock, earlier):
            earlier = None
        known = self._counters.entered(clocks, self._counter, number, clock, met)
        clocks.released[self._counter, number] = clock
        self.releases.append(Release(value, self._counter, number, clocks.serial, _and(known, earlier)))
        self.releases[-1].earlier = earlier

    def acquire(self, clocks, threads, release, home=None, reach=GPU):
        """`threads` know what was released to where they are, from now on; home: theirs, reach: how far they look."""
        for near in (home[:3], home[:2])[:reach + 1] if release.nearby else ():
            if near in release.nearby:
                clocks.acquire(threads, release.nearby[near])
        if not release.counter or reach < GPU:
            return
        if release.group == clocks.serial:
            clocks.acquire(threads, clocks.released[release.counter, release.number])
            release = release.earlier
        if release is not None:
            clocks.learn_counters(threads, 0, np.array([release.counter]), np.array([release.number]))
            for plane, (counters, numbers) in enumerate(release.known):
                clocks.learn_counters(threads, plane, counters, numbers)


def _knows(clocks, clock, release):
    """Whether a clock of these Clocks knows of a Release by those who ran before."""
    column = clocks.counters.get(release.counter, clock.shape[1])
    return column < clock.shape[1] and clock[0, column] >= release.number


def _and(known, earlier):
    """What a release hands on to later CTAs, and what an earlier one on its counter (a Release or None) did: an atomic may
    know nothing of that one, and carries it on all the same."""
    if earlier is None or not earlier.known:
        return known
    planes = [[*map(np.concatenate, zip(mine, theirs, strict=True))] for mine, theirs in zip(known, earlier.known)]
    longer = max(known, earlier.known, key=len)[len(planes):]
    return (*map(_last_of_each, planes), *longer)


def _last_of_each(pairs):
    """(counters, numbers), int32 [n]: of each counter its highest number.

    >>> [part.tolist() for part in _last_of_each((np.array([4, 2, 4]), np.array([7, 1, 9])))]
    [[2, 4], [1, 9]]
    """
    counters, numbers = pairs
    order = np.lexsort((numbers, counters))
    counters, numbers = counters[order], numbers[order]
    last = np.append(counters[1:] != counters[:-1], [True] * bool(len(counters))).astype(bool)
    return counters[last], numbers[last]


class Released:
    """What those who ran at the same time, `threads` of them, have released: which release covers what they did.

    A row says that release `number` of `counter` covers what is counted in a column of their clocks up to a value; of one
    counter only what the release before did not cover.
    """

    def __init__(self, threads):
        self._threads, self._rows, self._met = threads, ([], [], []), []
        self._tables = None

    def add(self, counter, number, clock, before, met, counted):
        """A release with a clock; before: the clock of the one before it here, or None; met: see `Clocks`; counted: columns
        of counters, which are handed on otherwise."""
        self._tables = None
        if not self._met or self._met[-1][2] is not met or self._met[-1][0] != counter:
            self._met.append((counter, number, met))
        floor = np.zeros(clock.shape[1], np.int32)
        floor[:self._threads] = np.repeat(np.array(met, np.int32) - 1, LANES)
        for plane, values in enumerate(clock):
            known = np.zeros_like(floor) if plane else floor
            if before is not None and plane < len(before):
                part = known[:before.shape[1]]
                np.maximum(part, before[plane], out=part)
            grown = values > known
            grown[counted] = False
            columns = np.flatnonzero(grown)
            if columns.size:
                self._rows[plane].append((np.full(columns.size, counter), np.full(columns.size, number), columns,
                                          values[columns]))

    def covering(self, columns, value, plane=0):
        """(index of the column, counter, number), int [n] each: the releases that cover what is counted in each of some
        columns (int [m], of one warp or of one engine) at `value`. plane: of what had passed a fence, see
        `clocks`, or 0."""
        if self._tables is None:
            self._tables = [[np.concatenate(parts) for parts in zip(*rows, strict=True)] if rows else [_NONE] * 4
                            for rows in self._rows]
        counters, numbers, column, values = self._tables[plane]
        index, row = np.nonzero((column == columns[:, None]) & (values >= value))
        releases = [(index, counters[row], numbers[row])]
        if plane == 0 and columns[0] < self._threads:
            warp = columns[0] // LANES
            for counter, number, met in self._met:
                if value < met[warp]:
                    releases.append((np.arange(len(columns)), np.full(len(columns), counter), np.full(len(columns), number)))
        return tuple(np.concatenate(parts) for parts in zip(*releases, strict=True))
