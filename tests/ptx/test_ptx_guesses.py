"""The first plain read of a loop around a compare-and-swap: no race if that checks all that is made of it."""

import numpy as np
import pytest
from ptx_texts import REGISTERS, module

import simlayout as sl

START = """
.shared .align 8 .b8 kept[16];
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
@%p1 st.shared.u64 [kept], 0;
bar.sync 0;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd2, %rd2, %rd1;
"""

LOOP = """
max.u32 %r3, %r2, %r1;
mov.u32 %r4, %r2;
{behind}
atom.{space}.cas.b32 %r2, [{place}], %r4, %r3;
setp.ne.u32 %p2, %r2, %r4;
@%p2 bra AGAIN;
"""

FREE = {
    "the loop of CUDA's guide": "{first} AGAIN: " + LOOP,
    "a loop that looks whether there is anything to do":
        "{first} AGAIN: setp.ge.u32 %p3, %r2, %r1; @%p3 bra DONE; " + LOOP + "DONE:",
    "an address that is another sum":
        "{first} mov.u64 %rd3, {place}; add.s64 %rd4, %rd3, 8; add.s64 %rd5, %rd4, -8; AGAIN: "
        + LOOP.replace("[{place}], %r4", "[%rd5], %r4"),
    "a value that goes through a float":
        "{first} AGAIN: mov.b32 %f1, %r2; add.f32 %f2, %f1, 0f3f800000; mov.b32 %r2, %f1; mov.b32 %r5, %f2;"
        + LOOP.replace("%r4, %r3;", "%r4, %r5;"),
    "a guarded swap": "{first} AGAIN: " + LOOP.replace("atom", "setp.lt.u32 %p4, %r1, 99; @%p4 atom"),
    "a result that is used": "{first} AGAIN: " + LOOP + "st.global.u32 [%rd2+8], %r2;",
}

HALF = """
{first} {also}
and.b32 %r3, %r2, 0xffff0000;
AGAIN: or.b32 %r4, %r3, {mine};
or.b32 %r5, %r3, %r1;
atom.{space}.cas.b32 %r6, [{place}], %r4, %r5;
setp.eq.u32 %p2, %r6, %r4;
@%p2 bra DONE;
and.b32 %r6, %r6, 0xffff0000;
setp.ne.u32 %p2, %r6, %r3;
mov.u32 %r3, %r6;
@%p2 bra AGAIN;
DONE:
"""
FREE["two bytes of a word, as LLVM swaps them"] = HALF.replace("{also}", "").replace("{mine}", "0")

TOLD = {
    "two bytes of a word whose others are looked at too":
        HALF.replace("{also}", "add.u32 %r7, %r2, 1;").replace("{mine}", "%r7"),
    "a value that is stored": "{first} st.global.u32 [%rd2+8], %r2; AGAIN: " + LOOP,
    "what is made of it is stored": "{first} AGAIN: " + LOOP.replace("{behind}", "st.global.u32 [%rd2+8], %r3;"),
    "a way on which it is stored":
        "{first} AGAIN: mov.u32 %r5, %r2; setp.ge.u32 %p3, %r2, %r1; @%p3 bra DONE; " + LOOP
        + "DONE: st.global.u32 [%rd2+8], %r5;",
    "a way of a table on which it is stored":
        "{first} mov.u32 %r5, %r2; and.b32 %r6, %r1, 1; ways: .branchtargets AGAIN, DONE; brx.idx %r6, ways; AGAIN: " + LOOP
        + "bra.uni OUT; DONE: st.global.u32 [%rd2+8], %r5; OUT: ",
    "another value that is expected": "{first} AGAIN: " + LOOP.replace("%r4, %r3;", "%r1, %r3;"),
    "a sum that is expected": "{first} AGAIN: add.u32 %r2, %r2, 0; " + LOOP,
    "an address": "{first} cvt.u64.u32 %rd5, %r2; and.b64 %rd5, %rd5, 0; add.s64 %rd5, %rd5, %rd1; "
                  "ld.global.u32 %r6, [%rd5+1024]; AGAIN: " + LOOP,
    "a swap elsewhere alone": "{first} mov.u32 %r4, %r2; atom.{space}.cas.b32 %r2, [{place}+4], %r4, %r1; "
                              "atom.{space}.cas.b32 %r2, [{place}], 0, %r1;",
}


def found(text, space, place, first="ld.{space}.u32 %r2, [{place}];", behind=""):
    body = (START + text + "ret;").replace("{first}", first).replace("{behind}", behind)
    body = body.replace("{space}", space).replace("{place}", place).replace("; ", ";\n").replace(": ", ":\n")
    trace = sl.ptx.load(module(body, ["u64"])).entry().run(1, 64, np.zeros(512, np.uint32), hazards="report")
    return trace.hazards


PLACES = pytest.mark.parametrize(("space", "place"), [("global", "%rd1"), ("shared", "kept")])


