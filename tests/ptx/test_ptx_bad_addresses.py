"""An instruction at an address where no GPU can do it is left out and reported, whatever it is; the launch goes on."""

import sys
from contextlib import contextmanager

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl
from simlayout.errors import HazardError, SimlayoutError
from simlayout.machine.ptx import attempts

TEXT = """.reg .b64 %out;
ld.param.u64 %out, [kernel_param_0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd1, %r1, 4;
add.u64 %out, %out, %rd1;
mad.lo.u32 %r2, %r1, 16, {at};
cvta.const.u64 %rd2, 0;
mov.u64 %rd3, 64;
mov.u32 %r3, 7; mov.u32 %r4, 7; mov.u32 %r5, 7; mov.u32 %r6, 7;
{does}
st.global.u32 [%out], %r3;
ret;"""

GENERIC = "cvta.shared.u64 %rd1, smem; cvt.u64.u32 %rd2, %r2; add.u64 %rd1, %rd1, %rd2; "

ALL_LANES = {
    "ldmatrix": ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];", "reads 16 bytes"),
    "stmatrix": ("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r2], {%r3, %r4, %r5, %r6};", "writes 16 bytes"),
    "mbarrier.init": ("mbarrier.init.shared.b64 [%r2], 1;", "uses 8 bytes"),
    "mbarrier.arrive": ("mbarrier.arrive.shared.b64 _, [%r2];", "uses 8 bytes"),
    "a wait": ("W: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 1; @!%p1 bra W;", "uses 8 bytes"),
}


def launched(does, at, hazards, **how):
    out = np.zeros(32, np.uint32)
    body = TEXT.format(does=does.replace("; ", ";\n"), at=at)
    text = module(body, ["u64"], before=".extern .shared .align 16 .b8 smem[];")
    return sl.ptx.load(text).entry().run(1, 32, out, shared_bytes=1024, hazards=hazards, **how), out


@pytest.mark.parametrize("name", ALL_LANES)
@pytest.mark.parametrize("at, kind", [(1024, "out of bounds"), (4, "misaligned")])
def test_what_a_warp_does_outside_shared_memory_or_not_aligned_is_a_hazard_and_left_out(name, at, kind):
    does, text = ALL_LANES[name]
    trace, out = launched(does, at, "report")
    assert kind in [one.kind for one in trace.hazards] and out.tolist() == [7] * 32
    assert any(f"{text} at shared byte {at}" in one.text for one in trace.hazards)
    with pytest.raises(HazardError, match=f"{kind}: .*{text}"):
        launched(does, at, "raise")
    with pytest.raises(SimlayoutError):
        launched(does, at, "off")


def test_rows_of_lanes_that_give_none_may_be_anywhere():
    trace, _ = launched("st.shared.u32 [%r1], %r1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];".replace(
        "[%r1]", "[0]"), 880, "report")
    assert "out of bounds" not in [one.kind for one in trace.hazards]


@pytest.mark.parametrize("does", [
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r3, %r3, %r3, %r3, %r3, %r3, %r3, %r3}, [8], 16;",
    "mbarrier.init.b64 [%rd1], 1;", "st.const.u32 [%rd2], %r1;",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [8], [%out], 16, [64];"])
def test_any_other_address_of_which_no_gpu_makes_anything_is_reported_as_well(does):
    trace, _ = launched(does, 0, "report")
    assert [one.kind for one in trace.hazards] == ["bad address"]
    assert "cannot be executed" in trace.hazards[0].text
    with pytest.raises(sl.AddressError):
        launched(does, 0, "raise")


@pytest.mark.parametrize("does", [
    "ld.shared.u32 %r3, [%r2];", "st.shared.u32 [%r2], %r1;", "atom.shared.add.u32 %r3, [%r2], 1;",
    "cp.async.ca.shared.global [%r2], [%out], 4;", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];",
    "ld.shared::cluster.u32 %r3, [%r2];", GENERIC + "st.u32 [%rd1], %r1;", GENERIC + "atom.add.u32 %r3, [%rd1], 1;"])
def test_an_index_that_leaves_shared_memory_by_far_is_no_access_of_another_cta_where_there_is_none(does):
    trace, out = launched(does, 1 << 25, "report")
    assert [one.kind for one in trace.hazards] == ["bad address"] and out.tolist() == [7] * 32
    assert "gives shared address 33554432, outside the 1024 bytes" in trace.hazards[0].text


