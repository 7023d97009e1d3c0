"""grouped_matmul: what it launches, on a driver that is not there, and what it refuses."""

import ml_dtypes
import numpy as np
import pytest
from host_kit import Device, aligned, install, numbers

from cuda_kernels import grouped_matmul, plan_grouped_matmul
from cuda_kernels.kernels.hopper.config import Hopper
from simlayout.errors import DeviceError, SimlayoutError

E4M3, E5M2, BF16 = (np.dtype(getattr(ml_dtypes, name)) for name in ("float8_e4m3fn", "float8_e5m2", "bfloat16"))
F16 = np.dtype(np.float16)


def offsets_of(sizes):
    return np.cumsum(sizes, dtype=np.int32)


def by_groups(a, b, offsets, out, scale=lambda group, rows, product: product):
    """The slow twin: out with each group's product written over its rows."""
    start, out = 0, out.copy()
    for group, end in enumerate(np.clip(offsets, 0, len(a)).tolist()):
        if end > start:
            made = a[start:end].astype(np.float32) @ b[group].astype(np.float32)
            out[start:end] = scale(group, slice(start, end), made).astype(out.dtype)
        start = end
    return out


def weights(groups, K, N, dtype, by_k=True):
    """[groups, K, N] with K contiguous, as stacked weights of torch transposed, or with N."""
    shape = (groups, N, K) if by_k else (groups, K, N)
    made = aligned(numbers(shape, dtype, 1))
    return made.swapaxes(1, 2) if by_k else made


