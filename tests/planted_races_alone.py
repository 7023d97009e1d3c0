"""Races of one kind each in global memory, with and without what orders them: (a, m, counter, clean), see `planted_races`.

The lines that race end in `# first` and `# second`.
"""

from machine_kit import (
    atomic_add,
    bar_some,
    bar_sync,
    bar_warp_sync,
    bulk_commit,
    bulk_wait,
    bulk_wait_all,
    cluster_rank,
    cluster_sync,
    commit,
    cp_async,
    ctaid_x,
    fence_proxy_async,
    ld_global,
    mbarrier_expect,
    mbarrier_init,
    mbarrier_wait,
    red_relaxed,
    st_global,
    st_global_b16,
    tid_x,
    tma_load,
    tma_multicast,
    tma_reduce,
    tma_store,
    wait_0,
    wait_at_least,
)
from planted_races import BOX, staged


def shifted_in_place(a, m, counter, clean):
    tid = tid_x()
    v = ld_global(a + 4 * (tid + 1))                                        # first
    if clean:
        bar_sync()
    st_global(a + 4 * tid, v)                                               # second


def halo_of_the_neighbour(a, m, counter, clean):
    tid = tid_x() + 64 * ctaid_x()
    at = a + 4 * (tid if clean else tid + 1)
    v = ld_global(at)                                                       # first
    bar_sync()
    st_global(a + 4 * tid, v)                                               # second


def last_reader_is_the_writer(a, m, counter, clean):
    """Warps 0 and 1 read the same; what warp 1 writes later comes after its own read, not after that of warp 0."""
    tid = tid_x()
    ld_global(a + 4 * (tid % 32))                                           # first
    if clean:
        bar_sync()
    if tid >= 32:
        bar_warp_sync()
        st_global(a + 4 * (tid % 32), 1)                                    # second


def read_by_all_ctas_written_by_the_last(a, m, counter, clean):
    tid = tid_x()
    if ctaid_x() < 2 or clean:
        ld_global(a + 4 * tid)                                              # first
    if ctaid_x() == 2:
        ld_global(a + 4 * tid)
        bar_sync()
        st_global(a + 4 * (tid + 64 * clean), 1)                            # second


def read_between_two_reads(a, m, counter, clean):
    """The CTA that writes has read too, after the one that it races with."""
    tid = tid_x()
    if ctaid_x() == 0:
        ld_global(a + 4 * tid + 128 * clean)                                # first
    else:
        ld_global(a + 4 * tid)
        bar_sync()
        st_global(a + 4 * tid + 512 * clean, 1)                             # second


