"""Loads and stores that ptxas joins are counted as what they become: what it does, one pattern after another."""

import numpy as np
import pytest
from machine_code import assembled_each, needs_tools
from ptx_texts import module

from simlayout import ptx

HEAD = """.reg .b32 %x<9>; .reg .b16 %h<5>; .reg .b64 %d<5>;
.shared .align 16 .b8 s[4096]; .shared .align 4 .b32 t; .shared .align 4 .b32 u;
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r8, [kernel_param_1];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd1, %rd1, %rd2;
ld.global.u32 %r5, [%rd1]; ld.global.u32 %r6, [%rd1+4]; ld.global.u32 %r7, [%rd1+8]; mov.u32 %r2, s;
mov.b32 {%h1, %h2}, %r5; mov.b64 %d1, {%r5, %r6}; mov.u32 %r3, 0;
"""
ROW = "shl.b32 %r4, %r1, 4; add.u32 %r4, %r2, %r4; "
PAIR = "st.shared.u32 [%r4], %r5; st.shared.u32 [%r4+4], %r6;"
WIDE = "cvt.u64.u32 %d2, %r1; shl.b64 %d3, %d2, 3; {} cvt.u32.u64 %x0, %d4; add.u32 %r4, %r2, %x0; " + PAIR
TAIL = "\nst.global.u32 [%rd1], %r3; ret;"


def loads(between=""):
    return f"ld.shared.u32 %x1, [%r4]; {between} ld.shared.u32 %x2, [%r4+4]; add.u32 %r3, %x1, %x2;"


def stores(between):
    return f"st.shared.u32 [%r4], %r5; {between} st.shared.u32 [%r4+4], %r6;"


LETTERS = {"f32": "%f", "f64": "%fd", "u16": "%rs", "s16": "%rs", "u32": "%x", "s32": "%x", "u64": "%rd", "s64": "%rd"}
FILLED = {"f32": "cvt.rn.f32.u32 %f{i}, {of};", "f64": "cvt.rn.f64.u32 %fd{i}, {of};"}


def computing(opcode):
    """Arithmetic with two numbers of the thread, or one of them, whose result is stored."""
    of, *_, type = opcode.split(".")
    letter = LETTERS[type]
    fill = FILLED.get(type, f"cvt.{type}.u32 {letter}{{i}}, {{of}};")
    operands = f"{letter}7, {letter}6" if of in ("div", "rem") else f"{letter}7"
    return (f"{fill.format(i=7, of='%r5')} {fill.format(i=6, of='%r6')} {opcode} {letter}8, {operands}; "
            f"st.global.{type} [%rd1+8], {letter}8;")


BRANCHING = ("div.rn.f32 div.rn.ftz.f32 div.rz.f32 rcp.rn.f32 sqrt.rn.f32 div.rn.f64 rcp.rn.f64 sqrt.rn.f64 "
             "rsqrt.approx.f64 div.u64 rem.s64 div.u16 rem.s16").split()
STRAIGHT = "div.full.f32 div.approx.f32 rcp.approx.f32 sqrt.approx.f32 rcp.approx.ftz.f64 div.u32 rem.u32".split()
"""What ptxas makes branches of, and what it makes none of."""

def halves(type, use, numbers=range(4)):
    """Loads of 16 bits each, and what becomes of their values: a text for each, or one for all."""
    at = list(numbers)
    loaded = "".join(f"ld.shared.{type} %rs{1 + n}, [%r4+{2 * i}]; " for n, i in enumerate(at))
    uses = [use] * len(at) if isinstance(use, str) else use
    return "cvt.u16.u32 %rs0, %r5; " + loaded + "".join(one.replace("$", f"%rs{1 + n}") for n, one in enumerate(uses))


def words(numbers):
    """Loads of 32 bits each, all of which are wanted."""
    return "".join(f"ld.shared.u32 %x{i}, [%r4+{4 * i}]; " for i in numbers) + added(numbers)


def added(numbers):
    return "".join(f"add.u32 %r3, %r3, %x{i};" for i in numbers)


