"""Scopes of strong accesses and of fences: who may meet whom without order, and who knows what another one has released (PTX
ISA, Memory Consistency Model: Morally strong operations, Release and acquire patterns)."""

import itertools

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl
from simlayout.machine.hazards import global_shadow

BEFORE = ".shared .align 16 .b8 buffer[64];"
WHO = """ld.param.u64 %rd1, [kernel_param_0]; add.s64 %rd2, %rd1, 256; mov.u32 %r5, buffer;
mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; mov.u32 %r3, %ctaid.x; and.b32 %r4, %r1, 31;
setp.eq.u32 %p1, %r4, 0; @!%p1 bra END;
setp.eq.u32 %p2, {who}, 0; @!%p2 bra OTHER;
"""
CTAS, WARPS = WHO.format(who="%r3"), WHO.format(who="%r2")


def hazards(body, grid=1, block=32, **launch):
    entry = sl.ptx.load(module(body, ["u64"], before=BEFORE)).entry()
    return entry.run(grid, block, np.zeros(128, np.uint32), hazards="report", **launch).hazards


def races(one, other, cluster, together):
    """Whether CTA 0, which does one thing, races with CTA 1, which does another."""
    found = hazards(f"{CTAS}{one}\nbra END;\nOTHER:\n{other}\nEND: ret;", 2, cluster=cluster, together=together)
    assert {hazard.kind for hazard in found} <= {"global race"}
    return bool(found)


STORE, LOAD, COUNT = "st.relaxed.{}.global.u32 [%rd1], 7;", "ld.relaxed.{}.global.u32 %r6, [%rd1]; nanosleep.u32 %r6;", \
    "red.relaxed.{}.global.add.u32 [%rd1], 1;"
REACHES = {"cta": 0, "cluster": 1, "gpu": 2, "sys": 2}


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("one, other", [(STORE, LOAD), (LOAD, STORE), (COUNT, COUNT), (COUNT, LOAD)])
def test_strong_accesses_of_two_ctas_race_unless_both_scopes_have_both(one, other, cluster, together):
    for mine, theirs in itertools.product(REACHES, REACHES):
        needed = 1 if cluster == 2 else 2
        wanted = min(REACHES[mine], REACHES[theirs]) < needed
        assert races(one.format(mine), other.format(theirs), cluster, together) == wanted, (mine, theirs)


def test_a_race_because_of_a_scope_says_so():
    body = f"{CTAS}{COUNT.format('cta')}\nbra END;\nOTHER:\n{COUNT.format('gpu')}\nEND: ret;"
    assert "with a scope that leaves one of them out (make it .cluster or .gpu)" in hazards(body, 2)[0].text


FLAG = "W: {} setp.ne.u32 %p3, %r6, 1; @%p3 bra W; {} ld.global.u32 %r6, [%rd1];"
SET, SEEN = "st.relaxed.gpu.global.u32 [%rd2], 1;", "ld.relaxed.gpu.global.u32 %r6, [%rd2];"


@pytest.mark.parametrize("give, take, ordered", [
    ("fence.acq_rel.gpu;", "fence.acq_rel.gpu;", True),
    ("fence.acq_rel.cta;", "fence.acq_rel.gpu;", False),
    ("fence.acq_rel.gpu;", "fence.acq_rel.cta;", False),
    ("fence.acq_rel.gpu; fence.acq_rel.cta;", "fence.acq_rel.cta; fence.acq_rel.gpu;", True),
    ("fence.acq_rel.cluster;", "fence.acq_rel.gpu;", False)])
def test_what_one_cta_hands_to_another_one_needs_fences_of_the_gpu_on_both_sides(give, take, ordered):
    assert races(f"st.global.u32 [%rd1], 7; {give} {SET}", FLAG.format(SEEN, take), 1, True) != ordered


@pytest.mark.parametrize("give, take, ordered", [
    ("fence.acq_rel.cluster;", "fence.acq_rel.cluster;", True), ("fence.acq_rel.cta;", "fence.acq_rel.cluster;", False)])
def test_in_a_cluster_fences_of_the_cluster_are_enough(give, take, ordered):
    assert races(f"st.global.u32 [%rd1], 7; {give} {SET}", FLAG.format(SEEN, take), 2, False) != ordered


@pytest.mark.parametrize("then, ordered", [("st.relaxed.gpu.global.u32 [%rd2], 1;", True),
                                           ("red.relaxed.gpu.global.add.u32 [%rd2], -1;", True),
                                           ("st.global.u32 [%rd1], 8; st.relaxed.gpu.global.u32 [%rd2], 1;", False)])
def test_a_strong_store_behind_a_release_of_the_same_word_hands_on_what_that_released(then, ordered):
    give = f"st.global.u32 [%rd1], 7; st.release.gpu.global.u32 [%rd2], 2; {then}"
    assert races(give, FLAG.format("ld.acquire.gpu.global.u32 %r6, [%rd2];", ""), 1, True) != ordered


