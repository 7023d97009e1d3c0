"""Of PTX of `nvcc -G`, of which ptxas makes nothing better, every access counts as it is, and nothing is fused."""

import numpy as np
import pytest
from machine_code import assembled, debugged, listed_each, needs_tools, of_class
from nvcc import needs_nvcc, ptx_of
from ptx_texts import module

from simlayout import ptx

HEAD = """.shared .align 16 .b8 s[4096]; .reg .b32 %x<9>;
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r1, [kernel_param_1];
mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 16; add.s64 %rd1, %rd1, %rd2; mov.u32 %r4, s; mad.lo.u32 %r5, %r2, 16, %r4;
mov.u32 %x0, 1; mov.u32 %x1, 2; setp.lt.u32 %p1, %r2, %r1;
"""
KEEP = "st.global.v2.u32 [%rd1], {%x0, %x1}; "
LINES = {
    "ld.shared.u32 %x0, [%r5]; @!%p1 bra $on; red.global.add.u32 [%rd1+8], %x0; $on: ": "LDS BRA",
    "ld.shared.u32 %x0, [%r5]; ld.shared.u32 %x1, [%r5+4]; " + KEEP: "LDS LDS",
    "ld.shared.u32 %x0, [%r5]; ld.shared.u32 %x1, [%r5]; " + KEEP: "LDS LDS",
    "ld.shared.v4.u32 {%x0, %x3, %x4, %x5}, [%r5]; " + KEEP: "LDS.128",
    "ld.shared.u32 %x0, [%r5]; ": "",
    "st.shared.u32 [%r5], %r2; st.shared.u32 [%r5+4], %r2; ": "STS STS",
    "st.shared.u32 [%r5], %r2; st.shared.u32 [%r5], %r1; ": "STS STS",
    "st.shared.u32 [%r5], %r2; ld.shared.u32 %x0, [%r5]; " + KEEP: "STS LDS",
    "red.shared.add.u32 [%r5], 1; ": "ATOMS.ADD",
    "red.shared.add.u32 [s], %r2; ": "ATOMS.ADD",
    "ld.global.f32 %f1, [%rd1]; mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, %f1; st.global.f32 [%rd1], %f3; ": "FMUL FADD",
}
"""Lines -> what ptxas makes of them."""
NAMES = {"ld.shared.b32": "LDS", "ld.shared.b128": "LDS.128", "st.shared.b32": "STS", "red.shared.add.u32": "ATOMS.ADD"}


def body(lines):
    return HEAD + lines + "ret;"


def entry_of(lines):
    return ptx.load(debugged(module(body(lines), ["u64", "u32"]))).entry()


@pytest.mark.parametrize("lines", LINES)
def test_nothing_is_joined_moved_left_out_or_fused(lines):
    entry = entry_of(lines)
    trace = entry.run(1, 32, np.zeros((32, 4), np.uint32), 0, hazards="off")
    found = [NAMES[one.instruction] for one in trace.accesses for _ in range(one.instructions)]
    wanted = LINES[lines].split()
    assert sorted(found) == sorted(one for one in wanted if one in NAMES.values())
    assert ("fma.rn.f32" in (step.name for step in entry.program.steps)) == ("FFMA" in wanted)


def test_atomics_of_lanes_that_share_a_word_take_turns():
    trace = entry_of("red.shared.add.u32 [s], 1; ").run(1, 32, np.zeros((32, 4), np.uint32), 0, hazards="off")
    assert trace.total().wavefronts == 32


@needs_tools
def test_ptxas_makes_this_of_them(tmp_path):
    made = listed_each([body(lines) for lines in LINES], tmp_path, debugged)
    named = {"LDS", "STS", "ATOMS", "FADD", "FMUL", "FFMA", "REDUX", "BRA"}
    for lines, wanted in LINES.items():
        opcodes = made[body(lines)]
        assert [one for one in opcodes[:opcodes.index("EXIT")] if one.split(".")[0] in named] == wanted.split(), lines


VARIABLES = """
extern "C" __global__ void k() {
    __shared__ alignas(16) unsigned s[128];
    s[threadIdx.x * 4] = threadIdx.x;
    unsigned at = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x * 4]), one, a, b, c, d;
    float x = 0, y = 0, z = 0, w = 0;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(one) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %5}, "
                 "{%0, %1, %2, %3};" : "+f"(x), "+f"(y), "+f"(z), "+f"(w) : "r"(a), "r"(b), "r"(c), "r"(d));
}
"""


NAMED = VARIABLES[:VARIABLES.index("    asm volatile")] + """
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at));
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at + 4));
    y = x;
}
"""


@needs_nvcc
@needs_tools
def test_what_is_loaded_into_a_register_that_a_debugger_is_told_of_counts_even_if_no_instruction_reads_it(tmp_path):
    text = ptx_of(NAMED, tmp_path, "-G", arch="sm_90").read_text()
    trace = ptx.load(text)["k"].run(1, 32, hazards="report")
    assert sum(one.instructions for one in trace.accesses if one.instruction.startswith("ld.")) == 2
    assert of_class(assembled(text, tmp_path)[1], "LDS") == 2


@needs_nvcc
@needs_tools
def test_what_is_loaded_into_a_variable_that_nothing_reads_counts_as_ptxas_loads_it_for_the_debugger(tmp_path):
    text = ptx_of(VARIABLES, tmp_path, "-G", arch="sm_90").read_text()
    _, opcodes = assembled(text, tmp_path)
    trace = ptx.load(text)["k"].run(1, 32, hazards="report")
    found = {name: sum(one.instructions for one in trace.accesses if one.instruction.startswith(f"{name}."))
             for name in ("ld", "ldmatrix")}
    assert found == {"ld": of_class(opcodes, "LDS"), "ldmatrix": of_class(opcodes, "LDSM")} == {"ld": 1, "ldmatrix": 1}