STORED, SUMMED = "st.global.u16 [%rd1+8], %rs0;", "red.global.add.f32 [%rd1+8], %f0;"
AS_F16 = f"add.f16 %rs0, %rs0, $; {STORED}"
AS_U32, AS_S32 = (f"cvt.{sign}32.{sign}16 %x0, $;" + added([0]) for sign in "us")
COPIED = "mov.b16 %rs8, $; cvt.u32.u16 %x0, %rs8;" + added([0])
AS_F8 = AS_F16.replace("$", "%rs8")
GREATEST = "setp.lt.f16 %p1, %rs0, $; selp.b16 %rs8, $, %rs0, %p1; mov.b16 %rs0, %rs8; "
KEPT = {"u16": [AS_F16, AS_S32, "mov.b32 %x0, {$, %rs0};" + added([0]), "st.volatile.global.u16 [%rd1+8], $;",
                f"cvt.f32.f16 %f0, $; {SUMMED}", f"cvt.rn.f32.u16 %f0, $; {SUMMED}",
                f"fma.rn.bf16 %rs0, %rs0, $, %rs0; {STORED}", f"mul.lo.s16 %rs0, %rs0, $; {STORED}",
                "mul.wide.s16 %x0, $, %rs0;" + added([0])],
        "s16": [AS_F16, AS_U32, COPIED]}
EXTENDED = {"u16": [AS_U32, COPIED, AS_F16 + AS_U32, f"add.s16 %rs0, %rs0, $; {STORED}", f"and.b16 %rs0, %rs0, $; {STORED}",
                    "mul.wide.u16 %x0, $, %rs0;" + added([0]), f"cvt.f32.bf16 %f0, $; {SUMMED}"],
            "s16": [AS_S32, f"shl.b16 %rs8, $, 3; add.f16 %rs0, %rs0, %rs8; {STORED}"]}
"""What takes a half of a register, and what wants it extended, by the type of the load."""

SOME = {(0, 1): "2", (0, 2): "1 1", (1, 2): "1 1", (0, 1, 2): "4", (0, 1, 3): "4", (1, 2, 3): "4", (0, 1, 2, 3): "4",
        (0, 1, 2, 4, 5, 6): "4 4", (0, 2, 3, 5): "1 4", (1, 2, 3, 4, 5): "2 4", (1, 2, 5, 6): "1 1 1 1", (3, 4, 5, 6): "1 4"}
"""Which of neighbours are loaded -> how many parts each load has."""
OF_WORDS, OF_HALVES = {"1": "LDS", "2": "LDS.64", "4": "LDS.128"}, {"1": "LDS.U16", "2": "LDS", "4": "LDS.64"}

BYTES = "ld.shared.{}.u8 {{{}}}, [%r4+{}]; "
OF_BYTES = "mov.b32 %x2, {%h1, %h2}; mov.b32 %x3, {%h3, %h4}; add.u32 %r3, %x1, %x2; add.u32 %r3, %r3, %x3;"


def vector(type, wanted, more="", also=()):
    """A load of four numbers of which some are wanted, and another one."""
    if type == "u32":
        return ROW + "ld.shared.v4.u32 {%x0, %x1, %x2, %x3}, [%r4];" + more + added([*wanted, *also])
    used = "".join(f"cvt.u32.u16 %x{i}, %h{i + 1}; red.global.add.u32 [%rd1+8], %x{i};" for i in wanted)
    return ROW + "ld.shared.v4.u16 {%h1, %h2, %h3, %h4}, [%r4];" + used


OF_VECTOR = {(0,): "LDS LDS.U16", (3,): "LDS LDS.U16", (0, 1): "LDS.64 LDS", (2, 3): "LDS.64 LDS", (0, 2): "LDS+LDS LDS.64",
             (0, 3): "LDS+LDS LDS.64", (1, 2): "LDS+LDS LDS.64", (0, 1, 2): "LDS.128 LDS.64", (0, 1, 2, 3): "LDS.128 LDS.64"}
"""Elements that are wanted of four -> what a load of 16 bytes becomes, and one of 8 bytes."""
UNTIED, GUARD = "add.u32 %x0, %r4, 2048;", "setp.lt.u32 %p1, %r7, 9; mov.u32 %x1, 0;"


