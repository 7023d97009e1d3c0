"""Fragments of MFMA and WMMA: what was published of them, one element at a time. (AMD's own calculator: tests/oracles.)"""

import numpy as np
import pytest

import simlayout as sl
from simlayout.errors import InstructionError
from simlayout.hardware.matrix.mfma import AMD_FRAGMENTS

# (instruction, operand, lane, value, row, column)
PUBLISHED = [
    ("v_mfma_f32_16x16x16_f16", "A", 37, 2, 5, 10), ("v_mfma_f32_16x16x16_f16", "B", 37, 2, 10, 5),
    ("v_mfma_f32_16x16x16_f16", "D", 37, 2, 10, 5), ("v_mfma_f32_16x16x4_f32", "A", 63, 0, 15, 3),
    ("v_mfma_f32_16x16x32_f16", "A", 17, 7, 1, 15), ("v_mfma_f32_16x16x32_fp8_bf8", "B", 17, 7, 15, 1),
    ("v_mfma_i32_16x16x64_i8", "A", 48, 15, 0, 63), ("v_mfma_f32_32x32x8_f16", "A", 33, 3, 1, 7),
    ("v_mfma_f32_32x32x8_f16", "D", 33, 5, 13, 1), ("v_mfma_f32_32x32x8_f16", "D", 0, 15, 27, 0),
    ("v_mfma_f64_16x16x4_f64", "D", 17, 2, 9, 1), ("v_mfma_f64_16x16x4_f64", "B", 17, 0, 1, 1),
    ("v_mfma_f32_32x32x4_2b_f16", "A", 40, 1, 40, 1), ("v_mfma_f32_32x32x4_2b_f16", "B", 40, 1, 5, 8),
    ("v_mfma_f32_32x32x4_2b_f16", "D", 40, 17, 37, 8), ("v_mfma_f32_32x32x64_f8f6f4.e4m3", "A", 33, 17, 1, 49),
    ("v_mfma_f32_16x16x128_f8f6f4.e4m3", "A", 33, 17, 1, 97), ("v_wmma_f32_16x16x16_f16_w32", "A", 20, 9, 4, 9),
    ("v_wmma_f32_16x16x16_f16_w32", "D", 20, 3, 7, 4), ("v_wmma_f32_16x16x16_f16_w32_gfx12", "A", 20, 5, 4, 13),
    ("v_wmma_f32_16x16x16_f16_w32_gfx12", "D", 20, 3, 11, 4), ("v_wmma_f32_16x16x16_fp8_fp8_w32_gfx12", "A", 20, 5, 4, 13),
]


@pytest.mark.parametrize(("name", "operand", "lane", "value", "row", "column"), PUBLISHED)
def test_elements_are_where_they_were_published(name, operand, lane, value, row, column):
    assert sl.fragment(name, operand)(lane, value) == (row, column)


@pytest.mark.parametrize("name", sorted({name for name, _ in AMD_FRAGMENTS}))
def test_lanes_hold_the_same_k_of_a_as_of_b(name):
    a, b = (sl.fragment(name, operand) for operand in "AB")
    blocks = 2 if "2b" in name else 1
    k_of_a, k_of_b = a.coordinates()[..., 1], b.coordinates()[..., 0] % (b.shape[0] // blocks)
    assert (k_of_a == k_of_b).all() and a.lanes == b.lanes == (32 if "wmma" in name else 64)
    c, d = (sl.fragment(name, operand) for operand in "CD")
    assert (c.coordinates() == d.coordinates()).all() and np.prod(d.shape) == d.lanes * d.values


def test_where_sources_disagree_the_fragment_says_so():
    disputed = {name for (name, _), f in AMD_FRAGMENTS.items() if f.source.kind == "disputed"}
    assert disputed == {"v_wmma_f32_16x16x16_f16_w32_gfx12", "v_wmma_f32_16x16x16_bf16_w32_gfx12",
                        "v_mfma_f32_16x16x128_f8f6f4.e4m3", "v_mfma_f32_16x16x128_f8f6f4.e5m2"}


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(InstructionError, match="v_mfma_f32_16x16x16_f16"):
        sl.fragment("v_mfma_f32_16x16x16f16", "A")
