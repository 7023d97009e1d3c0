"""Loops of which only the launch tells the number of rounds are executed as ptxas writes them: four rounds, two, and one."""

import numpy as np
import pytest
from machine_code import listed_each, needs_tools
from ptx_texts import module
from random_loops import HEAD, SHAPES, TAIL, of_machine, of_ptxas, random_loop

from simlayout import ptx
from simlayout.machine.ptx.passes import unrolled
from simlayout.machine.ptx.passes.repeated import Repeated

ROUND = "ld.global.f32 %f5, [%rd6]; add.s64 %rd6, %rd6, 512; add.f32 %f1, %f1, %f5; mul.f32 %f1, %f1, %f2; "
LOAD = "ld.shared.f32 %f5, [%r5]; add.s32 %r5, %r5, 4; add.f32 %f1, %f1, %f5; "
BRANCH = "setp.gt.f32 %p2, %f1, %f6; @%p2 bra C; add.f32 %f1, %f1, %f1; C: "
MADE = {
    # what ptxas makes: of four rounds, two and one, and of one more in front where numbers have no sign
    ("bottom", "lt.s32", "%r8", ROUND): {"FADD": 3, "FFMA": 4, "FMUL": 3},
    ("top", "ne.s32", "%r8", ROUND): {"FADD": 3, "FFMA": 4, "FMUL": 3},
    ("bottom", "lt.u32", "%r7", ROUND): {"FADD": 4, "FFMA": 4, "FMUL": 4},
    ("middle", "le.s64", "%d6", ROUND): {"FADD": 3, "FFMA": 4, "FMUL": 3},
    ("turned", "lt.s32", "%r8", ROUND): {"FADD": 1, "FMUL": 1},
    ("turned", "lt.s32", "%r8", ROUND + BRANCH): {"FADD": 16, "FMUL": 8},
    ("negated", "lt.s32", "%r8", ROUND): {"FADD": 1, "FMUL": 1},
    ("tested ahead", "lt.s32", "%r8", ROUND): {"FADD": 1, "FMUL": 1},
    ("bottom", "lt.s32", "%r8", ROUND + "bar.sync 0; "): {"FADD": 3, "FFMA": 4, "FMUL": 3},
    ("bottom", "lt.s32", "%r7", ROUND + "bar.sync 0; "): {"FADD": 1, "FMUL": 1},
    ("bottom", "lt.s32", "%r8", ROUND + BRANCH + "bar.sync 0; "): {"FADD": 2, "FMUL": 1},
    ("bottom", "lt.s32", "%r8", ROUND + "membar.cta; "): {"FADD": 1, "FMUL": 1},
    ("bottom", "lt.s32", "%r8", ROUND + "add.f32 %f3, %f3, %f5; " * 41): {"FADD": 290, "FFMA": 4, "FMUL": 3},
    ("bottom", "lt.s32", "%r8", ROUND + "add.f32 %f3, %f3, %f5; " * 44): {"FADD": 45, "FMUL": 1},
    ("bottom", "lt.s32", "%r8", LOAD): {"FADD": 7, "LDS": 1, "LDS.64": 3},
    ("bottom", "ne.s32", "%r8", LOAD): {"FADD": 7, "LDS": 7},
    ("bottom", "lt.s32", "%r8", LOAD + BRANCH): {"FADD": 14, "LDS": 7},
}
"""{(shape, comparison, bound, round): loads and arithmetic}."""
WALKS = {
    (17, False): {"FADD": 69, "LDS": 1, "LDS.128": 17}, (17, True): {"FADD": 68, "LDS.128": 17},
    (1000, False): {"FADD": 101, "LDS": 2, "LDS.128": 25}, (1000, True): {"FADD": 96, "LDS.128": 24},
    (1001, False): {"FADD": 105, "LDS": 2, "LDS.128": 26}, (1001, True): {"FADD": 104, "LDS.128": 26},
    ("%r8", False): {"FADD": 29, "LDS": 4, "LDS.128": 7}, ("%r8", True): {"FADD": 32, "LDS": 1, "LDS.128": 8},
}
"""{(rounds, whether it begins in the middle of one): what ptxas makes of a `walk`}."""
COMPUTES = ["shl.b32 {0}, {1}, {4}; ", "mul.lo.s32 {0}, {1}, {4}; ", "mad.lo.s32 {0}, {1}, {4}, {2}; ",
            "mad.lo.s32 {0}, {1}, {2}, {3}; ", "add.s32 {0}, {1}, {4}; ", "sub.s32 {0}, {1}, {4}; ",
            "add.s32 {0}, {1}, {2}; "]


