"""Loads that only the lanes behind a gate need come behind it: an end of lanes, a branch, an atomic under a guard."""

from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from machine_code import listed_each, needs_tools
from ptx_texts import module

from simlayout import ptx
from simlayout.errors import InstructionError
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes import made
from simlayout.machine.ptx.passes.known import Known

HEAD = """.shared .align 16 .b8 s[4096]; .reg .b32 %x<9>;
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r1, [kernel_param_1];
mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 16; add.s64 %rd1, %rd1, %rd2; mov.u32 %r4, s; mad.lo.u32 %r5, %r2, 16, %r4;
"""
GUARD, OTHER = "setp.lt.u32 %p1, %r2, %r1; ", "setp.lt.u32 %p2, %r2, 9; "
LOAD, TWO = "ld.shared.u32 %x0, [%r5]; ", "ld.shared.u32 %x0, [%r5]; ld.shared.u32 %x1, [%r5+1024]; "
STORE = "@%p1 st.global.u32 [%rd1], {}; "

IN_HALVES = "mov.b32 {%rs2, %rs3}, %x0; "

BEHIND = {
    GUARD + LOAD + STORE.format("%x0"): (0, 1), LOAD + GUARD + STORE.format("%x0"): (0, 1),
    GUARD + LOAD + STORE.format("%x0").replace("@", "@!"): (0, 1),
    GUARD + LOAD + "@%p1 red.global.add.u32 [%rd1], %x0; ": (0, 1),
    GUARD + LOAD + "@%p1 st.shared.u32 [%r5+64], %x0; ": (0, 1),
    GUARD + LOAD + "add.u32 %x2, %x0, 5; " + STORE.format("%x2"): (0, 1),
    GUARD + LOAD + "mov.b32 %x2, %x0; " + STORE.format("%x2"): (0, 1),
    **{GUARD + LOAD + f"{one}; mov.b32 %x3, %x2; " + STORE.format("%x3"): (0, 1) for one in (
        "sub.s32 %x2, %x0, 5", "sub.s32 %x2, 5, %x0", "and.b32 %x2, %x0, 12", "or.b32 %x2, %x0, 5", "xor.b32 %x2, 5, %x0",
        "not.b32 %x2, %x0", "shl.b32 %x2, %x0, 3", "shr.u32 %x2, %x0, 3", "mul.lo.u32 %x2, %x0, 7", "mul.hi.s32 %x2, %x0, 7",
        "min.u32 %x2, %x0, 7", "max.s32 %x2, %x0, 7", "add.f32 %x2, %x0, 0f3FA00000", "sub.rn.f32 %x2, %x0, 0f3FA00000",
        "mul.ftz.f32 %x2, %x0, 0f3FA00000", "max.f32 %x2, %x0, 0f3FA00000", "add.s32 %x2, %x0, 5", "sub.u32 %x2, %x0, 5",
        "mul.lo.s32 %x2, %x0, 7", "min.s32 %x2, %x0, 7", "min.f32 %x2, %x0, 0f3FA00000", "max.u32 %x2, %x0, 7",
        "shr.s32 %x2, %x0, 3", "shr.b32 %x2, %x0, 3")},
    **{GUARD + LOAD + f"{one}; " + STORE.format("%x2"): (1, 0) for one in (
        "sub.s32 %x2, 0, %x0", "neg.s32 %x2, %x0", "max.s32 %x2, %x0, 0", "max.f32 %x2, %x0, 0f00000000",
        "shl.b32 %x2, 5, %x0", "shl.b32 %x1, %x0, 3; add.u32 %x2, %x1, 7",
        "mul.f32 %x1, %x0, 0f3FA00000; add.f32 %x2, %x1, 0f3FA00000",
        "shl.b32 %x1, %x0, 3; mov.b32 %x3, %x1; add.u32 %x2, %x3, 7",
        "add.cc.u32 %x2, %x0, 5; addc.u32 %x3, %r2, 0; st.global.u32 [%rd1+4], %x3")},
    GUARD + "ld.shared.u16 %rs1, [%r5]; mov.b16 %rs2, %rs1; @%p1 st.global.u16 [%rd1], %rs2; ": (0, 1),
    GUARD + "ld.shared.u64 %rd3, [%r5]; add.f64 %rd4, %rd3, 0d3FF0000000000000; @%p1 st.global.u64 [%rd1], %rd4; ": (0, 1),
    **{GUARD + f"ld.shared.{of} %rd3, [%r5]; @%p1 st.global.u64 [%rd1], %rd3; ": (1, 0)
       for of in ("s32", "u32", "u16", "s8")},
    GUARD + "ld.shared.s16 %x0, [%r5]; " + STORE.format("%x0"): (0, 1),
    **{GUARD + LOAD + f"{how} %rs2, %x0; @%p1 st.global.u16 [%rd1], %rs2; ": (0, 1) for how in (
        "cvt.rn.f16.f32", "cvt.rn.bf16.f32", "cvt.u16.u32", "cvt.s8.s32", "cvt.u8.u32")},
    **{GUARD + LOAD + f"{one}; " + STORE.format("%x2"): (0, 1) for one in (
        "cvt.rzi.s32.f32 %x2, %x0", "cvt.rn.f32.s32 %x2, %x0", "cvt.rni.f32.f32 %x2, %x0",
        "abs.s32 %x2, %x0", "add.u32 %x1, %x0, 5; cvt.rn.f32.u32 %x2, %x1",
        "cvt.rn.f32.u32 %x1, %x0; mul.f32 %x2, %x1, 0f3FA00000",
        "mul.f32 %x1, %x0, 0f3FA00000; cvt.rn.f16.f32 %rs2, %x1; cvt.f32.f16 %x2, %rs2")},
    **{GUARD + TWO + f"cvt.rn.{to}.f32 %rs2, %x0; cvt.rn.{to}.f32 %rs3, %x1; @%p1 st.global.u16 [%rd1], %rs2; "
       "@%p1 st.global.u16 [%rd1+2], %rs3; ": (2, 0) for to in ("f16", "bf16")},
    GUARD + LOAD + "cvt.rn.f32.u32 %x3, %r2; cvt.rn.f16.f32 %rs3, %x3; st.global.u16 [%rd1+4], %rs3; "
    "cvt.rn.f16.f32 %rs2, %x0; @%p1 st.global.u16 [%rd1], %rs2; ": (1, 0),
    **{GUARD + f"ld.shared.f32 %f1, [%r5]; {sign} @%p1 st.global.f32 [%rd1], %f2; ": (0, 1) for sign in (
        "neg.f32 %f2, %f1;", "abs.f32 %f2, %f1;", "neg.f32 %f3, %f1; mul.f32 %f2, %f3, 0f3FA00000;")},
    **{GUARD + LOAD + f"{sign}.f32 %x2, %x0; " + STORE.format("%x2"): (1, 0) for sign in ("neg", "abs")},
    GUARD + LOAD + "cvt.sat.f32.f32 %x2, %x0; " + STORE.format("%x2"): (1, 0),
    **{GUARD + LOAD + f"{how} %rd3, %x0; @%p1 st.global.u64 [%rd1], %rd3; ": made for how, made in (
        ("cvt.u64.u32", (1, 0)), ("cvt.s64.s32", (1, 0)), ("cvt.f64.f32", (0, 1)), ("cvt.rzi.s64.f32", (0, 1)))},
    GUARD + "ld.shared.u64 %rd3, [%r5]; cvt.u32.u64 %x2, %rd3; " + STORE.format("%x2"): (0, 1),
    **{GUARD + LOAD + one + "@%p1 st.global.v2.u32 [%rd1], {%x2, %x3}; ": made for one, made in (
        ("add.u32 %x2, %x0, 5; shl.b32 %x3, %x0, 3; ", (0, 1)), ("add.u32 %x2, %x0, 5; mov.b32 %x3, %x0; ", (0, 1)),
        (IN_HALVES + "cvt.f32.f16 %x2, %rs2; cvt.f32.f16 %x3, %rs3; ", (0, 1)),
        (IN_HALVES + "cvt.f32.f16 %x2, %rs3; mul.f32 %x3, %x2, 0f3FA00000; ", (0, 1)),
        ("add.u32 %x2, %x0, 5; add.u32 %x3, %x0, %r2; ", (1, 0)),
        ("add.u32 %x2, %x0, 5; shl.b32 %x3, %x0, 3; st.global.u32 [%rd1+12], %x3; ", (1, 0)))},
    GUARD + LOAD + "mad.lo.u32 %x2, %x0, 3, 7; " + STORE.format("%x2"): (1, 0),
    GUARD + LOAD + "add.u32 %x2, %x0, %r2; " + STORE.format("%x2"): (1, 0),
    GUARD + TWO + "add.u32 %x2, %x0, %x1; " + STORE.format("%x2"): (2, 0),
    GUARD + TWO + "@%p1 st.global.v2.u32 [%rd1], {%x0, %x1}; ": (0, 2),
    GUARD + "ld.shared.v4.u32 {%x0, %x1, %x2, %x3}, [%r5]; @%p1 st.global.v4.u32 [%rd1], {%x0, %x1, %x2, %x3}; ": (0, 1),
    GUARD + "".join(f"ld.shared.u32 %x{i}, [%r5+{4 * i}];" for i in range(4)) +
    "@%p1 st.global.v4.u32 [%rd1], {%x0, %x1, %x2, %x3}; ": (0, 1),
    GUARD + TWO + STORE.format("%x0") + STORE.format("%x1").replace("%rd1", "%rd1+4"): (1, 1),
    GUARD + OTHER + TWO + STORE.format("%x0") + STORE.format("%x1").replace("%p1", "%p2").replace("%rd1", "%rd1+4"): (1, 1),
    GUARD + LOAD + STORE.format("%x0") + "st.global.u32 [%rd1+4], %r2; ": (1, 0),
    GUARD + LOAD + "bar.sync 0; " + STORE.format("%x0"): (1, 0),
    GUARD + LOAD + "fence.acq_rel.cta; " + STORE.format("%x0"): (1, 0),
    GUARD + LOAD + "st.shared.u32 [%r5+64], %r2; " + STORE.format("%x0"): (1, 0),
    GUARD + LOAD + "st.global.u32 [%rd1+4], %r2; " + STORE.format("%x0"): (0, 1),
    GUARD + LOAD + "st.global.u32 [%rd1+4], %x0; " + STORE.format("%x0"): (1, 0),
    GUARD + LOAD + "shfl.sync.down.b32 %x2, %x0, 1, 31, -1; " + STORE.format("%x2"): (1, 0),
    LOAD + "setp.ne.u32 %p1, %x0, 7; " + STORE.format("%x0"): (1, 0),
    (GUARD + LOAD + STORE.format("%x0")).replace("ld.", "ld.volatile."): (1, 0),
    GUARD + LOAD + "ld.volatile.shared.u32 %x1, [%r5+1024]; st.global.u32 [%rd1+4], %x1; " + STORE.format("%x0"): (1, 1),
    (GUARD + LOAD + STORE.format("%x0")).replace("ld.shared", "ld.relaxed.cta.shared"): (1, 0),
    (GUARD + LOAD + STORE.format("%x0")).replace("ld.shared", "ld.acquire.cta.shared"): (1, 0),
    GUARD + LOAD + STORE.format("%x0").replace("st.", "st.volatile."): (0, 1),
    GUARD + LOAD + STORE.format("%x0").replace("st.global", "st.release.gpu.global"): (0, 1),
    GUARD + LOAD + OTHER + "@%p2 mov.b32 %x0, 3; " + STORE.format("%x0"): (1, 0),
    GUARD + LOAD + "mov.b32 %x2, %x0; " + OTHER + "@%p2 mov.b32 %x2, 3; " + STORE.format("%x2"): (1, 0),
    GUARD + LOAD + "red.global.add.u32 [%rd1+4], 1; " + STORE.format("%x0"): (0, 1),
    GUARD + LOAD + "red.release.gpu.global.add.u32 [%rd1+4], 1; " + STORE.format("%x0"): (1, 0),
    GUARD + LOAD + "st.release.cta.global.u32 [%rd1+4], %r2; " + STORE.format("%x0"): (1, 0),
    GUARD + LOAD + "ld.acquire.gpu.global.u32 %x5, [%rd1+4]; " + STORE.format("%x0"): (1, 0),
    GUARD + LOAD + "atom.acq_rel.gpu.global.add.u32 %x5, [%rd1+4], 1; " + STORE.format("%x0"): (1, 0),
    GUARD + LOAD + "and.b32 %x2, %x0, 12; cvt.u64.u32 %rd3, %x2; add.u64 %rd2, %rd1, %rd3; @%p1 st.global.u32 [%rd2], %r2; ":
        (1, 0),
}
"""Lines -> (loads that all warps execute, those that come behind the end of lanes that do not store)."""

