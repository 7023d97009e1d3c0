"""F2 maps: conversion, inversion, composition, and wavefronts by rank beside those by counting."""

import numpy as np
import pytest
from by_rank import wavefronts_by_rank
from hypothesis import given, settings
from hypothesis import strategies as st

import simlayout as sl
from simlayout.algebra.f2 import F2Map, product, rank
from simlayout.codegen.reader import compile_source
from simlayout.codegen.symbols import symbol
from simlayout.errors import LayoutError

BANK_RULES = [f"{op}.shared.b{bits}" for op in ("ld", "st") for bits in (8, 16, 32, 64, 128)] + [
    "ld.b64", "ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4", "ldmatrix.x4.trans", "stmatrix.x4"]


@st.composite
def layouts(draw):
    """A layout of powers of two whose strides, powers of two too, do not carry; perhaps swizzled."""
    bits = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    places = draw(st.permutations(range(sum(bits))))
    modes, at = [], 0
    for n in bits:
        modes.append((tuple(2 for _ in range(n)) or (1,), tuple(1 << p for p in places[at:at + n]) or (0,)))
        at += n
    layout = sl.Layout(tuple(m[0] for m in modes), tuple(m[1] for m in modes))
    swizzle = draw(st.sampled_from([None, sl.Swizzle(1, 0, 3), sl.Swizzle(2, 1, 2), sl.Swizzle(2, 0, -3)]))
    return layout if swizzle is None else swizzle @ layout


def matrices(bits):
    return st.lists(st.integers(0, 2**bits - 1), min_size=bits, max_size=bits).map(lambda c: F2Map(tuple(c)))


invertible = st.integers(1, 7).flatmap(matrices).filter(lambda m: m.injective)


@given(layouts())
def test_a_layout_and_its_map_agree_on_every_index(layout):
    found = F2Map.of(layout)
    assert found.inputs == (layout.size - 1).bit_length()
    assert [found(i) for i in range(layout.size)] == [int(layout(i)) for i in range(layout.size)]


@pytest.mark.parametrize("text, fault", [
    ("(8,8):(9,1)", r"at \(1, 1\) it is 10, and its bits give 9 \^ 1"), ("(3,8):(8,1)", "sizes must be powers of two"),
    ("Rot<8,4,64> o (8,32):(32,1)", r"at \(\d+, \d+\) it is"), ("(16,(4,2)):(12,(1,4))", "at .* it is")])
def test_padding_rotation_and_other_sizes_are_refused_with_the_coordinate(text, fault):
    with pytest.raises(LayoutError, match=fault):
        F2Map.of(sl.parse(text))


def test_a_map_of_a_text_is_answered_with_how_a_text_is_read():
    with pytest.raises(LayoutError, match=r"takes a layout, not str: parse\(\.\.\.\) reads"):
        F2Map.of("(4,4):(4,1)")


def test_the_coordinate_of_a_refusal_is_where_the_bits_do_not_xor():
    layout = sl.Layout((8, 8), (9, 1))
    assert layout(1, 1) == 10 != layout(1, 0) ^ layout(0, 1) == 9 ^ 1


@given(invertible, st.integers(0, 127))
def test_an_inverse_undoes_a_map_with_its_constant(linear, constant):
    made = F2Map(linear.columns, constant % (1 << linear.inputs))
    x = np.arange(1 << made.inputs)
    assert (made.inverse()(made(x)) == x).all() and (made(made.inverse()(x)) == x).all()


@given(st.integers(1, 6).flatmap(matrices))
def test_a_map_without_inverse_names_two_arguments_that_meet(made):
    if made.injective:
        assert made.kernel() is None
    else:
        assert made.kernel() > 0 and made(made.kernel()) == made(0)
        with pytest.raises(LayoutError, match=f"0 and {made.kernel()} both give 0"):
            made.inverse()


@given(st.integers(1, 6).flatmap(matrices), st.integers(1, 6).flatmap(matrices), st.integers(0, 63))
def test_a_product_is_one_map_after_the_other(outer, inner, constant):
    inner = F2Map(inner.columns, constant)
    x = np.arange(256)
    assert (product(outer, inner)(x) == outer(inner(x))).all() and outer @ inner == product(outer, inner)


