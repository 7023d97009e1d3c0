"""Local memory: what nothing has written may be moved, but not used."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl

BODY = """
.local .align 8 .b8 a[16];
.local .align 8 .b8 b[16];
ld.param.u64 %rd1, [kernel_param_0];
cvta.to.global.u64 %rd3, %rd1;
mov.u32 %r1, 7;
mov.u16 %rs1, 3;
{code}
ret;
"""

HALF = "st.local.u16 [a], %rs1;"
FULL = "st.local.u32 [a], %r1;"

MOVED = {
    "a structure with a gap to local memory": HALF + "ld.local.u32 %r2, [a]; st.local.u32 [b], %r2;",
    "a gap alone to local memory": HALF + "ld.local.u16 %rs2, [a+2]; st.local.u16 [b+2], %rs2;",
    "a structure with a gap to global memory": HALF + "ld.local.u32 %r2, [a]; st.global.u32 [%rd3], %r2;",
    "bytes of which one is a gap": HALF + "ld.local.v4.u8 {%rs2, %rs3, %rs4, %rs5}, [a]; "
                                         "st.global.v4.u8 [%rd3], {%rs2, %rs3, %rs4, %rs5};",
    "a bit-field beside others": "ld.local.u32 %r2, [a]; and.b32 %r3, %r2, -8; or.b32 %r4, %r3, 5; st.local.u32 [a], %r4;",
    "one side of a ?:": "ld.local.u32 %r2, [a]; setp.eq.u32 %p1, %r1, 7; selp.b32 %r3, %r1, %r2, %p1; "
                        "st.global.u32 [%rd3], %r3;",
    "an element of a vector that nothing reads": FULL + "ld.local.v2.u32 {%r2, %r3}, [a]; add.u32 %r4, %r2, 1; "
                                                        "st.global.u32 [%rd3], %r4;"}

USED = {
    "stored in global memory": "ld.local.u32 %r2, [a]; st.global.u32 [%rd3], %r2;",
    "masked and stored in global memory": "ld.local.u32 %r2, [a]; and.b32 %r3, %r2, 255; st.global.u32 [%rd3], %r3;",
    "stored by a generic address": "ld.local.u32 %r2, [a]; st.u32 [%rd1], %r2;",
    "added": "ld.local.u32 %r2, [a]; add.u32 %r3, %r2, 1; st.local.u32 [b], %r3;",
    "masked and then added": "ld.local.u32 %r2, [a]; and.b32 %r3, %r2, 7; add.u32 %r4, %r3, 1; st.local.u32 [b], %r4;",
    "half a number": HALF + "ld.local.u32 %r2, [a]; add.u32 %r3, %r2, 1; st.global.u32 [%rd3], %r3;",
    "an address": "ld.local.u64 %rd4, [a]; st.local.u64 [b], %rd4; and.b64 %rd4, %rd4, 0; add.u64 %rd5, %rd1, %rd4; "
                  "st.global.u32 [%rd5], %r1;",
    "a condition": "ld.local.u32 %r2, [a]; setp.eq.u32 %p1, %r2, 7; @%p1 st.global.u32 [%rd3], %r1;"}


def found(code):
    trace = sl.ptx.load(module(BODY.format(code=code.replace("; ", ";\n")), ("u64",))).entry().run(
        1, 32, np.zeros(32, np.uint32), hazards="report")
    return [hazard.kind for hazard in trace.hazards if hazard.kind == "unwritten read"]


@pytest.mark.parametrize("name", MOVED)
def test_what_nothing_has_written_may_be_moved(name):
    assert not found(MOVED[name])


@pytest.mark.parametrize("name", USED)
def test_what_nothing_has_written_may_not_be_used(name):
    assert found(USED[name])


def test_what_has_been_written_may_leave_local_memory():
    assert not found("st.local.u32 [a], %r1; ld.local.u32 %r2, [a]; st.global.u32 [%rd3], %r2;")