RED, END = "red.global.add.u32 [%rd1+8], {}; ", "$end: "
AROUND, LAST = "@!%p1 bra $on; {} $on: ", "st.global.u32 [%rd1+4], %r2; "
EITHER = "@!%p1 bra $else; {} bra $on; $else: {} $on: "
STORES = "st.global.u32 [%rd1], %x0; st.global.u32 [%rd1+8], %x0; "
MANY = "mov.u32 %x2, 1; " + "".join(f"mad.lo.u32 %x2, %x2, %x0, {i}; st.global.u32 [%rd1+{64 * i}], %x2; " for i in range(9))

SAME, NEXT = "ld.shared.u32 %x1, [%r5]; ", "ld.shared.u32 %x1, [%r5+4]; "
ON, TO_END = STORE.format("%x0").replace("@%p1 ", ""), "@!%p1 bra $end; "
MORE, ENDED = "st.global.u32 [%rd1+4], %r2; ", "st.global.u32 [%rd1+4], %r2; $end: "
AFTER = "bar.sync 0; st.global.u32 [%rd1+8], %r2; "
UNDER = "@!%p2 bra $skip; {} $skip: "
ADD = "@%p1 red.global.add.u32 [%rd1], %x0; "
ADDS = ADD + "@%p1 red.global.add.u32 [%rd1+4], %x1; "

