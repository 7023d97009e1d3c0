"""Races in global and shared memory: every pair of kinds of access, by every two who may race, with and without what orders
them. The lines that race end in `# first` and `# second`.

`a` is int32 [8, 32], `m` a tensor map of it whose box is all of it: a warp's plain access is to row 0, lane by lane.
"""

import machine_kit as kit
import numpy as np

from simlayout.hardware.matrix.tma import TensorMap

BOX = 1024
SHARED = 8192


def operands():
    """(a, m, counter)."""
    a = np.zeros((8, 32), np.int32)
    return a, TensorMap.of(a, (32, 8)), np.zeros(4, np.uint32)


# ---- accesses of global memory by one warp, complete when they return: (a, m, lane that a lane stands for) ----------


def plain_load(a, m, lane):
    kit.ld_global(a + 4 * lane)


def plain_store(a, m, lane):
    kit.st_global(a + 4 * lane, 1 + kit.tid_x() + 256 * kit.ctaid_x())     # another value of every thread


def strong_load(a, m, lane):
    kit.ld_relaxed(a + 4 * lane)


def strong_store(a, m, lane):
    kit.st_relaxed(a + 4 * lane, 1)


def atomic(a, m, lane):
    kit.red_relaxed(a + 4 * lane, 1)


def copy(a, m, lane):
    kit.cp_async(4096 + 4 * kit.tid_x(), a + 4 * lane)
    kit.commit()
    kit.wait_0()


