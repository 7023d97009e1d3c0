"""The order of a run: every event in its column, barriers across all warps, and a mark on the two that nothing orders."""

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_texts import module

import simlayout as sl
from cuda_kernels.intrinsics import (
    bar_sync,
    cp_async_cg_16,
    cp_async_commit_group,
    cp_async_wait_group,
    dynamic_shared,
    ld_shared_b32,
    st_shared_b32,
    tid_x,
)
from simlayout import machine, plots

wait_0, wait_1 = cp_async_wait_group(0), cp_async_wait_group(1)
A = np.arange(1024, dtype=np.int32)


def exchange(rounds, meet, meet_again):
    tid, smem = tid_x(), dynamic_shared()
    for _ in range(rounds):
        st_shared_b32(smem + 4 * tid, tid)
        if meet:
            bar_sync()
        ld_shared_b32(smem + 4 * (127 - tid))
        if meet_again:
            bar_sync()


def copied(a):
    tid, smem = tid_x(), dynamic_shared()
    for k in range(2):
        cp_async_cg_16(smem + 512 * k + 16 * (tid % 32), a + 16 * tid)
        cp_async_commit_group()
    wait_1()
    for k in range(2):
        ld_shared_b32(smem + 512 * k + 16 * (tid % 32))


def drawn(kernel, *args, block=128, hazards="report", part=0):
    return plots.order(lambda: machine.run(kernel, 1, block, *args, shared_bytes=1024, hazards=hazards), part)


@given(st.integers(1, 3), st.booleans(), st.booleans())
@settings(max_examples=12, deadline=None)
def test_each_warp_has_its_accesses_in_order_and_a_mark_stands_where_the_machine_finds_a_hazard(rounds, meet, again):
    panel = drawn(exchange, rounds, meet, again)
    for warp in range(4):
        assert [box.text for box in panel.boxes if box.text and box.y == warp] == ["store", "load"] * rounds
    barriers = [box for box in panel.boxes if not box.text]
    assert len(barriers) == rounds * (meet + again) and all((box.y, box.height) == (0, 4) for box in barriers)
    assert all(one.x + one.width == other.x for one, other in zip(panel.boxes, panel.boxes[1:]))
    found = machine.run(exchange, 1, 128, rounds, meet, again, shared_bytes=1024, hazards="report").hazards
    assert bool(found) == (not meet or rounds > 1 and not again)
    marked = [box for box in panel.boxes if box.marked]
    assert len(marked) == 2 * bool(found)
    if found:
        first = found[0]
        assert first.kind in panel.marked
        assert sorted(box.y for box in marked) == sorted([first.first.warp, first.second.warp])
        assert {box.text for box in marked} == {"store", "load"}


def test_a_wait_says_how_many_groups_it_leaves_and_boxes_say_which_part_is_touched():
    panel = drawn(copied, A, block=32, part=512)
    assert [box.text for box in panel.boxes] == ["copy 0", "copy 1", "wait 1", "load 0", "load 1"]
    assert [box.text for box in panel.boxes if box.marked] == ["copy 1", "load 1"] and "early read" in panel.marked
    assert any("newest n groups" in said for _, said in panel.legend)


def test_it_draws_what_ptx_of_a_compiler_does():
    text = files("simlayout.guide").joinpath("transpose.ptx").read_text().replace("bar.sync \t0;", "")
    kernel, a, c = sl.ptx.load(text)["transpose"], np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32)
    panel = plots.order(lambda: kernel.run((1, 1), (32, 8), a, c, 32, hazards="report"))
    assert panel.height == 8 and {box.text for box in panel.boxes} == {"store", "load"}
    assert len([box for box in panel.boxes if box.marked]) == 2
    two = plots.order(lambda: kernel.run((1, 1), (32, 8), a, c, 32, hazards="report"), warps=(1, 5))
    assert [text for _, text in two.rows] == ["warp 1", "warp 5"] and len(two.boxes) == len(panel.boxes) // 4
    ax = panel.plot()
    plots.close(ax)


def test_volatile_accesses_between_which_a_fence_is_missing_are_marked():
    """Warp 0 stores data and a flag; warp 1 waits for the flag and reads the data."""
    body = """mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [kept], 0; bar.sync 0;
        setp.eq.u32 %p2, %r1, 32; @%p2 bra WAIT; @!%p1 ret;
        st.volatile.shared.u32 [kept+4], 7; st.volatile.shared.u32 [kept], 1; ret;
        WAIT: ld.volatile.shared.u32 %r2, [kept]; setp.eq.u32 %p3, %r2, 0; @%p3 bra WAIT;
        ld.volatile.shared.u32 %r3, [kept+4]; ret;"""
    entry = sl.ptx.load(module(body, before=".shared .align 4 .b8 kept[8];")).entry()
    panel = plots.order(lambda: entry.run(1, 64, hazards="report"))
    assert [box.text for box in panel.boxes if box.marked] == ["store", "load"] and "missing fence" in panel.marked


def test_a_run_without_shared_memory_has_no_order_to_draw():
    def nothing():
        tid_x()

    with pytest.raises(sl.errors.SimlayoutError, match="no such warp touches shared memory"):
        plots.order(lambda: machine.run(nothing, 1, 32))
    with pytest.raises(sl.HazardError):
        drawn(exchange, 1, False, False, hazards="raise")
