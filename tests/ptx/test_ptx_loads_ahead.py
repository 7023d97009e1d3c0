"""Loads that ptxas joins across branches and into loops count as what they become: pattern after pattern, and at random."""

from random import Random

import numpy as np
import pytest
from machine_code import assembled_each, needs_tools
from ptx_texts import module

from simlayout import ptx

HEAD = """.reg .b32 %x<20>; .reg .b16 %h<9>; .shared .align 16 .b8 s[8192];
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r8, [kernel_param_1]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;
shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r7, 1;
ld.global.u32 %r5, [%rd3]; ld.global.u32 %r6, [%rd3+128]; setp.gt.u32 %p1, %r1, 15; mov.u16 %h1, 1;
"""
TAIL = "\nst.global.u32 [%rd3], %r7; ret;"
WORK = "div.u32 %x9, %r6, %r5; st.global.u32 [%rd3+256], %x9; "
IF, THERE = "@%p1 bra THERE; ", "THERE: "
AGAIN = 'mov.u32 %x8, 0; AGAIN: .pragma "nounroll"; '
NEXT = "add.u32 %x8, %x8, 1; setp.lt.u32 %p2, %x8, %r8; @%p2 bra AGAIN; "


def ld(at, base="%r4+"):
    return f"ld.shared.u32 %x{at // 4 % 4}, [{base}{at}]; mad.lo.u32 %r7, %r7, %x{at // 4 % 4}, %r7; "


def half(at):
    return f"ld.shared.u16 %h2, [%r4+{at}]; add.f16 %h1, %h1, %h2; st.global.u16 [%rd3+400], %h1; "


TWO = "ld.shared.v2.u32 {{%x4, %x5}}, [%r4+{}]; mad.lo.u32 %r7, %x4, %x5, %r7; "
MOVED = "shl.b32 %x10, %x8, 4; add.u32 %x10, %x10, %r4; "
BACK = "bra.uni HEAD; BACK: " + ld(4) + "HEAD: "
BECOME = {
    "add.u32 %x7, %r4, 8; " + ld(0) + "ld.shared.u32 %x1, [%x7+-4]; add.u32 %r7, %r7, %x1; ": "64",
    ld(0) + IF + WORK + "add.u32 %x7, %r4, 8; ld.shared.u32 %x1, [%x7+-4]; add.u32 %r7, %r7, %x1; " + THERE: "64",
    BACK + ld(0) + WORK + "setp.gt.u32 %p2, %r8, 70; @%p2 bra BACK; ": "64",
    ld(0) + IF + WORK + THERE + ld(4): "64",
    ld(0) + IF + ld(4) + THERE: "64",
    ld(4) + IF + WORK + ld(0) + THERE: "64",
    ld(0) + IF + WORK + ld(4) + THERE + ld(8): "128",
    ld(0) + IF + WORK + ld(4) + "bra.uni BOTH; " + THERE + WORK.replace("256", "384") + ld(4) + "BOTH: ": "64",
    ld(0) + "setp.gt.u32 %p2, %r1, 90; @%p2 ret; " + ld(4): "64",
    ld(0) + AGAIN + ld(4) + "div.u32 %x9, %r7, %r6; st.global.u32 [%rd3+256], %x9; " + NEXT: "64",
    ld(0, "s+") + IF + WORK + ld(4, "s+") + THERE: "64",
    TWO.format(0) + IF + WORK + TWO.format(8) + THERE: "128",
    TWO.format(0) + IF + WORK + ld(8) + THERE: "128",
    ld(0) + IF + WORK + ld(16) + ld(20) + THERE: "32 64",
    ld(0) + IF + WORK + ld(16) + THERE + ld(20): "32 32 32",
    "bar.sync 0; " + ld(0) + AGAIN + ld(4) + IF + WORK + THERE + NEXT: "64",
    "bar.sync 0; " + ld(0) + AGAIN + IF + WORK + ld(4) + THERE + NEXT: "32 32",    # behind a head with two ways
    "bar.sync 0; " + AGAIN + ld(0) + IF + WORK + ld(4) + THERE + NEXT: "32 32",
    "bar.sync 0; " + AGAIN + ld(0) + IF + WORK + THERE + ld(4) + NEXT: "32 32",
    "bar.sync 0; " + AGAIN + MOVED + ld(0, "%x10+") + IF + WORK + ld(4, "%x10+") + THERE + NEXT: "64",
    ld(4) + IF + WORK + ld(8) + THERE: "32 32",
    ld(0) + IF + WORK + ld(1028) + THERE: "32 32",
    ld(0) + IF + WORK + THERE + "bar.sync 0; " + ld(4): "32 32",
    ld(0) + IF + WORK + "bar.warp.sync 65535; " + THERE + ld(4): "32 32",
    ld(0) + IF + WORK + "red.shared.add.u32 [s+4096], %r5; " + THERE + ld(4): "32 32",
    IF + WORK + ld(0) + THERE + ld(4): "32 32",
    ld(0) + AGAIN + ld(4) + "bar.sync 0; " + NEXT: "32 32",
    "@%p1 mov.u32 %x0, 3; @%p1 ld.shared.u32 %x0, [%r4]; add.u32 %r7, %r7, %x0; " + ld(4): "32 32",
    ld(0) + "add.u32 %r4, %r4, 256; " + ld(4): "32 32",
    ld(0) + IF + WORK + "add.u32 %r4, %r4, 256; " + THERE + ld(4): "32 32",
    half(0) + half(2): "32",
    half(0) + IF + WORK + THERE + half(2): "16 16",
    half(0) + IF + WORK + half(2) + half(4) + half(6) + THERE: "16 64",
}
"""Lines of PTX -> the bits of the loads of shared memory in the SASS, sorted; each is executed once."""
BITS = {"LDS": 32, "LDS.64": 64, "LDS.128": 128, "LDS.U16": 16}


