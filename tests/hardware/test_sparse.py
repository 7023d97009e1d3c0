"""mma.sp: compression, metadata registers, and a sparse product by way of them."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlayout.errors import InstructionError
from simlayout.hardware import (
    SPARSE_MMAS,
    compress,
    expand,
    fragment,
    metadata_nibbles,
    metadata_registers,
    sparse_metadata,
    sparse_mma,
    stored_columns,
)
from simlayout.hardware.tables.mma_sp import PATTERNS

SELECTED = [(name, selector) for name, mma in SPARSE_MMAS.items() for selector in range(mma.selectors)]
LEGAL = {"2:4": (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110), "1:2": (0b0100, 0b1110)}
LEGAL["4:8"] = LEGAL["2:4"]
"""PTX ISA, mma.sp: the indices that .sp::ordered_metadata allows."""


def random_sparse(rng, rows, k, pattern):
    """A matrix with at most half of each group other than zero, and often fewer."""
    p = PATTERNS[pattern]
    a = np.zeros((rows, k // p.columns, p.columns // p.unit, p.unit), int)
    for row in range(rows):
        for group in range(k // p.columns):
            units = rng.choice(p.columns // p.unit, p.stored, replace=False)
            a[row, group, units] = rng.integers(-2, 3, (p.stored, p.unit))
    return a.reshape(rows, k)


@given(st.sampled_from(sorted(PATTERNS)), st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32))
def test_what_is_compressed_expands_to_itself(pattern, rows, groups, seed):
    a = random_sparse(np.random.default_rng(seed), rows, groups * PATTERNS[pattern].columns, pattern)
    values, metadata = compress(a, pattern)
    assert values.shape == (rows, a.shape[1] // 2) and values.dtype == a.dtype
    assert metadata.shape == (rows, groups) and metadata.dtype == np.uint8
    assert set(metadata.reshape(-1).tolist()) <= set(LEGAL[pattern])
    np.testing.assert_array_equal(expand(values, metadata, pattern), a)


@given(st.sampled_from(sorted(PATTERNS)), st.integers(0, 2**32))
def test_stored_columns_ascend_and_are_read_off_the_bits(pattern, seed):
    rng = np.random.default_rng(seed)
    metadata = rng.choice(LEGAL[pattern], (3, 4))
    columns = stored_columns(metadata, pattern)
    assert (np.diff(columns) > 0).all()
    for row in range(3):
        expected = []
        for group in range(4):
            low, high = int(metadata[row, group]) & 3, int(metadata[row, group]) >> 2
            if pattern == "2:4":
                expected += [4 * group + low, 4 * group + high]
            elif pattern == "4:8":
                expected += [8 * group + 2 * i + j for i in (low, high) for j in (0, 1)]
            else:                                                      # two halves of a tf32: 0 and 1, or 2 and 3
                assert high == low + 1
                expected += [2 * group + low // 2]
        assert columns[row].tolist() == expected


@pytest.mark.parametrize("pattern, row, words", [
    ("2:4", [0, 0, 0, 0, 1, 2, 0, 3], "not 2:4: row 1, columns 4 to 7 hold [1, 2, 0, 3]; at most 2 of them"),
    ("1:2", [0, 1, 4, 5, 0, 0, 0, 0], "not 1:2: row 1, columns 2 to 3 hold [4, 5]; at most 1 of them"),
    ("4:8", [1, 0, 0, 1, 0, 1, 0, 0], "not 4:8: row 1, columns 0 to 7 hold [1, 0, 0, 1, 0, 1, 0, 0]; at most 2 pairs"),
])
def test_a_matrix_that_is_not_sparse_enough_is_refused_with_its_place(pattern, row, words):
    with pytest.raises(InstructionError, match=re.escape(words)):
        compress(np.array([[0] * 8, row]), pattern)


def test_four_of_eight_keeps_pairs_whole():
    values, metadata = compress(np.array([[0, 0, 0, 7, 0, 0, 5, 0]]), "4:8")
    assert values.tolist() == [[0, 7, 5, 0]] and metadata.tolist() == [[0b1101]]


@pytest.mark.parametrize("call, words", [
    (lambda: compress(np.zeros((2, 6))), "multiple of 4 columns, not shape (2, 6)"),
    (lambda: compress(np.zeros((2, 8)), "3:4"), "unknown sparsity '3:4'; known are 2:4, 4:8, 1:2"),
    (lambda: stored_columns(np.array([[0b0100, 0b0001]])), "row 0, group 1: nibble 0001 is none of 2:4's: 0100, 1000"),
    (lambda: sparse_metadata("mma.sp.m16n8k32.f32.f16.f16.f32", 2), "has sparsity selectors 0 to 1, not 2"),
    (lambda: sparse_metadata("mma.sp.m16n8k32.f32.f16.f16"), "did you mean mma.sp.m16n8k32.f32.f16.f16.f32"),
    (lambda: metadata_registers("mma.sp.m16n8k16.f32.f16.f16.f32", np.zeros((16, 8), np.uint8)), "shape (16, 4), integers"),
    (lambda: metadata_nibbles("mma.sp.m16n8k16.f32.f16.f16.f32", np.zeros(31, np.uint32)), "integers [..., 32], not uint32"),
])
def test_wrong_shapes_names_and_nibbles_are_refused(call, words):
    with pytest.raises(InstructionError, match=re.escape(words)) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name, selector", SELECTED)
def test_the_selected_lanes_describe_every_group_once_and_the_others_nothing(name, selector):
    mma, table = sparse_mma(name), sparse_metadata(name, selector)
    used = (table >= 0).all(axis=-1)
    lanes = np.flatnonzero(used.any(axis=1))
    assert used[lanes].all() and len(lanes) == 8 * mma.contributors
    assert set(lanes % 4) == set(range(selector * mma.contributors, (selector + 1) * mma.contributors))
    described = {tuple(x) for x in table[used].tolist()}
    assert described == {(row, group) for row in range(16) for group in range(mma.groups)} and len(described) == used.sum()


@pytest.mark.parametrize("name, selector", SELECTED[::5])
def test_metadata_goes_into_registers_and_back(name, selector):
    mma = sparse_mma(name)
    metadata = np.random.default_rng(selector).integers(0, 16, (16, mma.groups)).astype(np.uint8)
    registers = metadata_registers(name, metadata, selector)
    assert registers.dtype == np.uint32 and registers.shape == (32,)
    np.testing.assert_array_equal(metadata_nibbles(name, registers, selector), metadata)
    assert (registers[(sparse_metadata(name, selector) < 0).all(axis=(1, 2))] == 0).all()


def test_metadata_of_m16n8k64_is_cutes_e_layout():
    """(T32, V32) -> (M16, K64) = ((2, 2, 8), 32):((8, 512, 1), 16); source: CUTLASS, mma_traits_sm120_sparse.hpp."""
    for name in ("mma.sp.m16n8k64.f32.e4m3.e5m2.f32", "mma.sp.m16n8k64.s32.s8.u8.s32"):
        table = sparse_metadata(name)
        for lane in range(32):
            for column in range(32):
                offset = lane % 2 * 8 + lane // 2 % 2 * 512 + lane // 4 + 16 * column
                assert table[lane, column // 4].tolist() == [offset % 16, offset // 16 // 4]


def test_metadata_of_m16n8k32_f16_is_a_half_per_row_and_16_columns():
    """Lanes 0 and 1 of a quad have 16-bit halves of 16 columns each: TileLang's metadata layout for 16-bit elements."""
    table = sparse_metadata("mma.sp.m16n8k32.f32.f16.f16.f32", 0)
    for half_lane in range(16):
        lane = half_lane // 2 * 4 + half_lane % 2
        for half in range(2):
            groups = [[half_lane // 2 + 8 * half, half_lane % 2 * 4 + i] for i in range(4)]
            assert table[lane, 4 * half:4 * half + 4].tolist() == groups


@pytest.mark.parametrize("name, dense", [
    ("mma.sp.m16n8k32.f32.f16.f16.f32", "m16n8k16.f32.f16.f16.f32"),
    ("mma.sp.m16n8k16.f32.tf32.tf32.f32", "m16n8k8.f32.tf32.tf32.f32"),
    ("mma.sp.m16n8k128.s32.s4.s4.s32", "m16n8k64.s32.s4.s4.s32"),
])
def test_the_compressed_a_lies_as_the_a_of_the_dense_mma_with_half_the_k(name, dense):
    np.testing.assert_array_equal(fragment(name, "A").coordinates(), fragment(dense, "A").coordinates())
    assert fragment(name, "B").shape == (sparse_mma(name).k, 8)
    assert fragment(name, "B").registers == 2 * fragment(dense, "B").registers
    np.testing.assert_array_equal(fragment(name, "D").coordinates(), fragment(dense, "D").coordinates())


@pytest.mark.parametrize("name, opcode", [
    ("mma.sp.m16n8k32.f32.bf16.bf16.f32", "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32"),
    ("mma.sp.m16n8k64.s32.s8.u8.s32.satfinite",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.u8.s32"),
])
def test_an_mma_sp_knows_how_ptx_writes_it(name, opcode):
    assert sparse_mma(name).opcode == opcode
