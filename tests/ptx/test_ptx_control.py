"""Barriers, loops and calls of PTX programs, as compilers write them."""

import inspect
import sys

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl
from simlayout.errors import AddressError, MachineError
from simlayout.machine.ptx.passes.flow import in_order

STORE = "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r5; ret;"
"""%r5 to the thread's element, where %r1 is %tid.x and %rd1 the array."""


@pytest.mark.parametrize("low, every, some, count", [(0, 1, 1, 96), (1, 0, 1, 95), (95, 0, 1, 1), (96, 0, 0, 0)])
def test_a_barrier_that_reduces_counts_the_threads_that_say_true(low, every, some, count):
    text = module(f"""
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
setp.ge.u32 %p1, %r1, {low};
bar.red.and.pred %p2, 0, %p1;
bar.red.or.pred %p3, 0, %p1;
bar.red.popc.u32 %r2, 0, %p1;
selp.u32 %r3, 1, 0, %p2;
selp.u32 %r4, 1, 0, %p3;
mad.lo.u32 %r5, %r3, 2, %r4;
mad.lo.u32 %r5, %r2, 4, %r5;
{STORE}""", ("u64",))
    out = np.zeros(96, np.uint32)
    sl.ptx.load(text).entry().run(1, 96, out)
    assert (out == 4 * count + 2 * every + some).all()


WORKERS = f"""
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mov.u32 %r5, 0;
mov.u32 %r2, 0;
setp.ne.u32 %p1, %r1, 0;
bra HEAD;
FIRST:                                      // of each turn only the first lane comes here
add.u32 %r5, %r5, 100;
st.global.u32 [%rd1], %r5;
HEAD:
add.u32 %r2, %r2, 1;
bar.sync 0;
setp.ge.u32 %p2, %r2, 3;
@%p2 bra END;
@%p1 bra HEAD;
bra FIRST;
END:
{STORE}"""
"""A loop as nvcc makes it: two ways back to its head."""


def test_lanes_that_come_back_to_the_head_of_a_loop_wait_there_for_those_who_are_still_in_it():
    out = np.zeros(64, np.uint32)
    trace = sl.ptx.load(module(WORKERS, ("u64",))).entry().run(1, 64, out)
    assert out.tolist() == [200] + [0] * 63 and not trace.hazards


SKIPPING = f"""
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mov.u32 %r5, 0;
mov.u32 %r2, 0;
HEAD:
add.u32 %r2, %r2, 1;
setp.eq.u32 %p2, %r2, 9;
@%p2 bra END;
and.b32 %r3, %r1, %r2;
setp.eq.u32 %p1, %r3, 0;
@%p1 bra HEAD;
add.u32 %r5, %r5, %r3;
and.b32 %r3, %r3, 1;
setp.eq.u32 %p1, %r3, 0;
@%p1 bra HEAD;
add.u32 %r5, %r5, 1000;
bra HEAD;
END:
{STORE}"""
"""for (i = 1; i < 9; ++i) { if (!(tid & i)) continue; sum += tid & i; if (!(tid & i & 1)) continue; sum += 1000; }"""


@pytest.mark.parametrize("hazards", ["off", "report"])
def test_a_loop_that_continues_early_executes_its_head_once_a_turn(hazards):
    out = np.zeros(32, np.uint32)
    trace = sl.ptx.load(module(SKIPPING, ("u64",))).entry().run(1, 32, out, hazards=hazards)
    assert out.tolist() == [sum((t & i) + 1000 * (t & i & 1) for i in range(1, 9)) for t in range(32)]
    counts = {line.source.split("  //")[0]: line.executions for line in trace.ptx}
    assert counts["add.u32 %r2, %r2, 1;"] == 9 and counts["add.u32 %r5, %r5, 1000;"] == 4 and "" not in counts