FILLED = "ld.global.u64 %rd4, [%rd1]; "
WIDE = "mul.lo.u64 %rd3, %rd4, %rd1; {} st.global.u64 [%rd1+8], %rd3; "
WIDER = WIDE.format("add.u64 %rd3, %rd3, 5; mul.lo.u64 %rd3, %rd3, %rd4; xor.b64 %rd3, %rd3, %rd1; ")
LOADS = "ld.global.u32 %x3, [%rd1+4]; st.global.u32 [%rd1+12], %x3; "

INTO = "@%p2 bra $in; bra.uni $skip; $in: {} $skip: "
OTHERWISE = "@%p2 bra $one; bra.uni $two; $one: {} bra $both; $two: {} $both: "

BEHIND_BRANCHES = {
    GUARD + LOAD + "@!%p1 bra $end; " + STORES + END: (0, 1),
    GUARD + LOAD + "@%p1 bra $on; ret; $on: " + STORES: (0, 1),
    GUARD + LOAD + "@%p1 bra $on; bra $end; $on: " + STORES + END: (0, 1),
    GUARD + LOAD + "@!%p1 ret; " + STORES: (0, 1),
    GUARD + LOAD + "@!%p1 exit; " + STORES: (0, 1),
    GUARD + LOAD + "@!%p1 ret; st.global.u32 [%rd1], %x0; bar.warp.sync -1; st.global.u32 [%rd1+4], %x0; ": (0, 1),
    GUARD + LOAD + LAST + "@!%p1 ret; " + STORES: (0, 1),
    GUARD + LOAD + LAST.replace("%r2", "%x0") + "@!%p1 ret; " + STORES: (1, 0),
    GUARD + OTHER + LOAD + "@!%p1 bra $end; @!%p2 bra $end; " + STORES + END: (0, 1),
    GUARD + OTHER + TWO + "@!%p1 bra $end; " + STORES + "@!%p2 bra $end; st.global.u32 [%rd1+12], %x1; " + END: (0, 2),
    GUARD + LOAD + "st.shared.u32 [%r5+64], %r2; @!%p1 ret; " + STORES: (1, 0),
    GUARD + LOAD + "bar.sync 0; @!%p1 ret; " + STORES: (1, 0),
    GUARD + LOAD + "@!%p1 bra $on; " + STORES + "$on: " + LAST: (1, 0),                  # all under the predicate
    GUARD + LOAD + AROUND.format(MANY) + LAST: (0, 1),
    GUARD + LOAD + AROUND.format(MANY) + LAST.replace("%r2", "%x0"): (1, 0),
    GUARD + LOAD + AROUND.format(RED.format("%x0")) + LAST: (0, 1),
    GUARD + LOAD + AROUND.format("atom.global.add.u32 %x2, [%rd1+8], %x0; st.global.u32 [%rd1], %x2; ") + LAST: (0, 1),
    GUARD + LOAD + IN_HALVES + "cvt.f32.f16 %x1, %rs2; cvt.f32.f16 %x2, %rs3; " +
    AROUND.format(RED.format("%x1") + RED.format("%x2")) + LAST: (0, 1),
    GUARD + LOAD + AROUND.format("red.shared.xor.b32 [%r5], %x0; ") + LAST: (0, 1),
    GUARD + OTHER + LOAD + AROUND.format("@%p2 bra $in; " + STORES + "$in: st.global.u32 [%rd1+12], %r2; ") + LAST: (0, 1),
    GUARD + LOAD + AROUND.format("shfl.sync.down.b32 %x2, %x0, 1, 31, -1; st.global.u32 [%rd1], %x2; ") + LAST: (0, 1),
    GUARD + LOAD + "@%p1 " + RED.format("%x0") + LAST: (0, 1),
    GUARD + LOAD + "@!%p1 " + RED.format("%x0") + LAST: (0, 1),
    GUARD + LOAD + "@%p1 atom.global.add.u32 %x2, [%rd1+8], %x0; " + LAST: (0, 1),
    GUARD + LOAD + "@%p1 red.shared.xor.b32 [%r5], %x0; " + LAST: (0, 1),
    GUARD + LOAD + "red.global.add.u32 [%rd1+12], %r2; @%p1 " + RED.format("%x0") + LAST: (0, 1),
    GUARD + LOAD + "red.shared.add.u32 [%r5+64], %r2; @%p1 " + RED.format("%x0") + LAST: (1, 0),
    GUARD + LOAD + "membar.gl; @%p1 " + RED.format("%x0") + LAST: (1, 0),
    GUARD + LOAD + "bar.warp.sync -1; @%p1 " + RED.format("%x0") + LAST: (1, 0),
    GUARD + LOAD + "add.u32 %x2, %x0, 5; @%p1 " + RED.format("%x2") + LAST: (0, 1),
    GUARD + TWO + "mad.lo.u32 %x2, %x0, %r2, %x1; @%p1 " + RED.format("%x2") + LAST: (2, 0),
    GUARD + TWO + "@%p1 " + RED.format("%x0") + LAST.replace("%r2", "%x1"): (1, 1),
    LOAD + "setp.ne.u32 %p1, %x0, 0; @%p1 " + RED.format("%x0") + LAST: (1, 0),
    LOAD + GUARD + TO_END + ON + ENDED: (0, 1),
    LOAD + GUARD + "@!%p1 ret; " + ON + MORE: (0, 1),
    TWO + GUARD + TO_END + "add.u32 %x2, %x0, %x1; " + STORE.format("%x2")[5:] + ENDED: (0, 2),
    LOAD + "add.u32 %x2, %x0, 5; " + GUARD + TO_END + STORE.format("%x2")[5:] + "st.global.u32 [%rd1], %x2; " + END: (0, 1),
    LOAD + "st.global.u32 [%rd1+8], %r2; " + GUARD + TO_END + ON + ENDED: (0, 1),
    LOAD + "st.global.u32 [%rd1+8], %x0; " + GUARD + TO_END + ON + ENDED: (1, 0),
    LOAD + "st.shared.u32 [%r5+64], %r2; " + GUARD + TO_END + ON + ENDED: (1, 0),
    LOAD + GUARD + TO_END + "mov.u32 %x2, 0; $again: add.u32 %x2, %x2, 1; st.global.u32 [%rd1+4], %x2; "
    "setp.lt.u32 %p2, %x2, %r1; @%p2 bra $again; " + ON + "$end: ": (0, 1),
    LOAD + GUARD + TO_END + OTHER + "@%p2 st.global.u32 [%rd1+8], %r2; " + STORES + END: (0, 1),
    LOAD + GUARD + "@!%p1 bra $on; " + ON + "$on: " + MORE: (1, 0),
    LOAD + GUARD + ADD + AFTER: (0, 1),
    TWO + GUARD + ADDS + AFTER: (0, 2),
    TWO + GUARD + OTHER + ADDS.replace("@%p1 red.global.add.u32 [%rd1+", "@%p2 red.global.add.u32 [%rd1+") + AFTER: (1, 1),
    LOAD + "add.u32 %x2, %x0, 5; " + GUARD + ADD.replace("%x0", "%x2") + AFTER: (0, 1),
    TWO + "add.u32 %x0, %x0, %x1; " + GUARD + ADD + AFTER: (2, 0),
    LOAD + GUARD + "@%p1 atom.global.add.u32 %x5, [%rd1], %x0; st.global.u32 [%rd1+4], %x5; " + AFTER: (0, 1),
    LOAD + GUARD + ON.replace("st", "@%p1 st", 1) + AFTER: (1, 0),
    LOAD + "bar.sync 0; " + GUARD + ADD + AFTER: (1, 0),
    GUARD + LOAD + EITHER.format(RED.format("%x0"), "st.global.u32 [%rd1], %r2; ") + LAST: (0, 1),
    GUARD + LOAD + EITHER.format(RED.format("%r2"), RED.format("%x0")) + LAST: (1, 0),
    GUARD + LOAD + EITHER.format(RED.format("%x0"), RED.format("%x0")) + LAST: (1, 0),
    **{GUARD + LOAD + gate + other + LAST.replace("%r2", "%x1"): (1, 0) for other in (SAME, NEXT) for gate in (
        AROUND.format(RED.format("%x0")), "@%p1 " + RED.format("%x0"))},
    **{GUARD + OTHER + LOAD + AROUND.format(RED.format("%x0")) + "@!%p2 bra $then; " + then + "$then: " + LAST: (1, 0)
       for one in (SAME, NEXT) for then in (one + RED.format("%x1"),)},
    GUARD + LOAD + NEXT + AROUND.format(RED.format("%x0")) + LAST.replace("%r2", "%x1"): (1, 0),
    GUARD + NEXT + LOAD + AROUND.format(RED.format("%x0")) + LAST.replace("%r2", "%x1"): (1, 0),
    GUARD + LOAD + NEXT + AROUND.format(RED.format("%x0") + RED.format("%x1")) + LAST: (0, 1),
    GUARD + LOAD + AROUND.format(RED.format("%x0") + SAME + RED.format("%x1")) + LAST: (0, 1),
    GUARD + LOAD + AROUND.format(RED.format("%x0") + NEXT + RED.format("%x1")) + LAST: (0, 1),
    GUARD + LOAD + "@!%p1 ret; " + RED.format("%x0") + NEXT + LAST.replace("%r2", "%x1"): (0, 1),
    GUARD + OTHER + LOAD + UNDER.format(MORE) + TO_END + ON + END: (0, 1),
    GUARD + OTHER + TWO + UNDER.format(MORE.replace("%r2", "%x1")) + TO_END + ON + END: (1, 1),
    GUARD + OTHER + LOAD + "add.u32 %x2, %x0, 5; " + UNDER.format(MORE) + TO_END + ON.replace("%x0", "%x2") + END: (0, 1),
    GUARD + OTHER + LOAD + "mad.lo.u32 %x2, %x0, 3, 7; " + UNDER.format(MORE) + TO_END + ON.replace("%x0", "%x2") + END:
        (1, 0),
    GUARD + OTHER + LOAD + UNDER.format("mov.u32 %x0, 3; " + MORE) + TO_END + ON + END: (1, 0),
    GUARD + OTHER + LOAD + UNDER.format("st.shared.u32 [%r5+64], %r2; ") + TO_END + ON + END: (1, 0),
    GUARD + OTHER + LOAD + UNDER.format(MANY.replace("%x2, %x0", "%x2, %r2")) + TO_END + ON + END: (1, 0),
    GUARD + OTHER + LOAD + UNDER.format(MORE) + UNDER.format(MORE).replace("skip", "two") + TO_END + ON + END: (1, 0),
    FILLED + GUARD + OTHER + LOAD + UNDER.format(WIDE.format("")) + TO_END + ON + END: (0, 1),
    FILLED + GUARD + OTHER + LOAD + UNDER.format(WIDER) + TO_END + ON + END: (1, 0),
    FILLED + GUARD + OTHER + LOAD + UNDER.format(WIDER) + ADD + LAST: (1, 0),
    FILLED + GUARD + OTHER + LOAD + UNDER.format(WIDER) + ADD + LOADS: (1, 0),
    FILLED + GUARD + OTHER + LOAD + UNDER.format(WIDER) + LOADS + TO_END + ON + END: (0, 1),
    FILLED + GUARD + OTHER + LOAD + UNDER.format(WIDER) + TO_END + LOADS + ON + END: (0, 1),
    GUARD + OTHER + "setp.gt.u32 %p3, %r2, 5; " + LOAD + UNDER.format(MORE) +
    UNDER.format(MORE).replace("skip", "two").replace("%p2", "%p3") + TO_END + ON + END: (0, 1),
    **{GUARD + OTHER + LOAD + UNDER.format(MORE) + way + TO_END + ON + END: (0, 1) for way in (
        "st.global.u32 [%rd1+8], %r2; " + UNDER.format(MORE).replace("skip", "then"),
        OTHERWISE.format(MORE, MORE), OTHERWISE.format(MORE, "").replace("bra.uni", "bra"))},
    **{GUARD + OTHER + LOAD + one.format(MORE) + other.format("st.global.u32 [%rd1+12], %r1; ").replace(
        "skip", "then").replace("$in", "$into") + TO_END + ON + END: made for one, other, made in (
        (UNDER, UNDER.replace("@!", "@"), (0, 1)), (UNDER, INTO, (0, 1)), (UNDER, INTO.replace("@", "@!"), (1, 0)),
        (INTO, UNDER, (0, 1)), (INTO, INTO, (0, 1)), (UNDER, UNDER, (1, 0)))},
    GUARD + LOAD + "@%p1 bra $in; bra.uni $on; $in: " + RED.format("%x0") + "$on: " + LAST: (0, 1),
    GUARD + OTHER + LOAD + UNDER.format(MORE) + ADD + AFTER: (0, 1),
    GUARD + OTHER + TWO + UNDER.format(MORE.replace("%r2", "%x1")) + ADD + AFTER: (1, 1),
}
"""The same, with branches: those that come behind the first branch or end of lanes."""


