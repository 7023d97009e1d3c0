"""The shadow of global memory: who accessed each byte in this run, as far as a later access may still race with it.

CTAs that run at the same time are ordered by what their clocks know (see `clocks`): the threads of a CTA by barriers, the
CTAs of a cluster by barrier.cluster, all by counters (see `atomics`). Those that do not are ordered by counters alone, and
once a CTA has ended it is known for good which of its releases cover an access (see `releases`).

The shadow holds a number per byte that stands for a few accesses. A new access is compared with each of them, and then
joins them; one leaves where the new one comes after it and races with all that it would race with. So for every byte
with a race one is found, in whatever order warps and CTAs happened to run, and what is kept does not grow with the length
of a run. Memory that has only been read needs no comparison, nor has that of atomics alone, as a histogram in global memory:
what happens there is listed, and entered when something else comes.

Two plain stores of one value do not race: either may come last; where nothing orders them, that is noted. So a plain store
does not race with all that what came before it would race with, because another store of its value may come. What it comes
after is kept beneath it, for such stores alone; whatever else comes must come after that store, or races with it.
"""

from typing import NamedTuple

import numpy as np

from simlayout.machine.hazards.global_access import (
    ASYNC,
    STRONG,
    WRITES,
    Access,
    Plain,
    conflicting,
    counted,
    covers,
    first_read,
    outlasts,
    units,
    unlike,
)
from simlayout.machine.hazards.proxies import PRUNE_AT
from simlayout.machine.hazards.rounding import NOTE, differ_by_rounding
from simlayout.machine.hazards.rows import room_for, rows_of
from simlayout.machine.hazards.telling import EQUAL, OTHER_SIZE
from simlayout.machine.hazards.touches import is_cached

LISTED = 2**19
"""Rows of what is listed before those are entered that are of CTAs which have ended: 4 MiB."""


THINNED = 4
"""Accesses of one byte among which those that need not be kept are looked for with all care; and of every power of two times
as many. What is seen at once goes at once."""

MOST_PAST = 32
"""Accesses of one byte by ended CTAs that are kept where each is covered by releases that no other one's come before."""

GONE, BENEATH, STAYS = range(3)
"""What becomes of an Access of some bytes when another one has come."""


class Known(NamedTuple):
    """The Accesses that a number stands for. present: those with which all that comes is compared, the newest last. Plain
    stores among them have left one value, or a race has been told of; beneath: with which another plain store of that value
    is compared, and nothing else, because all else that races with them races with the present ones."""

    present: tuple
    beneath: tuple = ()

    def has_stored(self, grain):
        """Whether a plain store of this grain is among the present ones."""
        return grain is not None and any(one.grain == grain for one in self.present)


NOBODY = Known(())


