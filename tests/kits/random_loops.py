"""Random loops in PTX whose number of rounds only the launch tells, of all shapes that ptxas unrolls and of some that it
does not; and what ptxas and the machine make of them."""

import re
from collections import Counter

HEAD = """.reg .b32 %x<9>; .reg .b64 %d<9>; .reg .f32 %g<99>; .shared .align 16 .b8 s[32768];
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r8, [kernel_param_1]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2; mov.u64 %rd6, %rd3; mov.u32 %r2, s; shl.b32 %r3, %r1, 8; add.u32 %r4, %r2, %r3; mov.u32 %r5, %r4;
ld.global.f32 %f1, [%rd3+4096]; ld.global.f32 %f2, [%rd3+4224]; ld.global.f32 %f3, [%rd3+4352];
ld.global.f32 %f4, [%rd3+4480];
cvt.rn.f32.u32 %f6, %r1; cvt.s64.s32 %d5, %r8; and.b32 %r7, %r1, 3; add.s32 %r7, %r8, %r7; cvt.s64.s32 %d6, %r7;
st.shared.f32 [%r4], %f1; st.shared.f32 [%r4+4], %f2; st.shared.f32 [%r4+8], %f3; st.shared.f32 [%r4+12], %f4; bar.sync 0;
"""
TAIL = "".join(f"st.global.f32 [%rd3+{128 * i}], %f{i}; " for i in range(1, 5)) + "ret;"
AGAINST = {"lt": "ge", "le": "gt", "ne": "eq", "gt": "le", "ge": "lt"}
SHAPES = {
    # i: the counter, step: how it changes, on and off: comparisons that hold as long as the loop goes on, or where it ends
    "bottom": "L: {body} {step} setp.{on} %p1, {i}, {n}; @%p1 bra L; E: ",
    "top": "L: setp.{off} %p1, {i}, {n}; @%p1 bra E; {body} {step} bra L; E: ",
    "top, goes on": "L: setp.{on} %p1, {i}, {n}; @%p1 bra B; bra E; B: {body} {step} bra L; E: ",
    "turned": "L: {body} {step} setp.{off} %p1, {i}, {n}; @%p1 bra E; bra L; E: ",
    "middle": "bra M; L: {body} M: {step} setp.{on} %p1, {i}, {n}; @%p1 bra L; E: ",
    "negated": "L: {body} {step} setp.{off} %p1, {i}, {n}; @!%p1 bra L; E: ",
    "tested ahead": "L: {body} setp.{on} %p1, {i}, {n}; {step} @%p1 bra L; E: ",
}
SUMS = ["add.f32 {0}, {0}, {1}; ", "add.f32 {0}, {1}, {0}; ", "sub.f32 {0}, {0}, {1}; ", "sub.f32 {0}, {1}, {0}; "]


def _arithmetic(rng, many):
    """Operations on %f1 to %f4, of which each has the result of all before it: nothing of it can be left out."""
    made = ""
    for number in range(many):
        to, other = (f"%f{i}" for i in rng.choice([1, 2, 3, 4], 2, replace=False))
        what, new = rng.random(), f"%g{number}"
        if what < 0.35:
            made += f"mul.f32 {to}, {to}, {rng.choice([other, other, '0f3F7FBE77'])}; "
        elif what < 0.65:
            made += rng.choice(SUMS).format(to, other)
        elif what < 0.75:
            made += f"mul.f32 {new}, {to}, {other}; " + rng.choice(SUMS).format(to, new)
        elif what < 0.85:
            made += f"ld.global.f32 {new}, [%rd6+{4 * rng.integers(8)}]; " + rng.choice(SUMS).format(to, new)
        else:
            made += f"ld.shared.f32 {new}, [%r5+{4 * rng.integers(4)}]; " + rng.choice(SUMS).format(to, new)
    return made


def random_loop(rng, number=None):
    """A body with one loop. number: what its counter is compared with, or begins with; else what only the launch tells."""
    body = _arithmetic(rng, rng.integers(2, 8)) + f"add.s32 %r5, %r5, {rng.choice([4, 4, 8, 16, 128])}; "
    if rng.random() < 0.3:
        body += "add.s64 %rd6, %rd6, 8; "
    if rng.random() < 0.2:
        body += rng.choice(["bar.sync 0; ", "shfl.sync.bfly.b32 %f3, %f3, 1, 31, -1; "])
    if rng.random() < 0.2:
        body += "setp.gt.f32 %p2, %f1, %f6; @%p2 bra C; " + _arithmetic(rng, 2) + "C: "
    kind = str(rng.choice(["s32", "s32", "s32", "u32", "b32", "s64", "u64"]))
    bits, down = kind[1:], rng.random() < 0.4
    compare = "ne" if kind[0] == "b" else str(rng.choice(["ne", "gt"] if down else ["ne", "lt", "le"]))
    step = 1 if compare == "ne" else int(rng.choice([1, 1, 2, 4]))
    i, n = ("%d7", str(rng.choice(["%d5", "%d6"]))) if bits == "64" else ("%r6", str(rng.choice(["%r8", "%r7"])))
    n = n if number is None else str(number)
    if bits == "32" and rng.random() < 0.3:
        body = f"shl.b32 %x6, {i}, 2; add.s32 %x6, %r4, %x6; ld.shared.f32 %f5, [%x6]; add.f32 %f2, %f2, %f5; " + body
    loop = SHAPES[str(rng.choice([*SHAPES]))].format(
        body=body, i=i, n="0" if down else n, on=f"{compare}.{kind}", off=f"{AGAINST[compare]}.{kind}",
        step=f"add.s{bits} {i}, {i}, {-step if down else step}; ")
    return f"{HEAD}mov.b{bits} {i}, {n if down else 0}; {loop}{_arithmetic(rng, 2)}{TAIL}"


def of_ptxas(opcodes):
    """{"LDS", "LDS.64", ... or "FADD", "FMUL", "FFMA": how many} of opcodes of SASS."""
    found = Counter(opcode for opcode in opcodes if re.fullmatch(r"(LDS|STS)(\.64|\.128)?|F(ADD|MUL|FMA)", opcode))
    return {name: many for name, many in found.items() if many}


def of_machine(program):
    """The same of a program."""
    found, floats = Counter(), {"fma.rn.f32": "FFMA", "mul.f32": "FMUL", "add.f32": "FADD", "sub.f32": "FADD"}
    for step in program.steps:
        if step.name in floats:
            found[floats[step.name]] += 1
        elif re.match(r"(ld|st)\.shared", step.name):
            for size in [4] if step.joined is None else [one.bytes for one in step.joined]:
                found[f"{step.name[:2].upper()}S{f'.{8 * size}' if size > 4 else ''}"] += 1
    return dict(found)
