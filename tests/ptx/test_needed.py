"""Halves of registers of 64 bits that nothing needs: what is in them makes no difference, and ptxas does not load them."""

from random import Random

import numpy as np
import pytest
from hypothesis import strategies as st
from machine_code import assembled_each, needs_tools
from ptx_texts import module
from tiers import given_few

from simlayout import ptx
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.known import Known

HEAD = """.reg .b64 %d<60>; .reg .b32 %x<60>; .shared .align 16 .b8 s[8192];
ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 64; add.s64 %rd1, %rd1, %rd2;
shl.b32 %r2, %r1, 5; mov.u32 %r3, s; add.u32 %r4, %r3, %r2; ld.global.v2.u64 {%d58, %d59}, [%rd1];
st.shared.v2.u64 [%r4], {%d58, %d59}; bar.sync 0; ld.shared.u64 %d0, [%r4]; ld.shared.u64 %d1, [%r4+8];
ld.global.u32 %x0, [%rd1+16]; setp.lt.u32 %p1, %x0, 9;
"""
WIDE = ["add.u64 {}, {}, {};", "sub.s64 {}, {}, {};", "mul.lo.u64 {}, {}, {};", "mad.lo.s64 {}, {}, {}, %d0;",
        "or.b64 {}, {}, {};", "xor.b64 {}, {}, {};", "and.b64 {}, {}, {};",
        "selp.b64 {}, {}, {}, %p1;", "not.b64 {}, {};", "neg.s64 {}, {};",
        "mov.b64 {}, {};", "and.b64 {}, {}, 255;", "and.b64 {}, {}, 0xff00000000;", "max.s64 {}, {}, {};",
        *(f"{op} {{}}, {{}}, {n};" for op in ("shl.b64", "shr.u64", "shr.s64") for n in (3, 32, 40))]


def chain(seed):
    """Lines that compute something new in each register of what %d0, %d1 and %x0 have, and store what comes last."""
    random, wide, words, lines = Random(seed), ["%d0", "%d1"], ["%x0"], ""
    for i in range(2, random.randrange(4, 9)):
        kind = random.random()
        if kind < 0.7:
            lines += random.choice(WIDE).format(f"%d{i}", random.choice(wide), random.choice(wide)) + "\n"
        elif kind < 0.8:
            lines += f"cvt.{random.choice(['u64.u32', 's64.s32'])} %d{i}, {random.choice(words)};\n"
        elif kind < 0.9:
            lines += f"mov.b64 %d{i}, {{{random.choice(words)}, {random.choice(words)}}};\n"
        else:
            lines += f"mov.b64 {{%x{i}, %x{i + 30}}}, {random.choice(wide)};\n"
            words += [f"%x{i}", f"%x{i + 30}"]
            continue
        wide.append(f"%d{i}")
    last = [f"st.global.u32 [%rd1+32], {words[-1]};",
            f"cvt.u32.u64 %x59, {wide[-1]}; st.global.u32 [%rd1+32], %x59;",
            f"mov.b64 {{_, %x59}}, {wide[-1]}; st.global.u32 [%rd1+32], %x59;", f"st.global.u64 [%rd1+32], {wide[-1]};"]
    return lines + random.choice(last)


def stored(text, words):
    out = words.copy()
    ptx.load(text).entry().run(1, len(words), out, 0, hazards="off")
    return out[:, 8:]


@given_few(40, 2000, st.integers(0, 1 << 32))
def test_what_is_in_a_half_that_nothing_needs_makes_no_difference(seed):
    text = module(HEAD + chain(seed) + "\nret;", ["u64", "u32"])
    function = parse(text).functions["kernel"]
    known = Known(function)
    words = np.random.default_rng(seed).integers(0, 1 << 32, (8, 16), np.uint32)
    other = words.copy()
    halves = {one.operands[0].name: known.halves(one.operands[0]) for one in function.body
              if getattr(one, "opcode", "") == "ld" and one.names_shared}
    for at in range(4):
        if not halves[f"%d{at // 2}"] >> at % 2 & 1:
            other[:, at] ^= 0xFFFFFFFF
    assert np.array_equal(stored(text, words), stored(text, other)), text