class GlobalShadow:
    """The shadow of one piece of memory. launch: the Launch, which knows the running warp. size: bytes."""

    def __init__(self, launch, size):
        self._launch, self._size = launch, size
        self._numbers = None                             # {n: uint32 [size / n, n]}: the number of each byte; 0: nobody
        self._known = {0: NOBODY}                        # number -> the Known it stands for; the last present entered it
        self._number, self._most = 0, PRUNE_AT
        self._listed, self._rows = [], 0                 # Accesses that are not entered, and how many rows they have
        self._compares = False                           # whether what races has come, or more than is listed
        self._group, self._flying = None, []             # serial of the clocks; their Accesses that have an agent
        self._places = {}                                # of the present group
        self._released = launch.counters.released        # group -> what it has released, if it has

    def read(self, positions, lanes, nbytes, alignment, allocation, strong=False, copies=False, width=None):
        """A load by lanes (int [n]) of nbytes at each position (int64 [n]), a multiple of alignment; returns its Access.

        allocation: the Allocation through which it comes. strong: whether it does not race with strong accesses; copies:
        whether it is a cp.async; width: bytes of a value, if it is strong.
        """
        return self.enter(*units(positions, lanes, nbytes, alignment), STRONG * strong, allocation, copies, width=width)

    def wrote(self, positions, lanes, store, alignment, allocation):
        """A Store, as `read`; returns its Access."""
        nbytes, plain = store.data.shape[1], None
        rows, unit, by = units(positions, lanes, nbytes, alignment)
        if not store.strong:
            plain = Plain((store.width, int(positions[0]) % store.width), (store.before == store.after).reshape(-1, unit))
        access = self.enter(rows, unit, by, WRITES | STRONG * store.strong, allocation, plain=plain, width=store.width)
        lost = store.after != store.data
        if lost.any():
            bytes = positions[:, None] + np.arange(nbytes)
            here = access.place_of(lanes[np.isin(bytes, bytes[lost]).any(axis=1)])
            if differ_by_rounding(getattr(self._launch.running.doing, "rounded", None), store.after, store.data):
                self._launch.recorder.note((here.file, here.line), f"{here.instruction} {NOTE}")
            else:
                self._tell("collision", None, here, bytes[lost], allocation)
        return access

    def enter(self, rows, unit, lanes, kind, allocation, copies=False, agent=None, instruction=None, stored=None,
              plain=None, width=None):
        """The running warp does something; see Access. instruction: None for what the warp says that it is doing. plain: the
        Plain of a plain store."""
        warp = self._launch.running
        clocks = warp.cta.clocks
        if clocks.serial != self._group:
            self._group = clocks.serial
            for access in self._flying:
                access.ended(self._released.get(access.group))
                access.agent = access.stored = None      # which would keep its CTA, and data
            self._flying.clear()
            self._places.clear()
        access = Access(warp, self._place(warp, instruction), rows, unit, lanes, kind, allocation, copies, agent, stored,
                        plain and plain.grain, width if kind & STRONG else None)
        if agent is not None:
            self._flying.append(access)
        if self._compares or not access.needs_no_order(self._listed[0] if self._listed else access):
            self._compare_from_now_on()
            self._add(access, clocks, plain and plain.same)
        else:
            self._listed.append(access)
            self._rows += len(rows)
            if self._rows > LISTED:
                self._enter_past()
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

    def _enter_past(self):
        """Enters what is listed of CTAs that have ended. Of each byte one is enough where no CTA has released anything,
        since nothing will ever be ordered after it: a plain read, which races with all that strong ones race with, or an
        atomic."""
        if self._numbers is None:
            self._numbers = rows_of(np.zeros(room_for(self._size), np.uint32))
        past = [access for access in self._listed if access.group != self._group]
        self._listed = [access for access in self._listed if access.group == self._group]
        self._rows = sum(len(access.rows) for access in self._listed)
        for access in past:
            if self._released or access.kind == STRONG:
                self._add(access, None)
                continue
            here = self._numbers[access.unit]
            number = self._new(Known((access,)))
            here[access.rows] = number
        self._prune()
        if self._rows > LISTED // 2:
            self._compare_from_now_on()

    def _compare_from_now_on(self):
        if self._compares:
            return
        self._compares = True
        self._enter_past()
        for access in self._listed:
            self._add(access, None)
        self._listed.clear()

    def _add(self, access, clocks, same=None):
        """Enters an Access, and compares it with those before. clocks: None if it is a read of before now; same: that of
        its Plain."""
        here, self._equal = self._numbers[access.unit], False
        before = here.take(access.rows, axis=0)
        here[access.rows] = self._after(before, access, clocks, same) if before.any() else self._new(Known((access,)))
        if self._equal:
            place = access.place
            self._launch.recorder.note_once((place.file, place.line), f"{place.instruction} {EQUAL}")
        self._prune()

    def _after(self, before, access, clocks, same):
        """The numbers of bytes that had numbers `before`, uint32 [rows, unit], when an Access has come."""
        after, numbers, made = np.zeros_like(before), np.unique(before).tolist(), {}
        for number in numbers:
            known, where = self._known[number], None if len(numbers) == 1 else before == number
            for again, there in _by_value(same, where) if known.has_stored(access.grain) else ((False, where),):
                followed = self._followed(known, access, there, clocks, again, made)
                if there is None:
                    after.reshape(-1)[:] = followed
                else:
                    after[there] = followed
        return after

    def _followed(self, known, access, where, clocks, again, made):
        """The number, or uint32 [n], of bytes (see `Access.at`) that had one Known, when an Access has come. again: whether
        it stores there what the plain stores of its grain have stored; made: Known -> number, of those that it has."""
        many = len(known.present)
        carefully = many >= THINNED and not many & (many - 1)
        becomes = [self._becomes(known.present, one, access, where, clocks, carefully, again) for one in known.present]
        if again:
            becomes += [self._beneath(one, access, where, clocks) for one in known.beneath]
        return self._joined((*known.present, *known.beneath)[:len(becomes)], becomes, access, made)

    def _joined(self, accesses, becomes, access, made):
        """The number, or uint32 [n], of what becomes of Accesses (int, or int [n] each) and a new one."""
        if all(isinstance(one, int) for one in becomes):
            present, beneath = (tuple(one for one, left in zip(accesses, becomes, strict=True) if left == there)
                                for there in (STAYS, BENEATH))
            known = Known((*present, access), beneath)
            if known not in made:
                made[known] = self._new(known)
            return made[known]
        patterns, which = np.unique(np.array(np.broadcast_arrays(*becomes)), axis=1, return_inverse=True)
        numbers = [self._joined(accesses, pattern, access, made) for pattern in patterns.T.tolist()]
        return np.array(numbers)[which.reshape(-1)]

    def _new(self, known):
        self._number += 1
        self._known[self._number] = known
        return self._number

    def _prune(self):
        """Forgets numbers that no byte has any more, where there are many."""
        if len(self._known) < self._most:
            return
        entered, left = None, {0: self._known.pop(0)}
        for number, known in self._known.items():
            if known.present[-1] is not entered:
                entered = known.present[-1]
                there = set(np.unique(self._numbers[entered.unit].take(entered.rows, axis=0)).tolist())
            if number in there:
                left[number] = known
        self._known = left
        self._most = max(PRUNE_AT, 2 * len(self._known))

    def _repeated(self, present, before, carefully):
        """Whether, of the Accesses by CTAs that have ended, another one will race with all that this one would."""
        index = present.index(before)
        for i, one in enumerate(present):
            if i == index or one.group == self._group or not covers(one, before):
                continue
            if self._outlasts(one, before, carefully) and (i < index or not (
                    covers(before, one) and self._outlasts(before, one, carefully))):
                return True
        return False

    def _too_many(self, present, before, carefully):
        """Whether an Access by a CTA that has ended is one of more than are kept."""
        return (carefully and len(present) - present.index(before) > MOST_PAST
                and self._released.get(before.group) is not None)

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

    def _becomes(self, present, before, after, where, clocks, carefully, again):
        """Tells of races of one of the `present` Accesses with a new one, in the bytes that `where` gives (see `Access.at`);
        returns what becomes of it: int, or int [n] of these bytes. again: as of `_followed`."""
        if again and before.grain == after.grain:
            return self._stored_again(present, before, after, where, clocks, carefully)
        if conflicting(before, after):
            return self._met(present, before, after, where, clocks)
        if before.group != self._group:
            past = self._repeated(present, before, carefully) or self._too_many(present, before, carefully)
            return GONE if past else STAYS
        if not _follows(after, before):
            return STAYS
        if before.surely_before(after) or before.again(after):
            return GONE
        if not carefully or before.never_before(after, clocks):
            return STAYS
        pairs = before.unordered(after, where, clocks)
        if pairs is None or after.agent is not None:     # (of one engine the last is over last)
            return GONE
        return _where(after, where, pairs, STAYS, GONE)

    def _met(self, present, before, after, where, clocks):
        """`_becomes` of two Accesses of which one changes what the other needs."""
        pairs = before.unordered(after, where, clocks, self._released.get(before.group))
        if pairs is None:
            self._check_fence(before, after, where, clocks)
            self._check_cache(before, after, where)
        elif counted(before, after, present, where, clocks):
            pairs = None
        elif not self._race(before, after, *pairs) and before.agent is not after.agent:
            self._equal = True                           # bulk stores of two threads, which both are to be ordered yet
            return STAYS
        if after.grain is not None:
            return BENEATH if pairs is None else _where(after, where, pairs, GONE, BENEATH)
        return GONE if _follows(after, before) else STAYS

    def _stored_again(self, present, before, after, where, clocks, carefully):
        """`_becomes` of a plain store when another one has stored the same."""
        if before.surely_before(after):
            return GONE
        pairs = before.unordered(after, where, clocks, self._released.get(before.group))
        if pairs is None:
            return GONE
        self._equal = True
        if before.again(after) or before.group != self._group and self._repeated(present, before, carefully):
            return GONE
        if before.group != self._group and self._too_many(present, before, carefully):
            self._race(before, after, *pairs)            # which is not known to be clean once it is forgotten
            return GONE
        return _where(after, where, pairs, STAYS, GONE)

    def _beneath(self, before, after, where, clocks):
        """`_becomes` of an Access beneath plain stores when another one has stored the same."""
        pairs = before.unordered(after, where, clocks, self._released.get(before.group))
        if pairs is None:
            return BENEATH
        self._race(before, after, *pairs)
        return _where(after, where, pairs, GONE, BENEATH)

    def _race(self, before, after, bytes, mine, theirs):
        """Tells of Accesses that nothing orders; returns whether they race: bulk stores of the same do not."""
        differs = before.differs(after, bytes)
        if not differs.any():
            return False
        bytes, mine, theirs = bytes[differs], mine[differs], theirs[differs]
        did, does = ("writes" if access.kind & WRITES else "reads" for access in (before, after))
        detail = before.state() if before.group == after.group else before.unacquired(mine, self._released.get(before.group))
        if None not in (before.grain, after.grain) and before.grain != after.grain:
            detail = OTHER_SIZE
        detail = unlike(before, after) or first_read(before, after) or detail
        self._tell("global race", before.place_of(mine), after.place_of(theirs), bytes, after.allocation, did=did, does=does,
                   detail=detail)
        return True

    def _check_fence(self, before, after, where, clocks):
        """Tells of bytes that the generic proxy wrote and the async one touches, where no fence lies between."""
        proxies = after.kind & ASYNC and not before.kind & ASYNC
        if proxies and before.kind & WRITES and not before.fenced(after, where, clocks,
                                                                                self._released.get(before.group)):
            bytes, lanes = after.at(where)
            which, mine = before.on(bytes)
            self._tell("missing proxy fence", before.place_of(mine), after.place_of(lanes), bytes[which], after.allocation,
                       does="writes" if after.kind & WRITES else "reads")

    def _check_cache(self, before, after, where):
        """Tells of bytes that have been written and are read by ld.global.nc (PTX ISA: ld.global.nc; CUDA C++ Programming
        Guide, Read-Only Data Cache Load Function)."""
        if is_cached(after.place.instruction) and before.kind & WRITES:
            bytes, lanes = after.at(where)
            which, mine = before.on(bytes)
            self._tell("stale read", before.place_of(mine), after.place_of(lanes), bytes[which], after.allocation)

    def _tell(self, kind, first, second, bytes, allocation, **words):
        self._launch.log.add(kind, first, second, bytes - allocation.origin, allocation.told, **words)


def _follows(after, before):
    """Whether an Access races with all that another one races with, where it comes after that. (Strong ones from elsewhere
    race with what comes, of a narrow scope, from where this one does.)"""
    return (covers(after, before) and (after.agent is None or after.agent is before.agent)
            and (not after.kind & STRONG or after.home == before.home))


def _by_value(same, where):
    """[(whether bytes hold what they held, bool [rows, unit] or None for all)] of the bytes that bool [rows, unit] or None
    gives."""
    some = same if where is None else same[where]
    if some.all() or not some.any():
        return [(bool(some.all()), where)]
    return [(again, (same == again) if where is None else where & (same == again)) for again in (False, True)]


def _where(after, where, pairs, there, elsewhere):
    """`there` for the bytes of pairs (see `Access.unordered`), `elsewhere` for others: int, or int [n] as `Access.at` gives
    them."""
    found = np.isin(after.at(where)[0], pairs[0])
    return there if found.all() else np.where(found, there, elsewhere)
