"""Tensor maps with a window: their boxes beside loops over elements, and beside a plain map where nothing is cut off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import given_few

from cuda_kernels.kernels.hopper.proofs import prove_windows
from cuda_kernels.kernels.hopper.window import WINDOW, in_window
from simlayout.errors import AddressError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.hardware.matrix.window import Window


@st.composite
def boxes(draw):
    """(array, Window, coordinates, first row, rows left from there) of a box that reaches nothing outside of the array."""
    rows, columns, window = draw(st.integers(1, 20)), 8 * draw(st.integers(1, 3)), draw(st.integers(1, 9))
    spread = np.arange(rows * (columns + 8), dtype=np.uint16).reshape(rows, -1) + 1
    array = spread[:, :columns] if draw(st.booleans()) else np.ascontiguousarray(spread[:, :columns])
    high, wide = draw(st.integers(1, 9)), 8 * draw(st.integers(1, 2))
    row, left = draw(st.integers(0, rows - 1)), draw(st.integers(-2, window))
    left = max(0, min(left, rows - row))
    below = window - left if left < window else 0
    high = high if left < window else min(high, window, rows - row)
    coords = draw(st.integers(-9, columns)), below, row - below + window
    return array, Window.over(array, window, (wide, high)), coords, row, left


@given(boxes())
def test_a_box_has_the_rows_up_to_its_end_and_zeros_behind_them(made):
    array, tensor, coords, row, left = made
    found, inside = tensor.gather(coords), tensor.inside(coords)
    assert found.shape == tensor.shape == (1, tensor.box[1], tensor.box[0])
    for i in range(tensor.box[1]):
        for j in range(tensor.box[0]):
            there = i < left and 0 <= coords[0] + j < array.shape[1]
            assert inside[0, i, j] == there and found[0, i, j] == (array[row + i, coords[0] + j] if there else 0)


@given(boxes())
def test_a_store_writes_what_a_load_reads_and_spans_say_where(made):
    array, tensor, coords, _, _ = made
    inside, before = tensor.inside(coords), array.copy()
    tensor.scatter(coords, np.zeros(tensor.shape, array.dtype))
    starts, nbytes = tensor.spans(coords)
    flat = np.lib.stride_tricks.as_strided(array.view(np.uint8), ((len(array) - 1) * array.strides[0] + 2 * array.shape[1],),
                                           (1,))
    assert (array != before).sum() == inside.sum() == len(starts) * nbytes // 2
    assert all((flat[start:start + nbytes] == 0).all() for start in starts.tolist())


@given(boxes())
def test_where_no_row_is_cut_off_a_plain_map_has_the_same_box(made):
    array, tensor, coords, row, left = made
    if left >= tensor.box[1]:
        plain = TensorMap.of(array, tensor.box[:2])
        np.testing.assert_array_equal(tensor.gather(coords)[0], plain.gather((coords[0], row)))


def test_a_box_that_reaches_outside_of_the_rows_is_refused():
    tensor = Window.over(np.zeros((20, 8), np.uint16), 8, (8, 4))
    for row in (-1, 17):
        for use in (tensor.gather, tensor.spans, tensor.inside):
            with pytest.raises(AddressError, match="over 20 rows reaches from row"):
                use((0, 0, 8 + row))


@given_few(15, 500, st.integers(0, 2**31 - 600), st.integers(-300, 300), st.integers(1, 256))
def test_kernels_ask_for_the_rows_up_to_an_end_and_for_no_others_but_the_last_one(row, left, high):
    end = max(1, row + left)
    below, at = map(int, in_window(row, end))
    rows = [at + below + i - WINDOW for i in range(high) if below + i < WINDOW]
    assert rows == (list(range(row, min(end, row + high))) or [end - 1]) and below >= 0 and at >= 0
    assert prove_windows().domain["end"] == WINDOW + 5