def body(lines):
    return HEAD + lines + "ret;"


@pytest.mark.parametrize("lines", [*BEHIND, *BEHIND_BRANCHES])
def test_a_warp_of_which_no_lane_passes_counts_no_load_that_comes_behind(lines):
    always, behind = (BEHIND | BEHIND_BRANCHES)[lines]
    entry = ptx.load(module(body(lines), ["u64", "u32"])).entry()
    trace = entry.run(1, 64, np.zeros((64, 4), np.uint32), 32, hazards="off")       # one of two warps stores
    assert sum(a.instructions for a in trace.accesses if a.instruction.startswith("ld")) == 2 * always + behind


FLOATS = "ld.global.f32 %f2, [%rd1]; ld.global.f32 %f3, [%rd1+4]; "
FUSED = {
    GUARD + LOAD + FLOATS + "mul.f32 %f1, %f2, %f3; add.f32 %f4, %f1, 0f3FA00001; " +
    AROUND.format("red.global.add.f32 [%rd1], %f4; " + RED.format("%x0")) + LAST: (True, False),
    GUARD + FLOATS + "ld.shared.f32 %f5, [%r5]; mul.f32 %f1, %f5, 0f3FA00001; " +
    AROUND.format("add.f32 %f4, %f1, %f3; red.global.add.f32 [%rd1], %f4; ") + LAST: (False, True),
}
"""Lines -> whether a product and a sum are one fma ahead of the branch, and behind it."""


