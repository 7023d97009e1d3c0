"""Races in a launch that is not short: the shadows look at a part of it, and every line that races is told."""

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import strategies as st
from ptx_texts import module
from steps_of_launches import in_one_step
from test_doubts import HEAD, programs
from tiers import given_few

import simlayout.machine.ptx.compiled.loop  # noqa: F401  (at hand from the first launch on)
from simlayout.errors import HazardError, MachineError
from simlayout.machine.hazards.global_access import Access
from simlayout.machine.ptx.looks import told as closer
from simlayout.ptx import load

CTAS = 20


def launched(text, block, ctas=CTAS, hazards="report"):
    array = np.arange(40, dtype=np.uint32)
    try:
        return load(text).entry().run(ctas, block, array, array.copy(), hazards=hazards)
    except (HazardError, MachineError) as error:
        return str(error)


@given_few(25, 2000, programs(), st.sampled_from([32, 64, 40]), st.sampled_from([1, 3, CTAS]), st.booleans())
def test_hazards_of_a_part_are_among_those_of_the_whole_and_each_has_a_line_that_is_told(text, block, ctas, only_shared):
    text = "\n".join(line for line in text.split("\n") if not (only_shared and "st.global" in line))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closer, "ENOUGH", 0)
        two = launched(text, block, ctas)
        in_one_step(patch)
        one = launched(text, block, ctas)
    if isinstance(one, str) or isinstance(two, str):
        assert one == two
        return
    assert {(h.kind, h.lines) for h in two.hazards} <= {(h.kind, h.lines) for h in one.hazards}
    told = {line for h in two.hazards for line in h.lines}
    assert all(told.intersection(h.lines) for h in one.hazards) and two.lines == one.lines
    of_told = tuple(f"{file}:{line}: " for file, line in told)
    assert {note for note in one.notes if not note.startswith(of_told)} <= set(two.notes)


BODY = """    shl.b32 %r3, %r1, 2;
    mov.u32 %r4, s;
    add.u32 %r4, %r4, %r3;
    setp.eq.u32 %p1, %r2, WHICH;
    .loc 1 10 1
    st.shared.u32 [%r4], %r1;
    BETWEEN
    .loc 1 20 1
    ld.shared.u32 %r5, [%r4];
    xor.b32 %r6, %r4, 4;
    .loc 1 30 1
    @%p1 ld.shared.u32 %r7, [%r6];
    bar.sync 0;
    .loc 1 40 1
    st.shared.u32 [%r4], %r7;
    BETWEEN
    .loc 1 50 1
    @%p1 ld.shared.u32 %r7, [%r6];
    nanosleep.u32 %r5;
    nanosleep.u32 %r7;
    ret;
}
"""


def _of_some(trace):
    return [note for note in trace.notes if "a quick look finds none in other lines" in note]


def text_of(which="%r2", between=""):
    text = (HEAD + BODY).replace("WHICH", which).replace("BETWEEN", between)
    return text.replace(".address_size 64\n", '.address_size 64\n.file 1 "k.cu"\n')


def lines(trace):
    return sorted({line for hazard in trace.hazards for _, line in hazard.lines})


def test_a_race_of_every_cta_is_that_of_the_first_and_a_note_says_so():
    trace = launched(text_of(), 32)
    assert lines(trace) == [10, 30, 40, 50] and max(hazard.count for hazard in trace.hazards) == 1
    assert ["are those of 1 of 20 CTAs" in note for note in _of_some(trace)] == [True]
    few = launched(text_of(), 32, 8)
    assert {hazard.times for hazard in trace.hazards} == {"at least 1 time "}
    assert {hazard.times for hazard in few.hazards} == {"8 times "}
    assert lines(few) == lines(trace) and [hazard.count for hazard in few.hazards] == [8, 8] and not _of_some(few)


def test_a_race_of_one_cta_far_behind_is_found():
    trace = launched(text_of("13"), 32)
    assert lines(trace) == [10, 30, 40, 50] and {hazard.second.cta for hazard in trace.hazards} == {(13, 0, 0)}
    with pytest.raises(HazardError, match=r"k.cu:30: CTA \(13, 0, 0\)"):
        load(text_of("13")).entry().run(CTAS, 32, None, None)


def test_what_the_quick_look_cannot_order_is_left_to_the_shadows_of_all_ctas():
    trace = launched(text_of(between="bar.warp.sync -1;"), 32)
    assert not trace.hazards and not _of_some(trace)


