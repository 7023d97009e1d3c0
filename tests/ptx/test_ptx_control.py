"""Barriers, loops and calls of PTX programs, as compilers write them."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl

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
