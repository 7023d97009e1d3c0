"""How the shadow of shared memory tells what is wrong: which kind of hazard it is, and which of two accesses comes first."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.elements import UNKNOWN
from simlayout.machine.hazards.kinds import calls_of, located

IN_FLIGHT = 0x80000000
"""Stamps above every serial number: nothing wrote the byte; a copy (the low bits are its serial) is still on its way."""

EQUAL = "of the value that another thread stores there too, and nothing orders the two: right as long as they are equal"


ANSWER = ("of what a shuffle has made of the value that another lane has read there ({}): it cannot come before that read, "
          "but PTX calls the two a race, as a shuffle orders no memory; a bar.warp.sync does (__syncwarp())")


OTHER_SIZE = " in pieces of another size"
"""Why two stores race that may store the same, or two strong accesses."""


OUT_OF_SCOPE = " with a scope that leaves one of them out (make it .cluster or .gpu)"
"""Why two strong accesses race."""

VOLATILE = " (volatile makes that no data race, but what is read depends on who comes first)"
"""Why two volatile accesses are told."""

INIT = " (a barrier.cluster.arrive.relaxed hands it on only if a fence.mbarrier_init comes behind the init)"
"""Why the init of an mbarrier and its use by another thread of a cluster are told."""

ENDED = " before it ended (a barrier orders only what threads did that come to it)"
"""Of a warp's access that others may take for ordered, because they have met at a barrier since (CUDA C++ Programming Guide,
Synchronization Functions: what non-exited threads did is visible)."""

FIRST_READ = " (what a loop of compare-and-swap reads first may be read by an atomic, or volatile, and needs no order then)"
"""Why a plain read and an atomic of its size race."""


class Telling:
    """The part of a SharedShadow that makes Hazards of what the rest finds."""

    def collided(self, touch, wrong):
        """Lanes stored different values to the same bytes; wrong: bool [n, nbytes], where what they stored is lost."""
        index, byte = np.nonzero(wrong)
        bytes = touch.rows[index] * touch.nbytes + byte
        _, lanes = touch.on(bytes)
        self._log.add("collision", None, touch.place(lanes), bytes)

    def settle(self):
        """Reports reads of what nobody wrote, when no unordered write can follow that would explain them."""
        too_early, self._unwritten = self._unwritten, {}
        for touch, bytes, lanes in too_early.values():
            self._log.add("unwritten read", None, touch.place(lanes), bytes)

    def _note_equal(self, touch):
        """Threads stored one value to the same bytes, and nothing orders them."""
        touch.warp.cta.launch.recorder.note_once(touch.site, f"{touch.instruction} {EQUAL}")

    def _note_answer(self, read, touch):
        """A lane stores what a shuffle has made of the value that another one has read in that place."""
        touch.warp.cta.launch.recorder.note_once(touch.site, f"{touch.instruction} {ANSWER.format(located(*read.site))}")

    def _too_early_as(self, read):
        """That read and those before it by the same lanes of the same bytes, with which nothing is compared any more (see
        `_overlapping`): [Touch], if nobody had written these bytes."""
        if read.serial not in self._unwritten:
            return []
        return [known for known, _, _ in self._unwritten.values()
                if known.warp is read.warp and known.serial <= read.serial and known.footprint() == read.footprint()]

    def _explain(self, read, written):
        """A write has come for which a read was too early: bytes `written` are no longer ones that nobody wrote."""
        touch, bytes, lanes = self._unwritten.pop(read.serial)
        left = ~np.isin(bytes, written)
        if left.any():
            self._unwritten[read.serial] = touch, bytes[left], lanes[left]

    def _race(self, before, after, first, second, did, does, bytes):
        """What to tell of an unordered pair, `before` having run first: (what `HazardLog.add` takes, words)."""
        why = _why_they_race(before, after) or _first_read(before, after, did, does)
        waited = why if before.waited is None else f" (landed by the wait at {_wait_of(before)})"
        if after.agent is not None and before.warp is not after.warp:
            waited = why = f"{why} (if that is to come after the copy, it does not wait for it: {after.state()})"
        flag = None if before.agent or after.agent else after.warp.flag_behind(
            after.warp.cta.clocks.serial, LANES * before.warp.number + first.lanes[0], before.epoch, second.lanes)
        if before.warp is after.warp:
            return ("lane race", first, second, bytes), {"did": did, "does": does, "detail": waited}
        if did != does and self._had_done(before.issued or before, after):
            first, second, did, does, waited = second, first, does, did, why
        elif does == "reads" and before.waited and self._had_done(before, after):
            return ("early read", first, second, bytes), {"detail": f"its wait comes later, at {_wait_of(before)}"}
        kind = {"writes": "write", "reads": "read"}
        return (f"{kind[does]} after {kind[did]}", first, second, bytes), {"detail": waited, "flag": flag}

    def _had_done(self, before, after):
        """Whether the warp of `before` had, before it, been where `after` is now: then that comes first in the program.

        (Of two unordered accesses the machine runs one first by chance; all warps run one program.) Told once per pair of
        places, so that one pair is one kind of hazard.
        """
        key = before.site, before.caller, before.waited, after.site, after.caller
        if key not in self._first:
            self._first[key] = any(t.warp is before.warp and t.site == after.site and t.caller == after.caller
                                   for t in self._touches.values() if t.serial < before.serial)
        return self._first[key]

    def _in_flight(self, kind, copy, touch, where):
        index, byte = np.nonzero(where)
        bytes = touch.rows[index] * touch.nbytes + byte
        _, lanes = copy.on(bytes)
        if kind == "write in flight" and copy.serial in self._unwritten:
            self._explain(copy, bytes)
        first, second = copy.place(lanes), touch.place(touch.by(index, byte))
        if kind == "early read" and copy.warp is not touch.warp and self._had_done(copy, touch):
            self._log.add("write after read", second, first, bytes, detail="")
        else:
            self._log.add(kind, first, second, bytes, detail=copy.state())

    def _check_marks(self, touch, stamps):
        held = self._marks[touch.nbytes].take(touch.rows, axis=0)
        wrong = (held != touch.marks) & (held != UNKNOWN) & (stamps < IN_FLIGHT)
        if wrong.any():
            index, byte = (int(i[0]) for i in np.nonzero(wrong))
            store = self._stores[int(stamps[index, byte])]
            alike = [of[index] == of[index, byte] for of in (touch.marks, held, stamps)]     # this lane's, of this element
            at = np.flatnonzero(wrong[index] & np.all(alike, axis=0))
            self._tell_wrong_element(touch, store, index, byte, at, held[index, byte])

    def _tell_wrong_element(self, touch, store, index, byte, at, held):
        bytes = touch.rows[index] * touch.nbytes + at
        first = store.place(store.on(bytes)[1])
        wanted = self._elements.coordinate(touch.name, touch.marks[index, byte])
        there = self._elements.coordinate(touch.name, held)
        giver = index if touch.lanes.ndim > 1 else int(touch.lanes[index])
        self._log.add("wrong element", first, touch.place([giver]), bytes,
                      wanted=f"{wanted} of {touch.name!r}", found=there)


def _wait_of(copy):
    """Where the wait is by which a copy has landed, as text."""
    (file, line), caller = copy.waited
    return located(file, line, calls_of(caller))


def _first_read(before, after, did, does):
    """Why a plain read races with a compare-and-swap, as text, "" of all else."""
    swap, read = (before, after) if does == "reads" else (after, before)
    return FIRST_READ if "reads" in (did, does) and ".cas." in swap.instruction and not read.strong else ""


def _why_they_race(before, after):
    """Why two accesses race that may be taken for such as need no order, as text."""
    stores, strong = before.same is not None and after.same is not None, before.strong and after.strong
    if (stores or strong) and before.width != after.width:
        return OTHER_SIZE
    if before.out_of_scope(after):
        return OUT_OF_SCOPE
    if before.instruction == "mbarrier.init" and len(before.warp.cta.cluster.ctas) > 1:
        return INIT
    if before.volatile and after.volatile and before.warp is not after.warp:
        return VOLATILE
    ended_at = before.warp.ended_at if before.warp is not after.warp else None
    return ENDED if ended_at is not None and before.warp.cta.meetings > ended_at else ""
