"""Kernels with TMA, mbarriers and wgmma for the machine: a GEMM with producer and consumers, and clusters.

All take f16 tensor maps with boxes of 64 x 64 and a 128-byte swizzle, 8 KiB.
"""

import numpy as np
from machine_kit import (
    bar_some,
    bar_sync,
    bulk_commit,
    bulk_wait,
    cluster_rank,
    cluster_sync,
    fence_proxy_async,
    ld_shared,
    mbarrier_arrive,
    mbarrier_arrive_remote,
    mbarrier_expect,
    mbarrier_init,
    mbarrier_wait,
    registers,
    setmaxnreg,
    st_global,
    st_global_f32,
    st_shared,
    tid_x,
    tma_load,
    tma_multicast,
    tma_store,
    uniform,
    wgmma,
    wgmma_commit,
    wgmma_fence,
    wgmma_wait,
)

from simlayout.hardware.matrix.operand_tile import OperandTile
from simlayout.hardware.matrix.tma import TensorMap

BOX = 8192
MBARRIER = 4 * BOX
SHARED = MBARRIER + 1024
N64 = "wgmma.m64n64k16.f32.f16.f16"
TILE = OperandTile(64, 64, "f16")
DESCRIPTOR = TILE.descriptor().encode()
STEPS = tuple(start >> 4 for start in TILE.starts)


def halves(rows, cols, seed=0):
    """An array of f16, of chance."""
    return np.random.default_rng(seed).standard_normal((rows, cols)).astype(np.float16)


def tensor(array):
    """The tensor map of an array."""
    return TensorMap.of(array, (64, 64))


def source():
    """That of one box."""
    return tensor(halves(64, 64))


def descriptor(address):
    return DESCRIPTOR + address // 16


def multiply(acc, at_a, at_b, keep):
    """acc (+)= A B of two 64 x 64 tiles, committed."""
    wgmma_fence()
    for i in range(4):
        wgmma(N64, acc, descriptor(at_a) + STEPS[i], descriptor(at_b) + STEPS[i], 1 if i else keep)
    wgmma_commit()


