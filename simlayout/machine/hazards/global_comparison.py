"""What becomes of the accesses of some bytes of global memory when another one comes: which of them race with it, which need
not be kept any longer, which are kept for stores of the same value alone (see `global_shadow`)."""

from typing import NamedTuple

import numpy as np

from simlayout.machine.hazards.global_access import (
    ASYNC,
    STRONG,
    WRITES,
    conflicting,
    counted,
    covers,
    first_read,
    outlasts,
    unlike,
)
from simlayout.machine.hazards.kinds import UNACQUIRED, ordered_ints
from simlayout.machine.hazards.telling import OTHER_SIZE
from simlayout.machine.hazards.touches import is_cached

MOST_PAST = 32
"""Accesses of one byte by ended CTAs that are kept where each is covered by releases that no other one's come before."""

GONE, BENEATH, STAYS = range(3)
"""What becomes of an Access of some bytes when another one has come."""


class Known(NamedTuple):
    """The Accesses of some bytes. present: those with which all that comes is compared, the newest last. Plain stores among
    them have left one value, or a race has been told of; beneath: with which another plain store of that value is compared,
    and nothing else, because all else that races with them races with the present ones."""

    present: tuple
    beneath: tuple = ()

    def has_stored(self, grain):
        """Whether a plain store of this grain is among the present ones."""
        return grain is not None and any(one.grain == grain for one in self.present)


class Now(NamedTuple):
    """When an Access comes. group: the serial number of the clocks of those who run now; clocks: theirs, None for a read of
    before now; released: {group: its Released}, see `releases`; tell: called with what a HazardLog is told, and an
    Allocation after the bytes; again: with what `HazardLog.again` is, and an Allocation; flag: called with an Access, its
    lane, and lanes that come now, as `flag_behind`."""

    group: int
    clocks: object
    released: dict
    tell: object
    again: object
    flag: object


