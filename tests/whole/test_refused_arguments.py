"""Arguments of public functions that are of another kind, or that this call does not need: all are looked at."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simlayout as sl
from simlayout.algebra import Tile
from simlayout.errors import LayoutError, SimlayoutError

SQUARE = sl.Layout((4, 4))


class Broken:
    """Says that it is an integer and an array, and is neither."""

    def _refuse(self, *_, **__):
        raise RuntimeError("no")

    __index__ = __array__ = _refuse


ROWS = sl.Access("x", "ldmatrix.x4", sl.Layout((16, 64), (64, 1)), lambda t, k: (t % 16, 8 * k),
                 {"tid": 32, "k": 2}, excess=None)


@pytest.mark.parametrize("wrong", [True, False, 1.0, "3", None, Fraction(3), Decimal(3), Broken(), np.array([3, 3])])
@pytest.mark.parametrize("call", [
    lambda x: sl.Layout((x, 2)), lambda x: sl.Layout((2, 2), (x, 1)), lambda x: sl.Swizzle(x, 3, 3),
    lambda x: sl.Rotation(8, x, 64), lambda x: sl.F2Map((1, x)), lambda x: sl.F2Map((1, 2), x),
    lambda x: Tile(lambda r, c: r + c, (x, 4)), lambda x: sl.complement(SQUARE, (x,)),
    lambda x: sl.Access("x", "ld.shared.b32", SQUARE, lambda t, k: (t, k), {"tid": 32, "k": x}, "f32"),
    lambda x: ROWS.point(x, 3),
    lambda x: ROWS.point(0, x), lambda x: sl.equivalent(SQUARE, SQUARE, {"a": x, "b": 4}),
    lambda x: sl.TensorMap("f16", (64, x), (128,), (64, 2)), lambda x: sl.search(ROWS, layers=x),
    lambda x: sl.search(ROWS, limit=x)])
def test_what_is_no_integer_is_refused_wherever_one_is_asked_for_and_so_is_a_truth(call, wrong):
    with pytest.raises(SimlayoutError):
        call(wrong)


@pytest.mark.parametrize("wrong, fault", [
    (Fraction(1, 2), "not Fraction"), (Decimal(1), "not Decimal"), (1.0, "not float"), (np.float32(1), "not float32"),
    (np.uint64(2**63), ""), (np.array([1, 2**63], np.uint64), "below 2\\*\\*63")])
@pytest.mark.parametrize("function", [
    sl.Layout(64), sl.Layout((16, 64), (64, 1)), sl.Swizzle(3, 3, 3), sl.Rotation(8, 4, 64), sl.F2Map((1, 2, 4)),
    sl.Swizzle(3, 3, 3) @ sl.Layout(64), Tile(lambda x: 3 * x, (64,))])
def test_an_index_is_an_integer_and_what_numpy_would_wrap_is_refused_or_exact(function, wrong, fault):
    if not fault:                                        # one of NumPy's counts as Python's
        assert function(wrong) == function(2**63)
        return
    with pytest.raises(LayoutError, match=fault):
        function(wrong)


@pytest.mark.parametrize("call, fault", [
    (lambda: sl.verify(SQUARE, arch="sm_1"), "unknown architecture 'sm_1'"),
    (lambda: sl.verify(SQUARE, arch=90), "unknown architecture 90"),
    (lambda: sl.tile("row * 4 + col for row<4, col<4", dtype="f17"), "unknown dtype 'f17'"),
    (lambda: sl.translate(SQUARE, "formula", dtype="f17"), "unknown dtype 'f17'"),
    (lambda: sl.translate(SQUARE, "formula", tile=(8, 8)), r"brings its own tile, 4 x 4, which is not \(8, 8\)"),
    (lambda: sl.byte_address(lambda: 1, 2, dtype="f16"), "takes no coordinate"),
    (lambda: sl.byte_address(lambda x: "a", 2, dtype="f16"), "an index must be an integer"),
    (lambda: sl.byte_address(lambda x: 1.5, 2, dtype="f16"), "an index must be an integer"),
    (lambda: sl.prove_tile(sl.TensorMap("f16", (64, 64), (128,), (64, 64)), [((0, 0), 0)], np.zeros((1, 0), int)),
     "the addresses of its elements"),
    (lambda: ROWS.point(2, 0), "no lane 0 of instruction 2: 2 instructions of 32 lanes"),
    (lambda: sl.analyze("ldmatrix.x4", Broken()), "one array of ints"),
    (lambda: sl.analyze("ldmatrix.x4", np.arange(32) * 16, Broken()), "one array of bools"),
    (lambda: Tile(lambda r, c: r, ((1, 2), 3)), "a name and a size each"),
    (lambda: sl.machine.GlobalPointer([1, 2]), r"an array of NumPy, not \[1, 2\]"),
    (lambda: sl.hardware.add_records(None), "path is a text or a path, not None"),
    (lambda: sl.codegen.check(sl.emit(ROWS), ROWS, lambda t, k: "x"), "gives x where the model gives 0"),
    (lambda: sl.TensorMap("f16", (64, 64), (128,), (64, 64), address=2**64), "below 2\\*\\*64")])
def test_what_a_function_does_not_need_this_time_is_looked_at_all_the_same(call, fault):
    with pytest.raises(SimlayoutError, match=fault):
        call()


@pytest.mark.parametrize("call", [
    lambda x: sl.instruction(x), lambda x: sl.fragment(x), lambda x: sl.fragment("m16n8k16.f32.f16.f16.f32", x),
    lambda x: sl.emit(ROWS, unit=x), lambda x: sl.search(ROWS, x),
    lambda x: sl.choose_ldmatrix("m16n8k16.f32.f16.f16.f32", x),
    lambda x: SQUARE[x], lambda x: Tile(x, (4, 4)), lambda x: sl.TensorMap("f16", (64, 64), (128,), x),
    lambda x: sl.parse(x), lambda x: sl.dtype_of(x)])
def test_an_error_does_not_repeat_a_text_of_20000_letters(call):
    with pytest.raises(SimlayoutError) as caught:
        call(20_000 * "a")
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("tile", [sl.Layout((16, 64), (64, 1)), sl.Layout(64, 8), sl.Layout((4, (2, 8)), (3, (12, 24))),
                                  sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))])
@given(far=st.one_of(st.integers(-2**63, 2**63 - 1), st.integers(-99, 99)), near=st.integers(0, 3))
def test_arrays_of_coordinates_have_the_offsets_of_ints_or_are_refused(tile, far, near):
    for at in [(far,)] + [(near, far)] * (tile.rank > 1):
        try:
            offsets = tile(*(np.array([0, x]) for x in at))
        except LayoutError as error:
            assert "beyond 64 bits" in str(error) and max(map(abs, at)) > 99
            continue
        assert offsets.tolist() == [tile(*(0 for _ in at)), tile(*at)]


@pytest.mark.parametrize("at", [(0, 2**62), (3, 2**63 - 1), (2**62, 15)])
def test_an_array_of_no_dimensions_is_an_index_as_an_int_is(at):
    for tile in (sl.Layout((4, (2, 8)), (3, (12, 24))), sl.Layout((16, 64), (64, 1))):
        assert tile(*map(np.array, at)) == tile(*at)


@pytest.mark.parametrize("call", [
    lambda x: sl.analyze("ldmatrix.x4", 16 * x), lambda x: sl.hardware.stored_columns(np.ma.array([[4]], mask=True))])
def test_a_mask_that_would_not_count_is_refused_and_the_array_is_to_be_filled(call):
    with pytest.raises(SimlayoutError, match="filled"):
        call(np.ma.array(np.arange(32), mask=np.arange(32) > 3))


def test_what_iterates_is_as_good_as_a_list():
    found = sl.search(iter([ROWS]), iter(["swizzle", "pad"]), limit=1)
    assert found.candidates == sl.search([ROWS], ("swizzle", "pad"), limit=1).candidates
    assert sl.search({1: ROWS}.values(), frozenset({"swizzle", "pad"}), limit=1).candidates == found.candidates
    assert str(sl.search(ROWS, {"swizzle", "pad"})) == str(sl.search(ROWS, dict.fromkeys(["pad", "swizzle"]).keys()))
    free = found.best.accesses
    assert sl.verify(found.best.layout, iter(free)) == sl.verify(found.best.layout, free)