@pytest.mark.parametrize("does", [
    "ld.shared.u32 %r3, [%r2+-1024];", "atom.shared.add.u32 %r3, [%r2+-1024], 1;",
    "cp.async.ca.shared.global [%r2+-1024], [%out], 4;", "mbarrier.init.shared.b64 [%r2+-1024], 1;",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2+-1024];",
    "sub.u32 %r2, %r2, 1024; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];",
    "sub.u32 %r2, %r2, 1024; mbarrier.init.shared.b64 [%r2], 1;"])
def test_what_lies_below_shared_memory_is_out_of_its_bounds_for_all_instructions(does):
    trace, _ = launched(does, 0, "report")
    assert {one.kind for one in trace.hazards} == {"out of bounds"}
    assert any("at shared byte -1024" in one.text for one in trace.hazards)


def test_of_a_generic_address_in_the_place_of_one_of_shared_memory_the_lower_half_is_taken_as_ptxas_does():
    does = """cvta.shared.u64 %rd1, smem; setp.eq.u32 %p1, %r1, 0; mov.u32 %r3, %r1;
@%p1 mbarrier.init.shared.b64 [%rd1], 1;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%rd1], 64;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1+64], [%out], 64, [%rd1];
bar.warp.sync -1;
W: mbarrier.try_wait.parity.shared.b64 %p2, [%rd1], 0; @!%p2 bra W;
@%p1 cp.async.bulk.global.shared::cta.bulk_group [%out+64], [%rd1+64], 64;
@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0; bar.warp.sync -1;
ld.shared.u32 %r3, [%rd1+64];"""
    trace, out = launched(does, 0, "report")
    assert not trace.hazards and not out.any()


def test_an_error_that_ends_a_launch_says_what_was_reported_before_it():
    does = "st.shared.u32 [2048], %r1; W: ld.volatile.shared.u32 %r3, [0]; setp.ne.u32 %p1, %r3, %r3; @!%p1 bra W;"
    with pytest.raises(HazardError, match="deadlock.*; before that: .* hazards?, the first out of bounds: st.") as ended:
        launched(does, 0, "report")
    assert "out of bounds" in [one.kind for one in ended.value.before] and "\n" not in str(ended.value)
    with pytest.raises(HazardError) as alone:
        launched(does.replace("2048", "512"), 0, "off")
    assert alone.value.before == () and "before that" not in str(alone.value)


@pytest.mark.parametrize("at, told", [
    (1 << 20, "1044480 bytes past the end"), (4096, "right behind the end"), (-8, "8 bytes before"), (6, "6 bytes into")])
def test_a_global_address_is_told_of_the_array_that_it_is_computed_from_and_not_of_the_nearest_one(at, told):
    body = """ld.param.u64 %rd1, [kernel_param_0];
ld.param.u64 %rd2, [kernel_param_1];
ld.param.u64 %rd3, [kernel_param_2];
mad.lo.s64 %rd4, %rd3, 1, %rd1;
ld.global.u64 %rd5, [%rd4];
st.global.u64 [%rd2], %rd5;
ret;"""
    a, b = np.zeros((2, 512))
    with pytest.raises(HazardError, match=f"{told} (of )?the float64 array of shape .512,. of argument 1,"):
        sl.ptx.load(module(body, ["u64", "u64", "s64"])).entry().run(1, 1, a, b.copy(), at)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_an_interrupt_tells_the_hazards_so_far_as_what_is_outside_its_array_may_never_end(monkeypatch):
    turns = iter([None])

    @contextmanager
    def interrupted():
        def again():
            if next(turns, "over") == "over":
                raise KeyboardInterrupt

        yield again

    monkeypatch.setattr(attempts, "not_lost", interrupted)
    text = module(".local .b8 held[8]; .reg .b32 %at; mov.u32 %at, 8; st.local.u32 [%at], 1; ret;", [])
    with pytest.raises(KeyboardInterrupt) as raised:
        sl.ptx.load(text).entry().run(2, 32, hazards="report", together=True)
    assert raised.value.__notes__[0].startswith("before that: 1 hazard, the first out of bounds: st.local.u32 of warp 0")
