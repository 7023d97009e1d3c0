"""grouped_matmul with arrays of any bases, strides, types and sizes: what is refused has launched and written nothing, and
what is not has each group's product, beside NumPy."""

import numpy as np
import pytest
from fake_driver import DTYPES
from host_kit import install, numbers
from hypothesis import strategies as st
from tiers import given_few

from cuda_kernels import grouped_matmul
from cuda_kernels.kernels.hopper.grouping import sizes_of
from simlayout.errors import SimlayoutError

TYPES, F4 = [DTYPES[name] for name in ("f16", "bf16", "e4m3", "e5m2", "s8", "u8")], DTYPES["f32"]
OTHERS = [F4, DTYPES["s32"], np.dtype(np.float64), np.dtype(np.bool_)]
SIZES = st.sampled_from([0, 1, 1, 2, 7, 8, 16, 33, 64, 130])


@st.composite
def placed(draw, shape, dtype):
    """An array of small integers whose base is some elements off 64 bytes, whose lines may have room between them, whose
    dimensions lie in any order, and of which those of one element may have a stride below 0."""
    axes, room, off = draw(st.permutations(range(len(shape)))), draw(st.sampled_from([0, 0, 1, 8])), draw(st.integers(0, 8))
    held = [shape[i] for i in axes]
    whole = [*held[:-1], held[-1] + room]
    raw = np.zeros((int(np.prod(whole)) + off) * dtype.itemsize + 64, np.uint8)
    first = -raw.ctypes.data % 64 + off * dtype.itemsize
    there = raw[first:first + int(np.prod(whole)) * dtype.itemsize].view(dtype).reshape(whole)[..., :held[-1]]
    made = there.transpose(np.argsort(axes))
    made[...] = np.abs(numbers(shape)) if dtype.kind in "ub" else numbers(shape)
    strides = [-s if n == 1 and draw(st.booleans()) else s for n, s in zip(made.shape, made.strides)]
    return np.lib.stride_tricks.as_strided(made.view(f"u{dtype.itemsize}"), made.shape, strides).view(dtype)


@st.composite
def calls(draw):
    """(a, b, offsets, out, scales) of a call, mostly of one that there is."""
    rows, K, N, groups = draw(SIZES), draw(SIZES), draw(SIZES), draw(st.integers(0, 4))
    a = draw(st.sampled_from(TYPES))
    b = draw(st.sampled_from([a] * 30 + TYPES + OTHERS))
    out = draw(st.sampled_from(5 * [*TYPES[:2], F4] + OTHERS))
    offsets = draw(st.lists(st.integers(-3, rows + 3), min_size=groups, max_size=groups))
    blocks = -(-K // 128)
    shapes = draw(st.sampled_from([(), (), ((1,), (1,)), ((rows, 1), (groups, N)), ((1,), (groups, N)), ((rows, 2), (2,)),
                                   ((1,), (groups, blocks, N)), ((rows, blocks), (groups, blocks, -(-N // 128)))]))
    scales = [draw(placed(shape, F4)) for shape in shapes]
    return (draw(placed((rows, K), a)), draw(placed((groups, K, N), b)), np.array(offsets, np.int32),
            draw(placed((rows, N), out)), scales)


def factors(scale, blocks, lines):
    """float32 [blocks, lines] of a scale for all, of [lines] for each, or of [blocks, lines or every 128 of them]."""
    scale = scale.reshape(1, 1) if scale.size == 1 else scale.reshape(-1, scale.shape[-1])
    scale = scale.repeat(128, 1)[:, :lines] if scale.shape[1] not in (1, lines) else scale
    return np.broadcast_to(scale, (blocks, lines))


def by_hand(a, b, offsets, out, scales):
    """out with each group's product written over its rows, every 128 of K times its scales."""
    made, start, (rows, K), N = out.copy(), 0, a.shape, b.shape[2]
    if 0 in out.shape:
        return made
    of_a, of_b = scales or [np.ones(1, np.float32)] * 2
    of_rows = factors(of_a.T if of_a.ndim == 2 else of_a, -(-K // 128), rows)
    for number, (end, size) in enumerate(zip(np.clip(offsets, 0, rows).tolist(), sizes_of(offsets, rows))):
        if size:
            of_columns = factors(of_b if of_b.size == 1 else of_b[number], -(-K // 128), N)
            parts = [a[start:end, k:k + 128].astype(np.float32) @ b[number, k:k + 128].astype(np.float32)
                     * of_rows[k // 128, start:end, None] * of_columns[k // 128] for k in range(0, K, 128)]
            made[start:end] = sum(parts).astype(out.dtype)
        start = end
    return made


@given_few(150, 5_000, calls())
def test_a_call_is_refused_before_anything_is_written_or_has_the_product_of_each_group(call):
    a, b, offsets, out, scales = call
    with pytest.MonkeyPatch.context() as patch:
        library, torch = install(patch)
        before, named = out.copy(), {f"scale_{x}": torch.Tensor(scale) for x, scale in zip("ab", scales)}
        try:
            grouped_matmul(*map(torch.Tensor, (a, b, offsets, out)), **named)
        except SimlayoutError as error:
            assert "\n" not in str(error) and not library.launches
            np.testing.assert_array_equal(out, before)
        else:
            np.testing.assert_array_equal(out, by_hand(a, b, offsets, before, scales))
