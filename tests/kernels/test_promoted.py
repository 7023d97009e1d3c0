"""Kernels of integers, and of 8-bit types with scales for every 128 of K: the bits of C on the CPU machine beside a slow
twin, what their options must be, and what arrays of scales mean."""

from itertools import pairwise, product

import ml_dtypes
import numpy as np
import pytest
from cut_tiles import SMS, assert_cut, cut_small_tiles
from hypothesis import given
from hypothesis import strategies as st
from tiers import sweep_but

from cuda_kernels.intrinsics import laneid, mbarrier_arrive_if, mbarrier_wait, s32, u32
from cuda_kernels.kernels.hopper import pipeline, producer, promote, wgmma_persistent
from cuda_kernels.kernels.hopper.accesses import tiles_of
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.kernels.hopper.scaling import scaled_by, scales_of
from cuda_kernels.kernels.hopper.wgmma_persistent import PRODUCER
from cuda_kernels.run.runner import run
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import HazardError, SimlayoutError
from simlayout.numerics import mma
from simlayout.numerics.fma import fma_f32

NUMPY = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "s8": np.int8, "u8": np.uint8}
INTEGERS = [dict(tile_m=64, out="s32", store="direct"), dict(c_major="M", b_dtype="u8", out="f16"),
            dict(dtype="u8", bands=2, pingpong=True, out="bf16", box=32), dict(split=True, out="s32", store="direct"),
            dict(tile_m=64, slices=2, stages=8, out="s32", store="direct"), dict(cluster_m=2, out="f32", store="direct"),
            dict(tile_m=64, stages=1, store="direct", persistent=False, body="wgmma_tma", out="s32")]
BLOCKS = [dict(scaled="1x128", tile_m=64, tile_n=96), dict(scaled="1x128", tile_m=256, bands=2, stages=3, b_dtype="e5m2"),
          dict(scaled="128x1", c_major="M", out="f16"), dict(scaled="1x1", cluster_n=2), dict(scaled="128x128", dtype="s8"),
          dict(scaled="1x128", split=True, out="f32", store="direct"), dict(scaled="1x128", tile_m=64, slices=2, stages=8)]


def values(rng, dtype, shape):
    """Random numbers of a type: integers of its whole range."""
    if TYPES[dtype].exponent:
        return rng.standard_normal(shape).astype(NUMPY[dtype])
    return rng.integers(*TYPES[dtype].limits, shape, endpoint=True).astype(NUMPY[dtype])


@pytest.mark.parametrize("case", sweep_but([(0, ""), (1, "lines"), (2, "lines"), (4, ""), (6, "")],
                                           product(range(len(INTEGERS)), ["", "lines"])), ids=str)
@cut_small_tiles()
def test_products_of_integers_are_exact_and_rounded_by_way_of_float32_where_c_is_of_floats(case):
    options, scaled = INTEGERS[case[0]], case[1]
    if scaled and (options["out"] == "s32" or "body" in options):
        options = options | dict(out="f32", store="direct") if "body" not in options else pytest.skip("it has no scales")
    M, N, K = 130, 72, 272
    kernel = kernel_of(Hopper(**{"dtype": "s8", "tile_n": 64, **options}, scaled=scaled))
    rng = np.random.default_rng(1)
    a, b = values(rng, kernel.dtypes[0], (M, K)), values(rng, kernel.dtypes[1], (N, K)).T
    scales = [2.0**-7 * (rng.random(shape, dtype=np.float32) + np.float32(0.5)) for shape in ((M, 1), (1, N))] * bool(scaled)
    assert_cut(kernel.options, M, N, K)
    made = run(kernel, a, b, *scales, device="cpu", sms=SMS).c
    exact = a.astype(np.int64) @ b.astype(np.int64)
    if kernel.options.out == "s32":
        np.testing.assert_array_equal(made, exact)
        return
    wanted = exact.astype(np.float32) * (scales[0] * scales[1] if scaled else np.float32(1))
    out = TYPES[kernel.options.out].numpy
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(made.view(out), wanted.astype(out))


@pytest.mark.slow
@pytest.mark.parametrize("options", sweep_but([{}], [{}, dict(split=True)]), ids=str)
@cut_small_tiles()
def test_a_sum_that_32_bits_do_not_hold_wraps(options):
    K = 33_152                                           # 259 stages of 128
    kernel = kernel_of(Hopper(tile_m=64, tile_n=8, dtype="u8", out="s32", store="direct", **options))
    a, b = np.full((1, K), 255, np.uint8), np.full((8, K), 255, np.uint8).T
    assert_cut(kernel.options, 1, 8, K)
    made = run(kernel, a, b, device="cpu", sms=SMS).c
    np.testing.assert_array_equal(made, np.full((1, 8), 255 * 255 * K - 2**32))


