"""Loads of any memory whose results nothing needs: ptxas leaves them out, so they read nothing and count nothing."""

import numpy as np
import pytest
from machine_code import debugged, listed_each, needs_tools
from ptx_texts import module

from simlayout import ptx

HEAD = """.shared .align 16 .b8 s[512]; .local .align 8 .b8 l[8]; .const .align 8 .b8 c[8]; .reg .f64 %x<3>;
ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
mov.u32 %r2, s; cvt.u64.u32 %rd3, %r2; cvta.shared.u64 %rd4, %rd3; mov.u64 %rd5, 0;
setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [%r2], %r1; bar.sync 0;
"""
STORE = "st.global.u32 [%rd1], %r1; ret;"
NULL, NEAR = "[%rd5]", "[%rd4]"
MATRIX = [".reg .b32 %w<8>; wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
          "{%w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7}, [s], 16;", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [s];"]
LEFT_OUT = [f"ld.global.u32 %r5, {NULL};", f"ld.global.nc.u32 %r5, {NULL};", f"ld.u32 %r5, {NULL};",
            f"ldu.global.u32 %r5, {NULL};", f"ld.relaxed.gpu.global.u32 %r5, {NULL};",
            f"ld.acquire.gpu.global.u32 %r5, {NULL};", f"ld.u32 %r5, {NEAR};", f"ld.relaxed.gpu.u32 %r5, {NEAR};",
            f"ld.global.v2.u32 {{%r5, %r6}}, {NULL};",
            f"ld.global.u64 %rd6, {NULL}; ld.global.u32 %r5, [%rd6];",
            "ld.local.u32 %r5, [l+64];", "ld.const.u32 %r5, [c+64];", *MATRIX,
            *(f"ld.global.u{bits} {of}, {NULL}; {opcode}.u{bits} {of}, {of}, {of};" for opcode in ("div", "rem")
              for bits, of in ((16, "%rs1"), (32, "%r5"), (64, "%rd6"))),
            *(f"ld.global.f32 %f1, {NULL}; {one}.f32 %f1, %f1{more};"
              for one, more in (("div.approx", ", %f1"), ("div.full", ", %f1"), ("rcp.approx", ""), ("sqrt.approx", ""),
                                ("rsqrt.approx", ""))),
            f"ld.global.f64 %x1, {NULL}; rsqrt.approx.ftz.f64 %x1, %x1;",
            f"ld.global.u64 %rd6, {NULL}; mapa.u64 %rd6, %rd6, 0; isspacep.shared %p1, %rd6; getctarank.u64 %r5, %rd6;",
            f"ld.global.u32 %r5, {NULL}; add.u32 %r6, %r5, 1; setp.lt.u32 %p1, %r6, 5;",
            f"mov.u32 %r6, 0; mov.u32 %r7, 0; LOOP: ld.global.u32 %r5, {NULL}; add.u32 %r6, %r6, %r5; add.u32 %r7, %r7, 1; "
            "setp.lt.u32 %p1, %r7, 10; @%p1 bra LOOP;"]
STAYS = [f"ld.volatile.global.u32 %r5, {NULL};", f"ld.mmio.relaxed.sys.global.u32 %r5, {NULL};",
         f"ld.volatile.u32 %r5, {NEAR};",
         *(f"ld.global.f32 %f2, {NULL}; {one} %f1, {of};"
           for one, of in (("sqrt.rn.f32", "%f2"), ("rcp.rz.f32", "%f2"), ("div.rn.f32", "%f2, %f2"))),
         f"ld.global.f64 %x1, {NULL}; rsqrt.approx.f64 %x1, %x1;"]
DEBUG_STAYS = [*MATRIX, "ld.relaxed.gpu.global.u32 %r5, [%rd1];", f"ld.relaxed.gpu.u32 %r5, {NEAR};"]


def launched(lines, made=lambda text: text):
    entry = ptx.load(made(module(HEAD + lines + STORE, ["u64", "u32"]))).entry()
    return entry.run(1, 32, np.zeros(32, np.uint32), 0, hazards="report")


@pytest.mark.parametrize("lines", LEFT_OUT)
def test_a_load_whose_result_nothing_needs_reads_nothing_not_even_from_a_null_pointer(lines):
    trace = launched(lines)
    assert [one.kind for one in trace.hazards] == [] and trace.totals()["ld"] == 0
    assert [one.instruction for one in trace.sectors] == ["st.global.b32"]
    assert sum("whose result nothing needs" in note for note in trace.notes) == 1


@pytest.mark.parametrize("lines", STAYS)
def test_a_volatile_load_and_one_that_a_rounded_quotient_or_root_needs_read_all_the_same(lines):
    trace = launched(lines)
    assert trace.totals()["ld"] if NEAR in lines else [one.kind for one in trace.hazards] == ["out of bounds"]
    assert not any("whose result nothing needs" in note for note in trace.notes)


@pytest.mark.parametrize("lines", DEBUG_STAYS)
def test_of_nvcc_g_a_relaxed_load_stays_and_one_of_a_matrix(lines):
    trace = launched(lines, debugged)
    assert trace.totals()["ld"] + trace.totals()["ldmatrix"] or len(trace.sectors) == 2


def test_a_result_that_a_function_returns_in_a_register_is_needed():
    text = """.version 9.0 .target sm_90 .address_size 64 .func (.reg .b32 r) f(.reg .b64 a) { ld.global.b32 r, [a]; ret; }
    .entry k(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [p]; call (%r), f, (%d); add.u32 %r, %r, 1;
    st.global.b32 [%d], %r; ret; }"""
    for made in (text, text.replace("sm_90", "sm_90, debug")):
        out = np.full(1, 41, np.uint32)
        ptx.load(made).entry().run(1, 1, out)
        assert out[0] == 42


def test_what_only_a_carry_is_made_of_is_needed():
    lines = "ld.global.u32 %r5, [%rd1]; add.cc.u32 %r6, %r5, -1; addc.u32 %r1, %r1, 0; "
    out = np.full(32, 1, np.uint32)
    ptx.load(module(HEAD + lines + STORE, ["u64", "u32"])).entry().run(1, 32, out, 0)
    assert out.tolist() == [*range(1, 33)]
    assert not launched(lines.replace("addc.u32 %r1", "addc.u32 %r6")).totals()["ld"]


@needs_tools
def test_ptxas_leaves_the_same_loads_out(tmp_path):
    def loads(lines, how=lambda text: text):
        made = listed_each([HEAD + one + STORE for one in lines], tmp_path, how)
        names = "LD", "LDG", "LDL", "LDS", "LDSM"
        return [any(op.split(".")[0] in names for op in made[HEAD + one + STORE]) for one in lines]

    assert not any(loads(LEFT_OUT)) and all(loads(STAYS))
    assert all(loads(DEBUG_STAYS, debugged)) and not any(loads(LEFT_OUT[:4], debugged))
