"""Counts that depend on the order in which warps come are not exact, and say so; others are, whatever atomics there are."""

import numpy as np
import pytest
from ptx_texts import module
from random_turns import counted_in_order, loaded
from tiers import sweep_but

import simlayout as sl
from simlayout.machine.ptx import running
from simlayout.machine.ptx.passes.alike import Alike
from simlayout.machine.ptx.passes.by_order import ByOrder
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.statements import instructions
from simlayout.machine.ptx.passes.waits import tried_again

HEAD = """.shared .align 4 .b8 s[1024]; .shared .align 4 .b8 bins[128]; .shared .align 4 .b32 count;
ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
mov.u32 %r2, s; mov.u32 %r3, bins; and.b32 %r4, %r1, 31; shl.b32 %r5, %r4, 2; add.u32 %r5, %r3, %r5;
st.shared.b32 [%r5], 0; st.shared.b32 [count], 0; bar.sync 0;
"""
RANK_IN_A_BIN = """mul.lo.u32 %r6, %r1, 7; and.b32 %r6, %r6, 12; add.u32 %r7, %r3, %r6; atom.shared.add.u32 %r7, [%r7], 1;
shl.b32 %r6, %r6, 6; shl.b32 %r7, %r7, 2; add.u32 %r7, %r7, %r6; add.u32 %r7, %r7, %r2; st.shared.b32 [%r7], %r1; ret;"""
QUEUE = """atom.shared.add.u32 %r6, [count], 1; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r2; st.shared.b32 [%r6], %r4;
bar.sync 0; shl.b32 %r7, %r1, 2; add.u32 %r7, %r7, %r2; ld.shared.b32 %r8, [%r7]; """
LOOKED_UP = "shl.b32 %r8, %r8, 3; and.b32 %r8, %r8, 124; add.u32 %r8, %r8, %r3; ld.shared.b32 %r8, [%r8]; "
KEPT = "st.global.u32 [%rd1], %r8; ret;"
WHO_IS_FIRST = """atom.shared.exch.b32 %r6, [%r5], 1; setp.eq.u32 %p1, %r6, 0; @!%p1 bra OUT; mul.lo.u32 %r7, %r1, 8;
add.u32 %r7, %r2, %r7; st.shared.b32 [%r7], %r1; OUT: ret;"""
BY_LANE_0 = """mov.u32 %r6, 0; setp.eq.u32 %p1, %r4, 0; @%p1 atom.shared.add.u32 %r6, [count], 1;
shfl.sync.idx.b32 %r6, %r6, 0, 31, -1; shl.b32 %r7, %r6, 7; shl.b32 %r8, %r4, 4;
add.u32 %r7, %r7, %r8; and.b32 %r7, %r7, 1020; add.u32 %r7, %r7, %r2;
st.shared.b32 [%r7], %r1; ret;"""
BY_A_WORD = """setp.eq.u32 %p1, %r1, 0; @!%p1 bra ON; atom.global.add.u32 %r6, [%rd1], 1; st.shared.b32 [count], %r6;
ON: bar.sync 0; ld.shared.b32 %r6, [count]; setp.gt.u32 %p2, %r6, 5; @%p2 bra OUT;
shl.b32 %r7, %r4, 3; add.u32 %r7, %r7, %r2; ld.shared.b32 %r8, [%r7]; st.global.u32 [%rd1+4096], %r8; OUT: ret;"""
A_LOCK_BY_A_WORD = """TRY: setp.eq.u32 %p1, %r1, 0; @!%p1 bra ON; atom.global.cas.b32 %r6, [%rd1], 0, 1;
st.shared.b32 [count], %r6; ON: bar.sync 0; ld.shared.b32 %r7, [count]; bar.sync 0; setp.ne.u32 %p2, %r7, 0; @%p2 bra TRY;
ld.shared.b32 %r7, [%r5]; bar.sync 0; @%p1 atom.global.exch.b32 %r8, [%rd1], 0; ret;"""
POLLS = """setp.lt.u32 %p1, %r1, 32; @!%p1 bra WAIT; setp.eq.u32 %p2, %r1, 0; @%p2 st.volatile.shared.b32 [count], 1;
bra OUT; WAIT: ld.volatile.shared.b32 %r6, [count]; setp.eq.u32 %p1, %r6, 0; @%p1 bra WAIT; OUT: ret;"""


def traced(body, warps=2, grid=1, hazards="raise"):
    entry = sl.ptx.load(module(HEAD + body, ["u64"])).entry()
    return entry.run(grid, 32 * warps, np.zeros(4096, np.uint32), hazards=hazards)


@pytest.mark.parametrize("body", [RANK_IN_A_BIN, QUEUE + LOOKED_UP + KEPT, WHO_IS_FIRST, POLLS],
                         ids=["a rank in a bin", "what stands in a queue", "who is first", "how often a flag is looked at"])
def test_what_depends_on_the_order_of_warps_is_not_exact(body):
    trace = traced(body, hazards="report")
    assert not trace.total().exact


