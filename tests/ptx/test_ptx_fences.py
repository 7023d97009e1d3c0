"""What a fence.sc hands on through barriers: all threads write and fence, one of them counts; who finds the last count
fences, or meets those who do, and reads what all have written (PTX ISA, Memory Consistency Model: Fence-SC order)."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl

LAST = """ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r6, found;
mad.lo.u32 %r3, %r2, 64, %r1; mul.wide.u32 %rd2, %r3, 4; add.s64 %rd2, %rd1, %rd2;
xor.b32 %r3, %r3, 64; mul.wide.u32 %rd3, %r3, 4; add.s64 %rd3, %rd1, %rd3;
setp.eq.u32 %p1, %r1, 0;
st.global.u32 [%rd2], %r1;
{give} {meet}
@!%p1 bra MET;
{count} atom.relaxed.gpu.global.add.u32 %r4, [%rd1+1024], 1; {counted}
st.shared.u32 [%r6], %r4;
MET: {meet}
ld.shared.u32 %r4, [%r6];
setp.ne.u32 %p2, %r4, 1; @%p2 bra END;
{take} ld.global.u32 %r5, [%rd3]; nanosleep.u32 %r5;
END: ret;"""
"""Of two CTAs of two warps."""

ALL = {"give": "membar.gl;", "count": "", "counted": "", "take": "membar.gl;", "meet": "bar.sync 0;"}


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("how, ordered", [
    ({}, True),
    ({"give": "fence.sc.gpu;", "take": "fence.sc.sys;"}, True),
    ({"take": "", "counted": "membar.gl;"}, True),
    ({"give": "", "count": "membar.gl;"}, True),
    ({"meet": "barrier.sync 1, 64;"}, True),
    ({"meet": "bar.warp.sync -1; barrier.sync 1, 64;"}, True),
    ({"give": ""}, False),
    ({"take": ""}, False),
    ({"give": "membar.cta;"}, False),
    ({"give": "fence.acq_rel.gpu;"}, False),
    ({"take": "membar.cta;"}, False),
    ({"take": "fence.acq_rel.gpu;"}, False),
    ({"give": "membar.gl; st.global.u32 [%rd2], %r2;"}, False),
    ({"meet": "bar.warp.sync -1;"}, False),
], ids=str)
def test_what_all_have_fenced_before_a_barrier_one_of_them_hands_on(how, ordered, together):
    text = module(LAST.format(**ALL | how), ["u64"], before=".shared .align 4 .b32 found;")
    found = sl.ptx.load(text).entry().run(2, 64, np.zeros(512, np.uint32), hazards="report", together=together).hazards
    assert any(hazard.kind == "global race" for hazard in found) != ordered
    assert ordered <= (not found)


ARRIVALS = {"all": "mbarrier.arrive.shared.b64 _, [found+8];",
            "one of each warp": "bar.warp.sync -1; @%p4 mbarrier.arrive.shared.b64 _, [found+8];",
            "one of each warp that has not met the others": "@%p4 mbarrier.arrive.shared.b64 _, [found+8];"}
WAIT = "W{0}: mbarrier.try_wait.parity.shared.b64 %p3, [found+8], {0}; @!%p3 bra W{0};"


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("who, how, ordered", [
    ("all", {}, True), ("one of each warp", {}, True), ("one of each warp that has not met the others", {}, False),
    ("all", {"take": "", "counted": "membar.gl;"}, True), ("all", {"give": "", "count": "membar.gl;"}, True),
    ("all", {"give": ""}, False), ("all", {"take": ""}, False), ("all", {"give": "fence.acq_rel.gpu;"}, False),
    ("one of each warp", {"give": ""}, False)])
def test_an_mbarrier_hands_it_on_as_a_barrier_does(who, how, ordered, together):
    begin = f"""@%p1 mbarrier.init.shared.b64 [found+8], {64 if who == 'all' else 2};
        bar.sync 0; and.b32 %r7, %r1, 31; setp.eq.u32 %p4, %r7, 0; """
    first, second = (f"{ARRIVALS[who]} {WAIT.format(parity)}" for parity in (0, 1))
    text = LAST.replace("{meet}", first, 1).replace("{meet}", second).replace("st.global", begin + "st.global", 1)
    found = sl.ptx.load(module(text.format(**ALL | how), ["u64"], before=".shared .align 8 .b32 found[4];")).entry().run(
        2, 64, np.zeros(512, np.uint32), hazards="report", together=together).hazards
    assert (not any(hazard.kind == "global race" for hazard in found)) == ordered
    assert ordered <= (not found)


COPY = """.reg .b32 %mb; ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mov.u32 %r6, found; add.u32 %mb, %r6, 128;
mad.lo.u32 %r5, %r1, 4, %r6; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd2, %rd1; setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%mb], 1;
{write} fence.proxy.async{space};
bar.sync 0;
@!%p1 bra END;
{copy}
END: ret;"""
LOAD = ("st.global.u32 [%rd2], %r1;", """mbarrier.arrive.expect_tx.shared.b64 _, [%mb], 128;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd1], 128, [%mb];
W: mbarrier.try_wait.parity.shared.b64 %p2, [%mb], 0; @!%p2 bra W;""")
STORE = ("st.shared.u32 [%r5], %r1;", """cp.async.bulk.global.shared::cta.bulk_group [%rd1+512], [%r6], 128;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;""")


@pytest.mark.parametrize("what, space, covered", [
    (LOAD, "", True), (LOAD, ".global", True), (LOAD, ".shared::cta", False), (LOAD, ".shared::cluster", False),
    (STORE, "", True), (STORE, ".global", False), (STORE, ".shared::cta", True), (STORE, ".shared::cluster", True)])
def test_a_proxy_fence_covers_what_was_written_to_the_memory_that_it_names(what, space, covered):
    text = module(COPY.format(write=what[0], space=space, copy=what[1]), ["u64"], before=".shared .align 16 .b8 found[136];")
    found = sl.ptx.load(text).entry().run(1, 32, np.zeros(512, np.uint32), hazards="report").hazards
    assert {hazard.kind for hazard in found} == (set() if covered else {"missing proxy fence"})
