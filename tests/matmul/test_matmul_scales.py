"""matmul of 8-bit operands with all kinds of scales, in all orders of memory, beside float64: on a driver that is not there,
which computes with what a launch is given."""

import ml_dtypes
import numpy as np
import pytest
from host_kit import aligned, host, install
from hypothesis import strategies as st
from tiers import given_few

DTYPES = {name: np.dtype(getattr(ml_dtypes, name)) for name in ("float8_e4m3fn", "float8_e5m2", "bfloat16")}
DTYPES |= {name: np.dtype(name) for name in ("int8", "uint8", "int32", "float16", "float32")}
PAIRS = [("float8_e4m3fn", "float8_e4m3fn"), ("float8_e4m3fn", "float8_e5m2"), ("int8", "int8"), ("uint8", "int8")]
SIZES = st.sampled_from([1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257])
ORDERS = st.sampled_from(["rows", "columns", "gaps", "off"])


def placed(values, order):
    """The same values by rows, by columns, every third element of wider rows, or one element off 16 bytes."""
    if order == "columns":
        return aligned(np.ascontiguousarray(values.T)).T
    if order == "gaps":
        held = np.zeros((values.shape[0], 3 * values.shape[1] + 1), values.dtype)[:, 1::3][:, :values.shape[1]]
        held[...] = values
        return held
    if order == "off":
        held = aligned(np.zeros(values.size + 1, values.dtype))[1:].reshape(values.shape)
        held[...] = values
        return held
    return aligned(values)


@st.composite
def scales(draw, lines, deep):
    """(an array of scales, [lines, deep] of what it means): for all, each line, or each or 128 lines every 128 of K."""
    kind = draw(st.sampled_from(["one", "lines", "each", "blocks"]))
    shape = {"one": (1, 1), "lines": (lines, 1), "each": (lines, deep), "blocks": (-(-lines // 128), deep)}[kind]
    made = 2.0 ** np.random.default_rng(draw(st.integers(0, 99))).integers(-2, 3, shape).astype(np.float32)
    held = np.broadcast_to(made[:1], shape) if draw(st.booleans()) else placed(made, draw(ORDERS))
    return held, np.broadcast_to(held.repeat(128, 0)[:lines] if kind == "blocks" else held, (lines, deep)).astype(np.float64)


@given_few(25, 1000, st.data())
def test_products_of_all_shapes_types_scales_and_strides_are_right(data):
    with pytest.MonkeyPatch.context() as patch:
        _, torch = install(patch)
        (M, N, K), pair = (data.draw(SIZES) for _ in range(3)), data.draw(st.sampled_from(PAIRS))
        rng, deep = np.random.default_rng(data.draw(st.integers(0, 99))), -(-K // 128)
        a, b = (placed(rng.integers(0 if kind == "uint8" else -2, 3, shape).astype(DTYPES[kind]), data.draw(ORDERS))
                for kind, shape in zip(pair, ((M, K), (K, N))))
        of_a, of_b = (data.draw(st.none() | scales(lines, deep)) for lines in (M, N))
        scaled = of_a is not None and of_b is not None
        kinds = ["float32", "float16", "bfloat16"] + ["int32"] * (not scaled and "int8" in pair)
        out = placed(np.zeros((M, N), DTYPES[data.draw(st.sampled_from(kinds))]), data.draw(ORDERS))
        wanted = sum((a[:, k:k + 128].astype(np.float64) @ b[k:k + 128].astype(np.float64))
                     * (of_a[1][:, k // 128, None] * of_b[1][:, k // 128] if scaled else 1) for k in range(0, K, 128))
        given = dict(scale_a=torch.Tensor(of_a[0]), scale_b=torch.Tensor(of_b[0].T)) if scaled else {}
        host.matmul(*map(torch.Tensor, (a, b, out)), **given)
        np.testing.assert_array_equal(out, wanted.astype(np.float32).astype(out.dtype))


def test_scales_that_differ_in_their_strides_alone_are_each_read_where_they_lie(machine):
    _, torch = machine
    a, b = torch.Tensor(aligned(np.ones((130, 256), DTYPES["int8"]))), torch.Tensor(aligned(np.ones((40, 256), np.int8)).T)
    made, one = np.arange(260, dtype=np.float32).reshape(130, 2), torch.Tensor(np.ones((1, 1), np.float32))
    for held in (made, placed(made, "columns"), placed(made, "gaps"), np.broadcast_to(made[:1], (130, 2)), made):
        out = aligned(np.zeros((130, 40), np.float32))
        host.matmul(a, b, torch.Tensor(out), scale_a=torch.Tensor(held), scale_b=one)
        np.testing.assert_array_equal(out, np.tile(128 * held.sum(1)[:, None], 40))