def promoted(a, b, scale_a, scale_b, name):
    """A product as a promoting kernel adds it up: 128 of K by the tensor core from zero, and these by FMAs; f32 [M, N]."""
    M, N, step = len(a), b.shape[1], TYPES["f32"].plain.type(0)
    sums = np.zeros((M, N), np.float32)
    for k in range(0, a.shape[1], 128):
        left, right = np.zeros((256, 128), a.dtype), np.zeros((128, 80), b.dtype)
        left[:M, :a[:, k:k + 128].shape[1]], right[:b[k:k + 128].shape[0], :N] = a[:, k:k + 128], b[k:k + 128]
        rows = []
        for i in range(0, 256, 64):
            part = np.full((64, 80), step, np.int32 if ".s32." in name else np.float32)
            for j in range(0, 128, 32):
                part = mma(name, left[i:i + 64, j:j + 32], right[j:j + 32], part)
            rows.append(part)
        factors = scale_a[:, k // 128, None] * scale_b[k // 128]
        sums = fma_f32(np.concatenate(rows)[:M, :N].astype(np.float32), factors, sums)
    return sums


@pytest.mark.parametrize("options", sweep_but(BLOCKS[:4], BLOCKS), ids=str)
@cut_small_tiles()
def test_products_with_scales_of_blocks_have_the_bits_of_short_sums_that_fmas_add_up(options):
    M, N, K = 200, 72, 432
    kernel = kernel_of(Hopper(**{"dtype": "e4m3", "tile_n": 32, "out": "bf16", "box": 32 * (options.get("store") is None),
                                 **options}))
    config, rng = kernel.options, np.random.default_rng(2)
    a, b = values(rng, kernel.dtypes[0], (M, K)), values(rng, kernel.dtypes[1], (N, K)).T
    rows, cols = map(int, config.scaled.split("x"))
    scale_a = rng.random((-(-M // rows), 4), dtype=np.float32) + np.float32(0.5)
    scale_b = rng.random((4, -(-N // cols)), dtype=np.float32) + np.float32(0.5)
    done, parts = run(kernel, a, b, scale_a, scale_b, device="cpu", sms=SMS), assert_cut(config, M, N, K)
    made, counts = done.c, {c.instruction: c for c in done.trace.by_instruction()}
    name = f"wgmma.m64n80k32.{config.accumulates}.{'.'.join(config.types)}"
    of_rows, of_columns = scale_a.repeat(rows, 0)[:M], scale_b.repeat(cols, 1)[:, :N]
    cuts = [4 * i // parts for i in range(parts + 1)]    # of the four times 128 of K
    wanted = sum(promoted(a[:, 128 * first:128 * last], b[128 * first:128 * last], of_rows[:, first:last],
                          of_columns[first:last], name) for first, last in pairwise(cuts))
    for said in kernel.plan.scales(tiles_of(config, M, N), 4):
        found = counts[said.instruction]
        assert found.instructions == said.instructions and found.wavefronts >= said.wavefronts
        assert not said.exact or (found.wavefronts, found.ideal) == (said.wavefronts, said.ideal)
    assert done.trace.hazards == ()
    out = TYPES[config.out].numpy
    np.testing.assert_array_equal(made.view(out), wanted.astype(out))


@pytest.mark.parametrize("scaled, of_a, of_b", [("1x128", (70, 1), (1, 1)), ("1x1", (70, 1), (1, 24)),
                                                ("1x128", (1,), (1, 1)), ("lines", (1,), (1, 24)), ("lines", (1,), (1,))])
def test_a_kernel_takes_all_scales_whose_strides_it_can_count(scaled, of_a, of_b):
    rng, (M, N, K) = np.random.default_rng(3), (70, 24, 100)
    a, b = (rng.integers(-2, 3, shape).astype(NUMPY["e4m3"]) for shape in ((M, K), (N, K)))
    scales = [2.0 ** rng.integers(-2, 3, shape).astype(np.float32) for shape in (of_a, of_b)]
    kernel = kernel_of(Hopper(tile_m=64, tile_n=32, dtype="e4m3", out="f32", store="direct", scaled=scaled))
    made = run(kernel, a, b.T, *scales, device="cpu").c
    np.testing.assert_array_equal(made, a.astype(np.float32) @ b.astype(np.float32).T * scales[0] * scales[1])


@pytest.mark.parametrize("scaled, of_a, of_b", [("1x128", (70, 1), (1, 24)), ("lines", (70, 2), (1, 24)),
                                                ("tensor", (70, 1), (1, 1)), ("128x128", (70, 2), (2, 1))])
def test_scales_that_a_kernel_cannot_count_are_refused(scaled, of_a, of_b):
    kernel = kernel_of(Hopper(tile_m=64, tile_n=32, dtype="e4m3", out="f32", store="direct", scaled=scaled))
    K = 128 * max(of_a[-1], of_b[0])
    a, b = np.zeros((70, K), NUMPY["e4m3"]), np.zeros((24, K), NUMPY["e4m3"]).T
    with pytest.raises(SimlayoutError, match=f"this kernel's is '{scaled}'"):
        run(kernel, a, b, *(np.ones(shape, np.float32) for shape in (of_a, of_b)), device="cpu")


def plant(patch, fault):
    """Takes away what keeps the warps of a promoting kernel in order, by a word."""
    ring, sync = wgmma_persistent.make_ring, wgmma_persistent.bar_sync_some
    if fault == "mbarriers":                             # the warp that copies scales does not wait until these are set up
        patch.setattr(wgmma_persistent, "bar_sync_some", lambda barrier, threads: None if barrier == PRODUCER else
                      sync(barrier, threads))
    if fault == "copies":                                # nobody waits until scales have been copied
        patch.setattr(producer, "cp_async_mbarrier_arrive", lambda mbarrier: None)
        patch.setattr(wgmma_persistent, "make_ring", lambda stages, at, readers, *_: ring(stages, at, readers, 1))
    if fault == "readers":                               # the first warp that has read its scales frees the stage of all
        patch.setattr(wgmma_persistent, "make_ring",
                      lambda stages, at, readers, writers, *_: ring(stages, at, readers // 4, writers))
    if fault == "lanes":                                 # a lane frees the stage though others of its warp may yet read
        patch.setattr(promote, "bar_warp_sync", lambda: None)
    if fault == "products":                              # sums are promoted before the tensor core has made them
        patch.setattr(promote, "wgmma_wait_group", lambda *options: lambda products: None)


@pytest.mark.parametrize("fault, told", [
    ("", ""), ("mbarriers", "read after write"), ("copies", "early read"), ("readers", "write after read"),
    ("lanes", "write after read"), ("products", "early accumulator")])
def test_the_machine_tells_where_a_promoting_kernel_waits_for_too_little(monkeypatch, fault, told):
    plant(monkeypatch, fault)
    kernel = kernel_of(Hopper(dtype="e4m3", tile_m=64, tile_n=16, stages=2, out="f32", store="direct", scaled="1x128"))
    a, b = np.ones((40, 640), NUMPY["e4m3"]), np.ones((16, 640), NUMPY["e4m3"]).T
    scales = np.ones((40, 5), np.float32), np.ones((5, 1), np.float32)
    if fault:
        with pytest.raises(HazardError, match=told):
            run(kernel, a, b, *scales, device="cpu")
    else:
        assert (run(kernel, a, b, *scales, device="cpu").c == 640).all()


def freed_early(cluster):
    """What waits until a stage of two is full, and frees it at once, by a lane of each warp for each CTA of the cluster."""
    release = pipeline.mbarrier_arrive_cluster_if

    def wait_and_free(full, parity):
        mbarrier_wait(full, parity)
        if cluster > 1:
            release(s32(laneid() < cluster), u32(full + 16), u32(laneid()))
        else:
            mbarrier_arrive_if(s32(laneid() == 0), u32(full + 16))

    return wait_and_free


@pytest.mark.parametrize("cluster", sweep_but([{}, dict(cluster_n=2)], [{}, dict(cluster_m=2), dict(cluster_n=2)]), ids=str)
@pytest.mark.parametrize("fault, told", [
    ("", None), ("copies", "early read"), ("lanes", "write after read"), ("early", "write after read")])
def test_the_machine_tells_of_scales_that_are_copied_while_a_consumer_reads_them(monkeypatch, fault, told, cluster):
    plant(monkeypatch, fault)
    if fault == "early":                                 # a warp frees the stage before it reads its scales
        monkeypatch.setattr(promote, "mbarrier_wait", freed_early(2 if cluster else 1))
        monkeypatch.setattr(promote, "make_free", lambda ctas: lambda t, tells, address: None)
    kernel = kernel_of(Hopper(dtype="e4m3", tile_m=64, tile_n=16, stages=2, out="f32", store="direct", scaled="1x128",
                              **cluster))
    a, b = np.ones((104, 640), NUMPY["e4m3"]), np.ones((24, 640), NUMPY["e4m3"]).T
    scales = np.ones((104, 5), np.float32), np.ones((5, 1), np.float32)
    hazards = run(kernel, a, b, *scales, device="cpu", hazards="report").trace.hazards
    races = {hazard.kind for hazard in hazards
             if {hazard.first.instruction, hazard.second.instruction} == {"cp.async.ca.4", "ld.shared.b32"}}
    assert races == ({told} if fault else set()) and bool(hazards) == bool(fault)


def test_scales_of_blocks_lose_less_than_one_sum_of_all_products():
    rng, K = np.random.default_rng(5), 4096
    a, b = (np.abs(values(rng, "e4m3", shape)) for shape in ((64, K), (64, K)))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    plain = run(kernel_of(Hopper(tile_m=64, tile_n=64, dtype="e4m3", out="f32", store="direct")), a, b.T, device="cpu").c
    ones = np.ones((64, 32), np.float32), np.ones((32, 1), np.float32)
    kernel = kernel_of(Hopper(tile_m=64, tile_n=64, dtype="e4m3", out="f32", store="direct", scaled="1x128"))
    by_blocks = run(kernel, a, b.T, *ones, device="cpu").c
    assert abs(by_blocks - exact).max() < abs(plain - exact).max() / 8


@pytest.mark.parametrize("options, fault", [
    (dict(dtype="s8", tile_n=40, box=32, out="f16"), "tile_n = 40: wgmma of integers has 8, 16, 24 or 32 columns, or"),
    (dict(dtype="s8", b_dtype="e4m3"), "wgmma mixes e4m3 and e5m2, and s8 and u8"),
    (dict(dtype="s8", out="s32"), 'an s32 C is stored with store="direct"'),
    (dict(dtype="e4m3", out="s32", store="direct"), "out is s32, of e4m3: an int32 has the sums of integers"),
    (dict(dtype="s8", out="s32", scaled="lines", store="direct"), "out is s32, of s8 scaled by lines"),
    (dict(dtype="f16", scaled="1x128", tile_n=128), "for every 128 of K: only 8-bit operands have these"),
    (dict(dtype="e4m3", scaled="1x128", tile_n=72), "needs a tile_n of 8, 16 or a multiple of 32"),
    (dict(dtype="e4m3", scaled="1x128", tile_n=64, tile_m=64, pingpong=True), "pingpong=False"),
    (dict(dtype="e4m3", scaled="1x128", tile_n=64, tile_m=64, producer=1), "needs producer=4, of which one warp copies"),
    (dict(dtype="e4m3", scaled="lines", tile_n=152, bands=2, pingpong=True, out="f32", store="direct"),
     "152 of them accumulators, and needs 136"),
    (dict(dtype="e4m3", scaled="1x1", tile_m=256, tile_n=128, stages=3), "may have 104 registers, 64 of them accumulators"),
    (dict(scaled="2x2"), "scaled = '2x2': choose one of"),
])
def test_what_integers_and_promoted_sums_do_not_go_with_is_refused_by_name(options, fault):
    with pytest.raises(SimlayoutError, match=fault):
        Hopper(**options)


SIZES = st.integers(1, 700)


@given(SIZES, SIZES, SIZES, st.sampled_from(["one", "lines", "1", "128"]), st.sampled_from(["one", "lines", "1", "128"]),
       st.booleans())
def test_scales_lie_where_their_strides_say_whatever_their_shapes(M, N, K, kind_a, kind_b, turned):
    rng, found, wanted = np.random.default_rng(0), [], []
    for name, kind, lines in (("scale_a", kind_a, M), ("scale_b", kind_b, N)):
        grain = 128 if kind == "128" else 1
        shape = (1, 1) if kind == "one" else (lines, 1) if kind == "lines" else (-(-lines // grain), -(-K // 128))
        held = rng.random(shape[::-1] if turned else shape, dtype=np.float32)
        by_lines = held.T if turned else held
        x = by_lines if name == "scale_a" else by_lines.T
        of = scales_of(name, x.shape, x.strides, "float32", lines, K)
        at = [[of.step * (i // of.grain) + of.deep * (k // 128) for k in range(0, K, 128)] for i in range(lines)]
        found.append((of, held.reshape(-1)[np.array(at) // 4]))
        wanted.append(np.broadcast_to(by_lines.repeat(grain, 0)[:lines] if kind in ("1", "128") else by_lines, np.shape(at)))
    for (_, there), here in zip(found, wanted):
        np.testing.assert_array_equal(there, here)
    blocks = {kind_a, kind_b} & {"1", "128"} and K > 128
    scaled = scaled_by(*(of for of, _ in found))
    assert "x" in scaled or not blocks
    assert kind_a in ("1", "128") or kind_b in ("1", "128") or scaled in ("lines", "tensor")
    assert scaled == "tensor" or {kind_a, kind_b} != {"one"}


@pytest.mark.parametrize("name, shape, dtype", [("scale_a", (3, 4), "float32"), ("scale_b", (64, 4), "float32"),
                                                ("scale_a", (64, 4, 1), "float32"), ("scale_b", (4, 64), "float64")])
def test_scales_of_other_shapes_and_types_are_refused_with_those_that_are_taken(name, shape, dtype):
    with pytest.raises(SimlayoutError, match=rf"{name} is {dtype} of shape .*: pass float32 of 1 element, or of shape"):
        scales_of(name, shape, tuple(4 * n for n in shape), dtype, 64, 512)
