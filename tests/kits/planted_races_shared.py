"""Races of one kind each in shared memory, with and without what orders them: (a, m, counter, clean), see `planted_races`.

The lines that race end in `# first` and `# second`.
"""

import machine_kit as kit
from planted_races import BOX

FULL, EMPTY = 6144, 6152


# ---- lanes, widths ---------------------------------------------------------------------------------------------------


def lanes_of_another_sync(a, m, counter, clean):
    tid = kit.tid_x()
    kit.st_shared(4 * tid, tid)                                             # first
    if tid < 16:
        kit.sync_of(0xFFFF)
        kit.ld_shared(4 * (tid ^ (1 if clean else 16)))                     # second


def one_arm_of_a_branch_reads_the_other(a, m, counter, clean):
    tid = kit.tid_x()
    kit.st_shared(4 * tid, 0)
    kit.bar_warp_sync()
    if tid % 2 == 0:
        kit.st_shared(4 * tid, tid)                                         # first
    else:
        kit.ld_shared(4 * tid - 4 * (not clean))                            # second


def a_byte_of_what_a_matrix_load_reads(a, m, counter, clean):
    tid = kit.tid_x()
    kit.st_shared_b128(16 * tid, 0)
    kit.bar_sync()
    if tid < 32:
        kit.ldmatrix_x4(16 * tid)                                           # first
    if clean:
        kit.bar_sync()
    if tid == 63:
        kit.st_shared_b8(511, 7)                                            # second


# ---- named barriers --------------------------------------------------------------------------------------------------


def arrival_before_the_store(a, m, counter, clean):
    tid = kit.tid_x()
    if tid < 32:
        if clean:
            kit.st_shared(4 * tid, 1)
        kit.bar_arrive(1, 64)
        if not clean:
            kit.st_shared(4 * tid, 1)                                       # first
    else:
        kit.bar_some(1, 64)
        kit.ld_shared(4 * (tid - 32))                                       # second


def buffer_freed_before_it_is_read(a, m, counter, clean):
    tid = kit.tid_x()
    for i in range(3):
        if tid < 32:
            if i > 0:
                kit.bar_some(2, 64)
            kit.st_shared(4 * tid, i)                                       # second
            kit.bar_arrive(1, 64)
        else:
            kit.bar_some(1, 64)
            if not clean and i < 2:
                kit.bar_arrive(2, 64)
            kit.ld_shared(4 * (tid - 32))                                   # first
            if clean and i < 2:
                kit.bar_arrive(2, 64)


# ---- cp.async --------------------------------------------------------------------------------------------------------


def wait_for_one_group_too_few(a, m, counter, clean):
    tid = kit.tid_x()
    kit.cp_async(4 * tid, a + 4 * tid)
    kit.commit()
    kit.cp_async(256 + 4 * tid, a + 256 + 4 * tid)                          # first
    kit.commit()
    kit.cp_async(512 + 4 * tid, a + 512 + 4 * tid)
    kit.commit()
    if clean:
        kit.wait_1()
    else:
        kit.wait_2()
    kit.bar_sync()
    kit.ld_shared(256 + 4 * (63 - tid))                                     # second
    kit.wait_0()


def pipeline_of_one_stage_too_few(a, m, counter, clean):
    tid, stages = kit.tid_x(), 3 if clean else 2
    for i in range(2):
        kit.cp_async(256 * i + 4 * tid, a + 4 * tid)
        kit.commit()
    for i in range(4):
        kit.wait_1()
        kit.bar_sync()
        kit.ld_shared(256 * (i % stages) + 4 * (63 - tid))                  # first
        kit.cp_async(256 * ((i + 2) % stages) + 4 * tid, a + 4 * tid)       # second
        kit.commit()
    kit.wait_0()


def copy_read_by_the_neighbour(a, m, counter, clean):
    """The wait of a lane brings its own bytes, not those of its neighbour."""
    tid = kit.tid_x()
    kit.cp_async(4 * tid, a + 4 * tid)                                      # first
    kit.commit()
    kit.wait_0()
    kit.ld_shared(4 * tid if clean else 4 * (tid ^ 1))                      # second


# ---- TMA and mbarriers -----------------------------------------------------------------------------------------------