class Comparison:
    """Of a new Access with the Known of some bytes. where: which of its bytes they are, see `Access.at`; again: whether it
    stores there what the plain stores of its grain have stored; carefully: whether those that need not be kept are looked
    for with all care. equal: whether it has met a store of the same that nothing orders with it.

    What becomes of an Access is one of GONE, BENEATH and STAYS, or int [n] of them, one for each of these bytes.
    """

    def __init__(self, known, after, where, now, again, carefully):
        self._known, self._after, self._where, self._now = known, after, where, now
        self._again, self._carefully, self.equal = again, carefully, False

    def outcomes(self):
        """[(Access, what becomes of it)] of all that it is compared with. Tells of races."""
        found = [(one, self._of_present(one)) for one in self._known.present]
        return found + [(one, self._of_beneath(one)) for one in self._known.beneath] if self._again else found

    def _of_present(self, before):
        if self._again and before.grain == self._after.grain:
            return self._stored_again(before)
        if conflicting(before, self._after):
            return self._in_conflict(before)
        if self._is_past(before):
            return GONE if self._is_repeated(before) or self._is_one_too_many(before) else STAYS
        return self._replaced(before)

    def _in_conflict(self, before):
        """One of the two changes what the other needs."""
        after, pairs = self._after, self._unordered(before)
        if pairs is None:
            self._check_fence(before)
            self._check_cache(before)
        elif counted(before, after, self._known.present, self._where, self._now.clocks):
            pairs = None
        elif not self._race(before, pairs) and before.agent is not after.agent:
            self.equal = True                            # bulk stores of two threads, which both are to be ordered yet
            return STAYS
        if after.grain is not None:
            return BENEATH if pairs is None else self._in_bytes_of(pairs, GONE, BENEATH)
        return GONE if _follows(after, before) else STAYS

    def _stored_again(self, before):
        """A plain store, of which the new one stores the same."""
        if before.surely_before(self._after):
            return GONE
        pairs = self._unordered(before)
        if pairs is None:
            return GONE
        self.equal = True
        if before.again(self._after) or self._is_past(before) and self._is_repeated(before):
            return GONE
        if self._is_past(before) and self._is_one_too_many(before):
            self._race(before, pairs)                   # which is not known to be clean once it is forgotten
            return GONE
        return self._in_bytes_of(pairs, STAYS, GONE)

    def _of_beneath(self, before):
        """An Access beneath plain stores, of which the new one stores the same."""
        pairs = self._unordered(before)
        if pairs is None:
            return BENEATH
        self._race(before, pairs)
        return self._in_bytes_of(pairs, GONE, BENEATH)

    def _replaced(self, before):
        """The two do not race, and run at the same time: whether the new one races with all that the other would."""
        after, clocks = self._after, self._now.clocks
        if not _follows(after, before):
            return STAYS
        if before.surely_before(after) or before.again(after):
            return GONE
        if not self._carefully or before.never_before(after, clocks):
            return STAYS
        pairs = before.unordered(after, self._where, clocks)
        if pairs is None or after.agent is not None:     # (of one engine the last is over last)
            return GONE
        return self._in_bytes_of(pairs, STAYS, GONE)

    def _unordered(self, before):
        """What of an Access does not happen before the new one: see `Access.unordered`."""
        return before.unordered(self._after, self._where, self._now.clocks, self._released(before))

    def _in_bytes_of(self, pairs, there, elsewhere):
        """`there` for the bytes of an Unordered, `elsewhere` for others."""
        if pairs.every:                                  # an Access that is compared touches all of these bytes
            return there
        found = np.isin(self._after.at(self._where)[0], pairs.pairs[0])
        return there if found.all() else np.where(found, there, elsewhere)

    # ---- accesses by CTAs that have ended --------------------------------------------------------------------------

    def _is_past(self, before):
        return before.group != self._now.group

    def _released(self, one):
        return self._now.released.get(one.group)

    def _is_repeated(self, before):
        """Whether, of the Accesses by CTAs that have ended, another one will race with all that this one would."""
        present = self._known.present
        index = present.index(before)
        for i, one in enumerate(present):
            if i == index or not self._is_past(one) or not covers(one, before):
                continue
            if self._outlasts(one, before) and (i < index or not (covers(before, one) and self._outlasts(before, one))):
                return True
        return False

    def _is_one_too_many(self, before):
        """Whether an Access by a CTA that has ended is one of more than are kept."""
        present = self._known.present
        return (self._carefully and len(present) - present.index(before) > MOST_PAST
                and self._released(before) is not None)

    def _outlasts(self, one, other):
        """Whether, of two Accesses by CTAs that have ended, who knows the first to be over knows so of the second too."""
        mine, theirs = self._released(one), self._released(other)
        if mine is None or theirs is None:
            return mine is None
        if not self._carefully:
            return False
        one.ended(mine)
        other.ended(theirs)
        return outlasts(one, other)

    # ---- what is wrong ---------------------------------------------------------------------------------------------

    def _race(self, before, pairs):
        """Tells of Accesses that nothing orders; returns whether they race: bulk stores of the same do not. pairs: of these,
        an Unordered. What is told already is counted, and no more is looked for."""
        after, alike = self._after, None not in (before.stored, self._after.stored)
        if not alike and self._now.again("global race", before.place, after.place, after.allocation):
            return True
        bytes, mine, theirs = pairs.pairs
        differs = before.differs(after, bytes)
        if not differs.any():
            return False
        bytes, mine, theirs = bytes[differs], mine[differs], theirs[differs]
        did, does = ("writes" if access.kind & WRITES else "reads" for access in (before, after))
        detail = before.state() if before.group == after.group else before.unacquired(mine, self._released(before))
        if None not in (before.grain, after.grain) and before.grain != after.grain:
            detail = OTHER_SIZE
        detail = unlike(before, after) or first_read(before, after) or detail
        now = self._now.clocks is not None and before.agent is after.agent is None and before.epoch is not None
        flag = self._now.flag(before, int(mine[0]), ordered_ints(theirs)) if now else None
        self._now.tell("global race", before.place_of(mine), after.place_of(theirs), bytes, after.allocation, did=did,
                       does=does, detail=detail, flag=flag or (detail if detail == UNACQUIRED else None))
        return True

    def _check_fence(self, before):
        """Tells of bytes that the generic proxy wrote and the async one touches, where no fence lies between."""
        after = self._after
        if (after.kind & ASYNC and not before.kind & ASYNC and before.kind & WRITES
                and not before.fenced(after, self._where, self._now.clocks, self._released(before))):
            self._tell_in_order("missing proxy fence", before, does="writes" if after.kind & WRITES else "reads")

    def _check_cache(self, before):
        """Tells of bytes that have been written and are read by ld.global.nc (PTX ISA: ld.global.nc; CUDA C++ Programming
        Guide, Read-Only Data Cache Load Function)."""
        if is_cached(self._after.place.instruction) and before.kind & WRITES:
            self._tell_in_order("stale read", before)

    def _tell_in_order(self, kind, before, **words):
        """Tells of bytes that both touch, though they are in order."""
        after = self._after
        bytes, lanes = after.at(self._where)
        which, mine = before.on(bytes)
        self._now.tell(kind, before.place_of(mine), after.place_of(lanes), bytes[which], after.allocation, **words)


def _follows(after, before):
    """Whether an Access races with all that another one races with, where it comes after that. (Strong ones from elsewhere
    race with what comes, of a narrow scope, from where this one does.)"""
    return (covers(after, before) and (after.agent is None or after.agent is before.agent)
            and (not after.kind & STRONG or after.home == before.home))
