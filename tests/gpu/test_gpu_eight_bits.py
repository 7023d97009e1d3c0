"""Products of 8-bit operands on a GPU of compute capability 9.0, with torch's tensors; skipped where there is none."""

import random

import numpy as np
import pytest
from cut_tiles import SMS, assert_cut, cut_small_tiles
from torch_kit import normal, on_hopper, torch, view

from cuda_kernels import matmul, plan_matmul
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.run.runner import run
from simlayout.algebra.dtypes import TYPES

pytestmark = on_hopper

FP8 = [dict(tile_m=64, tile_n=64, out="bf16"), dict(tile_n=128, c_major="M"), dict(tile_n=128, out="f32", store="direct"),
       dict(tile_n=160, bands=2, pingpong=True, stages=5, box=32, b_dtype="e5m2"), dict(tile_n=64, split=True),
       dict(tile_n=160, cluster_m=2, stages=5, box=32, dtype="e5m2"), dict(tile_m=64, tile_n=64, slices=2, stages=8)]


SCALED = [options | dict(scaled=scaled) | (dict(tile_n=136, box=16) if options.get("bands") and scaled == "lines" else {})
          for options in FP8 for scaled in ("tensor", "lines")]
INTEGERS = [dict(tile_m=64, tile_n=64, out="s32"), dict(tile_n=128, c_major="M", b_dtype="u8", out="s32"),
            dict(tile_n=256, out="s32"), dict(tile_n=64, split=True, out="s32", dtype="u8"),
            dict(tile_n=160, cluster_m=2, stages=5, out="f32"), dict(tile_m=64, tile_n=64, slices=2, stages=8, out="s32"),
            dict(tile_n=160, bands=2, pingpong=True, stages=5, out="f32", b_dtype="u8")]
INTEGERS = [dict(dtype="s8", store="direct") | options for options in INTEGERS]
BLOCKS = [dict(scaled="1x128", tile_m=64, tile_n=64), dict(scaled="1x128", tile_n=128, stages=5),
          dict(scaled="1x128", tile_m=256, tile_n=96, bands=2, cluster_n=2, b_dtype="e5m2"),
          dict(scaled="1x128", tile_m=256, tile_n=128, bands=2, buffers=1), dict(scaled="1x128", tile_n=192, stages=4),
          dict(scaled="128x1", tile_n=32, c_major="M", stages=8), dict(scaled="1x1", tile_n=128, dtype="e5m2", stages=5),
          dict(scaled="128x128", dtype="s8", tile_m=192, tile_n=128), dict(scaled="1x128", tile_n=64, split=True),
          dict(scaled="1x128", tile_m=64, tile_n=64, slices=2, stages=8),
          dict(scaled="1x1", dtype="u8", b_dtype="s8", tile_n=64)]


INTEGERS += [dict(dtype="s8", tile_n=128, scaled="lines"), dict(dtype="s8", b_dtype="u8", scaled="tensor", c_major="M"),
             dict(dtype="u8", b_dtype="s8", tile_n=128, bands=2, tile_m=256, buffers=1, scaled="lines", out="bf16"),
             dict(dtype="s8", tile_n=64, split=True, scaled="lines", out="f32", store="direct")]


