"""Bulk copies of bytes (cp.async.bulk, cp.reduce.async.bulk): what they move and when, what may not be, what ptxas takes."""

import re

import machine_kit as kit
import numpy as np
import pytest
from bulk_values import NUMPY, one_by_one
from hypothesis import strategies as st
from machine_code import ARCH, assembled, needs_tools, of_class
from tiers import given_few

from cuda_kernels.intrinsics import (
    bar_sync,
    bulk_commit_group,
    bulk_load,
    bulk_load_multicast,
    bulk_reduce,
    bulk_send,
    bulk_send_reduce,
    bulk_store,
    bulk_wait_group,
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
from simlayout.errors import AddressError, HazardError, MachineError
from simlayout.machine import run
from simlayout.machine.engine.bulk_places import REDUCTIONS, SHARED_REDUCTIONS

BAR, SHARED = 4096, 4352
add_bf16, add_u64 = bulk_reduce("add", "bf16"), bulk_send_reduce("add", "u64")
wait_all, wait_read = bulk_wait_group(0), bulk_wait_group(0, read=True)


def through_shared(a, b, at, to, nbytes):
    """Bytes `at` of a to bytes `to` of b, in one piece by one thread."""
    if tid_x() == 0:
        mbarrier_init(u32(BAR), u32(1))
        fence_mbarrier_init()
        mbarrier_arrive_expect_tx(u32(BAR), u32(nbytes))
        bulk_load(u32(256), a + u64(at), u32(nbytes), u32(BAR))
        mbarrier_wait(u32(BAR), u32(0))
        bulk_store(b + u64(to), u32(256), u32(nbytes))
        bulk_commit_group()
        wait_all()


@given_few(12, 2_000, st.integers(0, 40), st.integers(0, 40), st.integers(0, 30))
def test_bytes_come_to_shared_memory_and_back(at, to, cells):
    a, b = np.random.default_rng(0).integers(0, 256, 2048, np.uint8), np.zeros(2048, np.uint8)
    trace = run(through_shared, 1, 32, a, b, 16 * at, 16 * to, 16 * cells, shared_bytes=SHARED)
    expected = np.zeros_like(b)
    expected[16 * to:16 * (to + cells)] = a[16 * at:16 * (at + cells)]
    assert (b == expected).all()
    assert {count.instruction: count.bytes for count in trace.by_instruction()} == {
        "cp.async.bulk.shared::cluster.global": 16 * cells, "cp.async.bulk.global": 16 * cells}


def test_each_lane_may_copy_a_row_of_its_own():
    def kernel(a, b):
        tid = tid_x()
        if tid == 0:
            mbarrier_init(u32(BAR), u32(32))
            fence_mbarrier_init()
        bar_sync()
        mbarrier_arrive_expect_tx(u32(BAR), u32(16 * (1 + tid % 2)))
        bulk_load(u32(32 * tid), a + u64(64 * tid), u32(16 * (1 + tid % 2)), u32(BAR))
        mbarrier_wait(u32(BAR), u32(0))
        bulk_store(b + u64(64 * (31 - tid)), u32(32 * tid), u32(16 * (1 + tid % 2)))
        bulk_commit_group()
        wait_read()

    a, b = np.arange(512, dtype=np.int32).reshape(32, 16), np.zeros((32, 16), np.int32)
    run(kernel, 1, 32, a, b, shared_bytes=SHARED)
    for row in range(32):
        width = 4 * (1 + row % 2)
        assert (b[31 - row, :width] == a[row, :width]).all() and not b[31 - row, width:].any()


def sent(out, wait):
    """Each CTA of a cluster sends its words to the next one."""
    tid, rank = tid_x(), cluster_ctarank()
    st_shared_b32(u32(4 * tid), 100 * rank + tid)
    fence_proxy_async()
    if tid == 0:
        mbarrier_init(u32(BAR), u32(1))
        fence_mbarrier_init()
        mbarrier_arrive_expect_tx(u32(BAR), u32(128))
    cluster_sync()
    if tid == 0:
        bulk_send(u32(1024), u32(0), u32(128), u32(BAR), u32((rank + 1) % 4))
    if wait:
        mbarrier_wait(u32(BAR), u32(0))
    st_global_b32(out + u64(4 * (32 * rank + tid)), ld_shared_b32(u32(1024 + 4 * tid)))
    mbarrier_wait(u32(BAR), u32(0))
    cluster_sync()


def test_a_cta_sends_its_shared_memory_to_another_one_of_the_cluster():
    out = np.zeros((4, 32), np.int32)
    run(sent, 4, 32, out, True, shared_bytes=SHARED, cluster=4)
    assert (out == [[100 * ((rank - 1) % 4) + tid for tid in range(32)] for rank in range(4)]).all()
    with pytest.raises(HazardError) as caught:
        run(sent, 4, 32, out, False, shared_bytes=SHARED, cluster=4)
    assert caught.value.hazard.kind in ("early read", "unwritten read")


FAULTS = {"": None, "written": "early write", "not fenced": "missing proxy fence", "ended": "early exit"}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_sent_is_fenced_and_neither_written_nor_given_up_before_it_has_come(fault):
    def kernel(written, fenced, ended):
        tid, rank = tid_x(), cluster_ctarank()
        if rank == 0:
            st_shared_b32(u32(4 * tid), tid)
            if fenced:
                fence_proxy_async()
        if tid == 0:
            mbarrier_init(u32(BAR), u32(1))
            if fenced:
                fence_mbarrier_init()
            if rank == 1:
                mbarrier_arrive_expect_tx(u32(BAR), u32(128))
        cluster_sync()
        if rank == 0:
            if tid == 0:
                bulk_send(u32(1024), u32(0), u32(128), u32(BAR), u32(1))
            if written:
                st_shared_b32(u32(4 * tid), 1)
        elif not ended:
            mbarrier_wait(u32(BAR), u32(0))
        if not ended:
            cluster_sync()
        if rank == 0 and not ended:
            st_shared_b32(u32(4 * tid), 2)
        if rank == 1:
            mbarrier_wait(u32(BAR), u32(0))

    found = run(kernel, 2, 32, fault == "written", fault != "not fenced", fault == "ended", shared_bytes=SHARED, cluster=2,
                hazards="report").hazards
    assert {hazard.kind for hazard in found} >= {FAULTS[fault]} if fault else found == ()


def test_a_multicast_brings_the_same_bytes_to_all_ctas_of_its_mask():
    def kernel(a, out):
        tid, rank = tid_x(), cluster_ctarank()
        if tid == 0:
            mbarrier_init(u32(BAR), u32(1))
            fence_mbarrier_init()
            mbarrier_arrive_expect_tx(u32(BAR), u32(128))
        cluster_sync()
        if rank == 0 and tid == 0:
            bulk_load_multicast(u32(0), a, u32(128), u32(BAR), u32(3))
        mbarrier_wait(u32(BAR), u32(0))
        st_global_b32(out + u64(4 * (32 * rank + tid)), ld_shared_b32(u32(4 * tid)))
        cluster_sync()

    a, out = np.arange(32, dtype=np.int32), np.zeros((2, 32), np.int32)
    run(kernel, 2, 32, a, out, shared_bytes=SHARED, cluster=2)
    assert (out == a).all()


CASES = [(op, dtype) for op, (_, dtypes) in REDUCTIONS.items() for dtype in dtypes]


@pytest.mark.parametrize("op, dtype", CASES)
def test_a_reduction_of_bytes_does_to_each_element_what_its_name_says(op, dtype):
    reduce = bulk_reduce(op, dtype)

    def kernel(a, comes):
        for i in range(4):
            st_shared_b32(u32(128 * i + 4 * tid_x()), kit.ld_global(comes + u64(128 * i + 4 * tid_x())))
        fence_proxy_async()
        bar_sync()
        if tid_x() == 0:
            reduce(a, u32(0), u32(512))
            bulk_commit_group()
            wait_all()

    random = np.random.default_rng(1)
    there, comes = (random.integers(0, 9, 512 // np.dtype(NUMPY[dtype]).itemsize).astype(NUMPY[dtype]) for _ in range(2))
    expected = [one_by_one(op, x, y) for x, y in zip(there, comes, strict=True)]
    run(kernel, 1, 32, there, comes, shared_bytes=SHARED)
    assert (there == np.array(expected, there.dtype)).all()


def test_reductions_of_many_ctas_add_up_and_do_not_race():
    reduce = bulk_reduce("add", "f32")

    def kernel(a):
        st_shared_b32(u32(4 * tid_x()), 0x3F800000)
        fence_proxy_async()
        bar_sync()
        if tid_x() == 0:
            reduce(a, u32(0), u32(128))
            bulk_commit_group()
            wait_all()

    for together in (False, True):
        a = np.zeros(32, np.float32)
        run(kernel, 6, 32, a, together=together, shared_bytes=128)
        assert (a == 6).all()


def moved(load, a, at, size, shared):
    if tid_x() == 0:
        mbarrier_init(u32(BAR), u32(1))
        fence_mbarrier_init()
        mbarrier_arrive_expect_tx(u32(BAR), u32(0))
        if load:
            bulk_load(u32(shared), a + u64(at), u32(size), u32(BAR))
        else:
            bulk_store(a + u64(at), u32(shared), u32(size))


@pytest.mark.parametrize("load", [True, False])
@pytest.mark.parametrize("at, size, shared, match", [
    (0, 24, 0, "24 bytes: a bulk copy moves a multiple of 16"), (8, 16, 0, "byte 8 of the uint8 array .* not aligned to 16"),
    (0, 16, 8, "shared address 8 is no multiple of 16"), (1008, 32, 0, "bytes 1008 to 1039, outside"),
    (0, 512, 4096, "512 bytes at 4096 reach past the 4352 bytes of shared memory")])
def test_a_bulk_copy_of_no_whole_cells_or_out_of_bounds_is_an_error(load, at, size, shared, match):
    with pytest.raises(AddressError, match=match):
        run(moved, 1, 32, load, np.zeros(1024, np.uint8), at, size, shared, shared_bytes=SHARED, hazards="off")


def test_a_reduction_that_ptx_lacks_is_refused():
    for op, dtype in (("add", "s64"), ("inc", "s32"), ("xor", "u32"), ("mul", "f32"), ("min", "f32")):
        with pytest.raises(MachineError, match="cp.reduce.async.bulk"):
            bulk_reduce(op, dtype)
        with pytest.raises(MachineError, match="cp.reduce.async.bulk"):
            bulk_send_reduce(op, dtype)
    for op, dtype in (("add", "f32"), ("min", "u64"), ("and", "b64"), ("add", "f16")):
        with pytest.raises(MachineError, match=f"{op} of {dtype}: it takes .* in shared memory"):
            bulk_send_reduce(op, dtype)


def test_bytes_that_were_not_announced_or_not_all_come_are_waited_for_in_vain():
    def kernel(a, announced):
        if tid_x() == 0:
            mbarrier_init(u32(BAR), u32(1))
            fence_mbarrier_init()
            mbarrier_arrive_expect_tx(u32(BAR), u32(announced))
            bulk_load(u32(0), a, u32(64), u32(BAR))
            mbarrier_wait(u32(BAR), u32(0))

    run(kernel, 1, 32, np.zeros(64, np.uint8), 64, shared_bytes=SHARED)
    with pytest.raises(HazardError, match="lacks 64 bytes"):
        run(kernel, 1, 32, np.zeros(64, np.uint8), 128, shared_bytes=SHARED)


# ---- PTX ------------------------------------------------------------------------------------------------------------


def every_instruction(a, b):
    rank = cluster_ctarank()
    mbarrier_init(u32(BAR), u32(1))
    bulk_load(u32(0), a, u32(64), u32(BAR))
    bulk_load_multicast(u32(0), a, u32(64), u32(BAR), u32(3))
    bulk_send(u32(0), u32(64), u32(64), u32(BAR), rank)
    add_u64(u32(0), u32(64), u32(64), u32(BAR), rank)
    bulk_store(b, u32(0), u32(64))
    add_bf16(b, u32(0), u32(64))
    bulk_commit_group()
    wait_read()
    wait_all()


@needs_tools
def test_ptxas_assembles_every_bulk_copy_of_bytes(tmp_path):
    from cuda_kernels.build.compile import bound_kernel, text_of

    text = text_of(bound_kernel(every_instruction), "u64 u64", (32, 1), ARCH)
    _, opcodes = assembled(text, tmp_path)
    assert of_class(opcodes, "UBLKCP") == 4 and of_class(opcodes, "UBLKRED") == 2


REDUCED = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry reduced(.param .u64 at) {{ .reg .b64 a; .reg .b32 s; ld.param.u64 a, [at]; mov.u32 s, 64; {lines} ret; }}
"""


@needs_tools
def test_ptxas_assembles_the_reductions_that_there_are(tmp_path):
    lines = [bulk_reduce(op, dtype).text.replace("$0", "a").replace("$1", "s").replace("$2", "s") for op, dtype in CASES]
    sent = [bulk_send_reduce(op, dtype).text for op, dtypes in SHARED_REDUCTIONS.items() for dtype in dtypes]
    lines += [re.sub(r"\$\d", "s", text) for text in sent]
    _, opcodes = assembled(REDUCED.format(lines=" ".join(lines)), tmp_path)
    assert of_class(opcodes, "UBLKRED") == len(lines)
