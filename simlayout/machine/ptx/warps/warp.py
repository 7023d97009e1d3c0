"""A warp that runs a PTX program."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.memory import undefined
from simlayout.machine.engine.warp import Warp
from simlayout.machine.hazards.kinds import calls_of, ordered_ints, place_of
from simlayout.machine.hazards.units import named
from simlayout.machine.ptx.looks.doubts import Doubt
from simlayout.machine.ptx.lowering.program import SYSTEM_BYTES
from simlayout.machine.ptx.memory.accesses import MemoryTwins
from simlayout.machine.ptx.memory.cluster import ClusterTwins
from simlayout.machine.ptx.memory.held import ARRIVED, INTERVAL, address_of
from simlayout.machine.ptx.memory.local import LocalTwins
from simlayout.machine.ptx.memory.map_twins import MapTwins
from simlayout.machine.ptx.memory.marks import MOST_INTERVALS
from simlayout.machine.ptx.memory.ordering import OrderTwins
from simlayout.machine.ptx.opcodes.rows import writer
from simlayout.machine.ptx.warps.parts import Parts


class PtxWarp(OrderTwins, Warp, Parts, MemoryTwins, LocalTwins, ClusterTwins, MapTwins):
    """32 lanes that run a Program. rows: uint64 [n, 32], its registers; local: uint8 [32, bytes], the lanes' own memory;
    right_behind_fence: whether there was no wgmma since the last wgmma.fence. places: int64 [6], where its memory
    is; who: int64 [9], with what its accesses are looked at: see `memory.held`."""

    def __init__(self, cta, warp_index, program, space, running):
        super().__init__(cta, warp_index)
        self.program, self.space, self.running = program, space, running
        self.waits_for_flags = program.publishes[1]
        if program.reserved_at is not None and not warp_index:
            cta.give_zeros(program.reserved_at, SYSTEM_BYTES)
        self.rows, self.places, self.who = running.room_of(self)
        program.set_specials(self)
        self.accumulators, self.right_behind_fence = program.accumulators.of(self), False
        self.begin_local(program)
        self.begin_parts()
        self.begin_ordering()
        shared = cta.shared.bytes
        self.places[:] = (address_of(shared), shared.size, address_of(self.local), self.local.shape[1],
                          address_of(program.parameters), program.parameters.size)
        if cta.launch.doubts is not None:
            self.who[:] = cta.launch.doubts.who(self)

    def standing(self):
        """As of Lanes, with the calls by which it has come into a function that is not inlined."""
        steps, callers = self.program.steps, [*calls_of(self.caller)]
        at = next((i for i, step in enumerate(steps) if step is self.doing), None)
        while at is not None and (names := self.program.function_of(at)) is not None:
            at = int(self.rows[names.returns_to][self.active.argmax()]) - 1
            callers += [steps[at].site, *calls_of(steps[at].caller)]
        return place_of(*self.site, callers)

    def meets_all(self):
        """It arrives at a barrier of the whole CTA."""
        if self.cta.looks_by_barriers:
            self.who[ARRIVED] += 1

    def met_all(self):
        """It has passed that barrier."""
        if self.cta.looks_by_barriers:
            if (self.cta.held.who[:, ARRIVED] < self.who[ARRIVED]).any() or self.who[INTERVAL] + 1 >= MOST_INTERVALS:
                raise Doubt("a barrier that a warp which has ended did not come to, or one too many to be told apart")
            self.who[INTERVAL] += 1

    @property
    def barriers_passed(self):
        """A number that grows where the CTA's barriers open, in Python and in the compiled loop, for all its warps alike."""
        return self.cta.meetings + int(self.who[INTERVAL])

    # ---- what steps use ------------------------------------------------------------------------------------------

    @property
    def cluster_size(self):
        """CTAs of the cluster."""
        return len(self.cta.cluster.ctas)

    @property
    def is_lone(self):
        """Whether no other warp runs at the same time."""
        return self.cta.grid_barrier.warps == 1

    @property
    def counted_at(self):
        """As of Warp."""
        return self.doing.counted_at

    def record(self, instruction, addresses, lanes=None, origin=None):
        """As of Warp; loads and stores count as what ptxas makes of them."""
        if self.doing.joined is None:
            super().record(instruction, addresses, lanes, origin)
        for joined in self.doing.joined or ():
            whole = np.where(self.active, lanes + joined.shift, 0)
            super().record(joined.name(instruction), whole, whole)

    @property
    def dynamic_bytes(self):
        """Bytes of dynamic shared memory."""
        return self.cta.launch.dynamic_bytes

    def put_bits(self, row, bits):
        """Writes unsigned integers [32] to a row, in the active lanes."""
        if self.whole:
            self.rows[row] = bits
        else:
            np.copyto(self.rows[row], bits, where=self.active, casting="unsafe")

    def give(self, place, carrier):
        """Writes the carrier of a result to its Place, in the active lanes."""
        if place.row is not None:
            self.put_bits(place.row, writer(place)(carrier))

    def clock(self):
        """A number that grows with every reading, as %clock does."""
        self.cta.launch.clock += 20
        return self.cta.launch.clock

    def from_sources(self, held, source):
        """What lanes read of `held` from a lane, int [32]; tells of those that read from one which does not take part in the
        shuffle, where any word may be."""
        lost, launch = self.active & ~self.active[source], self.cta.launch
        if not lost.any() or launch.log is None:
            return held[source]
        which = np.flatnonzero(lost)
        launch.log.add("inactive source", None, self.place(which), lanes=named("lane", ordered_ints(source[which]), LANES))
        return held[source] if launch.log.aside is None else np.where(lost, undefined(launch.fill, LANES), held[source])

    def barrier_count(self, trues, lanes, id=0, threads=None):
        """bar.red: as bar.sync, and returns (how many threads said true, how many there were)."""
        barrier = self.cta.barrier(id)
        votes = barrier.votes.setdefault(barrier.opened, [0, 0])
        votes[0] += trues
        votes[1] += lanes
        yield from Warp.barrier.steps(self, id, threads)
        return votes
