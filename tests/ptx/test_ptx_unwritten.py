"""Reads of what nothing has written, or of lanes that take no part: notes where it does not matter what is there, and
hazards where it does."""

import numpy as np
import pytest
from ptx_texts import module
from steps_of_launches import in_one_step, recorded
from tiers import sweep_but

from simlayout import ptx
from simlayout.errors import HazardError

HEAD = """.reg .b32 %lane, %own, %next, %sum, %zero; .reg .b64 %out, %wide;
.shared .align 16 .b8 smem[512];
ld.param.u64 %out, [kernel_param_0];
mov.u32 %lane, %tid.x;
mul.wide.u32 %wide, %lane, 4;
add.u64 %out, %out, %wide;
mov.u32 %own, smem;
mad.lo.u32 %own, %lane, 4, %own;
mov.u32 %zero, 0;
setp.lt.u32 %p1, %lane, 31;
add.u32 %sum, %lane, 1000;
st.shared.u32 [%own], %sum;
bar.sync 0;
ld.shared.u32 %next, [%own+4];
"""
"""%next: what the next lane has stored, and in lane 31 what nobody has; %p1: in all others; %sum: what the lane stored."""

OUT = "st.global.u32 [%out], %sum;"

WITHOUT_USE = {
    "a select": "selp.u32 %sum, %next, 7, %p1;",
    "a predicate": "setp.lt.and.u32 %p2, %next, %sum, %p1; @%p2 mov.u32 %sum, 7;",
    "a factor of zero": "selp.u32 %zero, 1, 0, %p1; mad.lo.u32 %sum, %zero, %next, %sum;",
    "a register that is written anew": "@!%p1 mov.u32 %next, 5; add.u32 %sum, %sum, %next;",
    "a value of memory that nobody reads": "mov.u32 %sum, %next; st.shared.u32 [%own+256], %sum; mov.u32 %sum, %lane;",
}
WITH_USE = {
    "a sum": "add.u32 %sum, %sum, %next;",
    "a sign": "shr.u32 %sum, %next, 31;",
    "the larger one": "max.s32 %sum, %sum, %next;",
    "a branch": "setp.gt.s32 %p2, %next, 0; @%p2 bra MORE; add.u32 %sum, %sum, 0; MORE:",
    "a flag": "setp.eq.u32 %p2, %next, 1; @%p2 mov.u32 %sum, 7;",
    "an address": "and.b32 %next, %next, 60; mov.u32 %own, smem; add.u32 %own, %own, %next; ld.shared.u32 %sum, [%own];",
    "how often a loop runs": "AGAIN: sub.u32 %next, %next, 1; setp.ne.u32 %p2, %next, 4294967295; @%p2 bra AGAIN;",
}


def entry(body):
    return ptx.load(module(HEAD + body + OUT + "\nret;", ["u64"])).entry()


def run(body, **how):
    out = np.zeros(32, np.uint32)
    return entry(body).run(1, 32, out, **how), out


@pytest.mark.parametrize("body", WITHOUT_USE.values(), ids=WITHOUT_USE)
@pytest.mark.parametrize("mode", ["raise", "report"])
def test_a_read_of_what_nothing_has_written_is_a_note_where_nothing_depends_on_it(mode, body):
    trace, out = run(body, hazards=mode)
    assert trace.hazards == () and len(trace.notes) == 1
    assert "1 ld.shared.b32 of memory that nothing has written, which makes no difference here" in trace.notes[0]
    assert out.tolist() == run(body, hazards="off")[1].tolist()


@pytest.mark.parametrize("body", WITH_USE.values(), ids=WITH_USE)
def test_it_is_a_hazard_where_the_result_or_the_way_there_depends_on_it(body):
    with pytest.raises(HazardError, match="unwritten read: ld.shared.b32 of warp 0, lane 31 .* reads shared bytes 128-131"):
        run(body)


@pytest.mark.parametrize("body", sweep_but([*WITHOUT_USE.values(), *WITH_USE.values()][:-1],
                                           [*WITHOUT_USE.values(), *WITH_USE.values()]), ids=[*WITHOUT_USE, *WITH_USE])
