"""Stores on two ways that ptxas makes one of count as one: what it does, one pattern after another."""

import numpy as np
import pytest
from machine_code import assembled_each, needs_tools
from ptx_texts import module

from simlayout import ptx

HEAD = """.reg .b32 %x<9>; .reg .b16 %h<3>; .shared .align 16 .b8 s[4096];
ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r8, 0; ld.global.u32 %r5, [%rd3+128]; mov.u32 %r6, %r5;
"""
FIRST, AGAIN = "st.shared.u32 [%r4], %r8; ", "st.shared.u32 [%r4], %r6; "
FAR = "st.shared.u32 [%r4+1024], %r1; "
BOTH = FIRST + "st.shared.u32 [%r4+4], %r8; "
TO_MEET = "ld.global.u32 %r7, [%rd3]; setp.gt.u32 %p1, %r1, %r7; @%p1 bra MEET; "
WORK = "".join(f"mad.lo.u32 %r6, %r6, %r5, {n}; xor.b32 %r6, %r6, {77 * n}; shr.u32 %r7, %r6, 3; add.u32 %r6, %r7, %r6; "
               for n in range(3, 13))
MEET = "MEET: bar.sync 0; ld.shared.u32 %x8, [%r4+16]; "
STRAIGHT = "st.global.u32 [%rd3], %x8; ret;"
GUARDED = "setp.gt.u32 %p2, %r1, 9; @%p2 st.global.u32 [%rd3], %x8; ret;"
AROUND = "ld.param.u32 %x6, [kernel_param_1]; mov.u32 %x7, 0; AROUND: "
LOADED = "ld.shared.u32 %x1, [%r4+2048]; st.global.u32 [%rd3+4], %x1; "
P3 = "setp.gt.u32 %p3, %r1, 3; "


def both(first, again, work=WORK, between="", last=GUARDED):
    return first + between + TO_MEET + work + again + MEET + last


