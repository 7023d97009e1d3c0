"""CTAs that the compiled loop executes whole do what they do one by one, and in NumPy."""

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import strategies as st
from tiers import given_few

import simlayout.machine.ptx.compiled.loop  # noqa: F401  (at hand from the first launch on)
from simlayout.errors import MachineError, SimlayoutError
from simlayout.machine.ptx import running
from simlayout.machine.ptx.compiled.whole import Whole
from simlayout.ptx import load

HEAD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .u32 %r<16>;
    .reg .u64 %d<6>;
    .reg .f32 %f<4>;
    .reg .pred %p<4>;
    .shared .align 4 .b8 s[1024];
    .local .align 4 .b8 l[16];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.y;
    mad.lo.u32 %r1, %r3, %r2, %r1;
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ctaid.y;
    mov.u32 %r6, %nctaid.x;
    mad.lo.u32 %r4, %r5, %r6, %r4;
    mov.u32 %r5, %ctaid.z;
    mad.lo.u32 %r4, %r5, 6, %r4;
    mad.lo.u32 %r4, %r4, 128, %r1;
    ld.param.u64 %d1, [a];
    mul.wide.u32 %d2, %r4, 8;
    add.u64 %d1, %d1, %d2;
    mov.u32 %r8, %r4;
    mov.u32 %r3, s;
    mad.lo.u32 %r3, %r1, 4, %r3;
"""
TAIL = "    st.global.u32 [%d1+4], %r8;\n    ret;\n}\n"

PIECES = (
    "ld.global.u32 %r8, [%d1];",
    "st.global.u32 [%d1], %r8;",
    "add.u32 %r8, %r8, {n};",
    "mul.lo.u32 %r8, %r8, %r4;",
    "st.local.u32 [l], %r8;\n    ld.local.u16 %r8, [l];",
    "st.shared.u32 [%r3], %r8;",
    "bar.sync 0;\n    st.shared.u32 [%r3], %r8;\n    bar.sync 0;\n    xor.b32 %r9, %r1, 1;\n    sub.u32 %r9, %r9, %r1;\n"
    "    mad.lo.u32 %r9, %r9, 4, %r3;\n    ld.shared.u32 %r8, [%r9];",
    "cvt.rn.f32.u32 %f1, %r8;\n    ex2.approx.f32 %f1, %f1;\n    mov.b32 %r8, %f1;",          # no step of the loop
    "shfl.sync.bfly.b32 %r8, %r8, 1, 31, -1;\n    redux.sync.xor.b32 %r8, %r8, -1;",
    "atom.global.add.u32 %r8, [%d1], {n};",
    "and.b32 %r9, %r4, 3;\n    setp.eq.u32 %p3, %r9, 1;\n    @%p3 add.u32 %r11, %r4, {n};\n"
    "    mad.lo.u32 %r8, %r11, 5, %r8;",                 # of most lanes nothing has written %r11
    "and.b32 %r9, %r8, 3;\nL{i}:\n    add.u32 %r8, %r8, %r9;\n    sub.s32 %r9, %r9, 1;\n    setp.gt.s32 %p2, %r9, 0;\n"
    "    @%p2 bra L{i};",
    "and.b32 %r9, %r4, 7;\nL{i}:\n    setp.gt.u32 %p3, %r9, {n};\n    @%p3 exit;\n    red.global.add.u32 [%d1], %r9;\n"
    "    sub.s32 %r9, %r9, 1;\n    setp.gt.s32 %p2, %r9, 0;\n    @%p2 bra L{i};",
    "and.b32 %r9, %r4, {n};\n    setp.eq.u32 %p1, %r9, 0;\n    @%p1 bra L{i};\n    add.u32 %r8, %r8, 7;\n"
    "    st.global.u32 [%d1], %r8;\nL{i}:",
)
LEFT = "redux.sync.xor.b32 %r8, %r8, -1;"
"""What the compiled loop leaves to Python."""

ENDS = (
    "",
    "setp.ge.u32 %p3, %r1, {n};\n    @%p3 exit;",
    "setp.ge.u32 %p3, %r4, {n};\n    @%p3 bra L{i};",
    "and.b32 %r9, %r4, 1;\n    setp.eq.u32 %p3, %r9, 1;\n    @!%p3 ret;\n    add.u32 %r8, %r8, 1;",
)


@st.composite
def programs(draw):
    """PTX whose threads touch no memory of one another but at barriers, and end at several places."""
    pieces = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=7))
    end = draw(st.sampled_from(ENDS))
    after = draw(st.lists(st.sampled_from([p for p in PIECES if "shfl" not in p and "bar" not in p]), max_size=3))
    numbers = [draw(st.sampled_from([0, 1, 2, 5, 31, 32, 40, 128, 200])) for _ in range(20)]
    lines = [f"    {piece.format(i=i, n=numbers[i])}" for i, piece in enumerate([*pieces, end, *after])]
    last = f"L{len(pieces)}:\n" if "bra" in end else ""
    return HEAD + "\n".join(lines) + "\n" + last + TAIL


def outcome(text, grid, block, hazards, limit=1 << 20):
    """What a launch leaves: an array and what was counted, or the error."""
    array = np.arange(12 * 128 * 2, dtype=np.uint32)
    try:
        trace = load(text).entry().run(grid, block, array, hazards=hazards, limit=limit)
    except SimlayoutError as error:
        return str(error), array.tolist()
    seen = sorted((p.ptx_line, p.instruction, *row) for p in trace.patterns
                  for row in zip(p.addresses.tolist(), p.active.tolist(), p.times.tolist()))
    return (array.tolist(), trace.lines, trace.executed, trace.sectors, seen, trace.notes,
            [(str(h), h.count) for h in trace.hazards])


def in_numpy(*launch):
    """The outcome without the compiled loop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "WARMTH", 1 << 60)
        patch.setattr(running, "LOOP", "nowhere")
        return outcome(*launch)