def opcodes_beside(opcodes, branch, fma):
    """Whether there is an fma ahead of the first branch, and behind it."""
    at = opcodes.index(branch)
    return fma in opcodes[:at], fma in opcodes[at:]


@pytest.mark.parametrize("lines", FUSED)
def test_what_comes_along_with_a_load_leaves_no_product_that_it_is_fused_with(lines):
    steps = ptx.load(module(body(lines), ["u64", "u32"])).entry().program.steps
    assert opcodes_beside([step.name for step in steps], "bra", "fma.rn.f32") == FUSED[lines]


@needs_tools
def test_ptxas_fuses_them_there(tmp_path):
    made_of = listed_each([body(lines) for lines in FUSED], tmp_path)
    assert {lines: opcodes_beside(made_of[body(lines)], "BRA", "FFMA") for lines in FUSED} == FUSED


@pytest.mark.parametrize("line", ["cvt.u32 %x2, %x0;", "add %x2, %x0, 5;", "neg %x2;", "shl.b32 %x2;"])
def test_a_line_that_is_no_instruction_is_told_of_ahead_of_a_gate_too(line):
    with pytest.raises(InstructionError, match="1 instruction that the machine cannot execute"):
        ptx.load(module(body(GUARD + LOAD + line + STORE.format("%x2")), ["u64", "u32"])).entry().check()


