"""Reductions from one shared memory of a cluster to another (cp.reduce.async.bulk.shared::cluster): what they make of it,
and with what they race."""

import machine_kit as kit
import numpy as np
import pytest
from bulk_values import NUMPY, one_by_one

from cuda_kernels.intrinsics import (
    bulk_send,
    bulk_send_reduce,
    cluster_ctarank,
    cluster_sync,
    fence_mbarrier_init,
    fence_proxy_async,
    ld_shared_b32,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    st_global_b32,
    st_shared_b32,
    tid_x,
    u32,
    u64,
)
from simlayout.errors import HazardError
from simlayout.machine import run
from simlayout.machine.engine.bulk_places import SHARED_REDUCTIONS

CASES = [(op, dtype) for op, dtypes in SHARED_REDUCTIONS.items() for dtype in dtypes]
TOTAL, SOURCE, ELSEWHERE, BAR, OTHER, SHARED = 0, 128, 256, 4096, 4104, 4352


@pytest.mark.parametrize("op, dtype", CASES)
def test_what_all_ctas_of_a_cluster_send_to_one_is_combined_there(op, dtype):
    reduce = bulk_send_reduce(op, dtype)

    def kernel(there, comes, out):
        tid, rank = tid_x(), cluster_ctarank()
        st_shared_b32(u32(TOTAL + 4 * tid), kit.ld_global(there + u64(4 * tid)))
        st_shared_b32(u32(SOURCE + 4 * tid), kit.ld_global(comes + u64(4 * (32 * rank + tid))))
        fence_proxy_async()
        if tid == 0:
            mbarrier_init(u32(BAR), u32(1))
            fence_mbarrier_init()
            mbarrier_arrive_expect_tx(u32(BAR), u32(3 * 128))
        cluster_sync()
        if tid == 0:
            reduce(u32(TOTAL), u32(SOURCE), u32(128), u32(BAR), u32(1))
        if rank == 1:
            mbarrier_wait(u32(BAR), u32(0))
            st_global_b32(out + u64(4 * tid), ld_shared_b32(u32(TOTAL + 4 * tid)))
        cluster_sync()

    random, size = np.random.default_rng(2), 128 // np.dtype(NUMPY[dtype]).itemsize
    there, comes = (random.integers(0, 9, shape).astype(NUMPY[dtype]) for shape in (size, (3, size)))
    comes[:] = 7 if op in ("inc", "dec") else comes      # which commute as long as the limit is one
    out, expected = np.zeros_like(there), there
    for sent in comes:
        expected = np.array([one_by_one(op, x, y) for x, y in zip(expected, sent, strict=True)], there.dtype)
    trace = run(kernel, 3, 32, there, comes, out, shared_bytes=SHARED, cluster=3)
    assert (out == expected).all()
    moved = {count.instruction: count.bytes for count in trace.by_instruction()}
    assert moved["cp.reduce.async.bulk.shared::cluster.shared::cta"] == 384


# ---- what may not be: CTAs 0 and 2 add to what CTA 1 holds ----------------------------------------------------------


def fill(tid):
    st_shared_b32(u32(TOTAL + 4 * tid), 1)
    fence_proxy_async()


add = bulk_send_reduce("add", "u32")


def sending(reduce=add, mbarrier=BAR):
    """What a CTA does that sends."""
    def send(tid):
        if tid == 0:
            reduce(u32(TOTAL), u32(SOURCE), u32(128), u32(mbarrier), u32(1))
    return send


send, send_to_other = sending(), sending(mbarrier=OTHER)


def nothing(tid):
    pass


def kernel_of(start=fill, zero=send, one=nothing, two=send, expected=256):
    """start: what all CTAs do before they meet; zero, one, two: what each does then, before CTA 1 waits for the bytes that
    it expects."""
    def kernel():
        tid, rank = tid_x(), cluster_ctarank()
        st_shared_b32(u32(SOURCE + 4 * tid), 100 * rank + tid)
        fence_proxy_async()
        start(tid)
        if tid == 0:
            mbarrier_init(u32(BAR), u32(1))
            mbarrier_init(u32(OTHER), u32(1))
            fence_mbarrier_init()
            if rank == 1:
                mbarrier_arrive_expect_tx(u32(BAR), u32(expected))
                mbarrier_arrive_expect_tx(u32(OTHER), u32(128))
        cluster_sync()
        if rank == 0:
            zero(tid)
        if rank == 2:
            two(tid)
        if rank == 1:
            one(tid)
            mbarrier_wait(u32(BAR), u32(0))
            ld_shared_b32(u32(TOTAL + 4 * tid))
        cluster_sync()
    return kernel


def fill_unfenced(tid):
    st_shared_b32(u32(TOTAL + 4 * tid), 1)


def read(tid):
    ld_shared_b32(u32(TOTAL + 4 * tid))


def write(tid):
    st_shared_b32(u32(TOTAL + 4 * tid), 3)


def pass_on(tid):
    if tid == 0:
        bulk_send(u32(ELSEWHERE), u32(TOTAL), u32(128), u32(OTHER), u32(1))
    mbarrier_wait(u32(OTHER), u32(0))


