"""Kernels with one planted hazard each, whose lines end in `# first` and `# second`, and neighbours without one."""


from machine_kit import (
    bar_1_of_64,
    bar_sync,
    bar_warp_sync,
    commit,
    cp_async,
    ctaid_x,
    ld_global,
    ld_shared,
    ldmatrix_x4,
    st_global,
    st_shared,
    tid_x,
    wait_0,
    wait_1,
)

# ---- one hazard each ------------------------------------------------------------------------------------------------


def unwritten_read():
    tid = tid_x()
    if tid < 24:
        st_shared(4 * tid, tid)
    bar_sync()
    ld_shared(4 * tid)                                                      # second


def uncommitted_copy(a):
    tid = tid_x()
    cp_async(4 * tid, a + 4 * tid)                                          # first
    wait_0()
    ld_shared(4 * tid)                                                      # second


def wait_that_allows_too_much(a):
    tid = tid_x()
    for stage in range(3):
        cp_async(128 * stage + 4 * tid, a + 4 * tid)                        # first
        commit()
    wait_1()
    bar_sync()
    ld_shared(4 * tid)
    ld_shared(128 + 4 * tid)
    ld_shared(256 + 4 * tid)                                                # second


def wait_without_barrier(a):
    tid = tid_x()
    cp_async(4 * tid, a + 4 * tid)                                          # first
    commit()
    wait_0()
    ld_shared(4 * (63 - tid))                                               # second


def read_after_write():
    tid = tid_x()
    st_shared(4 * tid, tid)                                                 # first
    ld_shared(4 * (63 - tid))                                               # second


def write_after_read():
    tid = tid_x()
    for k in range(2):
        st_shared(4 * tid, tid + k)                                         # second
        bar_sync()
        ld_shared(4 * (63 - tid))                                           # first


def write_after_write():
    tid = tid_x()
    st_shared(4 * (tid % 32), tid)                                          # first second


def copy_over_a_stage_in_use(a):
    tid = tid_x()
    st_shared(4 * tid, tid)
    bar_sync()
    ld_shared(4 * (63 - tid))                                               # first
    cp_async(4 * tid, a + 4 * tid)                                          # second
    commit()
    wait_0()


def two_copies_to_one_place(a):
    tid = tid_x()
    cp_async(4 * tid, a + 4 * tid)                                          # first
    commit()
    cp_async(4 * tid, a + 4 * tid)                                          # second
    commit()
    wait_0()


def store_under_a_copy(a):
    tid = tid_x()
    cp_async(4 * tid, a + 4 * tid)                                          # first
    commit()
    if tid % 32 == 7:
        st_shared(4 * tid, 0)                                               # second
    wait_0()


def collision():
    tid = tid_x()
    st_shared(4 * (tid // 4), tid // 8)
    st_shared(128 + 4 * (tid // 4), tid)                                    # second


def collision_in_global_memory(out):
    tid = tid_x()
    st_global(out + 4 * (tid // 32), 7)
    st_global(out + 128 + 4 * (tid // 4), tid)                              # second


def lane_race():
    tid = tid_x()
    st_shared(4 * tid, tid)                                                 # first
    ld_shared(4 * (tid ^ 1))                                                # second


def lane_race_on_a_broadcast():
    tid = tid_x()
    st_shared(4 * tid, tid)
    bar_warp_sync()
    ld_shared(tid // 32 * 128)                                              # first
    if tid % 32 == 0:
        st_shared(4 * tid, 5)                                               # second


def lane_race_with_the_last_read_but_one():
    tid = tid_x()
    st_shared(4 * tid, tid)
    bar_warp_sync()
    ld_shared(4 * (tid ^ 1))                                                # first
    ld_shared(4 * tid)
    st_shared(4 * tid, 5)                                                   # second


def named_barrier_of_others():
    tid = tid_x()
    st_shared(4 * tid, tid)                                                 # first
    if tid < 64:
        bar_1_of_64()
    ld_shared(4 * (95 - tid))                                               # second


def diverged_barrier():
    if tid_x() % 32 < 3:                                                    # first
        bar_sync()                                                          # second


def diverged_ldmatrix():
    tid = tid_x()
    if tid % 2 == 0:                                                        # first
        ldmatrix_x4(16 * (tid % 32))                                        # second


def barrier_for_some_warps():
    tid = tid_x()
    st_shared(4 * tid, 0)
    if tid < 32:
        bar_sync()                                                          # second
    else:
        bar_1_of_64()                                                       # first


def two_ctas_write_one_tile(out):
    tid = tid_x()
    st_global(out + 4 * (32 * (ctaid_x() // 2) + tid), 1 + ctaid_x())       # first second


def two_warps_write_one_row(out):
    tid = tid_x()
    if tid < 32:
        st_global(out + 4 * tid, 1)                                         # first
    else:
        st_global(out + 4 * (tid - 32), 2)                                  # second


def read_of_another_cta(out):
    tid = tid_x()
    if ctaid_x() == 1:
        ld_global(out + 4 * tid)                                            # second
    st_global(out + 128 * ctaid_x() + 4 * tid, 1)                           # first


# ---- their neighbours without one -----------------------------------------------------------------------------------


def tile_transposed_with_barriers(a, out):
    tid = tid_x()
    cp_async(4 * tid, a + 4 * tid)
    commit()
    for k in range(3):
        wait_0()
        bar_sync()
        v = ld_shared(4 * (63 - tid))
        bar_sync()
        cp_async(4 * tid, a + 4 * tid)
        commit()
        st_global(out + 4 * tid, v + k)
    wait_0()


def exchange_within_a_warp():
    tid = tid_x()
    for k in range(3):
        st_shared(4 * tid, tid + k)
        bar_warp_sync()
        ld_shared(4 * (tid ^ 1))
        bar_warp_sync()


def one_lane_after_another():
    tid = tid_x()
    st_shared(4 * tid, 0)
    for _ in range(4):
        st_shared(4 * tid, ld_shared(4 * tid) + 1)                          # each lane its own word


def chain_of_named_barriers():
    """Warp 0 hands to warp 1 at barrier 1, warp 1 to warp 2 at the next use of it."""
    tid = tid_x()
    if tid < 32:
        st_shared(4 * tid, tid)
    if tid < 64:
        bar_1_of_64()
    if tid >= 32:
        bar_1_of_64()
        ld_shared(4 * (95 - tid) if tid >= 64 else 4 * (63 - tid))


def lanes_that_store_the_same():
    tid = tid_x()
    st_shared(128 * (tid // 32), 7)
    bar_warp_sync()
    ld_shared(128 * (tid // 32))


def one_thread_after_another_in_global_memory(out):
    tid = tid_x()
    for k in range(2):
        st_global(out + 4 * tid, k)
    ld_global(out + 4 * tid)
    bar_sync()
    st_global(out + 4 * (63 - tid), 1)


def copy_that_nobody_reads(a):
    cp_async(4 * tid_x(), a + 4 * tid_x())                                  # second
    commit()


def store(address, value):
    st_shared(address, value)                                               # the store


def two_stores_by_one_helper():
    tid = tid_x()
    store(4 * tid, 1)
    store(4 * (63 - tid), 2)