def masked(mask, wanted, *others):
    """A load of four numbers, of which a mask says which bytes are used, and loads of one behind it."""
    more = "".join(f"ld.shared.u32 %x{4 + i}, [%r4+{at}];" for i, at in enumerate(others))
    used = vector("u32", wanted, more, range(4, 4 + len(others)))
    return used.replace("ld.", f'.pragma "used_bytes_mask {mask}";\nld.', 1)


MASKED = {
    masked(0xF0FF, (0, 1, 3)): "LDS.128", masked(0xF0FF, (0, 1, 3), 8): "LDS LDS.128",
    masked("0xFFF", (0, 1, 2), 12): "LDS LDS.128", masked(0xFFF0, (1, 2, 3), 0): "LDS LDS.128",
    masked(0xF0FF, (0, 1, 3), 0): "LDS LDS.128", masked(0xFFFF, (0, 1, 3), 8): "LDS.128",
    masked(0xF0FF, (0, 1, 3), 8, 16, 20): "LDS LDS.128 LDS.64", masked(0xF0FF, (0, 1, 3), 16, 20, 24): "LDS.128 LDS.128",
    masked(0xF0FF, (0, 1, 3), 8).replace("ld.", "add.u32 %x7, %r1, 1; st.global.u32 [%rd1+4], %x7; ld.", 1): "LDS.128",
    masked(0xFF, (0, 1)): "LDS.64", masked(0xFF, (0, 1), 8): "LDS LDS.64", masked(0xF0FF, (0, 1), 8): "LDS LDS.64",
    masked(0xF, (0,), 4): "LDS.64", masked(0xF00F, (0, 3), 4, 8): "LDS.128", masked(0xFF0, (1, 2), 0): "LDS.128",
}
"""What several elements become, where a mask tells that others are not used, stays as it is."""


BRANCHES = ("@%p1 st.global.u32 [%rd1+8], %r6;", "@%p1 red.global.add.u32 [%rd1+8], %r6;",
            "@%p1 ld.global.u32 %x1, [%rd1+8]; st.global.u32 [%rd1+12], %x1;", "@%p1 prefetch.global.L2 [%rd1];")
PREDICATED = ("@%p1 add.u32 %x1, %r5, 3; st.global.u32 [%rd1+8], %x1;",
              "@%p1 mov.u32 %x1, %r5; st.global.u32 [%rd1+8], %x1;",
              "@%p1 cvta.shared.u64 %d1, %d1; st.global.u64 [%rd1+8], %d1;")
"""What ptxas first makes a branch of because of its guard, and what it executes under it."""


def apart(between):
    """The same for loads of halves."""
    return (f"mov.u16 %h3, 1; ld.shared.u16 %h4, [%r4]; add.f16 %h3, %h3, %h4; {between} ld.shared.u16 %h4, [%r4+2]; "
            "add.f16 %h3, %h3, %h4; cvt.u32.u16 %r3, %h3;")


def named(parts, names):
    return " ".join(sorted(names[one] for one in parts.split()))