def body(lines):
    return HEAD + lines + TAIL


def counted(lines):
    x = np.ones(256, np.uint32)
    trace = ptx.load(module(body(lines), ["u64", "u32"])).entry().run(1, 32, x, 1, hazards="off")
    loads = [int(c.instruction.rpartition(".b")[2]) for c in trace.lines if c.instruction.startswith("ld.shared")
             for _ in range(c.instructions)]
    return " ".join(map(str, sorted(loads)))


def made_of(texts, folder):
    """{lines: the same} by ptxas."""
    made = assembled_each([body(lines) for lines in texts], folder)
    return {lines: " ".join(map(str, sorted(BITS[name] for name in made[body(lines)].elements() if name.startswith("LDS"))))
            for lines in texts}


@pytest.mark.parametrize("lines", BECOME)
def test_loads_are_joined_with_one_that_is_surely_ahead_of_them(lines):
    assert counted(lines) == BECOME[lines]


@needs_tools
def test_ptxas_makes_these_loads(tmp_path):
    assert made_of(BECOME, tmp_path) == BECOME


WAY = "setp.lt.u32 %p3, %r1, {0}; @%p3 bra ON{0}; " + WORK + "{1} ON{0}: "


def some(random):
    """A text of some loads among branches, in which lanes part and meet; arms load what nothing else does."""
    made = ""
    for part in range(random.randint(4, 10)):
        load, alone = ld(4 * random.randrange(8)), "".join(ld(64 * part + 64 + 4 * random.randrange(4)) for _ in range(2))
        made += random.choice((load,) * 5 + (WAY.format(part, alone),) * 2 + (WAY.format(part, ""), "bar.sync 0; "))
    return made


@needs_tools
@pytest.mark.parametrize("many", [60, pytest.param(200, marks=pytest.mark.sweep)])
def test_ptxas_makes_the_same_of_random_loads(many, tmp_path):
    random = Random(0)
    texts = [some(random) for _ in range(many)]
    made = made_of(texts, tmp_path)
    assert [lines for lines in texts if counted(lines) != made[lines]] == []
