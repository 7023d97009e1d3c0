"""Our layout algebra against pycute, CUTLASS's own (nvidia-cutlass 4.2): `pip install -e ".[test,oracles]"`."""

from types import SimpleNamespace

import pytest

pycute = pytest.importorskip("pycute")

import algebra_oracle as oracle  # noqa: E402 (nothing here without pycute)
from algebra_kit import checked, injective_layouts, layouts, swizzles  # noqa: E402
from hypothesis import assume, given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import simlayout as sl  # noqa: E402
from simlayout.errors import LayoutError  # noqa: E402


def layout(made):
    """Our layout as theirs."""
    return pycute.Layout(made.shape, made.stride)


LIBRARY = SimpleNamespace(module=pycute, layout=layout, size=pycute.size, cosize=pycute.cosize, coalesce=pycute.coalesce,
                          composition=pycute.composition, complement=pycute.complement)


@checked
@given(layouts())
def test_a_layout_is_the_same_function(made):
    oracle.same_function(LIBRARY, made)


@checked
@given(layouts(), layouts())
def test_compositions_agree_and_what_we_refuse_pycute_gets_wrong(outer, inner):
    assume(inner.cosize <= outer.size)
    oracle.same_composition(LIBRARY, outer, inner)


@checked
@given(layouts(), st.integers(0, 100))
def test_complements_agree_and_what_we_refuse_is_none(made, beyond):
    oracle.same_complement(LIBRARY, made, made.cosize + beyond)


@checked
@given(injective_layouts(), injective_layouts(), st.sampled_from(["logical_divide", "zipped_divide", "tiled_divide"]))
def test_divisions_agree(made, tiler, name):
    assume(tiler.cosize <= made.size)
    oracle.same_division(LIBRARY, name, made, tiler)


@checked
@given(injective_layouts(), injective_layouts())
def test_products_agree(block, tiler):
    oracle.same_product(LIBRARY, block, tiler)


@checked
@given(injective_layouts())
def test_inverses_agree(made):
    oracle.same_inverses(LIBRARY, made)


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