@pytest.mark.parametrize("space", ["shared", "shared::cta"])
def test_a_copy_to_a_place_that_depends_on_the_order_of_warps_is_not_exact_however_its_space_is_named(space):
    copy = f"cp.async.ca.{space}.global [%r7], [%rd1], 4; cp.async.wait_all;"
    body = RANK_IN_A_BIN.replace("st.shared.b32 [%r7], %r1;", copy)
    assert copy in body and not traced(body, hazards="report").total().exact


@pytest.mark.parametrize("body", [RANK_IN_A_BIN, QUEUE + LOOKED_UP + KEPT, WHO_IS_FIRST],
                         ids=["a rank in a bin", "what stands in a queue", "who is first"])
def test_one_warp_has_no_order_and_its_counts_are_exact(body):
    assert traced(body, 1, hazards="report").total().exact


@pytest.mark.parametrize("body, grid", [(QUEUE + KEPT, 1), (BY_LANE_0, 1), (BY_A_WORD, 3)],
                         ids=["places of a queue", "work for a warp", "work for a CTA"])
def test_places_and_work_that_are_handed_out_as_a_whole_leave_counts_exact(body, grid):
    assert traced(body, 2, grid, "report").total().exact


@pytest.mark.parametrize("steps", [0, 10**9], ids=["in NumPy", "compiled"])
def test_atomics_of_warps_that_a_barrier_orders_leave_counts_exact(monkeypatch, steps):
    monkeypatch.setattr(running._Process, "steps", steps)
    one = "setp.{0}.u32 %p1, %r1, 32; @!%p1 bra ON{1}; " + RANK_IN_A_BIN.replace(" ret;", " ON{1}:")
    ordered = one.format("lt", 1) + " bar.sync 0; " + one.format("ge", 2) + " ret;"
    assert traced(ordered).total().exact
    assert not traced(ordered.replace("bar.sync 0; ", "", 1), hazards="report").total().exact


@pytest.mark.parametrize("how", ["", ".volatile"])
def test_how_often_a_cta_tries_for_a_lock_is_not_exact_where_a_word_of_shared_memory_says_whether_it_has_it(how):
    body = A_LOCK_BY_A_WORD.replace(".shared.b32 [count]", f"{how}.shared.b32 [count]").replace(
        "ld.shared.b32 %r7, [count]", f"ld{how}.shared.b32 %r7, [count]")
    one_cta, trace = traced(body, 2, 1, "report"), traced(body, 2, 3, "report")
    assert one_cta.total().exact
    unsure = {(c.ptx_line, c.instruction): c.instructions for c in trace.lines if not c.exact}
    assert {of: many for (_, of), many in unsure.items()} == {"ld.shared.b32": 6, "st.shared.b32": 3}
    assert len({line for line, _ in unsure}) == 1


def test_a_note_says_which_lines_depend_on_the_order():
    trace = traced(RANK_IN_A_BIN)
    note, = [note for note in trace.notes if "one order" in note]
    stores = [c.line for c in trace.lines if not c.exact]
    assert f"line{'s' * (len(stores) > 1)} {stores[0]}: their counts are those of one order" in note


def test_what_depends_on_a_load_that_races_is_not_exact():
    race = """shl.b32 %r6, %r1, 2; add.u32 %r6, %r6, %r2; st.shared.b32 [%r6], %r1; {0} xor.b32 %r7, %r6, 128;
    ld.shared.b32 %r8, [%r7]; setp.gt.u32 %p1, %r8, 40; @%p1 bra OUT; bar.warp.sync -1; st.shared.b32 [%r5], 0; OUT: ret;"""
    race = race.replace("bar.warp.sync -1; ", "")
    assert not traced(race.format(""), hazards="report").total().exact
    assert traced(race.format("bar.sync 0;"), hazards="report").total().exact


@pytest.mark.parametrize("seed", sweep_but(range(0, 400, 40), range(400)))
def test_counts_that_differ_from_order_to_order_are_none_that_are_exact(monkeypatch, seed):
    entry = loaded(seed)
    traces = [counted_in_order(monkeypatch, entry, order) for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1])]
    counts = [{(c.ptx_line, c.instruction): (c.instructions, c.wavefronts) for c in trace.lines} for trace in traces]
    exact = {(c.ptx_line, c.instruction) for c in traces[0].lines if c.exact}
    assert [one for one in exact if any(of.get(one) != counts[0][one] for of in counts)] == []


@pytest.mark.parametrize("body", [RANK_IN_A_BIN, QUEUE + LOOKED_UP + KEPT, WHO_IS_FIRST, BY_LANE_0, BY_A_WORD, POLLS,
                                  A_LOCK_BY_A_WORD])
def test_what_depends_on_several_accesses_is_what_depends_on_any_of_them(body):
    function = sl.ptx.load(module(HEAD + body, ["u64"])).entry().function
    found = ByOrder(function, Known(function), Alike(function), tried_again(function))
    accesses = [one for one in instructions(function.body) if one.opcode in ("ld", "st", "atom")]
    each = {id(one) for source in accesses for one in found.behind(source)}
    assert {id(one) for one in found.behind(*accesses)} == each and not found.behind()
