"""Local memory: what nothing has written may be moved, and used if it makes no difference; what a thread has not is told."""

import numpy as np
import pytest
from hypothesis import strategies as st
from ptx_texts import module
from tiers import given_few

import simlayout as sl

BODY = """
.local .align 8 .b8 a[16];
.local .align 8 .b8 b[16];
ld.param.u64 %rd1, [kernel_param_0];
cvta.to.global.u64 %rd3, %rd1;
mov.u32 %r1, 7;
mov.u16 %rs1, 3;
{code}
ret;
"""

HALF = "st.local.u16 [a], %rs1;"
FULL = "st.local.u32 [a], %r1;"

MOVED = {
    "a structure with a gap to local memory": HALF + "ld.local.u32 %r2, [a]; st.local.u32 [b], %r2;",
    "a gap alone to local memory": HALF + "ld.local.u16 %rs2, [a+2]; st.local.u16 [b+2], %rs2;",
    "a structure with a gap to global memory": HALF + "ld.local.u32 %r2, [a]; st.global.u32 [%rd3], %r2;",
    "bytes of which one is a gap": HALF + "ld.local.v4.u8 {%rs2, %rs3, %rs4, %rs5}, [a]; "
                                         "st.global.v4.u8 [%rd3], {%rs2, %rs3, %rs4, %rs5};",
    "a bit-field beside others": "ld.local.u32 %r2, [a]; and.b32 %r3, %r2, -8; or.b32 %r4, %r3, 5; st.local.u32 [a], %r4;",
    "one side of a ?:": "ld.local.u32 %r2, [a]; setp.eq.u32 %p1, %r1, 7; selp.b32 %r3, %r1, %r2, %p1; "
                        "st.global.u32 [%rd3], %r3;",
    "an element of a vector that nothing reads": FULL + "ld.local.v2.u32 {%r2, %r3}, [a]; add.u32 %r4, %r2, 1; "
                                                        "st.global.u32 [%rd3], %r4;"}

USED = {
    "stored in global memory": "ld.local.u32 %r2, [a]; st.global.u32 [%rd3], %r2;",
    "masked and stored in global memory": "ld.local.u32 %r2, [a]; and.b32 %r3, %r2, 255; st.global.u32 [%rd3], %r3;",
    "stored by a generic address": "ld.local.u32 %r2, [a]; st.u32 [%rd1], %r2;",
    "added": "ld.local.u32 %r2, [a]; add.u32 %r3, %r2, 1; st.global.u32 [%rd3], %r3;",
    "masked and then added": "ld.local.u32 %r2, [a]; and.b32 %r3, %r2, 7; add.u32 %r4, %r3, 1; st.global.u32 [%rd3], %r4;",
    "half a number": HALF + "ld.local.u32 %r2, [a]; add.u32 %r3, %r2, 1; st.global.u32 [%rd3], %r3;",
    "an address": "ld.local.u64 %rd4, [a]; st.local.u64 [b], %rd4; and.b64 %rd4, %rd4, 4; add.u64 %rd5, %rd1, %rd4; "
                  "st.global.u32 [%rd5], %r1;",
    "two words, compared": "ld.local.u32 %r2, [a]; ld.local.u32 %r3, [a+4]; setp.lt.u32 %p1, %r2, %r3; "
                           "@%p1 st.global.u32 [%rd3], %r1;",
    "what lanes have, subtracted": "ld.local.u32 %r2, [a]; shfl.sync.bfly.b32 %r3, %r2, 1, 31, 0xffffffff; "
                                   "sub.u32 %r3, %r3, %r2; st.global.u32 [%rd3], %r3;",
    "a condition": "ld.local.u32 %r2, [a]; setp.eq.u32 %p1, %r2, 1; @%p1 st.global.u32 [%rd3], %r1;"}

WITHOUT_USE = {
    "added, and not read": "ld.local.u32 %r2, [a]; add.u32 %r3, %r2, 1; st.local.u32 [b], %r3;",
    "shuffled from a lane that has written it": "mov.u32 %r4, %tid.x; setp.lt.u32 %p1, %r4, 4; @%p1 st.local.u32 [a], %r1; "
                                                "ld.local.u32 %r2, [a]; shfl.sync.idx.b32 %r3, %r2, 1, 31, 0xffffffff; "
                                                "st.global.u32 [%rd3], %r3;"}


def launched(code, hazards="report"):
    text = module(BODY.format(code=code.replace("; ", ";\n")), ("u64",))
    return sl.ptx.load(text).entry().run(1, 32, np.zeros(32, np.uint32), hazards=hazards)


def found(code):
    return [hazard.kind for hazard in launched(code).hazards if hazard.kind == "unwritten read"]


@pytest.mark.parametrize("name", MOVED)
def test_what_nothing_has_written_may_be_moved(name):
    assert not found(MOVED[name])


@pytest.mark.parametrize("name", USED)
def test_what_nothing_has_written_may_not_be_used(name):
    assert found(USED[name])


@pytest.mark.parametrize("mode", ["raise", "report"])
@pytest.mark.parametrize("name", WITHOUT_USE)
def test_what_nothing_has_written_is_a_note_where_it_makes_no_difference(name, mode):
    trace = launched(WITHOUT_USE[name], mode)
    assert trace.hazards == ()
    assert "ld.local.u32 of memory that nothing has written, which makes no difference" in trace.notes[0]


