"""What the shadow of shared memory is told: one instruction, which bytes it touches, and by which threads."""

from dataclasses import dataclass

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.rows import touching
from simlayout.machine.hazards.scopes import GPU, apart, home_of


def matrix_lanes(rows, transposed):
    """int64 [rows, 16]: the lane that gets (ldmatrix) or gives (stmatrix) each byte of each row.

    PTX does not say which thread accesses memory for the others; here it is the one whose register is concerned.

    >>> matrix_lanes(8, False)[1].tolist()
    [4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7]
    """
    row, column = np.arange(rows)[:, None] % 8, np.arange(16)[None, :] // 2
    return 4 * column + row // 2 if transposed else 4 * row + column // 2


def matrix_pieces(rows, transposed):
    """(int64 [n, 32], int64 [n, 32], bytes): the same by lane: of which row, and from which byte of it on, each gets or
    gives so many bytes, n times.

    >>> row, byte, nbytes = matrix_pieces(8, False)
    >>> row[0, 4:8].tolist(), byte[0, 4:8].tolist(), nbytes
    ([1, 1, 1, 1], [0, 4, 8, 12], 4)
    """
    matrix, lane = 8 * np.arange(rows // 8)[:, None], np.arange(LANES)
    if not transposed:
        return matrix + lane // 4, np.broadcast_to(4 * (lane % 4), (rows // 8, LANES)), 4
    row = np.concatenate([matrix + 2 * (lane % 4), matrix + 2 * (lane % 4) + 1])
    return row, np.broadcast_to(2 * (lane // 4), row.shape), 2


WEAK, RELAXED = "weak", "relaxed"
"""Orders of accesses, as PTX names them: the first promises none; all others are strong."""


def is_atomic(instruction):
    """Whether the name of an instruction is an atomic's.

    >>> is_atomic("red.shared.add.u32"), is_atomic("st.shared.b32")
    (True, False)
    """
    return instruction.startswith(("atom.", "red."))


def is_cached(instruction):
    """Whether the name of an instruction is that of a load through a cache that may hold what was there before the launch.

    >>> is_cached("ld.global.nc.v4.f32"), is_cached("ld.global.f32")
    (True, False)
    """
    return ".nc." in instruction


def asks(warp):
    """Whether what a warp does is an atomic or a load whose value says what others have done: see `passes.atomic_values` and
    `passes.waits` of PTX."""
    return getattr(warp.doing, "waits", False)


def answered_by(warp):
    """Where what a warp stores was loaded, if a shuffle has made it of that: see `passes.answers` of PTX."""
    return getattr(warp.doing, "answers", ())


class Touch:
    """One warp instruction on shared memory.

    warp, instruction, site, caller, name: who does it, where, and for which Access, if any
    rows, nbytes: int64 [n], the units that it touches, and the bytes of a unit
    lanes: who touches them, int64 [n] or [n, nbytes]
    marks: what each byte is declared to be, int64 [n, nbytes], or None
    width: bytes of a value, of which a vector has several; 0 of stmatrix, where PTX does not say who stores what
    strong: whether it and other strong ones need no order, as atomics need none; reach: how far its scope goes then
    volatile: whether it needs one all the same with volatile ones, see `may_meet`
    reduction: of a reduction by the copy engine which one, as "add.u32": it needs no order with others of the same kind
    same: of a weak store of data, bool [n, nbytes]: where memory already holds what it stores; None of all else; keeps: also
    of a volatile one
    epoch, serial: when it was entered
    earlier: reads of these bytes by the same warp that are not ordered before this one
    beneath: of an atomic or a strong store, the plain writes that it and others have changed
    issued, waited: of a copy that has landed, the Touch that it was before, and (site, caller) of the wait; issued: of
    what an atomic or a strong store leaves, that
    agent, number: of what an engine does (see `clocks`): whoever has its column `engine` and tells when it is over
    (`state(touch)`), and its number there
    """

    __slots__ = ("warp", "instruction", "site", "caller", "rows", "nbytes", "lanes", "name", "marks", "epoch", "serial",
                 "earlier", "issued", "waited", "agent", "number", "strong", "volatile", "reduction",
                 "beneath", "same", "keeps", "width", "reach", "_threads", "_bounds", "_footprint")

    def __init__(self, warp, instruction, rows, nbytes, lanes, name=None, marks=None):
        self.warp, self.instruction, self.site, self.caller = warp, instruction, warp.site, warp.caller
        self.rows, self.nbytes, self.lanes, self.name, self.marks = rows, nbytes, lanes, name, marks
        self.earlier, self.issued, self.waited, self.agent, self.number = (), None, None, None, None
        self.beneath, self.same, self.keeps, self.width, self.reach = (), None, None, nbytes, GPU
        self.strong, self.volatile, self.reduction = False, False, None
        self._threads, self._bounds, self._footprint = None, None, None

    def again(self):
        """The same, not entered yet."""
        again = Touch(self.warp, self.instruction, self.rows, self.nbytes, self.lanes, self.name, self.marks)
        again.site, again.caller, again.strong, again.volatile = self.site, self.caller, self.strong, self.volatile
        again.width, again.reach = self.width, self.reach
        return again

    def of_elements(self, nbytes, elements):
        """The same of some elements of nbytes bytes each that a lane touches."""
        some, n = self.again(), len(elements)
        rows = self.rows[:, None] * (self.nbytes // nbytes) + np.array(elements)
        some.rows, some.nbytes, some.lanes = rows.reshape(-1), nbytes, np.repeat(self.lanes, n)
        if self.marks is not None:
            some.marks = self.marks.reshape(len(self.rows), -1, nbytes)[:, elements].reshape(-1, nbytes)
        return some

    def landed(self, waited):
        """The same copy as what it is once a wait has covered it: a write by the waiting threads."""
        write = self.again()
        write.strong, write.issued, write.waited = False, self, waited
        write.agent, write.number = self.agent, self.number
        return write

    def state(self):
        """Which wait covers this copy, as text."""
        return self.warp.copies.state(self) if self.agent is None else self.agent.state(self)

    def threads(self):
        """int64 [n]: the threads concerned, by their numbers in the clocks."""
        if self._threads is None:
            self._threads = LANES * self.warp.number + np.unique(self.lanes)
        return self._threads

    def by(self, index, byte):
        """int64: the lanes that touch byte `byte` of rows number `index`."""
        return self.lanes[index] if self.lanes.ndim == 1 else self.lanes[index, byte]

    def on(self, addresses):
        """(which [m], lanes [m]): every pair of an entry of `addresses` (bytes) and a lane that touches it."""
        which, index = touching(self.rows, self.nbytes, addresses)
        return which, self.by(index, addresses[which] % self.nbytes)

    def unaware(self, other, clocks):
        """bool [n, 1] or [n, nbytes]: which bytes are touched by lanes that do not know that the engine's Touch `other` is
        over."""
        known = other.number is not None and clocks.knows(LANES * self.warp.number + self.lanes, other.agent.engine,
                                                          other.number)
        unaware = np.broadcast_to(~np.asarray(known), self.lanes.shape)
        return unaware[:, None] if unaware.ndim == 1 else unaware

    def may_meet(self, other):
        """Whether the two need no order: strong accesses of one size whose scopes have both, or reductions of one kind.
        (Volatile ones do, but for those of one instruction: who leaves out a barrier between lanes of one warp relies on
        lanes that go in step; and of two warps, what is read depends on who comes first, unless it only is a flag.)"""
        return (self.strong and other.strong and self.reduction == other.reduction and self.width == other.width
                and not self.out_of_scope(other) and not self.both_volatile(other))

    def both_volatile(self, other):
        """Whether the two are volatile, and of one warp, but not of one instruction, or a load and a store. Where warps wait
        for flags these say who comes first, and fences are what may be missing."""
        apart = self.instruction[:2] != other.instruction[:2] and not self.warp.waits_for_flags
        return self.volatile and other.volatile and self.rows is not other.rows and (self.warp is other.warp or apart)

    def races_as(self, other):
        """Whether it races with all that another read of this warp races with, where it comes later."""
        return not self.strong or (other.strong and self.reach <= other.reach and self.width == other.width
                                   and self.volatile >= other.volatile)

    def out_of_scope(self, other):
        """Whether the two are strong accesses, and one has a scope that the other's threads are not in."""
        return (self.strong and other.strong and min(self.reach, other.reach) < GPU
                and apart(home_of(self.warp.cta), home_of(other.warp.cta)) > min(self.reach, other.reach))

    def may_store_one_value(self, other):
        """Whether the two are plain stores that need no order where they store the same: those whose values have one size
        (PTX ISA, Memory Consistency Model: Limitations on Mixed-size Data-races)."""
        return self.same is not None and other.same is not None and self.width == other.width

    def overlap(self, other):
        """bool [n, nbytes]: which bytes `other` touches too."""
        return np.isin(self.addresses(), other.addresses())

    def addresses(self):
        """int64 [n, nbytes]: of the bytes that it touches."""
        return self.rows[:, None] * self.nbytes + np.arange(self.nbytes)

    def bounds(self):
        """(the first byte, one past the last)."""
        if self._bounds is None:
            self._bounds = int(self.rows.min()) * self.nbytes, (int(self.rows.max()) + 1) * self.nbytes
        return self._bounds

    def near(self, other):
        """Whether they may have bytes in common."""
        (first, end), (other_first, other_end) = self.bounds(), other.bounds()
        return first < other_end and other_first < end

    def covers(self, other):
        """Whether the same lanes touch the same bytes."""
        return (self.nbytes == other.nbytes and np.array_equal(self.rows, other.rows)
                and np.array_equal(self.lanes, other.lanes))

    def footprint(self):
        """What two touches share in which the same lanes touch the same bytes: as `covers`, to look them up."""
        if self._footprint is None:
            self._footprint = self.nbytes, self.rows.tobytes(), self.lanes.tobytes()
        return self._footprint

    def place(self, lanes=()):
        """The Place of some of its lanes."""
        return self.warp.place(lanes, self.instruction, self.site, self.caller)


@dataclass(frozen=True, eq=False)
class Rival:
    """A write with which a later access is compared, besides the last one of some bytes: if nothing orders two stores of one
    value, either may come last, so a later access must come after both; and a store of the value that is already there need
    not come after the last store, but it must come after what stored another value before.

    touch: it; bytes: int64 [n], addresses, None for all of it. equal: whether it stored what the last one stored, which is
    not ordered after it; else it stored another value before."""

    touch: Touch
    bytes: np.ndarray | None = None
    equal: bool = True


def together(rivals):
    """The same Rivals, those of one write as one.

    >>> from types import SimpleNamespace
    >>> store = SimpleNamespace(serial=5)
    >>> (both,) = together([Rival(store, np.array([0, 1])), Rival(store, np.array([4]))])
    >>> both.bytes.tolist()
    [0, 1, 4]
    """
    made = {}
    for rival in rivals:
        key = rival.touch.serial, rival.equal
        if key in made:
            rival = Rival(rival.touch, np.union1d(made[key].bytes, rival.bytes), rival.equal)
        made[key] = rival
    return list(made.values())
