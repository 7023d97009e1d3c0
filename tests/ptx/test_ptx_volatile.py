"""Volatile accesses of shared memory by several warps: what is read as data must be ordered, and flags need not be."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl

TURNED = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
mov.u32 %r2, data;
mad.lo.u32 %r3, %r1, 4, %r2;
sub.u32 %r4, 63, %r1;
mad.lo.u32 %r4, %r4, 4, %r2;
st.volatile.shared.u32 [%r3], %r1;
{between}
ld.volatile.shared.u32 %r5, [%r4];
{behind}
st.volatile.shared.u32 [%r3], %r5;
{use}
ret;
"""
"""Two warps: each thread stores a number, reads that of another warp's thread, and stores what it has read."""

BARRIER, USE = "bar.sync 0;", "st.global.u32 [%rd1], %r5;"


def found(text, block=64, **parts):
    out = np.zeros(block, np.uint32)
    text = module(text.format(**parts), ("u64",), before=".shared .align 4 .b8 data[256]; .shared .align 4 .b8 flag[8];")
    return sl.ptx.load(text).entry().run(1, block, out, hazards="report").hazards


@pytest.mark.parametrize("between, behind, kinds", [
    (BARRIER, BARRIER, set()), ("", BARRIER, {"read after write"}), (BARRIER, "", {"write after read"}),
    ("bar.warp.sync -1;", BARRIER, {"read after write"}), (BARRIER, "membar.cta;", {"write after read"})])
def test_what_a_volatile_load_reads_of_another_warp_must_be_ordered(between, behind, kinds):
    hazards = found(TURNED, between=between, behind=behind, use=USE)
    assert {hazard.kind for hazard in hazards} - {"unwritten read"} == kinds
    for hazard in hazards:
        assert hazard.kind not in kinds or "no data race, but what is read depends on who comes first" in hazard.text


@pytest.mark.parametrize("access", ["relaxed.cta", "relaxed.gpu"])
def test_who_says_relaxed_means_it(access):
    assert not {hazard.kind for hazard in found(TURNED.replace("volatile", access), between="", behind="", use=USE)
                } - {"unwritten read"}


STOPS = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 32;
@%p1 st.volatile.shared.u32 [flag], 0;
bar.sync 0;
@%p1 bra STOP;
mov.u32 %r2, 0;
WORK:
ld.volatile.shared.u32 %r3, [flag];
{made}
setp.ne.u32 %p2, %r3, 0;
@%p2 bra DONE;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 50;
@%p2 bra WORK;
bra DONE;
STOP:
st.volatile.shared.u32 [flag], 1;
DONE:
ret;
"""
"""A warp works until another one sets a flag, or it is done: it does not wait."""


@pytest.mark.parametrize("made, told", [("", False), ("and.b32 %r3, %r3, 1;", False),
                                        ("shfl.sync.idx.b32 %r3, %r3, 0, 31, -1;", False),
                                        ("st.global.u32 [%rd1], %r3;", True),
                                        ("mul.wide.u32 %rd2, %r3, 4; add.s64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], 7;",
                                         True)])
def test_a_volatile_flag_that_only_decides_where_threads_go_needs_no_order(made, told):
    kinds = {hazard.kind for hazard in found(STOPS, made=made.replace(";", ";\n"))} - {"unwritten read"}
    assert ("read after write" in kinds) == told and "lane race" not in kinds


UNTIL = """
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
setp.eq.u32 %p2, %r1, 40;
mov.u32 %r2, 0;
AGAIN:
{ahead}
@%p1 st.volatile.shared.u32 [flag], 0;
bar.sync 0;
setp.lt.and.u32 %p3, %r2, 2, %p2;
@%p3 st.volatile.shared.u32 [flag], 1;
add.u32 %r2, %r2, 1;
bar.sync 0;
ld.volatile.shared.u32 %r3, [flag];
setp.ne.u32 %p4, %r3, 0;
{goes_on}
ret;
"""
"""A block goes on until no thread of it has set a flag, which is set back at the beginning of each round."""


@pytest.mark.parametrize("goes_on", ["@%p4 bra AGAIN;", "@!%p4 bra DONE; bra AGAIN; DONE:"])
def test_a_volatile_flag_that_decides_who_comes_to_a_barrier_must_be_ordered(goes_on):
    bad, good = ({hazard.kind for hazard in found(UNTIL, ahead=ahead, goes_on=goes_on)} for ahead in ("", BARRIER))
    assert "write after read" in bad and not good


HANDED = """
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
@%p1 st.volatile.shared.u32 [flag], 0;
bar.sync 0;
mul.lo.u32 %r2, %r1, 4;
mov.u32 %r3, data;
add.u32 %r2, %r2, %r3;
setp.lt.u32 %p2, %r1, 32;
@%p2 bra GIVE;
WAIT:
ld.volatile.shared.u32 %r4, [flag];
setp.eq.u32 %p3, %r4, 0;
@%p3 bra WAIT;
{acquired}
ld.volatile.shared.u32 %r5, [%r2+-128];
st.shared.u32 [%r2], %r5;
bra DONE;
GIVE:
st.volatile.shared.u32 [%r2], %r1;
bar.warp.sync -1;
{released}
@%p1 st.volatile.shared.u32 [flag], 1;
DONE:
ret;
"""
"""One warp hands its numbers to another one by a flag."""


ANEW = HANDED.replace("WAIT:\nld.volatile.shared.u32 %r4, [flag];",
                      "WAIT:\nmov.u32 %r6, flag;\nadd.u32 %r7, %r6, 0;\nld.volatile.shared.u32 %r4, [%r7];")
"""The same, and each round computes the flag's address again, as nvcc -G makes it."""


