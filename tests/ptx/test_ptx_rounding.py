"""Lanes that store the sum of a butterfly to one place: equal but for rounding where a product is fused with an addition."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl
from simlayout.errors import HazardError
from simlayout.machine.hazards.rounding import differ_by_rounding

PRODUCTS = """.reg .b32 %lane, %at; .reg .f32 %x, %p, %q, %back, %s<6>; .reg .b64 %in, %out, %off;
.shared .align 4 .b8 smem[4];
ld.param.u64 %in, [kernel_param_0]; ld.param.u64 %out, [kernel_param_1];
mov.u32 %lane, %tid.x; mov.u32 %at, smem; setp.eq.u32 %p1, %lane, 0;
mul.wide.u32 %off, %lane, 4; add.u64 %in, %in, %off;
ld.global.f32 %x, [%in];
mul.rn.f32 %p, %x, %x;
"""
FUSED = "shfl.sync.bfly.b32 %q, %p, 16, 31, -1; fma.rn.f32 %s0, %x, %x, %q;"
APART = "shfl.sync.bfly.b32 %q, %p, 16, 31, -1; add.rn.f32 %s0, %p, %q;"
BACK = "bar.warp.sync -1; ld.shared.b32 %back, [%at]; @%p1 st.global.b32 [%out], %back;"
PLACES = {"shared": "st.shared.b32 [%at], {0};" + BACK,
          "global": "st.global.b32 [%out], {0};"}


def run(first, place="shared", steps=(8, 4, 2, 1), **how):
    """The Trace of a launch whose lanes all store what a butterfly of these steps leaves; its numbers, and what stayed."""
    body = PRODUCTS + first
    for i, by in enumerate(steps):
        body += f"shfl.sync.bfly.b32 %q, %s{i}, {by}, 31, -1; add.f32 %s{i + 1}, %s{i}, %q;"
    x, out = np.random.default_rng(0).standard_normal(32).astype(np.float32), np.zeros(1, np.float32)
    text = module(body + PLACES[place].format(f"%s{len(steps)}") + "ret;", ["u64", "u64"])
    return sl.ptx.load(text).entry().run(1, 32, x, out, **how), x, out


@pytest.mark.parametrize("place", PLACES)
def test_sums_that_differ_by_rounding_are_a_note_that_names_the_cause(place):
    trace, x, out = run(FUSED, place)
    assert np.isclose(out[0], (x.astype(float) ** 2).sum(), rtol=1e-6)
    assert trace.hazards == () and len(trace.notes) == 1
    assert f"1 st.{place}.b32 of sums that differ between lanes by rounding" in trace.notes[0].replace(".f32", ".b32")


@pytest.mark.parametrize("place", PLACES)
def test_equal_sums_need_no_note(place):
    trace, _, _ = run(APART, place)
    assert trace.hazards == () and trace.notes == ()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("first", [FUSED, APART])
def test_sums_of_several_groups_of_lanes_collide(first, place):
    with pytest.raises(HazardError, match="collision: st.*writes different values"):
        run(first, place, steps=(8, 4, 2))


def test_numbers_that_are_no_sums_collide_however_near_they_are():
    with pytest.raises(HazardError, match="collision: st.*writes different values"):
        run("add.u32 %lane, %lane, 0x3F800000; mov.b32 %s0, %lane;", steps=())


def test_a_sum_of_nearly_zero_has_no_more_digits_than_the_largest_that_is_stored_with_it():
    made = np.random.default_rng(0).standard_normal((32, 4)).astype(np.float32)
    made[:, 3] = 2.0 ** -18                              # what is left of sums of numbers near 1
    other = made + np.float32(2.0 ** -22) * (np.arange(4) == 3)
    near, far = made.view(np.uint8), (made + np.float32(2.0 ** -12) * (np.arange(4) == 3)).view(np.uint8)
    assert differ_by_rounding("f32", near, other.view(np.uint8)) and not differ_by_rounding("f32", near, far)
