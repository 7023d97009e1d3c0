"""The depth of a stage follows from the bytes of its elements, and with it boxes, steps and the name of the wgmma; kernels
of 8-bit floats, and scales."""

import ml_dtypes
import numpy as np
import pytest
from cut_tiles import assert_cut, cut_small_tiles
from tiers import sweep_but

from cuda_kernels.intrinsics import bar_sync_some, cp_async_wait_group, u32
from cuda_kernels.kernels.gemm import matrix
from cuda_kernels.kernels.hopper import bring
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.kernels.hopper.parts import SPAN, depth_of, load_box
from cuda_kernels.run.runner import run
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import HazardError, SimlayoutError
from simlayout.hardware.matrix.operand_tile import majors_of
from simlayout.hardware.tables.operand_readers import operand_reader
from simlayout.numerics import mma

FLOATS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize("dtype", [name for name, _ in operand_reader("wgmma").types])
def test_a_row_of_a_stage_is_128_bytes_of_any_type(dtype):
    assert depth_of(dtype) * TYPES[dtype].bytes == SPAN == 128
    for major in majors_of(dtype):
        assert load_box(major, 128, dtype)[0] * TYPES[dtype].bytes == SPAN


def test_fp8_has_a_stage_of_128_elements_and_a_wgmma_of_32_and_is_proved():
    kernel = kernel_of(Hopper(tile_m=64, tile_n=64, stages=1, store="direct", persistent=False, body="wgmma_tma",
                              dtype="e4m3", b_dtype="e5m2", out="f32"))
    assert (kernel.options.depth, kernel.options.wgmma) == (128, "wgmma.m64n64k32.f32.e4m3.e5m2")
    assert kernel.plan.tile[2] == 128 and set(kernel.prove()) == {"A", "B"} and kernel.dtypes == ("e4m3", "e5m2", "f32")
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (rows, 192)).astype(dtype) for rows, dtype in zip((70, 60), FLOATS.values()))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    for x, y in ((a, b), (a.view(np.uint8), b.view(np.uint8))):
        assert (run(kernel, x, y.T, device="cpu").c == exact).all()      # small integers: no sum is rounded
    with pytest.raises(SimlayoutError, match="e4m3, as ml_dtypes.float8_e4m3fn or as its bits in uint8"):
        matrix("a", a.astype(np.float16), "e4m3")


CONFIGS = [dict(tile_n=64, tile_m=64, out="bf16"), dict(tile_n=64, c_major="M"), dict(tile_n=136, bands=2, pingpong=True,
           stages=4, box=16), dict(tile_n=64, split=True), dict(tile_m=64, tile_n=64, slices=2, stages=8),
           dict(tile_n=64, out="f32", store="direct", cluster_m=2, stages=3)]


@pytest.mark.parametrize("options", sweep_but(CONFIGS[:3], CONFIGS), ids=str)
@cut_small_tiles()
def test_scaled_products_of_fp8_have_the_bits_of_the_tensor_core_times_the_products_of_their_scales(options):
    M, N, K = 130, 72, 256
    kernel = kernel_of(Hopper(dtype="e4m3", b_dtype="e5m2", scaled="lines", **{"out": "f16", **options}))
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((M, K)).astype(FLOATS["e4m3"]), rng.standard_normal((N, K)).astype(FLOATS["e5m2"]).T
    rows, cols = (rng.random(shape, dtype=np.float32) + np.float32(0.5) for shape in ((M, 1), (1, N)))
    sms = 16 if kernel.options.slices > 1 or kernel.options.split else 2
    parts = assert_cut(kernel.options, M, N, K, sms)
    done, work = run(kernel, a, b, rows, cols, device="cpu", sms=sms), kernel.work(a, b, rows, cols, sms=sms)
    made, counts = done.c, {c.instruction: c for c in done.trace.by_instruction()}
    assert done.trace.hazards == ()
    sums = sum(chained(a[:, k], b[k]) for k in np.split(np.arange(K), parts))
    wanted, out = sums * (rows * cols), {"bf16": ml_dtypes.bfloat16}.get(kernel.options.out, made.dtype)
    np.testing.assert_array_equal(made.view(out), wanted.astype(out))
    for said in work.kernel.predict(work.problem).counts:
        if "scales" in said.name and not kernel.options.split:
            found = counts[said.instruction]
            assert found.instructions == said.instructions and found.wavefronts >= said.wavefronts
            assert not said.exact or (found.wavefronts, found.ideal) == (said.wavefronts, said.ideal)