@pytest.mark.parametrize("text", [HANDED, ANEW])
@pytest.mark.parametrize("released, acquired, kinds", [("membar.cta;", "membar.cta;", set()),
                                                       ("", "membar.cta;", {"missing fence"}),
                                                       ("membar.cta;", "", {"missing fence"})])
def test_volatile_data_behind_a_volatile_flag_want_fences_and_no_barrier(released, acquired, kinds, text):
    assert {hazard.kind for hazard in found(text, released=released, acquired=acquired)} == kinds


ROUNDS = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
@%p1 st.volatile.shared.u32 [data], 7;
{between}
mov.u32 %r2, 0;
mov.u32 %r3, 0;
AGAIN:
ld.volatile.shared.u32 %r4, [data];
add.u32 %r3, %r3, %r4;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, {rounds};
@%p2 bra AGAIN;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r3;
ret;
"""
"""A loop that ends after some rounds, whatever it reads."""


@pytest.mark.parametrize("rounds", ["5", "%ntid.x"])
def test_a_loop_that_reads_volatile_data_and_does_not_go_on_by_them_does_not_wait(rounds):
    bad, good = ({hazard.kind for hazard in found(ROUNDS, between=between, rounds=rounds)} for between in ("", BARRIER))
    assert "read after write" in bad and not good


SET = """
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
setp.eq.u32 %p2, %r1, 40;
@%p1 st.volatile.shared.u32 [flag], {first};
{between}
@%p2 st.volatile.shared.u32 [flag], {second};
ret;
"""
"""Two warps store to a flag, perhaps other values."""


@pytest.mark.parametrize("first, second, between, told", [
    (0, 1, "", True), (0, 1, BARRIER, False), (1, 1, "", False), (0, 1, "bar.warp.sync -1;", True),
    (0, 1, "@%p2 ld.volatile.shared.u32 %r2, [flag+4];", True)])
def test_volatile_stores_of_other_values_by_two_warps_must_be_ordered(first, second, between, told):
    kinds = {hazard.kind for hazard in found(SET, first=first, second=second, between=between)} - {"unwritten read"}
    assert kinds == ({"write after write"} if told else set())


TURNS = """
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 31;
shr.u32 %r3, %r1, 5;
setp.ne.u32 %p1, %r2, 0;
setp.eq.u32 %p2, %r1, 0;
@%p2 st.volatile.shared.u32 [flag], 0;
bar.sync 0;
@%p1 bra DONE;
mov.u32 %r4, 0;
WAIT:
ld.volatile.shared.u32 %r5, [flag];
setp.ne.u32 %p3, %r5, %r3;
@%p3 bra WAIT;
xor.b32 %r6, %r3, 1;
st.volatile.shared.u32 [flag], %r6;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p3, %r4, 5;
@%p3 bra WAIT;
DONE:
ret;
"""
"""Two warps hand a turn to one another."""


def test_who_has_waited_for_a_volatile_flag_may_set_it_back():
    assert not found(TURNS)