SIZES = [(64,), (70, 0, 3, 130, 0), (0, 0, 0), (1,) * 9, (0, 300)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype, by_k", [(BF16, True), (F16, False), (E4M3, True), (E5M2, False)], ids=str)
def test_each_group_of_rows_has_a_matrix_of_its_own_and_rows_behind_the_last_are_left(machine, sizes, dtype, by_k):
    _, torch = machine
    a, b = aligned(numbers((sum(sizes) + 5, 72), dtype)), weights(len(sizes), 72, 40, dtype, by_k)
    out = aligned(np.full((len(a), 40), 77, BF16))
    wanted = by_groups(a, b, offsets_of(sizes), out)
    made = grouped_matmul(*map(torch.Tensor, (a, b, offsets_of(sizes), out)))
    np.testing.assert_array_equal(made.array, wanted)


@pytest.mark.parametrize("options", [{}, dict(c_major="M"), dict(bands=2), dict(tile_n=128, c_major="M"),
                                     dict(pingpong=True, tile_m=64)], ids=str)
@pytest.mark.parametrize("scales", ["one", "lines", "blocks", "columns"])
def test_rows_of_a_and_columns_of_each_b_may_have_scales(machine, options, scales):
    if options.get("pingpong") and scales in ("blocks", "columns"):
        pytest.skip("promoting sums is not for consumers that take turns")
    _, torch = machine
    sizes, K, N, source = (70, 0, 3, 130, 0), 304, 72, np.random.default_rng(3)
    a, b = aligned(numbers((210, K), E4M3)), weights(5, K, N, E4M3)
    shapes = {"one": ((1,), (1,)), "lines": ((210, 1), (5, N)), "blocks": ((210, 3), (5, 3, 1)),
              "columns": ((210, 3), (5, 3, N))}
    of_a, of_b = (2.0 ** source.integers(-2, 3, shape) for shape in shapes[scales])
    full_a = np.broadcast_to(of_a.reshape(-1, of_a.shape[-1] if of_a.ndim > 1 else 1), (210, 3))
    full_b = np.broadcast_to(of_b.reshape(*(of_b.shape if of_b.ndim == 3 else (len(of_b), 1, of_b[0].size))), (5, 3, N))
    out = aligned(np.full((210, N), 77, np.float32))
    wanted = out.copy()
    for group, (start, end) in enumerate([(0, 70), (70, 70), (70, 73), (73, 203), (203, 203)]):
        parts = [a[start:end, k:k + 128].astype(np.float32) @ b[group, k:k + 128].astype(np.float32)
                 * full_a[start:end, k // 128, None] * full_b[group, k // 128] for k in range(0, K, 128)]
        wanted[start:end] = sum(parts)
    kernel = Hopper(**{**dict(tile_n=32, stages=4, box=32), **options})
    grouped_matmul(*map(torch.Tensor, (a, b, offsets_of(sizes), out)), kernel=kernel,
                   **{name: torch.Tensor(x.astype(np.float32)) for name, x in (("scale_a", of_a), ("scale_b", of_b))})
    np.testing.assert_array_equal(out, wanted)


def test_a_product_is_prepared_once_and_reads_its_offsets_when_it_runs(machine):
    library, torch = machine
    a, b, out = aligned(numbers((64, 72))), weights(3, 72, 40, F16), aligned(np.zeros((64, 40), F16))
    offsets = offsets_of((10, 20, 30))
    prepared = plan_grouped_matmul(*map(torch.Tensor, (a, b, offsets, out)))
    for sizes in ((10, 20, 30), (0, 64, 0), (1, 2, 3)):
        offsets[:], out[:] = offsets_of(sizes), 5
        prepared()
        np.testing.assert_array_equal(out, by_groups(a, b, offsets, np.full_like(out, 5)))
    assert len(library.launches) == 3 and prepared.kernel.options.grouped
    made = grouped_matmul(*map(torch.Tensor, (a, b, offsets)))
    np.testing.assert_array_equal(made.array[:6], out[:6])


@pytest.mark.parametrize("kernel", ["auto", Hopper(tile_m=64, tile_n=64), Hopper(tile_n=32, c_major="M")], ids=str)
def test_rows_that_lie_by_columns_are_copied_because_a_group_may_begin_where_tma_cannot(machine, kernel):
    library, torch = machine
    a, b, sizes = aligned(numbers((64, 80), F16)).T[:75], weights(3, 64, 40, F16, False), (1, 70, 4)
    out = aligned(np.full((75, 40), 77, F16))
    wanted = by_groups(a, b, offsets_of(sizes), out)
    grouped_matmul(*map(torch.Tensor, (a, b, offsets_of(sizes), out)), kernel=kernel)
    np.testing.assert_array_equal(out, wanted)
    copy, (config, *_) = library.launches
    assert type(copy[0]).__name__ == "Copy" and config.turned(config.a_major, config.b_major) == ("K", "MN")


@pytest.mark.parametrize("shape_a, shape_b", [((1,), (2, 1, 72)), ((1, 1), (2, 1, 1)), ((70, 1), (2, 1, 1))], ids=str)
def test_one_scale_of_all_rows_goes_with_scales_of_blocks_of_each_b(machine, shape_a, shape_b):
    _, torch = machine
    rows, source = (1 if shape_a == (1, 1) else 70), np.random.default_rng(3)
    a, b, offsets = aligned(numbers((rows, 112), E4M3)), weights(2, 112, 72, E4M3), offsets_of((rows, 0))
    of_a, of_b = ((2.0 ** source.integers(-2, 3, shape)).astype(np.float32) for shape in (shape_a, shape_b))
    out = aligned(np.full((rows, 72), 77, np.float32))
    wanted = by_groups(a, b, offsets, out, lambda group, rows, made: made * of_a.reshape(-1, 1) * of_b[group])
    grouped_matmul(*map(torch.Tensor, (a, b, offsets, out)), scale_a=torch.Tensor(of_a), scale_b=torch.Tensor(of_b))
    np.testing.assert_array_equal(out, wanted)


def test_the_stride_of_a_single_group_does_not_matter(machine):
    library, torch = machine
    a, b, out = aligned(numbers((64, 72))), weights(1, 72, 40, F16), aligned(np.zeros((64, 40), F16))
    backwards = np.lib.stride_tricks.as_strided(b, b.shape, (-30, *b.strides[1:]))
    grouped_matmul(Device(a), Device(backwards), Device(offsets_of((64,))), Device(out))
    np.testing.assert_array_equal(out, by_groups(a, b, offsets_of((64,)), out))
    assert len(library.launches) == 1                    # b is read where it lies


def test_no_rows_and_no_groups_launch_nothing(machine):
    library, torch = machine
    for rows, groups in ((0, 3), (64, 0)):
        a, b = np.zeros((rows, 72), F16), np.zeros((groups, 40, 72), F16).swapaxes(1, 2)
        assert grouped_matmul(*map(torch.Tensor, (a, b, np.zeros(groups, np.int32)))).shape == (rows, 40)
    assert not library.launches


def test_what_cannot_be_grouped_is_refused_before_any_launch(machine):
    library, torch = machine
    a, b, offsets = aligned(numbers((64, 128))), weights(3, 128, 40, F16), offsets_of((10, 20, 30))
    eights, weight = aligned(numbers((64, 128), E4M3)), weights(3, 128, 40, E4M3)
    one, rows = np.ones(1, np.float32), np.ones((64, 1), np.float32)
    for given, options, message in (
        ((a[0], b, offsets), {}, r"a is \(128,\) and b is \(3, 128, 40\): pass a of \(rows, K\)"),
        ((a, b[0], offsets), {}, r"b is \(128, 40\): pass a of"), ((a[:, :64], b, offsets), {}, r"a is \(64, 64\)"),
        ((a, b, offsets.astype(np.float32)), {}, r"offsets is float32 of shape \(3,\): pass int32 \(3,\)"),
        ((a, b, offsets[:2]), {}, r"offsets is int32 of shape \(2,\): pass int32 \(3,\)"),
        ((a, b, np.repeat(offsets, 2)[::2]), {}, "with room between them: pass int32"),
        ((a, b, offsets, aligned(np.zeros((40, 64), F16)).T), {}, "the rows of out are not contiguous"),
        ((a, b, offsets, aligned(np.zeros((64, 48), F16))), {}, r"out has shape \(64, 48\), the product \(64, 40\)"),
        ((a[:, :0], b[:, :0], offsets), {}, "K is 0: .*; clear out instead"),
        ((a, weight, offsets), {}, "a is f16 and b is e4m3"),
        ((a, b, offsets, a[:, :40]), {}, "out overlaps a in memory"),
        ((a, b, offsets), dict(scale_a=one), "scale_a and scale_b go together"),
        ((eights, weight, offsets), dict(scale_a=rows, scale_b=np.ones((2, 40), np.float32)), r"pass float32 .* \(3, 40\)"),
        ((aligned(numbers((256, 256), E4M3)), weights(3, 256, 40, E4M3), offsets),
         dict(scale_a=np.ones((2, 2), np.float32), scale_b=one), r"begin at any row: pass one for each row, \(256, 2\)"),
        ((a, b, offsets), dict(scale_a=np.ones((64, 2), np.float32), scale_b=one), "pass float32 of 1 element"),
        ((aligned(numbers((64, 256))), weights(3, 256, 40, F16), offsets),
         dict(scale_a=np.ones((64, 2), np.float32), scale_b=one), "only 8-bit operands have these"),
        ((a, b, offsets), dict(kernel="mma_permuted"), "mma_permuted is none: use kernel=\"auto\""),
        ((a, b, offsets), dict(kernel=Hopper(tile_n=64, slices=2)), "grouped needs persistent=True, slices=1"),
    ):
        tensors = {name: torch.Tensor(x) if isinstance(x, np.ndarray) else x for name, x in options.items()}
        with pytest.raises(SimlayoutError, match=message):
            grouped_matmul(*map(torch.Tensor, given), **tensors)
    for given, options, message in (((None, b, offsets), {}, "a is NoneType: not an array"),
                                    ((a, b, None), {}, "offsets is NoneType: not an array"),
                                    ((a, b, offsets), dict(kernel=[]), "kernel is a name, a Kernel or a Hopper config")):
        with pytest.raises(SimlayoutError, match=message):
            grouped_matmul(*(x if x is None else torch.Tensor(x) for x in given), **options)
    with pytest.raises(SimlayoutError, match="plan_grouped_matmul needs out"):
        plan_grouped_matmul(*map(torch.Tensor, (a, b, offsets)), None)
    assert not library.launches


def test_a_gpu_without_wgmma_is_refused(monkeypatch):
    library, torch = install(monkeypatch, capability=(8, 0))
    with pytest.raises(DeviceError, match="compute capability 9.0"):
        grouped_matmul(*map(torch.Tensor, (numbers((64, 72)), weights(3, 72, 40, F16), offsets_of((1, 2, 3)))))
