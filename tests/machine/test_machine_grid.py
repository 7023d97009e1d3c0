"""CTAs that work together on the CPU machine: counters in global memory, distributed shared memory, and what goes wrong."""

from itertools import product

import numpy as np
import pytest

from cuda_kernels.intrinsics import (
    atom_add_acq_rel_gpu,
    bar_sync,
    cluster_ctarank,
    cluster_sync,
    ctaid_x,
    dynamic_shared,
    ld_relaxed_v4_f32,
    ld_shared_cluster_v4_f32,
    st_global_b32,
    st_global_f32,
    st_global_v4_f32,
    st_shared_v4_f32,
    tid_x,
    u32,
    u64,
    wait_global_at_least,
)
from simlayout.errors import AddressError, HazardError, MachineError
from simlayout.machine import run
from simlayout.machine.hazards import global_comparison, global_shadow


def handed_over(data, counter, out):
    """CTA 0 writes, releases; CTA 1 acquires, reads."""
    tid = tid_x()
    if ctaid_x() == 0:
        st_global_v4_f32(data + u64(16 * tid), tid, 0.0, 0.0, 1.0)
        bar_sync()
        if tid == 0:
            atom_add_acq_rel_gpu(counter, u32(1))
    else:
        if tid == 0:
            wait_global_at_least(counter, u32(1))
        bar_sync()
        x, _, _, w = ld_relaxed_v4_f32(data + u64(16 * (63 - tid)))
        st_global_f32(out + u64(4 * tid), x + w)


def released_too_early(data, counter, out):
    tid = tid_x()
    if ctaid_x() == 0:
        st_global_v4_f32(data + u64(16 * tid), tid, 0.0, 0.0, 1.0)
        if tid == 0:                                     # the other warp's writes are not released
            atom_add_acq_rel_gpu(counter, u32(1))
    else:
        wait_global_at_least(counter, u32(1))
        ld_relaxed_v4_f32(data + u64(16 * (63 - tid)))


def acquired_by_one_warp(data, counter, out):
    tid = tid_x()
    if ctaid_x() == 0:
        st_global_v4_f32(data + u64(16 * tid), tid, 0.0, 0.0, 1.0)
        bar_sync()
        if tid == 0:
            atom_add_acq_rel_gpu(counter, u32(1))
    else:
        if tid == 0:
            wait_global_at_least(counter, u32(1))
        ld_relaxed_v4_f32(data + u64(16 * tid))


def counted_without_an_atomic(data, counter, out):
    tid = tid_x()
    if ctaid_x() == 0:
        if tid == 0:
            st_global_b32(counter, 1)
    else:
        if tid == 0:
            wait_global_at_least(counter, u32(1))


def arguments():
    return np.zeros((64, 4), np.float32), np.zeros(1, np.uint32), np.full(64, np.nan, np.float32)


def test_what_was_written_before_a_release_is_read_after_an_acquire():
    data, counter, out = arguments()
    run(handed_over, 2, 64, data, counter, out, together=True)
    assert out.tolist() == [64.0 - i for i in range(64)] and counter[0] == 1


@pytest.mark.parametrize("kernel", [released_too_early, acquired_by_one_warp, counted_without_an_atomic])
def test_accesses_of_two_ctas_that_no_counter_orders_are_a_race(kernel):
    with pytest.raises(HazardError, match="writ.* by CTA|of CTA") as caught:
        run(kernel, 2, 64, *arguments(), together=True)
    assert caught.value.hazard.kind == "global race"


def test_counters_add_up_lane_by_lane_and_give_what_they_held():
    def kernel(counter, out):
        st_global_b32(out + u64(4 * (32 * ctaid_x() + tid_x())), atom_add_acq_rel_gpu(counter, u32(2)))

    counter, out = np.array([5], np.uint32), np.zeros(64, np.uint32)
    run(kernel, 2, 32, counter, out, together=True)
    assert counter[0] == 5 + 128 and out.tolist() == list(range(5, 133, 2))