def test_a_race_of_one_cta_is_told_where_the_shadows_know_that_the_others_are_in_order():
    halves = "setp.lt.u32 %p2, %r1, 16; selp.b32 %r3, 0xFFFF, 0xFFFF0000, %p2; setp.ne.u32 %p2, %r2, 13;"
    trace = launched(text_of(between=f"{halves} @%p2 bar.warp.sync %r3;"), 32)
    assert lines(trace) == [10, 30, 40, 50] and {hazard.second.cta for hazard in trace.hazards} == {(13, 0, 0)}


def test_memory_is_as_the_quick_run_left_it_and_a_race_in_global_memory_is_looked_for_in_all_ctas():
    store = ("    mul.wide.u32 %d3, %r2, 4; add.u64 %d4, %d1, %d3; setp.eq.u32 %p2, %r1, 0;"
             "GUARD st.global.u32 [%d4], %r8;\n    ret;")
    for guard, many in (("@%p2", False), ("", True)):
        array = np.arange(40, dtype=np.uint32)
        text = text_of().replace("    ret;", store.replace("GUARD", guard).replace("%r8;", "%r1;" if many else "%r8;"))
        trace = load(text).entry().run(CTAS, 32, array, None, hazards="report")
        assert ("global race" in {hazard.kind for hazard in trace.hazards} or
                "collision" in {hazard.kind for hazard in trace.hazards}) == many
        assert many or array.tolist() == [7] * CTAS + list(range(CTAS, 40))
        assert bool(_of_some(trace)) != many


LONG = """    cvt.u64.u32 %d3, %r1; mad.lo.u64 %d1, %d3, 4, %d1;
AGAIN:
    .pragma "nounroll";
    .loc 1 10 1
    MEMORY
    bar.warp.sync -1;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p1, %r8, 2000;
    @%p1 bra AGAIN;
    ret;
}
"""


@pytest.mark.parametrize("access", ["st.shared.u32 [s], %r1;", "st.global.u32 [%d1 + 4], %r1;\n    .loc 1 11 1\n"
                                    "    ld.global.u32 %r4, [%d1]; nanosleep.u32 %r4;"])
def test_of_a_long_launch_of_one_cta_the_shadows_look_at_the_beginning(monkeypatch, access):
    text = (HEAD + LONG).replace("MEMORY", access).replace(".address_size 64\n", '.address_size 64\n.file 1 "k.cu"\n')
    looks, enters = [], closer.UntilTold.add
    monkeypatch.setattr(closer.UntilTold, "add", lambda log, *args, **named: looks.append(1) or enters(log, *args, **named))
    array = np.arange(80, dtype=np.uint32)
    trace = load(text).entry().run(1, 64, array, None, hazards="report")
    assert lines(trace) == [10, 11][:1 + access.startswith("st.global")] and len(looks) < 2000
    assert ["are those of the beginning of the launch" in note for note in _of_some(trace)] == [True]


SAME_IN_MOST = """    mov.u32 %r4, s;
    shr.u32 %r3, %r1, 5;
    setp.eq.u32 %p1, %r2, 13;
    selp.b32 %r5, %r3, 7, %p1;
    .loc 1 10 1
    st.shared.u32 [%r4], %r5;
    .loc 1 20 1
    ld.shared.u32 %r6, [%r4];
    nanosleep.u32 %r6;
    ret;
}
"""


def test_stores_of_one_value_in_the_first_cta_and_of_several_in_another_are_left_to_the_shadows_of_all():
    trace = launched((HEAD + SAME_IN_MOST).replace(".address_size 64\n", '.address_size 64\n.file 1 "k.cu"\n'), 64)
    assert not _of_some(trace)
    assert {hazard.second.cta for hazard in trace.hazards if {line for _, line in hazard.lines} == {10}} == {(13, 0, 0)}


def test_a_race_of_ctas_that_is_told_already_is_counted_and_not_looked_at(monkeypatch):
    looked, pairs = [], Access._pairs
    monkeypatch.setattr(Access, "_pairs", lambda *of: looked.append(of) or pairs(*of))
    body = """ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 7, %r1;
rem.u32 %r3, %r3, 50; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd1, %rd1, %rd2;
ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4; ret;"""
    trace = load(module(body, ["u64"])).entry().run(16, 32, np.zeros(64, np.uint32), hazards="report")
    told = sum(one.count for one in trace.hazards)
    assert told > 200 and len(looked) < told / 2          # those of a CTA's own load and store, which are in order
