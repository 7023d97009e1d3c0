"""What a quick look knows of mbarriers, barriers of some warps, copies by engines and wgmma: right programs take one step,
and of those that it is sure of the shadows tell nothing else."""

import numpy as np
import pytest
from steps_of_launches import in_one_step
from tiers import given_few

pytest.importorskip("numba")

from random_orders import BLOCKS, STORE, THREADS, lines_of, programs, text_of, wait

import simlayout.machine.ptx.compiled.loop  # noqa: F401  (at hand from the first launch on)
from simlayout.errors import SimlayoutError
from simlayout.machine.ptx import entry
from simlayout.machine.ptx.looks.doubts import Doubt
from simlayout.ptx import load


def outcome(program):
    """What a launch tells, counts and leaves."""
    array = np.arange(2048, dtype=np.uint32)
    try:
        trace = program.run(1, THREADS, array, hazards="report")
    except SimlayoutError as error:
        return type(error), str(error)
    return ([str(one) for one in trace.hazards], sorted(trace.notes), trace.lines, trace.executed, array.tolist())


def quick(patch, program):
    """The same of a quick look, None where that is in doubt."""
    patch.setattr(entry, "in_two_steps", lambda attempts, *_: attempts.quick())
    try:
        return outcome(program)
    except Doubt:
        return None


@pytest.mark.parametrize("names", [[name] * many for name in BLOCKS for many in (1, 2) if (name, many) != ("one", 2)]
                         + [[name for name in BLOCKS if name != "one"], [*BLOCKS][::-1][:-1]])
def test_what_is_in_order_takes_one_step(monkeypatch, names):
    program = load(text_of(lines_of(names))).entry()
    found = quick(monkeypatch, program)
    assert found is not None and not found[0] and any("stores there too" in note for note in found[1]) == ("one" in names)
    in_one_step(monkeypatch)
    assert found == outcome(program)


@given_few(40, 2000, programs)
def test_of_what_it_is_sure_the_shadows_tell_the_same(lines):
    program = load(text_of(lines)).entry()
    with pytest.MonkeyPatch.context() as patch:
        found = quick(patch, program)
        if found is not None:
            in_one_step(patch)
            assert found == outcome(program)
            assert all(told.startswith("unwritten register") for told in found[0])   # where the line that writes it is gone


@pytest.mark.parametrize(("names", "left_out"), [
    (["mbarrier"], "try_wait"), (["lanes"], "bar.warp.sync"), (["load"], "try_wait"), (["load"], "fence.proxy"),
    (["store"], "fence.proxy"), (["store", "mbarrier"], "wait_group.read"), (["product"], "fence.proxy"),
    (["product", "product"], "wgmma.wait_group"), (["half"], "bar.sync 1"), (["arrive"], "try_wait"),
    (["store again", "store again"], "wait_group 0")])
def test_what_is_missed_is_a_doubt_and_told(monkeypatch, names, left_out):
    lines = lines_of(names)
    at = next(i for i, line in enumerate(lines) if left_out in line)
    program = load(text_of(lines[:at] + lines[at + 1:])).entry()
    assert quick(monkeypatch, program) is None
    monkeypatch.undo()
    assert outcome(program)[0]


WARPS = ("shr.u32 %r15, %r1, 5;", "setp.eq.u32 %p5, %r15, 0;", "setp.eq.u32 %p6, %r15, 1;", "setp.lt.u32 %p7, %r13, 4;",
         "and.b32 %r16, %r1, 4;", "setp.eq.u32 %p8, %r16, 0;")
"""%p5 and %p6 are the first two warps, %p7 the first four lanes, %p8 those that get even columns of a transposed matrix."""

AGAIN = {
    "by warps that meet": ("@!%p3 bra E;", "@%p6 bar.sync 1, 64;", "st.global.u32 [%d1], 7;", "@%p5 bar.sync 1, 64;"),
    "behind arrivals of some lanes": (
        "@!%p3 bra E;", "@%p5 bra S;", wait(2, 0), "S: @%p7 st.shared.u32 [%r2], 7;", "@%p6 bra E;",
        "@%p7 mbarrier.arrive.shared.b64 _, [%r8+16];"),
    "by lanes that meet": (
        "@!%p5 bra E;", "@!%p7 bra E;", "mov.u32 %r17, 0;", "L: st.shared.u32 [%r2], 7;", "bar.warp.sync 15;",
        "add.u32 %r17, %r17, 1;", "setp.lt.u32 %p2, %r17, 2;", "@%p2 bra L;")}
"""What stores one value twice, in order."""


@pytest.mark.parametrize("name", AGAIN)
def test_stores_of_one_value_that_are_in_order_are_not_noted(monkeypatch, name):
    program = load(text_of([*WARPS, *AGAIN[name], "E: bar.sync 0;"])).entry()
    assert quick(monkeypatch, program) is None
    monkeypatch.undo()
    assert outcome(program)[:2] == ([], [])


LOADS = ("and.b32 %r16, %r13, 7;", "shl.b32 %r16, %r16, 4;", "add.u32 %r16, %r16, %r2;", "cvt.u64.u32 %d7, %r16;",
         "cvta.shared.u64 %d7, %d7;", "ldmatrix.sync.aligned.m8n8.x1.trans.b16 {%r9}, [%d7];", "nanosleep.u32 %r9;")


@pytest.mark.parametrize("lines", [
    (f"@%p5 {STORE}", "bar.warp.sync -1;", "@%p1 mbarrier.arrive.shared.b64 _, [%r8+8];", "@!%p6 bra E;", "@!%p8 bra X;",
     wait(1, 0), "X: mov.u32 %r17, 0;", *LOADS),
    (STORE, "bar.sync 0;", "@!%p3 bra E;", "@%p6 bra W;", *LOADS, "@%p8 mbarrier.arrive.shared.b64 _, [%r8];", "bra E;",
     "W:" + wait(0, 0), "st.shared.u32 [%r4+-128], %r1;")], ids=["written", "read"])
def test_each_lane_of_a_transposed_matrix_is_looked_at(monkeypatch, lines):
    """Two lanes have a part of each word, of which one waits, or arrives."""
    few = text_of([*WARPS, *lines, "E: bar.sync 0;"]).replace("[%r8], 128;", "[%r8], 16;")
    program = load(few).entry()
    assert quick(monkeypatch, program) is None
    monkeypatch.undo()
    assert outcome(program)[0]


def test_lanes_that_collide_where_some_of_them_store_elsewhere_are_told_and_no_error_of_python():
    lines = ("mov.u32 %r16, s;", "cvt.u64.u32 %d7, %r16;", "cvta.shared.u64 %d7, %d7;", "@%p7 add.u64 %d7, %d3, 1024;",
             "@%p5 st.u32 [%d7], %r1;")
    told = outcome(load(text_of([*WARPS, *lines])).entry())[0]
    assert len(told) == 1 and told[0].startswith("collision: st.b32 of warp 0, lanes 4-31")