LOW, HIGH = "cvt.u32.u64 %x1, %d0;", "mov.b64 {_, %x1}, %d0;"
BECOME = {
    LOW: "LDS", HIGH: "LDS", "shr.u64 %d2, %d0, 40; cvt.u32.u64 %x1, %d2;": "LDS",
    "mov.u32 %x1, 0; st.global.u32 [%rd1+40], %d0;": "LDS",
    "shr.u64 %d2, %d0, 3; cvt.u32.u64 %x1, %d2;": "LDS.64",
    "mad.lo.u64 %d2, %d0, %d0, 7; cvt.u32.u64 %x1, %d2;": "LDS",
    "mad.lo.u64 %d2, %d0, %d0, 7; mov.b64 {_, %x1}, %d2;": "LDS.64",
    "setp.lt.u64 %p2, %d0, 5; selp.u32 %x1, 1, 2, %p2;": "LDS.64",
    "mov.b64 {%x2, %x3}, %d0; add.u32 %x1, %x2, %x3;": "LDS.64",
    "and.b64 %d2, %d0, 0xffffffff; cvt.rn.f32.u64 %f1, %d2; mov.b32 %x1, %f1;": "LDS",
    "ld.shared.u64 %d2, [%r4]; mov.b64 {_, %x2}, %d2; cvt.u32.u64 %x3, %d0; add.u32 %x1, %x2, %x3;": "LDS.64",
    "ld.shared.u64 %d2, [%r4]; cvt.u32.u64 %x2, %d2; cvt.u32.u64 %x3, %d0; add.u32 %x1, %x2, %x3;": "LDS",
    "cvt.u32.u64 %x2, %d0; cvt.u32.u64 %x3, %d1; add.u32 %x1, %x2, %x3;": "LDS.128",
    "ld.shared.u32 %x2, [%r4+4]; cvt.u32.u64 %x3, %d0; add.u32 %x1, %x2, %x3;": "LDS LDS",
    "ld.shared.v2.u64 {%d2, %d3}, [%r4+16]; mov.b64 {_, %x1}, %d3;": "LDS",
    "st.global.L2::cache_hint.u32 [%rd1+40], %x0, %d0; mov.u32 %x1, 0;": "LDS.64",
    "ld.volatile.shared.u64 %d2, [%r4+16]; mov.b64 {_, %x1}, %d2;": "LDS",
    "ld.acquire.cta.shared.u64 %d2, [%r4+16]; cvt.u32.u64 %x1, %d2;": "LDS",
    "ld.volatile.shared.v2.u64 {%d2, %d3}, [%r4+16]; mov.b64 {_, %x1}, %d3;": "LDS.128",
    "ld.weak.shared.u64 %d2, [%r4+16]; cvt.u32.u64 %x1, %d2;": "LDS",
    "ld.weak.shared.u32 %x2, [%r4+16]; ld.weak.shared.u32 %x3, [%r4+20]; add.u32 %x1, %x2, %x3;": "LDS.64",
}
"""What reads the number of 64 bits in %d0 -> the loads in the SASS, sorted."""


def body(lines):
    return HEAD + lines + "st.global.u32 [%rd1+32], %x1; ret;"


@pytest.mark.parametrize("lines", BECOME)
def test_a_load_counts_as_one_of_the_half_that_is_needed(lines):
    words = np.zeros((32, 16), np.uint32)
    trace = ptx.load(module(body(lines), ["u64", "u32"])).entry().run(1, 32, words, 0, hazards="off")
    made = [{"ld.shared.b32": "LDS", "ld.shared.b64": "LDS.64", "ld.shared.b128": "LDS.128"}[c.instruction]
            for c in trace.lines if c.instruction.startswith("ld.shared") for _ in range(c.instructions)]
    assert " ".join(sorted(made)) == BECOME[lines]


@pytest.mark.parametrize("load", ["ld.u64 %d3, [%d2];", "ld.v2.u64 {%d4, %d3}, [%d2];", "ld.volatile.u64 %d3, [%d2];"])
@pytest.mark.parametrize("part, size", [("cvt.u32.u64 %x1, %d3;", 4), ("mov.b64 {_, %x1}, %d3;", 4),
                                        ("mov.b64 {%x2, %x3}, %d3; add.u32 %x1, %x2, %x3;", 8)])
def test_a_generic_load_counts_as_one_of_the_half_that_is_needed(load, part, size):
    lines = f"cvt.u64.u32 %d2, %r4; cvta.shared.u64 %d2, %d2; {load} {part}"
    trace = ptx.load(module(body(lines), ["u64", "u32"])).entry().run(1, 32, np.zeros((32, 16), np.uint32), 0, hazards="off")
    assert [c.instruction for c in trace.lines if c.instruction.startswith("ld.b")] == [f"ld.b{8 * size}"]


@needs_tools
def test_ptxas_makes_these_loads_of_them(tmp_path):
    made = assembled_each([body(lines) for lines in BECOME], tmp_path)
    found = {lines: " ".join(sorted(name for name in made[body(lines)].elements() if name.startswith("LDS")))
             for lines in BECOME}
    assert found == BECOME


@pytest.mark.parametrize("half, raced", [(LOW, False), (HIGH, True)])
def test_only_the_half_that_is_needed_races(half, raced):
    store = "bar.sync 0; xor.b32 %x2, %r2, 1024; add.u32 %x2, %r3, %x2; st.shared.u32 [%x2+4], %x2; "
    entry = ptx.load(module(body(half).replace("bar.sync 0; ", store), ["u64", "u32"])).entry()
    trace = entry.run(1, 64, np.zeros((64, 16), np.uint32), 0, hazards="report")
    assert any("race" in one.kind or "after" in one.kind for one in trace.hazards) == raced