def test_a_cta_that_waits_for_one_that_has_not_started_is_a_deadlock_that_says_so():
    def kernel(counter):
        if ctaid_x() == 0:
            wait_global_at_least(counter, u32(2))
        elif tid_x() == 0:
            atom_add_acq_rel_gpu(counter, u32(1))

    with pytest.raises(HazardError, match=r"holds 0, to reach 2 \(3 CTAs of the grid are not resident: .* together=True, "):
        run(kernel, 4, 32, np.zeros(1, np.uint32))
    run(kernel, 4, 32, np.zeros(1, np.uint32), together=True)
    with pytest.raises(HazardError, match="holds 1, to reach 2 "):
        run(kernel, 2, 32, np.zeros(1, np.uint32), together=True)


def test_a_write_that_nothing_orders_after_another_ctas_read_is_a_race():
    def kernel(data):
        tid = tid_x()
        if ctaid_x() == 0:
            ld_relaxed_v4_f32(data + u64(16 * tid))
        else:
            st_global_v4_f32(data + u64(16 * tid), 1.0, 1.0, 1.0, 1.0)

    told = r"writes bytes 0-511 \(elements \[0, 0\] and 127 more\) of the float32 array .*, which .* reads, and nothing"
    with pytest.raises(HazardError, match=told):
        run(kernel, 2, 32, np.zeros((32, 4), np.float32), together=True)


def test_a_wait_counts_on_the_releases_that_reached_its_value_however_late_it_looks():
    def kernel(data, counter):
        tid = tid_x()
        if ctaid_x() < 2:                                # the second may come after the wait is over: its write is not known
            st_global_f32(data + u64(4 * ctaid_x()), 1.0)
            atom_add_acq_rel_gpu(counter, u32(1))
        elif tid == 0:
            wait_global_at_least(counter, u32(1))
            ld_relaxed_v4_f32(data)

    with pytest.raises(HazardError, match="reads bytes 4-7") as caught:
        run(kernel, 3, 1, np.zeros(4, np.float32), np.zeros(1, np.uint32), together=True)
    assert caught.value.hazard.first.cta == (1, 0, 0)


def test_too_many_threads_together_are_refused_unless_nobody_looks():
    def kernel(counter):
        if tid_x() == 0:
            atom_add_acq_rel_gpu(counter, u32(1))

    counter = np.zeros(1, np.uint32)
    with pytest.raises(MachineError, match='17408 threads together: .* use a smaller grid, or hazards="off"'):
        run(kernel, 17, 1024, counter, together=True)
    run(kernel, 17, 1024, counter, together=True, hazards="off")
    assert counter[0] == 17


def read_and_counted_then_written(data, counters, choice, seen, halves):
    """CTAs 0 to 2 read all of the bytes, or CTA 1 half of them, and count at a counter, if any; CTA 3 looks at two counters,
    or not, and writes."""
    cta, tid = ctaid_x(), tid_x()
    if cta < 3:
        ld_relaxed_v4_f32(data + u64(16 * (tid % (32 >> cta % 2 * halves))))
        bar_sync()
        if tid == 0 and choice[cta] >= 0:
            atom_add_acq_rel_gpu(counters + u64(4 * choice[cta]), u32(1))
    else:
        for i in range(2):
            if seen[i]:
                atom_add_acq_rel_gpu(counters + u64(4 * i), u32(0))
        st_global_v4_f32(data + u64(16 * tid), 1.0, 1.0, 1.0, 1.0)


TIGHT = {"THINNED": 1, "LISTED": 1}


@pytest.mark.parametrize("limits, step", [(TIGHT, 5), *(pytest.param(limits, 1, marks=pytest.mark.sweep)
                                                        for limits in ({}, TIGHT))])
def test_of_the_reads_by_ended_ctas_each_is_kept_that_no_other_one_stands_for(monkeypatch, limits, step):
    for name, value in limits.items():
        monkeypatch.setattr(global_shadow, name, value)
    every = list(product(product((-1, 0, 1), repeat=3), (False, True), (False, True), (0, 1)))
    for choice, *seen, halves in every[::step]:
        arrays = np.zeros((32, 4), np.float32), np.zeros(2, np.uint32)
        trace = run(read_and_counted_then_written, 4, 32, *arrays, choice, seen, halves, hazards="report")
        raced = [counter < 0 or not seen[counter] for counter in choice]
        assert bool(trace.hazards) == any(raced), (choice, seen)
        assert all(raced[hazard.first.cta[0]] for hazard in trace.hazards)


