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
