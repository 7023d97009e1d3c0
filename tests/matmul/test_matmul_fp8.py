"""matmul of 8-bit floats and with scales: what it launches, on a driver that is not there, and what it refuses."""

import ml_dtypes
import numpy as np
import pytest
from host_kit import Device, aligned, host, install, numbers

from simlayout.errors import SimlayoutError

E4M3, E5M2, BF16 = (np.dtype(getattr(ml_dtypes, name)) for name in ("float8_e4m3fn", "float8_e5m2", "bfloat16"))


def by_k(K, N, dtype, seed=1):
    """B with its columns one after another, as a weight of torch transposed."""
    return aligned(numbers((N, K), dtype, seed)).T


@pytest.mark.parametrize("of_a, of_b", [(E4M3, E4M3), (E4M3, E5M2), (E5M2, E4M3), (E5M2, E5M2)], ids=str)
@pytest.mark.parametrize("M, N, K", [(64, 64, 128), (1, 200, 48), (300, 24, 1040), (130, 70, 33)])
def test_8_bit_floats_are_multiplied_to_bf16_whatever_the_sizes(machine, of_a, of_b, M, N, K):
    _, torch = machine
    a, b = aligned(numbers((M, K), of_a)), by_k(K, N, of_b)
    made = host.matmul(torch.Tensor(a), torch.Tensor(b))
    assert made.array.dtype == BF16
    np.testing.assert_array_equal(made.array, (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16))


@pytest.mark.parametrize("out", ["float16", "float32"])
def test_an_operand_whose_k_is_not_contiguous_is_copied_byte_by_byte(machine, out):
    library, torch = machine
    a, b = aligned(numbers((64, 96), E4M3)), aligned(numbers((96, 80), E4M3, 1))      # B by rows
    made = torch.Tensor(aligned(np.zeros((64, 80), out)))
    host.matmul(torch.Tensor(a), torch.Tensor(b), made)
    np.testing.assert_array_equal(made.array, (a.astype(np.float32) @ b.astype(np.float32)).astype(out))
    assert [getattr(p, "size", None) for p in library.programs.values()].count(1) == 1


