"""Products are fused into sums where ptxas does it."""

import re
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import strategies as st
from machine_code import needs_tools
from straight_sass import LOADS, kernel, machine_code, stored
from tiers import given_few

from simlayout import ptx
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.contracted import contracted
from simlayout.machine.ptx.passes.flow import without_marks
from simlayout.machine.ptx.syntax import Instruction, Register

NUMBERS = np.random.default_rng(3).uniform(0.5, 2, LOADS) * [1, -1, 1, 1, -1, 1, -1, 1]


def on_the_machine(text, outs):
    """What a kernel stores."""
    array = np.append(NUMBERS, np.zeros(outs))
    ptx.load(text)["k"].run(1, 1, array)
    return dict(enumerate(array))


@st.composite
def straight_code(draw):
    """(a body of products, sums and differences of f64, the registers to store): all of it is needed."""
    lines, used = [], set()
    for target in range(LOADS, LOADS + draw(st.integers(3, 9))):
        opcode = draw(st.sampled_from(["mul", "mul", "add", "sub"]))
        x, y = (draw(st.integers(max(0, target - 9), target - 1) | st.integers(0, target - 1)) for _ in "xy")
        used |= {x, y}
        lines.append(f"{opcode}.f64 %d{target}, %d{x}, %d{y};\n")
    outs = [i for i in range(LOADS, LOADS + len(lines)) if i not in used or draw(st.integers(0, 7)) == 0]
    return "".join(lines), outs


@needs_tools
@given_few(3, 600, straight_code())
def test_short_straight_code_makes_the_bits_of_what_ptxas_makes_of_it(code):
    body, outs = code
    text = kernel(body, outs)
    with TemporaryDirectory() as folder:
        theirs = stored(*machine_code([text], Path(folder)), NUMBERS)
    ours = on_the_machine(text, len(outs))
    assert {at: ours[at] for at in theirs} == theirs and len(theirs) == len(outs)


