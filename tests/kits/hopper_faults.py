"""Kernels with TMA, mbarriers and wgmma with one planted fault each, whose lines end in `# first` and `# second`."""

import numpy as np
from hopper_kernels import BOX, MBARRIER, N64, descriptor, load_box, ready, zeros
from machine_kit import (
    bar_some,
    bar_sync,
    bulk_commit,
    fence_proxy_async,
    ld_shared,
    mbarrier_arrive,
    mbarrier_expect,
    mbarrier_init,
    mbarrier_wait,
    registers,
    setmaxnreg,
    st_shared,
    tid_x,
    tma_load,
    tma_store,
    uniform,
    wgmma,
    wgmma_commit,
    wgmma_fence,
    wgmma_wait,
)

# ---- one hazard each ------------------------------------------------------------------------------------------------


def read_before_the_phase(source):
    tid = tid_x()
    if tid == 0:
        ready()
        mbarrier_expect(MBARRIER, BOX)
        tma_load(source, (0, 0), 0, MBARRIER)                               # first
    bar_sync()
    ld_shared(4 * tid)                                                      # second


def read_by_who_has_not_waited(source):
    tid = tid_x()
    if tid == 0:
        ready()
        mbarrier_expect(MBARRIER, BOX)
        tma_load(source, (0, 0), 0, MBARRIER)                               # first
        mbarrier_wait(MBARRIER, 0)
    ld_shared(4 * tid)                                                      # second


def load_over_a_load(source):
    if tid_x() == 0:
        ready()
        for _ in range(2):
            tma_load(source, (0, 0), 0, MBARRIER)                           # first second


def store_under_a_load(source):
    tid = tid_x()
    if tid == 0:
        ready()
        mbarrier_expect(MBARRIER, BOX)
        tma_load(source, (0, 0), 0, MBARRIER)                               # first
    bar_sync()
    st_shared(4 * tid, 0)                                                   # second


def stage_loaded_while_threads_read_it(source):
    tid = tid_x()
    if tid == 32:
        ready()
    bar_sync()
    for k in range(2):
        if tid == 32:
            mbarrier_expect(MBARRIER, BOX)
            tma_load(source, (0, 0), 0, MBARRIER)                           # second
        mbarrier_wait(MBARRIER, k)
        if tid < 32:
            ld_shared(4 * tid)                                              # first


def stage_loaded_while_a_wgmma_reads_it(source):
    tid = tid_x()
    acc = registers((32,), np.float32)
    if tid == 0:
        ready()
    bar_sync()
    for k in range(2):
        if tid == 0:
            mbarrier_expect(MBARRIER, BOX)
            tma_load(source, (0, 0), 0, MBARRIER)                           # second
        mbarrier_wait(MBARRIER, k)
        wgmma_fence()
        wgmma(N64, acc, descriptor(0), descriptor(0), 0)                    # first
        wgmma_commit()
    wgmma_wait(0)


