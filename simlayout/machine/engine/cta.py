"""CTAs and clusters in execution: their memory and its shadow, their barriers, and what works beside their threads."""

from math import prod
from typing import Any

import numpy as np

from simlayout.errors import SHARED_BYTES, AddressError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.barriers import BARRIERS, Barrier, ClusterBarrier, GridBarrier
from simlayout.machine.engine.bulk import Stores, landing_cells
from simlayout.machine.engine.events import Event
from simlayout.machine.engine.memory import SharedMemory
from simlayout.machine.engine.warpgroup import REGISTERS, WARPS, Warpgroup
from simlayout.machine.hazards.clocks import Clocks
from simlayout.machine.hazards.kinds import ordered_ints
from simlayout.machine.hazards.proxies import CELL
from simlayout.machine.hazards.shadow import SharedShadow
from simlayout.machine.hazards.units import in_shared


class Residents:
    """CTAs that run at the same time, and their clocks: those of one cluster, or of the whole grid.

    indices: (x, y, z) of each, those of a cluster behind one another; cluster, grid, block: (x, y, z); shared_bytes: of
    each; launch: the Launch that they report to. clocks: None where nobody looks for hazards. barrier: of all their warps.
    """

    def __init__(self, indices, cluster, grid, block, shared_bytes, launch):
        warps = -(-block[0] * block[1] * block[2] // LANES)
        self.clocks = Clocks(len(indices) * warps) if launch.clocked else None
        launch.recorder.contended |= warps * prod(cluster) > 1
        self.ctas = []
        self.barrier = GridBarrier(len(indices) * warps)
        for first in range(0, len(indices), prod(cluster)):
            peers = Cluster(cluster, warps)
            for rank, index in enumerate(indices[first:first + prod(cluster)]):
                peers.ctas.append(Cta(self, peers, rank, warps * (first + rank), index, grid, block, shared_bytes, launch))
            self.ctas += peers.ctas


def most_registers(block: tuple[int, ...]) -> int:
    """Registers that each thread of a CTA of this block can have at launch.

    >>> most_registers((128, 3, 1))
    168
    """
    threads = -(-prod(block) // LANES) * LANES
    return min(REGISTERS // threads // 8 * 8, 256)


class Cluster:
    """The CTAs of a cluster by rank, and their barrier; a lone CTA is a cluster of one. shape: CTAs along x, y, z; warps: of
    a CTA."""

    def __init__(self, shape, warps):
        self.shape, self.barrier, self.ctas = shape, ClusterBarrier(prod(shape) * warps), []


class Cta:
    """One CTA in execution.

    cluster, rank: its Cluster, and its place there; launch: the Launch
    index, grid, block: (x, y, z); threads: of the block; threads_padded: the same, up to whole warps
    first: the number of its first warp in the clocks; grid_barrier: of all CTAs that run at the same time
    alone: whether no other CTA runs at the same time
    shared: its SharedMemory; mbarriers: {byte address: Mbarrier}
    clocks, shadow: who knows of whom, and what happened to every byte; None where nobody looks for hazards
    registers: of a thread of each warp; free_registers: those that setmaxnreg.dec has given back
    visitors: {number of a thread of another CTA: (epoch, Place) of its last arrival here}
    sent: Touches of what bulk copies read here and bring to other CTAs
    held: what a front end keeps of it
    """

    held: Any = None

    def __init__(self, residents, cluster, rank, first, index, grid, block, shared_bytes, launch):
        self.cluster, self.rank, self.first, self.launch = cluster, rank, first, launch
        self.grid_barrier = residents.barrier
        self.index, self.grid, self.block = index, grid, block
        self.threads = block[0] * block[1] * block[2]
        self.threads_padded = -(-self.threads // LANES) * LANES
        self.shared, self.clocks, self.shadow = SharedMemory(shared_bytes, launch), residents.clocks, None
        self.alone = self.clocks is None or self.clocks.threads == self.threads_padded
        if self.clocks is not None:
            self.shadow = (SharedShadow(shared_bytes, self.clocks, launch.log, launch.elements) if launch.doubts is None else
                           launch.doubts.look_at(self))
        self.mbarriers, self.visitors, self.sent = {}, {}, []
        self.meetings = 0                                # how often a barrier has opened
        self._barriers, self._warpgroups, self._stores = {}, {}, {}
        self.registers = [launch.registers or most_registers(block)]
        self.registers *= self.threads_padded // LANES
        self.free_registers, self.running = 0, self.threads_padded // LANES
        self.resized = {}                                # {warp: where it has executed setmaxnreg}

    @property
    def looks_by_barriers(self):
        """Whether a quick look at what happens here knows of an order by barriers of the whole CTA alone."""
        return self.shadow is None and self.launch.doubts is not None

    def give_zeros(self, at, nbytes):
        """Shared memory that is zero before the CTA begins, as the system's own."""
        self.shared.bytes[at:at + nbytes] = 0
        if self.shadow is not None:
            self.shadow.given(at, nbytes)

    def barrier(self, id):
        """The named barrier 0..15."""
        if id not in self._barriers:
            if id not in range(BARRIERS):
                raise MachineError(f"bar.sync {id}: a CTA has barriers 0 to {BARRIERS - 1}")
            self._barriers[id] = Barrier(self, id)
        return self._barriers[id]

    def arrivals(self):
        """[(id, threads that have arrived)] of the named barriers that have been used."""
        return [(id, barrier.arrived) for id, barrier in self._barriers.items()]

    def peer(self, rank, instruction):
        """The CTA of this rank in the cluster, which may have ended."""
        ctas = self.cluster.ctas
        if rank not in range(len(ctas)):
            raise MachineError(f"{instruction} to CTA {rank} of a cluster of {len(ctas)}: pass cluster= to run, or fix the "
                               "rank")
        return ctas[rank]

    def warpgroup(self, warp):
        """The Warpgroup of a warp."""
        number = warp.warp_index // WARPS
        if number not in self._warpgroups:
            if WARPS * LANES * (number + 1) > self.threads:
                raise MachineError(f"wgmma by warp {warp.warp_index} of {self.threads} threads: launch whole warpgroups, a "
                                   "multiple of 128 threads")
            self._warpgroups[number] = Warpgroup(self, number)
        return self._warpgroups[number]

    def stores_of(self, thread):
        """The bulk Stores of a thread, by its number in the clocks."""
        if thread not in self._stores:
            self._stores[thread] = Stores(self)
        return self._stores[thread]

    def tell(self, kind, instruction, warp=None, cells=None, **more):
        """Tells who watches the run of an Event in this CTA's shared memory, executed by a Warp, at 16-byte cells."""
        if self.launch.watch is None:
            return
        if cells is not None:
            more["addresses"] = CELL * cells
        who = None if warp is None else (warp.index, warp.warp_index)
        self.launch.watch(Event(kind, instruction, self.index, warp=who, **more))

    def landing(self, tensor_map, address):
        """int64 [n]: the 16-byte cells of a box at a byte address of shared memory, checked to lie there."""
        if address + tensor_map.box_bytes > self.shared.size:
            raise AddressError(f"TMA: a box of {tensor_map.box_bytes} bytes at {address} reaches past the "
                               f"{self.shared.size} bytes of shared memory: ask for more dynamic shared memory "
                               f"({SHARED_BYTES}) or fix the address")
        known = self.launch.landings
        key = tensor_map.dtype, tensor_map.box, tensor_map.element_strides, tensor_map.swizzle, address
        if key not in known:
            known[key] = landing_cells(tensor_map, address)
        return known[key]

    def through(self):
        """A warp has finished; after the last one, finds what they left under way."""
        self.running -= 1
        self.grid_barrier.ended(self)
        for barrier in self._barriers.values():
            barrier.ended()
        if self.running:
            return
        self.settle()
        for number in range(len(self.registers) // WARPS):
            members = range(WARPS * number, WARPS * (number + 1))
            if self.launch.log is not None and len({self.registers[member] for member in members}) > 1:
                place = next(self.resized[member] for member in members if member in self.resized)
                what = f"warpgroup {number} of CTA {self.index} executed setmaxnreg in some warps only"
                self.launch.log.add("divergence", None, place, what=f"{what} ({place}): all four must execute the same")
        for group in self._warpgroups.values():
            group.finish()
        left = [load.touch for mbarrier in self.mbarriers.values() for load in mbarrier.loads]
        left += [touch for touch in self.sent if touch.number is None]
        left += [store.touch for stores in self._stores.values() for store in stores.finish()]
        for touch in filter(None, left):
            bytes = ordered_ints((touch.rows[:, None] * touch.nbytes + range(touch.nbytes)).ravel())
            self._early_exit(touch.place(touch.lanes), f"be moving {in_shared(bytes)}", touch.state(), bytes)
        mine = LANES * self.first + np.arange(LANES * len(self.registers))
        for thread, (epoch, place) in self.visitors.items():
            if not self.clocks.knows(mine, thread, epoch).any():
                self._early_exit(place, "use its shared memory", "no thread of that CTA waits for it")

    def _early_exit(self, place, does, detail, bytes=()):
        self.launch.log.add("early exit", None, place, bytes, does=does, cta=self.index, detail=detail)

    def settle(self):
        """Reports reads of what nobody wrote."""
        if self.shadow is not None:
            self.shadow.settle()
