"""Approximate quotients are the products that ptxas makes of them; what is made of numbers is as it works that out."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import strategies as st
from machine_code import needs_tools
from straight_sass import HEAD, machine_code
from tiers import given_few

from simlayout import ptx
from simlayout.machine.arithmetic.approximate import approximate
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.contracted import contracted
from simlayout.machine.ptx.passes.flow import without_marks
from simlayout.machine.ptx.passes.quotients import folded

THREE = "0f40400000"
SINGLES = HEAD.replace(".f64 %d", ".f32 %f")
CHOICE = "ld.global.u32 %q1, [%r2+256]; setp.eq.u32 %p1, %q1, 1;\n"
AWAY = "@%p1 bra L1; st.global.f32 [%r2+512], %f5; bar.sync 0; st.global.f32 [%r2+520], %f6;\nL1: "
QUOTIENTS = [f"div.{how}.f32 %f8, {operands};" for how in ("full", "approx", "full.ftz", "approx.ftz")
             for operands in ("%f0, %f1", f"%f0, {THREE}", f"{THREE}, %f1")]
QUOTIENTS += ["rcp.approx.f32 %f8, %f1;", "rcp.approx.ftz.f32 %f8, %f1;"]
SUMS = ["add.f32 %f9, %f8, %f2;", "sub.ftz.f32 %f9, %f2, %f8;", "add.rn.f32 %f9, %f8, %f2;",
        "neg.f32 %f10, %f8; sub.sat.f32 %f9, %f10, %f2;", "mul.f32 %f10, %f3, %f4; sub.f32 %f9, %f8, %f10;",
        "add.f32 %f9, %f8, %f2; st.global.f32 [%r2+128], %f8;"]
APPROXIMATIONS = [f"{name}.approx{ftz}.f32" for name in ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos")
                  for ftz in ("", ".ftz")]


def kernel(body, outs):
    """PTX of a kernel that loads eight floats of its array, and stores registers behind them."""
    loads = "".join(f"ld.global.f32 %f{i}, [%r2+{4 * i}];\n" for i in range(8))
    stores = "".join(f"st.global.f32 [%r2+{4 * (8 + i)}], %f{out};\n" for i, out in enumerate(outs))
    return SINGLES + loads + body + "\n" + stores + "ret;\n}\n"


def fused_and_not(text, lines):
    """((FFMA, FADD) that ptxas makes, (fma, add) that the machine does)."""
    theirs = [re.sub(r"@!?U?P\w+ ", "", line).split()[0].split(".")[0] for line in lines]
    function, = parse(text).functions.values()
    ours = [getattr(one, "name", "") for one in contracted(without_marks(function).body)]
    return ((theirs.count("FFMA"), theirs.count("FADD")),
            (sum(name.startswith("fma") for name in ours), sum(name.startswith(("add", "sub")) for name in ours)))


BODIES = [f"{quotient}\n{sum}" for quotient in QUOTIENTS for sum in SUMS]
BODIES += [f"{CHOICE}{quotient}\n{AWAY}{sum}" for quotient in QUOTIENTS for sum in SUMS[:2]]
BODIES += [f"{CHOICE}mov.f32 %f8, %f3; @%p1 div.approx.f32 %f8, %f0, %f1; add.f32 %f9, %f8, %f4;",
           f"mov.f32 %f10, {THREE}; mov.f32 %f11, %f10; div.full.f32 %f8, %f0, %f11; add.f32 %f9, %f8, %f4;"]

EQUAL = {
    "mul.f32 %f8, %f0, %f1; mul.f32 %f10, %f1, %f0; add.f32 %f9, %f8, %f10;": (0, 1),
    "mul.f32 %f8, %f0, %f1; mul.f32 %f10, %f1, %f0; sub.f32 %f9, %f8, %f10;": (1, 0),
    "mul.f32 %f8, %f0, %f1; mul.f32 %f10, %f1, %f0; neg.f32 %f11, %f10; add.f32 %f9, %f8, %f11;": (1, 0),
    "mul.f32 %f8, %f0, %f1; mul.ftz.f32 %f10, %f1, %f0; add.f32 %f9, %f8, %f10;": (1, 0),
    "mul.f32 %f8, %f0, %f1; mul.rn.f32 %f10, %f1, %f0; add.f32 %f9, %f8, %f10;": (1, 0),
    "mul.f32 %f8, %f0, %f1; mul.f32 %f10, %f1, %f0; add.f32 %f11, %f8, %f2; add.f32 %f9, %f11, %f10;": (2, 0),
    "mul.f32 %f8, %f0, %f1; mul.f32 %f10, %f1, %f0; add.f32 %f11, %f8, %f10; add.f32 %f12, %f10, %f3; "
    "mul.f32 %f9, %f11, %f12;": (0, 2),
    "mul.f32 %f8, %f0, %f1; mul.f32 %f10, %f1, %f0; mul.f32 %f11, %f8, %f2; mul.f32 %f12, %f2, %f10; "
    "add.f32 %f9, %f11, %f12;": (1, 0),
    f"mul.f32 %f8, %f0, %f1; {CHOICE}{AWAY}mul.f32 %f10, %f1, %f0; add.f32 %f9, %f8, %f10;": (0, 1),
    "div.full.f32 %f8, %f0, %f1; div.full.f32 %f10, %f0, %f1; add.f32 %f9, %f8, %f10;": (1, 0),
}
"""Two equal products, and what is made of them -> (fused sums, other sums)."""


@pytest.mark.parametrize("body", EQUAL)
def test_a_sum_of_two_equal_products_is_fused_with_none_of_them(body):
    assert fused_and_not(kernel(body, [9]), [])[1] == EQUAL[body]


@needs_tools
def test_ptxas_fuses_so_many_sums_of_equal_products(tmp_path):
    texts = [kernel(body, [9]) for body in EQUAL]
    theirs = [fused_and_not(text, lines)[0] for text, lines in zip(texts, machine_code(texts, tmp_path), strict=True)]
    assert theirs == [*EQUAL.values()]


@needs_tools
def test_a_quotient_is_fused_with_a_sum_where_ptxas_does_it(tmp_path):
    texts = [kernel(body, [9]) for body in BODIES]
    found = [fused_and_not(text, lines) for text, lines in zip(texts, machine_code(texts, tmp_path), strict=True)]
    assert not [(body, theirs, ours) for body, (theirs, ours) in zip(BODIES, found) if theirs != ours]
    assert {theirs for theirs, _ in found} >= {(1, 0), (0, 1)}


@st.composite
def straight_code(draw):
    """(a body of products, sums and quotients, the registers to store); no sum is there twice, which ptxas computes once,
    for which the reciprocal of a reciprocal is what it was."""
    ftz, lines, used, sums = draw(st.sampled_from(["", ".ftz"])), [], set(), set()
    muls, products = set(), {}                           # registers of products, the first of those that are equal
    value, inverse = list(range(8)), {}                  # number of each register's value; of a reciprocal -> of what
    for target in range(8, 8 + draw(st.integers(3, 9))):
        opcode = draw(st.sampled_from(["mul", "add", "sub", "add", "div.full", "div.approx", "rcp.approx"]))
        x, y = (draw(st.integers(max(0, target - 9), target - 1)) for _ in "xy")
        operands = [f"%f{x}", f"%f{y}"]
        of_x, of_y = value[x], value[y]
        value.append(target if opcode != "rcp.approx" else inverse.get(of_x, target))
        if opcode == "rcp.approx":
            inverse.setdefault(value[target], of_x)
        if opcode == "mul":
            value[target] = products.setdefault(frozenset((of_x, of_y)), target)
            muls.add(target)
        if opcode.startswith("div"):
            operands[draw(st.integers(0, 1))] = draw(st.sampled_from([f"%f{x}", THREE]))
        elif opcode[3:]:
            operands.pop()
        elif opcode != "mul" and (of_x == of_y and not (x != y and {x, y} <= muls) or (of_x, of_y) in sums):
            value[target] = value[target - 8]
            continue
        sums |= {(of_x, of_y), (of_y, of_x)}
        used |= {int(name[2:]) for name in operands if name[0] == "%"}
        lines.append((target, f"{opcode}{ftz}.f32 %f{target}, {', '.join(operands)};\n"))
    made = {target for target, _ in lines}
    others = [f"mov.f32 %f{target}, %f{target - 8};\n" for target in range(8, 17) if target not in made]
    return "".join(others + [one for _, one in lines]), sorted(made - used)


@needs_tools
@given_few(3, 300, st.lists(straight_code().filter(lambda code: code[1]), min_size=20, max_size=20))
def test_quotients_compete_for_sums_as_products_do(codes):
    texts = [kernel(*code) for code in codes]
    with TemporaryDirectory() as folder:
        listed = machine_code(texts, Path(folder))
    for text, lines in zip(texts, listed, strict=True):
        theirs, ours = fused_and_not(text, lines)
        assert ours == theirs, text


def numbers_of(opcode, bits):
    """What an approximation of each of these numbers is made of, as the machine code's constants name them."""
    return "".join(f"mov.b32 %f{10 + i}, 0f{one:08x}; {opcode} %f{40 + i}, %f{10 + i};\n" for i, one in enumerate(bits))


