"""grouped_matmul on a GPU of compute capability 9.0, with torch's tensors; skipped where there is none."""

import random
from itertools import islice

import numpy as np
import pytest
from torch_kit import on_hopper, torch

from cuda_kernels import grouped_matmul, matmul, plan_grouped_matmul
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose.candidates import fitted

pytestmark = on_hopper

KINDS = ["bfloat16", "float16", "float8_e4m3fn", "int8"]
IN_TURNS = dict(tile_m=128, tile_n=192, bands=2, pingpong=True)
"""It has too few registers for int32, which is stored without TMA."""
TILED = [dict(tile_m=64, tile_n=16, c_major="M"), dict(tile_m=64, tile_n=48, c_major="M"),
         dict(tile_m=64, tile_n=208, pingpong=True), dict(tile_m=256, tile_n=96, c_major="M"),
         dict(tile_m=256, tile_n=128, bands=2, c_major="M"), dict(tile_m=128, tile_n=256)]


PROMOTED = [dict(tile_m=64, tile_n=64), dict(tile_m=128, tile_n=96), dict(tile_m=192, tile_n=64),
            dict(tile_m=256, tile_n=96, bands=2), dict(tile_m=128, tile_n=64, c_major="M"),
            dict(tile_m=192, tile_n=32, c_major="M")]


def numbers(shape, kind):
    if kind == "int8":
        return torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8)
    return torch.randn(*shape, device="cuda").to(getattr(torch, kind))


def problem(source, kind):
    """(a, b, offsets, sizes, out): groups of any sizes, with rows behind the last one."""
    groups = source.choice([1, 5, 33, 70, 300])
    sizes = [source.choice([0, 0, 1, 7, 64, 65, 130, source.randrange(300)]) for _ in range(groups)]
    rows, N, K = max(1, sum(sizes) + source.choice([0, 3, 200])), 8 * source.randrange(1, 60), 16 * source.randrange(1, 30)
    out = torch.full((rows, N), 7, device="cuda", dtype=torch.int32 if kind == "int8" else torch.bfloat16)
    b = numbers((groups, N, K), kind).transpose(1, 2)
    return numbers((rows, K), kind), b, torch.tensor(np.cumsum(sizes), device="cuda", dtype=torch.int32), sizes, out


def by_groups(a, b, sizes, out, kernel, scales=()):
    """What grouped_matmul does, by a product for each group whose tiles are not cut along K."""
    start, wanted = 0, out.clone()
    for group, size in enumerate(sizes):
        rows = slice(start, start + size)
        if size:
            scaled = dict(scale_a=scales[0][rows].clone(), scale_b=scales[1][group:group + 1].clone()) if scales else {}
            matmul(a[rows], b[group], wanted[rows], kernel=kernel, **scaled)
        start += size
    return wanted


@pytest.mark.parametrize("kind, options", [(kind, options) for kind in KINDS for options in (*TILED, IN_TURNS)
                                           if (kind, options) != ("int8", IN_TURNS)], ids=str)
def test_each_group_has_the_bits_of_its_own_product_and_rows_behind_the_last_are_left(kind, options):
    source, kernel = random.Random(f"{kind} {options}"), fitted(**options)
    for _ in range(4):
        a, b, offsets, sizes, out = problem(source, kind)
        wanted = by_groups(a, b, sizes, out, Hopper(tile_n=128, stages=4))
        grouped_matmul(a, b, offsets, out, kernel=kernel)
        assert torch.equal(out, wanted), (sizes, a.shape, b.shape)


def test_scales_of_rows_and_columns_are_those_of_each_groups_own_product():
    source = random.Random(5)
    for _ in range(6):
        a, b, offsets, sizes, out = problem(source, "float8_e4m3fn")
        scales = torch.rand(len(a), 1, device="cuda") + 0.5, torch.rand(len(b), b.shape[2], device="cuda") + 0.5
        wanted = by_groups(a, b, sizes, out, Hopper(tile_n=128, stages=4), scales)
        grouped_matmul(a, b, offsets, out, scale_a=scales[0], scale_b=scales[1])
        assert torch.equal(out, wanted), (sizes, a.shape, b.shape)


@pytest.mark.parametrize("options", PROMOTED, ids=str)
def test_scales_for_every_128_of_k_are_those_of_each_groups_own_product(options):
    scaled = "128x1" if options.get("c_major") == "M" else "1x128"
    source, kernel = random.Random(str(options)), fitted(**options, dtype="e4m3", out="bf16", scaled=scaled)
    problems = iter(lambda: problem(source, "float8_e4m3fn"), None)
    for a, b, offsets, sizes, out in islice((found for found in problems if found[0].shape[1] > 128), 6):
        deep, across = -(-a.shape[1] // 128), -(-b.shape[2] // 128)
        of_rows, of_blocks = (torch.rand(*shape, device="cuda") + 0.5 for shape in ((len(a), deep), (len(b), deep, across)))
        start, wanted = 0, out.clone()
        for group, size in enumerate(sizes):
            rows = slice(start, start + size)
            if size:
                matmul(a[rows], b[group], wanted[rows], scale_a=of_rows[rows].clone(), scale_b=of_blocks[group].clone(),
                       kernel=Hopper(tile_n=128, stages=4))
            start += size
        grouped_matmul(a, b, offsets, out, scale_a=of_rows, scale_b=of_blocks, kernel=kernel)
        assert torch.equal(out, wanted), (sizes, a.shape, b.shape)


def test_rows_that_lie_by_columns_may_belong_to_groups_that_begin_at_any_of_them():
    source = random.Random(6)
    for _ in range(4):
        a, b, offsets, sizes, out = problem(source, "bfloat16")
        wanted = by_groups(a, b, sizes, out, Hopper(tile_n=128, stages=4))
        grouped_matmul(a.T.contiguous().T, b.contiguous(), offsets, out)
        assert torch.equal(out, wanted), (sizes, a.shape, b.shape)


def test_a_captured_product_reads_its_offsets_when_it_is_replayed():
    a, b = numbers((500, 256), "bfloat16"), numbers((20, 128, 256), "bfloat16").transpose(1, 2)
    offsets = torch.zeros(20, device="cuda", dtype=torch.int32)
    out = torch.zeros(500, 128, device="cuda", dtype=torch.bfloat16)
    prepared, graph = plan_grouped_matmul(a, b, offsets, out, overlap=True), torch.cuda.CUDAGraph()
    prepared()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        prepared()
    for seed in range(5):
        ends = np.sort(np.random.default_rng(seed).integers(0, 501, 20)).astype(np.int32)
        offsets.copy_(torch.from_numpy(ends))
        out.fill_(7)
        graph.replay()
        assert torch.equal(out, by_groups(a, b, np.diff(ends, prepend=0).tolist(), torch.full_like(out, 7), Hopper()))


def test_whatever_offsets_say_nothing_outside_of_out_is_written():
    a, b = numbers((300, 256), "bfloat16"), numbers((40, 128, 256), "bfloat16").transpose(1, 2)
    for seed in range(20):
        source = np.random.default_rng(seed)
        ends = source.integers(-2**31, 2**31, 40) if seed % 2 else source.integers(-9, 400, 40)
        around = torch.full((900, 128), 7, device="cuda", dtype=torch.bfloat16)
        grouped_matmul(a, b, torch.from_numpy(ends.astype(np.int32)).cuda(), around[300:600])
        assert (around[:300] == 7).all() and (around[600:] == 7).all() and not around.isnan().any()