BECOME = {
    **{ROW + words(some): named(parts, OF_WORDS) for some, parts in SOME.items()},
    **{ROW + halves("u16", AS_F16, some): named(parts, OF_HALVES) for some, parts in SOME.items()},
    **{ROW + halves(type, use): "LDS.64" for type, uses in KEPT.items() for use in uses},
    **{ROW + halves(type, use): " ".join(["LDS.U16"] * 4) for type, uses in EXTENDED.items() for use in uses},
    ROW + halves("u16", [AS_F16, AS_F16, AS_U32, AS_F16]): "LDS.64 LDS.U16",
    **{ROW + halves("u16", GREATEST + use): made for use, made in
       ((AS_F16, "LDS.64"), (AS_S32, "LDS.64"), (AS_U32, " ".join(["LDS.U16"] * 4)))},
    ROW + "cvt.u16.u32 %rs8, %r6; " + AS_U32.replace("$", "%rs8") + halves("u16", f"mov.b16 %rs8, $; {AS_F8}"): "LDS.64",
    ROW + "".join(f"ld.shared.u16 %x{i}, [%r4+{2 * i}];" for i in range(4)) + added(range(4)): " ".join(["LDS.U16"] * 4),
    ROW + "ld.shared.u32 %x0, [%r4]; ld.shared.f32 %f1, [%r4+4]; mov.b32 %x1, %f1;" + added((0, 1)): "LDS.64",
    ROW + "ld.shared.v2.u32 {%x0, %x1}, [%r4]; ld.shared.u32 %x2, [%r4+8];" + added(range(3)): "LDS.128",
    ROW + "".join(f"st.shared.u16 [%r4+{2 * i}], %h{1 + i % 2};" for i in range(8)): "STS.64 STS.64",
    ROW + "".join(f"st.shared.v2.u16 [%r4+{4 * i}], {{%h1, %h2}};" for i in range(4)): "STS.128",
    ROW + PAIR + "st.shared.u32 [%r4+8], %r7;": "STS STS.64",
    ROW + loads("MARK:"): "LDS.64",
    ROW + stores("MARK:"): "STS.64",
    **{ROW + f"ld.shared.u32 %r3, [%r4]; ld.shared.u32 %x2, [%r4+4]; {dead}": "LDS" for dead in (
        "", "add.u32 %x3, %x2, 1;", "shfl.sync.up.b32 %x3, %x2, 1, 0, -1; mul.lo.u32 %x4, %x3, 3;",
        "setp.eq.u32 %p1, %x2, 3; vote.sync.ballot.b32 %x3, %p1, -1;", "redux.sync.add.s32 %x3, %x2, -1;")},
    ROW + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x1}, [%r4];": "",
    **{ROW + loads(computing(opcode)): "LDS LDS" for opcode in BRANCHING},
    **{ROW + stores(computing(opcode)): "STS STS" for opcode in [*BRANCHING, "div.s32", "rem.s32"]},
    **{ROW + loads(computing(opcode)): "LDS.64" for opcode in [*STRAIGHT, "div.s32", "rem.s32"]},
    **{ROW + stores(computing(opcode)): "STS.64" for opcode in STRAIGHT},
    **{ROW + GUARD + stores(one): "STS STS" for one in BRANCHES},
    **{ROW + GUARD + stores(one): "STS.64" for one in PREDICATED},
    **{ROW + GUARD + apart(one): "LDS.U16 LDS.U16" for one in (*BRANCHES, computing("div.s32"), computing("rem.s32"))},
    **{ROW + GUARD + apart(one): "LDS" for one in (*PREDICATED, computing("div.u32"))},
    **{ROW + GUARD + loads(one): "LDS.64" for one in (*BRANCHES, *PREDICATED)},
    ROW + loads("nanosleep.u32 20;"): "LDS LDS", ROW + "ld.shared.u32 %x1, [%r4]; nanosleep.u32 %x1;": "LDS",
    **{ROW + between.format(f"{how}.gpu.global.add.u32 %x3, [%rd1+8], 1;"): made for how, both in (
        ("atom.release", ("LDS.64", "STS STS")), ("atom.acq_rel", ("LDS.64", "STS STS")),
        ("atom.acquire", ("LDS.64", "STS.64"))) for between, made in zip((loads("{}"), stores("{}")), both)},
    ROW + stores("st.release.gpu.global.u32 [%rd1+8], %r6;"): "STS STS",
    ROW + PAIR: "STS.64",
    ROW + "st.shared.u32 [%r4+4], %r6; st.shared.u32 [%r4], %r5;": "STS.64",
    ROW + PAIR + "st.shared.u32 [%r4+8], %r7; st.shared.u32 [%r4+12], %r5;": "STS.128",
    ROW + "st.shared.u32 [%r4+4], %r5; st.shared.u32 [%r4+8], %r6;": "STS STS",
    ROW + "st.shared.u16 [%r4], %h1; st.shared.u16 [%r4+2], %h2;": "STS",
    **{vector(type, wanted): parts.split()[column].replace("+", " ") for wanted, parts in OF_VECTOR.items()
       for column, type in enumerate(("u32", "u16"))},
    vector("u32", (0, 3), "ld.shared.u32 %x4, [%r4+4];", (4,)): "LDS.128",
    vector("u32", (0, 3), "ld.shared.u32 %x4, [%r4];", (4,)): "LDS LDS",
    vector("u32", (0, 1, 2, 3), "ld.shared.v4.u32 {%x4, %x5, %x6, %x7}, [%r4];", (4, 7)): "LDS.128",
    vector("u32", (2, 3), "ld.shared.v4.u32 {%x4, %x5, %x6, %x7}, [%r4+16];", (4, 5)): "LDS.64 LDS.64",
    **MASKED,
    **{vector("u32", (1, 2)) + dead: "LDS LDS" for dead in (
        "add.u32 %x4, %x0, %x3; setp.lt.u32 %p1, %x4, 3; selp.b32 %x5, 1, 2, %p1;",
        "shfl.sync.up.b32 %x4, %x0, 1, 0, -1; add.u32 %x4, %x4, %x3;",
        "setp.lt.u32 %p1, %x0, 3; vote.sync.ballot.b32 %x4, %p1, -1; match.any.sync.b32 %x5, %x3, -1;",
        "mov.u32 %x4, 0; AGAIN: add.u32 %x4, %x4, %x0; add.u32 %x5, %x5, 1; setp.lt.u32 %p1, %x5, %r8; @%p1 bra AGAIN;")},
    vector("u32", (1, 2)) + "mov.b32 %f1, %x0; mov.b32 %f2, %x3; div.rn.f32 %f3, %f1, %f2;": "LDS.128",
    vector("u32", (0, 1)).replace("ld.", "ld.volatile."): "LDS.128",
    vector("u32", (0, 1)).replace("ld.", "setp.lt.u32 %p1, %r7, 9; mov.u32 %x0, 0; mov.u32 %x1, 0; @%p1 ld."): "LDS.64",
    vector("u32", (2, 3)).replace(ROW, ROW + "sub.u32 %r4, %r4, 0;"): "LDS.64",       # no alignment of a sub is known
    **{ROW + UNTIED + stores(other): "STS STS" + more for other, more in {
        "st.shared.u32 [%x0], %r6;": " STS", "st.shared.u32 [%r4+1024], %r6;": " STS", "st.shared.u32 [t], %r6;": " STS",
        "st.shared.u64 [%r4+8], %d1;": " STS.64", "st.shared.u8 [%r4+12], %r6;": " STS.U8"}.items()},
    ROW + UNTIED + GUARD + stores("@%p1 ld.shared.v2.u32 {%x1, %x2}, [%x0];") + added([1]): "LDS STS STS",
    ROW + stores("st.shared.u32 [%r4+8], %r6;"): "STS STS.64",
    ROW + stores("st.shared.u32 [%r4+12], %r6; st.shared.u32 [%r4+8], %r7;"): "STS.128",
    ROW + PAIR + "st.shared.u32 [%r4+16], %r7; st.shared.u32 [%r4+8], %r5; st.shared.u32 [%r4+12], %r5;":
        "STS STS.64 STS.64",
    ROW + PAIR + "st.shared.u32 [%r4], %r7;": "STS STS.64",
    ROW + UNTIED + "ld.shared.u32 %x1, [%r4]; ld.shared.u32 %x2, [%x0]; ld.shared.u32 %x3, [%r4+4];" + added((1, 2, 3)):
        "LDS LDS.64",
    ROW + "st.shared.v2.u8 [%r4], {%h1, %h2}; st.shared.u16 [%r4+2], %h2;": "STS",
    ROW + "st.shared.u16 [%r4], %h1; st.shared.v2.u8 [%r4+2], {%h1, %h2}; st.shared.u32 [%r4+4], %r6;": "STS STS",
    ROW + "st.shared.v4.u8 [%r4], {%h1, %h2, %h2, %h1}; st.shared.u32 [%r4+4], %r6;": "STS.64",
    ROW + "st.shared.v2.u8 [%r4], {%h1, %h2}; st.shared.u8 [%r4+2], %h2; st.shared.u8 [%r4+3], %h1;":
        "STS.U16 STS.U8 STS.U8",
    ROW + BYTES.format("v4", "%h1, %h2, %h3, %h4", 4) + "ld.shared.u32 %x1, [%r4];" + OF_BYTES: "LDS.64",
    ROW + BYTES.format("v4", "%h1, %h2, %h3, %h4", 4) + "ld.shared.s32 %x1, [%r4+4];" + OF_BYTES: "LDS",
    ROW + BYTES.format("v2", "%h1, %h2", 2) + "ld.shared.u16 %h3, [%r4]; mov.u16 %h4, 0; mov.u32 %x1, 0;" + OF_BYTES:
        "LDS.U16 LDS.U16",
    ROW + "st.shared.u8 [%r4], %r5; st.shared.u8 [%r4+1], %r6;": "STS.U8 STS.U8",
    ROW + "st.shared.u64 [%r4], %d1; st.shared.u64 [%r4+8], %d1;": "STS.128",
    ROW + "st.shared.v2.u32 [%r4], {%r5, %r6}; st.shared.v2.u32 [%r4+8], {%r5, %r6};": "STS.128",
    ROW + "setp.lt.u32 %p1, %r7, 9; @%p1 st.shared.u32 [%r4], %r5; @%p1 st.shared.u32 [%r4+4], %r6;": "STS STS",
    ROW + "st.shared.u32 [%r4], %r5; st.global.u32 [%rd1+4], %r6; st.shared.u32 [%r4+4], %r6;": "STS.64",
    ROW + "st.shared.u32 [%r4], %r5; ld.shared.u32 %r3, [%r4+64]; st.shared.u32 [%r4+4], %r6;": "LDS STS STS",
    ROW + loads(): "LDS.64",
    ROW + loads("st.global.u32 [%rd1+4], %r6;"): "LDS.64",
    ROW + loads("cp.async.commit_group;"): "LDS.64",
    ROW + loads("shfl.sync.idx.b32 %x3, %x1, 3, 31, -1;"): "LDS.64",
    ROW + loads("st.shared.u32 [%r4+64], %r6;"): "LDS LDS STS",
    ROW + loads("bar.warp.sync -1;"): "LDS LDS",
    ROW + loads().replace("ld.", "ld.volatile."): "LDS LDS",
    ROW + loads("ld.volatile.shared.u32 %x3, [%r4+64]; st.global.u32 [%rd1+12], %x3;"): "LDS LDS.64",
    ROW + stores("ld.volatile.shared.u32 %x3, [%r4+64]; st.global.u32 [%rd1+12], %x3;"): "LDS STS STS",
    ROW + "ld.shared.u32 %x1, [%r4]; ld.shared.u32 %x2, [%r4]; add.u32 %r3, %x1, %x2;": "LDS",
    ROW + "ld.shared.u64 %d1, [%r4]; ld.shared.u64 %d2, [%r4+8]; add.u64 %d1, %d1, %d2; cvt.u32.u64 %r3, %d1;": "LDS.128",
    "ld.shared.u32 %x1, [s+8]; ld.shared.u32 %x2, [s+12]; add.u32 %r3, %x1, %x2;": "LDS.64",
    "st.shared.u32 [s], %r7; st.shared.u32 [t], %r5; st.shared.u32 [u], %r6;": "STS STS.64",
    **{f"{how} add.u32 %r4, %r2, %x0; {PAIR}": "STS.64" for how in (
        "shl.b32 %x0, %r1, 3;",
        "shl.b32 %x1, %r1, 1; shl.b32 %x0, %x1, 2;",
        "shl.b32 %x1, %r1, 1; shl.b32 %x2, %r6, 4; add.s32 %x1, %x1, %x2; shl.b32 %x0, %x1, 2;",
        "and.b32 %x0, %r1, 248;",
        "mul.lo.s32 %x0, %r1, 24;",
        "shl.b32 %x1, %r8, 3; mul.lo.s32 %x0, %r1, %x1;",
        "mad.lo.s32 %x0, %r1, 8, 16;",
        "shl.b32 %x1, %r1, 3; sub.s32 %x0, 2040, %x1;", "mul.lo.s32 %x1, %r1, 24; sub.s32 %x0, 2040, %x1;",
        "shl.b32 %x1, %r1, 3; sub.s32 %x0, %x1, -64;", "shl.b32 %x1, %r1, 3; neg.s32 %x3, %x1; add.s32 %x0, %x3, 2040;",
        "shl.b32 %x1, %r1, 3; xor.b32 %x0, %x1, 64;",
        "shl.b32 %x1, %r1, 3; bfi.b32 %x0, %r8, %x1, 8, 1;",
        "setp.lt.u32 %p1, %r5, 3; shl.b32 %x1, %r1, 3; selp.b32 %x0, %x1, 64, %p1;")},
    "mov.u32 %x0, 0; mov.u32 %x1, %x0; AGAIN: add.u32 %r4, %r2, %x1; " + PAIR + "add.u32 %x1, %x1, 8; "
    "add.u32 %x0, %x0, %r8; setp.lt.u32 %p1, %x0, %r8; @%p1 bra AGAIN;": "STS.64",
    **{f"{how} add.u32 %r4, %r2, %x0; {PAIR}": "STS STS" for how in (
        "mov.u32 %x0, 0; setp.gt.u32 %p1, %r7, 9; @%p1 mov.u32 %x0, %r8;",
        "shl.b32 %x0, %r1, 2;",
        "shl.b32 %x1, %r1, 3; and.b32 %x2, %x1, -64; sub.s32 %x0, %x1, %x2;",
        "shl.b32 %x1, %r1, 4; shl.b32 %x2, %r8, 3; sub.s32 %x3, %x1, %x2; add.s32 %x0, %x3, 64;",
        "and.b32 %x1, %r1, 248; sub.s32 %x0, 2040, %x1;",
        "shl.b32 %x1, %r1, 3; sub.s32 %x0, 2040, %x1; st.global.u32 [%rd1+12], %x1;",
        "shl.b32 %x1, %r1, 3; min.u32 %x0, %x1, 512;",
        "and.b32 %x0, %r1, 252;")},
    **{WIDE.format(how): "STS.64" for how in (
        "min.u64 %d4, %d3, 512;", "max.u64 %d4, %d3, 8;", "max.s64 %d4, %d3, 0; min.s64 %d4, %d4, 384;",
        "min.s64 %d2, %d2, 9; shl.b64 %d4, %d2, 3;", "shl.b64 %d1, %d2, 4; max.s64 %d4, %d3, %d1;")},
    **{WIDE.format(how): "STS STS" for how in (
        "min.u64 %d4, %d3, 132;", "max.s64 %d4, %d3, 4;", "shl.b64 %d1, %d2, 2; max.u64 %d4, %d3, %d1;")},
}
"""Lines of PTX -> the accesses of shared memory in the SASS, sorted."""
PLAIN = {4: "", 8: ".64", 16: ".128", 1: ".U8", 2: ".U16"}