@PLACES
@pytest.mark.parametrize("text", FREE.values(), ids=FREE)
def test_a_value_that_compare_and_swap_checks_may_be_read_plainly(text, space, place):
    assert not found(text, space, place)


@PLACES
@pytest.mark.parametrize("text", TOLD.values(), ids=TOLD)
def test_what_more_is_done_with_it_is_a_race_that_says_how_to_read_it(text, space, place):
    hazards = found(text, space, place)
    assert {one.kind for one in hazards} <= {"global race", "read after write", "lane race", "write after read"} and hazards
    assert all("what a loop of compare-and-swap reads first may be read by an atomic, or volatile" in one.text
               for one in hazards)
    assert not found(text, space, place, "ld.volatile.{space}.u32 %r2, [{place}];")


@PLACES
def test_a_plain_store_races_with_such_a_read_all_the_same(space, place):
    stores = "@%p1 st.{space}.u32 [{place}], 5;"
    assert found(FREE["the loop of CUDA's guide"] + stores, space, place)


LARGEST = f""".func (.param .b32 was) largest(.param .b64 at, .param .b32 new) {{ {REGISTERS}
ld.param.u64 %rd1, [at];
ld.param.u32 %r1, [new];
ld.u32 %r2, [%rd1];
mov.u32 %r5, %r2;
setp.ge.u32 %p3, %r2, %r1;
@%p3 bra DONE;
AGAIN: mov.u32 %r4, %r2;
atom.cas.b32 %r2, [%rd1], %r4, %r1;
setp.ne.u32 %p2, %r2, %r4;
@%p2 bra AGAIN;
mov.u32 %r5, %r2;
DONE: st.param.b32 [was+0], %r5;
ret; }}
"""
CALL = """{ .param .b64 at; .param .b32 new; .param .b32 was;
st.param.b64 [at], %rd1; st.param.b32 [new], %r1; call.uni (was), largest, (at, new); ld.param.b32 %r2, [was+0]; }
"""


@pytest.mark.parametrize("calls, told", [
    (CALL, False), (CALL + CALL, False), (CALL + "st.global.u32 [%rd2+8], %r2;", True),
    (CALL + "st.global.u32 [%rd2+8], %r1;", False), (CALL.replace("ld.param.b32 %r2, [was+0];", ""), False),
    (CALL + CALL.replace("%r2", "%r3") + "setp.eq.u32 %p2, %r3, 5; @%p2 trap;", True)])
def test_a_value_that_a_function_returns_unchecked_is_a_race_where_a_call_reads_it(calls, told):
    body = (START + calls + "ret;").replace("; ", ";\n")
    trace = sl.ptx.load(module(body, ["u64"], before=LARGEST)).entry().run(1, 64, np.zeros(512, np.uint32), hazards="report")
    assert bool(trace.hazards) == told


MORE = f""".func (.param .b32 made) more(.param .b64 at, .param .b32 given, .param .b32 mine) {{ {REGISTERS}
ld.param.u64 %rd1, [at];
ld.param.u32 %r2, [given];
ld.param.u32 %r1, [mine];
BODY
setp.ge.u32 %p1, %r2, %r1;
@%p1 bra DONE;
mov.u32 %r2, %r1;
DONE: st.param.b32 [made+0], %r2;
ret; }}
"""
CALLED = """ld.{space}.u32 %r2, [{place}];
AGAIN: mov.u32 %r4, %r2;
{ .param .b64 at; .param .b32 given; .param .b32 mine; .param .b32 made;
st.param.b64 [at], %rd2; st.param.b32 [given], %r2; st.param.b32 [mine], %r1;
call.uni (made), more, (at, given, mine); ld.param.b32 %r3, [made+0]; }
atom.{space}.cas.b32 %r2, [{place}], %r4, %r3;
setp.ne.u32 %p2, %r2, %r4;
@%p2 bra AGAIN;
"""


@PLACES
@pytest.mark.parametrize("inside, told", [
    ("", False), ("ld.global.u32 %r3, [%rd1+1024]; add.u32 %r2, %r2, %r3;", False),
    ("st.global.u32 [%rd1+8], %r1;", False), ("st.global.u32 [%rd1+8], %r2;", True),
    ("cvt.u64.u32 %rd2, %r2; and.b64 %rd2, %rd2, 4; add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r3, [%rd1+1024];", True)])
def test_a_function_that_only_computes_with_the_value_leaves_it_a_guess(inside, told, space, place):
    body = (START + CALLED + "ret;").replace("{space}", space).replace("{place}", place).replace("; ", ";\n")
    entry = sl.ptx.load(module(body, ["u64"], before=MORE.replace("BODY", inside.replace("; ", ";\n")))).entry()
    assert bool(entry.run(1, 64, np.zeros(512, np.uint32), hazards="report").hazards) == told