def test_a_branch_over_thousands_of_loops_that_overlap_is_looked_at():
    loops = "".join(f"$l{i}: @%p2 bra $l{max(i - 1, 0)}; " for i in range(3000))
    text = module(body(GUARD + LOAD + AROUND.format(loops) + "@%p2 bra $l2999; "), ["u64", "u32"])
    function = parse(text).functions["kernel"]
    assert made.put_off(function, {}, Known(function))[0] == list(function.body)


FILLED = "mov.u32 %x0, 1; mov.u32 %x1, 2; mov.u32 %x2, 3; st.shared.u32 [%r5], %r2; st.shared.u32 [%r5+1024], %r1; "
STATEMENTS = (
    "ld.shared.u32 %x0, [%r5]; ", "ld.shared.u32 %x1, [%r5+1024]; ", "ld.shared.v2.u32 {%x0, %x1}, [%r5+8]; ",
    "mov.b32 %x2, %x0; ", "mov.b32 %x0, %x2; ", "add.u32 %x1, %x0, 5; ", "add.u32 %x2, %x2, 1; ", "@%p2 mov.b32 %x0, 3; ",
    "@%p2 add.u32 %x2, %x1, 7; ", "add.u32 %r5, %r5, 16; ", "xor.b32 %x1, %x1, %x2; ",
    "shl.b32 %x2, %x0, 2; ", "max.u32 %x0, %x1, 9; ", "sub.u32 %x1, 70, %x0; ",
    "@%p2 ld.shared.u32 %x2, [%r5]; ",
    "setp.lt.u32 %p1, %x0, 20; ", "st.shared.u32 [%r5], %x1; ", "st.global.u32 [%rd1+12], %x0; ", "bar.sync 0; ")