def begin(full, empty):
    if kit.tid_x() == 0:
        kit.mbarrier_init(FULL, full)
        kit.mbarrier_init(EMPTY, empty)
        kit.fence_proxy_async()
    kit.bar_sync()


def load_once_more(m):
    kit.mbarrier_expect(FULL, BOX)
    kit.tma_load(m, (0, 0), 0, FULL)


def stage_freed_before_it_is_read(a, m, counter, clean):
    tid = kit.tid_x()
    begin(1, 32)
    if tid == 0:
        for i in range(3):
            if i > 0:
                kit.mbarrier_wait(EMPTY, (i - 1) % 2)
            load_once_more(m)                                               # second
    if tid >= 32:
        for i in range(3):
            kit.mbarrier_wait(FULL, i % 2)
            if not clean and i < 2:
                kit.mbarrier_arrive(EMPTY)
            kit.ld_shared(4 * (tid - 32))                                   # first
            if clean and i < 2:
                kit.mbarrier_arrive(EMPTY)
    kit.bar_sync()


def stage_freed_by_one_lane_alone(a, m, counter, clean):
    tid = kit.tid_x()
    begin(1, 1)
    if tid == 0:
        for i in range(2):
            if i > 0:
                kit.mbarrier_wait(EMPTY, 0)
            load_once_more(m)                                               # second
    if tid >= 32:
        for i in range(2):
            kit.mbarrier_wait(FULL, i)
            kit.ld_shared(4 * (tid - 32))                                   # first
            if clean:
                kit.bar_warp_sync()
            if tid == 32 and i == 0:
                kit.mbarrier_arrive(EMPTY)
    kit.bar_sync()


def wait_for_the_phase_before(a, m, counter, clean):
    tid = kit.tid_x()
    begin(1, 1)
    for i in range(2):
        if tid == 0:
            load_once_more(m)                                               # first
        kit.mbarrier_wait(FULL, i if clean else 0)
        kit.ld_shared(4 * tid)                                              # second
        kit.bar_sync()
    kit.mbarrier_wait(FULL, 1)


def box_written_by_the_threads_before(a, m, counter, clean):
    """Both proxies write the same bytes: a barrier without a fence does not order them (PTX ISA, Memory Consistency Model:
    proxy-preserved base causality order)."""
    tid = kit.tid_x()
    begin(1, 1)
    kit.st_shared(4 * tid, 5)                                               # first
    if clean:
        kit.fence_proxy_async()
    kit.bar_sync()
    if tid == 0:
        load_once_more(m)                                                   # second
    kit.mbarrier_wait(FULL, 0)
    kit.ld_shared(4 * tid)


def filled(m):
    for i in range(4):
        kit.st_shared(256 * i + 4 * kit.tid_x(), i)
    kit.fence_proxy_async()
    kit.bar_sync()


def box_stored_after_a_wait_of_another(a, m, counter, clean):
    tid = kit.tid_x()
    filled(m)
    if tid == 0:
        kit.tma_store(m, (0, 0), 0)                                         # first
        kit.bulk_commit()
    if tid == (0 if clean else 32):
        kit.bulk_wait(0)
    kit.bar_sync()
    kit.st_shared(4 * tid, 7)                                               # second
    if tid == 0:
        kit.bulk_wait_all(0)


def box_reused_by_a_lane_that_did_not_wait(a, m, counter, clean):
    """Lane 0 alone waits, and alone may write there; what others write elsewhere at the same time does not matter."""
    tid = kit.tid_x()
    filled(m)
    if tid == 0:
        kit.tma_store(m, (0, 0), 0)                                         # first
        kit.bulk_commit()
        kit.bulk_wait(0)
    kit.st_shared(4 * tid if tid == (0 if clean else 1) else 2048 + 4 * tid, 7)  # second
    if tid == 0:
        kit.bulk_wait_all(0)


def box_read_by_a_lane_that_did_not_wait(a, m, counter, clean):
    tid = kit.tid_x()
    begin(1, 1)
    kit.st_shared(2048 + 4 * tid, 0)
    if tid == 0:
        load_once_more(m)                                                   # first
        kit.mbarrier_wait(FULL, 0)
    kit.ld_shared(0 if tid == (0 if clean else 1) else 2048 + 4 * tid)      # second


