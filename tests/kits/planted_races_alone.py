"""Races of one kind each in global memory, with and without what orders them: (a, m, counter, clean), see `planted_races`.

The lines that race end in `# first` and `# second`.
"""

import machine_kit as kit
from planted_races import BOX, staged


def shifted_in_place(a, m, counter, clean):
    tid = kit.tid_x()
    v = kit.ld_global(a + 4 * (tid + 1))                                    # first
    if clean:
        kit.bar_sync()
    kit.st_global(a + 4 * tid, v)                                           # second


def halo_of_the_neighbour(a, m, counter, clean):
    tid = kit.tid_x() + 64 * kit.ctaid_x()
    at = a + 4 * (tid if clean else tid + 1)
    v = kit.ld_global(at)                                                   # first
    kit.bar_sync()
    kit.st_global(a + 4 * tid, v)                                           # second


def last_reader_is_the_writer(a, m, counter, clean):
    """Warps 0 and 1 read the same; what warp 1 writes later comes after its own read, not after that of warp 0."""
    tid = kit.tid_x()
    kit.ld_global(a + 4 * (tid % 32))                                       # first
    if clean:
        kit.bar_sync()
    if tid >= 32:
        kit.bar_warp_sync()
        kit.st_global(a + 4 * (tid % 32), 1)                                # second


def read_by_all_ctas_written_by_the_last(a, m, counter, clean):
    tid = kit.tid_x()
    if kit.ctaid_x() < 2 or clean:
        kit.ld_global(a + 4 * tid)                                          # first
    if kit.ctaid_x() == 2:
        kit.ld_global(a + 4 * tid)
        kit.bar_sync()
        kit.st_global(a + 4 * (tid + 64 * clean), 1)                        # second


def read_between_two_reads(a, m, counter, clean):
    """The CTA that writes has read too, after the one that it races with."""
    tid = kit.tid_x()
    if kit.ctaid_x() == 0:
        kit.ld_global(a + 4 * tid + 128 * clean)                            # first
    else:
        kit.ld_global(a + 4 * tid)
        kit.bar_sync()
        kit.st_global(a + 4 * tid + 512 * clean, 1)                         # second


