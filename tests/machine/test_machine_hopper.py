"""TMA, mbarriers and wgmma on the CPU machine: what they compute, what they cost, and how they fail."""

import inspect

import hopper_faults as faults
import hopper_kernels as hopper
import numpy as np
import pytest
from hopper_kernels import BOX, MBARRIER, SHARED
from machine_kit import (
    bar_sync,
    bar_warp_sync,
    bulk_commit,
    bulk_wait,
    cluster_rank,
    cluster_sync,
    copies_arrive,
    fails,
    fence_mbarrier_init,
    fence_proxy_async,
    mbarrier_arrive,
    mbarrier_arrive_remote,
    mbarrier_expect,
    mbarrier_init,
    mbarrier_wait,
    registers,
    setmaxnreg,
    st_global,
    st_shared,
    tid_x,
    tma_load,
    tma_multicast,
    tma_store,
    uniform,
    wgmma,
)
from test_hazards import ENGINES, lines_of

import simlayout.numerics as numerics
from simlayout.errors import AddressError, HazardError, MachineError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine import run


def halves(rows, cols, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, cols)).astype(np.float16)


def tensor(array):
    return TensorMap.of(array, (64, 64))


def source():
    return tensor(halves(64, 64))


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


# ---- what a deadlock says -------------------------------------------------------------------------------------------


def deadlock(kernel, block, *args, **options):
    with pytest.raises(HazardError) as caught:
        run(kernel, 1, block, *args, shared_bytes=SHARED, **options)
    return str(caught.value)


def test_a_deadlock_says_which_arrivals_and_bytes_an_mbarrier_lacks():
    said = deadlock(faults.bytes_that_never_come, 128, source())
    assert f"warps 0, 1, 2, 3 waiting at mbarrier {MBARRIER} for phase 0 (parity 0), which lacks 16 bytes" in said
    said = deadlock(faults.arrivals_that_never_come, 256, hazards="off")
    assert f"mbarrier {MBARRIER} for phase 0 (parity 0), which lacks 1 of 3 arrivals" in said


def test_a_deadlock_says_which_warps_have_not_issued_a_wgmma():
    said = deadlock(faults.a_warp_without_wgmma, 128, source())
    assert "warps 0, 1, 3 waiting at wgmma.wait_group for group 1 of warpgroup 0, not yet committed by warp 2" in said
    assert "warp 2 finished" in said


def test_a_deadlock_says_how_many_registers_are_missing():
    assert "setmaxnreg.inc 240, which lacks 2304 registers" in deadlock(faults.more_registers_than_there_are, 384)


def test_a_stage_that_is_never_released_stops_the_producer():
    def kernel(a):
        tid = tid_x()
        if tid == 0:
            mbarrier_init(MBARRIER, 1)
            mbarrier_wait(MBARRIER, 1)                   # free at first
            mbarrier_wait(MBARRIER, 0)

    assert "warp 0 waiting at mbarrier 32768 for phase 0 (parity 0), which lacks 1 of 1 arrivals" in deadlock(kernel, 32, 0)


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_what_no_mbarrier_may_do_is_a_hazard_and_the_launch_goes_on():
    def several_counts():
        mbarrier_init(MBARRIER, tid_x())

    def too_many():
        mbarrier_init(MBARRIER + 8 * tid_x(), 1)
        mbarrier_arrive(MBARRIER + 8 * tid_x())
        if tid_x() == 5:
            mbarrier_init(MBARRIER + 256, 2)
            mbarrier_arrive(MBARRIER + 256)
            mbarrier_expect(MBARRIER + 256, 1 << 20)

    def unknown():
        mbarrier_wait(64, 0)

    def misaligned():
        mbarrier_init(MBARRIER + 4, 1)

    def overwritten():
        if tid_x() == 0:
            mbarrier_init(MBARRIER, 1)
            st_shared(MBARRIER, 7)
            mbarrier_arrive(MBARRIER)

    def half_overwritten():
        if tid_x() == 0:
            mbarrier_init(MBARRIER, 1)
            st_shared(MBARRIER + 4, 7)
            mbarrier_arrive(MBARRIER)

    def twice():
        if tid_x() == 0:
            mbarrier_init(MBARRIER, 1)
        bar_warp_sync()
        if tid_x() < 2:
            mbarrier_arrive(MBARRIER)

    def early():
        if tid_x() == 0:
            mbarrier_init(MBARRIER, 1)
            mbarrier_expect(MBARRIER, 16)
            mbarrier_arrive(MBARRIER)

    def every_lane_that_copied():
        if tid_x() == 0:
            mbarrier_init(MBARRIER, 4)
        bar_warp_sync()
        copies_arrive(MBARRIER)
        mbarrier_wait(MBARRIER, 0)

    def unknown_to_all(pointer, tensor):
        mbarrier_arrive(64)
        mbarrier_expect(64, 16)
        copies_arrive(64)
        if tid_x() == 0:
            tma_load(tensor, (0, 0), 0, 64)
        mbarrier_wait(64, 0)
        mbarrier_arrive_remote(64, 0)
        mbarrier_wait(64, 1)
        st_global(pointer + 4 * tid_x(), 7)

    for kernel, text in ((several_counts, "one count from 1"), (too_many, "where at most 1048575"),
                         (unknown, "no mbarrier at"), (overwritten, "whose 8 bytes st.shared.b32 of warp 0 ("),
                         (half_overwritten, "whose 8 bytes st.shared.b32 of warp 0 ("),
                         (twice, "2 arrivals on mbarrier 32768, whose phase 0 lacks 1 of 1"),
                         (early, "1 arrival on mbarrier 32768, whose phase 0 lacks 0 of 1"),
                         (every_lane_that_copied, "32 arrivals on mbarrier 32768, whose phase 0 lacks 4 of 4")):
        told = [h for h in run(kernel, 1, 32, shared_bytes=SHARED, hazards="report").hazards if text in str(h)]
        assert [h.kind for h in told] == ["bad mbarrier"], kernel.__name__
        assert text in fails(HazardError, kernel, shared_bytes=SHARED), kernel.__name__
        if "8 bytes" not in text:                        # which the shadow knows
            assert text in fails(HazardError, kernel, shared_bytes=SHARED, hazards="off"), kernel.__name__
    out = np.zeros(32, np.int32)
    told = run(unknown_to_all, 1, 32, out, source(), shared_bytes=SHARED, hazards="report").hazards
    assert [h.kind for h in told] == 7 * ["bad mbarrier"] and (out == 7).all()
    assert len({h.lines for h in told}) == 7
    assert "not a multiple of 8" in fails(AddressError, misaligned, shared_bytes=SHARED)