def constants_stored(lines):
    """{place: 32 bits} that straight code stores of constants."""
    registers, made = {"RZ": 0}, {}
    for line in lines:
        opcode, _, rest = line.partition(" ")
        operands = [part.strip() for part in rest.split(",")]
        if opcode.startswith("STG"):
            at = int((re.search(r"\+(0x[0-9a-f]+)\]", rest) or ["", "0"])[1], 16)
            made[at] = registers.get(operands[1])
        elif opcode.startswith("HFMA2"):
            high, low = (int(np.float16(one.lower()).view(np.uint16)) for one in operands[-2:])
            registers[operands[0]] = high << 16 | low
        elif "MOV" in opcode and operands[-1].lstrip("-").startswith("0x"):
            registers[operands[0]] = int(operands[-1], 16) & 0xFFFFFFFF
        elif operands[0].startswith("R"):
            registers[operands[0]] = None
    return made


@needs_tools
@pytest.mark.parametrize("opcode", APPROXIMATIONS)
@given_few(2, 60, st.lists(st.floats(-150, 150, width=32) | st.floats(width=32, allow_nan=False), min_size=16, max_size=16))
def test_what_is_approximated_of_a_number_is_as_ptxas_works_it_out(opcode, values):
    bits = [int(np.float32(value).view(np.uint32)) for value in values]
    text = kernel(numbers_of(opcode, bits), range(40, 40 + len(bits)))
    with TemporaryDirectory() as folder:
        lines, = machine_code([text], Path(folder))
    theirs = constants_stored(lines)
    function, = parse(text).functions.values()
    ours = [one.operands[1].bits if one.opcode == "mov" else None for one in folded(without_marks(function).body)
            if getattr(one, "opcode", "") in ("mov", opcode.split(".")[0]) and one.operands[0].name in
            {f"%f{40 + i}" for i in range(len(bits))}]
    for i, (one, made) in enumerate(zip(bits, ours, strict=True)):
        with np.errstate(all="ignore"):
            works = approximate(opcode.split(".")[0], "ftz" in opcode)(np.uint32([one]).view(np.float32)).view(np.uint32)[0]
        assert (works if made is None else made) == (works if theirs[32 + 4 * i] is None else theirs[32 + 4 * i]), hex(one)


def test_a_quotient_by_a_number_and_its_sum_are_rounded_once():
    array = np.zeros(16, np.float32)
    array[:3] = 26.625, 0, 9.9e-7
    text = kernel("div.full.f32 %f8, %f0, 0f44BB8000; add.f32 %f9, %f8, %f2;", [9])
    ptx.load(text)["k"].run(1, 1, array)
    reciprocal = np.float64(np.float32(1 / 1500))
    once = np.float32(np.float64(array[0]) * reciprocal + np.float64(array[2]))
    assert array[8] == once
