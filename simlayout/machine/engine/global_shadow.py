"""The shadow of global memory: who accessed each byte in this run, as far as a later access may still race with it.

CTAs that run at the same time are ordered by what their clocks know (see `clocks`): the threads of a CTA by barriers, the
CTAs of a cluster by barrier.cluster, all by counters (see `atomics`). Those that do not are ordered by counters alone, and
once a CTA has ended it is known for good which of its releases cover an access (see `counters`).

The shadow holds a number per byte that stands for a few accesses. A new access is compared with each of them, and then
joins them; one leaves where the new one comes after it and races with all that it would race with. So for every byte
with a race one is found, in whatever order warps and CTAs happened to run, and what is kept does not grow with the length
of a run. Memory that nobody has written yet needs no comparison: its reads are listed, and entered when a write comes.
"""

from math import gcd

import numpy as np

from simlayout.machine.engine.global_access import ASYNC, CONFLICTS, COVERS, STRONG, WRITES, Access, outlasts
from simlayout.machine.engine.hazards import hazard, ordered_ints
from simlayout.machine.engine.memory import room_for, rows_of
from simlayout.machine.engine.proxies import PRUNE_AT

LISTED = 2**19
"""Rows of reads that are listed before those are entered that CTAs made which have ended: 4 MiB."""


THINNED = 4
"""Accesses of one byte among which those that need not be kept are looked for with all care; and of every power of two times
as many. What is seen at once goes at once."""

MOST_PAST = 32
"""Accesses of one byte by ended CTAs that are kept where each is covered by releases that no other one's come before."""