def body(shape, compare, bound, round):
    bits, against = compare[-2:], {"lt": "ge", "le": "gt", "ne": "eq"}[compare[:2]]
    i = "%d7" if bits == "64" else "%r6"
    return HEAD + f"mov.b{bits} {i}, 0; " + SHAPES[shape].format(
        body=round, i=i, n=bound, on=compare, off=against + compare[2:], step=f"add.s{bits} {i}, {i}, 1; ") + TAIL


def walk(number, turned):
    """A loop over an array, from its second word on, of which the first is read ahead. turned: whether it begins in the
    middle of a round."""
    parts = [f"ld.shared.f32 %f5, [%r5+{at}]; add.f32 %f1, %f1, %f5; " for at in (4, 8, 12, 16)]
    ends = f"add.s32 %r6, %r6, 1; setp.eq.s32 %p1, %r6, {number}; @%p1 bra E; bra L; "
    back, rest = "".join(parts[3:]) + "add.s32 %r5, %r5, 16; ", "".join(parts[:3])
    loop = f"bra M; L: {back} M: {rest} {ends} E: " if turned else (
        f"L: {rest} {back} add.s32 %r6, %r6, 1; setp.ne.s32 %p1, %r6, {number}; @%p1 bra L; ")
    return f"{HEAD}mov.u32 %r6, 0; mov.u32 %r5, s; ld.shared.f32 %f5, [s]; add.f32 %f1, %f1, %f5; {loop}{TAIL}"


def computed(rng):
    """A round that computes of its number, and keeps all of it in %r5."""
    known, round = ["%r6", "%r1"], ""
    for to in ("%x1", "%x2", "%x3", "%x4"):
        round += rng.choice(COMPUTES).format(to, *rng.choice(known, 3), rng.integers(5)) + f"mad.lo.s32 %r5, %r5, 5, {to}; "
        known.append(to)
    return round


def made(text):
    """As `of_machine`, of a body, without the stores and sums of HEAD."""
    return of_machine(ptx.load(module(text, ["u64", "u32"])).entry().program)


def every(monkeypatch):
    """Lets loops be unrolled where that does not matter."""
    monkeypatch.setattr(Repeated, "matter", property(lambda _: True, lambda *_: None), raising=False)
    monkeypatch.setattr(unrolled, "_may_matter", lambda _: True)
    monkeypatch.setattr(unrolled._Loops, "matters", lambda *_: True)


def without_head(found):
    return {name: many for name, many in found.items() if name[:3] != "STS"}


@pytest.mark.parametrize("case", MADE, ids=lambda case: " ".join(case)[:40])
def test_four_rounds_two_and_one_are_written_where_ptxas_writes_them(case):
    assert without_head(made(body(*case))) == MADE[case]


@needs_tools
def test_ptxas_makes_this_of_them(tmp_path):
    found = listed_each([body(*case) for case in MADE], tmp_path)
    assert {case: without_head(of_ptxas(found[body(*case)])) for case in MADE} == MADE


@pytest.mark.parametrize("number, turned", WALKS)
def test_the_first_and_the_last_of_rounds_along_an_array_have_loads_joined_as_others_have(number, turned):
    assert without_head(made(walk(number, turned))) == WALKS[number, turned]