@pytest.mark.parametrize("options", FP8 + SCALED + INTEGERS + BLOCKS, ids=str)
@cut_small_tiles()
def test_products_of_8_bits_have_the_bits_of_the_cpu_machine(options):
    kernel = kernel_of(Hopper(**{"dtype": "e4m3", "out": "f16", **options}))
    rng, (M, N, K) = np.random.default_rng(1), (257, 136, 432)
    a, b = (rng.standard_normal(shape).astype(TYPES[dtype].numpy) if TYPES[dtype].exponent else
            rng.integers(*TYPES[dtype].limits, shape, endpoint=True).astype(TYPES[dtype].numpy)
            for shape, dtype in zip(((M, K), (N, K)), kernel.dtypes))
    scaled, shapes = kernel.options.scaled, ((M, 1), (1, N)) if kernel.options.scaled == "lines" else ((1,), (1,))
    if "x" in scaled:
        rows, cols = map(int, scaled.split("x"))
        shapes = (-(-M // rows), 4), (4, -(-N // cols))
    scales = [rng.random(shape, dtype=np.float32) + np.float32(0.5) for shape in shapes] * bool(scaled)
    assert_cut(kernel.options, M, N, K)
    there, here = (run(kernel, a, b.T, *scales, device=device, sms=SMS).c for device in ("gpu", "cpu"))
    assert there.tobytes() == here.tobytes()


ANY = [dict(tile_m=64, tile_n=64, out="f32", store="direct"), dict(tile_n=128, scaled="tensor", dtype="e5m2"),
       dict(tile_n=128, scaled="lines", b_dtype="e5m2", out="bf16"), dict(tile_n=64, scaled="lines", c_major="M"),
       dict(tile_n=128, stages=5, scaled="1x128", dtype="e5m2", b_dtype="e4m3"), dict(scaled="1x1", tile_n=64, stages=5),
       dict(scaled="128x128", tile_n=64, split=True, out="f32", store="direct"),
       dict(scaled="1x128", tile_n=64, out="f32", store="direct", dtype="s8"), dict(scaled="lines", dtype="u8", tile_n=64)]


@pytest.mark.parametrize("shape", [(1, 8, 16), (65, 24, 144), (130, 200, 400)], ids=str)
@pytest.mark.parametrize("options", ANY, ids=str)
@cut_small_tiles()
def test_whatever_bits_operands_and_scales_have_the_cpu_machine_has_them_too(options, shape):
    kernel, (M, N, K) = kernel_of(Hopper(**{"dtype": "e4m3", "out": "f16", **options})), shape
    rng, scaled, scales = np.random.default_rng(K), kernel.options.scaled, []
    a, b = (rng.integers(0, 256, lines).astype(np.uint8).view(TYPES[dtype].numpy)
            for lines, dtype in zip(((M, K), (N, K)), kernel.dtypes))
    if M > 1:                                            # of most results a number is left: one NaN in 300 operands
        a, b = (np.where(rng.random(x.shape) < 3e-3, x, rng.standard_normal(x.shape).astype(x.dtype)) for x in (a, b))
    strange = np.array([0, -0.0, np.inf, -np.inf, np.nan, -1.5, 1e-42, -1e-38, 3e38, 2e5], np.float32)
    if scaled:
        grains = tuple(map(int, scaled.split("x"))) if "x" in scaled else ()
        shapes = [(-(-lines // grain), -(-K // 128)) for lines, grain in zip((M, N), grains)] or [(M, 1), (N, 1)]
        shapes = [(1, 1)] * 2 if scaled == "tensor" else shapes
        scales = [np.where(rng.random(x) < 0.2, rng.choice(strange, x), rng.random(x)).astype(np.float32) for x in shapes]
        scales[1] = scales[1].T
    assert_cut(kernel.options, M, N, K)
    made = [run(kernel, a, b.T, *scales, device=device, sms=SMS).c for device in ("gpu", "cpu")]
    there, here = (x.view(TYPES[kernel.options.out].numpy) for x in made)
    number = here == here                                # NaNs are the same, whatever their bits
    assert (number == (there == there)).all() and there[number].tobytes() == here[number].tobytes()


PAIRS = [("float8_e4m3fn", "float8_e4m3fn"), ("float8_e4m3fn", "float8_e5m2"), ("int8", "int8"), ("uint8", "int8")]


def scales_like(source, lines, deep, is_b):
    """(an array of scales, float64 [lines, deep] of what it means) of a random shape, in a random order of memory."""
    kind = source.choice(["one", "lines", "each", "blocks"])
    shape = {"one": (1, 1), "lines": (lines, 1), "each": (lines, deep), "blocks": (-(-lines // 128), deep)}[kind]
    held = view(source, 2.0 ** torch.randint(-2, 3, shape, device="cuda").float())
    if source.random() < 0.2:
        held = held[:1].expand(shape)                    # all lines have the same scale, with a stride of 0
    meant = held.double().repeat_interleave(128 if kind == "blocks" else 1, 0)[:lines].expand(lines, deep)
    return (held.T if is_b else held), meant


@pytest.mark.parametrize("seed", range(48))
def test_8_bit_products_of_all_shapes_scales_and_strides_are_exact_where_they_can_be(seed):
    source = random.Random(seed)
    torch.manual_seed(seed)
    sizes = [1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 1000]
    (M, N, K), pair = source.choices(sizes, k=3), source.choice(PAIRS)
    a, b = (view(source, torch.randint(0 if kind == "uint8" else -2, 3, shape, device="cuda").to(getattr(torch, kind)))
            for kind, shape in zip(pair, ((M, K), (K, N))))
    of_a, of_b = (scales_like(source, lines, -(-K // 128), is_b) for lines, is_b in ((M, False), (N, True)))
    scaled = source.random() < 0.8
    wanted = sum((a.double()[:, k:k + 128] @ b.double()[k:k + 128])
                 * (of_a[1][:, k // 128, None] * of_b[1][None, :, k // 128] if scaled else 1) for k in range(0, K, 128))
    kinds = [torch.float32, torch.float16, torch.bfloat16] + [torch.int32] * (not scaled and "int8" in pair)
    out = view(source, torch.zeros(M, N, device="cuda", dtype=source.choice(kinds)))
    made = matmul(a, b, out, **(dict(scale_a=of_a[0], scale_b=of_b[0]) if scaled else {}))
    assert torch.equal(made, wanted.float().to(out.dtype))


def test_a_replayed_graph_reads_the_scales_as_they_are_then():
    a, w = (torch.randint(-2, 3, shape, device="cuda").to(torch.float8_e4m3fn) for shape in ((300, 640), (200, 640)))
    rows, blocks, out = (torch.ones(*shape, device="cuda") for shape in ((300, 5), (5, 2), (300, 200)))
    product = plan_matmul(a, w.T, out, scale_a=rows, scale_b=blocks)
    product()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        product()
    for factor in (1.0, 2.0, 0.5):
        rows.fill_(factor)
        blocks.fill_(4 * factor)
        graph.replay()
        assert torch.equal(out.double(), 4 * factor**2 * (a.double() @ w.double().T))


@pytest.mark.parametrize("seed", range(24))
def test_8_bit_floats_of_all_shapes_scales_and_strides_are_multiplied_right(seed):
    source = random.Random(seed)
    torch.manual_seed(seed)
    M, N, K = (source.choice([1, 8, 17, 64, 130, 512, 1000]) for _ in range(3))
    kinds = torch.float8_e4m3fn, torch.float8_e5m2
    a, b = (view(source, normal(*shape).to(source.choice(kinds))) for shape in ((M, K), (K, N)))
    one, other = (torch.rand(shape, device="cuda") + 0.5 for shape in source.choice([((1,), (1,)), ((M, 1), (1, N))]))
    made, wanted = matmul(a, b, scale_a=one, scale_b=other), (a.double() @ b.double()) * one.double() * other.double()
    bound = 2**-8 * wanted.abs() + 2**-12 * ((a.double().abs() @ b.double().abs()) * one.double() * other.double())
    assert made.dtype == torch.bfloat16 and ((made.double() - wanted).abs() <= bound + 1e-30).all()
