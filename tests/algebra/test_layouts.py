"""Layouts and their algebra, against slow twins written from the definitions."""

import itertools

import numpy as np
import pytest
from algebra_kit import Symbol, checked, coordinates_of, injective_layouts, layouts, strided, values_of
from hypothesis import assume, given
from hypothesis import strategies as st
from tiers import given_few

from simlayout.algebra import (
    Composed,
    Layout,
    Rotation,
    Swizzle,
    coalesce,
    complement,
    composition,
    dtype_of,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout,
    parse,
    right_inverse,
    tiled_divide,
    zipped_divide,
)
from simlayout.errors import LayoutError, SimlayoutError

# ---- layouts --------------------------------------------------------------------------------------------------------


@given_few(40, 100, layouts())
def test_a_layout_is_the_dot_product_of_coordinate_and_stride(layout):
    values = values_of(layout)
    assert [layout(c) for c in coordinates_of(layout.shape)] == values
    assert [layout(i) for i in range(layout.size)] == values
    assert layout.offsets().tolist() == values
    assert layout.size == len(values)
    assert layout.cosize == max(values) + 1
    assert layout.is_compact == (sorted(values) == list(range(layout.size)))


@given_few(40, 100, layouts())
def test_each_mode_may_be_given_as_one_linear_index(layout):
    columns = layout.coordinates()
    assert len(columns) == layout.rank == len(layout)
    assert np.array_equal(layout(*columns), layout.offsets())
    assert np.array_equal(sum(mode(c) for mode, c in zip(layout, columns, strict=True)), layout.offsets())


@given_few(40, 100, layouts(), st.data())
def test_ints_arrays_and_symbols_give_the_same_offsets(layout, data):
    i = data.draw(st.integers(0, 3 * layout.size))
    assert layout(np.array([i, i]))[0] == layout(np.int32(i)) == layout(Symbol(lambda: i)).evaluate() == layout(i)
    coordinate = [data.draw(st.integers(0, mode.size - 1)) for mode in layout]
    asked = layout(*(Symbol(lambda c=c: c) for c in coordinate))
    assert asked.evaluate() == layout(*coordinate)


def test_coordinates_broadcast_like_numpy_arrays():
    layout = Layout((16, (4, 16)), (64, (16, 1)))
    rows, columns = np.arange(16)[:, None], np.arange(64)
    grid = layout(rows, columns)
    assert grid.shape == (16, 64)
    assert grid[3, 7] == layout(3, 7) == layout(3, (3, 1)) == 3 * 64 + 3 * 16 + 1


def test_narrow_numpy_integers_do_not_overflow():
    assert Layout((200, 200), (200, 1))(np.array([199], np.uint8), np.uint8(199)).tolist() == [39999]
    assert Swizzle(3, 4, 6)(np.array([100], np.int8)).tolist() == [100]
    assert (Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1)))(np.array([15], np.uint8), np.array([63], np.int16)) == 967


def test_an_array_subclass_survives_the_arithmetic():
    class Tagged(np.ndarray):
        pass

    tile = Rotation(8, 4, 64) @ Swizzle(2, 3, 3) @ Layout((16, (8, 4)), (32, (1, 8)))
    assert isinstance(tile(np.arange(16).view(Tagged), 3), Tagged)


def test_the_default_stride_is_compact_with_the_leftmost_mode_fastest():
    assert Layout((4, (2, 3), 5)).stride == (1, (4, 8), 24)
    assert Layout(7).stride == 1
    assert Layout.row_major(3, 4, 5) == Layout((3, 4, 5), (20, 5, 1))


def test_padding_is_cosize_beyond_size():
    padded = Layout((16, 64), (72, 1))
    assert padded.cosize - padded.size == 15 * 8


def test_layouts_compare_and_hash_by_value_and_take_lists_and_numpy_ints():
    assert len({Layout((2, 3)), Layout([2, 3], [1, 2]), Layout((np.int32(2), 3), (1, np.uint8(2)))}) == 1
    assert Layout((4,)) != Layout(4)
    assert Layout((2, (3, 4))).depth == 2 and Layout(3).depth == 0
    assert Layout((2, (3, 4)))[1] == Layout((3, 4), (2, 6)) and Layout(8, 3)[0] == Layout(8, 3)


