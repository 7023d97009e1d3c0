"""Small kernels in which warps hand shared memory to one another: some in order, and twins that lack one order each.

What compute-sanitizer's racecheck says of those that are in order tells how far it follows mbarriers and cp.async
(`racecheck`); what it says of the twins tells whether it looks at all.
"""

from dataclasses import dataclass

import numpy as np

from cuda_kernels.intrinsics import (
    bar_sync,
    bar_warp_sync,
    bulk_load,
    cp_async_ca_4,
    cp_async_commit_group,
    cp_async_mbarrier_arrive,
    cp_async_wait_group,
    dynamic_shared,
    f32,
    fence_mbarrier_init,
    laneid,
    ld_global_f32,
    ld_volatile_shared_f32,
    mbarrier_arrive_expect_tx,
    mbarrier_arrive_if,
    mbarrier_init,
    mbarrier_wait,
    s32,
    st_global_f32,
    st_shared_f32,
    successor,
    tid_x,
    u32,
    u64,
    uniform,
)
from simlayout.hardware.tables.arch import LANES

STAGES, STEPS, WARPS = 2, 9, 5

THREADS = LANES * WARPS

ROW = 4 * LANES
"""Bytes of a word per lane."""

SHARED = max(2 * ROW * STAGES + 16 * STAGES, 4 * THREADS)
"""Bytes of shared memory: of Groups, a word per thread; of a Ring, of each stage what is read, then of each what a bulk copy
brings, then an mbarrier of each that tells that it is full, and one that it is empty."""

SIGNATURE = "u64 u64 s32"
"""The addresses of f32 [steps, THREADS] and of f32 [THREADS], which gets sums over the steps of other threads' elements; how
many steps: an argument, so that no compiler unrolls the loop."""


@dataclass(frozen=True)
class Ring:
    """How a warp fills the stages that others read, which are `readers`. copies: by cp.async, else by st.shared; bulk:
    beside them the copy engine brings bytes to each stage, as TMA brings operands beside scales; every_lane: each lane that
    has read a stage says that it is empty, else one of each warp does behind bar.warp.sync. What may be missing: awaits: a
    stage is full when its copies have come, else when they have begun; reads_first: a stage is empty when it has been read,
    else before.
    """

    readers: int = 1
    copies: bool = True
    bulk: bool = False
    every_lane: bool = False
    awaits: bool = True
    reads_first: bool = True

    @property
    def body(self):
        """The kernel's Python function."""
        return make_ring(self)


@dataclass(frozen=True)
class Groups:
    """How all threads copy to shared memory, and read what others have copied, in turns. What may be missing: awaits:
    cp.async.wait_group in front of the barrier; reads_first: the barrier in front of the next copies."""

    awaits: bool = True
    reads_first: bool = True

    @property
    def body(self):
        """The kernel's Python function."""
        return make_groups(self)


RINGS = {
    "ring": Ring(), "ring, four readers": Ring(readers=4), "ring, four readers, bulk copies": Ring(readers=4, bulk=True),
    "ring, every lane frees": Ring(every_lane=True), "ring of stores": Ring(copies=False),
    "ring of stores, every lane frees": Ring(copies=False, every_lane=True), "groups": Groups()}
"""Those that are in order, by name."""

TWINS = {
    "ring, freed before it is read": Ring(reads_first=False), "ring, copies not awaited": Ring(awaits=False),
    "ring, four readers, freed before it is read": Ring(readers=4, reads_first=False),
    "ring of stores, freed before it is read": Ring(copies=False, reads_first=False),
    "groups, not awaited": Groups(awaits=False), "groups, copied while they are read": Groups(reads_first=False)}
"""Those that are not."""


