"""Sums of floats to which warps add by atomics: a note, where another order of the warps rounds another way."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl
from simlayout.machine.ptx.memory.sums import IN_ANY_ORDER

BODY = """.shared .align 4 .b8 s[16];
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u64 %rd2, [kernel_param_1]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd3, %r4, 4; add.u64 %rd2, %rd2, %rd3;
mov.u32 %r5, s; ld.param.u32 %r6, [kernel_param_2]; setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.b32 [%r5], %r6; bar.sync 0;
ld.global.b32 %r6, [%rd2]; cvt.u16.u32 %rs1, %r6; mov.b32 %f1, %r6; and.b32 %r7, %r1, 31; setp.ne.u32 %p1, %r7, 0;
{add}
ret;"""
GLOBAL, SHARED = "@!%p1 red.global.add.f32 [%rd1], %f1;", "@!%p1 red.shared.add.f32 [%r5], %f1;"
START, BY_WARP = np.float32(2**24), (1, 2)
"""Ones are lost in 2**24, unless two have come ahead."""


def notes(add, by_lane, threads=64, grid=1, start=START, hazards="raise", before=""):
    start, by_lane = np.atleast_1d(start).copy(), np.asarray(by_lane)
    entry = sl.ptx.load(module(BODY.replace("{add}", add), ["u64", "u64", "u32"], before=before)).entry()
    return entry.run(grid, threads, start, by_lane, int(START.view(np.uint32)), hazards=hazards).notes


def of_warps(*values, type=np.float32):
    """What each thread adds: lane 0 of each warp alone."""
    made = np.zeros(32 * len(values), type)
    made[::32] = values
    return made


@pytest.mark.parametrize("add", [GLOBAL, SHARED, "@!%p1 atom.add.f32 %f2, [%rd1], %f1;"])
def test_a_sum_that_another_order_of_warps_rounds_another_way_is_a_note(add):
    note, = notes(add, of_warps(*BY_WARP))
    assert IN_ANY_ORDER in note


def test_sums_of_halves_are_looked_at_too():
    by_lane = of_warps(1, 2, type=np.float16).astype(np.float16).view(np.uint16).astype(np.uint32)
    note, = notes("@!%p1 red.global.add.noftz.f16 [%rd1], %rs1;", by_lane, start=np.float16(2**11))
    assert IN_ANY_ORDER in note


def test_each_element_of_a_vector_is_a_place_of_its_own():
    one_at_a_time = "".join(f"@!%p{1 + i} red.global.add.{what};" for i, what in enumerate(
        ("v4.f32 [%rd1], {%f2, %f2, %f1, %f2}", "f32 [%rd1+8], %f1"), 2))
    body = "mov.f32 %f2, 0f00000000; setp.ne.u32 %p3, %r1, 0; setp.ne.u32 %p4, %r1, 32; " + one_at_a_time
    start = np.full(4, START)
    entry = sl.ptx.load(module(BODY.replace("{add}", body), ["u64", "u64", "u32"])).entry()
    note, = entry.run(1, 64, start, of_warps(*BY_WARP), 0).notes
    assert IN_ANY_ORDER in note


@pytest.mark.parametrize("many", [2, 3000])
def test_many_are_looked_at_as_few_are(many):
    for odd, noted in ((0, 0), (1, 1)):
        by_lane = np.ones(32 * many, np.float32)
        by_lane[-1] += odd
        made = notes("shl.b32 %r7, %r7, 2; cvt.u64.u32 %rd4, %r7; add.u64 %rd1, %rd1, %rd4; red.global.add.f32 [%rd1], %f1;",
                     by_lane, threads=32, grid=many, start=np.full(32, START))
        assert len(made) == noted


def test_ctas_add_in_any_order_whatever_barriers_they_have():
    note, = notes("bar.sync 0; " + GLOBAL, of_warps(*BY_WARP), threads=32, grid=2)
    assert IN_ANY_ORDER in note


@pytest.mark.parametrize("add, values, options", [
    (GLOBAL, BY_WARP, {"start": np.float32(0)}), (GLOBAL, (2, 2), {}), (GLOBAL, BY_WARP, {"hazards": "off"}),
    ("@!%p1 red.global.add.u32 [%rd1], %r6;", BY_WARP, {})],
    ids=["exact sums", "equal numbers", "nobody looks", "integers"])
def test_a_sum_that_is_the_same_in_each_order_is_no_note(add, values, options):
    assert notes(add, of_warps(*values), **options) == ()


def test_what_a_barrier_orders_is_no_note():
    first, second = (GLOBAL.replace("%p1", name) for name in ("%p2", "%p3"))
    at = "setp.ne.u32 %p2, %r1, 0; setp.ne.u32 %p3, %r1, 32; "
    assert notes(at + first + " bar.sync 0; " + second, of_warps(*BY_WARP)) == ()


def test_lanes_of_a_warp_add_in_their_order():
    by_lane = np.zeros(32, np.float32)
    by_lane[:2] = BY_WARP
    assert notes(GLOBAL.removeprefix("@!%p1 "), by_lane, threads=32) == ()


def test_what_stands_between_is_no_sum():
    again = "@!%p1 st.volatile.global.b32 [%rd1], %r6; "
    assert not any(IN_ANY_ORDER in one for one in notes(again + GLOBAL, of_warps(*BY_WARP), hazards="report"))


def test_the_note_names_the_line_of_the_kernel_s_own():
    where = ".loc 2 44 9, function_name $L, inlined_at 1 12 5\n"
    note, = notes(where + GLOBAL, of_warps(*BY_WARP), before='.file 1 "k.cu"\n.file 2 "lib.h"\n')
    assert note.startswith("k.cu:12: 1 ")
