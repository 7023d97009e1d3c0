"""Loops that ptxas unrolls are counted as straight code: which ones, and what it makes of their loads."""

import re
from collections import Counter

import numpy as np
import pytest
from machine_code import assembled_each, needs_tools
from ptx_texts import module

from simlayout import ptx
from simlayout.machine.ptx.passes.rounds import Rounds

HEAD = """.reg .b32 %x<9>; .reg .b64 %d<5>; .shared .align 16 .b8 s[16384];
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r8, [kernel_param_1]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;
shl.b32 %r3, %r1, 8; add.u32 %r4, %r2, %r3; mov.u64 %rd2, s; mul.wide.u32 %rd4, %r1, 256; add.s64 %rd3, %rd2, %rd4;
shl.b32 %r5, %r1, 6; setp.gt.u32 %p3, %r8, 7; mov.f32 %f1, 0f00000000;
"""
TAIL = "st.global.f32 [%rd1], %f1; ret;"
LOAD = "ld.shared.f32 %f2, [{}]; add.f32 %f1, %f1, %f2; "
ADDRESSES = {
    "shl.b32 %x1, %r6, 2; add.u32 %x2, %r4, %x1; " + LOAD.format("%x2"): 1,
    "mad.lo.s32 %x2, %r6, 4, %r4; " + LOAD.format("%x2+16"): 1,
    "add.u32 %x1, %r5, %r6; shl.b32 %x2, %x1, 2; add.u32 %x2, %r2, %x2; " + LOAD.format("%x2"): 1,
    "cvt.s64.s32 %d1, %r6; mad.lo.s64 %d1, %d1, 4, %rd2; " + LOAD.format("%d1"): 1,
    "mul.wide.s32 %d1, %r6, 4; add.s64 %d2, %rd3, %d1; " + LOAD.format("%d2"): 1,
    "add.s32 %x1, %r5, %r6; mul.wide.s32 %d1, %x1, 4; add.s64 %d2, %rd2, %d1; " + LOAD.format("%d2"): 0,
    "mul.lo.u32 %x1, %r6, 132; add.u32 %x2, %r4, %x1; " + LOAD.format("%x2"): 0,
}
"""What a round does with its number in %r6 -> whether loads of several rounds become one."""
ADD, BACK = "add.s32 %r6, %r6, 1; ", "@%p1 bra L; "
LOOPS = {
    "mov.u32 %r6, 0; L: {} " + ADD + "setp.lt.s32 %p1, %r6, 8; " + BACK: True,
    "mov.u32 %r6, 0; L: {} " + ADD + "setp.ne.u32 %p1, %r6, 8; " + BACK: True,
    "mov.u32 %r7, 7; mov.u32 %r6, 0; L: {} " + ADD + "setp.le.u32 %p1, %r6, %r7; " + BACK: True,
    "mov.u32 %r6, -1; bra M; L: {} M: " + ADD + "setp.lt.s32 %p1, %r6, 8; " + BACK: True,
    "mov.u32 %r6, 0; L: setp.ge.s32 %p1, %r6, 8; @%p1 bra E; {} " + ADD + "bra L; E: ": True,
    "mov.u32 %r6, 0; L: setp.lt.s32 %p1, %r6, 8; @%p1 bra B; bra.uni E; B: {} " + ADD + "bra L; E: ": True,
    "mov.u32 %r6, 0; L: {} setp.gt.f32 %p2, %f2, 0f3F800000; @%p2 bra E; " + ADD + "setp.lt.s32 %p1, %r6, 8; " + BACK
    + "E: ": True,
    "mov.u32 %r6, 0; L: {} @%p3 bra C; add.f32 %f1, %f1, %f1; C: " + ADD + "setp.eq.s32 %p1, %r6, 8; @%p1 bra E; bra.uni L; "
    "E: ": True,
    "mov.u32 %r6, 0; L: {} " + ADD + "setp.ge.s32 %p1, %r6, 8; @!%p1 bra L; ": False,
    "mov.u32 %r6, 0; L: {} " + ADD + "setp.eq.s32 %p1, %r6, 8; @%p1 bra E; bra.uni L; E: ": False,
    "mov.u32 %r6, 0; L: .pragma \"nounroll\"; {} " + ADD + "setp.lt.s32 %p1, %r6, 8; " + BACK: False,
    "mov.u32 %r6, 0; L: {} setp.lt.s32 %p1, %r6, 7; " + ADD + BACK: False,
    "mov.u32 %r6, 0; L: {} " + ADD + "and.b32 %x8, %r6, 15; setp.lt.s32 %p1, %x8, 8; " + BACK: False,
    "mov.u32 %r6, 0; L: {} membar.cta; " + ADD + "setp.lt.s32 %p1, %r6, 8; " + BACK: False,
    "mov.u32 %r6, 0; L: {} @%p3 bra C; add.f32 %f1, %f1, %f1; bar.sync 0; C: " + ADD + "setp.lt.s32 %p1, %r6, 8; " + BACK:
    False,
}
"""Loops of 8 rounds -> whether ptxas unrolls them."""
NESTED = ("mov.u32 %r7, 0; N: mov.u32 %r6, 0; L: shl.b32 %x1, %r7, 3; add.u32 %x2, %r4, %x1; shl.b32 %x1, %r6, 2; "
          "add.u32 %x2, %x2, %x1; " + LOAD.format("%x2") + ADD + "setp.lt.s32 %p1, %r6, 2; " + BACK
          + "add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, 4; @%p1 bra N; ")
FIRST = next(iter(ADDRESSES))