def broadcast_then_written_by_one_lane(a, m, counter, clean):
    tid = kit.tid_x()
    kit.ld_global(a + 128 * (tid // 32))                                    # first
    if clean:
        kit.bar_warp_sync()
    if tid % 32 == 0:
        kit.st_global(a + 4 * tid, 5)                                       # second


def halves_of_one_word(a, m, counter, clean):
    tid = kit.tid_x()
    if tid < 32:
        kit.st_global_b16(a + 4 * tid, 1)                                   # first
    else:
        kit.st_global_b16(a + 4 * (tid - 32) + 2 * clean, 2)                # second


def half_of_a_word(a, m, counter, clean):
    tid = kit.tid_x()
    if tid < 32:
        kit.st_global_b16(a + 4 * tid + 2, 1)                               # first
    else:
        kit.ld_global(a + 4 * (tid - 32) + 128 * clean)                     # second


def barrier_of_others(a, m, counter, clean):
    tid = kit.tid_x()
    if tid < 32:
        kit.st_global(a + 4 * tid, 1)                                       # first
    if tid >= 32 or clean:
        kit.bar_some(1, 96 if clean else 64)
    if tid >= 64:
        kit.ld_global(a + 4 * (tid - 64))                                   # second


def copy_not_waited_for(a, m, counter, clean):
    """The barrier comes while a cp.async may still read its source."""
    tid = kit.tid_x()
    if tid < 32:
        kit.cp_async(4 * tid, a + 4 * tid)                                  # first
        kit.commit()
        if clean:
            kit.wait_0()
    kit.bar_sync()
    if tid >= 32:
        kit.st_global(a + 4 * (tid - 32), 1)                                # second
    kit.wait_0()


def copy_over_its_own_source(a, m, counter, clean):
    tid = kit.tid_x()
    kit.cp_async(4 * tid, a + 4 * tid)                                      # first
    kit.commit()
    if clean:
        kit.wait_0()
    kit.st_global(a + 4 * tid, 1)                                           # second
    kit.wait_0()


def copy_whose_source_is_read_again(a, m, counter, clean):
    """The load is over at the barrier, the copy of the same words before it is not."""
    tid = kit.tid_x()
    if tid >= 32:
        kit.cp_async(4 * tid, a + 4 * (tid - 32))                           # first
        kit.commit()
        kit.ld_global(a + 4 * (tid - 32))
        if clean:
            kit.wait_0()
    kit.bar_sync()
    kit.wait_0()
    if tid < 32:
        kit.st_global(a + 4 * tid, 1)                                       # second


def box_whose_source_is_read_again(a, m, counter, clean):
    tid = kit.tid_x()
    if tid == 32:
        kit.mbarrier_init(2048, 1)
        kit.fence_proxy_async()
        kit.mbarrier_expect(2048, BOX)
        kit.tma_load(m, (0, 0), 0, 2048)                                    # first
        kit.ld_global(a)
        if clean:
            kit.mbarrier_wait(2048, 0)
    kit.bar_sync()
    if tid == 32:
        kit.mbarrier_wait(2048, 0)
    if tid == 0:
        kit.st_global(a, 1)                                                 # second


def load_of_a_box_not_waited_for(a, m, counter, clean):
    tid = kit.tid_x()
    if tid == 0:
        kit.mbarrier_init(2048, 1)
        kit.fence_proxy_async()
        kit.mbarrier_expect(2048, BOX)
        kit.tma_load(m, (0, 0), 0, 2048)                                    # first
    kit.bar_sync()
    if clean:
        kit.mbarrier_wait(2048, 0)
    kit.st_global(a + 4 * tid, 1)                                           # second
    kit.mbarrier_wait(2048, 0)


def store_of_a_box_that_was_only_read(a, m, counter, clean):
    """bulk.wait_group.read: the source may be written again, and the target is not there yet."""
    tid = kit.tid_x()
    at = staged(tid)
    if tid == 0:
        kit.tma_store(m, (0, 0), at)                                        # first
        kit.bulk_commit()
        if clean:
            kit.bulk_wait_all(0)
        else:
            kit.bulk_wait(0)
    kit.bar_sync()
    kit.ld_global(a + 4 * tid)                                              # second


def store_that_only_its_thread_waits_for(a, m, counter, clean):
    tid = kit.tid_x()
    at = staged(tid)
    if tid == 0:
        kit.tma_store(m, (0, 0), at)                                        # first
        kit.bulk_commit()
        kit.bulk_wait_all(0)
    if clean:
        kit.bar_sync()
    kit.ld_global(a + 4 * tid)                                              # second


def two_stores_of_one_thread(a, m, counter, clean):
    tid = kit.tid_x()
    for i in range(2):
        at = staged(tid + i)
        if tid == 0:
            kit.tma_store(m, (0, 0), at)                                    # first second
            kit.bulk_commit()
            if clean:
                kit.bulk_wait_all(0)
            else:
                kit.bulk_wait(0)
        kit.bar_sync()


def store_over_a_reduction(a, m, counter, clean):
    tid = kit.tid_x()
    at = staged(tid)
    if tid == 0:
        kit.tma_reduce(m, (0, 0), at)                                       # first
        if clean:
            kit.tma_reduce(m, (0, 0), at)
        else:
            kit.tma_store(m, (0, 0), at)                                    # second
        kit.bulk_commit()
        kit.bulk_wait_all(0)


def boxes_side_by_side(a, m, counter, clean):
    """Rows beyond the last are not touched."""
    at = staged(1)
    if kit.tid_x() == 0:
        kit.tma_store(m, (0, (8 if clean else 7) * kit.ctaid_x()), at)      # first second
        kit.bulk_commit()
        kit.bulk_wait_all(0)


def multicast_while_another_cta_writes(a, m, counter, clean):
    tid, rank = kit.tid_x(), kit.cluster_rank()
    if tid == 0:
        kit.mbarrier_init(2048, 1)
        kit.fence_proxy_async()
        kit.mbarrier_expect(2048, BOX)
    kit.cluster_sync()
    if rank == 0 and tid == 0:
        kit.tma_multicast(m, (0, 0), 0, 2048, 3)                            # first
    if rank == 1:
        kit.mbarrier_wait(2048, 0)
        if clean:
            kit.cluster_sync()
        kit.st_global(a + 4 * tid, 1)                                       # second
    else:
        kit.mbarrier_wait(2048, 0)
        if clean:
            kit.cluster_sync()
    kit.cluster_sync()


ALONE = {                                                # kernel -> how it is launched
    shifted_in_place: dict(grid=1, block=64),
    halo_of_the_neighbour: dict(grid=2, block=64),
    last_reader_is_the_writer: dict(grid=1, block=64),
    read_by_all_ctas_written_by_the_last: dict(grid=3, block=64),
    read_between_two_reads: dict(grid=2, block=32),
    broadcast_then_written_by_one_lane: dict(grid=1, block=64),
    halves_of_one_word: dict(grid=1, block=64),
    half_of_a_word: dict(grid=1, block=64),
    barrier_of_others: dict(grid=1, block=96),
    copy_not_waited_for: dict(grid=1, block=64),
    copy_whose_source_is_read_again: dict(grid=1, block=64),
    box_whose_source_is_read_again: dict(grid=1, block=64),
    copy_over_its_own_source: dict(grid=1, block=32),
    load_of_a_box_not_waited_for: dict(grid=1, block=32),
    store_of_a_box_that_was_only_read: dict(grid=1, block=32),
    store_that_only_its_thread_waits_for: dict(grid=1, block=32),
    two_stores_of_one_thread: dict(grid=1, block=32),
    store_over_a_reduction: dict(grid=1, block=32),
    boxes_side_by_side: dict(grid=2, block=32),
    multicast_while_another_cta_writes: dict(grid=2, block=32, cluster=2),
}
