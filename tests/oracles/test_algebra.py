"""Our layout algebra against CUTLASS's own (pycute) and tensor-layouts: `pip install -e ".[test,oracles]"`."""

from importlib.util import find_spec

import algebra_oracle as oracle
import pytest
from algebra_kit import checked, injective_layouts, layouts
from hypothesis import assume, given
from hypothesis import strategies as st

both = pytest.mark.parametrize("library", [
    pytest.param(name, marks=pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed"))
    for name in ("pycute", "tensor_layouts")])


@both
@checked
@given(layouts())
def test_a_layout_is_the_same_function(library, made):
    oracle.same_function(oracle.library(library), made)


@both
@checked
@given(layouts(), layouts())
def test_compositions_agree_and_what_we_refuse_they_get_wrong(library, outer, inner):
    assume(inner.cosize <= outer.size)
    oracle.same_composition(oracle.library(library), outer, inner)


@both
@checked
@given(layouts(), st.integers(0, 100))
def test_complements_agree_and_what_we_refuse_is_none(library, made, beyond):
    oracle.same_complement(oracle.library(library), made, made.cosize + beyond)


@both
@checked
@given(injective_layouts(), injective_layouts(), st.sampled_from(["logical_divide", "zipped_divide", "tiled_divide"]))
def test_divisions_agree(library, made, tiler, name):
    assume(tiler.cosize <= made.size)
    oracle.same_division(oracle.library(library), name, made, tiler)


@both
@checked
@given(injective_layouts(), injective_layouts())
def test_products_agree(library, block, tiler):
    oracle.same_product(oracle.library(library), block, tiler)


@both
@checked
@given(injective_layouts())
def test_inverses_agree(library, made):
    oracle.same_inverses(oracle.library(library), made)