@pytest.mark.parametrize("dtype", [E4M3, np.dtype(np.float16), BF16], ids=str)
@pytest.mark.parametrize("rows, cols", [((), ()), ((1,), (1, 1)), ((130, 1), (1, 72)), ((130,), ()), ((), (1, 72))], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_the_product_is_scaled_by_one_number_or_by_rows_and_columns(machine, dtype, rows, cols, turned):
    _, torch = machine
    a, b = aligned(numbers((130, 64), dtype)), by_k(64, 72, dtype)
    scales = [2.0 ** np.random.default_rng(i).integers(-2, 3, shape) for i, shape in enumerate((rows, cols))]
    s, t = (torch.Tensor(aligned(x.astype(np.float32))) for x in scales)
    c = aligned(np.zeros((72, 130), np.float32)).T if turned else aligned(np.zeros((130, 72), np.float32))
    host.matmul(torch.Tensor(a), torch.Tensor(b), torch.Tensor(c), scale_a=s, scale_b=t)
    exact = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(c, exact * scales[0].reshape(-1, 1) * scales[1].reshape(1, -1))
    again = aligned(np.zeros((130, 72), np.float32))
    prepared = host.plan_matmul(torch.Tensor(a), torch.Tensor(b), torch.Tensor(again), scale_a=s, scale_b=t)
    s.array[...] *= 2                                        # read when the product is launched, not before
    prepared()
    np.testing.assert_array_equal(again, exact * s.array.reshape(-1, 1) * t.array.reshape(1, -1))


def test_what_cannot_be_scaled_or_mixed_is_refused_before_any_launch(machine):
    library, torch = machine
    a, b = torch.Tensor(aligned(numbers((64, 64), E4M3))), torch.Tensor(by_k(64, 32, E4M3))
    one, rows = (torch.Tensor(np.ones(shape, np.float32)) for shape in ((1,), (64, 1)))
    stack = torch.Tensor(aligned(numbers((2, 64, 64), E4M3)))
    within, ints = aligned(np.zeros(4096, np.float32)), torch.Tensor(by_k(64, 32, np.int8))
    halves, deep = torch.Tensor(aligned(numbers((192, 32)))), torch.Tensor(np.ones((64, 2), np.float32))
    half, double = torch.Tensor(aligned(numbers((64, 192)))), torch.Tensor(np.ones(1))
    whole = torch.Tensor(aligned(np.zeros((64, 32), np.int32)))
    for arguments, options, message in (
        ((a, b), dict(scale_a=one), "scale_a and scale_b go together"),
        ((a, b), dict(scale_a=one, scale_b=rows), r"scale_b is float32 of shape \(64, 1\): pass .* \(1, 32\); .* \(1, 1\)$"),
        ((a, b), dict(scale_a=double, scale_b=one), "scale_a is torch.float64; scales are float32$"),
        ((a, b, whole), dict(scale_a=one, scale_b=one), "out is s32, of e4m3 scaled by tensor: an int32 has"),
        ((half, halves, whole), {}, "out is s32, of f16: an int32 has"),
        ((stack, b), dict(scale_a=one, scale_b=one), "only a product of two matrices is scaled"),
        ((a, b), dict(scale_a=one, scale_b=one, kernel="mma_permuted"), "mma_permuted has no scales"),
        ((a, b, torch.Tensor(within[:2048].reshape(64, 32))), dict(scale_a=torch.Tensor(within[2040:2041]), scale_b=one),
         "out overlaps scale_a in memory"),
        ((half, halves), dict(scale_a=deep, scale_b=one), "only 8-bit operands have these"),
        ((a, half), {}, "a is e4m3 and b is f16"), ((a, ints), {}, "a is e4m3 and b is s8"),
        ((a, b, torch.Tensor(aligned(numbers((64, 32), E4M3)))), {}, "out is float8_e4m3fn: results are float16, bfloat16"),
        ((a, b), dict(kernel="mma_permuted"), "mma_permuted multiplies f16"),
    ):
        with pytest.raises(SimlayoutError, match=message):
            host.matmul(*arguments, **options)
    assert not library.launches


@pytest.mark.parametrize("M, K", [(64, 0), (0, 64)])
def test_what_is_wrong_is_refused_where_nothing_is_to_be_multiplied_too(machine, M, K):
    _, torch = machine
    a, b = torch.Tensor(np.zeros((M, K), E4M3)), torch.Tensor(np.zeros((K, 32), E4M3))
    one, others = (torch.Tensor(np.ones(shape, np.float32)) for shape in ((1,), (5, 7)))
    assert host.matmul(a, b, scale_a=one, scale_b=one).array.shape == (M, 32)
    with pytest.raises(SimlayoutError, match=r"scale_a is float32 of shape \(5, 7\)"):
        host.matmul(a, b, scale_a=others, scale_b=one)
    with pytest.raises(SimlayoutError, match="out is s32, of e4m3"):
        host.matmul(a, b, torch.Tensor(np.zeros((M, 32), np.int32)))


def test_a_gradient_of_scales_is_not_recorded_and_so_refused(machine):
    _, torch = machine
    a, b = torch.Tensor(aligned(numbers((64, 64), E4M3))), torch.Tensor(by_k(64, 32, E4M3))
    one, learned = (torch.Tensor(np.ones(1, np.float32)) for _ in range(2))
    learned.requires_grad = True
    with pytest.raises(SimlayoutError, match="records no gradient"):
        host.matmul(a, b, scale_a=one, scale_b=learned)


def test_scales_on_another_gpu_are_refused_though_their_like_were_multiplied_before(monkeypatch):
    library, torch = install(monkeypatch, devices=2)
    a, b = torch.Tensor(aligned(numbers((64, 64), E4M3))), torch.Tensor(by_k(64, 32, E4M3))
    here, there = (Device(np.ones(1, np.float32)) for _ in range(2))
    library.places[there.array.ctypes.data] = 1
    host.matmul(a, b, scale_a=here, scale_b=here)
    with pytest.raises(SimlayoutError, match="on GPUs 0, 1"):
        host.matmul(a, b, scale_a=here, scale_b=there)


@pytest.mark.parametrize("of_a, of_b", [(np.int8, np.int8), (np.uint8, np.int8)], ids=str)
@pytest.mark.parametrize("out", [None, np.int32, np.float32, np.float16])
def test_integers_are_multiplied_to_int32_and_are_rounded_to_others(machine, of_a, of_b, out):
    _, torch = machine
    a, b = aligned(np.abs(numbers((130, 65), np.int8)).astype(of_a)), by_k(65, 40, of_b)
    c = None if out is None else torch.Tensor(aligned(np.zeros((130, 40), out)))
    made = host.matmul(torch.Tensor(a), torch.Tensor(b), c)
    assert made.array.dtype == (out or np.int32)
    np.testing.assert_array_equal(made.array, a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize("of_a, of_b", [((130, 3), (3, 1)), ((130, 3), (3, 72)), ((2, 3), (3, 1)), ((2, 3), (3, 72)),
                                        ((130, 1), (3, 72)), ((1,), (3, 1))], ids=str)
@pytest.mark.parametrize("dtype, turned", [(E4M3, False), (E5M2, True), (np.dtype(np.int8), False)], ids=str)
def test_every_128_of_k_may_have_scales_of_lines_or_of_blocks(machine, of_a, of_b, dtype, turned):
    _, torch = machine
    a, b = aligned(numbers((130, 304), dtype)), by_k(304, 72, dtype)
    scales = [2.0 ** np.random.default_rng(i).integers(-2, 3, shape[::-1]).T for i, shape in enumerate((of_a, of_b))]
    c = aligned(np.zeros((72, 130), np.float32)).T if turned else aligned(np.zeros((130, 72), np.float32))
    s, t = (torch.Tensor(x.astype(np.float32)) for x in scales)
    host.matmul(torch.Tensor(a), torch.Tensor(b), torch.Tensor(c), scale_a=s, scale_b=t)
    lines = scales[0].reshape(len(scales[0]), -1)
    rows = np.broadcast_to(lines.repeat(128 if len(lines) == 2 else 1, 0)[:130], (130, 3))
    cols = np.broadcast_to(scales[1].repeat(128 if scales[1].shape[1] == 1 else 1, 1)[:, :72], (3, 72))
    exact = sum((a[:, k:k + 128].astype(np.float32) @ b[k:k + 128].astype(np.float32)) * rows[:, k // 128, None]
                * cols[k // 128] for k in range(0, 304, 128))
    np.testing.assert_array_equal(c, exact)
