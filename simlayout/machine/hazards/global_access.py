"""Accesses of global memory: what an instruction or a copy does there, which two of them conflict, and which comes first.

Two accesses of a byte conflict if one of them writes, unless both are strong and of one proxy (PTX ISA, Memory Consistency
Model: morally strong). Conflicting accesses race unless one happens before the other: see `clocks`, and `releases` for what
CTAs did that have ended.
"""

from dataclasses import replace
from functools import partial
from math import gcd
from typing import NamedTuple

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.clocks import IN_GLOBAL
from simlayout.machine.hazards.kinds import UNACQUIRED, ordered_ints
from simlayout.machine.hazards.releases import NEVER
from simlayout.machine.hazards.rows import touching
from simlayout.machine.hazards.scopes import apart, home_of
from simlayout.machine.hazards.telling import FIRST_READ, OTHER_SIZE, OUT_OF_SCOPE
from simlayout.machine.hazards.touches import asks

WRITES, STRONG, ASYNC = 4, 2, 1
"""Bits of the kind of an access: it writes; it is strong, as atomics are; it is the async proxy's, as all of TMA is."""


def conflict(one, other):
    """Whether accesses of these kinds race where nothing orders them.

    >>> conflict(WRITES, 0), conflict(0, 0), conflict(WRITES | STRONG, STRONG), conflict(WRITES | STRONG, STRONG | ASYNC)
    (True, False, False, True)
    """
    return bool((one | other) & WRITES) and not (one & other & STRONG and not (one ^ other) & ASYNC)


EVERYTHING = object()
_EVERY = np.arange(LANES)
_UNCOVERED = (np.empty(0, np.int64),) * 3

_ALL = range(8)
CONFLICTS = tuple(tuple(conflict(one, other) for other in _ALL) for one in _ALL)
COVERS = tuple(tuple(all(CONFLICTS[one][k] for k in _ALL if CONFLICTS[other][k]) for other in _ALL) for one in _ALL)
"""[one][other]: whether all that conflicts with `other` conflicts with `one` too."""


class Plain(NamedTuple):
    """What a plain store leaves. grain: what its values are, (bytes of one, where it starts modulo that); same: whether each
    byte holds what it held before, bool [rows, unit] as of its Access.

    Where plain stores of different grain race PTX promises nothing, even if they store the same (Memory Consistency Model:
    Limitations on Mixed-size Data-races).
    """

    grain: tuple[int, int]
    same: np.ndarray


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


def conflicting(one, other):
    """Whether two Accesses race where nothing orders them."""
    return CONFLICTS[one.kind][other.kind] or bool(unlike(one, other))


def unlike(one, other):
    """Why two strong Accesses race, one of which writes, as text: values of two sizes, or a scope that leaves one out."""
    if not (one.kind & other.kind & STRONG and (one.kind | other.kind) & WRITES):
        return ""
    if one.width != other.width:
        return OTHER_SIZE
    return OUT_OF_SCOPE if one.home and apart(one.home, other.home) > min(one.reach, other.reach) else ""


def first_read(one, other):
    """Why a plain read races with a compare-and-swap, as text, "" of all else."""
    for swap, read in ((one, other), (other, one)):
        if ".cas." in swap.place.instruction and not read.kind:
            return FIRST_READ
    return ""


def counted(before, after, present, where, clocks):
    """Whether a plain store comes behind what an atomic or a strong store has left and its thread has looked at: by an
    atomic behind that one, or by a load that waits. The last block sets its counter back so, and who holds a lock last the
    lock. present: Accesses of these bytes.

    What a GPU does is certain, be there a release or not: what was seen cannot come later (Coherence).
    """
    if after.grain is None or before.kind & (WRITES | STRONG) != WRITES | STRONG:
        return False
    return any(one.asks and one.group == after.group and one.unordered(after, where, clocks) is None
               for one in present[present.index(before) + 1:])


