"""Data and flags that are strong accesses alone: a fence missing between the two stores, or the two loads, is told."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl

PASSED_ON = """
.shared .align 4 .b8 kept[8];
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 31;
shr.u32 %r1, %r1, 5;
{who}
setp.ne.u32 %p1, %r2, 0;
setp.eq.u32 %p2, %r1, 0;
{clear}
@%p1 bra DONE;
@%p2 bra WRITE;
WAIT:
{wait}
setp.eq.u32 %p3, %r3, 0;
@%p3 bra WAIT;
{read}
st.global.u32 [%rd1+64], %r4;
bra.uni DONE;
WRITE:
{store}
{fence}
{set}
DONE:
{after}
ret;
"""
"""The first of two warps, or CTAs, stores data and sets a flag; the second waits for the flag, and reads the data."""

CLEAR = "@%p2 st.shared.u32 [kept], 0; @%p2 st.shared.u32 [kept+4], 0; bar.sync 0;"

WHERE = {"warps, shared memory": ({"who": "", "clear": CLEAR, "at": "kept", "space": "shared"}, (1, 64)),
         "warps, global memory": ({"who": "", "clear": "", "at": "%rd1", "space": "global"}, (1, 64)),
         "CTAs": ({"who": "mov.u32 %r1, %ctaid.x;", "clear": "", "at": "%rd1", "space": "global"}, (2, 32))}

PARTS = {"wait": "ld.volatile.{space}.u32 %r3, [{at}];", "read": "ld.volatile.{space}.u32 %r4, [{at}+4];",
         "store": "st.volatile.{space}.u32 [{at}+4], 7;", "fence": "",
         "set": "st.volatile.{space}.u32 [{at}], 1;", "after": ""}


def found(where, together=False, **parts):
    how, shape = WHERE[where]
    text = PASSED_ON
    for name, part in {**PARTS, **parts, **how}.items():
        text = text.replace(f"{{{name}}}", part)
    out = np.zeros(32, np.uint32)
    trace = sl.ptx.load(module(text.replace("; ", ";\n"), ["u64"])).entry().run(*shape, out, hazards="report",
                                                                                together=together)
    assert out[16] == 7
    return trace.hazards


FENCED = {
    "membar": {"fence": "membar.gl;"},
    "a fence.acq_rel": {"fence": "fence.acq_rel.gpu;"},
    "a store that releases": {"set": "st.release.gpu.{space}.u32 [{at}], 1;"},
    "an atomic that releases": {"set": "atom.release.gpu.{space}.exch.b32 %r5, [{at}], 1;"},
}

ACQUIRED = {
    "membar": {"read": "membar.gl; " + PARTS["read"]},
    "a load that acquires": {"wait": "ld.acquire.gpu.{space}.u32 %r3, [{at}];"},
    "a wait by atomics": {"wait": "atom.{space}.or.b32 %r3, [{at}], 0;"},           # behind which no fence is asked for
}

UNFENCED = {
    "nothing": {},
    "a fence that comes too early": {"store": "membar.gl; " + PARTS["store"]},
    "a fence that comes too late": {"after": "membar.gl;"},
    "the reader's fence alone": {"read": "membar.gl; " + PARTS["read"]},
    "a read that acquires alone": {"wait": "ld.acquire.gpu.{space}.u32 %r3, [{at}];"},
    "relaxed accesses": {"wait": "ld.relaxed.gpu.{space}.u32 %r3, [{at}];", "set": "st.relaxed.gpu.{space}.u32 [{at}], 1;"},
    "a wait by atomics": {"wait": "atom.{space}.or.b32 %r3, [{at}], 0;"},
    "a flag that is an atomic": {"set": "red.{space}.add.u32 [{at}], 1;"},
    "a look before the loop": {"wait": "ld.volatile.{space}.u32 %r3, [{at}]; setp.ne.u32 %p4, %r3, 0; @%p4 bra READ; "
                                       "AGAIN: ld.volatile.{space}.u32 %r3, [{at}]; setp.eq.u32 %p4, %r3, 0; "
                                       "@%p4 bra AGAIN; READ:"},
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("reader", ACQUIRED.values(), ids=ACQUIRED)
@pytest.mark.parametrize("parts", FENCED.values(), ids=FENCED)
def test_fences_between_the_two_stores_and_the_two_loads_order_them(parts, reader, where):
    assert not found(where, **parts, **reader) and not found(where, together=True, **parts, **reader)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("late", [{}, {"read": PARTS["read"] + " membar.gl;"}])
@pytest.mark.parametrize("parts", FENCED.values(), ids=FENCED)
def test_a_fence_that_is_missing_between_the_two_loads_is_told(parts, late, where):
    for together in (False, True):
        hazard, = found(where, together=together, **parts, **late)
        assert hazard.kind == "missing fence" and "between the load that has waited for it and this one" in hazard.text
        assert hazard.second.instruction.startswith("ld.volatile") and hazard.bytes[0] == 4


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("parts", UNFENCED.values(), ids=UNFENCED)
def test_a_fence_that_is_missing_between_data_and_flag_is_told(parts, where):
    for together in (False, True):
        hazard, = found(where, together=together, **parts)
        assert hazard.kind == "missing fence" and hazard.first.instruction.startswith("st.volatile")
        assert hazard.second.instruction.startswith("ld.volatile") and "put a membar.gl between them" in hazard.text
        assert len(hazard.bytes) == 4 and hazard.bytes[0] == 4 and "between these two stores" in hazard.text


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("parts", [{"fence": "membar.cta;"}, {"set": "st.release.cta.{space}.u32 [{at}], 1;"}])
def test_a_fence_of_the_block_is_enough_within_it_alone(parts, where):
    kinds = [hazard.kind for hazard in found(where, read="membar.cta; " + PARTS["read"], **parts)]
    assert bool({"missing fence", "global race"}.intersection(kinds)) == (where == "CTAs") and len(kinds) <= 2


NO_DATA = {
    "what atomics count": {"store": "red.{space}.add.u32 [{at}+4], 7;"},
    "what is read by an atomic": {"read": "atom.{space}.add.u32 %r4, [{at}+4], 0;"},
    "what the flag itself says": {"set": "st.volatile.{space}.u32 [{at}], 7;",
                                  "read": "ld.volatile.{space}.u32 %r4, [{at}];"},
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("parts", NO_DATA.values(), ids=NO_DATA)
def test_no_fence_is_asked_for_between_a_flag_and(parts, where):
    assert not found(where, **parts)


def test_no_fence_is_asked_for_where_a_barrier_has_ordered_the_data():
    early = "@%p1 bra MEET; @!%p2 bra MEET; " + PARTS["store"] + " MEET: bar.sync 0;"
    for where in ("warps, shared memory", "warps, global memory"):
        how, shape = WHERE[where]
        text = PASSED_ON.replace("{clear}", how["clear"] + early).replace("{store}", "")
        for name, part in {**PARTS, **how}.items():
            text = text.replace(f"{{{name}}}", part)
        out = np.zeros(32, np.uint32)
        trace = sl.ptx.load(module(text.replace("; ", ";\n"), ["u64"])).entry().run(*shape, out, hazards="report")
        assert not trace.hazards and out[16] == 7


LAST = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %ctaid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd2, %rd2, %rd1;
st.volatile.global.u32 [%rd2+4], 5;
{fence}
{meet}
atom.global.add.u32 %r2, [%rd1], 1;
setp.ne.u32 %p1, %r2, 3;
@%p1 ret;
ld.volatile.global.u32 %r3, [%rd1+4];
ld.volatile.global.u32 %r4, [%rd1+12];
add.u32 %r3, %r3, %r4;
st.global.u32 [%rd1+64], %r3;
ret;
"""


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("meet", ["", "bar.sync 0;"])
@pytest.mark.parametrize("counts", ["setp.ne.u32 %p1, %r2, 3;", "setp.lt.u32 %p1, %r2, 3;"])
def test_the_last_block_that_counts_reads_what_others_have_fenced(counts, meet, together):
    """The example of the CUDA C++ Programming Guide, Memory Fence Functions: `volatile float* result`."""
    for fence in ("membar.gl;", ""):
        text = LAST.replace("setp.ne.u32 %p1, %r2, 3;", counts).format(fence=fence, meet=meet)
        entry = sl.ptx.load(module(text, ["u64"])).entry()
        out = np.zeros(32, np.uint32)
        trace = entry.run(4, 1, out, hazards="report", together=together)
        assert out[16] == 10 and [hazard.kind for hazard in trace.hazards] == ["missing fence"] * (0 if fence else 2)