@given(st.lists(st.integers(0, 255), max_size=8))
def test_the_rank_counts_what_the_columns_reach(columns):
    reached = {0}
    for column in columns:
        reached |= {x ^ column for x in reached}
    assert len(reached) == 1 << rank(columns)


@given(st.integers(1, 5).flatmap(matrices))
def test_a_traced_map_is_the_map(made):
    size = 1 << made.inputs
    expression = made(symbol("x", size)) if size > 1 else made(0)
    function = compile_source(f"def f(x):\n    return {expression}\n")["f"]
    assert [function(x) for x in range(size)] == [made(x) for x in range(size)]


def test_a_map_is_a_layer_that_composes_with_layouts():
    tile = F2Map((1, 2, 4, 9)) @ sl.Layout((4, 16), (16, 1))
    assert tile(1, 8) == 16 + 9 and str(tile) == "F2<1,2,4,9> o (4,16):(16,1)"
    assert tile.size == 64 and F2Map.of(tile).columns == (16, 32, 1, 2, 4, 9)


@given(st.integers(1, 4).flatmap(matrices), st.integers(1, 4).flatmap(matrices))
def test_neighbouring_maps_of_a_composition_are_their_product_however_it_is_put_together(outer, inner):
    layout = sl.Layout((16, 4), (4, 1))
    tile = outer @ (inner @ layout)
    assert tile == (outer @ inner) @ layout == sl.parse(f"{outer} o {inner} o {layout}") and len(tile.layers) == 1
    assert tile.offsets().tolist() == [outer(inner(layout(i))) for i in range(64)]


def test_a_layout_with_more_points_than_a_table_may_have_is_refused():
    with pytest.raises(LayoutError, match="has 1099511627776 points"):
        F2Map.of(sl.Layout((1 << 20, 1 << 20)))


@pytest.mark.parametrize("columns", [(-1,), (1.5,), (1 << 63,), (0,) * 63])
def test_columns_that_are_no_bits_are_refused(columns):
    with pytest.raises(LayoutError, match="at most 62 columns"):
        F2Map(columns)


# ---- wavefronts ------------------------------------------------------------------------------------------------------

def random_columns(instruction, count, seed):
    """int64 [count, 5]: multiples of the instruction's bytes below 2048 and a base [count]; some columns are 0, or alike."""
    generator, step = np.random.default_rng(seed), sl.instruction(instruction).bytes
    columns = generator.integers(0, 2048 // step, (count, 5)) * step
    columns *= generator.random((count, 5)) > 0.2
    alone = generator.random((count, 5)) < 0.5
    columns = np.where(alone, step << generator.integers(0, (2048 // step).bit_length() - 1, (count, 5)), columns)
    columns[generator.random(count) < 0.15, 1] = 0
    columns[generator.random(count) < 0.15, 0] = 0
    return columns, generator.integers(0, 2048 // step, count) * step


def addresses_of(columns, base):
    lanes = np.arange(32)
    made = np.repeat(base[:, None], 32, 1)
    for i in range(5):
        made ^= np.where(lanes >> i & 1, columns[:, i:i + 1], 0)
    return made


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("instruction", BANK_RULES)
def test_the_closed_form_is_what_counting_finds_for_random_layouts(instruction, count):
    columns, base = random_columns(instruction, count, seed=len(instruction))
    counted = sl.analyze(instruction, addresses_of(columns, base)).wavefronts
    assert len(set(counted.tolist())) >= 4
    assert [wavefronts_by_rank(instruction, c) for c in columns.tolist()] == counted.tolist()


@settings(max_examples=60)
@given(st.sampled_from(BANK_RULES), st.data())
def test_the_closed_form_is_what_counting_finds(instruction, data):
    step = sl.instruction(instruction).bytes
    columns = data.draw(st.lists(st.integers(0, 4096 // step).map(lambda x: x * step), min_size=5, max_size=5))
    base = data.draw(st.integers(0, 4096 // step)) * step
    counted = sl.analyze(instruction, addresses_of(np.array([columns]), np.array([base]))).wavefronts
    assert wavefronts_by_rank(instruction, columns) == counted[0]