@pytest.mark.parametrize("make, fault", [
    (lambda: Layout((2, 3), (1,)), "not nested alike"),
    (lambda: Layout((2, (3,)), (1, 2)), "not nested alike"),
    (lambda: Layout((2, 0)), "size must be at least 1"),
    (lambda: Layout((2, 3), (1, -2)), "stride must be at least 0"),
    (lambda: Layout(()), "no empty modes"),
    (lambda: Layout((2.0, 3)), "int or a nested tuple"),
    (lambda: Layout("4"), "int or a nested tuple"),
    (lambda: Layout((1 << 40, 1 << 40)), "64-bit"),
    (lambda: Layout((4, 8))(1, 2, 3), "takes 2 coordinates"),
    (lambda: Layout((4, 8))((1,)), "takes 2 coordinates"),
    (lambda: Layout((4, 8))(), "takes 2 coordinates"),
    (lambda: Layout((4, 8))((1, 2), 3), "must be an integer"),
    (lambda: Layout((4, 8))([1, 2]), "must be an integer"),
    (lambda: Layout((4, 8))(1.0, 2), "must be an integer"),
    (lambda: Layout((4, 8))(np.ones(2), 2), "not float64"),
    (lambda: Composed((), Layout(4)), "simplest form"),
    (lambda: Composed((Swizzle(1, 0, 1), 8)), "offset needs"),
    (lambda: Composed((Swizzle(1, 0, 1),), Layout(4), -1), "at least 0"),
    (lambda: Composed((abs,), Layout(4)), "not a layer"),
    (lambda: Composed((Swizzle(1, 0, 1),), 16), "a Layout or None"),
    (lambda: (Swizzle(1, 0, 1) @ Swizzle(1, 0, 2)).size, "no coordinates of its own"),
    (lambda: (Swizzle(1, 0, 1) @ Swizzle(1, 0, 2))(1, 2), "takes one offset"),
    (lambda: Rotation(8, 4, 64)(0.5), "must be an integer"),
    (lambda: dtype_of("half"), "known: f16"),
    (lambda: dtype_of(np.complex64), "known: f16"),
    (lambda: dtype_of(None), "known: f16"),
    (lambda: logical_divide(Layout(8), (2, 2)), "at most one per mode"),
    (lambda: left_inverse(Layout(4, 0)), "no left inverse"),
])
def test_an_error_is_one_line_that_names_the_fault(make, fault):
    with pytest.raises(SimlayoutError, match=fault) as caught:
        make()
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, LayoutError)
    assert "\n" not in str(caught.value)


# ---- composition ----------------------------------------------------------------------------------------------------

