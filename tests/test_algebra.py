"""Layouts, swizzles, rotations and their algebra, against slow twins written from the definitions."""

import itertools
import operator
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simlayout.algebra import (
    DTYPES,
    Composed,
    Layout,
    Rotation,
    Swizzle,
    byte_address,
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

checked = settings(deadline=None, max_examples=100)

# ---- the twins: definitions, one coordinate at a time ---------------------------------------------------------------


def coordinates_of(shape):
    """Every fully nested coordinate of a shape, leftmost mode fastest."""
    if isinstance(shape, int):
        return list(range(shape))
    return [tuple(reversed(c)) for c in itertools.product(*(coordinates_of(s) for s in reversed(shape)))]


def dot(coordinate, stride):
    if isinstance(stride, int):
        return coordinate * stride
    return sum(dot(c, d) for c, d in zip(coordinate, stride, strict=True))


def values_of(layout):
    """The offsets of a layout over its domain, by definition."""
    return [dot(c, layout.stride) for c in coordinates_of(layout.shape)]


def swizzled_bit_by_bit(x, bits, base, shift):
    """Each target bit becomes itself xor its source bit, `shift` above it."""
    result = x
    for i in range(bits):
        target = base + i + max(-shift, 0)
        result ^= (x >> (target + shift) & 1) << target
    return result


def rotated_in_a_list(x, chunk, count, line, period):
    """The place of x after the chunks of its row have been rotated right, as lists are."""
    row = list(range(count))
    turns = (x // line) % period % count
    row = row[count - turns:] + row[:count - turns]
    start = x - x % (chunk * count)
    return start + row.index((x - start) // chunk) * chunk + x % chunk


class Symbol:
    """An index that is not a number: it records the operators applied to it and can be evaluated later."""

    __hash__ = None

    def __init__(self, evaluate):
        self.evaluate = evaluate

    def __eq__(self, other):
        raise TypeError("symbols do not compare")

    __lt__ = __gt__ = __le__ = __ge__ = __ne__ = __eq__

    def __bool__(self):
        raise TypeError("symbols have no truth value")


def _record(function, swap):
    def apply(self, other):
        other_value = other.evaluate if isinstance(other, Symbol) else lambda: other
        if swap:
            return Symbol(lambda: function(other_value(), self.evaluate()))
        return Symbol(lambda: function(self.evaluate(), other_value()))

    return apply


for _name in ("add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor", "lshift", "rshift"):
    setattr(Symbol, f"__{_name.strip('_')}__", _record(getattr(operator, _name), swap=False))
    setattr(Symbol, f"__r{_name.strip('_')}__", _record(getattr(operator, _name), swap=True))

# ---- strategies -----------------------------------------------------------------------------------------------------

sizes = st.sampled_from([1, 2, 2, 3, 4, 5, 6, 8])
shapes = st.recursive(sizes, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5)
shapes = shapes.filter(lambda s: Layout(s).size <= 1000)


def strided(shape, strides):
    if isinstance(shape, int):
        return strides
    return st.tuples(*(strided(s, strides) for s in shape))


@st.composite
def layouts(draw, strides=range(41)):
    """Any layout; half of the time a compact one."""
    shape = draw(shapes)
    return Layout(shape) if draw(st.booleans()) else Layout(shape, draw(strided(shape, st.sampled_from(strides))))


@st.composite
def injective_layouts(draw):
    """A layout whose strides, in some order, each leave room for the smaller ones, with gaps here and there."""
    shape = draw(shapes)
    leaves = [mode[0] for mode in Layout(shape).modes()]
    order = draw(st.permutations(range(len(leaves))))
    strides, step = [0] * len(leaves), 1
    for k in order:
        step *= draw(st.sampled_from([1, 1, 2, 3]))
        strides[k] = step
        step *= leaves[k]
    supply = iter(strides)

    def nest(s):
        return next(supply) if isinstance(s, int) else tuple(nest(x) for x in s)

    return Layout(shape, nest(shape))


swizzles = st.builds(
    lambda bits, base, gap, down: Swizzle(bits, base, -(bits + gap) if down else bits + gap),
    st.integers(0, 4), st.integers(0, 4), st.integers(0, 2), st.booleans(),
)
rotations = st.builds(
    lambda chunk, count, rows, period: Rotation(chunk, count, rows * chunk * count, period),
    st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.none() | st.integers(1, 12),
)
layers = swizzles | rotations

# ---- layouts --------------------------------------------------------------------------------------------------------


@checked
@given(layouts())
def test_a_layout_is_the_dot_product_of_coordinate_and_stride(layout):
    values = values_of(layout)
    assert [layout(c) for c in coordinates_of(layout.shape)] == values
    assert [layout(i) for i in range(layout.size)] == values
    assert layout.offsets().tolist() == values
    assert layout.size == len(values)
    assert layout.cosize == max(values) + 1


@checked
@given(layouts())
def test_each_mode_may_be_given_as_one_linear_index(layout):
    columns = layout.coordinates()
    assert len(columns) == layout.rank == len(layout)
    assert np.array_equal(layout(*columns), layout.offsets())
    assert np.array_equal(sum(mode(c) for mode, c in zip(layout, columns, strict=True)), layout.offsets())


@checked
@given(layouts(), st.data())
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
    (lambda: dtype_of(np.int64), "known: f16"),
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


@checked
@given(layouts(), layouts((0, 1, 2, 3, 4, 6, 8, 12, 16, 24)))
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


@checked
@given(injective_layouts(), st.integers(1, 300))
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


@checked
@given(layouts(), injective_layouts())
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


@checked
@given(injective_layouts(), injective_layouts())
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


# ---- swizzles and rotations -----------------------------------------------------------------------------------------


@checked
@given(swizzles, st.integers(0, 1 << 40))
def test_a_swizzle_is_an_involution_that_xors_bit_by_bit(swizzle, x):
    assert swizzle(x) == swizzled_bit_by_bit(x, swizzle.bits, swizzle.base, swizzle.shift)
    assert swizzle(swizzle(x)) == x
    assert int(swizzle(np.array([x]))[0]) == swizzle(Symbol(lambda: x)).evaluate() == swizzle(x)


@pytest.mark.parametrize("bits, base, shift", [(3, 3, 2), (3, 3, -2), (3, 0, 0), (1, 3, 0)])
def test_a_swizzle_with_shift_smaller_than_bits_is_refused(bits, base, shift):
    with pytest.raises(LayoutError, match="not bijective"):
        Swizzle(bits, base, shift)


@pytest.mark.parametrize("arguments, fault", [
    ((-1, 3, 3), "at least 0"), ((3, -1, 3), "at least 0"), ((3, 3, 60), "bits beyond 62"),
    ((3, 3, 3.0), "must be an int"),
])
def test_a_malformed_swizzle_is_refused(arguments, fault):
    with pytest.raises(LayoutError, match=fault):
        Swizzle(*arguments)


def test_a_swizzle_of_no_bits_is_the_identity():
    assert [Swizzle(0, 4, 3)(x) for x in range(99)] == [Swizzle(0, 0, 0)(x) for x in range(99)] == list(range(99))


def test_the_128_byte_swizzle_of_f16_is_the_xor_of_row_and_chunk():
    tile = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))
    row, column = np.arange(16)[:, None], np.arange(64)
    assert np.array_equal(tile(row, column), row * 64 + ((column // 8) ^ (row % 8)) * 8 + column % 8)


def test_the_swizzle_of_bytes_is_that_of_elements_scaled():
    x = np.arange(4096)
    assert np.array_equal(Swizzle(3, 4, 3)(2 * x), 2 * Swizzle(3, 3, 3)(x))


def test_masks_name_the_bits_read_and_changed():
    assert (Swizzle(3, 4, 3).source_mask, Swizzle(3, 4, 3).target_mask) == (0x380, 0x70)
    assert (Swizzle(3, 4, -3).source_mask, Swizzle(3, 4, -3).target_mask) == (0x70, 0x380)


@checked
@given(rotations)
def test_a_rotation_turns_the_chunks_of_each_row_and_is_bijective(rotation):
    chunk, count, line, period = rotation.chunk, rotation.count, rotation.line, rotation.period
    domain = np.arange(min(line * (period + 1), 4000) // (chunk * count) * chunk * count)
    image = rotation(domain)
    assert image.tolist() == [rotated_in_a_list(int(x), chunk, count, line, period) for x in domain]
    assert np.array_equal(np.sort(image), domain)
    last = len(domain) - 1
    assert rotation(Symbol(lambda: last)).evaluate() == rotation(last) == image[-1]


def test_the_rotations_of_the_permuted_kernel_are_these():
    tile = Rotation(8, 4, 64) @ Layout((384, 32), (32, 1))
    row, column = np.arange(384)[:, None], np.arange(32)
    assert np.array_equal(tile(row, column), row * 32 + (column // 8 + row % 8 // 2) % 4 * 8 + column % 8)
    tile = Rotation(8, 16, 128, 8) @ Layout((256, 128), (128, 1))
    row, column = np.arange(256)[:, None], np.arange(128)
    assert np.array_equal(tile(row, column), row * 128 + (column // 8 + row % 8) % 16 * 8 + column % 8)


@pytest.mark.parametrize("arguments, fault", [
    ((8, 4, 48), "multiple of chunk"), ((8, 4, 16), "multiple of chunk"), ((0, 4, 64), "at least 1"),
    ((8, 4, 64, 0), "at least 1"), ((8, 4, -32), "at least 1"), ((8, "4", 64), "must be an int"),
])
def test_a_rotation_that_is_not_bijective_or_malformed_is_refused(arguments, fault):
    with pytest.raises(LayoutError, match=fault):
        Rotation(*arguments)


# ---- compositions of layers -----------------------------------------------------------------------------------------


@checked
@given(st.lists(layers, min_size=1, max_size=4), layouts(), st.integers(0, 99))
def test_a_composed_layout_applies_its_layers_from_right_to_left(chain, layout, offset):
    tile = Composed(tuple(chain), layout, offset)
    expected = []
    for value in values_of(layout):
        x = value + offset
        for layer in reversed(chain):
            x = layer(x)
        expected.append(x)
    assert [tile(c) for c in coordinates_of(layout.shape)] == expected == tile.offsets().tolist()
    assert (tile.size, tile.shape, tile.rank) == (layout.size, layout.shape, layout.rank)
    assert tile.cosize == max(expected) + 1
    assert np.array_equal(tile(*tile.coordinates()), tile.offsets())
    assert tile(Symbol(lambda: layout.size - 1)).evaluate() == expected[-1]


@checked
@given(st.lists(layers, max_size=3), st.lists(layouts(), max_size=2), st.lists(layers, max_size=2), st.data())
def test_composition_is_associative_and_means_application(outer, middle, inner, data):
    parts = [*outer, *middle[:1], *inner, *middle[1:]]
    assume(len(parts) > 1)
    at = data.draw(st.integers(1, len(parts) - 1))
    try:
        from_left = parts[0]
        for part in parts[1:]:
            from_left = from_left @ part
        left, right = parts[0], parts[at]
        for part in parts[1:at]:
            left = left @ part
        for part in parts[at + 1:]:
            right = right @ part
        split = left @ right
    except LayoutError:
        assume(False)
    last = parts[-1]
    for i in range(min(20, last.size) if isinstance(last, Layout) else 20):
        x = i
        for part in reversed(parts):
            x = part(x)
        assert from_left(i) == split(i) == x
    assert from_left == split


def test_a_composed_layout_composes_with_a_layout_on_either_side():
    tile = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))
    corner = tile @ Layout((8, 8), (1, 16))
    assert corner == Swizzle(3, 3, 3) @ Layout((8, 8), (64, 1))
    padded = Layout((64, 16), (1, 72)) @ tile
    assert padded(3, 8) == 3 * 72 + 16 and padded.cosize == 15 * 72 + 64
    assert str(padded) == "(64,16):(1,72) o Sw<3,3,3> o (16,64):(64,1)"


def test_compositions_compare_and_hash_by_their_parts():
    made = {Swizzle(1, 3, 3) @ (Swizzle(3, 3, 5) @ Layout(64)), (Swizzle(1, 3, 3) @ Swizzle(3, 3, 5)) @ Layout(64)}
    assert len(made) == 1
    assert made.pop().layers == (Swizzle(1, 3, 3), Swizzle(3, 3, 5))
    assert (Swizzle(3, 3, 3) @ Layout(64)).layout == Layout(64)


def test_a_composition_without_a_layout_has_no_shape():
    free = Swizzle(1, 3, 3) @ Swizzle(3, 3, 5)
    assert free(256) == Swizzle(1, 3, 3)(Swizzle(3, 3, 5)(256))
    assert not hasattr(free, "shape") and not hasattr(free, "size")


def test_only_layers_and_layouts_compose():
    for wrong in (lambda: Layout(4) @ 4, lambda: Swizzle(1, 0, 1) @ 4, lambda: 4 @ Swizzle(1, 0, 1)):
        with pytest.raises(TypeError):
            wrong()


# ---- dtypes and byte addresses --------------------------------------------------------------------------------------


def test_byte_addresses_are_offsets_times_the_element_size():
    tile = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))
    for name, size in (("f16", 2), ("e4m3", 1), ("f32", 4), ("f64", 8), ("b128", 16)):
        assert tile.byte_address(3, 8, dtype=name, base=1024) == 1024 + size * tile(3, 8)
        assert byte_address(tile.layout, 3, 8, dtype=name) == size * tile.layout(3, 8)
    assert tile.byte_address(np.arange(4), 0, dtype=np.float16).tolist() == [0, 144, 288, 432]
    assert byte_address(lambda i: i ^ 1, 4, dtype="f32") == 20


def test_dtypes_are_found_by_name_and_by_numpy_dtype():
    for row in DTYPES.values():
        assert dtype_of(row.name) is row is dtype_of(row)
        assert row.bytes * 8 == row.bits and str(row) == row.name
    assert dtype_of(np.float32).name == "f32" and dtype_of(np.dtype("uint16")).name == "u16"


def test_dtypes_have_the_size_of_their_numpy_storage():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert all(row.numpy.itemsize == row.bytes for row in DTYPES.values())
    assert dtype_of(ml_dtypes.bfloat16).name == "bf16" and dtype_of(np.dtype(ml_dtypes.float8_e4m3fn)).name == "e4m3"


def test_the_size_of_a_row_major_layout_is_the_product_of_its_sizes():
    assert Layout.row_major(3, 5, 7).size == prod((3, 5, 7))