FETCH = """
ld.param.u64 %rd1, [kernel_param_0];
{first}
NEXT:
{fetch}
setp.ge.u32 %p1, %r2, 40;
@%p1 ret;
mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd2, %rd2, %rd1;
ld.volatile.global.u32 %r3, [%rd1+4];
st.global.u32 [%rd2+8], %r3;
{asks}
@%p2 st.volatile.global.u32 [%rd1+4], 1;
bra.uni NEXT;
"""
"""Threads fetch work by a counter, and look at a mark that they set."""

FETCHES = {
    "a thread": "atom.global.add.u32 %r2, [%rd1], 1;",
    "a warp": "@%p2 atom.global.add.u32 %r2, [%rd1], 1; shfl.sync.idx.b32 %r2, %r2, 0, 31, -1;",
    "a block": "bar.sync 0; @%p2 atom.global.add.u32 %r2, [%rd1], 1; @%p2 st.shared.u32 [next], %r2; bar.sync 0; "
               "ld.shared.u32 %r2, [next];",
}


@pytest.mark.parametrize("who", FETCHES)
def test_an_atomic_that_hands_out_work_says_nothing_of_what_others_have_stored(who):
    first = "mov.u32 %r1, %tid.x; setp.eq.u32 %p2, %r1, 0;"
    for asks, kinds in (("", set()), ("setp.eq.u32 %p3, %r2, 39;", {"missing fence"})):
        text = FETCH.format(first=first, fetch=FETCHES[who], asks=asks).replace("; ", ";\n")
        made = sl.ptx.load(module(text, ["u64"], before=".shared .align 4 .b32 next;")).entry()
        trace = made.run(2, 1 if who == "a thread" else 32, np.zeros(64, np.uint32), hazards="report", together=True)
        assert {hazard.kind for hazard in trace.hazards} == kinds