@needs_tools
def test_ptxas_makes_this_of_rounds_along_an_array(tmp_path):
    found = listed_each([walk(*case) for case in WALKS], tmp_path)
    assert {case: without_head(of_ptxas(found[walk(*case)])) for case in WALKS} == WALKS


@needs_tools
@pytest.mark.parametrize("many", [60, pytest.param(600, marks=pytest.mark.sweep)])
def test_of_random_loops_few_are_made_otherwise_than_by_ptxas(many, tmp_path, monkeypatch):
    every(monkeypatch)
    rng = np.random.default_rng(many)
    bodies = [random_loop(rng) for _ in range(many)]
    found = listed_each(bodies, tmp_path)
    assert sum(made(one) != of_ptxas(found[one]) for one in bodies) <= 0.05 * many


@pytest.mark.parametrize("shape", SHAPES)
def test_any_number_of_rounds_does_the_same_as_the_loop_as_it_is_written(shape, monkeypatch):
    compares = {"lt.s32": 1, "ne.u32": 1, "le.s64": 0}
    every(monkeypatch)
    round = ROUND.replace("mul.f32 %f1, %f1, %f2; ", "") + LOAD + BRANCH
    stores = "".join(f"st.shared.f32 [%r4+{at}], %f{at // 16}; " for at in range(16, 64, 4))
    bodies = [body(shape, compare, "%d6" if "64" in compare else "%r7", round) for compare in compares]
    texts = [module(one.replace("bar.sync", stores + "bar.sync"), ["u64", "u32"]) for one in bodies]
    found = []
    for _ in range(2):
        found.append([])
        for text, least in zip(texts, compares.values()):
            entry = ptx.load(text).entry()
            for number in range(least, 10):
                array = np.linspace(0.5, 1.5, 1 << 14, dtype=np.float32)
                entry.run(1, 32, array, number, hazards="off")
                found[-1].append(array[:128].tolist())
        monkeypatch.setattr("simlayout.machine.ptx.lowering.lower.unrolled", lambda function: function)
    assert found[0] == found[1] and len({*map(tuple, found[0])}) > 8


def test_whatever_a_round_computes_of_its_number_is_the_same_where_rounds_are_written_together(monkeypatch):
    """Two results of one register and different numbers (`shl.b32 %x1, %r6, 2` and `shl.b32 %x2, %r6, 6`) were one."""
    every(monkeypatch)
    rng, found = np.random.default_rng(30), []
    texts = [module(body("bottom", "ne.s32", "%r8", computed(rng)).replace("ret;", "st.global.b32 [%rd3], %r5; ret;"),
                    ["u64", "u32"]) for _ in range(40)]
    for _ in range(2):
        entries, found = [ptx.load(text).entry() for text in texts], [*found, []]
        for entry in entries:
            array = np.zeros(1 << 12, np.float32)
            entry.run(1, 32, array, 7, hazards="off")
            found[-1].append((len(entry.program.steps), array[:32].view(np.int32).tolist()))
        monkeypatch.setattr("simlayout.machine.ptx.lowering.lower.unrolled", lambda function: function)
    assert all(one[1] == other[1] for one, other in zip(*found))
    assert sum(one[0] > other[0] for one, other in zip(*found)) > 30


def test_lanes_that_leave_a_loop_in_different_rounds_execute_four_two_and_one_apart():
    """Lanes go through 1, 2, 3 or 4 rounds: four of one part of them, two of others, and one of those with 1 or 3, which is
    the first or the third one: two words of one bank."""
    round = "ld.shared.f32 %f5, [%r2]; add.s32 %r2, %r2, 128; add.f32 %f1, %f1, %f5; "
    trace = ptx.load(module(body("bottom", "lt.s32", "%r7", round), ["u64", "u32"])).entry().run(
        1, 32, np.ones(1 << 14, np.float32), 1, hazards="off")
    assert trace.totals()["ld"] == 4 + 2 + 2