NEAR = {
    "release and acquire": ("st.release.cta.global.u32 [%rd2], 1;", "ld.acquire.cta.global.u32 %r6, [%rd2];", ""),
    "of several scopes": ("st.release.cta.global.u32 [%rd2], 1;", "ld.acquire.gpu.global.u32 %r6, [%rd2];", ""),
    "fences": (f"fence.acq_rel.cta; {SET}", SEEN, "fence.acq_rel.cta;"),
    "a fence of the GPU and one of the CTA": (f"membar.gl; st.{{}} [%r5+4], 7; membar.cta; {SET}", SEEN, "membar.cta;"),
    "atomics": ("atom.acq_rel.cta.global.add.u32 %r6, [%rd2], 1;", "atom.acq_rel.cta.global.or.b32 %r6, [%rd2], 0;", ""),
    "an atomic in between": (f"fence.acq_rel.cta; {SET} atom.relaxed.gpu.global.or.b32 %r6, [%rd2], 0;", SEEN,
                             "fence.acq_rel.cta;"),
}


@pytest.mark.parametrize("how", NEAR)
def test_warps_of_a_cta_hand_on_what_fences_and_scopes_of_the_cta_release_in_global_memory(how):
    give, take, then = NEAR[how]
    text = (f"{WARPS}st.shared.u32 [%r5], 7; {give.format('shared.u32')}\nbra END;\n"
            f"OTHER: W: {take} setp.ne.u32 %p3, %r6, 1; @%p3 bra W; {then} ld.shared.u32 %r6, [%r5];\nEND: ret;")
    assert not hazards(text, 1, 64)
    unordered = text.replace(then, "") if then else text.replace("acquire", "relaxed").replace("acq_rel", "relaxed")
    assert hazards(unordered, 1, 64)


def test_an_atomic_of_a_cta_in_the_shared_memory_of_another_one_races_with_that_one():
    text = """mov.u32 %r5, buffer; mov.u32 %r1, %cluster_ctarank; st.shared.u32 [%r5], 0;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mov.u32 %r2, 0; mapa.shared::cluster.u32 %r3, %r5, %r2;
red.relaxed.SCOPE.shared::cluster.add.u32 [%r3], 1;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;"""
    assert not hazards(text.replace("SCOPE", "cluster"), 2, 1, cluster=2)
    assert hazards(text.replace("SCOPE", "cta"), 2, 1, cluster=2)


def test_a_narrow_access_races_with_one_of_another_cta_that_a_wide_one_of_its_own_cta_comes_after(monkeypatch):
    monkeypatch.setattr(global_shadow, "THINNED", 1)                            # what need not be kept is looked for at once
    first = f"{COUNT.format('gpu')} st.release.gpu.global.u32 [%rd2], 1;"
    text = f"""{CTAS}{first}\nbra END;
OTHER: setp.ne.u32 %p3, %r2, 0; @%p3 bra THIRD;
W: ld.acquire.gpu.global.u32 %r6, [%rd2]; setp.ne.u32 %p3, %r6, 1; @%p3 bra W;
{COUNT.format("gpu")} st.relaxed.gpu.global.u32 [%rd2+4], 1; bra END;
THIRD: ld.relaxed.gpu.global.u32 %r6, [%rd2+4]; setp.ne.u32 %p3, %r6, 1; @%p3 bra THIRD;
{COUNT.format("SCOPE")}
END: ret;"""
    first_of_two = text.replace(first, f"setp.ne.u32 %p3, %r2, 0; @%p3 bra END; {first}")
    assert not hazards(first_of_two.replace("SCOPE", "gpu"), 2, 64, together=True)
    assert hazards(first_of_two.replace("SCOPE", "cta"), 2, 64, together=True)


# ---- values of two sizes ----------------------------------------------------------------------------------------------


PIECES = {
    "st.relaxed.gpu.{}.u64 [{}], %rd4;": 8, "ld.relaxed.gpu.{}.u32 %r6, [{}];": 4, "ld.relaxed.gpu.{}.u64 %rd5, [{}];": 8,
    "ld.volatile.{}.v2.u32 {{%r6, %r7}}, [{}];": 4, "ld.relaxed.gpu.{}.b128 %q1, [{}];": 16,
    "st.volatile.{}.u32 [{}], %r1;": 4, "atom.{}.add.u32 %r6, [{}], 1;": 4,
    "atom.{}.exch.b64 %rd5, [{}], %rd4;": 8, "red.{}.add.noftz.f16x2 [{}], %r1;": 2,
    "st.relaxed.gpu.{}.u16 [{}], %rs1;": 2}


NEEDED = """nanosleep.u32 %r6; cvt.u32.u64 %r6, %rd5; nanosleep.u32 %r6; mov.b128 {%rd6, %rd7}, %q1; cvt.u32.u64 %r6, %rd6;
nanosleep.u32 %r6; ret;"""


@pytest.mark.parametrize("space, at", [("global", "%rd1"), ("shared", "%r5")])
def test_strong_accesses_of_the_same_bytes_race_unless_their_values_are_of_one_size(space, at):
    start = f""".reg .b128 %q1; ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r5, buffer; mov.u32 %r6, 0;
st.{space}.v4.u32 [{at}], {{%r6, %r6, %r6, %r6}}; bar.sync 0;\n"""
    for one, other in itertools.combinations(PIECES, 2):
        if not ("ld" == one[:2] == other[:2] or space == "shared" and "f16x2" in one + other):     # which has none of these
            text = f"{start}{WARPS}{one.format(space, at)}\nbra END;\nOTHER: {other.format(space, at)}\nEND: {NEEDED}"
            found = [hazard for hazard in hazards(text, 1, 64) if "in pieces of another size" in hazard.text]
            assert bool(found) == (PIECES[one] != PIECES[other]), (one, other)
