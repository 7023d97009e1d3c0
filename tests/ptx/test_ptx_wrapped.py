"""Functions that wrap an instruction or a few, as `nvcc -G` leaves those of atomics and fences, stand in the place of their
calls."""

import numpy as np
import pytest
from ptx_texts import REGISTERS, module

import simlayout as sl

WRAPPERS = f"""
.func (.param .b32 found) swap(.param .b64 at, .param .b32 old, .param .b32 new) {{ {REGISTERS}
ld.param.u64 %rd1, [at]; ld.param.u32 %r1, [old]; ld.param.u32 %r2, [new];
atom.cas.b32 %r3, [%rd1], %r1, %r2; st.param.b32 [found+0], %r3; ret; }}
.func (.param .b32 found) atomicCAS(.param .b64 at, .param .b32 old, .param .b32 new) {{ {REGISTERS}
.loc 2 20 1
ld.param.u64 %rd1, [at]; ld.param.u32 %r1, [old]; ld.param.u32 %r2, [new];
{{ .param .b64 a; .param .b32 b; .param .b32 c; .param .b32 d;
st.param.b64 [a], %rd1; st.param.b32 [b], %r1; st.param.b32 [c], %r2; call.uni (d), swap, (a, b, c);
ld.param.b32 %r3, [d]; }}
st.param.b32 [found], %r3; ret; }}
"""

CALL = """{{ .param .b64 a; .param .b32 b; .param .b32 c; .param .b32 d;
st.param.b64 [a], {0}; st.param.b32 [b], {1}; st.param.b32 [c], {2}; call.uni (d), {3}, (a, b, c); ld.param.b32 {4}, [d]; }}
"""

LARGEST = """
.loc 1 7 1
ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x;
ld.global.u32 %r2, [%rd1];
.loc 1 8 1
AGAIN: mov.u32 %r4, %r2; max.u32 %r3, %r2, %r1;
""" + CALL.format("%rd1", "%r4", "%r3", "FUNCTION", "%r2") + """
setp.ne.u32 %p2, %r2, %r4;
@%p2 bra AGAIN;
AFTER
ret;"""


def largest(function, after="", **how):
    """(what the kernel leaves, its hazards)."""
    files = '.file 1 "kernel.cu"\n.file 2 "atomics.h"\n'
    text = module(LARGEST.replace("FUNCTION", function).replace("AFTER", after), ["u64"], before=files + WRAPPERS)
    out = np.zeros(64, np.uint32)
    trace = sl.ptx.load(text).entry().run(2, 64, out, hazards="report", **how)
    return out.tolist(), trace.hazards


@pytest.mark.parametrize("function", ["swap", "atomicCAS"])
def test_the_first_plain_read_of_a_loop_around_a_wrapped_compare_and_swap_is_no_race(function):
    assert largest(function) == ([63, *[0] * 63], ())


def test_what_is_wrapped_has_the_line_of_its_function_and_of_the_call_and_that_of_the_call_alone_without_one_of_its_own():
    for function, file, line, callers in (("swap", "kernel.cu", 8, ()), ("atomicCAS", "atomics.h", 20, (("kernel.cu", 8),))):
        _, hazards = largest(function, "st.global.u32 [%rd1], 5;")
        swaps = {(one.file, one.line, one.callers) for found in hazards for one in (found.first, found.second)
                 if "cas" in one.instruction}
        assert swaps == {(file, line, callers)}


MIX = ".func (.param .{t} out) mix(.param .{t} in, .param .b32 by) {{ " + REGISTERS + """ {begin}
ld.param.u32 %r7, [by]; ld.param.{t} {r}1, [in]; {compute} st.param.{t} [out], {r}1; ret; }}"""

CALLS = {
    "a call": "st.param.{t} [a], {r}3; st.param.b32 [b], %r4; call (c), mix, (a, b); ld.param.{t} {r}3, [c];",
    "a constant": "st.param.{t} [a], 77; st.param.b32 [b], %r4; call (c), mix, (a, b); ld.param.{t} {r}3, [c];",
    "a variable of two calls": "st.param.{t} [a], {r}3; st.param.b32 [b], %r4; call (c), mix, (a, b); call (c), mix, (a, b);"
                               "ld.param.{t} {r}3, [c];",
    "a guarded call": "st.param.{t} [a], {r}3; st.param.{t} [c], 5; st.param.b32 [b], %r4;"
                      "@%p1 call (c), mix, (a, b); ld.param.{t} {r}3, [c];",
    "a loop of calls": "L: st.param.{t} [a], {r}3; st.param.b32 [b], %r4; call (c), mix, (a, b); ld.param.{t} {r}3, [c];"
                       "add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r4; @%p2 bra L;",
    "two calls": 2 * "{{ .param .{t} a; .param .b32 b; .param .{t} c; st.param.{t} [a], {r}3; st.param.b32 [b], %r4;"
                     "call (c), mix, (a, b); ld.param.{t} {r}3, [c]; }} ",
    "a register": "call ({r}3), mix, ({r}3, %r4);",
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("type, register", [("b16", "%rs"), ("b32", "%r"), ("b64", "%rd")])
def test_a_wrapper_does_what_a_function_that_is_called_does(call, type, register):
    compute = f"shl.{type} {register}2, {register}1, %r7; xor.{type} {register}1, {register}2, {register}1;"
    results = []
    for begin in ("", "bra.uni ON; ON:"):                # with a branch it is no wrapper
        before = MIX.format(t=type, r=register, compute=compute, begin=begin)
        body = ("ld.param.u64 %rd6, [kernel_param_0]; mov.u32 %r4, %tid.x; setp.lt.u32 %p1, %r4, 9; mov.u32 %r5, 0;"
                "mul.wide.u32 %rd7, %r4, 8; add.s64 %rd7, %rd6, %rd7; ld.global.{t} {r}3, [%rd7];"
                ".param .{t} a; .param .b32 b; .param .{t} c;" + CALLS[call] + "st.global.{t} [%rd7], {r}3; ret;")
        text = module(body.format(t=type, r=register).replace(";", ";\n"), ["u64"], before=before)
        out = np.arange(1000, 1032, dtype=np.uint64)
        sl.ptx.load(text).entry().run(1, 32, out)
        results.append(out.tolist())
    assert results[0] == results[1] != list(range(1000, 1032))


def test_nothing_behind_a_return_is_executed():
    before = f""".func (.param .b32 out) more(.param .b32 in) {{ {REGISTERS}
ld.param.u32 %r1, [in]; add.u32 %r1, %r1, 5; st.param.b32 [out], %r1; ret;
add.u32 %r1, %r1, 5; st.param.b32 [out], %r1; ret; }}"""
    body = """ld.param.u64 %rd1, [kernel_param_0]; .param .b32 a; .param .b32 c;
st.param.b32 [a], 7; call (c), more, (a); ld.param.b32 %r2, [c]; st.global.b32 [%rd1], %r2; ret;"""
    out = np.zeros(1, np.uint32)
    sl.ptx.load(module(body, ["u64"], before=before)).entry().run(1, 1, out)
    assert out[0] == 12
