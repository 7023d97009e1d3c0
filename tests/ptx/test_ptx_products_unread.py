"""Products of matrices whose results nothing reads: ptxas leaves them out, with the loads of shared memory that only they
need (seen in the SASS of ptxas 13.0)."""

import numpy as np
import pytest

from simlayout import ptx

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
.reg .b32 %r<40>; .reg .f32 %f<9>; .reg .b64 %a, %b;
.shared .align 16 .b8 s[1024];
mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.b32 %r3, s; add.s32 %r2, %r2, %r3;
st.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1}; st.shared.v4.b32 [%r2+512], {%r1, %r1, %r1, %r1}; bar.sync 0;
ld.param.u64 %a, [out]; mul.wide.u32 %b, %r1, 4; add.s64 %a, %a, %b;
"""
FRAGMENTS = """ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];
ld.shared.b32 %r8, [%r2]; ld.shared.b32 %r9, [%r2+4];
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  {%f1, %f2, %f3, %f4}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f1, %f2, %f3, %f4};
"""
A = ", ".join(f"%r{i}" for i in range(4, 12))
B = ", ".join(f"%r{i}" for i in range(12, 20))
C = ", ".join(f"%f{i}" for i in range(1, 9))
WHOLE = f"""wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {{{A}}}, [%r3], 16;
wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {{{B}}}, [%r3], 16;
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {{{C}}}, {{{A}}}, {{{B}}}, {{{C}}};
"""
ZEROS = "".join(f"mov.f32 %f{i}, 0f00000000; " for i in range(1, 9))
LEFT = {"ld": 0, "ldmatrix": 0}


def totals(body):
    trace = ptx.load(HEAD + ZEROS + body + "ret; }").entry().run(1, 32, np.zeros(32, np.float32))
    return {name: trace.totals()[name] for name in LEFT}, trace.notes


@pytest.mark.parametrize("body", [FRAGMENTS, WHOLE, WHOLE[: WHOLE.index("wmma.mma")]], ids=["mma", "wmma", "wmma.load"])
def test_loads_that_only_a_product_needs_whose_results_nothing_reads_count_nothing(body):
    counted, notes = totals(body)
    assert counted == LEFT
    assert any("whose result nothing needs" in note for note in notes)


@pytest.mark.parametrize("body", [FRAGMENTS, WHOLE], ids=["mma", "wmma"])
def test_loads_count_where_one_element_of_the_product_is_stored(body):
    counted, notes = totals(body + "st.global.f32 [%a], %f1;")
    assert counted["ldmatrix"] and not notes


def test_a_product_that_only_another_one_takes_counts_if_that_one_is_stored():
    twice = FRAGMENTS + "cvt.rn.f16x2.f32 %r20, %f1, %f2;" + FRAGMENTS.replace("%r4,", "%r20,").replace("ldmatrix", "//")
    assert totals(twice)[0] == LEFT
    assert totals(twice + "st.global.f32 [%a], %f3;")[0]["ldmatrix"]
