"""Where pycute, CUTLASS's own (nvidia-cutlass 4.2), has swizzles as ours, and where it differs."""

import pytest

pycute = pytest.importorskip("pycute")

import algebra_oracle as oracle  # noqa: E402 (nothing here without pycute)
from algebra_kit import checked, layouts, swizzles  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import simlayout as sl  # noqa: E402
from simlayout.errors import LayoutError  # noqa: E402

layout = oracle.library("pycute").layout


@checked
@given(swizzles.filter(lambda s: s.bits), layouts(), st.integers(0, 100_000))
def test_swizzles_agree_alone_and_over_a_layout(swizzle, made, offset):
    other = pycute.Swizzle(swizzle.bits, swizzle.base, swizzle.shift)
    assert other(offset) == swizzle(offset)
    over = pycute.ComposedLayout(other, 0, layout(made))
    assert [over(i) for i in range(made.size)] == [(swizzle @ made)(i) for i in range(made.size)]


# ---- where pycute 4.2 differs: each fails here when it is mended ------------------------------------------------------

def test_a_product_by_an_int_divides():
    assert str(pycute.logical_product(pycute.Layout(4), 3)) == "(3, 2):(1, 3)"
    assert str(sl.logical_product(sl.Layout(4), 3)) == "(4,3):(1,4)"


def test_a_swizzle_of_no_bits_never_returns():
    with pytest.raises(RecursionError):
        pycute.Swizzle(0, 0, 0)(5)
    assert sl.Swizzle(0, 0, 0)(5) == 5


def test_overlapping_swizzles_are_refused_by_both():
    with pytest.raises(AssertionError):
        pycute.Swizzle(3, 0, 1)
    with pytest.raises(LayoutError, match="not bijective"):
        sl.Swizzle(3, 0, 1)
