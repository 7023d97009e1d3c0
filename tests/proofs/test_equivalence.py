"""Formulas as text, one swizzle in several notations, and the proof that two functions are one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simlayout as sl
from simlayout.algebra.translate import (
    TritonSwizzle,
    f2_to_swizzle,
    swizzle_to_f2,
    swizzle_to_triton,
    tma_to_swizzle,
    triton_to_swizzle,
)
from simlayout.codegen.symbols import symbol
from simlayout.errors import LayoutError, ParseError

# ---- formulas (their grammar is that of `parse_index`: see test_cli) -------------------------------------------------


def test_a_formula_is_a_function_of_ints_arrays_and_symbols():
    tile = sl.formula("row * 64 + (col ^ ((row & 7) << 3))")
    assert tile(1, 8) == 64 and tile(np.array([1, 2]), np.array([8, 0])).tolist() == [64, 144]
    assert str(tile(symbol("row", 16), symbol("col", 64))) == "(row << 6) + (col ^ ((row & 7) << 3))"
    assert sl.formula("y // 2", ("x", "y"))(1, 9) == 4


@pytest.mark.parametrize("text, fault", [
    ("row +", "column"), ("row, col", "one value, and this has 2"), ("r * 64", "unknown name 'r'"),
    ("__import__('os')", "unexpected character")])
def test_what_is_no_formula_is_refused(text, fault):
    with pytest.raises(ParseError, match=fault):
        sl.formula(text)


# ---- equivalence -----------------------------------------------------------------------------------------------------

def test_the_first_counterexample_has_the_least_coordinate():
    tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
    found = sl.equivalent(tile, sl.formula("row * 64 + (col ^ ((row & 3) << 3))"), {"row": 16, "col": 64})
    assert not found and found.counterexample == {"row": 4, "col": 0, "left": 288, "right": 256}
    assert str(found).startswith("different at row = 4, col = 0: 288 and 256")


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 40))
def test_equivalent_is_what_comparing_one_by_one_is(rows, cols, change):
    left, right = sl.Layout((rows, cols), (cols, 1)), lambda r, c: r * cols + c + (r * cols + c == change)
    found = sl.equivalent(left, right)
    assert bool(found) == (change >= rows * cols)
    if not found:
        assert found.counterexample["x0"] * cols + found.counterexample["x1"] == change


def test_domains_larger_than_a_chunk_are_compared_to_their_end():
    assert sl.equivalent(lambda x: x, lambda x: x, {"x": (1 << 20) + 3})
    found = sl.equivalent(lambda x: x, lambda x: np.minimum(x, 1 << 20), {"x": (1 << 20) + 3})
    assert found.counterexample["x"] == (1 << 20) + 1


def test_f2_maps_are_compared_by_their_columns():
    assert sl.equivalent(sl.F2Map((1, 2)), sl.F2Map((1, 2, 4))).how == "the constants and all 3 columns"
    assert sl.equivalent(sl.F2Map((1, 2)), sl.F2Map((1, 3))).counterexample == {"x": 2, "left": 2, "right": 3}
    assert not sl.equivalent(sl.F2Map((1, 2)), sl.F2Map((1, 2), 1))


@pytest.mark.parametrize("domain, fault", [
    (None, "neither function has a shape"), ({}, "at least 1"), ({"x": 0}, "at least 1"),
    ({"x": 1 << 31}, "at most 1073741824 are compared")])
def test_a_domain_that_cannot_be_walked_is_refused(domain, fault):
    with pytest.raises(LayoutError, match=fault):
        sl.equivalent(lambda x: x, lambda x: x, domain)


# ---- translation -----------------------------------------------------------------------------------------------------

powers = st.integers(0, 3).map(lambda n: 1 << n)


@given(powers, powers, powers, st.integers(0, 2))
def test_tritons_swizzle_is_cutes_on_its_tile_and_back(vec, per_phase, max_phase, wider):
    columns = vec * max_phase << wider
    triton = TritonSwizzle(vec, per_phase, max_phase, columns)
    rows = 2 * per_phase * max_phase
    swizzle = triton_to_swizzle(triton)
    assert sl.equivalent(swizzle @ sl.Layout.row_major(rows, columns), triton, (rows, columns))
    back = swizzle_to_triton(swizzle, columns)
    assert sl.equivalent(back, triton, (rows, columns))


@given(st.integers(0, 3), st.integers(0, 4), st.integers(-5, 5), st.integers(2, 7))
def test_a_swizzle_is_tritons_or_it_is_said_why_not(bits, base, shift, log_columns):
    if abs(shift) < bits:
        return
    swizzle, columns = sl.Swizzle(bits, base, shift), 1 << log_columns
    try:
        triton = swizzle_to_triton(swizzle, columns)
    except LayoutError as error:
        assert "none of Triton's" in str(error)
    else:
        assert sl.equivalent(swizzle @ sl.Layout.row_major(64, columns), triton, (64, columns))


def test_no_swizzle_is_tritons_on_rows_that_are_no_power_of_two():
    with pytest.raises(LayoutError, match="96 columns"):
        triton_to_swizzle(TritonSwizzle(8, 1, 4, 96))
    with pytest.raises(LayoutError, match="a power of two"):
        swizzle_to_triton(sl.Swizzle(2, 3, 3), 96)


@pytest.mark.parametrize("arguments, fault", [((3, 1, 4, 64), "vec = 3"), ((8, 0, 4, 64), "per_phase = 0"),
                                              ((8, 1, 8, 32), "a multiple of 64")])
def test_what_triton_does_not_take_is_refused(arguments, fault):
    with pytest.raises(LayoutError, match=fault):
        TritonSwizzle(*arguments)


@pytest.mark.parametrize("dtype", ["f16", "f32", "e4m3", "f64"])
@pytest.mark.parametrize("mode", [0, 32, 64, 128])
def test_a_mode_of_tma_is_the_swizzle_by_which_its_boxes_land(mode, dtype):
    swizzle, size = tma_to_swizzle(mode, dtype), sl.dtype_of(dtype).bytes
    if mode and dtype in ("f16", "f32"):
        inner = mode // size
        tensor = sl.TensorMap(dtype, (inner, 32), (mode,), (inner, 32), swizzle=mode)
        rows, cols = np.indices((32, inner))
        landed = tensor.landing(0).reshape(32, inner)
        assert (landed == size * (swizzle @ sl.Layout.row_major(32, inner))(rows, cols)).all()


def test_other_spans_are_no_mode_of_tma():
    with pytest.raises(LayoutError, match="0, 32, 64 and 128"):
        tma_to_swizzle(96, "f16")


@given(st.integers(0, 3), st.integers(0, 4), st.integers(-5, 5))
def test_a_swizzle_is_an_f2_map_and_back(bits, base, shift):
    if abs(shift) >= bits:
        swizzle = sl.Swizzle(bits, base, shift)
        made = swizzle_to_f2(swizzle, 10)
        assert sl.equivalent(made, swizzle, {"x": 4096})
        assert sl.equivalent(f2_to_swizzle(made), swizzle, {"x": 4096})


@pytest.mark.parametrize("made, fault", [
    (sl.F2Map((1, 2), 1), "0 becomes 1"), (sl.F2Map((2, 1)), "bit 0 becomes bit 1"),
    (sl.F2Map((1, 3, 4, 12)), "bit 1 becomes bits 0 and 1, bit 2 stays, and bit 3 becomes bits 2 and 3"),
    (sl.F2Map((1, 2, 7)), "bit 2 becomes bits 0, 1 and 2"), (sl.F2Map((1, 0)), "bit 1 becomes nothing")])
def test_other_f2_maps_are_no_swizzle_and_it_is_said_why(made, fault):
    with pytest.raises(LayoutError, match=fault):
        f2_to_swizzle(made)