def test_a_warp_that_goes_on_without_a_wait_is_told_of_it_even_if_it_came_before_the_copy():
    def kernel(tensor):
        if tid_x() == 32:
            mbarrier_init(MBARRIER, 1)
            mbarrier_expect(MBARRIER, 8192)
            tma_load(tensor, (0, 0), 0, MBARRIER)
        if tid_x() < 32:
            st_shared(4 * tid_x(), 1)

    said = fails(HazardError, kernel, source(), shared_bytes=SHARED, block=64)
    assert "(if that is to come after the copy, it does not wait for it: only a wait for the phase in which it lands" in said


def test_what_no_copy_may_do_is_refused():
    def load(tensor, coords, address):
        if tid_x() == 0:
            mbarrier_init(MBARRIER, 1)
            tma_load(tensor, coords, address, MBARRIER)

    def by_a_warp(tensor):
        mbarrier_init(MBARRIER, 1)
        tma_load(tensor, (0, 0), 0, MBARRIER)

    bare = TensorMap("f16", (64, 64), (128,), (64, 64), swizzle=128)
    options = dict(shared_bytes=SHARED, hazards="off")
    assert "by 32 lanes" in fails(MachineError, by_a_warp, source(), **options)
    assert "pass simlayout.TensorMap.of" in fails(MachineError, load, bare, (0, 0), 0, **options)
    assert "pass simlayout.TensorMap.of" in fails(MachineError, load, 7, (0, 0), 0, **options)
    assert "does not start on 16 bytes" in fails(AddressError, load, source(), (1, 0), 0, **options)
    assert "3 coordinates for a tensor of 2" in fails(AddressError, load, source(), (0, 0, 0), 0, **options)
    assert "reaches past" in fails(AddressError, load, source(), (0, 0), SHARED // 128 * 128 - 128, **options)
    assert "128 bytes" in fails(AddressError, load, source(), (0, 0), 64, **options)


def test_what_no_warpgroup_may_do_is_refused():
    def issue(name, registers_of_d, first, others):
        acc = registers((registers_of_d,), np.float32)
        wgmma(name, acc, hopper.descriptor(first if tid_x() < 32 else others), hopper.descriptor(0), 0)

    def give(count, increase):
        setmaxnreg(count, increase)

    def give_in_one_warp():
        if uniform(tid_x() // 32) == 1:
            setmaxnreg(24, False)
        bar_sync()

    options = dict(block=128, shared_bytes=SHARED, hazards="off")
    assert "issue different wgmma" in fails(MachineError, issue, hopper.N64, 32, 0, 1024, **options)
    assert "32 registers, not RegisterArray((16,)" in fails(MachineError, issue, hopper.N64, 16, 0, 0, **options)
    assert "is no wgmma" in fails(MachineError, issue, "m16n8k16.f32.f16.f16.f32", 4, 0, 0, **options)
    assert "reaches byte" in fails(AddressError, issue, hopper.N64, 32, 40960, 40960, **options)
    assert "multiple of 128" in fails(MachineError, issue, hopper.N64, 32, 0, 0, **{**options, "block": 96})
    assert "multiple of 8" in fails(MachineError, give, 100, True, **options)
    assert "cannot give back" in fails(MachineError, give, 24, True, **options)
    assert "cannot take more" in fails(MachineError, give, 240, False, **{**options, "block": 384})
    assert "setmaxnreg in some warps only" in fails(HazardError, give_in_one_warp, **{**options, "hazards": "raise"})
    [found] = run(give_in_one_warp, 1, **{**options, "hazards": "report"}).hazards
    assert found.kind == "divergence" and found.second.warp == 1


def test_setmaxnreg_moves_the_registers_that_a_launch_gave():
    def kernel():
        if uniform(tid_x() // 128) == 0:
            setmaxnreg(24, False)
        else:
            setmaxnreg(104, True)

    run(kernel, 1, 384, registers=80)                        # as where two such CTAs share an SM
    assert "168: .inc cannot give back" in fails(MachineError, kernel, block=384)


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
