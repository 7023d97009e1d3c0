"""TMA, mbarriers and wgmma on the CPU machine: what they compute, what they cost, and which faults are found."""

import inspect

import hopper_faults as faults
import hopper_kernels as hopper
import numpy as np
import pytest
from hopper_kernels import BOX, MBARRIER, SHARED, halves, source, tensor
from machine_kit import (
    bar_sync,
    bulk_commit,
    bulk_wait,
    cluster_rank,
    cluster_sync,
    fails,
    fence_mbarrier_init,
    fence_proxy_async,
    mbarrier_expect,
    mbarrier_init,
    mbarrier_wait,
    st_shared,
    tid_x,
    tma_load,
    tma_multicast,
    tma_store,
)
from test_hazards import ENGINES, lines_of

import simlayout.numerics as numerics
from simlayout.errors import HazardError, MachineError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine import run


def test_a_warp_specialised_gemm_gives_the_bits_of_the_hardware():
    a, b, c = halves(128, 320), halves(64, 320, 1), np.zeros((128, 64), np.float32)
    trace = run(hopper.gemm, 1, 384, tensor(a), tensor(b), c, 320, 64, shared_bytes=MBARRIER + 6 * BOX + 32)
    assert np.array_equal(c, numerics.gemm(hopper.N64, a, b.T)) and trace.hazards == trace.notes == ()
    by = {count.instruction: count for count in trace.by_instruction()}
    assert by[hopper.N64].instructions == 2 * 4 * 4 * 5 and by[hopper.N64].wavefronts == 2 * 4 * 5 * (16 + 64 // 4)
    assert by["cp.async.bulk.tensor"].bytes == 5 * 3 * BOX and by["cp.async.bulk.tensor"].wavefronts == 0
    assert "TMA bytes" in str(trace) and str(5 * 3 * BOX) in str(trace)


def test_products_into_two_register_arrays_may_take_turns_in_a_group():
    a, b, c = halves(128, 64), halves(64, 64, 1), np.zeros((128, 64), np.float32)
    trace = run(hopper.two_bands, 1, 128, tensor(a), tensor(b), c, shared_bytes=SHARED)
    assert np.array_equal(c, numerics.gemm(hopper.N64, a, b.T)) and trace.hazards == trace.notes == ()


def test_a_box_goes_through_shared_memory_and_back():
    a, out = halves(64, 64), np.zeros((64, 64), np.float16)
    run(hopper.through_shared_memory, 1, 128, tensor(a), tensor(out), shared_bytes=SHARED)
    assert np.array_equal(out, -a)


PLANTED = [
    (faults.read_before_the_phase, "early read", 128),
    (faults.read_by_who_has_not_waited, "early read", 64),
    (faults.load_over_a_load, "write in flight", 32),
    (faults.store_under_a_load, "write in flight", 128),
    (faults.stage_loaded_while_threads_read_it, "write after read", 64),
    (faults.stage_loaded_while_a_wgmma_reads_it, "early write", 128),
    (faults.stage_released_before_its_products, "early write", 256),
    (faults.store_under_a_wgmma, "early write", 128),
    (faults.source_written_under_a_bulk_store, "early write", 128),
    (faults.wgmma_without_a_proxy_fence, "missing proxy fence", 128),
    (faults.bulk_store_without_a_proxy_fence, "missing proxy fence", 128),
    (faults.mbarrier_used_before_a_barrier, "lane race", 32),
    (faults.mbarrier_under_data, "bad mbarrier", 32),
    (faults.wgmma_reads_what_nobody_wrote, "unwritten read", 128),
    (faults.accumulators_read_too_early, "early accumulator", 128),
    (faults.accumulators_written_while_another_group_adds, "early accumulator", 128),
    (faults.no_wgmma_fence, "missing wgmma fence", 128),
    (faults.kernel_ends_under_a_bulk_store, "early exit", 128),
    (faults.kernel_ends_under_a_load, "early exit", 32),
    (faults.bytes_that_never_come, "deadlock", 128),
    (faults.arrivals_that_never_come, "deadlock", 256),
    (faults.a_warp_without_wgmma, "deadlock", 128),
    (faults.more_registers_than_there_are, "deadlock", 384),
]


@pytest.mark.parametrize("kernel, kind, block", PLANTED, ids=lambda x: getattr(x, "__name__", None))
def test_a_planted_hazard_is_found_with_its_lines(kernel, kind, block):
    args = [source() for _ in inspect.signature(kernel).parameters]
    with pytest.raises(HazardError) as caught:
        run(kernel, 1, block, *args, shared_bytes=SHARED)
    found, (first, second) = caught.value.hazard, lines_of(kernel)
    assert found.kind == kind and "\n" not in str(caught.value), str(caught.value)
    assert found.second.line == second, str(caught.value)
    assert kind == "deadlock" or (found.first and found.first.line) == first, str(caught.value)


def copy_on_an_mbarrier(a, behind):
    tid = tid_x()
    if tid == 0:
        mbarrier_init(4096, 1)
        if behind == 0:
            mbarrier_expect(4096, 2048)
            tma_load(a, (0, 0), 0, 4096)
    if behind > 1:
        cluster_sync()
    elif behind == 1:
        bar_sync()
    if tid == 32:
        if behind:
            mbarrier_expect(4096, 2048)
            if behind > 1:
                if cluster_rank() == 0:
                    tma_multicast(a, (0, 0), 0, 4096, 3)
            else:
                tma_load(a, (0, 0), 0, 4096)
    if behind == 0:
        bar_sync()
    mbarrier_wait(4096, 0)


@pytest.mark.parametrize("behind, hazards", [(0, False), (1, False), (2, False), (-1, True)],
                         ids=["program order", "bar.sync", "barrier.cluster", "nothing"])
def test_a_copy_on_an_mbarrier_needs_order_behind_the_init_and_no_fence(behind, hazards):
    a, ctas = TensorMap.of(halves(32, 32), (32, 32), swizzle=0), 2 if behind == 2 else 1
    trace = run(copy_on_an_mbarrier, ctas, 64, a, behind, shared_bytes=SHARED, cluster=ctas, hazards="report")
    assert bool(trace.hazards) == hazards and trace.notes == ()


def test_a_fence_of_mbarriers_makes_no_data_visible_to_a_bulk_store():
    def kernel(target, of_mbarriers):
        st_shared(4 * tid_x(), 1)
        if of_mbarriers:
            fence_mbarrier_init()
        else:
            fence_proxy_async()
        bar_sync()
        if tid_x() == 0:
            tma_store(target, (0, 0), 0)
            bulk_commit()
            bulk_wait(0)

    targets = [TensorMap.of(np.zeros((4, 8), np.uint32), (8, 4), swizzle=0) for _ in range(2)]
    run(kernel, 1, 32, targets[0], False, shared_bytes=256)
    assert "missing proxy fence: " in fails(HazardError, kernel, targets[1], True, shared_bytes=256)


@pytest.mark.parametrize("written, bytes", [(6, ()), (5, (20, 21, 22, 23, 52, 53, 54, 55))])
def test_a_box_that_reaches_over_the_edge_of_its_tensor_reads_what_is_inside(written, bytes):
    def kernel(target, columns):
        tid = tid_x()
        if tid < 16 and tid % 8 < columns:
            st_shared(4 * tid, tid + 1)
        fence_proxy_async()
        bar_sync()
        if tid == 0:
            tma_store(target, (0, 0), 0)
            bulk_commit()
            bulk_wait(0)

    c = np.zeros((2, 8), np.uint32)[:, :6]
    found = run(kernel, 1, 32, TensorMap.of(c, (8, 2), swizzle=0), written, shared_bytes=256, hazards="report").hazards
    assert {byte for one in found for byte in one.bytes} == set(bytes)
    assert c[:, :5].tolist() == [[1, 2, 3, 4, 5], [9, 10, 11, 12, 13]]


@pytest.mark.parametrize("kernel, kind, block", [p for p in PLANTED if p[1] not in ("deadlock", "unwritten read")],
                         ids=lambda x: getattr(x, "__name__", None))
def test_it_is_reported_too(kernel, kind, block):
    args = [source() for _ in inspect.signature(kernel).parameters]
    found = run(kernel, 1, block, *args, shared_bytes=SHARED, hazards="report").hazards
    assert (kind, lines_of(kernel)[1]) in {(h.kind, h.second.line) for h in found}


def test_every_kind_of_the_engines_is_planted():
    assert {kind for _, kind, _ in PLANTED} > ENGINES


# ---- clusters -------------------------------------------------------------------------------------------------------


def test_the_ctas_of_a_cluster_load_for_each_other():
    a, out = halves(64, 128), np.zeros((4, 64, 32), np.int32)
    plain = TensorMap.of(a, (64, 32), swizzle=0)
    run(hopper.shared_load, 2, 32, plain, out, shared_bytes=SHARED, cluster=2)
    for i in range(4):
        assert np.array_equal(out[i].view(np.float16), a[:, 64 * (i // 2):64 * (i // 2) + 64])


def test_a_cluster_must_wait_for_its_peers():
    with pytest.raises(HazardError) as caught:
        run(hopper.stage_of_the_peer_loaded_while_it_reads, 2, 32, source(), shared_bytes=SHARED, cluster=2)
    found = caught.value.hazard
    assert (found.kind, found.first.cta, found.second.cta) == ("write after read", (1, 0, 0), (0, 0, 0))
    assert (found.first.line, found.second.line) == lines_of(hopper.stage_of_the_peer_loaded_while_it_reads)
    with pytest.raises(HazardError, match=r"lane 0 .* may still use its shared memory when CTA \(0, 0, 0\) ends"):
        run(hopper.arrival_at_a_cta_that_has_ended, 2, 32, shared_bytes=SHARED, cluster=2)
    with pytest.raises(MachineError, match=r"cluster \(3, 1, 1\) in a grid of \(4, 1, 1\) CTAs"):
        run(hopper.arrival_at_a_cta_that_has_ended, 4, 32, cluster=3)