CALLS = """
.func (.param .b32 r) plus(.param .b64 p, .param .b32 x)
{
.reg .b32 %r<3>;
ld.param.b32 %r1, [x];
add.s32 %r2, %r1, 5;
st.param.b32 [r], %r2;
ret;
}
.func (.param .b32 r) twice(.param .b64 p, .param .b32 x)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.b64 %rd1, [p];
ld.param.b32 %r1, [x];
ld.b64 %rd2, [%rd1+TARGET];
{
.param .b64 given; .param .b32 number; .param .b32 taken;
st.param.b64 [given], %rd1; st.param.b32 [number], %r1;
call (taken), %rd2, (given, number), PROTOTYPE;
PROTOTYPE: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);
ld.param.b32 %r2, [taken];
}
shl.b32 %r3, %r2, 1;
st.param.b32 [r], %r3;
ret;
}
.global .align 8 .u64 methods[2] = {plus, twice};
"""
"""Two virtual functions, of which `twice` calls the one that stands at byte TARGET of the table."""

CALLER = f"""
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mov.u64 %rd3, methods;
cvta.global.u64 %rd3, %rd3;
{{
.param .b64 given; .param .b32 number; .param .b32 taken;
st.param.b64 [given], %rd3; st.param.b32 [number], %r1;
call (taken), twice, (given, number);
ld.param.b32 %r5, [taken];
}}
{STORE}"""


def test_virtual_functions_may_call_each_other():
    out = np.zeros(32, np.uint32)
    sl.ptx.load(module(CALLER, ("u64",), before=CALLS.replace("TARGET", "0"))).entry().run(1, 32, out)
    assert out.tolist() == [2 * (t + 5) for t in range(32)]


def test_a_virtual_function_that_calls_itself_is_refused_when_it_does():
    entry = sl.ptx.load(module(CALLER, ("u64",), before=CALLS.replace("TARGET", "8"))).entry()
    with pytest.raises(MachineError, match=r": twice calls itself, and the machine runs no recursion: write a loop$"):
        entry.run(1, 32, np.zeros(32, np.uint32))


def test_addresses_of_functions_are_even_because_the_odd_ones_are_virtual_members():
    loaded = sl.ptx.load(module(CALLER, ("u64",), before=CALLS.replace("TARGET", "0")))
    assert (loaded.variable("methods", np.uint64) % 2 == 0).all() and len(set(loaded.variable("methods", np.uint64))) == 2


ALLOCATES = """
.extern .func (.param .b64 r) malloc(.param .b64 p);
.extern .func free(.param .b64 p);
"""

ALLOCATION = f"""
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mov.u64 %rd4, {{size}};
{{{{
.param .b64 given; .param .b64 taken;
st.param.b64 [given], %rd4;
call (taken), malloc, (given);
ld.param.b64 %rd3, [taken];
}}}}
mov.u32 %r5, 7;
setp.eq.u64 %p1, %rd3, 0;
@%p1 bra END;
st.u32 [%rd3], %r1;
st.u32 [%rd3+16], %r1;
ld.u32 %r5, [%rd3];
END:
{{frees}}
{STORE}"""

FREE = "{ .param .b64 given; st.param.b64 [given], %rd3; call free, (given); }"


def allocation(size, frees):
    text = module(ALLOCATION.replace("{size}", str(size)).replace("{frees}", frees).replace("{{", "{").replace("}}", "}"),
                  ("u64",), before=ALLOCATES)
    return sl.ptx.load(text).entry()


def test_what_a_kernel_allocates_is_its_own():
    out, entry = np.zeros(64, np.uint32), allocation(20, FREE)
    assert not entry.run(1, 64, out).hazards and out.tolist() == [*range(64)]


def test_where_there_is_no_room_malloc_gives_null_and_what_was_freed_is_lent_again():
    out = np.zeros(64, np.uint32)
    allocation(1 << 20, "").run(1, 64, out)
    assert out.tolist() == [*range(8)] + [7] * 56
    entry = allocation(1 << 20, FREE)
    for _ in range(3):
        entry.run(1, 8, out)
        assert out[:8].tolist() == [*range(8)]


def test_freeing_twice_is_refused():
    with pytest.raises(AddressError, match="free: malloc gave nothing at byte 0 of the heap, or it is free already"):
        allocation(20, FREE + FREE).run(1, 32, np.zeros(32, np.uint32))


