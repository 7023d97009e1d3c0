"""Races of one kind each that counters in global memory order, or do not: (a, m, counter, clean), see `planted_races`.

The lines that race end in `# first` and `# second`.
"""

import machine_kit as kit
from planted_races import staged


def counted_too_early(a, m, counter, clean):
    tid = kit.tid_x()
    if kit.ctaid_x() == 0:
        if clean:
            kit.st_global(a + 4 * tid, 1)
        kit.bar_sync()
        if tid == 0:
            kit.atomic_add(counter, 1)
        if not clean:
            kit.st_global(a + 4 * tid, 1)                                   # first
    else:
        kit.wait_at_least(counter, 1)
        kit.ld_global(a + 4 * tid)                                          # second


def one_of_two_adders_not_waited_for(a, m, counter, clean):
    """Two add to the same words and count; the reader waits for one of them alone, or for both."""
    tid = kit.tid_x()
    if kit.ctaid_x() < 2:
        kit.red_relaxed(a + 4 * tid, 1)                                     # first
        kit.bar_sync()
        if tid == 0:
            kit.atomic_add(counter, 1)
    else:
        kit.wait_at_least(counter, 1 + clean)
        kit.ld_global(a + 4 * tid)                                          # second


def last_of_the_ctas(counter, count):
    """Whether this CTA counts last, told to all its threads; count: how its thread 0 counts."""
    if kit.tid_x() == 0:
        kit.st_shared(0, count(counter, 1))
    kit.bar_sync()
    return kit.ld_shared(0) == 2


def last_of_three_reads_what_all_wrote(a, m, counter, clean):
    """Each writes, counts; who counts last reads all: but with a relaxed atomic nothing is ordered."""
    tid = kit.tid_x()
    kit.st_global(a + 256 * kit.ctaid_x() + 4 * tid, 1)                     # first
    kit.bar_sync()
    if last_of_the_ctas(counter, kit.atomic_add if clean else kit.atom_relaxed):
        for cta in range(3):
            kit.ld_global(a + 256 * cta + 4 * tid)                          # second


def last_of_three_reads_what_was_counted_too_early(a, m, counter, clean):
    """Thread 0 counts before the other warp has written."""
    tid = kit.tid_x()
    kit.st_global(a + 256 * kit.ctaid_x() + 4 * tid, 1)                     # first
    if clean:
        kit.bar_sync()
    if last_of_the_ctas(counter, kit.atomic_add):
        for cta in range(3):
            kit.ld_global(a + 256 * cta + 4 * tid)                          # second


def last_of_three_is_known_to_one_warp(a, m, counter, clean):
    """Warp 1 reads without waiting for the thread that counted."""
    tid = kit.tid_x()
    kit.st_global(a + 256 * kit.ctaid_x() + 4 * tid, 1)                     # first
    kit.bar_sync()
    if tid == 0:
        kit.atomic_add(counter, 1)
    if clean:
        kit.bar_sync()
    if kit.ctaid_x() == 2 and tid >= 32:
        for cta in range(2):
            kit.ld_global(a + 256 * cta + 4 * tid)                          # second


def last_of_three_overwrites_what_all_read(a, m, counter, clean):
    tid = kit.tid_x()
    kit.ld_global(a + 4 * (tid % 32))                                       # first
    if clean:
        kit.bar_sync()
    if last_of_the_ctas(counter, kit.atomic_add) and tid < 32:
        kit.st_global(a + 4 * tid, 1)                                       # second


def chain_of_two_counters(a, m, counter, clean):
    """CTA 0 releases to 1, and 1 to 2: if it has acquired."""
    tid, cta = kit.tid_x(), kit.ctaid_x()
    if cta == 0:
        kit.st_global(a + 4 * tid, 1)                                       # first
        kit.bar_sync()
    if cta == 1 and clean:
        kit.wait_at_least(counter, 1)
        kit.bar_sync()
    if cta < 2 and tid == 0:
        kit.atomic_add(counter + 4 * cta, 1)
    if cta == 2:
        kit.wait_at_least(counter + 4, 1)
        kit.ld_global(a + 4 * tid)                                          # second


def chain_along_one_counter(a, m, counter, clean):
    """All of three write to the same places, one after the other; or CTA 2 waits for CTA 0 alone."""
    tid, cta = kit.tid_x(), kit.ctaid_x()
    kit.wait_at_least(counter, cta if clean else min(cta, 1))
    kit.st_global(a + 4 * tid, 1 + cta)                                     # first second
    kit.bar_sync()
    if tid == 0:
        kit.atomic_add(counter, 1)


def another_counter(a, m, counter, clean):
    tid, cta = kit.tid_x(), kit.ctaid_x()
    if cta == 0:
        kit.st_global(a + 4 * tid, 1)                                       # first
        kit.bar_sync()
    if tid == 0:
        kit.atomic_add(counter + (0 if clean else 4 * cta), 1)
    kit.bar_sync()
    if cta == 1:
        kit.ld_global(a + 4 * tid)                                          # second


def copy_still_under_way_as_it_counts(a, m, counter, clean):
    tid = kit.tid_x()
    if kit.ctaid_x() == 0:
        kit.cp_async(4 * tid, a + 4 * tid)                                  # first
        kit.commit()
        if clean:
            kit.wait_0()
        kit.bar_sync()
        if tid == 0:
            kit.atomic_add(counter, 1)
        kit.wait_0()
    else:
        kit.wait_at_least(counter, 1)
        kit.st_global(a + 4 * tid, 1)                                       # second


def box_still_under_way_as_it_counts(a, m, counter, clean):
    tid = kit.tid_x()
    if kit.ctaid_x() == 0:
        at = staged(tid)
        if tid == 0:
            kit.tma_store(m, (0, 0), at)                                    # first
            kit.bulk_commit()
            if clean:
                kit.bulk_wait_all(0)
            else:
                kit.bulk_wait(0)
            kit.atomic_add(counter, 1)
            kit.bulk_wait_all(0)
    else:
        kit.wait_at_least(counter, 1)
        kit.ld_global(a + 4 * tid)                                          # second


COUNTED = {                                              # kernel -> how it is launched
    counted_too_early: dict(grid=2, block=32),
    one_of_two_adders_not_waited_for: dict(grid=3, block=32),
    last_of_three_reads_what_all_wrote: dict(grid=3, block=64),
    last_of_three_reads_what_was_counted_too_early: dict(grid=3, block=64),
    last_of_three_is_known_to_one_warp: dict(grid=3, block=64),
    last_of_three_overwrites_what_all_read: dict(grid=3, block=64),
    chain_of_two_counters: dict(grid=3, block=32),
    chain_along_one_counter: dict(grid=3, block=32),
    another_counter: dict(grid=2, block=32),
    copy_still_under_way_as_it_counts: dict(grid=2, block=32),
    box_still_under_way_as_it_counts: dict(grid=2, block=32),
}
