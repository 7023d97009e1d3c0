"""Tensor maps: what they refuse, and where a box's bytes land."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlayout.errors import AddressError, LayoutError
from simlayout.hardware.tma import PERIODS, SWIZZLES, TensorMap, swizzled

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
    ({"dtype": "f24"}, "no element type 'f24'"), ({"strides": ()}, "0 strides for 2 dimensions; give 1"),
    ({"dims": (1,) * 6, "strides": (16,) * 5, "box": (8,) + (1,) * 5}, "takes 1 to 5"), ({"box": (64,)}, "1 box for 2"),
    ({"dims": (64, 0)}, "dimension 1 has 0"), ({"dims": (2**32 + 1, 1)}, "2\\*\\*32 are allowed"),
    ({"strides": (120,)}, "stride 120 bytes of dimension 1"), ({"strides": (2**40,)}, "below 2\\*\\*40"),
    ({"address": 8}, "must start on 16 bytes"), ({"box": (64, 257)}, "box of 257"), ({"swizzle": 96}, "swizzle of 96"),
    ({"element_strides": (1, 9)}, "element stride 9"), ({"box": (4, 128)}, "box rows of 8 bytes"),
    ({"fill": "one"}, "fill 'one'"),
    ({"box": (128, 64)}, "box rows of 256 bytes in a 128-byte swizzle; make box\\[0\\] at most 64"),
    ({"dtype": "s8", "fill": "nan"}, "fill 'nan' for s8")])
def test_what_the_driver_would_refuse_is_refused_with_the_limit_that_it_breaks(change, fault):
    with pytest.raises(LayoutError, match=fault):
        TensorMap(**{**GOOD, **change})


def test_a_box_lands_on_128_bytes_or_not_at_all():
    with pytest.raises(AddressError, match="must start on 128 bytes"):
        TensorMap(**GOOD).landing(64)


@given(st.sampled_from(sorted(SWIZZLES)), st.integers(1, 5), st.integers(1, 3), st.integers(0, 40), st.data())
def test_every_byte_lands_where_the_manual_draws_it(span, rows, depth, where, data):
    inner = data.draw(st.integers(1, (span or 64) // 16)) * 8
    tensor = TensorMap("f16", (4096, 64, 64), (8192, 2**20), (inner, rows, depth), swizzle=span)
    slow = landing_one_by_one(tensor, 128 * where)
    fast = tensor.landing(128 * where)
    assert all(fast[d, r, c] == slow[c, r, d] for d in range(depth) for r in range(rows) for c in range(inner))
    assert len(np.unique(fast)) == fast.size


@given(st.sampled_from(sorted(SWIZZLES)), st.integers(0, 2**18))
def test_a_swizzle_undoes_itself_and_repeats_with_its_period(span, address):
    assert swizzled(swizzled(address, span), span) == address
    assert swizzled(address + PERIODS[span], span) == swizzled(address, span) + PERIODS[span]


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


def test_an_element_stride_moves_every_so_many_elements():
    tensor = TensorMap("f32", (64, 64), (256,), (32, 4), (2, 1))
    assert tensor.shape == (4, 16) and tensor.box_bytes == 256