# ---- clusters --------------------------------------------------------------------------------------------------------


def stored_between_the_halves_of_a_barrier(a, m, counter, clean):
    """What a lane does after it has arrived is not before what others do after they have waited: of its warp too."""
    tid = kit.tid_x()
    kit.cluster_arrive(False)
    kit.st_shared(4 * tid, tid)                                             # first
    kit.cluster_wait()
    if clean:
        kit.bar_warp_sync()
    kit.ld_shared(4 * (tid ^ 1))                                            # second
    kit.cluster_sync()


def read_between_the_halves_of_a_barrier(a, m, counter, clean):
    tid = kit.tid_x()
    kit.st_shared(4 * tid, tid)
    kit.cluster_arrive(False)
    kit.ld_shared(4 * tid)                                                  # first
    kit.cluster_wait()
    if clean:
        kit.bar_warp_sync()
    kit.st_shared(4 * (tid ^ 1), 0)                                         # second
    kit.cluster_sync()


def peer_that_has_not_passed_the_barrier(a, m, counter, clean):
    tid = kit.tid_x()
    kit.st_shared(4 * tid, tid)                                             # first
    kit.cluster_arrive(not clean)
    kit.cluster_wait()
    kit.ld_peer(4 * tid, kit.cluster_rank() ^ 1)                            # second
    kit.cluster_sync()


def overwritten_while_a_peer_reads(a, m, counter, clean):
    tid = kit.tid_x()
    kit.st_shared(4 * tid, tid)
    kit.cluster_sync()
    kit.ld_peer(4 * tid, kit.cluster_rank() ^ 1)                            # first
    if clean:
        kit.cluster_sync()
    kit.st_shared(4 * tid, 2)                                               # second
    kit.cluster_sync()


def multicast_over_what_a_peer_reads(a, m, counter, clean):
    tid, rank = kit.tid_x(), kit.cluster_rank()
    kit.st_shared(4 * tid, 0)
    kit.fence_proxy_async()
    begin(1, 32)
    if tid == 0 and rank == 1:
        kit.mbarrier_expect(FULL, BOX)
    kit.cluster_sync()
    if rank == 1:
        kit.ld_shared(4 * tid)                                              # first
        if clean:
            kit.mbarrier_arrive_remote(EMPTY, 0)
    if rank == 0:
        if clean:
            kit.mbarrier_wait(EMPTY, 0)
        if tid == 0:
            kit.tma_multicast(m, (0, 0), 0, FULL, 2)                        # second
    if rank == 1:
        kit.mbarrier_wait(FULL, 0)
    kit.cluster_sync()


IN_SHARED_MEMORY = {                                     # kernel -> how it is launched
    lanes_of_another_sync: dict(grid=1, block=32),
    one_arm_of_a_branch_reads_the_other: dict(grid=1, block=32),
    a_byte_of_what_a_matrix_load_reads: dict(grid=1, block=64),
    arrival_before_the_store: dict(grid=1, block=64),
    buffer_freed_before_it_is_read: dict(grid=1, block=64),
    wait_for_one_group_too_few: dict(grid=1, block=64),
    pipeline_of_one_stage_too_few: dict(grid=1, block=64),
    copy_read_by_the_neighbour: dict(grid=1, block=32),
    stage_freed_before_it_is_read: dict(grid=1, block=64),
    stage_freed_by_one_lane_alone: dict(grid=1, block=64),
    wait_for_the_phase_before: dict(grid=1, block=64),
    box_written_by_the_threads_before: dict(grid=1, block=64),
    box_stored_after_a_wait_of_another: dict(grid=1, block=64),
    box_reused_by_a_lane_that_did_not_wait: dict(grid=1, block=64),
    box_read_by_a_lane_that_did_not_wait: dict(grid=1, block=32),
    stored_between_the_halves_of_a_barrier: dict(grid=2, block=32, cluster=2),
    read_between_the_halves_of_a_barrier: dict(grid=2, block=32, cluster=2),
    peer_that_has_not_passed_the_barrier: dict(grid=2, block=32, cluster=2),
    overwritten_while_a_peer_reads: dict(grid=2, block=32, cluster=2),
    multicast_over_what_a_peer_reads: dict(grid=2, block=32, cluster=2),
}
