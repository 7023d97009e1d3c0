"""Tests of my_layouts.py: copy the two files, put your own layouts in the place of these, and run pytest.

A test that fails names two lanes that wait for each other, or the first coordinate that is wrong, and draws the banks.
"""

from hypothesis import given, settings
from my_layouts import (
    A_DOMAIN,
    ACCESSES,
    B_TILE,
    C_TILE,
    COPY_A,
    COPY_B,
    LOAD_A,
    READ_C,
    STORE_C,
    a_tile,
    load_a_offset,
)

import simlayout as sl
from simlayout.testing import (
    assert_bijective,
    assert_conflict_free,
    assert_equivalent,
    assert_wavefronts,
    lane_masks,
    swizzles,
)


def test_every_element_has_a_place_of_its_own():
    assert_bijective(a_tile, A_DOMAIN, dtype="f16")
    assert_bijective(B_TILE, dtype="f16")
    assert_bijective(C_TILE, size=C_TILE.cosize, dtype="f32")


def test_every_element_is_copied_stored_and_read_once():
    for access in (COPY_A, LOAD_A, COPY_B):
        assert_bijective(access)
    for access in (STORE_C, READ_C):
        assert_bijective(access, size=C_TILE.cosize)


def test_no_access_has_bank_conflicts():
    for access in ACCESSES:
        assert_conflict_free(access)


def test_what_the_loop_computes_is_where_the_tile_has_it():
    assert_equivalent(load_a_offset, LOAD_A)


def test_the_epilogue_takes_the_wavefronts_that_its_bytes_need():
    assert_wavefronts(STORE_C, 2 * STORE_C.instructions())
    assert_wavefronts(READ_C, [4] * READ_C.instructions())


@settings(deadline=None)                                 # a busy machine is no fault of a layout
@given(lane_masks())
def test_a_ragged_edge_has_no_conflicts_either(active):
    for access in (COPY_A, COPY_B, STORE_C):
        assert_conflict_free(access, active=active)


@settings(deadline=None)
@given(swizzles(min_base=3, max_base=3, min_shift=3))
def test_swizzled_instead_of_rotated_b_could_still_be_copied(swizzle):
    assert_conflict_free(swizzle @ sl.Layout.row_major(32, 64), for_=[COPY_B])