@example([LOAD, "add.u32 %r5, %r5, 1024; "], "%x0")
@example([LOAD, "mov.b32 %x2, %x0; ", "st.global.u32 [%rd1+12], %x0; "], "%x2")
@example(["ld.shared.v2.u32 {%x0, %x1}, [%r5]; ", "st.global.u32 [%rd1+12], %x0; "], "%x1")
@example([LOAD, "mov.b32 %x2, 7; "], "%x2")
@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=9), st.sampled_from(["%x0", "%x1", "%x2"]))
def test_a_kernel_stores_what_it_stores_with_every_load_in_its_place(lines, stored):
    text = module(body(FILLED + GUARD + OTHER + "".join(lines) + STORE.format(stored)), ["u64", "u32"])
    moved, unmoved = stored_by(text)
    assert moved == unmoved


def stored_by(text):
    """What a kernel stores, and what it stores with every load in its place."""
    moved, unmoved = np.zeros((2, 64, 4), np.uint32)
    ptx.load(text).entry().run(1, 64, moved, 32, hazards="off")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made, "put_off", lambda function, *_: (function.body, {}))
        ptx.load(text).entry().run(1, 64, unmoved, 32, hazards="off")
    return moved.tolist(), unmoved.tolist()


BRANCHES = (
    "@%p2 bra {}; ", "@%p1 bra {}; ", "@!%p1 bra {}; ", "bra {}; ", "@%p2 ret; ", "@!%p1 exit; ", "bra $end; ",
    "@%p1 bra $end; ", "@%p1 red.global.add.u32 [%rd1+8], %x1; ", "red.global.add.u32 [%rd1+4], %x0; ",
    "@!%p2 atom.global.add.u32 %x2, [%rd1+8], %x0; ", "st.global.u32 [%rd1], %x2; ")
