"""TMA: boxes that the copy engine moves between global and shared memory, as late as PTX allows.

A load lands when a warp waits for its mbarrier and no other warp can go on; a store reads its source when a wait of the
thread that issued it covers it, or when the CTA ends. What a store writes to global memory is known to be there only after a
wait without .read; a reduction is a store whose elements are atomics of the async proxy.
"""

from functools import partial

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.errors import AddressError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.global_access import ASYNC, STRONG, WRITES
from simlayout.machine.global_shadow import units
from simlayout.machine.proxies import CELL
from simlayout.machine.shadow import Touch

LOAD, STORE, REDUCE = "cp.async.bulk.tensor", "cp.async.bulk.tensor.global", "cp.reduce.async.bulk.tensor.global"
"""What loads (to shared memory), stores and reductions (to global memory) are called in a Trace."""

_ORDERED, _BITS = ("f16", "bf16", "u32", "s32"), ("u32", "s32")
REDUCTIONS = {"add": (np.add, (*_ORDERED, "f32", "f64")), "min": (np.minimum, _ORDERED), "max": (np.maximum, _ORDERED),
              "and": (np.bitwise_and, _BITS), "or": (np.bitwise_or, _BITS), "xor": (np.bitwise_xor, _BITS)}
"""Operation of a reduction -> what it does, and of which element types (PTX ISA: cp.reduce.async.bulk; it has inc and dec
too)."""


class Load:
    """A box on its way to shared memory. rows: int64 [n], the 16-byte cells where it lands; touch: the Touch of those;
    source: the Access of what it reads; both None where nobody looks for hazards."""

    def __init__(self, cta, tensor_map, coords, rows, touch, source):
        self.cta, self.tensor_map, self.coords, self.rows, self.touch = cta, tensor_map, coords, rows, touch
        self.source, self.bytes = source, tensor_map.box_bytes

    def land(self, number, mbarrier):
        """The bytes come, in phase `number` of the mbarrier at this address, counted from 1."""
        self.cta.tell("land", LOAD, cells=self.rows, mbarrier=mbarrier, coords=self.coords)
        self.cta.shared.store(self.rows, _cells(self.tensor_map.gather(self.coords)))
        if self.touch is not None:
            self.touch.number = number
            if self.source is not None:
                self.source.number = number
            self.cta.shadow.land(self.touch, self.touch.site)


class Store:
    """A box on its way to global memory; as Load. target: the Access of what it writes; reduce: what a reduction does."""

    def __init__(self, cta, tensor_map, coords, rows, touch, target, reduce=None):
        self.cta, self.tensor_map, self.coords, self.rows, self.touch = cta, tensor_map, coords, rows, touch
        self.target, self.reduce = target, reduce

    def run(self):
        """Reads the source and writes the box."""
        self.cta.tell("store", STORE, cells=self.rows, coords=self.coords)
        self.cta.launch.changes += 1
        data = self.cta.shared.load(self.rows, CELL)
        values = data.reshape(-1).view(self.tensor_map.array.dtype).reshape(self.tensor_map.shape)
        if self.reduce is not None:
            values = self.reduce(self.tensor_map.gather(self.coords), values)
        self.tensor_map.scatter(self.coords, values)


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
            for known in filter(None, (store.touch, store.target)):
                known.number = self._closed
        self._groups.append(self._open)
        self._open = []

    def wait(self, pending):
        """Runs the stores of all closed groups but the newest `pending`; returns the number of the newest that is over."""
        done = max(len(self._groups) - pending, 0)
        for group in self._groups[:done]:
            for store in group:
                store.run()
        self._groups = self._groups[done:]
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


