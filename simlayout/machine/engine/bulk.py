"""Bulk copies: boxes of tensors (TMA) and runs of bytes that the copy engine moves between global and shared memory, or
between the shared memories of a cluster, as late as PTX allows.

What comes to shared memory lands when a warp waits for its mbarrier and no other warp can go on; a store reads its source
when a wait of the thread that issued it covers it, or when the CTA ends. What a store writes to global memory is known to be
there only after a wait without .read; a reduction is a store, or a copy between shared memories, whose elements are atomics
of the async proxy.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import AddressError, MachineError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.bulk_places import (
    REDUCTIONS,
    Box,
    Bytes,
    CellReduction,
    SharedBytes,
    cells_at,
    check_size,
    reduction,
)
from simlayout.machine.engine.global_memory import GlobalPointer
from simlayout.machine.engine.lanes import WarpPart
from simlayout.machine.engine.memory import PerLane
from simlayout.machine.hazards.global_access import ASYNC, STRONG, WRITES, units
from simlayout.machine.hazards.proxies import CELL
from simlayout.machine.hazards.touches import Touch

LOAD, STORE, REDUCE = "cp.async.bulk.tensor", "cp.async.bulk.tensor.global", "cp.reduce.async.bulk.tensor.global"
"""What loads (to shared memory), stores and reductions (to global memory) of boxes are called in a Trace."""

LOAD_BYTES, SEND_BYTES = "cp.async.bulk.shared::cluster.global", "cp.async.bulk.shared::cluster.shared::cta"
SEND_REDUCE = "cp.reduce.async.bulk.shared::cluster.shared::cta"
STORE_BYTES, REDUCE_BYTES = "cp.async.bulk.global", "cp.reduce.async.bulk.global"
"""The same of bytes; and what is sent from one CTA of a cluster to another."""

_SIGNED_OR_NOT = {"b32": ("u32", "s32"), "b64": ("u64", "s64")}


class Load:
    """What is on its way to shared memory.

    source: where it comes from (see `bulk_places`); rows: int64 [n], the 16-byte cells where it lands; touch: the Touch of
    those; reads: the Access or Touch of what it reads; None and none where nobody looks for hazards. tell: as of
    `Mbarrier.loads`; reduce: of a reduction, what becomes of (cells that are there, cells that come).
    """

    arrivals, counted = 0, False

    def __init__(self, instruction, cta, source, rows, touch, reads, tell, reduce=None):
        self.instruction, self.cta, self.source, self.rows, self.touch = instruction, cta, source, rows, touch
        self.reads, self.tell, self.reduce, self.bytes = reads, tell, reduce, source.bytes

    def land(self, number, mbarrier):
        """The bytes come, in phase `number` of the mbarrier at this address, counted from 1."""
        self.cta.tell("land", self.instruction, cells=self.rows, mbarrier=mbarrier, coords=self.source.coords)
        cells = self.source.load()
        if self.reduce is not None:
            cells = self.reduce(self.cta.shared.load(self.rows, CELL), cells)
        self.cta.shared.store(self.rows, cells)
        if self.touch is not None:
            for known in (self.touch, *self.reads):
                known.number = number
            self.cta.shadow.land(self.touch, (self.touch.site, self.touch.caller))


class Store:
    """What is on its way to global memory; as Load.

    target: where it goes; access: the Access of what it writes; reduce: what a reduction does.
    """

    def __init__(self, instruction, cta, target, rows, touch, access, reduce=None):
        self.instruction, self.cta, self.target, self.rows, self.touch = instruction, cta, target, rows, touch
        self.access, self.reduce = access, reduce

    def run(self):
        """Reads the source and writes what it holds."""
        self.cta.tell("store", self.instruction, cells=self.rows, coords=self.target.coords)
        self.cta.launch.changes += 1
        self.target.store(self.cta.shared.load(self.rows, CELL), self.reduce)


class Stores:
    """The bulk stores of one thread: the open group and the closed ones, oldest first. The agent of what they read."""

    def __init__(self, cta):
        self._open, self._groups, self._closed = [], [], 0
        self.engine = None if cta.shadow is None else cta.clocks.engine()
        self.written = None if cta.shadow is None else Written(self, cta.clocks.engine())

    def issue(self, store):
        """A store begins, in the open group."""
        self._open.append(store)

    def commit(self):
        """Closes the open group; an empty one counts."""
        self._closed += 1
        for store in self._open:
            for known in filter(None, (store.touch, store.access)):
                known.number = self._closed
        self._groups.append(self._open)
        self._open = []

    def wait(self, pending):
        """Runs the stores of all closed groups but the newest `pending`; returns the number of the newest that is over."""
        finished = max(len(self._groups) - pending, 0)
        for group in self._groups[:finished]:
            for store in group:
                store.run()
        self._groups = self._groups[finished:]
        return self._closed - len(self._groups)

    def finish(self):
        """At the end of the CTA: runs what is left, and returns it."""
        left = [store for group in (*self._groups, self._open) for store in group]
        for store in left:
            store.run()
        return left

    def state(self, touch, how=""):
        """Which wait covers the store known as `touch`, as text."""
        if touch.number is None:
            return "its group is not committed"
        pending = self._closed - touch.number
        return f"only cp.async.bulk.wait_group {pending}{' or less' * (pending > 0)}{how} of its thread covers it"


class Written:
    """What bulk Stores have written to global memory: the agent of those Accesses, numbered as the groups."""

    def __init__(self, stores, engine):
        self._stores, self.engine = stores, engine

    def state(self, access):
        """Which wait covers an Access, as text."""
        return self._stores.state(access, ", not .read,")


class BulkTwins(WarpPart):
    """What a Warp tells the copy engine. Coordinates count elements, innermost first; addresses are bytes of shared memory,
    they and sizes uniform (int) or one per lane (int [32]).

    lanes: bool [32], those of the active lanes that take part.
    """

    def tma_load(self, tensor_map: TensorMap, coords: Sequence, address: PerLane, mbarrier: PerLane,
                 lanes: np.ndarray | None = None, multicast: int | None = None) -> None:
        """cp.async.bulk.tensor to shared memory, by one lane: the box of a `simlayout.TensorMap` that has an array lands at
        `address`, and completes box_bytes on the mbarrier.

        multicast: int, bit r for CTA r of the cluster: to these addresses in each of them.
        """
        lane = self._one_lane(LOAD, lanes)
        if lane is None:
            return
        coords = _checked(LOAD, tensor_map, coords, lane)
        if tensor_map.swizzle and coords[0] * tensor_map.itemsize % 16:      # bf16 in 128 bytes: 36 kernels of 36 ended so
            raise AddressError(f"{LOAD}: a swizzled box at {coords}: where one does not start on 16 bytes along its lines, "
                               "an NVIDIA H100 ends the kernel (\"illegal instruction\"); move it, or swizzle nothing")
        box = Box(self.cta.launch, tensor_map, coords)
        address, ranks = _of(address, lane), self._ranks(multicast)
        self._count(LOAD, len(ranks) * box.bytes)
        for cta in [self.peer(rank, LOAD) for rank in ranks]:
            self._bring(LOAD, lane, cta, box, cta.landing(tensor_map, address), _of(mbarrier, lane))

    def tma_store(self, tensor_map: TensorMap, coords: Sequence, address: PerLane,
                  lanes: np.ndarray | None = None) -> None:
        """cp.async.bulk.tensor to global memory, by one lane: the box at `address` goes to these coordinates."""
        self._store_box(STORE, tensor_map, coords, address, lanes, WRITES | ASYNC)

    def tma_reduce(self, tensor_map: TensorMap, coords: Sequence, address: PerLane, op: str = "add",
                   lanes: np.ndarray | None = None) -> None:
        """cp.reduce.async.bulk.tensor, by one lane: as `tma_store`, but what is there becomes op(what is there, the box),
        one of REDUCTIONS, element by element (.relaxed.gpu) as numbers of the map's type, whatever NumPy calls those.
        """
        function, kind = reduction(REDUCE, op), getattr(tensor_map, "dtype", None)
        dtypes = [name for either in REDUCTIONS[op][1] for name in _SIGNED_OR_NOT.get(either, (either,))]
        if kind is not None and kind not in dtypes:
            raise MachineError(f"{REDUCE} {op}: of {kind}; it takes tensor maps of {', '.join(dtypes)}")

        def reduced(there, comes):
            numbers = TYPES[kind].numpy
            return function(there.view(numbers), comes.view(numbers)).view(there.dtype)

        self._store_box(REDUCE, tensor_map, coords, address, lanes, WRITES | STRONG | ASYNC, reduced)

    def _store_box(self, instruction, tensor_map, coords, address, lanes, kind, reduce=None):
        lane = self._one_lane(instruction, lanes)
        if lane is None:
            return
        coords, rows = _checked(instruction, tensor_map, coords, lane), self.cta.landing(tensor_map, _of(address, lane))
        if min(coords) < 0:              # CUDA C++ Programming Guide, Negative indices; an H200 says "illegal instruction"
            raise AddressError(f"{instruction}: a box at {coords}: a GPU reads boxes at negative coordinates, but writes "
                               "none there and ends the kernel; move the box, or store what is inside another way")
        if not tensor_map.array.flags.writeable:
            raise AddressError(f"{instruction}: the array of the tensor map is read-only: pass a writeable one")
        self._count(instruction, tensor_map.box_bytes)
        self._send(instruction, lane, Box(self.cta.launch, tensor_map, coords), rows, kind, reduce)

    # ---- runs of bytes -------------------------------------------------------------------------------------------

    def bulk_load(self, pointer: GlobalPointer, address: PerLane, nbytes: PerLane, mbarrier: PerLane,
                  lanes: np.ndarray | None = None, multicast: int | None = None) -> None:
        """cp.async.bulk to shared memory, by each lane: nbytes from where its GlobalPointer points land at `address`, and
        complete on the mbarrier. Addresses and nbytes are multiples of 16; multicast: as of `tma_load`."""
        ranks = self._ranks(multicast)
        for lane, size in self._sizes(LOAD_BYTES, nbytes, lanes, copies=len(ranks)):
            source, at = Bytes(pointer, lane, size, "reads"), _of(mbarrier, lane)
            for cta in [self.peer(rank, LOAD_BYTES) for rank in ranks]:
                self._bring(LOAD_BYTES, lane, cta, source, cells_at(LOAD_BYTES, cta.shared, _of(address, lane), size), at)

    def bulk_send(self, address: PerLane, nbytes: PerLane, target: PerLane, mbarrier: PerLane, rank: PerLane,
                  lanes: np.ndarray | None = None) -> None:
        """cp.async.bulk from this CTA's shared memory to that of CTA `rank` of the cluster, by each lane: nbytes at
        `address` land at `target` there, and complete on the mbarrier there. Before somebody who knows of that phase says
        so, what is sent may not be written, and this CTA not end."""
        self._send_bytes(SEND_BYTES, address, nbytes, target, mbarrier, rank, lanes)

    def bulk_send_reduce(self, address: PerLane, nbytes: PerLane, target: PerLane, mbarrier: PerLane, rank: PerLane,
                         op: str = "add", dtype: str = "u32", lanes: np.ndarray | None = None) -> None:
        """cp.reduce.async.bulk from this CTA's shared memory to that of CTA `rank` of the cluster: as `bulk_send`, but each
        element there becomes op(itself, what comes), see SHARED_REDUCTIONS (.relaxed.gpu). Reductions of one op and dtype
        may be on their way to the same bytes. dtype: PTX's name of the elements' type."""
        reduce = CellReduction(SEND_REDUCE, op, dtype, shared=True)
        self._send_bytes(SEND_REDUCE, address, nbytes, target, mbarrier, rank, lanes, reduce)

    def _send_bytes(self, instruction, address, nbytes, target, mbarrier, rank, lanes, reduce=None):
        for lane, size in self._sizes(instruction, nbytes, lanes):
            cta = self.peer(_of(rank, lane), instruction)
            rows = cells_at(instruction, self.cta.shared, _of(address, lane), size)
            there = cells_at(instruction, cta.shared, _of(target, lane), size)
            self._bring(instruction, lane, cta, SharedBytes(self.cta, rows), there, _of(mbarrier, lane), rows, reduce)

    def bulk_store(self, pointer: GlobalPointer, address: PerLane, nbytes: PerLane,
                   lanes: np.ndarray | None = None) -> None:
        """cp.async.bulk to global memory, by each lane: nbytes of shared memory at `address` go to where its GlobalPointer
        points. `bulk_commit` and `bulk_wait` follow."""
        self._store_bytes(STORE_BYTES, pointer, address, nbytes, lanes, WRITES | ASYNC)

    def bulk_reduce(self, pointer: GlobalPointer, address: PerLane, nbytes: PerLane, op: str = "add",
                    dtype: str = "u32", lanes: np.ndarray | None = None) -> None:
        """cp.reduce.async.bulk to global memory: as `bulk_store`, but each element there becomes op(itself, what comes), see
        REDUCTIONS (.relaxed.gpu). dtype: PTX's name of their type."""
        reduce = CellReduction(REDUCE_BYTES, op, dtype)
        self._store_bytes(REDUCE_BYTES, pointer, address, nbytes, lanes, WRITES | STRONG | ASYNC, reduce)

    def _store_bytes(self, instruction, pointer, address, nbytes, lanes, kind, reduce=None):
        for lane, size in self._sizes(instruction, nbytes, lanes):
            rows = cells_at(instruction, self.cta.shared, _of(address, lane), size)
            self._send(instruction, lane, Bytes(pointer, lane, size, "writes"), rows, kind, reduce)

    def _sizes(self, instruction, nbytes, lanes, copies=1):
        """[(lane, bytes that it copies)], without those that copy none; counted."""
        sizes = [(lane, _of(nbytes, lane)) for lane in self.taking(lanes).tolist()]
        for _, size in sizes:
            check_size(instruction, size)
        if sizes:
            self._count(instruction, copies * sum(size for _, size in sizes))
        return [(lane, size) for lane, size in sizes if size]

    # ---- both ----------------------------------------------------------------------------------------------------

    def _bring(self, instruction, lane, cta, source, rows, at, sent=None, reduce=None):
        """A copy begins, to cells of the shared memory of a CTA, that completes on its mbarrier at this address. sent: the
        cells of this CTA that it comes from, None if from global memory; reduce: a CellReduction, None if it replaces."""
        one, touch, reads = np.array([lane]), None, []
        mbarrier = self.mbarrier_at(instruction, at, one, cta)
        if mbarrier is None:
            return
        if cta.shadow is not None:
            if sent is not None:
                reads = [self._read_later(instruction, lane, sent, mbarrier)]
                self.cta.sent += reads
            touch = Touch(self, instruction, rows, CELL, np.full(len(rows), lane))
            touch.agent, touch.strong, touch.reduction = mbarrier, reduce is not None, reduce and reduce.name
            (cta.shadow.reduce if reduce else cta.shadow.issue)(touch)
            if sent is None:
                reads = [*filter(None, [self._enter(instruction, source, lane, ASYNC, mbarrier)])]
        tell = self.tells_of(instruction, one)
        mbarrier.loads.append(Load(instruction, cta, source, rows, touch, reads, tell, reduce))
        cta.tell("load", instruction, self, rows, mbarrier=at, coords=source.coords)

    def _send(self, instruction, lane, target, rows, kind, reduce):
        """A copy begins, from cells of shared memory to global memory."""
        stores, touch, access = self.cta.stores_of(self.threads(lane)), None, None
        if self.cta.shadow is not None:
            used = target.used() if isinstance(target, Box) else np.full((len(rows), CELL), True)
            some = used.any(axis=1)
            touch = self._read_later(instruction, lane, rows[some], stores, used[some]) if some.any() else None
            data = None if reduce else partial(target.stored, self.cta.shared.load(rows, CELL))
            access = self._enter(instruction, target, lane, kind, stores.written, data)
        stores.issue(Store(instruction, self.cta, target, rows, touch, access, reduce))

    def _read_later(self, instruction, lane, rows, agent, used=None):
        """Tells the shadow that an engine begins to read cells of shared memory; returns the Touch. used: as of
        `SharedShadow.check_async_read`."""
        touch = Touch(self, instruction, rows, CELL, np.full(len(rows), lane))
        touch.agent = agent
        self.cta.shadow.check_async_read(touch, used)
        self.cta.shadow.async_read(touch)
        return touch

    def _enter(self, instruction, place, lane, kind, agent, data=None):
        """Tells the shadow of global memory of a copy; returns its Access, None if all of it lies outside. data: a function
        that returns what a store writes, uint8 [bytes]."""
        allocation, at, nbytes = place.spans()
        if not at.size:
            return None
        rows, unit, lanes = units(at, np.broadcast_to(lane, len(at)), nbytes, int(np.gcd.reduce(at)))
        stored = None if data is None else lambda: data().reshape(-1, unit)
        return allocation.shadow.enter(rows, unit, lanes, kind, allocation, False, agent, instruction, stored)

    def _ranks(self, multicast):
        """The CTAs of the cluster to which a copy goes: this one, or by the bits of a mask."""
        return [self.cta.rank] if multicast is None else [r for r in range(LANES) if int(multicast) >> r & 1]

    def bulk_commit(self, lanes: np.ndarray | None = None) -> None:
        """cp.async.bulk.commit_group: each lane closes the group of its stores since its last one."""
        for lane in self.taking(lanes).tolist():
            self.cta.stores_of(self.threads(lane)).commit()

    def bulk_wait(self, pending: int, read: bool = True, lanes: np.ndarray | None = None) -> None:
        """cp.async.bulk.wait_group[.read]: each lane waits until all its groups but the newest `pending` are over, or (read)
        have read their source."""
        for lane in self.taking(lanes).tolist():
            stores = self.cta.stores_of(self.threads(lane))
            number = stores.wait(pending)
            if self.cta.shadow is not None:
                for engine in (stores.engine,) if read else (stores.engine, stores.written.engine):
                    self.cta.clocks.learn(self.threads(np.array([lane])), engine, number)

    def _one_lane(self, instruction, lanes):
        taking = self.taking(lanes)
        if len(taking) > 1:
            raise MachineError(f"{instruction} by {len(taking)} lanes moves the box as often: let one thread issue it")
        return int(taking[0]) if len(taking) else None

    def _count(self, instruction, bytes):
        self.cta.launch.recorder.count(instruction, self.counted_at, bytes=bytes)


def _of(value, lane):
    """The number that one lane has."""
    return int(np.broadcast_to(value, LANES)[lane])


def _checked(instruction, tensor_map, coords, lane):
    """The coordinates that the lane has; raises if there is no such box."""
    if getattr(tensor_map, "array", None) is None:
        raise MachineError(f"{instruction}: {type(tensor_map).__name__} is no tensor map with an array: pass "
                           "simlayout.TensorMap.of(array, box) to the kernel")
    if len(coords) != len(tensor_map.dims):
        raise AddressError(f"{instruction}: {len(coords)} coordinates for a tensor of {len(tensor_map.dims)} dimensions")
    return tuple(_of(c, lane) for c in coords)


def landing_cells(tensor_map, address):
    """int64 [n]: the 16-byte cells at which the chunks of a box lie, innermost dimension first.

    >>> from simlayout.hardware.matrix.tma import TensorMap
    >>> landing_cells(TensorMap("f16", (64, 8), (128,), (64, 2)), 1024).tolist()
    [64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79]
    """
    return tensor_map.landing(address)[..., ::CELL // tensor_map.itemsize].reshape(-1) // CELL
