"""Tensor maps: what they refuse, and where a box's bytes land."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import given_few

from simlayout.algebra.swizzle_modes import EVERY_MODE, SWIZZLE_MODES
from simlayout.errors import AddressError, LayoutError
from simlayout.hardware.matrix.tma import TensorMap, swizzled

GOOD = {"dtype": "f16", "dims": (64, 1000), "strides": (128,), "box": (64, 128), "swizzle": 128}


def landing_one_by_one(tensor, address):
    """{(coordinates in the box, innermost first): byte address}: the 16-byte chunks of every row change places as the PTX
    manual draws them, by a table per mode."""
    span, made = tensor.swizzle, {}
    for place, at in enumerate(product(*(range(n) for n in tensor.shape))):
        byte = address + place * tensor.itemsize
        if span:
            chunk, row = byte // 16 % (span // 16), byte // 128 % (span // 16)
            byte += 16 * ((chunk ^ row) - chunk)
        made[at[::-1]] = byte
    return made


@pytest.mark.parametrize("change, fault", [
    ({"dtype": "f24"}, "unknown dtype 'f24'"), ({"strides": ()}, "0 strides for 2 dimensions; give 1"),
    ({"dims": (1,) * 6, "strides": (16,) * 5, "box": (8,) + (1,) * 5}, "takes 1 to 5"), ({"box": (64,)}, "1 box for 2"),
    ({"dims": (64, 0)}, "dimension 1 has 0"), ({"dims": (2**32 + 1, 1)}, "2\\*\\*32 are allowed"),
    ({"strides": (120,)}, "stride 120 bytes of dimension 1"),
    ({"strides": (2**40,)}, "below 2\\*\\*40"),
    ({"address": 8}, "must start on 16 bytes"), ({"box": (64, 257)}, "box of 257"), ({"swizzle": 96}, "swizzle of 96"),
    ({"element_strides": (1, 9)}, "element stride 9"), ({"box": (4, 128)}, "box rows of 8 bytes"),
    ({"fill": "one"}, "fill 'one'"), ({"address": -16}, "must start on 16 bytes"), ({"dims": (64, 9.5)}, "of integers"),
    ({"element_strides": (1, 0)}, "element stride 0"), ({"box": (64, 0)}, "box of 0"), ({"strides": (0,)}, "more than one"),
    ({"dims": (), "box": (), "strides": ()}, "0 dimensions"), ({"box": 64}, "tuple of integers"),
    ({"box": (128, 64)}, "box rows of 256 bytes in a 128-byte swizzle; make box\\[0\\] at most 64"),
    ({"dtype": "s8", "fill": "nan"}, "fill 'nan' for s8")])
def test_what_the_driver_would_refuse_is_refused_with_the_limit_that_it_breaks(change, fault):
    with pytest.raises(LayoutError, match=fault):
        TensorMap(**{**GOOD, **change})


def test_a_dimension_of_one_element_has_any_stride_as_cutlass_gives_a_single_batch_0():
    made = TensorMap("f16", (64, 32, 1), (128, 0), (64, 8, 1), (1, 1, 1))
    assert made.strides == (128, 0)


def test_a_box_lands_on_128_bytes_or_not_at_all():
    with pytest.raises(AddressError, match="must start on 128 bytes"):
        TensorMap(**GOOD).landing(64)


@given_few(15, 500, st.sampled_from(sorted(SWIZZLE_MODES)), st.integers(1, 5), st.integers(1, 3), st.integers(0, 40),
           st.data())
def test_every_byte_lands_where_the_manual_draws_it(span, rows, depth, where, data):
    inner = span // 2 or data.draw(st.integers(1, 4)) * 8
    tensor = TensorMap("f16", (4096, 64, 64), (8192, 2**20), (inner, rows, depth), swizzle=span)
    slow = landing_one_by_one(tensor, 128 * where)
    fast = tensor.landing(128 * where)
    assert all(fast[d, r, c] == slow[c, r, d] for d in range(depth) for r in range(rows) for c in range(inner))
    assert len(np.unique(fast)) == fast.size


def test_where_rows_narrower_than_the_swizzle_lie_is_not_guessed():
    tensor = TensorMap(**{**GOOD, "box": (32, 128)})
    with pytest.raises(LayoutError, match="rows of 64 bytes lie in a 128-byte swizzle is not .*; make box\\[0\\] 64"):
        tensor.landing(0)
    assert TensorMap(**{**GOOD, "box": (32, 1)}).landing(128)[0, ::8].tolist() == [144, 128, 176, 160]


@given(st.sampled_from([32, 64, 128]), st.integers(0, 60))
def test_rows_are_permuted_as_the_programming_guide_says_wherever_the_box_starts(span, where):
    """CUDA C++ Programming Guide, Swizzle Pattern Pointer Offset Computation: smem[y][x] <-> smem[y][((y+offset)%n)^x] for
    rows y of 128 bytes, 16-byte chunks x."""
    chunks = span // 16
    for y, x in product(range(16), range(8)):
        offset = where % chunks
        assert swizzled(128 * (where + y) + 16 * x, span) == 128 * (where + y) + 16 * (((y + offset) % chunks) ^ x)


@pytest.mark.parametrize("span", [16, 256, None])
def test_a_swizzle_that_tma_lacks_is_refused(span):
    with pytest.raises(LayoutError, match="there are 0, 32, 64, 128"):
        swizzled(0, span)


@given(st.sampled_from(sorted(SWIZZLE_MODES)), st.integers(0, 2**18))
def test_a_swizzle_undoes_itself_and_repeats_with_its_period(span, address):
    period = SWIZZLE_MODES[span].period
    assert swizzled(swizzled(address, span), span) == address
    assert swizzled(address + period, span) == swizzled(address, span) + period


@given(st.integers(-70, 70), st.integers(-20, 40), st.integers(-3, 3))
def test_what_lies_outside_reads_as_zeros_and_is_not_written(c0, c1, c2):
    array = np.arange(1, 3 * 20 * 64 + 1, dtype=np.uint16).reshape(3, 20, 64)
    tensor = TensorMap.of(array.copy(), (32, 8, 2), 64)
    box = tensor.gather((c0, c1, c2))
    for d, r, c in product(range(2), range(8), range(32)):
        inside = 0 <= c2 + d < 3 and 0 <= c1 + r < 20 and 0 <= c0 + c < 64
        assert box[d, r, c] == (array[c2 + d, c1 + r, c0 + c] if inside else 0)
    tensor.scatter((c0, c1, c2), np.zeros_like(box))
    changed = tensor.array != array
    assert changed.sum() == (box != 0).sum()


def test_a_map_takes_its_strides_from_an_array_and_its_type_from_dtype():
    array = np.zeros((5, 40, 128), np.uint16)[:, ::2, :64]
    tensor = TensorMap.of(array, (64, 8, 1), dtype="bf16")
    assert (tensor.dims, tensor.strides, tensor.dtype_enum, tensor.enum) == ((64, 20, 5), (512, 10240), 9, 3)
    assert tensor.box_bytes == 1024
    with pytest.raises(LayoutError, match="must be contiguous"):
        TensorMap.of(array[..., ::2], (16, 8, 1))
    with pytest.raises(LayoutError, match="e4m3 in an array of uint16; view it as integers of 1 bytes"):
        TensorMap.of(array, (64, 8, 1), dtype="e4m3")


@pytest.mark.parametrize("kind, number", [(np.uint16, 1), (np.int16, 1), (np.uint64, 4), (np.int64, 5)])
def test_integers_of_all_widths_are_moved_with_the_number_that_cuda_h_gives_them(kind, number):
    array = np.arange(24 * 8, dtype=kind).reshape(24, 8)
    tensor = TensorMap.of(array, (8, 24), swizzle=64 if array.itemsize == 8 else 0)
    assert tensor.dtype_enum == number and (tensor.gather((0, 0)) == array).all()


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 40), st.integers(-20, 70))
def test_an_element_stride_moves_every_so_many_rows_and_none_along_the_first_dimension(inner, step, rows, first):
    array = np.arange(1, 64 * 64 + 1, dtype=np.int32).reshape(64, 64)
    tensor = TensorMap("s32", (64, 64), (256,), (32, rows), (inner, step), array=array)
    box = tensor.gather((0, first))
    assert box.shape == tensor.shape == (-(-rows // step), 32) and tensor.box_bytes == box.nbytes
    for i, row in enumerate(range(first, first + rows, step)):
        assert (box[i] == (array[row, :32] if 0 <= row < 64 else 0)).all()


def test_the_first_coordinate_counts_along_the_contiguous_dimension():
    array = np.arange(128 * 64, dtype=np.uint16).reshape(128, 64)
    assert TensorMap.of(array, (32, 8), 64).gather((32, 8))[0, 0] == array[8, 32]


@pytest.mark.parametrize("dtype, kind", [("f16", np.float16), ("bf16", np.uint16), ("f32", np.float32), ("tf32", np.float32),
                                         ("f64", np.float64), ("f16", np.uint16)])
def test_the_outside_can_be_filled_with_nan(dtype, kind):
    box = TensorMap.of(np.zeros((8, 64), kind), (16, 8), 0, dtype, fill="nan").gather((56, 0))
    if box.dtype.kind == "f":
        assert np.isnan(box[:, 8:]).all() and (box[:, :8] == 0).all()
    else:
        assert (box[:, 8:] == 0x7FFF).all() and (box[:, :8] == 0).all()


def test_what_does_not_fit_a_map_is_refused():
    tensor = TensorMap.of(np.zeros((8, 64), np.float16), (64, 8))
    with pytest.raises(AddressError, match="1 coordinates for a tensor of 2 dimensions"):
        tensor.gather((0,))
    with pytest.raises(LayoutError, match="values of shape \\(8, 32\\) for boxes of shape \\(8, 64\\)"):
        tensor.scatter((0, 0), np.zeros((8, 32), np.float16))
    with pytest.raises(LayoutError, match="no array"):
        TensorMap(**GOOD).gather((0, 0))


@pytest.mark.parametrize("swizzle", EVERY_MODE)
def test_the_map_of_an_array_takes_every_swizzle(swizzle):
    assert TensorMap.of(np.zeros((64, 64), np.float16), (8, 64), swizzle).swizzle == swizzle


def test_a_swizzle_by_its_name_in_the_command_line_is_answered_with_its_number():
    with pytest.raises(LayoutError, match="swizzle of 128B bytes; there are 0, 32, 64, 128, "):
        TensorMap.of(np.zeros((64, 64), np.float16), (64, 64), "128B")