class BulkTwins:
    """What a Warp tells the copy engine. Coordinates count elements, innermost first; addresses are bytes of shared memory.

    lanes: bool [32], those of the active lanes that take part.
    """

    def tma_load(self, tensor_map, coords, address, mbarrier, lanes=None, multicast=None):
        """cp.async.bulk.tensor to shared memory, by one lane: the box of a `simlayout.TensorMap` that has an array lands at
        `address`, and completes box_bytes on the mbarrier.

        multicast: int, bit r for CTA r of the cluster: to these addresses in each of them.
        """
        lane = self._one_lane(LOAD, lanes)
        if lane is None:
            return
        coords, address, at = _checked(LOAD, tensor_map, coords, lane), _of(address, lane), _of(mbarrier, lane)
        ranks = [self.cta.rank] if multicast is None else [r for r in range(LANES) if int(multicast) >> r & 1]
        self._count(LOAD, len(ranks) * tensor_map.box_bytes)
        for cta in [self.cta.peer(rank, LOAD) for rank in ranks]:
            rows = cta.landing(tensor_map, address)
            mbarrier, touch, source = self.mbarrier_at(LOAD, at, cta), None, None
            mbarrier.checked(self, LOAD, np.array([lane]))
            if cta.shadow is not None:
                cta.shadow.check_async_read(Touch(self, LOAD, np.array([at // 8]), 8, np.array([lane])))
                touch = Touch(self, LOAD, rows, CELL, np.full(len(rows), lane))
                touch.agent = mbarrier
                cta.shadow.issue(touch)
                source = self._box(LOAD, tensor_map, coords, lane, ASYNC, mbarrier)
            mbarrier.loads.append(Load(cta, tensor_map, coords, rows, touch, source))
            cta.tell("load", LOAD, self, rows, mbarrier=at, coords=coords)

    def tma_store(self, tensor_map, coords, address, lanes=None):
        """cp.async.bulk.tensor to global memory, by one lane: the box at `address` goes to these coordinates."""
        self._store_box(STORE, tensor_map, coords, address, lanes, WRITES | ASYNC)

    def tma_reduce(self, tensor_map, coords, address, op="add", lanes=None):
        """cp.reduce.async.bulk.tensor, by one lane: as `tma_store`, but what is there becomes op(what is there, the box),
        one of REDUCTIONS, element by element (.relaxed.gpu) in the array's own dtype.
        """
        if not isinstance(op, str) or op not in REDUCTIONS:
            raise MachineError(f"{REDUCE} {op!r}: the machine has {', '.join(REDUCTIONS)}")
        function, dtypes = REDUCTIONS[op]
        held = getattr(getattr(tensor_map, "array", None), "dtype", None)
        if held is not None and (tensor_map.dtype not in dtypes or dtype_of(held).name != tensor_map.dtype):
            raise MachineError(f"{REDUCE} {op}: of {tensor_map.dtype} in an array of {held}; it takes arrays of "
                               f"{', '.join(dtypes)}, as such")
        self._store_box(REDUCE, tensor_map, coords, address, lanes, WRITES | STRONG | ASYNC, function)

    def _store_box(self, instruction, tensor_map, coords, address, lanes, kind, reduce=None):
        lane = self._one_lane(instruction, lanes)
        if lane is None:
            return
        coords, rows = _checked(instruction, tensor_map, coords, lane), self.cta.landing(tensor_map, _of(address, lane))
        if not tensor_map.array.flags.writeable:
            raise AddressError(f"{instruction}: the array of the tensor map is read-only: pass a writeable one")
        self._count(instruction, tensor_map.box_bytes)
        stores, touch, target = self.cta.stores_of(self.threads(lane)), None, None
        if self.cta.shadow is not None:
            touch = Touch(self, instruction, rows, CELL, np.full(len(rows), lane))
            touch.agent = stores
            self.cta.shadow.check_async_read(touch)
            self.cta.shadow.async_read(touch)
            data = None if reduce else partial(_inside, tensor_map, coords, self.cta.shared.load(rows, CELL))
            target = self._box(instruction, tensor_map, coords, lane, kind, stores.written, data)
        stores.issue(Store(self.cta, tensor_map, coords, rows, touch, target, reduce))

    def _box(self, instruction, tensor_map, coords, lane, kind, agent, data=None):
        """Tells the shadow of global memory of a box; returns its Access, None if all of it lies outside. data: a function
        that returns what a store writes, uint8 [bytes]."""
        allocation = self.cta.launch.allocation(tensor_map.array)
        starts, nbytes = tensor_map.spans(coords)
        if not starts.size:
            return None
        at = starts + allocation.origin
        rows, unit, lanes = units(at, np.broadcast_to(lane, len(at)), nbytes, int(np.gcd.reduce(at)))
        stored = None if data is None else lambda: data().reshape(-1, unit)
        return allocation.shadow.enter(rows, unit, lanes, kind, allocation, False, agent, instruction, stored)

    def bulk_commit(self, lanes=None):
        """cp.async.bulk.commit_group: each lane closes the group of its stores since its last one."""
        for lane in self.taking(lanes).tolist():
            self.cta.stores_of(self.threads(lane)).commit()

    def bulk_wait(self, pending, read=True, lanes=None):
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


def _inside(tensor_map, coords, cells):
    """uint8 [bytes]: of a box in cells of shared memory what lies inside of the tensor, innermost dimension first."""
    values = cells.reshape(-1).view(tensor_map.array.dtype).reshape(tensor_map.shape)
    return values[tensor_map.inside(coords)].view(np.uint8)


def _cells(values):
    """The elements of a box as its 16-byte chunks, uint8 [n, 16]."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1, CELL)
