"""Statements count as much as ptxas counts them where it decides which loops it unrolls, and it writes as many rounds."""

from itertools import product

import numpy as np
import pytest
from machine_code import listed_each, needs_tools
from ptx_texts import module
from random_loops import AGAINST, HEAD, SHAPES, TAIL

from simlayout import ptx
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.repeated import Repeated
from simlayout.machine.ptx.passes.sizes import LARGEST, most_rounds, several_rounds, size_of

MORE = (".reg .f64 %e<5>; .reg .b16 %h<5>; ld.global.u32 %r5, [%rd3+64]; ld.global.u32 %r7, [%rd3+128]; "
        "ld.global.u64 %d1, [%rd3+192]; ld.global.u64 %d2, [%rd3+256]; ld.global.u16 %h1, [%rd3+320]; "
        "ld.global.u16 %h2, [%rd3+384]; cvt.f64.f32 %e1, %f1; cvt.f64.f32 %e2, %f2; setp.gt.f32 %p3, %f2, %f3; ")
LAST = ("st.global.b32 [%rd3], %r5; st.global.b64 [%rd3+8], %d1; st.global.f64 [%rd3+16], %e1; "
        "st.global.u16 [%rd3+24], %h1; st.global.f32 [%rd3+32], %f3; ")
STATEMENTS = [
    *(f"{name} %r5, %r5, %r7;" for name in ("add.s32", "mul.lo.s32", "mul.hi.u32", "min.s32", "xor.b32", "shl.b32",
                                            "div.u32", "rem.u32", "mul24.lo.s32", "add.f16x2", "vadd.s32.s32.s32")),
    "popc.b32 %r5, %r5;", "clz.b32 %r5, %r5;", "neg.s32 %x1, %r5; add.s32 %r5, %x1, %r7;", "mad.lo.s32 %r5, %r5, %r7, %r8;",
    "bfe.u32 %r5, %r5, %r7, %r8;", "bfi.b32 %r5, %r5, %r7, %r8, 3;", "prmt.b32 %r5, %r5, %r7, 0x5410;",
    "mov.u32 %x1, 77; add.s32 %r5, %r5, %x1;", "mov.u32 %x1, %clock; add.s32 %r5, %r5, %x1;",
    *(f"{name} %d1, %d1, %d2;" for name in ("add.s64", "mul.lo.s64", "and.b64")),
    "shl.b64 %d1, %d1, 3;", "shl.b64 %d1, %d1, %r7;", "mad.wide.s32 %d1, %r7, 4, %d1;",
    "mul.wide.s32 %d3, %r5, 4; add.s64 %d1, %d1, %d3; add.s32 %r5, %r5, %r7;",
    "mov.b64 %d1, {%r5, %r7}; xor.b64 %d1, %d1, %d2;",
    "mov.b64 {%r5, %r7}, %d1; add.s32 %r5, %r5, %r7;",
    "cvt.s64.s32 %d3, %r5; xor.b64 %d1, %d1, %d3; add.s32 %r5, %r5, %r7;",
    *(f"{name} %f3, %f3, %f2;" for name in ("add.f32", "max.f32", "div.approx.f32", "div.full.f32")),
    *(f"{name} %f3, %f3;" for name in ("sqrt.approx.f32", "sqrt.approx.ftz.f32", "rcp.approx.f32", "rsqrt.approx.f32",
                                       "ex2.approx.f32", "lg2.approx.ftz.f32", "sin.approx.f32", "tanh.approx.f32")),
    "fma.rn.f32 %f3, %f3, %f2, %f4;", "add.f64 %e1, %e1, %e2;", "fma.rn.f64 %e1, %e1, %e2, %e1;", "add.s16 %h1, %h1, %h2;",
    "cvt.rzi.s32.f32 %r5, %f3; cvt.rn.f32.s32 %f3, %r5;", "setp.gt.f32 %p2, %f3, %f2; selp.f32 %f3, %f2, %f4, %p2;",
    "@%p3 add.s32 %r5, %r5, %r7;", "ld.shared.f32 %f3, [%r4];", "ld.shared.f32 %f3, [%r4+4];", "st.shared.f32 [%r4+4], %f3;",
    "ld.global.v4.f32 {%f3, %g1, %g2, %g3}, [%rd3+16];", "st.shared.f32 [s+64], %f3;", "st.global.u8 [%rd3+4], %h1;",
    *(f"atom.shared.{name} %r5, [%r4], %r7;" for name in ("add.u32", "exch.b32")), "red.global.add.f32 [%rd3], %f2;",
    "red.shared.min.s32 [%r4], %r7;", "atom.shared.cas.b32 %r5, [%r4], %r5, %r7;", "shfl.sync.bfly.b32 %r5, %r5, 1, 31, -1;",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4];", "cp.async.cg.shared.global [%r4], [%rd3], 16;",
]
"""Some statements, of which the last one's result is read behind the loop."""


