"""Loads that one selp alone reads come under its predicate, as ptxas puts them: case after case, and at random."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_code import listed_each, needs_tools
from passes_left_out import stored
from ptx_texts import module

from simlayout import ptx
from simlayout.machine.ptx.passes import made

HEAD = """.shared .align 16 .b8 s[4096]; .reg .b32 %x<90>; .reg .pred %q<50>;
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r8, [kernel_param_1]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;
shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r5, [%rd3]; ld.global.u32 %r6, [%rd3+64]; setp.lt.u32 %p1, %r1, 9; setp.lt.u32 %p2, %r5, %r6;
st.shared.u32 [%r4+2048], %r5; bar.sync 0;
"""
TAIL = "st.global.u32 [%rd3+128], %x9; ret;"
FOUR = "ld.shared.v4.u32 {{%x{}, %x{}, %x{}, %x{}}}, [%r4]; "
ONE, TWO, WIDE = "ld.shared.u32 %x1, [%r4]; ", "ld.shared.u32 %x2, [%r4+68]; ", "ld.shared.v2.u32 {%x1, %x2}, [%r4]; "
LATE = "ld.global.u32 %x8, [%rd3+32]; setp.lt.u32 %q1, %x8, 7; "
KEPT = "st.global.u32 [%rd3+256], {}; "
OF_ONE, OF_TWO = "selp.u32 %x9, %x1, %r5, %p1; ", "selp.u32 %x9, %x1, %x2, %p1; "

CASES = {
    ONE + OF_ONE: (0, 1), ONE + "selp.u32 %x9, %r5, %x1, %p1; ": (0, 1), ONE + TWO + OF_TWO: (1, 1),
    ONE + "mov.u32 %x2, %r5; " + OF_TWO: (0, 1), ONE + LATE + OF_ONE.replace("%p1", "%q1"): (0, 1),
    ONE + "selp.u32 %x1, %x1, %r5, %p1; mov.u32 %x9, %x1; ": (0, 1),
    ONE + "selp.u32 %r5, %x1, %r5, %p1; mov.u32 %x9, %r5; ": (0, 1),
    ONE + OF_ONE.replace("%r5", "%r8"): (1, 0),
    ONE + "setp.lt.u32 %q1, %r5, %r8; selp.u32 %x9, %x1, %r8, %q1; ": (0, 1), ONE + "selp.u32 %x9, %x1, %r1, %p2; ": (0, 1),
    **{ONE + f"selp.u32 %x9, %x1, {number}, %p1; ": (1, 0) for number in (0, 7)},
    ONE + "mov.u32 %x2, 7; " + OF_TWO: (1, 0),
    "add.u32 %x2, %r5, %r6; " + ONE + OF_TWO: (0, 1), ONE + "add.u32 %x2, %r5, %r6; " + OF_TWO: (1, 0),
    ONE + OF_ONE + KEPT.format("%x1"): (1, 0), ONE + OF_ONE + KEPT.format("%r5"): (1, 0),
    KEPT.format("%r5") + ONE + OF_ONE: (0, 1), ONE + TWO + KEPT.format("%x2") + OF_TWO: (1, 1),
    ONE + TWO + OF_TWO + KEPT.format("%x2"): (2, 0),
    ONE + TWO + "setp.lt.u32 %q1, %x1, %x2; selp.u32 %x9, %x1, %x2, %q1; ": (2, 0),
    ONE + TWO + "setp.lt.u32 %q1, %x2, 7; selp.u32 %x9, %x1, %x2, %q1; ": (1, 1),
    ONE + "add.u32 %x1, %x1, 1; " + OF_ONE: (1, 0),
    ONE + "ld.global.u32 %x2, [%rd3+32]; " + OF_TWO: (1, 0),        # that load comes under the predicate
    ONE + "ld.global.u32 %x2, [%rd3+32]; " + KEPT.format("%x2") + OF_TWO: (0, 1),
    ONE + "ld.global.u32 %x2, [%rd3+32]; " + KEPT.format("%r6") + OF_TWO: (0, 1),
    **{ONE + between + OF_ONE: made for between, made in {
        "st.shared.u32 [%r4+1024], %r6; ": (1, 0), "bar.sync 0; ": (1, 0), "bar.warp.sync -1; ": (1, 0),
        "membar.cta; ": (1, 0), "st.u32 [%rd3+256], %r6; ": (1, 0), "red.shared.add.u32 [s], 1; ": (1, 0),
        "@%p2 ld.global.u32 %r6, [%rd3]; " + KEPT.format("%r6"): (1, 0),
        "st.global.u32 [%rd3+256], %r6; ": (0, 1), "atom.global.add.u32 %x3, [%rd3+256], 1; " + KEPT.format("%x3"): (0, 1),
        "shfl.sync.up.b32 %x3, %r6, 1, 0, -1; " + KEPT.format("%x3"): (0, 1), "MARK: ": (0, 1)}.items()},
    FOUR.format(1, 10, 11, 3) + FOUR.format(2, 20, 21, 4).replace("[%r4]", "[%r4+64]") + "setp.lt.u32 %q1, %x1, %x2; "
    "selp.u32 %x9, %x3, %x4, %q1; ": (3, 1),
    FOUR.format(1, 10, 11, 3) + "add.u32 %r6, %x1, %r6; selp.u32 %x9, %x3, %r6, %p1; ": (2, 0),
    FOUR.format(1, 10, 11, 3) + KEPT.format("%x1") + "selp.u32 %x9, %x3, %r6, %p1; ": (1, 1),
    FOUR.format(1, 2, 11, 3) + KEPT.format("%x1") + "add.u32 %x9, %x2, %x3; selp.u32 %x9, %x9, %r6, %p1; ": (1, 0),
    WIDE + OF_TWO: (1, 0), WIDE + OF_ONE: (0, 1), ONE + TWO.replace("+68", "+4") + OF_TWO: (1, 0),
    ONE + TWO.replace("+68", "") + OF_ONE + "add.u32 %x9, %x9, %x2; ": (1, 0),
    ONE + TWO + "ld.shared.u32 %x3, [%r4+136]; selp.u32 %x4, %x1, %x2, %p1; selp.u32 %x9, %x3, %x4, %p2; ": (1, 2),
    ONE + TWO + "selp.u32 %x4, %x2, 5, %p2; selp.u32 %x9, %x1, %x4, %p1; ": (2, 0),
    "ld.shared.f64 %fd1, [%r4]; ld.shared.f64 %fd2, [%r4+128]; selp.f64 %fd1, %fd1, %fd2, %p1; cvt.rzi.u32.f64 %x9, %fd1; ":
        (2, 0),
    **{f"ld.shared.{type} {a}, [%r4]; ld.shared.{type} {b}, [%r4+68]; selp.{of} {a}, {a}, {b}, %p1; cvt.u32.{to} %x9, {a}; ":
       (1, 1) for type, of, to, a, b in (("u8", "b16", "u16", "%rs1", "%rs2"), ("u16", "b16", "u16", "%rs1", "%rs2"),
                                         ("s16", "b32", "s32", "%x1", "%x2"))},
    "mov.u32 %x7, 0; mov.u32 %x9, %r5; AGAIN: .pragma \"nounroll\"; mad.lo.u32 %x6, %x7, 4, %r4; ld.shared.u32 %x1, [%x6]; "
    "setp.gt.u32 %q1, %x7, 5; selp.u32 %x9, %x1, %x9, %q1; add.u32 %x7, %x7, 1; setp.lt.u32 %q2, %x7, %r8; @%q2 bra AGAIN;":
        (0, 1),
}
"""Lines -> (loads that all lanes execute, those under a predicate)."""


def body(lines):
    return HEAD + lines + TAIL


def found(lines):
    """(loads of all lanes, loads under a guard) of the lines' program."""
    steps = [step for step in ptx.load(module(body(lines), ["u64", "u32"])).entry().program.steps
             if step.name.startswith("ld.shared") and not step.unread and step.joined != ()]
    return sum(step.guard is None for step in steps), sum(step.guard is not None for step in steps)