def nothing(*options):
    pass


def come_for_all(pending):
    """cp_async_wait_group with the barrier of the only consumer behind it."""
    wait = cp_async_wait_group(pending)

    def come():
        wait()
        bar_sync_some(u32(1), u32(128))

    return come


@pytest.mark.parametrize("faults, told", [
    ({}, ""), ({"cp_async_wait_group": lambda pending: nothing}, "early read"), ({"bar_sync_some": nothing}, "early read"),
    ({"bar_sync_some": nothing, "cp_async_wait_group": come_for_all}, "lane race")],
    ids=["none", "wait", "both barriers", "the barrier before the copies"])
def test_the_machine_tells_where_scales_of_lines_are_read_too_early_or_copied_too_early(monkeypatch, faults, told):
    for name, fault in faults.items():
        monkeypatch.setattr(bring, name, fault)
    kernel = kernel_of(Hopper(tile_m=64, tile_n=16, dtype="e4m3", scaled="lines", out="f32", store="direct", stages=2))
    a, b = np.ones((200, 128), FLOATS["e4m3"]), np.ones((40, 128), FLOATS["e4m3"]).T
    scales = np.ones((200, 1), np.float32), np.ones((1, 40), np.float32)
    if faults:
        with pytest.raises(HazardError, match=told):
            run(kernel, a, b, *scales, device="cpu", sms=2)
    else:
        assert (run(kernel, a, b, *scales, device="cpu", sms=2).c == 128).all()


def chained(a, b):
    """A product as wgmma adds it up: 32 elements of K at a time, f32 [M, N]."""
    c = np.zeros((192, 80), np.float32)
    left, right = np.zeros((192, a.shape[1]), a.dtype), np.zeros((a.shape[1], 80), b.dtype)
    left[:len(a)], right[:, :b.shape[1]] = a, b
    for k in range(0, a.shape[1], 32):
        tiles = [mma("wgmma.m64n80k32.f32.e4m3.e5m2", left[i:i + 64, k:k + 32], right[k:k + 32], c[i:i + 64])
                 for i in range(0, 192, 64)]
        c = np.concatenate(tiles)
    return c[:len(a), :b.shape[1]]


@pytest.mark.parametrize("options, message", [
    (dict(dtype="f16", b_dtype="e4m3"), "wgmma mixes e4m3 and e5m2, and s8 and u8, nothing else"),
    (dict(dtype="e4m3", a_major="MN"), 'wgmma reads e4m3 K-major alone; use "K"'),
    (dict(dtype="e4m3", body="mma_tma"), "dtype='f16' or 'bf16'"),
    (dict(scaled="lines", body="wgmma_tma"), "scaled=''"),
])
def test_what_wgmma_does_not_do_with_8_bits_is_refused_by_name(options, message):
    with pytest.raises(SimlayoutError, match=message):
        Hopper(**options)


def test_scales_of_another_number_or_type_are_refused():
    kernel = kernel_of(Hopper(tile_m=64, tile_n=64, dtype="e4m3", scaled="lines"))
    a, b = np.ones((64, 128), FLOATS["e4m3"]), np.ones((128, 64), FLOATS["e4m3"])
    one, three = np.ones(1, np.float32), np.ones(3, np.float32)
    for scales, message in (((), "0 arrays of scales: this kernel takes two"), ((one,), "1 arrays"),
                            ((one, three), r"scale_b is float32 of shape \(3,\): pass .*, or of shape \(1, 64\)"),
                            ((one.astype(np.float64), one), "scale_a is float64")):
        with pytest.raises(SimlayoutError, match=message):
            run(kernel, a, b, *scales, device="cpu")