def broadcast_then_written_by_one_lane(a, m, counter, clean):
    tid = tid_x()
    ld_global(a + 128 * (tid // 32))                                        # first
    if clean:
        bar_warp_sync()
    if tid % 32 == 0:
        st_global(a + 4 * tid, 5)                                           # second


def halves_of_one_word(a, m, counter, clean):
    tid = tid_x()
    if tid < 32:
        st_global_b16(a + 4 * tid, 1)                                       # first
    else:
        st_global_b16(a + 4 * (tid - 32) + 2 * clean, 1)                    # second


def half_of_a_word(a, m, counter, clean):
    tid = tid_x()
    if tid < 32:
        st_global_b16(a + 4 * tid + 2, 1)                                   # first
    else:
        ld_global(a + 4 * (tid - 32) + 128 * clean)                         # second


def barrier_of_others(a, m, counter, clean):
    tid = tid_x()
    if tid < 32:
        st_global(a + 4 * tid, 1)                                           # first
    if tid >= 32 or clean:
        bar_some(1, 96 if clean else 64)
    if tid >= 64:
        ld_global(a + 4 * (tid - 64))                                       # second


def copy_not_waited_for(a, m, counter, clean):
    """The barrier comes while a cp.async may still read its source."""
    tid = tid_x()
    if tid < 32:
        cp_async(4 * tid, a + 4 * tid)                                      # first
        commit()
        if clean:
            wait_0()
    bar_sync()
    if tid >= 32:
        st_global(a + 4 * (tid - 32), 1)                                    # second
    wait_0()


def copy_over_its_own_source(a, m, counter, clean):
    tid = tid_x()
    cp_async(4 * tid, a + 4 * tid)                                          # first
    commit()
    if clean:
        wait_0()
    st_global(a + 4 * tid, 1)                                               # second
    wait_0()


def copy_whose_source_is_read_again(a, m, counter, clean):
    """The load is over at the barrier, the copy of the same words before it is not."""
    tid = tid_x()
    if tid >= 32:
        cp_async(4 * tid, a + 4 * (tid - 32))                               # first
        commit()
        ld_global(a + 4 * (tid - 32))
        if clean:
            wait_0()
    bar_sync()
    wait_0()
    if tid < 32:
        st_global(a + 4 * tid, 1)                                           # second


def box_whose_source_is_read_again(a, m, counter, clean):
    tid = tid_x()
    if tid == 32:
        mbarrier_init(2048, 1)
        fence_proxy_async()
        mbarrier_expect(2048, BOX)
        tma_load(m, (0, 0), 0, 2048)                                        # first
        ld_global(a)
        if clean:
            mbarrier_wait(2048, 0)
    bar_sync()
    if tid == 32:
        mbarrier_wait(2048, 0)
    if tid == 0:
        st_global(a, 1)                                                     # second


def load_of_a_box_not_waited_for(a, m, counter, clean):
    tid = tid_x()
    if tid == 0:
        mbarrier_init(2048, 1)
        fence_proxy_async()
        mbarrier_expect(2048, BOX)
        tma_load(m, (0, 0), 0, 2048)                                        # first
    bar_sync()
    if clean:
        mbarrier_wait(2048, 0)
    st_global(a + 4 * tid, 1)                                               # second
    mbarrier_wait(2048, 0)


def store_of_a_box_that_was_only_read(a, m, counter, clean):
    """bulk.wait_group.read: the source may be written again, and the target is not there yet."""
    tid = tid_x()
    at = staged(tid)
    if tid == 0:
        tma_store(m, (0, 0), at)                                            # first
        bulk_commit()
        if clean:
            bulk_wait_all(0)
        else:
            bulk_wait(0)
    bar_sync()
    ld_global(a + 4 * tid)                                                  # second


def store_that_only_its_thread_waits_for(a, m, counter, clean):
    tid = tid_x()
    at = staged(tid)
    if tid == 0:
        tma_store(m, (0, 0), at)                                            # first
        bulk_commit()
        bulk_wait_all(0)
    if clean:
        bar_sync()
    ld_global(a + 4 * tid)                                                  # second


def two_stores_of_one_thread(a, m, counter, clean):
    tid = tid_x()
    for i in range(2):
        at = staged(tid + i)
        if tid == 0:
            tma_store(m, (0, 0), at)                                        # first second
            bulk_commit()
            if clean:
                bulk_wait_all(0)
            else:
                bulk_wait(0)
        bar_sync()


def store_over_a_reduction(a, m, counter, clean):
    tid = tid_x()
    at = staged(tid)
    if tid == 0:
        tma_reduce(m, (0, 0), at)                                           # first
        if clean:
            tma_reduce(m, (0, 0), at)
        else:
            tma_store(m, (0, 0), at)                                        # second
        bulk_commit()
        bulk_wait_all(0)


def boxes_side_by_side(a, m, counter, clean):
    """Rows beyond the last are not touched."""
    at = staged(1)
    if tid_x() == 0:
        tma_store(m, (0, (8 if clean else 7) * ctaid_x()), at)              # first second
        bulk_commit()
        bulk_wait_all(0)


def multicast_while_another_cta_writes(a, m, counter, clean):
    tid, rank = tid_x(), cluster_rank()
    if tid == 0:
        mbarrier_init(2048, 1)
        fence_proxy_async()
        mbarrier_expect(2048, BOX)
    cluster_sync()
    if rank == 0 and tid == 0:
        tma_multicast(m, (0, 0), 0, 2048, 3)                                # first
    if rank == 1:
        mbarrier_wait(2048, 0)
        if clean:
            cluster_sync()
        st_global(a + 4 * tid, 1)                                           # second
    else:
        mbarrier_wait(2048, 0)
        if clean:
            cluster_sync()
    cluster_sync()


def counted_too_early(a, m, counter, clean):
    tid = tid_x()
    if ctaid_x() == 0:
        if clean:
            st_global(a + 4 * tid, 1)
        bar_sync()
        if tid == 0:
            atomic_add(counter, 1)
        if not clean:
            st_global(a + 4 * tid, 1)                                       # first
    else:
        wait_at_least(counter, 1)
        ld_global(a + 4 * tid)                                              # second


def one_of_two_adders_not_waited_for(a, m, counter, clean):
    """Two add to the same words and count; the reader waits for one of them alone, or for both."""
    tid = tid_x()
    if ctaid_x() < 2:
        red_relaxed(a + 4 * tid, 1)                                         # first
        bar_sync()
        if tid == 0:
            atomic_add(counter, 1)
    else:
        wait_at_least(counter, 1 + clean)
        ld_global(a + 4 * tid)                                              # second


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
    counted_too_early: dict(grid=2, block=32, together=True),
    one_of_two_adders_not_waited_for: dict(grid=3, block=32, together=True),
}