def made(loop):
    """({"LDS.128": how many, ...} of the loads in the steps of a body with a loop, whether a branch goes back)."""
    program = ptx.load(module(HEAD + loop + TAIL, ["u64", "u32"])).entry().program
    found = Counter("LDS.128" if one == 16 else "LDS.64" if one == 8 else "LDS"
                    for step in program.steps if step.name.startswith("ld.shared")
                    for one in ([4] if step.joined is None else [one.bytes for one in step.joined]))
    jumps = [(at, target) for at, step in enumerate(program.steps) for target, in getattr(step.jump, "targets", ())]
    return found, any(target <= at for at, target in jumps)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_is_unrolled_where_ptxas_unrolls_it(loop):
    loads, back = made(loop.format(FIRST))
    assert (loads["LDS"] == 0, back) == (LOOPS[loop], not LOOPS[loop])


@pytest.mark.parametrize("address", ADDRESSES)
def test_loads_of_several_rounds_are_joined_where_their_places_are_plainly_so_much_apart(address):
    expected = {"LDS.128": 2} if ADDRESSES[address] else {"LDS": 1}           # where it does not matter the loop stays
    assert made(next(iter(LOOPS)).format(address))[0] == expected


def test_loops_in_a_loop_are_unrolled_from_the_inside():
    assert made(NESTED) == ({"LDS.128": 2}, False)


def test_a_loop_of_as_many_rounds_as_may_be_too_many_for_ptxas_stays():
    assert made(next(iter(LOOPS)).replace(" 8;", " 5000;").format(FIRST))[1]


@needs_tools
def test_ptxas_makes_these_accesses_of_them(tmp_path):
    every = {HEAD + loop.format(FIRST) + TAIL: {"LDS.128": 2} if LOOPS[loop] else {"LDS": 1} for loop in LOOPS}
    every |= {HEAD + next(iter(LOOPS)).format(address) + TAIL: {"LDS.128": 2} if joined else {"LDS": 8}
              for address, joined in ADDRESSES.items()} | {HEAD + NESTED + TAIL: {"LDS.128": 2}}
    found = assembled_each(every, tmp_path)
    assert {body: {name: many for name, many in found[body].items() if name.startswith("LDS")} for body in every} == every


@pytest.mark.parametrize("loop", [*LOOPS, NESTED])
def test_a_loop_does_the_same_where_it_is_unrolled(loop, monkeypatch):
    text, found = module(HEAD + "cvt.rn.f32.u32 %f3, %r1; " + "".join(
        f"add.f32 %f3, %f3, %f3; st.shared.f32 [%r4+{4 * i}], %f3; " for i in range(8)) + loop.format(FIRST)
                         + "mul.wide.u32 %d1, %r1, 4; add.s64 %rd1, %rd1, %d1; cvt.rn.f32.u32 %f2, %r6; "
                         + "add.f32 %f1, %f1, %f2; " + TAIL, ["u64", "u32"]), []
    for _ in range(2):
        out = np.zeros(32, np.float32)
        hazards = ptx.load(text).entry().run(1, 32, out, 3, hazards="report").hazards
        found.append((out.tolist(), sorted({re.sub(r"\d+ times", "", str(one)) for one in hazards})))
        monkeypatch.setattr("simlayout.machine.ptx.lowering.lower.unrolled", lambda function: function)
    assert found[0] == found[1] and len({*found[0][0]}) > 9


@needs_tools
def test_a_product_is_fused_with_the_sum_of_the_next_round_as_ptxas_does(tmp_path):
    body = HEAD + next(iter(LOOPS)).replace("{}", "{} mul.f32 %f1, %f1, 0f3F8CCCCD; ").format(FIRST) + TAIL
    found, program = assembled_each([body], tmp_path)[body], ptx.load(module(body, ["u64", "u32"])).entry().program
    of_program = Counter(step.name for step in program.steps)
    assert (found["FFMA"], found["FMUL"]) == (of_program["fma.rn.f32"], of_program["mul.f32"]) == (7, 1)


def random_loop(rng):
    """A loop of a few loads and stores far from each other, one of LOOPS, perhaps in another one."""
    parts, rounds = [], int(rng.choice([2, 3, 4, 7, 8, 16, 32]))
    for i in range(rng.integers(1, 4)):
        part = [*ADDRESSES][rng.integers(len(ADDRESSES))].replace("%x2+16]", "%x2]")
        part = re.sub(r"\[(%[xd]\d)", rf"[\1+{65536 * i + 4 * rng.integers(4)}", part)
        if rng.random() < 0.2:
            part = re.sub(r"ld.shared.f32 %f2, (\[.*?\]);.*", r"st.shared.f32 \1, %f1; ", part)
        parts.append(part)
    loop = [*LOOPS][rng.integers(len(LOOPS))].format(" ".join(parts))
    loop = loop.replace(" 8;", f" {rounds};").replace(" 7;", f" {rounds - 1};")
    if rng.random() < 0.3:
        outer = int(rng.integers(2, 5))
        loop = f"mov.u32 %x7, 0; N: {loop} add.s32 %x7, %x7, 1; setp.lt.s32 %p1, %x7, {outer}; @%p1 bra N; "
    return loop


@needs_tools
@pytest.mark.parametrize("many", [60, pytest.param(500, marks=pytest.mark.sweep)])
def test_of_random_loops_few_loads_and_stores_are_others_than_those_of_ptxas(many, tmp_path, monkeypatch):
    monkeypatch.setattr(Rounds, "matter", property(lambda _: True, lambda *_: None), raising=False)
    rng = np.random.default_rng(many)
    bodies = [HEAD + random_loop(rng) + TAIL for _ in range(many)]
    found, others = assembled_each(bodies, tmp_path), 0
    for body in bodies:
        others += made(body[len(HEAD):-len(TAIL)])[0] != {n: k for n, k in found[body].items() if n.startswith("LDS")}
    assert others <= 0.06 * many