def overwrite(tid):
    if tid == 0:
        bulk_send(u32(TOTAL), u32(ELSEWHERE), u32(128), u32(OTHER), u32(1))
    mbarrier_wait(u32(OTHER), u32(0))


def fill_elsewhere(tid):
    fill(tid)
    st_shared_b32(u32(ELSEWHERE + 4 * tid), 1)
    fence_proxy_async()


def read_there(tid):
    kit.ld_peer(TOTAL + 4 * tid, 1)


def send_and_write_the_source(tid):
    send(tid)
    st_shared_b32(u32(SOURCE + 4 * tid), 0)


FAULTS = {
    "": ((), {}),
    "nothing is there": (("unwritten read",), dict(start=nothing)),
    "what is there is not fenced": (("missing proxy fence",), dict(start=fill_unfenced)),
    "it comes there too late": (("write in flight", "write after write"), dict(start=nothing, one=fill)),
    "a read before the wait": (("early read",), dict(one=read)),
    "a write before the wait": (("write in flight",), dict(one=write)),
    "a read by another CTA": (("early read", "write after read"), dict(two=read_there, expected=128)),
    "another operation": (("write in flight",), dict(two=sending(bulk_send_reduce("max", "u32")))),
    "another type": (("write in flight",), dict(two=sending(bulk_send_reduce("add", "u64")))),
    "the sum is sent on before the wait": (("early read",), dict(one=pass_on)),
    "a copy overwrites it": (("write in flight",), dict(start=fill_elsewhere, one=overwrite)),
    "its source is overwritten": (("early write",), dict(zero=send_and_write_the_source)),
    "a wait for one of two mbarriers": (("early read",), dict(two=send_to_other, expected=128)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_bytes_that_are_being_reduced_may_only_be_reduced_in_the_same_way(fault):
    kinds, plan = FAULTS[fault]
    kernel = kernel_of(**plan)
    found = {hazard.kind for hazard in run(kernel, 3, 32, shared_bytes=SHARED, cluster=3, hazards="report").hazards}
    assert found & set(kinds) if kinds else not found
    if kinds:
        with pytest.raises(HazardError) as caught:
            run(kernel, 3, 32, shared_bytes=SHARED, cluster=3)
        assert caught.value.hazard.kind in kinds


def test_signed_and_unsigned_sums_are_one_operation():
    assert run(kernel_of(two=sending(bulk_send_reduce("add", "s32"))), 3, 32, shared_bytes=SHARED, cluster=3).hazards == ()


@pytest.mark.parametrize("ordered", [True, False])
def test_a_reduction_that_is_over_hides_no_write_before_it(ordered):
    def kernel(flag):
        tid, rank = tid_x(), cluster_ctarank()
        st_shared_b32(u32(SOURCE + 4 * tid), 1)
        fence_proxy_async()
        if tid == 0:
            for mbarrier in (BAR, OTHER):
                mbarrier_init(u32(mbarrier), u32(1))
            fence_mbarrier_init()
            if rank == 1:
                mbarrier_arrive_expect_tx(u32(BAR), u32(128))
                mbarrier_arrive_expect_tx(u32(OTHER), u32(128))
        cluster_sync()
        if rank == 1:
            fill(tid)
            kit.bar_warp_sync()
            if ordered:
                cluster_sync()
            if tid == 0:
                add(u32(TOTAL), u32(SOURCE), u32(128), u32(BAR), u32(1))
            mbarrier_wait(u32(BAR), u32(0))              # this one is over before CTA 0 goes on, which nothing orders
            kit.st_relaxed(flag, 1)
            mbarrier_wait(u32(OTHER), u32(0))
        else:
            if ordered:
                cluster_sync()
            while kit.ld_relaxed(flag) == 0:
                pass
            send_to_other(tid)
        cluster_sync()

    hazards = run(kernel, 2, 32, np.zeros(1, np.int32), shared_bytes=SHARED, cluster=2, hazards="report").hazards
    assert {hazard.kind for hazard in hazards} == (set() if ordered else {"write after write"})


def test_what_overwrites_a_sum_ends_it():
    def copy_over(tid):
        if tid == 0:
            mbarrier_wait(u32(BAR), u32(0))
            bulk_send(u32(TOTAL), u32(ELSEWHERE), u32(128), u32(OTHER), u32(1))
        mbarrier_wait(u32(OTHER), u32(0))
        ld_shared_b32(u32(TOTAL + 4 * tid))              # lanes that never waited for the sums

    assert run(kernel_of(start=fill_elsewhere, one=copy_over), 3, 32, shared_bytes=SHARED, cluster=3).hazards == ()


def test_a_sum_of_the_bytes_of_an_mbarrier_is_told_where_the_mbarrier_is_used_next():
    def over_the_mbarrier(tid):
        if tid == 0:
            add(u32(BAR), u32(SOURCE), u32(128), u32(OTHER), u32(1))

    with pytest.raises(HazardError, match="deadlock") as caught:
        run(kernel_of(zero=over_the_mbarrier), 3, 32, shared_bytes=SHARED, cluster=3, hazards="report")
    [told] = [h for h in caught.value.before if h.kind == "bad mbarrier"]
    assert told.first.instruction == "cp.reduce.async.bulk.shared::cluster.shared::cta"