def test_what_is_told_in_two_steps_is_what_the_shadows_tell(monkeypatch, body):
    pytest.importorskip("numba")
    import simlayout.machine.ptx.compiled.loop  # noqa: F401  (at hand from the first launch on)

    loops = body == WITH_USE["how often a loop runs"]    # which is found out by no other word, and runs for hours

    def told():
        if loops:
            return str(pytest.raises(HazardError, run, body).value)
        trace, out = run(body, hazards="report")
        return [str(one) for one in trace.hazards], trace.notes, trace.lines, trace.executed, out.tolist()

    seen = recorded(monkeypatch)
    found = told()
    assert seen == ["quick"] + ["shadowed" if loops else "once"] * (body in WITH_USE.values())
    in_one_step(monkeypatch)
    assert found == told()


def test_a_launch_with_such_a_hazard_that_is_reported_leaves_memory_as_without_a_look_at_it():
    trace, out = run(WITH_USE["a sum"], hazards="report")
    assert [one.kind for one in trace.hazards] == ["unwritten read"] and trace.notes == ()
    assert out.tolist() == run(WITH_USE["a sum"], hazards="off")[1].tolist()


def test_what_was_changed_in_place_is_changed_once():
    out = np.arange(32, dtype=np.uint32)
    entry(WITHOUT_USE["a select"] + "ld.global.u32 %next, [%out]; add.u32 %sum, %sum, %next;").run(1, 32, out)
    assert out.tolist() == [*range(1001, 1063, 2), 7 + 31]


def test_rows_of_a_product_that_nobody_stores_may_be_of_what_nothing_has_written():
    body = """.reg .b32 %a<4>, %b<2>; .reg .f32 %d<4>;
    mov.b32 %a0, 0x3C003C00; mov.b32 %a2, %a0; mov.b32 %b0, %a0; mov.b32 %b1, %a0;
    ld.shared.b32 %a1, [%own+64]; mov.b32 %a3, %a1;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1},
        {0f00000000, 0f00000000, 0f00000000, 0f00000000};
    mov.b32 %sum, %dX;"""
    assert run(body.replace("%dX", "%d0"))[1].view(np.float32).tolist() == [16] * 32
    with pytest.raises(HazardError, match="unwritten read"):
        run(body.replace("%dX", "%d2"))


TAIL = """setp.ge.u32 %p3, %lane, 20;
@%p3 bra OUT;
shfl.sync.down.b32 %r1, %sum, 1, 31, 0xFFFFF;
"""
"""Lanes 0 to 19 take what the next one holds, of which lane 20 has gone."""


@pytest.mark.parametrize("body, matters", [
    ("setp.lt.u32 %p2, %lane, 19; @%p2 add.u32 %sum, %sum, %r1;", False),
    ("setp.lt.and.u32 %p2, %r1, 5, %p3; @%p2 mov.u32 %sum, 7;", False), ("add.u32 %sum, %sum, %r1;", True),
    ("setp.eq.u32 %p2, %r1, 1; @%p2 mov.u32 %sum, 7;", True),
    ("setp.gt.s32 %p2, %r1, 0; @%p2 bra OUT; add.u32 %sum, %sum, 0;", True)])
@pytest.mark.parametrize("mode", ["raise", "report"])
def test_a_shuffle_from_a_lane_that_has_gone_is_a_hazard_where_the_result_depends_on_it_and_else_a_note(body, matters, mode):
    out = np.zeros(32, np.uint32)
    made = ptx.load(module(HEAD.replace("ld.shared.u32 %next, [%own+4];", "") + (TAIL + body).replace("; ", ";\n") +
                           "OUT: " + OUT + "\nret;", ["u64"])).entry()
    if matters and mode == "raise":
        with pytest.raises(HazardError, match="inactive source: .* lane 19 .* takes the value of lane 20"):
            made.run(1, 32, out)
        return
    trace = made.run(1, 32, out, hazards=mode)
    assert [one.kind for one in trace.hazards] == ["inactive source"] * matters
    assert [" 1 shfl.sync.down.b32 of a lane that does not execute it, which makes no difference here" in note
            for note in trace.notes] == [True] * (not matters)
    unseen = np.zeros(32, np.uint32)
    made.run(1, 32, unseen, hazards="off")
    assert out.tolist() == unseen.tolist()


def test_a_race_beside_it_is_told():
    body = WITHOUT_USE["a select"] + "xor.b32 %own, %own, 4; st.shared.u32 [%own], %lane;"
    trace, _ = run(body, hazards="report")
    assert "lane race" in [one.kind for one in trace.hazards]