# (a, b, a o b) of the CuTe documentation, 02_layout_algebra.md, and of the CuTe tutorials.
COMPOSITIONS = [
    ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
    ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
    ("(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
    ("(4,6,8,10):(2,3,5,7)", "6:12", "(2,3):(9,5)"),
    ("(4,8):(1,4)", "(8,4):(4,1)", "(8,4):(4,1)"),
    ("(8,8):(8,1)", "(4,4):(2,16)", "(4,4):(16,2)"),
    ("(4,2):(2,8)", "(2,4):(4,1)", "(2,4):(8,2)"),
]


@pytest.mark.parametrize("outer, inner, composed", COMPOSITIONS)
def test_compositions_are_those_of_the_cute_documentation(outer, inner, composed):
    assert str(composition(parse(outer), parse(inner))) == composed
    assert parse(outer) @ parse(inner) == parse(composed)


def test_composition_goes_mode_by_mode_through_a_tuple_of_tilers():
    layout = parse("(12,(4,8)):(59,(13,1))")
    assert str(composition(layout, (Layout(3, 4), Layout(8, 2)))) == "(3,(2,4)):(236,(26,1))"
    assert composition(layout, (3,)) == make_layout(Layout(3, 59), layout[1])


@given_few(40, 100, layouts(), layouts((0, 1, 2, 3, 4, 6, 8, 12, 16, 24)))
def test_a_composition_is_the_composed_function_or_refused(outer, inner):
    try:
        composed = outer @ inner
    except LayoutError as error:
        assert "is not a layout" in str(error)
        assume(False)
    expected = [outer(value) for value in values_of(inner)]
    assert values_of(composed) == expected
    if isinstance(inner.shape, tuple):
        assert [mode.size for mode in composed] == [mode.size for mode in inner]


@checked
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_powers_of_two_that_share_no_bit_always_compose(bits, data):
    inner_bits = data.draw(st.permutations(range(sum(bits))))
    inner = Layout((2,) * len(inner_bits), tuple(1 << b for b in inner_bits)) if inner_bits else Layout(1)
    outer = Layout(tuple(1 << b for b in bits), data.draw(strided(tuple(bits), st.integers(0, 99))))
    assert values_of(outer @ inner) == [outer(v) for v in values_of(inner)]


def test_modes_that_carry_into_each_other_are_refused():
    with pytest.raises(LayoutError, match="carry over size 4"):
        Layout((4, 4), (1, 10)) @ Layout((4, 2), (1, 1))


@checked
@given(layouts())
def test_coalescing_keeps_the_function_and_is_as_short_as_it_can_be(layout):
    short = coalesce(layout)
    assert values_of(short) == values_of(layout)
    assert short.depth <= 1 and coalesce(short) == short
    assert all(s * d != e for (s, d), (_, e) in itertools.pairwise(short.modes()))


# ---- complement, division, product, inverses ------------------------------------------------------------------------

COMPLEMENTS = [      # CuTe documentation, 02_layout_algebra.md
    ("4:1", 24, "6:4"), ("6:4", 24, "4:1"), ("(4,6):(1,4)", 24, "1:24"), ("4:2", 24, "(2,3):(1,8)"),
    ("(2,4):(1,6)", 24, "3:2"), ("(2,2):(1,6)", 24, "(3,2):(2,12)"),
]


@pytest.mark.parametrize("layout, cotarget, expected", COMPLEMENTS)
def test_complements_are_those_of_the_cute_documentation(layout, cotarget, expected):
    made = complement(parse(layout), cotarget)
    assert values_of(made) == values_of(parse(expected))
    assert made == parse(expected) or made.size == 1


@given_few(40, 100, injective_layouts(), st.integers(1, 300))
def test_a_layout_and_its_complement_reach_every_offset_once(layout, cotarget):
    rest = complement(layout, cotarget)
    reached = sorted(values_of(make_layout(layout, rest)))
    assert reached == list(range(len(reached))) and len(reached) >= cotarget
    strides = [d for s, d in rest.modes() if s > 1]
    assert strides == sorted(strides)


@checked
@given(layouts(), st.integers(1, 30))
def test_a_complement_is_exact_or_refused(layout, cotarget):
    try:
        rest = complement(layout, cotarget)
    except LayoutError as error:
        assert "has no complement" in str(error)
        return
    assert set(values_of(layout)).isdisjoint(set(values_of(rest)) - {0})


@given_few(40, 100, layouts(), injective_layouts())
def test_a_division_is_the_layout_seen_through_tile_and_tiles(layout, tiler):
    try:
        divided = logical_divide(layout, tiler)
    except LayoutError:
        assume(False)
    tile, tiles = divided
    rest = complement(tiler, layout.size)
    assert values_of(tile) == [layout(t) for t in values_of(tiler)]
    assert values_of(tiles) == [layout(t) for t in values_of(rest)]
    if divided.size == layout.size:
        assert sorted(values_of(divided)) == sorted(values_of(layout))


@pytest.mark.parametrize("divide, expected", [      # CuTe documentation, "Logical Divide 2-D Example"
    (logical_divide, "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"),
    (zipped_divide, "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))"),
    (tiled_divide, "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))"),
])
def test_divisions_of_a_matrix_are_those_of_the_cute_documentation(divide, expected):
    layout, tiler = parse("(9,(4,8)):(59,(13,1))"), (Layout(3, 3), parse("(2,4):(1,8)"))
    assert str(divide(layout, tiler)) == expected


def test_a_division_leaves_modes_without_a_tiler_alone():
    layout = Layout.row_major(8, 16, 5)
    assert str(zipped_divide(layout, (4, 8))) == "((4,8),(2,2,5)):((80,5),(320,40,1))"
    assert str(tiled_divide(layout, (4, 8))) == "((4,8),2,2,5):((80,5),320,40,1)"
    tiles = zipped_divide(layout, (4, 8))
    assert tiles((3, 7), (1, 0, 2)) == layout(4 + 3, 7, 2)


@pytest.mark.parametrize("block, tiler, expected", [    # CuTe documentation, "Logical Product"
    ("(2,2):(4,1)", "6:1", "((2,2),(2,3)):((4,1),(2,8))"),
    ("(2,2):(4,1)", "(4,2):(2,1)", "((2,2),(4,2)):((4,1),(8,2))"),
])
def test_products_are_those_of_the_cute_documentation(block, tiler, expected):
    assert str(logical_product(parse(block), parse(tiler))) == expected


@given_few(40, 100, injective_layouts(), injective_layouts())
def test_a_product_repeats_the_block_without_overlap(block, tiler):
    assume(block.size * tiler.size <= 3000)
    try:
        product = logical_product(block, tiler)
    except LayoutError:
        assume(False)
    assert product[0] == block and product[1].size == tiler.size
    values = values_of(product)
    assert len(set(values)) == len(values)


def test_a_product_by_mode_multiplies_each_mode_by_itself():
    assert logical_product(Layout((4, 8), (1, 4)), (2, 3)) == make_layout(
        logical_product(Layout(4), 2), logical_product(Layout(8, 4), 3))


@checked
@given(layouts())
def test_a_right_inverse_finds_the_index_of_an_offset(layout):
    inverse = right_inverse(layout)
    assert [layout(inverse(i)) for i in range(inverse.size)] == list(range(inverse.size))
    values = values_of(layout)
    if sorted(values) == list(range(len(values))):
        assert inverse.size == layout.size


@checked
@given(injective_layouts())
def test_a_left_inverse_undoes_the_layout(layout):
    inverse = left_inverse(layout)
    assert [inverse(value) for value in values_of(layout)] == list(range(layout.size))
