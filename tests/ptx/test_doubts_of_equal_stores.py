"""Threads that store one value to one place: the quick look decides where that is no hazard, and doubts where it may be one.
"""

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import strategies as st
from steps_of_launches import in_one_step, recorded
from test_doubts import HEAD, outcome
from tiers import given_few

import simlayout.machine.ptx.compiled.loop  # noqa: F401  (at hand from the first launch on)
from simlayout.ptx import load

NOTE = "of the value that another thread stores there too, and nothing orders the two: right as long as they are equal"
FILE = HEAD.replace(".address_size 64\n", '.address_size 64\n.file 1 "k.cu"\n')
SHARED, GLOBAL = "    .loc 1 5 1\n    {} st.shared.u32 [s], {};\n", "    .loc 1 5 1\n    {} st.global.u32 [%d1], {};\n"
NEEDED = "    nanosleep.u32 %r5;\n"
HALVES = "    and.b32 %r6, %r1, 31; setp.lt.u32 %p2, %r6, 16; selp.b32 %r6, 0xFFFF, 0xFFFF0000, %p2; bar.warp.sync %r6;\n"
ONE_WARP, ONE_THREAD = "    setp.lt.u32 %p1, %r1, 32;\n", "    setp.eq.u32 %p1, %r1, 0;\n"


def two_lanes(then=""):
    """Lane 1 of warp 0 stores what lane 0 has stored, by the same instruction the second time round."""
    turn = "    setp.eq.u32 %p1, %r1, %r5;\n" + SHARED.format("@%p1", "%r8") + then
    return "    mov.u32 %r5, 0;\nAGAIN:\n" + turn + "    add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 2; @%p2 bra AGAIN;\n"


def looked(monkeypatch, body, ctas, hazards="raise"):
    """(how a launch of 64 threads per CTA was looked at, its Trace)."""
    seen = recorded(monkeypatch)
    return seen, load(FILE + body + "    ret;\n}\n").entry().run(ctas, 64, np.zeros(64, np.uint32), None, hazards=hazards)


def lines_noted(trace):
    return [int(note.split(":")[1]) for note in trace.notes if NOTE in note]


@pytest.mark.parametrize("body, lines", [
    (ONE_WARP + SHARED.format("@%p1", "%r8"), []),       # by one instruction, as any of them does it last
    (SHARED.format("", "%r8"), [5]),
    (SHARED.format("", "%r8") + "    bar.sync 0;\n    ld.shared.u32 %r5, [s];\n" + NEEDED, [5]),
    (SHARED.format("", "%r8").replace("u32 [s], %r8", "v2.u32 [s], {%r8, %r8}"), [5]),
    (ONE_WARP + SHARED.format("@%p1", "%r8") + "    bar.warp.sync -1;\n    @%p1 ld.shared.u32 %r5, [s];\n" + NEEDED, []),
    (two_lanes(), [5]),
    (two_lanes("    bar.warp.sync -1;\n"), []),
    (ONE_THREAD + SHARED.format("@%p1", "0") + "    bar.sync 0;\n" + SHARED.format("", "%r8"), [5]),
    (GLOBAL.format("", "%r8"), [5]),
    (ONE_WARP + GLOBAL.format("@%p1", "%r8"), [5]),      # of the next CTA's
    (SHARED.format("", "%r8").replace("u32", "u8") + SHARED.format("", "%r8").replace("u32 [s]", "u16 [s+2]"), [5, 5]),
])
def test_stores_of_one_value_by_one_line_are_decided_at_once_and_noted_as_the_shadows_note_them(monkeypatch, body, lines):
    seen, trace = looked(monkeypatch, body, 2)
    assert seen == ["quick"] and lines_noted(trace) == lines
    in_one_step(monkeypatch)
    assert looked(monkeypatch, body, 2)[1].notes == trace.notes


UNEQUAL = "    setp.eq.u32 %p2, %r1, 37; selp.u32 %r5, 9, 7, %p2;\n"


