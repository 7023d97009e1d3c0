"""What comes behind an end of lanes because that is urgent, as ptxas puts it: case after case, and at random."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_code import listed_each, needs_tools
from passes_left_out import stored
from ptx_texts import module

from simlayout import ptx
from simlayout.machine.ptx.passes import gates

HEAD = """.shared .align 16 .b8 s[4096]; .reg .f32 %x<60>; .reg .b32 %a<90>;
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r8, [kernel_param_1]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;
shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
setp.gt.u32 %p1, %r1, 31; setp.ge.u32 %p2, %r1, %r8;
ld.global.f32 %f1, [%rd3]; st.shared.f32 [%r4+2048], %f1; bar.sync 0;
"""
ONE, TWO = "ld.shared.f32 %x0, [%r4]; ", "ld.shared.f32 %x0, [%r4]; ld.shared.f32 %x1, [%r4+68]; "
SUM = TWO + "add.f32 %f8, %x0, %x1; "
END, ST = "@%p1 bra $end; ", "st.global.f32 [%rd3+1024], %f8; "
ADD = "ld.global.f32 %f3, [%rd3+512]; add.f32 %f3, %f3, %f8; st.global.f32 [%rd3+1024], %f3; "
USED = "st.global.f32 [%rd3+512], %f3; "
BESIDE = "ld.global.f32 %f3, [%rd3+512]; " + USED + ST
FMA = "fma.rn.f32 {0}, {0}, {0}, {0}; "
INTO = "@!%p2 bra $in{0}; bra.uni $on{0}; $in{0}: {1}$on{0}: "
IF, ELSE = "@%p2 bra $on{0}; {1}$on{0}: ", "@%p2 bra $else{0}; {1}bra $on{0}; $else{0}: {2}$on{0}: "
THERE = "ld.shared.f32 %x9, [%r4+136]; add.f32 %f8, %f8, %x9; "


GATHERED = "ld.shared.u32 %a2, [%r4+2048]; {}ld.shared.f32 %x0, [%a4]; add.f32 %f8, %x0, %f1; "


def at(address):
    """The same of what lies at an address in %a9."""
    loads = "ld.shared.u8 %a10, [%a9]; ld.shared.u8 %a11, [%a9+68]; add.u32 %a12, %a10, %a11; cvt.rn.f32.u32 %f8, %a12; "
    return address + loads + END + ADD


CASES = {
    SUM + END + ADD: (0, 2), SUM + END + BESIDE: (0, 2), SUM + END + ST: (2, 0), SUM + "@%p1 ret; " + ADD: (0, 2),
    SUM + "@!%p1 bra $on; ret; $on: " + ADD: (0, 2), ONE + "mul.f32 %f8, %x0, %f1; " + END + ADD: (0, 1),
    **{SUM + END + f"{one} %f3, [%rd3+512]{more}; st.global.f32 [%rd3+512], %f3; " + ST: (0, 2) for one, more in (
        ("ld.global.nc.f32", ""), ("ld.relaxed.gpu.global.f32", ""), ("ld.volatile.global.f32", ""), ("ld.f32", ""),
        ("atom.global.add.f32", ", %f1"))},
    SUM + END + "red.global.add.f32 [%rd3+512], %f1; " + ST: (0, 2),
    SUM + END + "red.global.add.f32 [%rd3+512], %f8; ": (2, 0),
    SUM + END + "ld.global.f32 %f3, [%rd3+512]; " + ST: (2, 0), SUM + END + ST + "bar.sync 0; " + BESIDE: (2, 0),
    SUM + END + "prefetch.global.L2 [%rd3+512]; " + ST: (2, 0),
    "ld.global.f32 %f3, [%rd3+512]; " + SUM + END + "add.f32 %f8, %f3, %f8; " + ST: (0, 2),
    SUM + "st.global.f32 [%rd3+256], %x0; " + END + ADD: (1, 1),
    **{TWO + made + END + ADD: (0, 2) for made in (
        "ex2.approx.f32 %x0, %x0; fma.rn.f32 %f8, %x0, %x1, %f1; ", "div.full.f32 %f8, %x0, %x1; ",
        "setp.lt.f32 %p3, %x0, %x1; selp.f32 %f8, 0f3F800000, %f1, %p3; ",
        "mov.f32 %f8, %x0; setp.lt.f32 %p3, %x1, %f1; @%p3 mul.f32 %f8, %f1, %f8; ")},
    **{TWO + made + END + ADD: (2, 0) for made in (
        "add.f32 %f8, %x0, %x1; shfl.sync.bfly.b32 %f8, %f8, 1, 31, -1; ", "div.rn.f32 %f8, %x0, %x1; ")},
    SUM + "setp.lt.f32 %p3, %x0, 0fBF800000; or.pred %p1, %p1, %p3; " + END + ADD: (1, 1),
    SUM + "bar.sync 0; " + END + ADD: (2, 0), SUM + "fence.acq_rel.cta; " + END + ADD: (2, 0),
    SUM + END + "@%p2 bra $end; " + ADD: (0, 2), SUM + END + ST + "@%p2 bra $end; red.global.add.f32 [%rd3], %f1; ": (2, 0),
    SUM + IF.format(1, THERE) + END + ADD: (0, 3), SUM + IF.format(1, THERE) + END + ST: (3, 0),
    SUM + INTO.format(1, THERE) + END + ADD: (0, 3),
    SUM + IF.format(1, "st.global.f32 [%rd3+256], %f1; ") + END + ADD: (0, 2),
    SUM + ELSE.format(1, THERE, "mul.f32 %f8, %f8, %f8; ") + END + ADD: (0, 3),
    SUM + IF.format(1, THERE + "red.global.add.f32 [%rd3+256], %f1; ") + END + ADD: (3, 0),
    **{SUM + FMA.format("%f8") * ahead + END + "ld.shared.f32 %f3, [%r4+1024]; " + FMA.format("%f3") * behind + USED + ST:
       (2, 1) if ahead >= behind else (0, 3) for ahead, behind in ((0, 0), (2, 8), (8, 8), (9, 8), (20, 40))},
    SUM + FMA.format("%f8") * 40 + END + ADD: (0, 2), SUM + FMA.format("%f8") * 90 + END + BESIDE: (2, 0),
    **{GATHERED.format(address) + END + ADD: made for address, made in {
        "shl.b32 %a3, %a2, 2; add.u32 %a4, %r2, %a3; ": (1, 1), "shl.b32 %a3, %a2, 2; add.u32 %a4, %r4, %a3; ": (0, 2),
        "mad.lo.u32 %a4, %a2, 12, %r2; ": (0, 2), "add.u32 %a4, %r2, %a2; ": (2, 0)}.items()},
    "ld.shared.u32 %a2, [%r4+2048]; mov.f32 %f8, %f1; setp.gt.u32 %p3, %a2, %r1; @%p3 bra $on; shl.b32 %a3, %r1, 2; "
    "add.u32 %a4, %r2, %a3; ld.shared.f32 %f8, [%a4]; $on: " + END + ADD: (1, 1),
    **{at(address): made for made, addresses in {
        (0, 2): ("shl.b32 %a1, %r1, 2; add.u32 %a9, %r2, %a1; ", "shr.u32 %a1, %r1, 3; add.u32 %a9, %r2, %a1; ",
                 "mad.lo.u32 %a9, %r1, 12, %r2; ", "mul.lo.u32 %a1, %r1, 12; add.u32 %a9, %r2, %a1; ",
                 "add.u32 %a1, %r1, %r8; add.u32 %a9, %r2, %a1; ", "sub.u32 %a1, %r8, %r1; add.u32 %a9, %r2, %a1; ",
                 "shl.b32 %a1, %r8, 1; add.u32 %a9, %r4, %a1; ",
                 "add.u32 %a1, %r2, %r8; xor.b32 %a2, %r1, 4; add.u32 %a9, %a1, %a2; ",
                 "mad.lo.u32 %a1, %r1, 12, %r2; st.shared.u32 [%a1+1024], %r1; mov.u32 %a9, %r2; "),
        (2, 0): ("shl.b32 %a0, %r8, 2; add.u32 %a1, %r2, %a0; xor.b32 %a2, %r1, 4; add.u32 %a9, %a1, %a2; ",
                 "mov.u32 %a9, %r2; ",
                 "and.b32 %a1, %r8, 60; add.u32 %a9, %r2, %a1; ", "add.u32 %a9, %r2, %r1; ",
                 "and.b32 %a1, %r1, 252; add.u32 %a9, %r2, %a1; ", "min.u32 %a1, %r1, 64; add.u32 %a9, %r2, %a1; ",
                 "add.u32 %a1, %r1, 20; add.u32 %a9, %r2, %a1; ", "mad.lo.u32 %a1, %r1, 12, %r8; add.u32 %a9, %r2, %a1; ",
                 "shl.b32 %a1, %r1, 2; add.u32 %a2, %a1, %r8; add.u32 %a9, %r2, %a2; ",
                 "shl.b32 %a1, %r1, 2; st.global.u32 [%rd3+256], %a1; add.u32 %a9, %r2, %a1; ")}.items()
       for address in addresses},
}
"""Lines -> (loads that all warps execute, those behind an end of lanes)."""


def body(lines):
    return HEAD + lines + "$end: ret;"


def counted(lines):
    """(loads that all warps execute, those behind an end of lanes): of two warps one ends."""
    entry = ptx.load(module(body(lines), ["u64", "u32"])).entry()
    both, one = (sum(a.instructions for a in entry.run(1, block, np.zeros(4096, np.float32), 64, hazards="off").accesses
                     if a.instruction.startswith("ld.shared")) for block in (64, 32))
    return both - one, 2 * one - both


def made_of(texts, folder):
    """{lines: (loads ahead of the first end of lanes, others)} by ptxas."""
    found = {}
    for lines, opcodes in listed_each([body(lines) for lines in texts], folder).items():
        first = opcodes.index("EXIT")
        loads = [place < first for place, opcode in enumerate(opcodes) if opcode.startswith("LDS")]
        found[lines] = loads.count(True), loads.count(False)
    return {lines: found[body(lines)] for lines in texts}


@pytest.mark.parametrize("lines", CASES)
def test_loads_come_behind_an_end_of_lanes_that_is_urgent(lines):
    assert counted(lines) == CASES[lines]


@needs_tools
def test_ptxas_puts_them_behind_it(tmp_path):
    assert made_of(CASES, tmp_path) == CASES


def some(draw):
    """Lines that load and compute ahead of an end of lanes, and what is behind it. draw: one of a sequence."""
    made, values, numbers = "", ["%f1"], iter(range(10, 60))

    def value():
        return values.pop(draw(range(len(values)))) if len(values) > 1 else values[0]

    for _ in range(draw(range(1, 9))):
        new = f"%x{next(numbers)}"
        load = f"ld.shared.f32 {new}, [%r4+{12 * draw(range(99))}]; "
        kind = draw("lllllacssegxb")
        if kind == "s":
            load = f"mov.f32 {new}, %f1; " + draw((IF, INTO)).format(new[2:], load)
        elif kind == "e":
            load = ELSE.format(new[2:], load, f"mul.f32 {new}, %f1, %f1; ")
        elif kind == "a":
            load = f"fma.rn.f32 {new}, {value()}, {value()}, %f1; "
        elif kind == "c":
            load = draw(("mul.f32 {}, {}, 0f40400000; ", "ex2.approx.f32 {}, {}; ", "abs.f32 {}, {}; ")).format(new, value())
        elif kind == "g":
            load = f"ld.global.f32 {new}, [%rd3+{256 + 4 * draw(range(9))}]; "
        elif kind == "x":
            load = draw(("", "", f"st.global.f32 [%rd3+2048], {draw(values)}; ")) + f"mov.f32 {new}, {value()}; "
        elif kind == "b":
            load = f"shfl.sync.bfly.b32 {new}, {value()}, 1, 31, -1; "
        made += load
        values.append(new)
    made += "mov.f32 %f8, %f1; " + "".join(f"add.f32 %f8, %f8, {one}; " for one in values)
    inside = (ADD, ADD, BESIDE, ST, "red.global.add.f32 [%rd3+512], %f8; ", "@%p2 bra $end; " + ADD, "bar.sync 0; " + ADD,
              "red.global.add.f32 [%rd3+512], %f1; " + ST, "ld.shared.f32 %f3, [%r4+1024]; " + USED + ST)
    return made + draw((END, "@%p1 ret; ", "@!%p1 bra $on; ret; $on: ")) + draw(inside)


@needs_tools
@pytest.mark.parametrize("many", [80, pytest.param(500, marks=pytest.mark.sweep)])
def test_ptxas_puts_those_of_random_lines_where_the_machine_does(many, tmp_path):
    random = Random(0)
    texts = [some(random.choice) for _ in range(many)]
    found = {lines: counted(lines) for lines in texts}
    wrong = [lines for lines, loads in made_of(texts, tmp_path).items() if loads != found[lines]]
    assert len(wrong) <= many // 40, wrong[:3]
    assert sum(behind > 1 for _, behind in found.values()) > many // 4


@given(st.data())
def test_lines_store_what_they_store_with_every_load_ahead(data):
    text = module(body(some(lambda of: data.draw(st.sampled_from(of)))), ["u64", "u32"])
    moved, unmoved = stored(text, 64, np.arange(4096, dtype=np.float32) % 64, 64, gates, "late", lambda *_: [])
    assert moved.tobytes() == unmoved.tobytes()