def expecting():
    """One thread's part: the mbarrier of its warp, which expects a box."""
    mbarrier = 6144 + 8 * (kit.tid_x() // 32)
    kit.mbarrier_init(mbarrier, 1)
    kit.fence_proxy_async()
    kit.mbarrier_expect(mbarrier, BOX)
    return mbarrier


def box_load(a, m, lane):
    if kit.tid_x() % 32 == 0:
        mbarrier = expecting()
        kit.tma_load(m, (0, 0), BOX * (kit.tid_x() // 32), mbarrier)
        kit.mbarrier_wait(mbarrier, 0)
    kit.bar_warp_sync()


def staged(value):
    """A warp's box of shared memory, written and fenced; its address."""
    at = BOX * (kit.tid_x() // 32)
    for i in range(8):
        kit.st_shared(at + 128 * i + 4 * (kit.tid_x() % 32), value)
    kit.fence_proxy_async()
    kit.bar_warp_sync()
    return at


def complete():
    """One thread's part: its bulk stores are where they go."""
    kit.bulk_commit()
    kit.bulk_wait_all(0)


def box_store(a, m, lane):
    at = staged(1 + kit.tid_x() // 32 + 2 * kit.ctaid_x())
    if kit.tid_x() % 32 == 0:
        kit.tma_store(m, (0, 0), at)
        complete()
    kit.bar_warp_sync()


def box_reduction(a, m, lane):
    at = staged(1)
    if kit.tid_x() % 32 == 0:
        kit.tma_reduce(m, (0, 0), at)
        complete()
    kit.bar_warp_sync()


def bytes_load(a, m, lane):
    if kit.tid_x() % 32 == 0:
        mbarrier = expecting()
        kit.bulk_load(a, BOX * (kit.tid_x() // 32), BOX, mbarrier)
        kit.mbarrier_wait(mbarrier, 0)
    kit.bar_warp_sync()


def bytes_store(a, m, lane):
    at = staged(1 + kit.tid_x() // 32 + 2 * kit.ctaid_x())
    if kit.tid_x() % 32 == 0:
        kit.bulk_store(a, at, BOX)
        complete()
    kit.bar_warp_sync()


def bytes_reduction(a, m, lane):
    at = staged(1)
    if kit.tid_x() % 32 == 0:
        kit.bulk_reduce(a, at, BOX)
        complete()
    kit.bar_warp_sync()


OF_BYTES = bytes_load, bytes_store, bytes_reduction
GLOBAL = plain_load, plain_store, strong_load, strong_store, atomic, copy, box_load, box_store, box_reduction
WRITES = {plain_store, strong_store, atomic, box_store, box_reduction, bytes_store, bytes_reduction}
STRONG = [{strong_load, strong_store, atomic}, {box_reduction, bytes_reduction}]
"""Those within one of these sets do not race."""


def may_race(first, second):
    return bool({first, second} & WRITES) and not any({first, second} <= kinds for kinds in STRONG)


# ---- two accesses by two who may race, ordered or not ---------------------------------------------------------------


def by_two_warps(first, second, ordered, a, m, counter):
    tid = kit.tid_x()
    if tid < 32:
        first(a, m, tid % 32)                                               # first
    if ordered:
        kit.bar_sync()
    if tid >= 32:
        if ordered:
            kit.fence_proxy_async()
        second(a, m, tid % 32)                                              # second


def by_two_ctas(first, second, ordered, a, m, counter):
    tid = kit.tid_x()
    if kit.ctaid_x() == 0:
        first(a, m, tid)                                                    # first
        kit.bar_sync()
        if ordered and tid == 0:
            kit.atomic_add(counter, 1)
    else:
        if ordered:
            kit.wait_at_least(counter, 1)
            kit.fence_proxy_async()
        second(a, m, tid)                                                   # second


def by_two_ctas_of_a_cluster(first, second, ordered, a, m, counter):
    tid = kit.tid_x()
    if kit.cluster_rank() == 0:
        first(a, m, tid)                                                    # first
    if ordered:
        kit.cluster_sync()
        kit.fence_proxy_async()
    if kit.cluster_rank() == 1:
        second(a, m, tid)                                                   # second
    kit.cluster_sync()


def by_two_lanes(first, second, ordered, a, m, counter):
    lane = kit.tid_x()
    first(a, m, lane)                                                       # first
    if ordered:
        kit.bar_warp_sync()
        kit.fence_proxy_async()
    second(a, m, lane ^ 1)                                                  # second


BY = {by_two_warps: dict(grid=1, block=64), by_two_ctas: dict(grid=2, block=32),
      by_two_ctas_of_a_cluster: dict(grid=2, block=32, cluster=2), by_two_lanes: dict(grid=1, block=32)}

# ---- shared memory: (maps of a source and of a target, lane) ---------------------------------------------------------


def shared_load(m, lane):
    kit.ld_shared(4 * lane)


def shared_store(m, lane):
    kit.st_shared(4 * lane, kit.tid_x())


def matrix_load(m, lane):
    kit.ldmatrix_x4(16 * lane)


def matrix_store(m, lane):
    kit.stmatrix_x1(16 * (lane % 8), 1 + kit.tid_x())


def shared_box_load(m, lane):
    if kit.tid_x() % 32 == 0:
        mbarrier = expecting()
        kit.tma_load(m[0], (0, 0), 0, mbarrier)
        kit.mbarrier_wait(mbarrier, 0)
    kit.bar_warp_sync()


def shared_box_store(m, lane):
    if kit.tid_x() % 32 == 0:
        kit.tma_store(m[1], (0, 0), 0)
        kit.bulk_commit()
        kit.bulk_wait(0)
    kit.bar_warp_sync()


SHARED_READS = shared_load, matrix_load, shared_box_store
SHARED_ACCESSES = *SHARED_READS, shared_store, matrix_store, shared_box_load


def in_shared_memory(first, second, ordered, m):
    tid = kit.tid_x()
    for i in range(4):
        kit.st_shared(512 * (tid // 64) + 256 * i + 4 * (tid % 64), 0)
    kit.fence_proxy_async()
    kit.bar_sync()
    if tid < 32:
        first(m, tid)                                                       # first
    if ordered:
        kit.fence_proxy_async()
        kit.bar_sync()
    if tid >= 32:
        second(m, tid % 32)                                                 # second