CHOICE = "ld.global.u32 %q1, [%r2]; setp.eq.u32 %p1, %q1, 1;\n"
AWAY = "@%p1 bra L1; st.global.f64 [%r2+512], %d5; bar.sync 0; st.global.f64 [%r2+520], %d6;\nL1:\n"
TENTH = "0d3FB999999999999A"
OPCODES = {
    # body, one result -> DFMA, DMUL, DADD that ptxas leaves
    "mul.f64 %d8, %d0, %d1; add.f64 %d9, %d8, %d2;": (1, 0, 0),
    "mul.rn.f64 %d8, %d0, %d1; add.f64 %d9, %d8, %d2;": (0, 1, 1),
    "mul.f64 %d8, %d0, %d1; add.rn.f64 %d9, %d8, %d2;": (0, 1, 1),
    "mul.f64 %d8, %d0, %d1; bar.sync 0; sub.f64 %d9, %d2, %d8;": (1, 0, 0),
    "mul.f64 %d8, %d0, %d1;\nUNUSED: add.f64 %d9, %d8, %d2;": (1, 0, 0),
    f"{CHOICE}mul.f64 %d8, %d0, %d1; mov.f64 %d9, %d3; @%p1 add.f64 %d9, %d8, %d4;": (1, 0, 0),
    f"{CHOICE}mov.f64 %d8, %d3; @%p1 mul.f64 %d8, %d0, %d1; add.f64 %d9, %d8, %d4;": (0, 1, 1),
    f"{CHOICE}mul.f64 %d8, %d0, %d1;{AWAY}add.f64 %d9, %d8, %d2;": (0, 1, 1),
    f"{CHOICE}mul.f64 %d8, %d0, %d1; add.f64 %d9, %d8, %d2; st.global.f64 [%r2+528], %d9;{AWAY}add.f64 %d9, %d8, %d3;":
        (0, 1, 2),
    f"{CHOICE}mul.f64 %d8, %d0, %d1;{AWAY}mul.f64 %d10, %d2, %d3; sub.f64 %d9, %d8, %d10;": (1, 1, 0),
    f"{CHOICE}mul.f64 %d8, %d0, %d1; @%p1 exit; add.f64 %d9, %d8, %d2;": (0, 1, 1),
    f"{CHOICE}mul.f64 %d8, %d0, {TENTH}; @%p1 exit; add.f64 %d9, %d8, %d2;": (1, 0, 0),
    f"{CHOICE}mul.f64 %d8, {TENTH}, %d0;{AWAY}add.f64 %d9, %d8, %d2;": (1, 0, 0),
    f"{CHOICE}mov.f64 %d10, {TENTH}; mul.f64 %d8, %d0, %d10; mov.f64 %d0, %d3;{AWAY}sub.f64 %d9, %d0, %d8;": (1, 0, 0),
    f"{CHOICE}mul.f64 %d8, %d0, {TENTH};{AWAY}add.f64 %d9, %d8, %d2; st.global.f64 [%r2+528], %d8;": (0, 1, 1),
    f"{CHOICE}mul.f64 %d8, %d0, {TENTH};{AWAY}add.f64 %d9, %d8, %d2; st.global.f64 [%r2+528], %d9; sub.f64 %d9, %d8, %d3;":
        (2, 0, 0),
    f"{CHOICE}mov.f64 %d8, %d3; @%p1 bra L1; mul.f64 %d8, %d0, {TENTH};\nL1: add.f64 %d9, %d8, %d2;": (0, 1, 1),
    f"{CHOICE}mul.f64 %d8, %d0, %d1; mov.f64 %d10, %d3; @%p1 ld.global.f64 %d10, [%r2+512]; sub.f64 %d9, %d10, %d8;":
        (0, 1, 1),
    f"{CHOICE}mul.f64 %d8, %d0, %d1; @!%p1 st.global.f64 [%r2+512], %d5; sub.f64 %d9, %d2, %d8;": (0, 1, 1),
    f"{CHOICE}mul.f64 %d8, %d0, %d1; @%p1 red.global.add.u32 [%r2+512], 1; sub.f64 %d9, %d2, %d8;": (0, 1, 1),
    f"{CHOICE}mul.f64 %d8, %d0, %d1; @%p1 bar.sync 0; sub.f64 %d9, %d2, %d8;": (0, 1, 1),
    f"{CHOICE}mul.f64 %d8, %d0, {TENTH}; @%p1 st.global.f64 [%r2+512], %d5; sub.f64 %d9, %d2, %d8;": (1, 0, 0),
    f"{CHOICE}@%p1 st.global.f64 [%r2+512], %d5; mul.f64 %d8, %d0, %d1; sub.f64 %d9, %d2, %d8;": (1, 0, 0),
    f"{CHOICE}mul.f64 %d8, %d0, %d1; mov.f64 %d10, %d3; @%p1 mov.f64 %d10, %d4; sub.f64 %d9, %d10, %d8;": (1, 0, 0),
    "mov.pred %p1, -1; mul.f64 %d8, %d0, %d1; @%p1 st.global.f64 [%r2+512], %d5; sub.f64 %d9, %d2, %d8;": (1, 0, 0),
    "mul.f64 %d8, %d0, %d1; mov.f64 %d10, %d8; add.f64 %d9, %d10, %d2;": (1, 0, 0),
    "mul.f64 %d8, %d0, %d1; neg.f64 %d10, %d8; sub.f64 %d9, %d10, %d2;": (1, 0, 0),
    "mul.f64 %d8, %d0, %d1; mov.b64 {%q1, %q2}, %d8; mov.b64 %d10, {%q2, %q1}; add.f64 %d9, %d8, %d10;": (0, 1, 1),
    "mul.f64 %d8, %d0, %d1; abs.f64 %d10, %d8; add.f64 %d9, %d10, %d2;": (0, 1, 1),
    "mul.f64 %d8, %d0, %d1; mov.f64 %d0, %d3; add.f64 %d9, %d8, %d0;": (1, 0, 0),
    "mul.f64 %d8, %d0, %d1; add.f64 %d9, %d8, %d2; mul.f64 %d8, %d9, %d3; sub.f64 %d9, %d4, %d8;": (2, 0, 0),
}