def covers(one, other):
    """Whether what races with an Access races with another one too, if it is ordered after neither or both, and comes from
    elsewhere. Two plain stores that stand for a byte have stored one value there, or a race has been told of."""
    return (COVERS[one.kind][other.kind] and one.grain in (None, other.grain)
            and (not one.kind & STRONG or one.reach <= other.reach and one.width == other.width))


def alike(one, other):
    """Whether the same lanes touch the same bytes in two Accesses."""
    return one.unit == other.unit and np.array_equal(one.rows, other.rows) and np.array_equal(one.lanes, other.lanes)


class Unordered:
    """What of an Access does not happen before another one. every: whether that is all that the two share; find: of
    `pairs`."""

    __slots__ = ("every", "_find", "_found")

    def __init__(self, find, every=True):
        self.every, self._find, self._found = every, find, None

    @property
    def pairs(self):
        """(bytes, lanes of the one, lanes of the other), int64 [n] each."""
        if self._found is None:
            self._found = self._find()
        return self._found


class Access:
    """One warp instruction, or one copy, on one piece of global memory.

    place: its Place, of no lanes. rows: int64 [n], units of `unit` bytes from the start of that memory; lanes: int [n], who
    touches them. kind: see WRITES. allocation: the Allocation through which it does. copies: whether it is a cp.async.
    grain: of a plain store that of its Plain, None of all else. width: of a strong one, bytes of a value. reach, home: how
    far its scope does, and where its threads are (see `scopes`); home is None in a launch in which all reach the GPU.
    agent: of what TMA does, that which has its column `engine` of the clocks and says in text when it is over
    (`state(access)`); number: there, None until it is known; stored: of a bulk store, a function that returns what it
    writes, uint8 [n, unit].

    group: the serial number of the clocks of those who run at the same time; warp: its number in them; epoch: None while a
    cp.async is under way, then that of its wait; met: the epochs before which all was ordered when it was issued. covering:
    once its CTA has ended, the releases that cover it (see `ended`); own: of atomics, the releases that they were: (lane,
    counter, number) each; asks: whether it is an atomic or strong load whose value says what others have done.
    """

    __slots__ = ("place", "group", "warp", "epoch", "met", "rows", "unit", "lanes", "kind", "allocation", "copies", "agent",
                 "number", "stored", "covering", "grain", "own", "reach", "home", "width", "asks")

    def __init__(self, warp, place, rows, unit, lanes, kind, allocation, copies=False, agent=None,
                 stored=None, grain=None, width=None):
        clocks = warp.cta.clocks
        self.place, self.group, self.warp, self.met = place, clocks.serial, warp.number, clocks.met
        self.epoch = None if copies else clocks.epochs[warp.number]
        self.rows, self.unit, self.lanes, self.kind, self.allocation = rows, unit, lanes, kind, allocation
        self.copies, self.agent, self.number, self.stored, self.covering = copies, agent, None, stored, None
        self.grain, self.own = grain, ()
        self.reach, self.home = warp.reach, home_of(warp.cta) if warp.cta.launch.narrow else None
        self.width, self.asks = width, bool(kind & STRONG) and asks(warp)

    def ended(self, released):
        """The releases that cover what it does, when its CTA has ended: (lane, counter, number), int [n] each.

        released: the Released of its group, or None.
        """
        if self.covering is None:
            engine = self.agent is not None
            value = self.number if engine else self.epoch
            if released is None or value is None:
                self.covering = _UNCOVERED
            elif engine:
                _, *release = released.covering(np.array([self.agent.engine]), value)
                self.covering = np.repeat(_EVERY, len(release[0])), *(np.tile(of, LANES) for of in release)
            else:
                lanes = np.unique(self.lanes)
                index, *release = released.covering(LANES * self.warp + lanes, value)
                self.covering = lanes[index], *release
            if self.own:
                self.covering = tuple(map(np.append, self.covering, zip(*self.own)))
        return self.covering

    def released(self, lane, release):
        """A lane's atomic was this Release: who knows that knows of the atomic too, since it has seen what it left."""
        self.own = (*self.own, (lane, release.counter, release.number))

    def on(self, bytes):
        """(which [m], lanes [m]): every pair of an entry of `bytes` (int64) and a lane that touches it."""
        which, index = touching(self.rows, self.unit, bytes)
        return which, self.lanes[index]

    def place_of(self, lanes):
        """The Place of some lanes."""
        return replace(self.place, lanes=ordered_ints(lanes))

    def state(self):
        """What would cover it while it is under way, as text."""
        if self.agent is not None:
            return f" ({self.agent.state(self)})"
        return " (no cp.async.wait_group has covered it)" if self.epoch is None else ""

    def unacquired(self, lanes, released):
        """What to say of this if some of these lanes have released it before their CTA ended. released: as of `ended`."""
        return UNACQUIRED if released is not None and np.isin(lanes, self.ended(released)[0]).any() else ""

    def at(self, where=None):
        """(bytes, lanes), int64 [n] each: what it touches, by whom; only in bytes given by bool [rows, unit]."""
        if where is None:
            return (self.rows[:, None] * self.unit + np.arange(self.unit)).reshape(-1), np.repeat(self.lanes, self.unit)
        index, byte = np.nonzero(where)
        return self.rows[index] * self.unit + byte, self.lanes[index]

    def unordered(self, after, where, clocks, released=None):
        """What of this does not happen before another Access, an Unordered, or None. where: only in these bytes of that one,
        see `at`.

        clocks: of now, where `after` happens now; None where it is long past: then only what surely came before does.
        released: the Released of this one's group, where that is another one.
        """
        disorder = self._disorder(after, clocks, released)
        if disorder is None:
            return None
        if disorder is EVERYTHING:
            return Unordered(partial(self._pairs, after, where))
        bytes, mine, theirs = self._pairs(after, where)
        bad = disorder(mine, theirs)
        return Unordered(lambda: (bytes[bad], mine[bad], theirs[bad]), bool(bad.all())) if bad.any() else None

    def _disorder(self, after, clocks, released):
        """None where all of this happens before another Access, EVERYTHING where nothing does; else a function of lanes of
        both, int64 [n] each, that says where it does not."""
        one, other = LANES * self.warp, LANES * after.warp
        if self.group != after.group:
            if released is None:
                return EVERYTHING
            known = _known_to(clocks, after.warp, self.ended(released))
            return lambda mine, theirs: ~known[theirs, mine]
        if self.agent is not None:
            if self.number is None or clocks is None:
                return EVERYTHING
            return lambda mine, theirs: ~clocks.knows(other + theirs, self.agent.engine, self.number)
        if self.epoch is None:
            return EVERYTHING
        if self.surely_before(after) or clocks is not None and clocks.warps_ordered(self.warp, self.epoch, after.warp):
            return None
        if clocks is None:
            return lambda mine, theirs: (mine != theirs) | (one != other) | self._goes_on(after)
        return lambda mine, theirs: ~clocks.ordered(one + mine, self.epoch, other + theirs)

    def surely_before(self, after):
        """Whether this happens before another Access, as far as is seen at once: a barrier of all, or the same lanes."""
        if self.epoch is None or self.agent is not None or self.group != after.group:
            return False
        return self.epoch < after.met[self.warp] or (self.warp == after.warp and not self._goes_on(after)
                                                     and self._by_the_same_lanes(after))

    def never_before(self, after, clocks):
        """Whether no lane's part of this happens before one of another Access, as far as is seen at once: see `unordered`.
        """
        if self.epoch is None or self.agent is not None:
            return self.agent is None
        return self.warp != after.warp if clocks is None else not clocks.any_ordered(self.warp, self.epoch, after.warp)

    def _goes_on(self, after):
        """Whether it is a copy that may have been under way when an Access by the same thread came."""
        return self.copies and not after.copies and self.epoch >= after.epoch

    def _pairs(self, after, where):
        bytes, lanes = after.at(where)
        which, mine = self.on(bytes)
        return bytes[which], mine, lanes[which]

    def _by_the_same_lanes(self, other):
        """Whether it surely is one lane that touches each byte in both."""
        return alike(self, other) and bool((self.rows[1:] > self.rows[:-1]).all())

    def again(self, after):
        """Whether the same lanes do so again in another Access: who comes after all of that comes after all of this."""
        return (self.group == after.group and self.warp == after.warp and self.epoch is not None and self.agent is None
                and not self._goes_on(after) and alike(self, after))

    def needs_no_order(self, other):
        """Whether this Access and all others that need none with `other`, itself included, are reads, or atomics and strong
        stores of one width in a launch in which all reach the GPU: none of them races with any other, whoever does it."""
        if not (self.kind | other.kind) & WRITES:
            return True
        strong = self.kind == other.kind == WRITES | STRONG
        return strong and self.width == other.width and self.home is other.home is None

    def differs(self, after, bytes):
        """bool [n]: which of these bytes, int64 [n], come out otherwise if this Access comes after that one. Of bulk stores
        of one CTA those that both write alike do not; of all else it is assumed."""
        if self.stored is None or after.stored is None or self.place.cta != after.place.cta:
            return np.full(len(bytes), True)
        one, other = (access.stored()[touching(access.rows, access.unit, bytes)[1], bytes % access.unit]
                      for access in (self, after))
        return one != other

    def fenced(self, after, where, clocks, released=None):
        """Of an Access that happens before one of the async proxy, whether a fence.proxy.async lies between, wherever they
        share bytes. released: as of `unordered`."""
        _, mine, theirs = self._pairs(after, where)
        if self.group != after.group:
            lanes = np.unique(mine)
            index, *release = released.covering(LANES * self.warp + lanes, self.epoch, IN_GLOBAL)
            passed = (_known_to(clocks, after.warp, (lanes[index], *release))
                      | _known_to(clocks, after.warp, self.ended(released), IN_GLOBAL))
            return bool(passed[theirs, mine].all())
        threads = LANES * self.warp + np.unique(mine)
        return bool(clocks.fenced(threads, self.epoch, LANES * after.warp + np.unique(after.lanes), IN_GLOBAL).all())