def store_tile(acc, c, tid, ldc):
    """A warpgroup's 64 x 64 accumulators to f32 C."""
    row, col = tid // 32 * 16 + tid % 32 // 4, tid % 4 * 2
    for i in range(32):
        st_global_f32(c + 4 * ((row + 8 * (i // 2 % 2)) * ldc + col + 8 * (i // 4) + i % 2), acc[i])


def ready():
    """One thread's part: the mbarrier that one arrival flips, for engines to see."""
    mbarrier_init(MBARRIER, 1)
    fence_proxy_async()


def load_box(source):
    """One thread's part: the first box to byte 0, which the mbarrier waits for."""
    mbarrier_expect(MBARRIER, BOX)
    tma_load(source, (0, 0), 0, MBARRIER)


def zeros(tid):
    """128 threads' zeros in the first box, for engines to read."""
    for i in range(16):
        st_shared(512 * i + 4 * tid, 0)
    fence_proxy_async()
    bar_sync()


# ---- right ----------------------------------------------------------------------------------------------------------


def gemm(a, b, c, K, N):
    """A producer warpgroup, two consumers with 64 rows each, a ring of two stages: A 128 x 64, B 64 x 64."""
    tid = tid_x()
    full, empty, stages = MBARRIER + 6 * BOX, MBARRIER + 6 * BOX + 16, 2
    if tid == 0:
        for s in range(2):
            mbarrier_init(full + 8 * s, 1)
            mbarrier_init(empty + 8 * s, 2)
        fence_proxy_async()
    bar_sync()
    group = uniform(tid // 128)
    if group == 0:
        setmaxnreg(24, False)
        if tid == 0:
            for k in range(K // 64):
                s = k % stages
                mbarrier_wait(empty + 8 * s, 1 - k // stages % 2)
                mbarrier_expect(full + 8 * s, 3 * BOX)
                tma_load(a, (64 * k, 0), 3 * BOX * s, full + 8 * s)
                tma_load(a, (64 * k, 64), 3 * BOX * s + BOX, full + 8 * s)
                tma_load(b, (64 * k, 0), 3 * BOX * s + 2 * BOX, full + 8 * s)
    else:
        setmaxnreg(240, True)
        acc = registers((32,), np.float32)
        for k in range(K // 64):
            s = k % stages
            mbarrier_wait(full + 8 * s, k // stages % 2)
            multiply(acc, 3 * BOX * s + BOX * (group - 1), 3 * BOX * s + 2 * BOX, 1 if k else 0)
            wgmma_wait(0)
            if tid % 128 == 0:
                mbarrier_arrive(empty + 8 * s)
        store_tile(acc, c + 4 * 64 * N * (group - 1), tid % 128, N)


def two_bands(a, b, c):
    """128 rows of C by one warpgroup, in two register arrays: a wgmma of each in turns, all in one group."""
    tid = tid_x()
    if tid == 0:
        ready()
        mbarrier_expect(MBARRIER, 3 * BOX)
        tma_load(a, (0, 0), 0, MBARRIER)
        tma_load(a, (0, 64), BOX, MBARRIER)
        tma_load(b, (0, 0), 2 * BOX, MBARRIER)
    bar_sync()
    mbarrier_wait(MBARRIER, 0)
    first, second = registers((32,), np.float32), registers((32,), np.float32)
    wgmma_fence()
    for i in range(4):
        wgmma(N64, first, descriptor(0) + STEPS[i], descriptor(2 * BOX) + STEPS[i], 1 if i else 0)
        wgmma(N64, second, descriptor(BOX) + STEPS[i], descriptor(2 * BOX) + STEPS[i], 1 if i else 0)
    wgmma_commit()
    wgmma_wait(0)
    store_tile(first, c, tid, 64)
    store_tile(second, c + 4 * 64 * 64, tid, 64)


def through_shared_memory(source, target):
    """A box is loaded, changed by the threads, and stored."""
    tid = tid_x()
    if tid == 0:
        ready()
        load_box(source)
    bar_sync()
    mbarrier_wait(MBARRIER, 0)
    for i in range(16):
        st_shared(512 * i + 4 * tid, ld_shared(512 * i + 4 * tid) ^ 0x80008000)
    fence_proxy_async()
    bar_some(1, 128)
    if tid == 0:
        tma_store(target, (0, 0), 0)
        bulk_commit()
        bulk_wait(0)
    bar_sync()
    st_shared(4 * tid, 0)


# ---- clusters -------------------------------------------------------------------------------------------------------


def shared_load(source, out):
    """Each CTA of two loads half of the rows of a box for both, and both store all of it; then once more."""
    tid, rank = tid_x(), cluster_rank()
    if tid == 0:
        mbarrier_init(MBARRIER, 1)
        mbarrier_init(MBARRIER + 8, 2)
        fence_proxy_async()
    cluster_sync()
    for k in range(2):
        if tid == 0:
            mbarrier_wait(MBARRIER + 8, 1 - k)
            mbarrier_expect(MBARRIER, BOX)
            tma_multicast(source, (64 * k, 32 * rank), BOX // 2 * rank, MBARRIER, 3)
        mbarrier_wait(MBARRIER, k)
        for i in range(64):
            st_global(out + BOX * (2 * k + rank) + 128 * i + 4 * tid, ld_shared(128 * i + 4 * tid))
        bar_sync()
        if tid < 2:
            mbarrier_arrive_remote(MBARRIER + 8, tid)
    cluster_sync()


def stage_of_the_peer_loaded_while_it_reads(source):
    tid = tid_x()
    if tid == 0:
        ready()
    cluster_sync()
    for k in range(2):
        if tid == 0:
            mbarrier_expect(MBARRIER, BOX)
            if cluster_rank() == 0:
                tma_multicast(source, (0, 0), 0, MBARRIER, 3)               # second
        mbarrier_wait(MBARRIER, k)
        cluster_sync()
        ld_shared(4 * tid)                                                  # first
        bar_sync()
    cluster_sync()


def arrival_at_a_cta_that_has_ended():
    tid, rank = tid_x(), cluster_rank()
    if tid == 0:
        mbarrier_init(MBARRIER, 1)
    cluster_sync()
    if rank == 1:
        if tid == 0:
            mbarrier_wait(MBARRIER, 1)
            mbarrier_arrive_remote(MBARRIER, 0)                             # second