GRID_SYNC = f"""
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %ctaid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd2, %rd1, %rd2;
add.u32 %r2, %r1, 1;
st.global.u32 [%rd2], %r2;
mov.u32 %r3, %envreg1;
mov.u32 %r4, %envreg2;
mov.b64 %rd3, {{%r4, %r3}};
setp.ne.s64 %p1, %rd3, 0;
@%p1 bra VALID;
trap;
VALID:
setp.eq.u32 %p2, %r1, 0;
selp.b32 %r6, 0x7FFFFFFD, 1, %p2;
atom.add.release.gpu.u32 %r7, [%rd3+4], %r6;
WAIT:
ld.acquire.gpu.u32 %r8, [%rd3+4];
xor.b32 %r8, %r8, %r7;
setp.ge.s32 %p3, %r8, 0;
@%p3 bra WAIT;
ld.global.u32 %r5, [%rd1];
ld.global.u32 %r6, [%rd1+8];
add.u32 %r5, %r5, %r6;
add.u32 %r1, %r1, 4;
{STORE}"""
"""this_grid().sync() of cooperative groups, for 4 CTAs of a thread."""


def test_the_ctas_of_a_grid_meet_at_the_barrier_of_cooperative_groups():
    out = np.zeros(8, np.uint32)
    trace = sl.ptx.load(module(GRID_SYNC, ("u64",))).entry().run(4, 1, out, together=True)
    assert out.tolist() == [1, 2, 3, 4, 4, 4, 4, 4] and not trace.hazards


def test_without_together_the_barrier_of_the_grid_traps_and_the_error_says_why():
    entry = sl.ptx.load(module(GRID_SYNC, ("u64",))).entry()
    with pytest.raises(MachineError, match=r"aborts itself, as grid.sync\(\) does without a .* pass together=True"):
        entry.run(4, 1, np.zeros(8, np.uint32))


def test_a_kernel_that_suspends_itself_for_a_debugger_ends_there_where_a_lane_comes_to_it():
    """Under a predicate that holds in no lane it goes on; an H200 ended a kernel of FlashAttention-3 at such a line."""
    entry = sl.ptx.load(module("mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 40;\n@%p1 brkpt;\nret;")).entry()
    entry.run(1, 32)
    with pytest.raises(MachineError, match=r"brkpt: the kernel suspends itself .* \(unspecified launch failure\)") as told:
        entry.run(1, 64)
    assert str(told.value).startswith("<text>:") and "warp 1: " in str(told.value)