def _known_to(clocks, warp, covering, plane=0):
    """bool [32, 32]: which lanes of a warp know, now, what each lane of an Access by an ended CTA did.

    covering: see `Access.ended`; plane: as of `Clocks.fenced`, or 0.
    """
    lanes, counters, numbers = covering
    if not lanes.size:
        return np.zeros((LANES, LANES), bool)
    some, which = np.unique(counters, return_inverse=True)
    of_lane = np.zeros((len(lanes), LANES), np.float32)
    of_lane[np.arange(len(lanes)), lanes] = 1
    return (clocks.counted_by(warp, some, plane)[:, which] >= numbers).astype(np.float32) @ of_lane > 0


def outlasts(one, other):
    """Whether who knows an Access by an ended CTA to be over knows so of another one too; both have `covering`.

    It is so if of each release that covers a lane of the first it or one before it on its counter covers all lanes of the
    other, or the same lane where the same lanes do the same.
    """
    counters = np.unique(one.covering[1])
    mine, theirs = _numbers(one, counters), _numbers(other, counters)
    if alike(one, other):
        return bool((theirs <= mine).all())
    mine, theirs = mine[np.unique(one.lanes)], theirs[np.unique(other.lanes)]
    return bool((theirs.max(axis=0) <= mine.min(axis=0)).all())


def _numbers(access, counters):
    """int64 [32, n]: the first release of each of the sorted counters that covers a lane of an Access, or NEVER."""
    lanes, of, numbers = access.covering
    first = np.full((LANES, len(counters) + 1), NEVER, np.int64)
    at = np.searchsorted(counters, of)
    at[np.append(counters, 0)[at] != of] = len(counters)                 # (counters are numbered from 1)
    np.minimum.at(first, (lanes, at), numbers)
    return first[:, :-1]