@pytest.mark.parametrize("body", [
    UNEQUAL + SHARED.format("", "%r5"),                  # the third thread differs
    ONE_THREAD + SHARED.format("@%p1", "9") + SHARED.format("", "%r8"),      # and one before
    ONE_THREAD + SHARED.format("@%p1", "9") + SHARED.format("@%p1", "7") + SHARED.format("@!%p1", "7"),
    ONE_THREAD + GLOBAL.format("@%p1", "9") + "    bar.sync 0;\n" + GLOBAL.format("@%p1", "7"),
    UNEQUAL + GLOBAL.format("", "%r5"),
    "    mov.u32 %r5, %r2;\n" + GLOBAL.format("", "%r5"),
    SHARED.format("", "%r8") + "    ld.shared.u32 %r5, [s];\n" + NEEDED,
    GLOBAL.format("", "%r8") + "    bar.sync 0;\n    ld.global.u32 %r5, [%d1];\n" + NEEDED,       # which another CTA writes
    SHARED.format("", "%r8") + "    red.shared.max.u32 [s], 7;\n",
    SHARED.format("", "%r8") + SHARED.format("", "%r8").replace("u32", "u8"),       # in pieces of another size
    SHARED.format("", "%r8") + SHARED.format("", "%r8").replace("u32 [s], %r8", "v2.u32 [s], {%r8, %r1}"),
    ONE_WARP + SHARED.format("@%p1", "%r8") + "    bar.warp.sync -1;\n    @!%p1 ld.shared.u32 %r5, [s];\n" + NEEDED,
])
def test_where_one_of_many_stores_another_value_or_reads_what_they_store_a_hazard_is_told(monkeypatch, body):
    seen, trace = looked(monkeypatch, body, 2, "report")
    assert seen[0] == "quick" and trace.hazards


@pytest.mark.parametrize("body, noted", [
    (two_lanes(HALVES), False),                          # which orders the two, and the quick look does not know that
    (two_lanes(HALVES).replace("st.shared.u32 [s]", "st.global.u32 [%d1]"), False),
    (two_lanes("    bar.warp.sync -1;\n").replace("st.shared.u32 [s]", "st.global.u32 [%d1]"), False),
    (SHARED.format("", "%r8") + SHARED.format("", "%r8").replace(" 5 ", " 6 "), True),       # by two lines
])
def test_where_the_quick_look_does_not_know_which_line_to_note_the_shadows_do(monkeypatch, body, noted):
    seen, trace = looked(monkeypatch, body, 1)
    assert seen == ["quick", "shadowed"] and bool(lines_noted(trace)) == noted


def test_a_flag_that_all_threads_of_a_cluster_set_is_noted_too():
    text = FILE + SHARED.format("", "%r8") + GLOBAL.format("", "%r8").replace(" 5 ", " 6 ") + "    ret;\n}\n"
    trace = load(text).entry().run(4, 64, np.zeros(1, np.uint32), None, cluster=2)
    assert lines_noted(trace) == [5, 6]


def test_hazards_of_some_ctas_leave_what_is_noted_of_the_others():
    race = "    .loc 1 9 1\n    setp.eq.u32 %p1, %r2, 13;\n    @%p1 st.shared.u32 [s+8], %r1;\n"
    trace = load(FILE + SHARED.format("", "%r8") + race + "    ret;\n}\n").entry().run(20, 64, None, None, hazards="report")
    assert {hazard.second.cta for hazard in trace.hazards} == {(13, 0, 0)} and lines_noted(trace) == [5]
    assert any("those of 1 of 20 CTAs" in note for note in trace.notes)


# ---- random ones: few places, few values, many orders ------------------------------------------------------------------

VALUES = ("mov.u32 %r5, 0x07070707;", "mov.u32 %r5, 0x07070708;", "shr.u32 %r5, %r1, 5;", "mov.u32 %r5, %r2;",
          "and.b32 %r5, %r1, 1;", UNEQUAL.strip())
PLACES = ("mov.u32 %r3, 0;", "and.b32 %r3, %r1, 31;", "shr.u32 %r3, %r1, 1; and.b32 %r3, %r3, 7;", "shr.u32 %r3, %r1, 5;",
          "rem.u32 %r3, %r1, 20;")