@pytest.fixture(scope="module")
def made_of_each(tmp_path_factory):
    """{body: the instructions that ptxas makes of it}, from one file."""
    listed = machine_code([kernel(body + "\n", [9]) for body in OPCODES], tmp_path_factory.mktemp("fused"))
    return dict(zip(OPCODES, listed, strict=True))


@needs_tools
@pytest.mark.parametrize("body", OPCODES)
def test_what_ptxas_fuses_beside_branches_is_fused(body, made_of_each):
    theirs = [re.sub(r"@!?U?P\w+ ", "", line).split()[0] for line in made_of_each[body]]
    assert tuple(theirs.count(opcode) for opcode in ("DFMA", "DMUL", "DADD")) == OPCODES[body]
    function, = parse(kernel(body + "\n", [9])).functions.values()
    ours = [getattr(statement, "opcode", "") for statement in contracted(without_marks(function).body)]
    assert (ours.count("fma"), ours.count("mul"), ours.count("add") + ours.count("sub")) == OPCODES[body]


def test_a_product_is_that_of_its_factors_where_it_stands():
    first, second, other = (Fraction(NUMBERS[i]) for i in (0, 2, 3))
    changed = kernel("mul.f64 %d8, %d0, %d2; mov.f64 %d0, %d3; add.f64 %d9, %d8, %d0;\n", [9])
    assert on_the_machine(changed, 1)[LOADS] == float(first * second + other) != NUMBERS[0] * NUMBERS[2] + NUMBERS[3]
    elsewhere = kernel("mov.u32 %q1, 0; setp.eq.u32 %p1, %q1, 1; mul.f64 %d8, 0d3FF199999999999A, %d0; mov.f64 %d0, %d4; "
                       "neg.f64 %d10, %d8; @%p1 exit; sub.f64 %d9, %d10, %d0;\n", [9])
    exact, rounded = -Fraction(1.1) * Fraction(NUMBERS[0]) - Fraction(NUMBERS[4]), -(1.1 * NUMBERS[0]) - NUMBERS[4]
    assert on_the_machine(elsewhere, 1)[LOADS] == float(exact) != rounded


def test_a_load_whose_result_nothing_needs_keeps_no_product_from_its_sum():
    text = kernel("mov.u32 %q1, %tid.x; setp.eq.u32 %p1, %q1, 1; mul.f64 %d8, %d0, %d2; @%p1 ld.global.f64 %d10, [%r2]; "
                  "add.f64 %d9, %d8, %d3;\n", [9])
    first, second, other = (Fraction(NUMBERS[i]) for i in (0, 2, 3))
    assert on_the_machine(text, 1)[LOADS] == float(first * second + other) != NUMBERS[0] * NUMBERS[2] + NUMBERS[3]


def test_a_product_of_the_turn_before_is_left_alone_in_a_loop_that_stays():
    turns = """mov.f64 %d8, 0d0000000000000000; mov.f64 %d9, %d0; mov.u32 %q1, 0;
    LOOP: .pragma "nounroll"; add.f64 %d9, %d9, %d8; mul.f64 %d8, %d1, %d2; add.u32 %q1, %q1, 1; setp.lt.u32 %p1, %q1, 3;
    @%p1 bra LOOP;\n"""
    product = NUMBERS[1] * NUMBERS[2]
    assert on_the_machine(kernel(turns, [9]), 1)[LOADS] == NUMBERS[0] + product + product


@pytest.mark.parametrize("words, fused", [("f32", True), ("ftz.f32", True), ("f16", True), ("bf16", True), ("f16x2", True),
                                          ("rn.f16", False), ("sat.f32", False)])
def test_all_floats_are_fused_but_where_a_product_saturates_or_is_rounded_by_name(words, fused):
    a, b, c, d = (Register(f"%{name}", "b32") for name in "abcd")
    pair = [Instruction(opcode, tuple(words.split(".")), operands, None, 1, 1, None, "")
            for opcode, operands in (("mul", (c, a, b)), ("add", (d, c, a)))]
    assert [one.name for one in contracted(pair)] == ([f"fma.rn.{words}"] if fused else [one.name for one in pair])
