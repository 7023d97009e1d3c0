"""Barriers in two halves on the CPU machine: bar.arrive, barrier.cluster.arrive and wait; what they order, and what not."""

import numpy as np
import pytest

from cuda_kernels.intrinsics import (
    bar_arrive_some,
    bar_sync,
    bar_sync_some,
    bar_warp_sync,
    cluster_arrive_relaxed,
    cluster_ctarank,
    cluster_sync,
    cluster_wait,
    ctaid_x,
    dynamic_shared,
    fence_mbarrier_init,
    ld_shared_b32,
    ld_shared_cluster_v4_f32,
    mbarrier_arrive_cluster_if,
    mbarrier_init,
    mbarrier_wait,
    st_global_b32,
    st_shared_b32,
    st_shared_v4_f32,
    tid_x,
    u32,
    u64,
    uniform,
)
from simlayout.errors import HazardError, MachineError
from simlayout.machine import run


def handed_over(out):
    """The second warp writes and goes on; the first one waits for it and reads."""
    tid, smem = tid_x(), dynamic_shared()
    if uniform(tid // 32) == 1:
        st_shared_b32(smem + 4 * (tid - 32), tid)
        bar_arrive_some(u32(1), u32(64))
    else:
        bar_sync_some(u32(1), u32(64))
        st_global_b32(out + u64(4 * tid), ld_shared_b32(smem + 4 * tid))


def read_by_the_warp_that_went_on(out):
    tid, smem = tid_x(), dynamic_shared()
    if uniform(tid // 32) == 0:
        st_shared_b32(smem + 4 * tid, tid)                                  # first
        bar_sync_some(u32(1), u32(64))
    else:
        bar_arrive_some(u32(1), u32(64))
        ld_shared_b32(smem + 4 * (tid - 32))                                # second


def arrives_where_all_wait_unnamed():
    if uniform(tid_x() // 32) == 0:
        bar_sync()
    else:
        bar_arrive_some(u32(0), u32(64))


def waits_for_who_never_comes():
    if uniform(tid_x() // 32) == 0:
        bar_sync_some(u32(1), u32(64))


def test_who_waits_at_a_barrier_knows_what_was_written_before_the_arrival_there():
    out = np.zeros(32, np.int32)
    run(handed_over, 1, 64, out, shared_bytes=128)
    assert out.tolist() == list(range(32, 64))


def test_who_arrives_and_goes_on_knows_nothing_of_the_others():
    with pytest.raises(HazardError) as caught:
        run(read_by_the_warp_that_went_on, 1, 64, np.zeros(1, np.int32), shared_bytes=128)
    assert caught.value.hazard.kind in ("read after write", "write after read")


def left_behind(out):
    """The second warp writes and ends; the first one meets nobody at a barrier, and reads."""
    tid, smem = tid_x(), dynamic_shared()
    if uniform(tid // 32) == 1:
        st_shared_b32(smem + 4 * (tid - 32), tid)
    else:
        bar_sync()
        st_global_b32(out + u64(4) * u64(tid), ld_shared_b32(smem + 4 * tid))


def never_met(out):
    tid, smem = tid_x(), dynamic_shared()
    if uniform(tid // 32) == 0:
        st_shared_b32(smem + 4 * tid, tid)
    else:
        st_global_b32(out + u64(4) * u64(tid - 32), ld_shared_b32(smem + 4 * (tid - 32)))


def test_a_barrier_orders_nothing_that_a_warp_did_which_has_ended_and_that_is_said():
    hazard, = run(left_behind, 1, 64, np.zeros(32, np.uint32), shared_bytes=128, hazards="report").hazards
    assert hazard.kind == "read after write"
    assert "writes before it ended (a barrier orders only what threads did that come to it), and nothing" in str(hazard)
    line = left_behind.__code__.co_firstlineno + 6
    assert str(hazard).endswith(
        f": let warp 1 come to the bar.sync of test_machine_barriers.py:{line}, which it ended without")
    hazard, = run(never_met, 1, 64, np.zeros(32, np.uint32), shared_bytes=128, hazards="report").hazards
    assert "which st.shared.b32 of warp 0, lanes 0-31" in str(hazard) and "before it ended" not in str(hazard)
    assert str(hazard).endswith("nothing orders the two: put a bar.sync between them")


def test_an_arrival_with_a_count_where_others_wait_without_one_is_refused():
    with pytest.raises(MachineError, match="bar.sync 0 of 64 threads while others .*all or none of them may leave it out"):
        run(arrives_where_all_wait_unnamed, 1, 64)


def test_a_wait_for_an_arrival_that_never_comes_is_a_deadlock():
    with pytest.raises(MachineError, match="bar.sync 1 of 64 threads"):
        run(waits_for_who_never_comes, 1, 64)


# ---- clusters -------------------------------------------------------------------------------------------------------


def told_by_the_peer(out):
    """Each CTA makes an mbarrier, and arrives at that of the other once both are there."""
    tid, smem = tid_x(), dynamic_shared()
    if tid == 0:
        mbarrier_init(u32(smem), u32(1))
        fence_mbarrier_init()
    cluster_arrive_relaxed()
    cluster_wait()
    mbarrier_arrive_cluster_if(tid == 0, u32(smem), u32(1 - cluster_ctarank()))
    mbarrier_wait(u32(smem), u32(0))
    st_global_b32(out + u64(4 * (32 * ctaid_x() + tid)), 7)


def mbarrier_without_a_fence():
    tid, smem = tid_x(), dynamic_shared()
    if tid == 0:
        mbarrier_init(u32(smem), u32(1))
    cluster_arrive_relaxed()
    cluster_wait()
    mbarrier_arrive_cluster_if(tid == 0, u32(smem), u32(1 - cluster_ctarank()))
    mbarrier_wait(u32(smem), u32(0))


def data_behind_a_relaxed_arrival():
    tid, smem = tid_x(), dynamic_shared()
    st_shared_v4_f32(smem + 16 * tid, tid, 0.0, 0.0, 0.0)
    cluster_arrive_relaxed()
    cluster_wait()
    ld_shared_cluster_v4_f32(u32(smem + 16 * tid), u32(1 - cluster_ctarank()))
    cluster_sync()


def data_behind_the_fence_of_an_mbarrier():
    tid, smem = tid_x(), dynamic_shared()
    st_shared_v4_f32(smem + 16 * tid, tid, 0.0, 0.0, 0.0)
    if tid == 0:
        mbarrier_init(u32(smem + 512), u32(1))
    fence_mbarrier_init()
    cluster_arrive_relaxed()
    cluster_wait()
    ld_shared_cluster_v4_f32(u32(smem + 16 * tid), u32(1 - cluster_ctarank()))
    cluster_sync()


def arrives_twice():
    cluster_arrive_relaxed()
    cluster_arrive_relaxed()


def waits_without_an_arrival():
    cluster_wait()


def test_mbarriers_are_there_for_the_peers_behind_their_fence_and_the_two_halves_of_a_barrier():
    out = np.zeros((2, 32), np.int32)
    run(told_by_the_peer, 2, 32, out, shared_bytes=128, cluster=2)
    assert (out == 7).all()


@pytest.mark.parametrize("kernel", [mbarrier_without_a_fence, data_behind_a_relaxed_arrival,
                                    data_behind_the_fence_of_an_mbarrier])
def test_a_relaxed_arrival_hands_on_nothing_but_what_a_fence_covers(kernel):
    with pytest.raises(HazardError) as caught:
        run(kernel, 2, 32, shared_bytes=520, cluster=2)
    assert caught.value.hazard.kind == "read after write"


@pytest.mark.parametrize("kernel, text", [(arrives_twice, "arrive a second time without barrier.cluster.wait"),
                                          (waits_without_an_arrival, "wait without barrier.cluster.arrive before it")])
def test_the_halves_of_a_barrier_of_the_cluster_come_in_turns(kernel, text):
    with pytest.raises(MachineError, match=text):
        run(kernel, 2, 32, cluster=2)


def test_an_instruction_with_other_operands_than_it_takes_is_named_with_its_line():
    def one_too_many():
        bar_warp_sync(1)

    def one_too_few():
        ld_shared_b32()

    for kernel, said in ((one_too_many, "bar_warp_sync takes 0 operands, not 1$"),
                         (one_too_few, "ld_shared_b32 takes 1 operand, not 0: address$")):
        with pytest.raises(MachineError, match=rf"test_machine_barriers.py:\d+: CTA \(0, 0, 0\), warp 0: {said}"):
            run(kernel, 1, 32)