WHO = ("setp.ge.u32 %p1, %r1, 0;", "setp.ge.u32 %p1, %r1, 32;", "setp.eq.u32 %p1, %r1, 0;", "setp.eq.u32 %p1, %r1, 33;",
       "setp.eq.u32 %p1, %r1, 1;", "setp.lt.u32 %p1, %r1, 16;", "setp.eq.u32 %p1, %r2, 1;")
ORDERS = "bar.sync 0;", "bar.warp.sync -1;", HALVES.strip(), "shfl.sync.bfly.b32 %r8, %r8, 1, 31, -1;", "bar.sync 1, 64;"
WIDTHS = {"u32": "%r5", "u16": "%r5", "u8": "%r5", "v2.u32": "{%r5, %r5}", "v2.u16": "{%r5, %r7}",
          "v4.u8": "{%r5, %r5, %r5, %r7}"}


def access(kind, memory, width, place, who, value, byte):
    """PTX of a load, store or atomic of shared or global memory by some threads."""
    base, at = "mov.u32 %r4, s; add.u32 %r4, %r4, %r3;", "%r4"
    if memory == "global":
        base, at = "cvt.u64.u32 %d3, %r3; add.u64 %d4, %d1, %d3;", "%d4"
    at, values = at + (f"+{byte}" if width == "u8" else ""), WIDTHS[width]
    what = {"load": f"ld.{memory}.{width} {values.replace('5', '6')}, [{at}]; nanosleep.u32 %r6;",
            "store": f"st.{memory}.{width} [{at}], {values};", "red": f"red.{memory}.max.u32 [{at}], %r5;"}[kind]
    shift = 3 if width == "v2.u32" else 2
    return f"    {value} {place}\n    shl.b32 %r3, %r3, {shift}; {base}\n    {who}\n    @%p1 {what}\n"


@st.composite
def programs(draw):
    """Stores of few values to few places, with what may order them, and loads and atomics between."""
    def few(*choices):
        return draw(st.sampled_from(choices))

    kinds = few(["store"], ["store"], ["store", "store", "load"], ["store", "store", "store", "red", "load"])
    memory, widths = few("shared", "shared", "global"), few(["u32"], [*WIDTHS])
    orders = few(ORDERS[:1], ORDERS[:2], ORDERS[:4], ORDERS)
    values, places, whose = few(VALUES[:1], VALUES[:2], VALUES), few(PLACES[:1], PLACES), few(WHO[:1], WHO[2:6], WHO)
    lines, each = ["    mov.u32 %r7, 7;\n"], few(1, 3, 9)
    for number in range(few(1, 2, 3, 4, 5, 6)):
        kind = few(*kinds, None)
        lines.append(f"    .loc 1 {number // each + 1} 1\n")
        if kind is None:
            lines.append(f"    {few(*orders)}\n")
        else:
            width = "u32" if kind == "red" else few(*widths)
            skip = few("", "", f"    setp.lt.u32 %p1, %r1, 20; @%p1 bra SKIP{number};\n", f"    @!%p1 bra SKIP{number};\n")
            one = access(kind, memory, width, few(*places), few(*whose), few(*values), few(0, 1, 2, 3))
            lines.append(f"{skip}{one}SKIP{number}:\n" if skip else one)
    if few(True, False):
        again = "    add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 2; @%p1 bra AGAIN;\n"
        lines = ["    mov.u32 %r0, 0;\nAGAIN:\n", *lines, again]
    return FILE + "".join(lines) + "    ret;\n}\n"


@given_few(40, 6000, programs(), st.sampled_from([32, 64, 96, 40]), st.integers(1, 3), st.sampled_from(["report", "raise"]))
def test_what_is_told_and_noted_of_equal_stores_in_two_steps_is_what_the_shadows_tell(text, block, ctas, hazards):
    two = outcome(text, block, ctas, hazards)
    with pytest.MonkeyPatch.context() as patch:
        in_one_step(patch)
        assert two == outcome(text, block, ctas, hazards)