ONCE = {
    both(FIRST, AGAIN): 1,
    both(FIRST, AGAIN, last="setp.gt.u32 %p2, %r1, 9; @%p2 ret; " + STRAIGHT): 1,
    both(FIRST, AGAIN, last=STRAIGHT): 2,
    **{both(FIRST, AGAIN, last=last).replace("@%p1 bra", "@!%p1 bra IN; bra.uni MEET; IN:", 1).replace("IN: MEET;", "IN:"): 1
       for last in (STRAIGHT, GUARDED)},
    both(FIRST, AGAIN, last="setp.gt.u32 %p2, %r1, 9; @%p2 add.u32 %x8, %x8, 1; " + STRAIGHT): 2,
    both(FIRST, AGAIN, last="setp.gt.u32 %p2, %r1, 9; @%p2 ld.global.u32 %x8, [%rd3+8]; " + STRAIGHT): 1,
    **{both(FIRST, AGAIN, last=f"{quotient} st.global.f32 [%rd3], %f2; " + STRAIGHT): many for quotient, many in {
        "div.rn.f32 %f2, %f1, %f3;": 1, "div.full.f32 %f2, %f1, %f3;": 2, "rcp.rn.f32 %f2, %f1;": 1,
        "sqrt.rn.f32 %f2, %f1;": 1, "rsqrt.approx.f32 %f2, %f1;": 2, "div.s32 %x6, %r1, %x8; mov.b32 %f2, %x6;": 1,
        "rem.u32 %x6, %r1, %x8; mov.b32 %f2, %x6;": 2}.items()},
    "setp.gt.u32 %p2, %r1, 90; @%p2 ret; " + both(FIRST, AGAIN, last=STRAIGHT): 2,
    AROUND + both(FIRST, AGAIN, last="add.u32 %x7, %x7, 1; setp.lt.u32 %p2, %x7, %x6; @%p2 bra AROUND; " + STRAIGHT): 1,
    both(FIRST, AGAIN, between="st.global.u32 [%rd3+4], %r1; "): 1,
    both(FIRST, AGAIN, work=WORK + "st.global.u32 [%rd3+4], %r6; "): 1,
    both(FIRST, AGAIN + "st.global.u32 [%rd3+4], %r6; "): 1,
    both(FIRST, AGAIN, between="shfl.sync.up.b32 %x1, %r1, 1, 0, -1; st.global.u32 [%rd3+4], %x1; "): 1,
    both(FIRST, AGAIN, between=LOADED): 2,
    both(FIRST, AGAIN, work=LOADED + WORK): 2,
    both(FIRST, AGAIN + LOADED): 2,
    LOADED + both(FIRST, AGAIN): 1,
    FAR + LOADED + both(FIRST, AGAIN): 3,
    FAR + both(FIRST, AGAIN): 3,
    FAR + "bar.sync 0; " + both(FIRST, AGAIN): 2,
    both(FIRST, AGAIN, between=FAR): 3,
    both(FIRST, AGAIN, between="bar.sync 0; "): 2,
    both(FIRST, AGAIN, between="bar.warp.sync -1; "): 2,
    both(FIRST, AGAIN, work=WORK + FAR): 3,
    both(FIRST + FAR, AGAIN + FAR): 2,
    both(FIRST + FAR, FAR + AGAIN): 4,
    both(BOTH, AGAIN): 1,
    both(BOTH, "st.shared.v2.u32 [%r4], {%r6, %r5}; "): 1,
    both(BOTH, "st.shared.u32 [%r4+4], %r6; "): 2,
    both(FIRST, "st.shared.v2.u32 [%r4], {%r6, %r5}; "): 2,
    both("st.shared.v4.u32 [%r4], {%r8, %r8, %r1, %r1}; ", "st.shared.v2.u32 [%r4], {%r6, %r5}; "): 1,
    both(FIRST, "cvt.u16.u32 %h1, %r6; st.shared.u16 [%r4], %h1; "): 2,
    both("st.volatile.shared.u32 [%r4], %r8; ", "st.volatile.shared.u32 [%r4], %r6; "): 2,
    "setp.gt.u32 %p3, %r1, 3; @%p3 " + both(FIRST, AGAIN): 2,
    both("setp.gt.u32 %p3, %r1, 3; " + FIRST, "@%p3 " + AGAIN): 2,
    both(FIRST, AGAIN, work="setp.gt.u32 %p3, %r1, 3; @%p3 ld.global.u32 %r6, [%rd3+8]; " + WORK): 2,
    both(FIRST, AGAIN, work="setp.gt.u32 %p3, %r1, 3; @%p3 add.u32 %r6, %r6, 9; " + WORK): 1,
    both(FIRST, AGAIN, work=WORK + "AGAIN: add.u32 %r6, %r6, 100000; setp.lt.u32 %p3, %r6, 77; @%p3 bra AGAIN; "): 2,
    both(FIRST, AGAIN, work=WORK + "add.u32 %r4, %r4, 32; "): 2,
    both(FIRST, AGAIN, work=P3 + "@%p3 mov.u32 %r6, 9; " + WORK): 1,
    both(FIRST, AGAIN, between=P3 + "mov.u32 %x1, 7; @%p3 ld.global.u32 %x1, [%rd3+8]; st.global.u32 [%rd3+4], %x1; "): 2,
    P3 + "@%p3 bra MEET; " + both(FIRST, AGAIN): 2,
    both(FAR + LOADED + FIRST, FAR + AGAIN): 4,
    both(FIRST + FAR, AGAIN + "st.shared.u32 [%r4+2048], %r1; "): 4,
    FAR + P3 + "mov.u32 %x1, 7; @%p3 ld.shared.u32 %x1, [%r4+2048]; st.global.u32 [%rd3+4], %x1; " + both(FIRST, AGAIN): 2,
    both("st.shared.v2.u32 [%r4], {%r8, %r8}; ", AGAIN + "st.shared.u32 [%r4+4], %r5; "): 1,
    both("st.shared.u32 [s+64], %r8; ", "st.shared.u32 [s+68], %r6; "): 2,
    both("mov.u32 %x5, s+64; st.shared.u32 [%x5], %r8; ", "st.shared.u32 [s+64], %r6; "): 1,
    both("add.u32 %x5, %r4, 8; st.shared.u32 [%x5], %r8; ", "st.shared.u32 [%r4+8], %r6; "): 1,
    both(FIRST, "add.u32 %x5, %r4, 16; st.shared.u32 [%x5+-16], %r6; "): 1,
}
"""Lines of PTX -> how many stores of shared memory the SASS has."""


@pytest.mark.parametrize("lines", ONCE)
def test_stores_on_two_ways_count_as_what_they_become(lines):
    x = np.arange(128, dtype=np.uint32)[::-1] % 32
    trace = ptx.load(module(HEAD + lines, ["u64", "u32"])).entry().run(1, 32, x.copy(), 9, hazards="off")
    stores = sum(c.instructions for c in trace.lines if c.instruction.startswith("st.shared"))
    assert stores == ONCE[lines] * (9 if "AROUND" in lines else 1)


@needs_tools
def test_ptxas_makes_so_many_stores_of_them(tmp_path):
    made = assembled_each([HEAD + lines for lines in ONCE], tmp_path)
    found = {lines: sum(many for name, many in made[HEAD + lines].items() if name.startswith("STS")) for lines in ONCE}
    assert found == ONCE