STAYS = "turned", "negated", "tested ahead"
"""Shapes of loops that are not written in parts."""


def loop(part, number, more=MORE, last=LAST):
    control = f"add.s32 %r6, %r6, 1; setp.ne.s32 %p1, %r6, {number}; @%p1 bra L; "
    return f"{HEAD}{more}mov.b32 %r6, 0; L: {part} {control}{last}{TAIL}"


def sums(many):
    return "add.f32 %f1, %f1, %f2; " * many


@needs_tools
def test_a_statement_counts_as_many_instructions_as_it_leaves_less_room_for(tmp_path):
    parsed = {one: parse(module(HEAD + MORE + one + TAIL, ["u64", "u32"])).functions["kernel"].body for one in STATEMENTS}
    head = len(parse(module(HEAD + MORE + TAIL, ["u64", "u32"])).functions["kernel"].body) - 5
    sizes = {one: sum(map(size_of, body[head:-5])) for one, body in parsed.items()}
    fits = {loop(one + sums(LARGEST - size + more), 720720): LARGEST - size + more for one, size in sizes.items()
            for more in (0, 1)}
    found = listed_each([*fits], tmp_path)
    unrolled_ones = [found[body].count("FADD") >= 2 * many for body, many in fits.items()]
    wrong = [one for one, pair in zip(sizes, zip(unrolled_ones[::2], unrolled_ones[1::2])) if pair != (True, False)]
    assert not wrong, [(one, sizes[one]) for one in wrong]


@needs_tools
def test_of_a_plain_number_of_rounds_ptxas_writes_these(tmp_path):
    cases = [(size, number) for size in (3, 8, 16, 31, 48, 64, 72) for number in (100, 101, 127, 257, 1000, 1001, 4096)]
    bodies = {case: loop(sums(case[0]), case[1]) for case in cases if case[1] > most_rounds(case[0], 0)}
    found = listed_each(list(bodies.values()), tmp_path)
    expected = {case: sum(several_rounds(*case)) * case[0] for case in bodies}
    assert {case: found[body].count("FADD") for case, body in bodies.items()} == expected and len(expected) > 30


@needs_tools
def test_as_many_rounds_as_ptxas_may_write_of_a_loop_it_writes_all(tmp_path):
    cases = [(size, most_rounds(size, 30)) for size in (4, 8, 13, 19, 25, 43, 62, 96, 190)]
    bodies = {case: loop(sums(case[0]), round(0.97 * case[1])) for case in cases}
    found = listed_each(list(bodies.values()), tmp_path)
    assert {case: found[body].count("FADD") for case, body in bodies.items()} == {
        case: case[0] * round(0.97 * case[1]) for case in cases}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", [300, 301, 1001])
def test_rounds_that_are_too_many_are_written_in_parts_and_do_the_same(shape, number, monkeypatch):
    monkeypatch.setattr(Repeated, "matter", property(lambda _: True, lambda *_: None), raising=False)
    part = "ld.shared.f32 %f5, [%r4]; add.f32 %f3, %f3, %f5; mul.f32 %f3, %f3, 0f3F7FBE77; " * 5
    branch = "setp.gt.f32 %p2, %f3, %f6; @%p2 bra C; add.f32 %f4, %f4, %f3; C: "
    found = []
    for body, compare, step in product((part, part + branch), ("ne", "lt"), (1, -1)):
        first, last = (0, number) if step > 0 else (number, 0)
        compare = {"ne": "ne.s32", "lt": "lt.s32" if step > 0 else "gt.s32"}[compare]
        text = module(HEAD + f"mov.b32 %r6, {first}; " + SHAPES[shape].format(
            body=body + "add.s32 %r4, %r4, 4; ", i="%r6", n=last, on=compare, off=AGAINST[compare[:2]] + compare[2:],
            step=f"add.s32 %r6, %r6, {step}; ") + TAIL, ["u64", "u32"])
        with monkeypatch.context() as patched:
            for _ in range(2):
                entry, array = ptx.load(text).entry(), np.linspace(0.5, 1.5, 1 << 14, dtype=np.float32)
                trace = entry.run(1, 32, array, 3, hazards="off")
                found.append((array[:4096].tobytes(), trace.hazards, len(entry.program.steps)))
                patched.setattr("simlayout.machine.ptx.lowering.lower.unrolled", lambda function: function)
    assert [one[:2] for one in found[::2]] == [one[:2] for one in found[1::2]]
    assert any(one[2] > 5 * other[2] for one, other in zip(found[::2], found[1::2])) or shape in STAYS