PARTED = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mov.u32 %r2, word;
shl.b32 %r3, %r1, 2;
add.u32 %r2, %r2, %r3;
st.shared.u32 [%r2], %r1;
setp.lt.u32 %p1, %r1, 7;
@%p1 bra FIRST;
bar.warp.sync {mask};
ld.shared.u32 %r5, [word];
bra END;
FIRST:
bar.warp.sync -1;
ld.shared.u32 %r5, [word+124];
END:
""" + STORE
"""if (tid < 7) { __syncwarp(); ... } else { __syncwarp(); ... }"""


def test_lanes_meet_at_several_warp_barriers_of_one_mask():
    out, text = np.zeros(32, np.uint32), module(PARTED.replace("{mask}", "-1"), ("u64",), before=".shared .b32 word[32];")
    trace = sl.ptx.load(text).entry().run(1, 32, out)
    assert out.tolist() == [31] * 7 + [0] * 25 and not trace.hazards
    assert [line.executions for line in trace.ptx if "bar.warp.sync" in line.source] == [1, 1]


def test_lanes_at_warp_barriers_of_different_masks_do_not_meet():
    text = module(PARTED.replace("{mask}", "0xFFFFFF80"), ("u64",), before=".shared .b32 word[32];")
    trace = sl.ptx.load(text).entry().run(1, 32, np.zeros(32, np.uint32), hazards="report")
    assert {hazard.kind for hazard in trace.hazards} == {"lane race"}


LATE = """
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
mov.u32 %r2, 0;
@%p1 bra FIRST;
MEET:
barrier.sync 0;
ret;
FIRST:
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 3000;
@%p2 bra FIRST;
st.shared.u32 [word], %r2;
bra MEET;
"""


def test_a_barrier_counts_once_however_often_its_lanes_are_asked_whether_all_have_come():
    text = module(LATE, before=".shared .align 4 .b32 word;")
    trace = sl.ptx.load(text).entry().run(1, 32, hazards="off")
    assert [line.executions for line in trace.ptx if "barrier" in line.source] == [1]


@pytest.mark.parametrize("number", [16, 2**63])
def test_a_barrier_that_no_cta_has_is_refused_in_every_step(number):
    entry = sl.ptx.load(module(f"bar.sync {number}; ret;", ())).entry()
    for hazards in ("raise", "off"):
        with pytest.raises(MachineError, match="a CTA has barriers 0 to 15"):
            entry.run(1, 64, hazards=hazards, limit=2000)


@pytest.fixture
def little_stack():
    """Room for a few calls within one another."""
    most = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 30)
    yield
    sys.setrecursionlimit(most)


def test_loops_may_be_nested_deeper_than_calls_of_python(little_stack):
    ways = {block: [block + 1] for block in range(50)} | {50: range(51)}
    assert in_order(ways, 0)[0] == [*range(51)]


@pytest.mark.parametrize("before, said", [
    ("", "lane 0 is here, its guard keeps lanes 1-31 from it:"),
    ("setp.gt.u32 %p2, %r1, 7; @%p2 bra OUT;",
     r"lane 0 is here, its guard keeps lanes 1-7 from it, lanes 8-31 have gone past it, to <text>:\d+:"),
    ("setp.gt.u32 %p2, %r1, 30; @%p2 bra OUT;",
     r"lane 0 is here, its guard keeps lanes 1-30 from it, lane 31 has gone past it, to <text>:\d+:")])
def test_a_guard_that_keeps_lanes_from_where_all_must_come_is_named(before, said):
    body = f"mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; {before}\n@%p1 bar.sync 0;\nOUT: bar.sync 0;\nret;"
    with pytest.raises(sl.HazardError, match=f"bar.sync needs lanes that do not come: {said}"):
        sl.ptx.load(module(body)).entry().run(1, 32)


LONG = """mov.u32 %r1, %tid.x; mov.u32 %r2, 0; setp.eq.u32 %p1, %r1, 0; selp.u32 %r3, 3000, 1, %p1;
BATCH: bar.sync 0; mov.u32 %r4, 0; mov.u32 %r5, 0;
INSIDE: add.u32 %r4, %r4, 1; add.u32 %r5, %r5, %r4; xor.b32 %r5, %r5, 5; setp.lt.u32 %p2, %r4, %r3; @%p2 bra INSIDE;
add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 3; {}@%p3 bra BATCH;
ld.param.u64 %rd1, [kernel_param_0]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r5; ret;"""


@pytest.mark.parametrize("hazards", ["raise", "off"])
def test_lanes_that_stand_for_long_and_come_to_the_next_barrier_before_the_others_wait_there(hazards):
    """The loop around it has a barrier at its head: whoever is still inside has not gone past that, as was told of a
    rasterizer whose pixels see 256 Gaussians each."""
    out = np.zeros(64, np.uint32)
    sl.ptx.load(module(LONG.format(""), ["u64"])).entry().run(1, 64, out, hazards=hazards)
    assert out[1] == out[63] != out[0]


def test_lanes_that_really_leave_out_such_a_barrier_are_told():
    text = module(LONG.format("@%p1 bra OUT; ").replace("ld.param", "OUT: ld.param"), ["u64"])
    sl.ptx.load(text).entry().run(1, 64, np.zeros(64, np.uint32))        # lane 0 has ended: no barrier asks for it
    text = text.replace("OUT: ", "OUT: bar.warp.sync -1; ")
    with pytest.raises(sl.HazardError, match="divergence: bar.* needs lanes that do not come"):
        sl.ptx.load(text).entry().run(1, 64, np.zeros(64, np.uint32))