@pytest.mark.parametrize("lines", CASES)
def test_a_load_that_a_select_alone_reads_comes_under_its_predicate(lines):
    assert found(lines) == CASES[lines]


def made_of(texts, folder):
    """{lines: the same} by ptxas."""
    made = listed_each([body(lines) for lines in texts], folder, mark="@")
    loads = {lines: [opcode.startswith("@") for opcode in made[body(lines)] if opcode.strip("@").startswith("LDS")]
             for lines in texts}
    return {lines: (guarded.count(False), guarded.count(True)) for lines, guarded in loads.items()}


@needs_tools
def test_ptxas_puts_them_under_predicates(tmp_path):
    assert made_of(CASES, tmp_path) == CASES


def some(draw):
    """Lines that load, select and compute. draw: one of a sequence."""
    made, fresh, values, predicates = "", iter(range(10, 50)), ["%r5", "%r6"], ["%p1", "%p2"]

    def taken():
        one = draw(values)
        if len(values) > 1 and draw(range(4)):
            values.remove(one)
        return one

    for _ in range(draw(range(3, 12))):
        kind, new = draw("lllllsssssacxbgp"), f"%x{next(fresh)}"
        if kind == "p" and len(values) > 1:
            one, other = values[:2]
            made += f"setp.lt.u32 %q{new[2:]}, {one}, {other}; "
            predicates.append(f"%q{new[2:]}")
        elif kind == "x":
            made += KEPT.format(draw(values)).replace("256", f"{1024 + 4 * draw(range(99))}")
        elif kind == "b":
            made += draw(("bar.sync 0; ", f"st.shared.u32 [s+{16 * draw(range(99))}], {draw(values)}; ", "", ""))
        elif kind in "lgsac":
            one, other = (taken(), taken()) if kind in "sa" else (taken(), "") if kind == "c" else ("", "")
            if one and one == other:
                continue
            made += {"l": f"ld.shared.u32 {new}, [%r4+{12 * draw(range(99))}]; ", "a": f"add.u32 {new}, {one}, {other}; ",
                     "g": f"ld.global.u32 {new}, [%rd3+{4 * draw(range(16))}]; ",
                     "c": f"mul.lo.u32 {new}, {one}, {new[2:]}; ",
                     "s": f"selp.u32 {new}, {one}, {other}, {draw(predicates)}; "}[kind]
            values.append(new)
    made += "".join(f"st.global.u32 [%rd3+{2048 + 128 * i}], {one}; " for i, one in enumerate(values))
    flags = "".join(f"selp.u32 %x{50 + i}, {i + 2}, 1, {one}; st.global.u32 [%rd3+{4096 + 128 * i}], %x{50 + i}; "
                    for i, one in enumerate(predicates))
    return made + flags + "mov.u32 %x9, 0; "


@needs_tools
@pytest.mark.parametrize("many", [100, pytest.param(600, marks=pytest.mark.sweep)])
def test_ptxas_puts_those_of_random_lines_under_predicates(many, tmp_path):
    random = Random(0)
    texts = [some(random.choice) for _ in range(many)]
    found_in = {lines: found(lines) for lines in texts}
    wrong = [lines for lines, loads in made_of(texts, tmp_path).items() if loads != found_in[lines]]
    assert len(wrong) <= many // 50, wrong[:3]
    assert sum(under > 0 for _, under in found_in.values()) > many // 10


@given(st.data())
def test_lines_store_what_they_store_with_every_load_in_its_place(data):
    text = module(body(some(lambda of: data.draw(st.sampled_from(of)))), ["u64", "u32"])
    moved, unmoved = stored(text, 32, np.arange(4096, dtype=np.uint32) * 7 % 64, 9,
                            made, "chosen", lambda function, *_: (function.body, {}))
    assert moved.tolist() == unmoved.tolist()