def test_what_many_ctas_counted_at_a_counter_each_is_known_to_who_counts_at_all():
    def kernel(data, counters, count):
        cta = ctaid_x()
        if cta < count:
            ld_relaxed_v4_f32(data)
            atom_add_acq_rel_gpu(counters + u64(4 * cta), u32(1))
        else:
            for i in range(count):
                atom_add_acq_rel_gpu(counters + u64(4 * i), u32(1))
            st_global_f32(data, 1.0)

    for count in (3, global_comparison.MOST_PAST + 10):
        run(kernel, count + 1, 1, np.zeros(4, np.float32), np.zeros(count, np.uint32), count)


# ---- distributed shared memory ---------------------------------------------------------------------------------------


def exchanged(out):
    tid, smem, rank = tid_x(), dynamic_shared(), cluster_ctarank()
    st_shared_v4_f32(smem + 16 * tid, tid, rank, 0.0, 0.0)
    cluster_sync()
    x, y, _, _ = ld_shared_cluster_v4_f32(u32(smem + 16 * (31 - tid)), u32(1 - rank))
    st_global_f32(out + u64(4 * (32 * ctaid_x() + tid)), x + 100.0 * y)
    cluster_sync()


def read_without_a_barrier(out):
    tid, smem = tid_x(), dynamic_shared()
    st_shared_v4_f32(smem + 16 * tid, tid, 0.0, 0.0, 0.0)
    ld_shared_cluster_v4_f32(u32(smem + 16 * tid), u32(0))
    cluster_sync()


def read_out_of_bounds(out):
    ld_shared_cluster_v4_f32(u32(dynamic_shared() + 16 * tid_x() + 16), u32(0))


def read_of_a_cta_that_has_ended(out):
    tid, smem = tid_x(), dynamic_shared()
    st_shared_v4_f32(smem + 16 * tid, tid, 0.0, 0.0, 0.0)
    cluster_sync()
    if cluster_ctarank() == 0:
        ld_shared_cluster_v4_f32(u32(smem + 16 * tid), u32(1))


def test_the_ctas_of_a_cluster_read_one_another():
    out = np.zeros((4, 32), np.float32)
    trace = run(exchanged, 4, 32, out, shared_bytes=512, cluster=2)
    assert out.tolist() == [[31.0 - i + 100 * (1 - cta % 2) for i in range(32)] for cta in range(4)]
    (load,) = (c for c in trace.by_instruction() if c.instruction.startswith("ld.shared::cluster"))
    assert (load.instructions, load.bytes, load.wavefronts) == (4, 4 * 512, 0)


def test_what_a_peer_wrote_is_read_only_behind_a_barrier_of_the_cluster():
    with pytest.raises(HazardError) as caught:
        run(read_without_a_barrier, 2, 32, np.zeros(1, np.float32), shared_bytes=512, cluster=2)
    found = caught.value.hazard
    assert (found.kind, found.first.cta, found.second.cta) == ("read after write", (0, 0, 0), (1, 0, 0))
    assert f"which {found.first} of CTA (0, 0, 0) writes" in str(found)
    assert str(found).endswith("and nothing orders the two: put a barrier.cluster between them")


def test_what_no_load_of_a_peer_may_do_is_refused():
    out = np.zeros(1, np.float32)
    with pytest.raises(AddressError, match="lane 31 touches bytes 512 to 527 of 512 bytes"):
        run(read_out_of_bounds, 2, 32, out, shared_bytes=512, cluster=2, hazards="off")
    with pytest.raises(HazardError, match=r"early exit: .* when CTA \(1, 0, 0\) ends .*already\): .* at a barrier.cluster"):
        run(read_of_a_cta_that_has_ended, 2, 32, out, shared_bytes=512, cluster=2, hazards="off")