def one_by_one(*launch):
    """The outcome where no CTA is executed whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running.Running, "whole", lambda self, first: (first, True))
        return outcome(*launch)


def handed_over(monkeypatch):
    """A list that grows by the CTA and the number of each warp that the compiled loop leaves to Python."""
    seen, hand_over = [], Whole.hand_over
    monkeypatch.setattr(Whole, "hand_over", lambda self, turn: (
        seen.append((turn.warp.index, turn.warp.warp_index)), hand_over(self, turn))[1])
    return seen


@given_few(20, 1_000, programs(), st.sampled_from([1, 3, (2, 2, 2), (1, 3), (1, 1, 2), (3, 2, 2)]),
           st.sampled_from([32, 10, 64, 100, (5, 3), (16, 8)]), st.sampled_from(["off", "report"]))
def test_whole_ctas_do_what_they_do_one_by_one_and_in_numpy(text, grid, block, hazards):
    whole = outcome(text, grid, block, hazards)
    assert whole == one_by_one(text, grid, block, hazards)
    assert whole == in_numpy(text, grid, block, hazards)


@st.composite
def exchanges(draw):
    """What the lanes of a warp do together, of values, lanes and segments that differ from lane to lane, or do not."""
    to = draw(st.sampled_from(["%r8", "%r8|%p1", "_|%p1"]))
    lane = draw(st.sampled_from(["%r9", "1", "5", "16", "31", "40"]))
    segment = draw(st.sampled_from(["%r10", "31", "0", "0x101f", "0x181c", "0x1c03"]))
    by = draw(st.sampled_from(["up", "down", "bfly", "idx"]))
    on = draw(st.sampled_from(["%p1", "!%p1"]))
    return draw(st.sampled_from([
        f"shfl.sync.{by}.b32 {to}, %r8, {lane}, {segment}, {draw(st.sampled_from(['-1', '%r11']))};",
        f"vote.sync.ballot.b32 %r9, {on}, -1;\n    xor.b32 %r8, %r8, %r9;",
        f"vote.sync.{draw(st.sampled_from(['all', 'any', 'uni']))}.pred %p1, {on}, -1;",
        f"@%p1 shfl.sync.{by}.b32 %r8, %r8, {lane}, 31, %r11;", "bar.warp.sync -1;",
        "@%p1 add.u32 %r8, %r8, 77;", "setp.lt.u32 %p1, %r9, 20;", "mul.lo.u32 %r9, %r8, 7;"]))


@given_few(35, 3000, st.lists(exchanges(), min_size=1, max_size=8), st.sampled_from([32, 64, 40]),
           st.sampled_from(["off", "report"]), st.sampled_from([-1, 0xFFFF]))
def test_what_warps_do_together_gives_what_numpy_gives(lines, block, hazards, mask):
    text = kernel("mul.lo.u32 %r8, %r4, 77;", "mul.lo.u32 %r9, %r1, 3;", "mul.lo.u32 %r10, %r1, 0x111;",
                  f"mov.u32 %r11, {mask};", "setp.lt.u32 %p1, %r1, 19;", *lines, "@%p1 xor.b32 %r8, %r8, %r9;")
    assert outcome(text, 2, block, hazards) == in_numpy(text, 2, block, hazards)


def test_shuffles_votes_and_barriers_of_whole_warps_need_no_python(monkeypatch):
    seen = handed_over(monkeypatch)
    text = kernel("shfl.sync.down.b32 %r8|%p1, %r8, 3, 31, -1;", "vote.sync.ballot.b32 %r9, !%p1, -1;", "bar.warp.sync -1;",
                  "add.u32 %r8, %r8, %r9;")
    assert outcome(text, 3, 64, "report") == in_numpy(text, 3, 64, "report") and not seen


def test_lanes_that_come_one_after_another_to_one_barrier_of_their_warp_execute_it_once():
    text = kernel("AGAIN:", "and.b32 %r9, %r1, 3;", "mov.u32 %r10, 0;", "INNER:", "@%p2 exit;", "bar.warp.sync -1;",
                  "add.u32 %r10, %r10, 1;", "setp.lt.u32 %p1, %r10, %r9;", "@%p1 bra INNER;", "add.u32 %r11, %r11, 1;",
                  "setp.lt.u32 %p1, %r11, 2;", "@%p1 bra AGAIN;")
    launch = text, 1, 40, "report"
    assert outcome(*launch) == in_numpy(*launch)


def kernel(*pieces):
    """A program of some lines."""
    return HEAD + "\n".join(f"    {piece}" for piece in pieces) + "\n" + TAIL


@pytest.mark.parametrize("piece", [PIECES[10].format(n=3), "L1:\n    add.u32 %r8, %r8, %r12;\n    add.u32 %r12, %r4, 1;\n"
                                   "    setp.eq.u32 %p1, %r8, %r4;\n    @%p1 bra L1;"])
def test_registers_that_nothing_has_written_are_zero_in_every_cta(piece):
    text = kernel(piece)
    assert outcome(text, 6, 64, "off") == in_numpy(text, 6, 64, "off")


def test_a_kernel_of_compiled_steps_needs_python_for_no_cta(monkeypatch):
    seen = handed_over(monkeypatch)
    text = kernel(PIECES[6], PIECES[-1].format(i=1, n=3), ENDS[3])
    assert outcome(text, (3, 2, 2), 100, "off") == in_numpy(text, (3, 2, 2), 100, "off")
    assert not seen


def test_python_takes_over_the_ctas_that_need_it_and_the_others_go_on(monkeypatch):
    seen = handed_over(monkeypatch)
    text = kernel(PIECES[6], "mov.u32 %r10, %ctaid.x;", "setp.ne.u32 %p1, %r10, 1;", "@%p1 bra OVER;",
                  PIECES[9].format(n=4), "OVER:")
    assert outcome(text, (3, 2), 64, "off") == in_numpy(text, (3, 2), 64, "off")
    assert seen == [((1, y, 0), warp) for y in range(2) for warp in range(2)]


@pytest.mark.parametrize("head", ["@%p2 exit;", "@%p2 ret;", "setp.gt.u32 %p2, %r10, 2;\n    @%p2 exit;"])
def test_lanes_that_go_back_to_a_guarded_end_at_the_head_of_a_loop_end_where_the_guard_holds(head):
    text = kernel("mov.u32 %r10, 0;", "and.b32 %r9, %r1, 7;", "setp.gt.u32 %p2, %r1, 20;", "L0:", head,
                  "add.u32 %r8, %r8, 1000;", "st.global.u32 [%d1], %r8;", "add.u32 %r10, %r10, 1;",
                  "setp.lt.u32 %p1, %r10, %r9;", "@%p1 bra L0;")
    for hazards in ("off", "report"):
        assert outcome(text, 2, 40, hazards) == in_numpy(text, 2, 40, hazards)


def test_lanes_that_add_to_memory_in_a_loop_do_not_wait_for_one_another():
    text = kernel("mov.u32 %r8, %r1;", "and.b32 %r9, %r8, 7;", "L4:", "xor.b32 %r8, %r8, %r1;",
                  "red.global.add.u32 [%d1], %r8;", "add.u32 %r10, %r10, 1;", "setp.lt.u32 %p1, %r10, %r9;", "@%p1 bra L4;",
                  "mov.u32 %r11, 0;", "L9:", "st.global.u32 [%d1], %r8;",
                  "add.u32 %r11, %r11, 1;", "setp.lt.u32 %p2, %r11, %r12;", "@%p2 bra L9;")
    assert outcome(text, 1, 40, "off") == in_numpy(text, 1, 40, "off")


@pytest.mark.parametrize("hazards", ["off", "report"])
def test_of_lanes_that_need_each_other_at_two_places_the_first_is_told(hazards):
    text = kernel("setp.gt.u32 %p1, %r1, 19;", "@%p1 bra L1;", "mov.u32 %r9, 0;", "L0:", "add.u32 %r9, %r9, 1;",
                  "setp.lt.u32 %p2, %r9, %r1;", "@%p2 bra L0;", "bar.warp.sync -1;", "exit;", "L1:",
                  "shfl.sync.bfly.b32 %r8, %r8, 1, 31, -1;")
    found = outcome(text, 1, 32, hazards)
    assert found == in_numpy(text, 1, 32, hazards) and "divergence: bar.warp.sync needs lanes" in found[0]


@pytest.mark.parametrize("hazards", ["off", "report"])
def test_what_a_cta_has_stored_is_there_when_python_takes_over(monkeypatch, hazards):
    seen = handed_over(monkeypatch)
    text = kernel("st.shared.u32 [%r3], %r4;", "st.local.u32 [l], %r4;", LEFT, "ld.shared.u32 %r9, [%r3];",
                  "ld.local.u32 %r10, [l];", "mad.lo.u32 %r8, %r9, %r10, %r8;")
    found = outcome(text, 3, 64, hazards)
    assert found == in_numpy(text, 3, 64, hazards) and len(seen) == 6


def test_a_cta_runs_out_of_its_limit_at_the_same_place():
    text = kernel("mov.u32 %r9, 0;", "L0:", "add.u32 %r9, %r9, 1;", "setp.lt.u32 %p1, %r9, 50;", "@%p1 bra L0;")
    launch = text, 2, 32, "off", 100
    assert "executed 100 instructions" in outcome(*launch)[0]
    assert outcome(*launch) == in_numpy(*launch)


def test_a_barrier_that_an_ended_warp_did_not_come_to_orders_nothing_that_it_did():
    text = kernel("st.shared.u32 [%r3], %r8;", "setp.lt.u32 %p1, %r1, 32;", "@%p1 exit;", "bar.sync 0;",
                  "ld.shared.u32 %r8, [%r3+-128];")
    found = outcome(text, 2, 64, "report")
    assert found == in_numpy(text, 2, 64, "report") and found[-1]


@pytest.mark.parametrize("between", ["", LEFT])       # compiled, and left to Python on the way
def test_a_race_of_two_warps_is_found_in_whole_ctas(between):
    text = kernel("st.shared.u32 [%r3], %r8;", "bar.sync 0;", "mov.u32 %r9, s;", "sub.u32 %r10, %r3, %r9;",
                  "xor.b32 %r10, %r10, 128;", "add.u32 %r10, %r10, %r9;", "ld.shared.u32 %r8, [%r10];", between,
                  "st.shared.u32 [%r3], %r8;")
    found = outcome(text, 2, 64, "report")
    assert found == in_numpy(text, 2, 64, "report") and found[-1]


def test_more_accesses_than_are_noted_at_once_are_all_counted():
    text = kernel("mov.u32 %r9, 0;", "L0:", "st.shared.u32 [%r3], %r9;", "ld.global.u32 %r8, [%d1];", "add.u32 %r9, %r9, 1;",
                  "setp.lt.u32 %p1, %r9, 900;", "@%p1 bra L0;")
    assert outcome(text, 4, 64, "off") == one_by_one(text, 4, 64, "off")


def test_progress_is_told_of_every_cta():
    told = []
    load(kernel()).entry().run((2, 3), 64, np.zeros(12 * 128 * 2, np.uint32), hazards="off",
                               progress=lambda *seen: told.append(seen))
    assert told == [(i, 6) for i in range(1, 7)]


def test_the_next_launch_begins_anew_after_one_that_failed():
    text = kernel("setp.ne.u32 %p1, %r4, 130;", "@%p1 bra OVER;", "trap;", "OVER:")
    entry, array = load(text).entry(), np.zeros(12 * 128 * 2, np.uint32)
    with pytest.raises(MachineError, match=r"CTA \(1, 0, 0\), warp 0: trap"):
        entry.run(3, 64, array, hazards="off")
    assert array[1] == 0 and array[3] == 1 and not array[2 * 128:2 * 160].any()
    entry.run(1, 64, array, hazards="off")
    assert array[3] == 1