def stage_released_before_its_products(source):
    """The consumer tells the producer one step too early: wgmma_wait(1) covers the step before."""
    tid = tid_x()
    acc = registers((32,), np.float32)
    if tid == 0:
        mbarrier_init(MBARRIER, 1)
        mbarrier_init(MBARRIER + 8, 1)
        fence_proxy_async()
    bar_sync()
    if uniform(tid // 128) == 1:
        for k in range(2):
            if tid == 128:
                mbarrier_wait(MBARRIER + 8, 1 - k)
                mbarrier_expect(MBARRIER, BOX)
                tma_load(source, (0, 0), 0, MBARRIER)                       # second
    else:
        for k in range(2):
            mbarrier_wait(MBARRIER, k)
            wgmma_fence()
            wgmma(N64, acc, descriptor(0), descriptor(0), k)                # first
            wgmma_commit()
            wgmma_wait(1)
            if tid == 0:
                mbarrier_arrive(MBARRIER + 8)
        wgmma_wait(0)


def store_under_a_wgmma():
    tid = tid_x()
    acc = registers((32,), np.float32)
    zeros(tid)
    wgmma_fence()
    wgmma(N64, acc, descriptor(0), descriptor(0), 0)                        # first
    wgmma_commit()
    bar_sync()
    st_shared(4 * tid, 0)                                                   # second
    wgmma_wait(0)


def source_written_under_a_bulk_store(target):
    tid = tid_x()
    zeros(tid)
    if tid == 0:
        tma_store(target, (0, 0), 0)                                        # first
        bulk_commit()
    bar_sync()
    st_shared(4 * tid, 0)                                                   # second


def wgmma_without_a_proxy_fence():
    tid = tid_x()
    acc = registers((32,), np.float32)
    for i in range(16):
        st_shared(512 * i + 4 * tid, 0)                                     # first
    bar_sync()
    wgmma_fence()
    wgmma(N64, acc, descriptor(0), descriptor(0), 0)                        # second


def bulk_store_without_a_proxy_fence(target):
    tid = tid_x()
    for i in range(16):
        st_shared(512 * i + 4 * tid, 0)                                     # first
    bar_some(1, 128)
    if tid == 0:
        tma_store(target, (0, 0), 0)                                        # second


def mbarrier_used_before_a_barrier():
    if tid_x() == 0:
        mbarrier_init(MBARRIER, 1)                                          # first
    mbarrier_wait(MBARRIER, 1)                                              # second


def mbarrier_under_data():
    if tid_x() == 0:
        mbarrier_init(MBARRIER, 1)
        st_shared(MBARRIER + 4, 1)                                          # first
        mbarrier_arrive(MBARRIER)                                           # second


def wgmma_reads_what_nobody_wrote():
    acc = registers((32,), np.float32)
    wgmma_fence()
    wgmma(N64, acc, descriptor(0), descriptor(0), 0)                        # second
    wgmma_commit()
    wgmma_wait(0)


def accumulators_read_too_early(source):
    tid = tid_x()
    acc = loaded(source, tid)
    wgmma_fence()
    wgmma(N64, acc, descriptor(0), descriptor(0), 0)                        # first
    wgmma_commit()
    x = acc[0]                                                              # second
    return x


def loaded(source, tid):
    """A box at 0 that everyone has waited for; returns accumulators."""
    if tid == 0:
        ready()
        load_box(source)
    bar_sync()
    mbarrier_wait(MBARRIER, 0)
    return registers((32,), np.float32)


def accumulators_written_while_another_group_adds(source):
    acc = loaded(source, tid_x())
    for _ in range(2):
        wgmma_fence()
        wgmma(N64, acc, descriptor(0), descriptor(0), 0)                    # first
        wgmma_commit()
    wgmma_wait(1)
    acc[3] = 0                                                              # second


def no_wgmma_fence(source):
    acc = loaded(source, tid_x())
    wgmma_fence()
    for i in range(32):
        acc[i] = 0
    wgmma(N64, acc, descriptor(0), descriptor(0), 1)                        # second


def kernel_ends_under_a_bulk_store(target):
    tid = tid_x()
    zeros(tid)
    if tid == 0:
        tma_store(target, (0, 0), 0)                                        # second
        bulk_commit()


def kernel_ends_under_a_load(source):
    if tid_x() == 0:
        ready()
        mbarrier_expect(MBARRIER, BOX)
        tma_load(source, (0, 0), 0, MBARRIER)                               # second


# ---- deadlocks ------------------------------------------------------------------------------------------------------


def bytes_that_never_come(source):
    tid = tid_x()
    if tid == 0:
        ready()
        mbarrier_expect(MBARRIER, BOX + 16)
        tma_load(source, (0, 0), 0, MBARRIER)
    bar_sync()
    mbarrier_wait(MBARRIER, 0)                                              # second


def arrivals_that_never_come():
    tid = tid_x()
    if tid == 0:
        mbarrier_init(MBARRIER, 3)
    bar_sync()
    if tid % 128 == 0:
        mbarrier_arrive(MBARRIER)
    mbarrier_wait(MBARRIER, 0)                                              # second


def a_warp_without_wgmma(source):
    tid = tid_x()
    acc = loaded(source, tid)
    if tid // 32 != 2:                                                      # first
        wgmma_fence()
        wgmma(N64, acc, descriptor(0), descriptor(0), 0)
        wgmma_commit()
        wgmma_wait(0)                                                       # second


def more_registers_than_there_are():
    if uniform(tid_x() // 128) == 0:
        setmaxnreg(240, True)                                               # second