def make_ring(way):
    """The kernel of a Ring."""
    fills, frees, readers = LANES + way.bulk, way.readers * (LANES if way.every_lane else 1), way.readers

    def copy(at, source):
        cp_async_ca_4(at, source)

    def store(at, source):
        st_shared_f32(at, ld_global_f32(source))

    def tell_when_copied(full):
        cp_async_mbarrier_arrive(full)

    def tell(full):
        mbarrier_arrive_if(s32(1), full)

    def free_by_one(lane, empty):
        bar_warp_sync()
        mbarrier_arrive_if(s32(lane == 0), empty)

    def free_by_all(lane, empty):
        mbarrier_arrive_if(s32(1), empty)

    def read_first(at, lane, empty):
        x = ld_volatile_shared_f32(at)
        free(lane, empty)
        return x

    def free_first(at, lane, empty):
        free(lane, empty)
        return ld_volatile_shared_f32(at)

    def announce_bulk(tid, smem, stage, full, source):
        if tid == 0:
            mbarrier_arrive_expect_tx(full, u32(ROW))
            bulk_load(u32(smem + ROW * (STAGES + stage)), source, u32(ROW), full)

    def announce_nothing(tid, smem, stage, full, source):
        pass

    announce = announce_bulk if way.bulk else announce_nothing
    fill, tell_full = copy if way.copies else store, tell_when_copied if way.copies and way.awaits else tell
    free, read = free_by_all if way.every_lane else free_by_one, read_first if way.reads_first else free_first

    def ring(source, out, steps):
        tid, lane, smem = tid_x(), laneid(), dynamic_shared()
        at_full, at_empty = smem + 2 * ROW * STAGES, smem + 2 * ROW * STAGES + 8 * STAGES
        if tid == 0:
            for i in range(STAGES):
                mbarrier_init(u32(at_full + 8 * i), u32(fills))
                mbarrier_init(u32(at_empty + 8 * i), u32(frees))
            fence_mbarrier_init()
        bar_sync()
        stage, parity, step, total = s32(0), s32(0), s32(0), f32(0)
        warp = uniform(s32(tid // LANES))
        while step < steps and warp <= readers:
            full, empty, row = u32(at_full + 8 * stage), u32(at_empty + 8 * stage), source + u64(4 * THREADS * step)
            if warp == 0:
                mbarrier_wait(empty, u32(1 - parity))
                announce(tid, smem, stage, full, row)
                fill(u32(smem + ROW * stage + 4 * lane), row + u64(4 * lane))
                tell_full(full)
            else:
                mbarrier_wait(full, u32(parity))
                total = total + read(u32(smem + ROW * stage + 4 * (LANES - 1 - lane)), lane, empty)
            parity = s32(1 - parity) if stage == STAGES - 1 else parity
            stage = s32(0) if stage == STAGES - 1 else s32(stage + 1)
            step = successor(step)
        st_global_f32(out + u64(4 * tid), total)

    return ring


def make_groups(way):
    """The kernel of Groups."""
    wait_all = cp_async_wait_group(0)

    def nothing():
        pass

    wait, readers_done = wait_all if way.awaits else nothing, bar_sync if way.reads_first else nothing

    def groups(source, out, steps):
        tid, smem, step, total = tid_x(), dynamic_shared(), s32(0), f32(0)
        while step < steps:
            readers_done()
            cp_async_ca_4(u32(smem + 4 * tid), source + u64(4 * (THREADS * step + tid)))
            cp_async_commit_group()
            wait()
            bar_sync()
            total = total + ld_volatile_shared_f32(u32(smem + 4 * (THREADS - 1 - tid)))
            step = successor(step)
        st_global_f32(out + u64(4 * tid), total)

    return groups


def expected(way, source):
    """f32 [THREADS]: what the kernel of a Ring or of Groups makes of f32 [steps, THREADS], if no order is missing.

    >>> expected(Ring(), np.ones((3, THREADS), np.float32))[[0, 32, 64]].tolist()
    [0.0, 3.0, 0.0]
    """
    sums = np.zeros(THREADS, np.float32)
    for row in source:                                   # in the kernel's order, so that every bit is equal
        if isinstance(way, Groups):
            sums += row[::-1]
        else:
            sums[LANES:LANES * (1 + way.readers)] += np.tile(row[LANES - 1::-1], way.readers)
    return sums