def body(lines):
    return HEAD + lines + TAIL


def program(lines):
    return module(body(lines), ["u64", "u32"])


@pytest.mark.parametrize("lines", BECOME)
def test_neighbours_are_counted_as_what_they_become(lines):
    x = np.arange(128, dtype=np.uint32).reshape(32, 4) % 8
    trace = ptx.load(program(lines)).entry().run(1, 32, x, 1, hazards="off")
    made = []
    for c in trace.lines:
        op, bits = c.instruction.replace(".shared.b", " ").split()
        made += [{"ld": "LDS", "st": "STS"}[op] + PLAIN[int(bits) // 8]] * c.instructions
    assert " ".join(sorted(made)) == BECOME[lines]


@needs_tools
def test_ptxas_makes_these_accesses_of_them(tmp_path):
    made = assembled_each([body(lines) for lines in BECOME], tmp_path)
    found = {lines: " ".join(sorted(name.replace("LDS.S16", "LDS.U16") for name in made[body(lines)].elements()
                                    if name.startswith(("LDS", "STS")))) for lines in BECOME}
    assert found == BECOME


def test_a_whole_may_reach_past_the_end_of_shared_memory():
    head = ".shared .align 16 .b8 s[12]; .reg .b32 %x<4>; mov.u32 %r3, 0;"
    text = module(head + words(range(3)).replace("%r4", "s") + "st.shared.u32 [s], %r3; ret;")
    trace = ptx.load(text).entry().run(1, 32, hazards="off")
    assert [(c.instruction, c.instructions) for c in trace.lines] == [("ld.shared.b128", 1), ("st.shared.b32", 1)]


@pytest.mark.parametrize("repeats", [1, 3000])
def test_numpy_and_the_compiled_loop_count_the_same(repeats):
    again = f"add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, {repeats}; @%p1 bra AGAIN;"
    filled = f"{PAIR} st.shared.u32 [%r4+8], %r7; st.shared.u32 [%r4+12], %r7;"
    lines = f"mov.u32 %r0, 0; AGAIN: {ROW + filled} bar.warp.sync -1; {words((0, 1, 3))} {halves('u16', AS_F16)} {again}"
    trace = ptx.load(program(lines)).entry().run(1, 32, np.zeros((32, 4), np.uint32), 1)
    assert {c.instruction: c.instructions for c in trace.lines} == {
        name: repeats for name in ("st.shared.b128", "ld.shared.b128", "ld.shared.b64")}


def test_a_joined_access_stands_in_the_line_of_its_first_load_or_last_store():
    lines = ROW + PAIR + " bar.warp.sync -1; " + loads()
    text = program(lines.replace("; ", ";\n"))
    trace = ptx.load(text).entry().run(1, 32, np.zeros((32, 4), np.uint32), 1)
    at = {c.instruction: text.splitlines()[c.line - 1] for c in trace.lines}
    assert at == {"st.shared.b64": "st.shared.u32 [%r4+4], %r6;", "ld.shared.b64": "ld.shared.u32 %x1, [%r4];"}


@pytest.mark.parametrize("place, made", [("shared::cta.b1024.b32 [%r2]", ("ld.shared.b32", 3)),    # one of them the field's
                                         ("global.b1024.b32 [%rd1]", ("ld.shared.b64", 1))])
def test_loads_on_both_sides_of_a_change_of_a_tensor_map_in_shared_memory_stay_apart(place, made):
    text = program(ROW + loads(f"tensormap.replace.tile.rank.{place}, 3;"))
    counted = ptx.load(text).entry().run(1, 1, np.zeros(32, np.uint32), 1, hazards="off").lines
    assert [(c.instruction, c.instructions) for c in counted if c.instruction.startswith("ld.shared")] == [made]


GENERIC = {"1": "ld.b32", "01": "ld.b64", "12": "ld.b32 ld.b32", "02": "ld.b32 ld.b32", "23": "ld.b64",
           "012": "ld.b32 ld.b64", "123": "ld.b32 ld.b64", "0123": "ld.b128"}
"""Which elements of a vector something reads -> what its load by a generic address becomes."""


def generic(which):
    add = "".join(f"add.u32 %r3, %r3, %x{i}; " for i in which)
    return HEAD + ROW + f"""cvt.u64.u32 %d2, %r4; cvta.shared.u64 %d2, %d2; st.shared.v2.u32 [%r4], {{%r5, %r6}};
    st.shared.v2.u32 [%r4+8], {{%r5, %r6}}; bar.sync 0; ld.v4.u32 {{%x0, %x1, %x2, %x3}}, [%d2]; {add}""" + TAIL


@pytest.mark.parametrize("which", GENERIC)
@pytest.mark.parametrize("hazards", ["raise", "off"])
def test_a_generic_load_of_a_vector_counts_as_the_pairs_and_elements_of_it_that_something_reads(which, hazards):
    entry = ptx.load(module(generic(which), ["u64", "u32"])).entry()
    trace = entry.run(1, 32, np.zeros((32, 4), np.uint32), 0, hazards=hazards)
    found = [one.instruction for one in trace.accesses for _ in range(one.instructions) if one.instruction[:2] == "ld"]
    assert found == GENERIC[which].split()


@needs_tools
def test_ptxas_makes_these_of_a_generic_load_of_a_vector(tmp_path):
    made = assembled_each([generic(which) for which in GENERIC], tmp_path)
    named = {"LD.E": "ld.b32", "LD.E.64": "ld.b64", "LD.E.128": "ld.b128"}
    for which, wanted in GENERIC.items():
        opcodes = made[generic(which)]
        assert sorted(named[one] for one in opcodes.elements() if one in named) == wanted.split()