def test_only_the_bytes_of_the_lanes_at_fault_are_named():
    code = HALF + ("mov.u64 %rd4, a; setp.lt.u32 %p1, %r5, 5; selp.b64 %rd5, 8, 0, %p1; add.s64 %rd4, %rd4, %rd5; "
                   "ld.local.u32 %r2, [%rd4]; st.global.u32 [%rd3], %r2;")
    trace = sl.ptx.load(module(BODY.format(code="mov.u32 %r5, %tid.x; " + code), ("u64",))).entry().run(
        1, 32, np.zeros(32, np.uint32), hazards="report")
    (one,) = [one for one in trace.hazards if one.kind == "unwritten read"]
    assert one.second.lanes == tuple(range(5)) and one.bytes == (8, 9, 10, 11)      # the others move a gap, bytes 2 and 3


def test_what_has_been_written_may_leave_local_memory():
    assert not found("st.local.u32 [a], %r1; ld.local.u32 %r2, [a]; st.global.u32 [%rd3], %r2;")


# ---- what a thread has not ------------------------------------------------------------------------------------------

ANYWHERE = """
.local .align 16 .b8 a[32];
ld.param.u64 %rd1, [kernel_param_0];
cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 8;
add.s64 %rd1, %rd1, %rd2;
mov.u64 %rd3, a;
{generic}
mov.u64 %rd4, 0x0706050403020100;
st.local.u64 [a], %rd4;
st.local.u64 [a+8], %rd4;
st.local.u64 [a+16], %rd4;
st.local.u64 [a+24], %rd4;
ld.global.s64 %rd5, [%rd1];
add.s64 %rd5, %rd3, %rd5;
ld.global.s64 %rd6, [%rd1+256];
add.s64 %rd6, %rd3, %rd6;
st.{space}u{store} [%rd5], {row}7;
ld.{space}u{load} {to}8, [%rd6];
st.global.u{load} [%rd1+512], {to}8;
ret;
"""
"""Each thread stores at its first number, and loads at its second: element tid of two arrays of s64. The third gets it."""


def anywhere(places, store, load, space, **options):
    """(uint64 [32] that each lane loads, the Trace). places: int64 [2, 32], where lanes store and load; store, load: bits;
    space: "local." or "", by a generic address."""
    row, to = ({64: "%rd", 32: "%r", 16: "%rs"}[bits] for bits in (store, load))
    code = ANYWHERE.format(store=store, load=load, row=row, to=to, space=space,
                           generic="" if space else "cvta.local.u64 %rd3, %rd3;")
    code = code.replace("ld.global.s64 %rd5", f"mov.u{store} {row}7, -1;\nld.global.s64 %rd5")
    memory = np.zeros((3, 32), np.int64)
    memory[:2] = places
    trace = sl.ptx.load(module(code, ("u64",))).entry().run(1, 32, memory, **options)
    return memory[2].view(np.uint64), trace


def twin_of_anywhere(places, store, load):
    """(ints that lanes load, {(verb, kind): lanes}) by one bytearray per lane."""
    loaded, wrong = [], {}
    for lane, (to, at) in enumerate(places.T.tolist()):
        mine = bytearray(range(8)) * 4
        for verb, where, bits in (("writes", to, store), ("reads", at, load)):
            kind = "misaligned" if 0 <= where <= 32 - bits // 8 else "out of bounds"
            if kind == "misaligned" and where % (bits // 8) == 0:
                if verb == "writes":
                    mine[where:where + bits // 8] = b"\xff" * (bits // 8)
                else:
                    loaded.append(int.from_bytes(mine[where:where + bits // 8], "little"))
            else:
                wrong.setdefault((verb, kind), []).append(lane)
                loaded += [0] if verb == "reads" else []
    return loaded, wrong


OFFSETS = st.one_of(st.integers(-9, 40), st.integers(0, 31), st.sampled_from([-2**40, 2**32, 2**62]))


@given_few(15, 500, st.lists(OFFSETS, min_size=64, max_size=64), st.sampled_from([16, 32, 64]),
           st.sampled_from([16, 32, 64]))
def test_accesses_of_what_a_thread_has_not_are_hazards_and_the_rest_goes_on(offsets, store, load):
    places = np.array(offsets, np.int64).reshape(2, 32)
    loaded, wrong = twin_of_anywhere(places, store, load)
    got, trace = anywhere(places, store, load, "local.", hazards="report")
    assert got.tolist() == loaded
    found = {(verb, one.kind): [*one.second.lanes] for one in trace.hazards for verb in ("reads", "writes")
             if f" {verb} " in one.text}
    assert found == wrong and len(trace.hazards) == len(wrong)


@pytest.mark.parametrize("space", ["local.", ""])
def test_the_text_names_the_bytes_and_what_there_is(space):
    places = np.zeros((2, 32), np.int64)
    places[0, 3:], places[1, 5] = 32, 6
    _, trace = anywhere(places, 32, 32, space, hazards="report")
    outside, crooked = (one.text for one in trace.hazards)
    assert "lanes 3-31 " in outside and "writes 4 bytes at 32 of local memory, outside the 32 bytes of a thread" in outside
    assert "lane 5 " in crooked and "reads 4 bytes at 6 of local memory, which is not aligned to its width" in crooked


def test_they_end_the_run_where_hazards_are_raised_or_nobody_looks_for_them():
    places = np.full((2, 32), 64, np.int64)
    with pytest.raises(sl.HazardError, match="out of bounds: .* of local memory"):
        anywhere(places, 32, 32, "local.")
    with pytest.raises(sl.AddressError, match="out of bounds: .* of local memory"):
        anywhere(places, 32, 32, "local.", hazards="off")
