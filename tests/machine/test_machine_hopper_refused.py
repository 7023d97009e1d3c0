"""TMA, mbarriers and wgmma on the CPU machine: what a deadlock says, and what is refused."""

import hopper_faults as faults
import hopper_kernels as hopper
import numpy as np
import pytest
from hopper_kernels import MBARRIER, SHARED, source
from machine_kit import (
    bar_sync,
    bar_warp_sync,
    copies_arrive,
    fails,
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
    uniform,
    wgmma,
)

from simlayout.errors import AddressError, HazardError, MachineError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine import run

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
