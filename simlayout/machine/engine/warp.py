"""A warp as its instruction twins see it: lanes, shared memory, asynchronous copies, barriers."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakSet

import numpy as np

from simlayout.errors import AddressError, InstructionError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.atomics import AtomicTwins
from simlayout.machine.engine.barriers import meet_fences
from simlayout.machine.engine.bulk import BulkTwins
from simlayout.machine.engine.copies import Copies, CopiesArrival, Copy
from simlayout.machine.engine.cta import Cta
from simlayout.machine.engine.global_memory import GlobalPointer
from simlayout.machine.engine.lanes import Lanes, lane_list
from simlayout.machine.engine.mbarriers import MbarrierTwins
from simlayout.machine.engine.memory import PerLane, lane_addresses
from simlayout.machine.engine.peers import PeerTwins
from simlayout.machine.engine.polling import Polling
from simlayout.machine.engine.waiting import waits
from simlayout.machine.engine.warpgroup import WarpgroupTwins
from simlayout.machine.hazards.clocks import HANDED_ON
from simlayout.machine.hazards.rounding import NOTE, differ_by_rounding
from simlayout.machine.hazards.touches import WEAK, Touch, matrix_lanes, matrix_pieces

_LANE = np.arange(LANES)
_LANE.setflags(write=False)


@lru_cache(None)
def matrix_rows(instruction):
    """How many lanes give row addresses: 8 per matrix.

    >>> matrix_rows("ldmatrix.x2.trans")
    16
    """
    for part in instruction.split("."):
        if part in ("x1", "x2", "x4"):
            return 8 * int(part[1])
    raise InstructionError(f"{instruction!r} names no number of matrices: write x1, x2 or x4, as in ldmatrix.x4")


class Warp(Lanes, Polling, MbarrierTwins, BulkTwins, WarpgroupTwins, PeerTwins, AtomicTwins):
    """32 lanes of a CTA. A twin is called as `twin(warp, *operands)`.

    tid: int64 [32], index in the CTA (x fastest); thread: its x, y and z, each int64 [32]; lane: int64 [32], 0..31;
    warp_index: int; index, grid, block: (x, y, z) of the CTA, the grid and the block; active: bool [32];
    cta: the Cta (its `.shared` is the SharedMemory). number: of the warp in the clocks.

    Every shared access checks bounds and alignment of the active lanes (AddressError), is counted, and is told to the
    CTA's shadow, which finds hazards. Addresses are bytes, one per lane (int array [32]) or uniform (int). `instruction`
    is the PTX name to count.
    """

    def __init__(self, cta: Cta, warp_index: int):
        self.cta, self.warp_index, self.lane = cta, warp_index, _LANE
        self.tid = warp_index * LANES + _LANE
        self.tid.setflags(write=False)
        x, y, _ = cta.block
        self.thread = self.tid % x, self.tid // x % y, self.tid // (x * y)
        self.index, self.grid, self.block = cta.index, cta.grid, cta.block
        self.executed = cta.launch.recorder.executed
        self.number = cta.first + warp_index
        self.arrays = WeakSet()                          # its RegisterArrays
        self.ended_at: int | None = None                 # how often its CTA had met at barriers then
        self._meeting: Any = None                        # from cluster_arrive to cluster_wait
        self.copies, self.fetched = Copies(), []         # fetched: Accesses of the cp.async that comes next
        Polling.__init__(self, cta.launch)
        Lanes.__init__(self, self.tid < cta.threads)

    def __repr__(self):
        return f"warp {self.warp_index} of CTA {self.index}"

    def _mask(self):
        return None if self.whole else self.active

    @property
    def counted_at(self) -> tuple:
        """Where an access is counted: (file, line), of PTX also its line."""
        return self.site

    # ---- shared memory -------------------------------------------------------------------------------------------

    def shared_load(self, instruction: str, addresses: PerLane, nbytes: int, order: str = WEAK,
                    used: tuple[int, Sequence[int]] | None = None) -> np.ndarray:
        """Loads nbytes (of `memory.WIDTHS`) per lane: uint8 [32, nbytes], zeros in inactive lanes. order: as PTX names it;
        all but "weak" are strong. used: (bytes of an element, the elements whose values are used), if not all are."""
        rows = self._rows(instruction, addresses, nbytes)
        if self.cta.shadow is not None:
            touch = self._touch(instruction, addresses, rows, nbytes, order=order)
            self.cta.shadow.read(touch if used is None else touch.of_elements(*used))
        data = self.cta.shared.load(rows, nbytes)
        self.polled(rows, data)
        if self.whole:
            return data
        spread = np.zeros((LANES, nbytes), np.uint8)
        spread[self.active] = data
        return spread

    def shared_store(self, instruction: str, addresses: PerLane, data: np.ndarray, order: str = WEAK,
                     width: int | None = None) -> None:
        """Stores uint8 [32, nbytes] in the active lanes. order: as of `shared_load`; width: bytes of a value, if each lane
        stores a vector of them."""
        data = _lane_data(instruction, data)
        rows, touch = self._rows(instruction, addresses, data.shape[1]), None
        if self.cta.shadow is not None:
            touch = self._touch(instruction, addresses, rows, data.shape[1], order=order)
            touch.width = width or touch.nbytes
        self._store(self.cta, rows, data if self.whole else data[self.active], touch)

    def shared_rows(self, instruction: str, addresses: PerLane) -> np.ndarray:
        """ldmatrix: the 16-byte rows that lanes 0..8x-1 address, uint8 [8x, 16]; row r of matrix m is 8m + r."""
        rows = self._matrix_rows(instruction, addresses)
        if self.cta.shadow is not None:
            self.cta.shadow.read(self._touch(instruction, addresses, rows, 16, _matrix_lanes(instruction)))
        self._look_at_matrices("READS", instruction, rows)
        return self.cta.shared.load(rows, 16)

    def shared_store_rows(self, instruction: str, addresses: PerLane, data: np.ndarray) -> None:
        """stmatrix: stores uint8 [8x, 16] rows where lanes 0..8x-1 point."""
        rows = self._matrix_rows(instruction, addresses)
        if np.shape(data) != (len(rows), 16):
            raise InstructionError(f"{instruction}: stores uint8 rows of shape ({len(rows)}, 16), not {np.shape(data)}")
        touch = None
        if self.cta.shadow is not None:
            touch = self._touch(instruction, addresses, rows, 16, _matrix_lanes(instruction))
            touch.width = 0
        self._look_at_matrices("WRITES", instruction, rows)
        self._store(self.cta, rows, data, touch)
        if self.cta.launch.doubts is not None and (self.cta.shared.load(rows, 16) != data).any():
            self.cta.launch.doubts.add("collision")

    def _look_at_matrices(self, what, instruction, rows):
        if self.cta.launch.doubts is not None:
            row, byte, nbytes = _matrix_pieces(instruction)
            self.cta.launch.doubts.look(what, self, 16 * rows[row] + byte, nbytes, self.active)

    def _look_at_copy(self, what, lanes, rows, nbytes):
        if self.cta.launch.doubts is not None:
            at = np.zeros((1, LANES), np.int64)
            at[0, lanes] = nbytes * rows
            self.cta.launch.doubts.look(what, self, at, nbytes, lanes)

    def _rows(self, instruction, addresses, nbytes, origin=None):
        """The rows of the active lanes, checked and counted."""
        by_lane = lane_addresses(addresses, instruction)
        rows = self.cta.shared.rows(instruction, by_lane, nbytes, self._mask())
        self.record(instruction, addresses, by_lane, origin)
        return rows

    def _matrix_rows(self, instruction, addresses):
        if not self.whole:
            self.require_convergence(instruction)
            raise MachineError(f"{instruction} needs all 32 lanes: launch blocks of a multiple of 32 threads, and let no "
                               "lane return before it")
        by_lane = lane_addresses(addresses, instruction)
        rows = self.cta.shared.rows(instruction, by_lane[:matrix_rows(instruction)], 16)
        self.record(instruction, addresses, by_lane)
        return rows

    def _touch(self, instruction, addresses, rows, nbytes, lanes=None, order=WEAK):
        """What the shadow is told. lanes: who moves each byte, where it is not the lane that gives the address."""
        givers = _LANE[:len(rows)] if self.whole else np.flatnonzero(self.active)
        marks = getattr(addresses, "marks", None)
        touch = Touch(self, instruction, rows, nbytes, givers if lanes is None else lanes,
                      getattr(addresses, "access", None), marks and marks.expand(givers, nbytes))
        touch.strong, touch.volatile, touch.reach = order != WEAK, order == "volatile", self.reach
        touch.width = self.value_bytes(nbytes)
        return touch

    def _store(self, cta, rows, data, touch):
        """Stores uint8 [n, nbytes] in a CTA's memory and tells its shadow, if it has one."""
        held = None if touch is None or touch.strong and not touch.volatile else cta.shared.load(rows, data.shape[1])
        cta.shared.store(rows, data)
        if touch is not None:
            left = cta.shared.load(rows, data.shape[1])
            touch.keeps = None if held is None else left == held         # where lanes collide, of what the last one stored
            touch.same = None if touch.strong else touch.keeps
            cta.shadow.write(touch)
            self.collide(cta, touch, left, data)

    def collide(self, cta: Any, touch: Touch, left: np.ndarray, data: np.ndarray) -> None:
        """Tells the shadow of a CTA where something else is left, uint8 [n, nbytes], than lanes have stored: another
        lane's."""
        lost = left != data
        if not lost.any():
            return
        if differ_by_rounding(getattr(self.doing, "rounded", None), left, data):
            cta.launch.recorder.note(self.site, f"{touch.instruction} {NOTE}")
        else:
            cta.shadow.collided(touch, lost)

    def record(self, instruction: str, addresses: PerLane, lanes: np.ndarray | None = None,
               origin: tuple | None = None) -> None:
        """Counts one shared-memory warp instruction; shared_load and the others do so themselves.

        addresses: as the kernel gave them (their access name is read off); lanes: the same as int64 [32], if at hand;
        origin: of a copy, (global addresses int64 [32], src-size or None), if they are to count.
        """
        lanes = lane_addresses(addresses, instruction) if lanes is None else lanes
        access = getattr(addresses, "access", None)
        self.cta.launch.recorder.add(instruction, access, self.counted_at, lanes, self._mask(), origin)
        if self.cta.launch.watch is not None:
            self.cta.tell("access", instruction, self, addresses=np.array(lanes), access=access, active=self._mask())

    # ---- asynchronous copies -------------------------------------------------------------------------------------

    def commit_copy(self, instruction: str, addresses: PerLane, data: np.ndarray, sources: GlobalPointer | None = None,
                    valid: PerLane | None = None) -> None:
        """cp.async: counted and read now; uint8 [32, nbytes] lands in shared memory as late as PTX allows.

        That is at the wait_group of these lanes that covers it: until then the old bytes are there. sources: the
        GlobalPointer that it reads, and valid its src-size in bytes (uniform or [32], None without one; bool: whether lanes
        read at all, by ignore-src): both count in what the copy costs. What was read with `copy=` this warp goes on being
        read until then.
        """
        data = _lane_data(instruction, data)
        origin = None if sources is None else (sources.addresses(), valid)
        rows = self._rows(instruction, addresses, data.shape[1], origin)
        touch = None
        if self.cta.shadow is not None:
            touch = self._touch(instruction, addresses, rows, data.shape[1])
            self.cta.shadow.issue(touch)
        self._look_at_copy("COPIES", self.active, rows, data.shape[1])
        held = np.array(data if self.whole else data[self.active])
        self.copies.issue(Copy(self.active.copy(), rows, held, touch, self.fetched, self.site))
        self.fetched = []

    def commit_group(self) -> None:
        """cp.async.commit_group: each lane closes the group of its copies since its last one (an empty group counts)."""
        self.copies.commit(self.active)

    def wait_group(self, pending: int) -> None:
        """cp.async.wait_group: lands all committed groups of these lanes but the newest `pending` ones."""
        for copy in self.copies.landing(pending, self.active, self.present):
            self.land(copy)
        self.cta.tell("wait_group", f"cp.async.wait_group {pending}", self)

    def land(self, copy: Copy, epoch: int | None = None) -> None:
        """A copy lands. epoch: of this warp, whose other threads then know it; None for the present one."""
        copy.landed = True
        if copy.touch is not None:
            now, epochs = epoch or self.cta.clocks.epochs[self.number], self.cta.clocks.epochs
            epochs[self.number], later = now, epochs[self.number]
            self.cta.shadow.land(copy.touch, (self.site, self.caller))
            epochs[self.number] = later
            for access in copy.sources:
                access.epoch = now
        self._look_at_copy("LANDS", copy.lanes, copy.rows, copy.data.shape[1])
        self._put(copy)

    def bring_copies(self) -> None:
        """The data of all copies under way is in shared memory from now on, as by then it mostly is on a GPU; who reads it
        before a wait has covered it is told all the same."""
        for copy in self.copies.under_way():
            self._put(copy)

    def _put(self, copy):
        if not copy.there:
            copy.there = True
            self.cta.shared.store(copy.rows, copy.data)
            if copy.touch is not None:
                self.collide(self.cta, copy.touch, self.cta.shared.load(copy.rows, copy.data.shape[1]), copy.data)

    def copies_arrive(self, address: PerLane, adds: bool = True) -> None:
        """cp.async.mbarrier.arrive: every lane arrives on the mbarrier when all that it has copied so far has landed. adds:
        whether the phase waits for that arrival besides the others (without .noinc)."""
        instruction = "cp.async.mbarrier.arrive"
        for at, lanes in self._mbarrier_lanes(instruction, address):
            mbarrier, epoch, clock = self.mbarrier_at(instruction, at, lanes), None, None
            if mbarrier is None:
                continue
            tell = self.tells_of(instruction, lanes)
            if adds:
                mbarrier.asks_for_more(self, lanes, tell)
                mbarrier.expect(len(lanes))
            if self.cta.shadow is not None:
                epoch = self.cta.clocks.epochs[self.number]
                clock = self.cta.clocks.release(self.threads(lanes))
            mbarrier.loads.append(CopiesArrival(self, self.copies.under_way(self.active), len(lanes), epoch, clock, tell,
                                                not adds))

    # ---- barriers ------------------------------------------------------------------------------------------------

    @waits
    def barrier(self, id: int = 0, threads: int | None = None) -> Iterator[tuple]:
        """bar.sync id, threads: waits until that many threads of the CTA arrived (all of them by default)."""
        self.require_convergence(f"bar.sync {id}")
        barrier = self.cta.barrier(id)
        yield barrier.arrive(self, threads)
        barrier.leave(self)

    def barrier_arrive(self, id: int, threads: int) -> None:
        """bar.arrive id, threads: counts the warp in where others wait for that many threads, and goes on."""
        self.require_convergence(f"bar.arrive {id}")
        self.cta.barrier(id).arrive(self, threads)

    def sync(self, mask: int | None = None) -> None:
        """bar.warp.sync mask: orders the shared-memory accesses of the lanes in it; by default of all lanes.

        mask: int, bit l for lane l. HazardError unless just these lanes are here: lanes in other branches never come.
        """
        wanted = self.present if mask is None else (mask >> _LANE & 1).astype(bool) & self.present
        if (wanted != self.active).any():
            self.require_convergence(f"bar.warp.sync of lanes {lane_list(wanted)}")
            raise MachineError(f"bar.warp.sync of lanes {lane_list(wanted)}, executed by lanes {lane_list(self.active)}: "
                               "the mask must name the lanes that execute it")
        if self.cta.shadow is not None:
            clocks, threads = self.cta.clocks, self.threads(self.lane[self.active])
            clocks.acquire(threads, clocks.release(threads))
            if self.converged:
                self.cta.shadow.met_in_warp(self.number, self.cta.shadow.serial)
                meet_fences([self])

    def exchanged(self, lanes: np.ndarray) -> None:
        """Lanes, bool [32], have exchanged values: see `clocks`."""
        if self.cta.shadow is None:
            return
        if self.cta.clocks.hand_on(self.threads(np.flatnonzero(lanes))):
            self.cta.launch.recorder.note_once(self.site, HANDED_ON)
        if lanes[self.present].all():
            self.cta.shadow.exchanged_in_warp(self.number)

    def fences(self, lanes: np.ndarray | None = None) -> Any:
        """What fence.sc's of this warp hand on to those who meet these lanes (int [n]) or all of it at a barrier, None if
        nothing: of PTX programs."""
        return None

    def take_fences(self, fences: Any, lanes: np.ndarray | None = None) -> None:
        """All of it, at a barrier, or these lanes, of a phase of an mbarrier, have met those whose `fences` these are,
        joined."""

    def cluster_rank(self) -> int:
        """%cluster_ctarank: the CTA's index in its cluster."""
        return self.cta.rank

    def cluster_arrive(self, relaxed: bool = False) -> None:
        """barrier.cluster.arrive: counts the warp in; a cluster_wait follows. relaxed: without .release, it hands on only
        what fences of this warp have released before (PTX ISA: barrier.cluster, whose example has a fence.acq_rel there)."""
        self.require_convergence("barrier.cluster.arrive")
        if self._meeting is not None:
            raise MachineError("barrier.cluster.arrive a second time without barrier.cluster.wait between: wait first")
        self._meeting = self.cta.cluster.barrier.arrive(self, relaxed), relaxed

    @waits
    def cluster_wait(self) -> Iterator[tuple]:
        """barrier.cluster.wait: waits until all threads of all CTAs of the cluster have arrived."""
        self.require_convergence("barrier.cluster.wait")
        if self._meeting is None:
            raise MachineError("barrier.cluster.wait without barrier.cluster.arrive before it: arrive first")
        opened, relaxed = self._meeting
        yield opened
        self.cta.cluster.barrier.leave(self, relaxed)
        self._meeting = None

    def cluster_sync(self) -> None:
        """barrier.cluster: arrives, and waits for all threads of all CTAs of the cluster."""
        self.cluster_arrive()
        self.cluster_wait()

    def block_until(self, ready: Callable[[], bool], text: str | Callable[[], str], mbarrier: Any = None) -> None:
        """Gives the turn to other warps until ready() is true.

        text: what is waited for, or a function that says so; mbarrier: the Mbarrier, if it is one.
        """
        while not ready():
            self.waiting = ready, text, mbarrier
            self.pause()
            self.waiting = None


@lru_cache(None)
def _matrix_lanes(instruction):
    return matrix_lanes(matrix_rows(instruction), "trans" in instruction)


@lru_cache(None)
def _matrix_pieces(instruction):
    return matrix_pieces(matrix_rows(instruction), "trans" in instruction)


def _lane_data(instruction, data):
    if getattr(data, "dtype", None) != np.uint8 or data.ndim != 2 or len(data) != LANES:
        shape = f"{getattr(data, 'dtype', type(data).__name__)} {np.shape(data)}"
        raise AddressError(f"{instruction}: stores uint8 of shape (32, bytes per lane), not {shape}")
    return data
