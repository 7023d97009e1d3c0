"""Registers that nothing has written: told where what a launch does depends on them, and nowhere else."""

import numpy as np
import pytest
from hypothesis import strategies as st
from nvcc import needs_nvcc, ptx_of
from ptx_texts import module
from tiers import given_few

import simlayout as sl
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.unset import unset

HEAD = """
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u32 %r1, [kernel_param_1];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd2, %rd2, %rd1;
setp.lt.u32 %p1, %r2, %r1;
"""
STORE = "st.global.u32 [%rd2], %r5;"

BAD = {
    "a sum": "add.u32 %r5, %r6, 1;" + STORE,
    "a value on one way": "@%p1 mov.u32 %r5, 1;" + STORE,
    "a branch": "@!%p1 bra ON; mov.u32 %r5, 1; ON:" + STORE,
    "a predicate": "selp.u32 %r5, 1, 2, %p2;" + STORE,
    "how often a loop runs": "mov.u32 %r5, 0; L: add.u32 %r5, %r5, 1; add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 9; "
                             "@%p3 bra L;" + STORE,
    "an address": "mul.wide.u32 %rd3, %r6, 4; add.s64 %rd3, %rd3, %rd1; ld.global.u32 %r5, [%rd3+128];" + STORE,
    "64 bits": "add.u64 %rd4, %rd5, 1; cvt.u32.u64 %r5, %rd4;" + STORE,
    "16 bits": "add.u16 %rs1, %rs2, 1; cvt.u32.u16 %r5, %rs1;" + STORE,
    "a float": "add.f32 %f1, %f2, 0f3F800000; mov.b32 %r5, %f1;" + STORE,
    "a shuffle": "shfl.sync.bfly.b32 %r5, %r6, 1, 31, -1;" + STORE,
}
GOOD = {
    "a value on both ways": "@%p1 mov.u32 %r5, 1; @!%p1 mov.u32 %r5, 2;" + STORE,
    "a product that is not used": "mul.lo.u32 %r6, %r7, 3; mov.u32 %r5, %r2;" + STORE,
    "what is masked": "and.b32 %r5, %r6, 0; add.u32 %r5, %r5, %r2;" + STORE,
    "what is chosen only where it has a value": "@%p1 mov.u32 %r6, 7; selp.u32 %r5, %r6, 1, %p1;" + STORE,
    "a member of a vector": "mov.u32 %r5, 1; and.b32 %r6, %r2, 1; setp.eq.u32 %p2, %r6, 0;"
                            "@%p2 st.global.v2.u32 [%rd2], {%r5, %r8};",
}


def ran(lines, n=20, **how):
    text = module(HEAD + lines.replace(";", ";\n"), ("u64", "u32"))
    out = np.zeros(64, np.uint32)
    return out, sl.ptx.load(text).entry().run(1, 32, out, n, **how)


@pytest.mark.parametrize("lines", BAD.values(), ids=BAD)
def test_a_register_is_told_that_nothing_has_written_where_something_depends_on_it(lines):
    out, trace = ran(lines, hazards="report")
    (hazard,) = trace.hazards
    assert hazard.kind == "unwritten register" and "which nothing has written on the way there" in hazard.text
    assert out.tolist() == ran(lines, hazards="off")[0].tolist()             # what it does with zeros there
    with pytest.raises(sl.HazardError, match="unwritten register"):
        ran(lines)


@pytest.mark.parametrize("lines", GOOD.values(), ids=GOOD)
def test_nothing_is_told_where_nothing_depends_on_it(lines):
    assert not ran(lines, hazards="report")[1].hazards


def test_a_register_that_has_a_value_on_every_way_that_is_gone_is_not_told():
    assert not ran(BAD["a branch"], n=32, hazards="report")[1].hazards
    assert not ran(BAD["a value on one way"], n=32, hazards="report")[1].hazards


def test_a_long_launch_is_not_executed_again(monkeypatch):
    monkeypatch.setattr("simlayout.machine.ptx.looks.unset.MOST", 5)
    assert not ran(BAD["a sum"], hazards="report")[1].hazards


NAMES = ["%r1", "%r2", "%r3"]


@st.composite
def bodies(draw):
    """Statements that move and branch, some of them guarded, of three registers and a predicate."""
    lines = []
    for at in range(draw(st.integers(1, 8))):
        guard = draw(st.sampled_from(["", "", "@%p1 "]))
        to, of = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
        to_label = draw(st.integers(0, 8))
        kind = draw(st.sampled_from(["add", "mov", "bra", "set"]))
        lines.append(f"L{at}: " + guard + {"add": f"add.u32 {to}, {of}, 1;", "mov": f"mov.u32 {to}, 1;",
                                           "set": f"setp.eq.u32 %p1, {of}, 0;", "bra": f"bra L{min(to_label, 8)};"}[kind])
    lines += [f"L{at}: " for at in range(len(lines), 9)]
    return "".join(lines) + "ret;"


@given_few(100, 3_000, bodies())
def test_what_may_be_read_unwritten_is_what_following_every_way_says(body):
    function = parse(module(body, ())).functions["kernel"]
    flow, found, seen = Flow.of(function), set(), set()
    todo = [(flow.order[0], frozenset())]
    while todo:                                          # a block, and what has been written on one way to it
        block, written = todo.pop()
        if (block, written) in seen:
            continue
        seen.add((block, written))
        for one in flow.blocks[block]:
            found |= {(name, id(one)) for name in one.reads if name not in written}
            written |= frozenset(one.writes if one.guard is None else ())
        todo += [(to, written) for to in flow.after[block]]
    assert {(register.name, id(one)) for register, readers in unset(function).items() for one in readers} == found


SUM = """
extern "C" __global__ void sums(const float *in, float *out, int n) {
    float acc;
    for (int i = 0; i < n; i++)
        acc += in[i];
    out[threadIdx.x] = acc;
}
"""


@needs_nvcc
@pytest.mark.parametrize("options", [("-lineinfo",), ("-G",)], ids=["optimized", "-G"])
def test_a_variable_of_cpp_that_has_no_value_is_told_with_its_line(tmp_path, options):
    for text, told in (SUM, True), (SUM.replace("acc;\n    for", "acc = 0;\n    for"), False):
        entry = sl.ptx.load(ptx_of(text, tmp_path, *options)).entry()
        hazards = entry.run(1, 32, np.ones(9, np.float32), np.zeros(32, np.float32), 9, hazards="report").hazards
        assert [one.kind for one in hazards] == ["unwritten register"] * told
        assert all("(kernel.cu:" in one.text for one in hazards)