class GlobalShadow:
    """The shadow of one piece of memory. launch: the Launch, which knows the running warp. size: bytes."""

    def __init__(self, launch, size):
        self._launch, self._size = launch, size
        self._numbers = None                             # {n: uint32 [size / n, n]}: the number of each byte; 0: nobody
        self._accesses = {}                              # number -> the Accesses it stands for; the last one entered it
        self._number, self._most = 0, PRUNE_AT
        self._reads, self._rows = [], 0                  # Accesses that are not entered, and how many rows they have
        self._written = False                            # whether a write has come, or more reads than are listed
        self._group, self._flying = None, []             # serial of the clocks; their Accesses that have an agent
        self._places = {}                                # of the present group
        self._released = launch.counters.released        # group -> what it has released, if it has

    def read(self, positions, lanes, nbytes, alignment, allocation, strong=False, copies=False):
        """A load by lanes (int [n]) of nbytes at each position (int64 [n]), a multiple of alignment; returns its Access.

        allocation: the Allocation through which it comes. strong: whether it does not race with strong accesses; copies:
        whether it is a cp.async.
        """
        return self.enter(*units(positions, lanes, nbytes, alignment), STRONG * strong, allocation, copies=copies)

    def wrote(self, positions, lanes, data, now, alignment, allocation, strong=False):
        """A store, as `read`, of uint8 [n, nbytes] data; `now`: what is there."""
        nbytes = data.shape[1]
        access = self.enter(*units(positions, lanes, nbytes, alignment), WRITES | STRONG * strong, allocation)
        lost = now != data
        if lost.any():
            bytes = positions[:, None] + np.arange(nbytes)
            here = access.place_of(lanes[np.isin(bytes, bytes[lost]).any(axis=1)])
            self._tell("collision", None, here, bytes[lost], allocation)

    def enter(self, rows, unit, lanes, kind, allocation, copies=False, agent=None, instruction=None, stored=None):
        """The running warp does something; see Access. instruction: None for what the warp says that it is doing."""
        warp = self._launch.running
        clocks = warp.cta.clocks
        if clocks.serial != self._group:
            self._group = clocks.serial
            for access in self._flying:
                access.ended(self._released.get(access.group))
                access.agent = access.stored = None      # which would keep its CTA, and data
            self._flying.clear()
            self._places.clear()
        access = Access(warp, self._place(warp, instruction), rows, unit, lanes, kind, allocation, copies, agent, stored)
        if agent is not None:
            self._flying.append(access)
        if self._written or kind & WRITES:
            self._compare_from_now_on()
            self._add(access, clocks)
        else:
            self._reads.append(access)
            self._rows += len(rows)
            if self._rows > LISTED:
                self._enter_past_reads()
        return access

    def _place(self, warp, instruction):
        key = warp.index, warp.warp_index, warp.site, warp.caller, instruction or getattr(warp.doing, "name", None)
        if key not in self._places:
            self._places[key] = warp.place((), instruction)
        return self._places[key]

    def forget(self, start: int, end: int) -> None:
        """The bytes from start to end are given to someone new: who had them before is past, and races with nobody."""
        self._compare_from_now_on()
        self._numbers[1][start:end] = 0

    # ---- what is kept --------------------------------------------------------------------------------------------

    def _enter_past_reads(self):
        """Enters the listed reads by CTAs that have ended. Of each byte one is enough where no CTA has released anything:
        nothing will ever be ordered after any of them, and a plain one races with all that a strong one races with."""
        if self._numbers is None:
            self._numbers = rows_of(np.zeros(room_for(self._size), np.uint32))
        past = [access for access in self._reads if access.group != self._group]
        self._reads = [access for access in self._reads if access.group == self._group]
        self._rows = sum(len(access.rows) for access in self._reads)
        for access in past:
            if self._released:
                self._add(access, None)
                continue
            here = self._numbers[access.unit]
            number = self._new((access,))
            free = here[access.rows] == 0
            here[access.rows] = np.where(free, number, here[access.rows]) if access.kind & STRONG else number
        self._prune()
        if self._rows > LISTED // 2:
            self._compare_from_now_on()

    def _compare_from_now_on(self):
        if self._written:
            return
        self._written = True
        self._enter_past_reads()
        for access in self._reads:
            self._add(access, None)
        self._reads.clear()

    def _add(self, access, clocks):
        """Enters an Access, and compares it with those before. clocks: None if it is a read of before now."""
        here = self._numbers[access.unit]
        before = here.take(access.rows, axis=0)
        here[access.rows] = self._after(before, access, clocks) if before.any() else self._new((access,))
        self._prune()

    def _after(self, before, access, clocks):
        """The numbers of bytes that had numbers `before`, uint32 [rows, unit], when an Access has come."""
        after, numbers = np.zeros_like(before), np.unique(before).tolist()
        if len(numbers) == 1:
            after.reshape(-1)[:] = self._followed(numbers[0], access, None, clocks)
            return after
        for number in numbers:
            where = before == number
            after[where] = self._followed(number, access, where, clocks)
        return after

    def _followed(self, number, access, where, clocks):
        """The number, or uint32 [n], of bytes (see `Access.at`) that had one number, when an Access has come."""
        known = self._accesses[number] if number else ()
        carefully = len(known) >= THINNED and not len(known) & (len(known) - 1)
        stays = [self._stays(known, one, access, where, clocks, carefully) for one in known]
        return self._joined(known, stays, access)

    def _joined(self, known, stays, access):
        """The number, or uint32 [n], of those Accesses that stay (bool, or bool [n] each) and a new one."""
        if all(isinstance(one, bool) for one in stays):
            return self._new((*(one for one, left in zip(known, stays, strict=True) if left), access))
        patterns, which = np.unique(np.array(np.broadcast_arrays(*stays)), axis=1, return_inverse=True)
        return np.array([self._joined(known, pattern, access) for pattern in patterns.T.tolist()])[which.reshape(-1)]

    def _new(self, accesses):
        self._number += 1
        self._accesses[self._number] = accesses
        return self._number

    def _prune(self):
        """Forgets numbers that no byte has any more, where there are many."""
        if len(self._accesses) < self._most:
            return
        entered, left = None, {}
        for number, accesses in self._accesses.items():
            if accesses[-1] is not entered:
                entered = accesses[-1]
                there = set(np.unique(self._numbers[entered.unit].take(entered.rows, axis=0)).tolist())
            if number in there:
                left[number] = accesses
        self._accesses = left
        self._most = max(PRUNE_AT, 2 * len(self._accesses))

    def _repeated(self, known, before, carefully):
        """Whether, of the Accesses by CTAs that have ended, another one will race with all that this one would."""
        index = known.index(before)
        for i, one in enumerate(known):
            if i == index or one.group == self._group or not COVERS[one.kind][before.kind]:
                continue
            if self._outlasts(one, before, carefully) and (i < index or not (
                    COVERS[before.kind][one.kind] and self._outlasts(before, one, carefully))):
                return True
        return carefully and len(known) - index > MOST_PAST and self._released.get(before.group) is not None

    def _outlasts(self, one, other, carefully):
        """Whether, of two Accesses by CTAs that have ended, who knows the first to be over knows so of the second too."""
        mine, theirs = self._released.get(one.group), self._released.get(other.group)
        if mine is None or theirs is None:
            return mine is None
        if not carefully:
            return False
        one.ended(mine)
        other.ended(theirs)
        return outlasts(one, other)

    # ---- what is wrong -------------------------------------------------------------------------------------------

    def _stays(self, known, before, after, where, clocks, carefully):
        """Tells of races of one of the `known` Accesses with a new one, in the bytes that `where` gives (see `Access.at`);
        returns whether what comes later must still be compared with it: bool, or bool [n] of these bytes."""
        conflict = CONFLICTS[before.kind][after.kind]
        covered = COVERS[after.kind][before.kind] and (after.agent is None or after.agent is before.agent)
        if before.group != self._group and not conflict:
            return not self._repeated(known, before, carefully)
        if not conflict and (not covered or not carefully):
            return not covered or not before.surely_before(after)
        if not conflict and not before.surely_before(after) and before.never_before(after, clocks):
            return True
        pairs = before.unordered(after, where, clocks, self._released.get(before.group))
        if conflict and pairs is not None:
            self._race(before, after, *pairs)
        elif conflict:
            self._check_fence(before, after, where, clocks)
        if conflict or pairs is None or not covered or after.agent is not None:
            return not covered                           # (of one engine the last is over last)
        stays = np.isin(after.at(where)[0], pairs[0])
        return True if stays.all() else stays

    def _race(self, before, after, bytes, mine, theirs):
        differs = before.differs(after, bytes)
        if not differs.any():
            return
        bytes, mine, theirs = bytes[differs], mine[differs], theirs[differs]
        did, does = ("writes" if access.kind & WRITES else "reads" for access in (before, after))
        detail = before.state() if before.group == after.group else ""
        self._tell("global race", before.place_of(mine), after.place_of(theirs), bytes, after.allocation, did=did, does=does,
                   detail=detail)

    def _check_fence(self, before, after, where, clocks):
        """Tells of bytes that the generic proxy wrote and the async one touches, where no fence lies between."""
        proxies = after.kind & ASYNC and not before.kind & ASYNC
        if proxies and before.kind & WRITES and not before.fenced(after, where, clocks,
                                                                                self._released.get(before.group)):
            bytes, lanes = after.at(where)
            which, mine = before.on(bytes)
            self._tell("missing proxy fence", before.place_of(mine), after.place_of(lanes), bytes[which], after.allocation,
                       does="writes" if after.kind & WRITES else "reads")

    def _tell(self, kind, first, second, bytes, allocation, **words):
        fault = hazard(kind, first, second, ordered_ints(bytes - allocation.origin), f"bytes {{}} of the {allocation.text}",
                       **words)
        self._launch.log.add(fault)


def units(positions, lanes, nbytes, alignment):
    """(rows, unit, lanes) of an Access of nbytes at each position (int64 [n], multiples of alignment) by lanes (int [n]).

    >>> units(np.array([0, 8, 16]), np.array([3, 4, 5]), 6, 8)[:2]
    (array([ 0,  1,  2,  4,  5,  6,  8,  9, 10]), 2)
    """
    unit = gcd(nbytes, alignment, 16)
    if unit == nbytes:
        return positions // unit, unit, lanes
    parts = nbytes // unit
    return (positions[:, None] // unit + np.arange(parts)).reshape(-1), unit, np.repeat(lanes, parts)