TIRED = "add.u32 %x8, %x8, 1; setp.gt.u32 %p5, %x8, 9; @%p5 ret; "


@st.composite
def branching(draw):
    """Lines some of which are branches to any of them; each of these tires, so that loops end."""
    some = st.sampled_from([*3 * STATEMENTS[:4], *STATEMENTS[:-1], *BRANCHES, *3 * BRANCHES[4:]])
    lines = draw(st.lists(some, min_size=2, max_size=14))
    targets = {i: draw(st.integers(0, len(lines) - 1)) for i, line in enumerate(lines) if "{}" in line}
    return "".join(f"$l{i}: " * (i in targets.values()) + TIRED * (i in targets) + line.replace("{}", f"$l{targets.get(i)}")
                   for i, line in enumerate(lines))


@example(LOAD + AROUND.format(RED.format("%x0")))
@example("@%p2 bra $in; " + LOAD + "@!%p1 bra $on; $in: " + RED.format("%x0") + "$on: ")
@given(branching())
def test_a_kernel_with_branches_stores_what_it_stores_with_every_load_in_its_place(lines):
    text = module(body(FILLED + "mov.u32 %x8, 0; " + GUARD + OTHER + lines + LAST + END), ["u64", "u32"])
    moved, unmoved = stored_by(text)
    assert moved == unmoved


@needs_tools
def test_ptxas_puts_them_there(tmp_path):
    made = listed_each([body(lines) for lines in BEHIND], tmp_path)
    for lines, (always, behind) in BEHIND.items():
        opcodes = made[body(lines)]
        ends = [at for at, opcode in enumerate(opcodes) if opcode == "EXIT"]
        loads = [at for at, opcode in enumerate(opcodes) if opcode.startswith("LDS")]
        assert (sum(at < ends[0] for at in loads), sum(at > ends[0] for at in loads)) == (
            (always, behind) if len(ends) > 1 else (always + behind, 0)), lines


@needs_tools
def test_ptxas_puts_them_behind_branches_too(tmp_path):
    made = listed_each([body(lines) for lines in BEHIND_BRANCHES], tmp_path)
    for lines, (always, behind) in BEHIND_BRANCHES.items():
        opcodes = made[body(lines)]
        gate = min(opcodes.index(opcode) for opcode in ("EXIT", "BRA") if opcode in opcodes)
        loads = [at for at, opcode in enumerate(opcodes) if opcode.startswith("LDS")]
        assert (sum(at < gate for at in loads), sum(at > gate for at in loads)) == (always, behind), lines


@needs_tools
@pytest.mark.parametrize("many", [120, pytest.param(400, marks=pytest.mark.sweep)])
def test_what_the_machine_puts_behind_ptxas_puts_there_too(many, tmp_path):
    random, filled = Random(0), "mov.u32 %x0, %r1; mov.u32 %x1, %r2; mov.u32 %x2, %r1; "
    more = *STATEMENTS, *3 * STATEMENTS[:4], "red.global.add.u32 [%rd1+8], 1; ", "shfl.sync.bfly.b32 %x1, %x0, 1, 31, -1; "
    bodies = [body(filled + GUARD + OTHER + "".join(random.choices(more, k=random.randint(1, 4))) +
                   STORE.format(random.choice(["%x0", "%x1", "%x2"]))) for _ in range(many)]
    found = 0
    for lines, opcodes in listed_each(bodies, tmp_path).items():
        entry = ptx.load(module(lines, ["u64", "u32"])).entry()
        none, every = (sum(a.instructions for a in entry.run(1, 32, np.zeros((32, 4), np.uint32), n, hazards="off").accesses
                           if a.instruction.startswith("ld")) for n in (0, 32))
        ends = [at for at, opcode in enumerate(opcodes) if opcode == "EXIT"]
        loads = [at for at, opcode in enumerate(opcodes) if opcode.startswith("LDS")]
        if len(loads) == every:                          # ptxas leaves out what it need not load at all
            assert every - none <= sum(at > ends[0] for at in loads), lines
            found += every > none
    assert found > many // 20
