"""The shadow of global memory: who accessed each byte in this run, as far as a later access may still race with it.

CTAs that run at the same time are ordered by what their clocks know (see `clocks`): the threads of a CTA by barriers, the
CTAs of a cluster by barrier.cluster, all by counters (see `atomics`). Those that do not are ordered by counters alone, and
once a CTA has ended it is known for good which of its releases cover an access (see `releases`).

The shadow holds a number per byte that stands for a few accesses. A new access is compared with each of them, as
`global_comparison` does, and then joins them; one leaves where the new one comes after it and races with all that it would
race with. So for every byte with a race one is found, in whatever order warps and CTAs happened to run, and what is kept
does not grow with the length of a run. Memory that has only been read needs no comparison, nor has that of atomics alone, as
a histogram in global memory: what happens there is listed, and entered when something else comes.

Two plain stores of one value do not race: either may come last; where nothing orders them, that is noted. So a plain store
does not race with all that what came before it would race with, because another store of its value may come. What it comes
after is kept beneath it, for such stores alone; whatever else comes must come after that store, or races with it.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.global_access import STRONG, WRITES, Access, Plain, units
from simlayout.machine.hazards.global_comparison import BENEATH, STAYS, Comparison, Known, Now
from simlayout.machine.hazards.proxies import PRUNE_AT
from simlayout.machine.hazards.rounding import NOTE, differ_by_rounding
from simlayout.machine.hazards.rows import room_for, rows_of
from simlayout.machine.hazards.telling import EQUAL

LISTED = 2**19
"""Rows of what is listed before those are entered that are of CTAs which have ended: 4 MiB."""

THINNED = 4
"""Accesses of one byte among which those that need not be kept are looked for with all care; and of every power of two times
as many. What is seen at once goes at once."""

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
        here = self._numbers[access.unit]
        before = here.take(access.rows, axis=0)
        here[access.rows] = self._after(before, access, clocks, same) if before.any() else self._new(Known((access,)))
        self._prune()

    def _after(self, before, access, clocks, same):
        """The numbers of bytes that had numbers `before`, uint32 [rows, unit], when an Access has come."""
        after, numbers, made = np.zeros_like(before), np.unique(before).tolist(), {}
        now, equal = Now(self._group, clocks, self._released, self._tell, self._again, self._flag), False
        for number in numbers:
            known, where = self._known[number], None if len(numbers) == 1 else before == number
            carefully = _is_due(len(known.present))
            for again, there in _by_value(same, where) if known.has_stored(access.grain) else ((False, where),):
                comparison = Comparison(known, access, there, now, again, carefully)
                entered = self._joined(comparison.outcomes(), access, made)
                if there is None:
                    after.reshape(-1)[:] = entered
                else:
                    after[there] = entered
                equal |= comparison.equal
        if equal:
            place = access.place
            self._launch.recorder.note_once((place.file, place.line), f"{place.instruction} {EQUAL}")
        return after

    def _joined(self, outcomes, access, made):
        """The number, or uint32 [n], of an Access and what has become of those before it: [(Access, int, or int [n])].
        made: {Known: number} of those that the Access has so far."""
        accesses, becomes = [one for one, _ in outcomes], [what for _, what in outcomes]
        if all(isinstance(what, int) for what in becomes):
            present, beneath = (tuple(one for one, what in outcomes if what == there) for there in (STAYS, BENEATH))
            known = Known((*present, access), beneath)
            if known not in made:
                made[known] = self._new(known)
            return made[known]
        patterns, which = np.unique(np.array(np.broadcast_arrays(*becomes)), axis=1, return_inverse=True)
        numbers = [self._joined([*zip(accesses, pattern)], access, made) for pattern in patterns.T.tolist()]
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

    def _flag(self, before, lane, lanes):
        return self._launch.running.flag_behind(before.group, LANES * before.warp + lane, before.epoch, lanes)

    def _again(self, kind, first, second, allocation):
        return self._launch.log.again(kind, first, second, allocation.told)

    def _tell(self, kind, first, second, bytes, allocation, **words):
        self._launch.log.add(kind, first, second, bytes - allocation.origin, allocation.told, **words)


def _is_due(many):
    """Whether of so many Accesses those that need not be kept are looked for with all care.

    >>> [many for many in range(20) if _is_due(many)]
    [4, 8, 16]
    """
    return many >= THINNED and not many & (many - 1)


def _by_value(same, where):
    """[(whether bytes hold what they held, bool [rows, unit] or None for all)] of the bytes that bool [rows, unit] or None
    gives."""
    some = same if where is None else same[where]
    if some.all() or not some.any():
        return [(bool(some.all()), where)]
    return [(again, (same == again) if where is None else where & (same == again)) for again in (False, True)]
