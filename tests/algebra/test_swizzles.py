"""Swizzles, rotations, compositions of layers and byte addresses, against slow twins written from the definitions."""

from math import prod

import numpy as np
import pytest
from algebra_kit import (
    Symbol,
    checked,
    coordinates_of,
    layers,
    layouts,
    rotated_in_a_list,
    rotations,
    swizzled_bit_by_bit,
    swizzles,
    values_of,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from simlayout.algebra import DTYPES, Composed, Layout, Rotation, Swizzle, byte_address, dtype_of
from simlayout.errors import LayoutError

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
@given(st.lists(layers, min_size=1, max_size=3), st.lists(st.sampled_from([1, 2, 3, 4, 8, 16]), min_size=1, max_size=3))
def test_a_composition_over_a_layout_without_gaps_spans_what_enumeration_says(chain, shape):
    tile = Composed(tuple(chain), Layout.row_major(*shape), 0)
    assert tile.layout.is_compact and tile.cosize == tile.offsets().max() + 1
    assert (Swizzle(3, 3, 3) @ Layout((2**20, 2**20))).cosize == 2**40        # which no enumeration would reach


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
    for layer in chain:                                  # what lies behind the closed form of cosize
        first = 3 * layer.block if layer.block and layer.block < 1000 else None
        assert first is None or sorted(map(layer, range(first, first + layer.block))) == [*range(first, first + layer.block)]
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
    for wrong, error in ((lambda: Layout(4) @ 4, LayoutError), (lambda: Swizzle(1, 0, 1) @ 4, LayoutError),
                         (lambda: Swizzle(1, 0, 1) @ 4.0, TypeError), (lambda: 4 @ Swizzle(1, 0, 1), TypeError)):
        with pytest.raises(error):
            wrong()


# ---- dtypes and byte addresses --------------------------------------------------------------------------------------


def test_byte_addresses_are_offsets_times_the_element_size():
    tile = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))
    for name, size in (("f16", 2), ("e4m3", 1), ("f32", 4), ("f64", 8), ("b128", 16)):
        assert tile.byte_address(3, 8, dtype=name, base=1024) == 1024 + size * tile(3, 8)
        assert byte_address(tile.layout, 3, 8, dtype=name) == size * tile.layout(3, 8)
    assert tile.byte_address(np.arange(4), 0, dtype=np.float16).tolist() == [0, 144, 288, 432]
    assert byte_address(lambda i: i ^ 1, 4, dtype="f32") == 20


@pytest.mark.parametrize("name, meant", [
    ("half", "f16"), ("fp16", "f16"), ("FP16", "f16"), ("F16", "f16"), ("double", "f64"), ("float", "f32"), ("int", "s32"),
    ("e4m3fn", "e4m3"), ("fp8", "e4m3 or e5m2"), ("i32", "s32"), ("int64_t", "s64"), ("short", "s16")])
def test_a_dtype_by_another_name_is_refused_with_the_one_that_is_meant(name, meant):
    with pytest.raises(LayoutError, match=rf"unknown dtype '{name}' \(did you mean {meant}\?\); known: f16"):
        dtype_of(name)


@pytest.mark.parametrize("name", ["s4", "e2m1", "FP4", "b1"])
def test_types_of_less_than_a_byte_are_refused_with_what_holds_them(name):
    with pytest.raises(LayoutError, match=rf"unknown dtype '{name}' \(less than a byte: give the bytes .*, b8\); known"):
        dtype_of(name)


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
