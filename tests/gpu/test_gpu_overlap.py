"""Products that are launched before the kernels ahead of them have ended, on a GPU of compute capability 9.0: each reads
what those wrote and writes only what they have read."""

import random
from ctypes import byref, c_void_p
from dataclasses import replace
from functools import partial

import pytest
from torch_kit import normal, on_hopper, torch

from cuda_kernels import grouped_matmul, matmul
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.run import driver

pytestmark = on_hopper

CONFIGS = {
    "small": Hopper(64, 64, 4, 1), "clusters": Hopper(64, 64, 4, 1, cluster_m=2, cluster_n=2),
    "slices": Hopper(64, 64, 4, 1, slices=4),
    "cut": Hopper(64, 64, 4, 1, split=True), "in turns": Hopper(64, 96, 4, 1, pingpong=True), "whole": Hopper(128, 128, 4),
    "transposed": Hopper(64, 80, 4, 1, c_major="M"), "direct": Hopper(64, 64, 4, store="direct"),
    "wgmma_tma": "wgmma_tma", "mma_tma": "mma_tma", "chosen": "auto",
}


def early(kernel, whether):
    """A kernel with the option, where it has it."""
    return kernel if isinstance(kernel, str) else replace(kernel, early=whether)


def chain(source, kernel, x, weights, scratch, wait):
    """Products and kernels of torch that each read what the one before has written and write what it has read; wait: each
    once the one before has ended."""
    y = scratch
    for weight in weights:
        kind = source.randrange(4)
        out = torch.empty_like(y) if kind == 0 else y
        if kind == 1:
            out.fill_(float("nan"))
        multiplied = partial(matmul, x, weight, out, kernel=early(kernel, source.random() < 0.6), overlap=not wait)
        multiplied()
        if wait:
            torch.cuda.synchronize()
        if kind == 2:
            out.mul_(0.5)
        if kind == 3:
            x.zero_()                                    # the operand of the kernel that was launched last
        x, y = out, x
    return x


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("size", [64, 256, 640])
def test_products_in_a_row_have_the_bits_of_those_that_wait(name, size):
    weights = [normal(size, size) / size ** 0.5 for _ in range(40)]
    first = normal(size, size)

    def run(wait):
        return chain(random.Random(size), CONFIGS[name], first.clone(), weights, torch.zeros_like(first), wait)

    want = run(True)
    assert want.isfinite().all() and want.abs().max() > 0
    for _ in range(5):
        assert torch.equal(run(False), want)


@pytest.mark.parametrize("name", ["small", "slices", "cut", "chosen"])
def test_products_in_a_graph_that_forks_and_joins_have_the_bits_of_those_that_wait(name):
    a, weights = normal(256, 256), [normal(256, 256) / 16 for _ in range(6)]
    b, c, d, e = (torch.zeros_like(a) for _ in range(4))
    side, kernel = torch.cuda.Stream(), early(CONFIGS[name], True)

    def products(wait):
        here = torch.cuda.current_stream()
        steps = ((a, weights[0], b, here), (b, weights[1], c, side), (b, weights[2], d, here), (c, weights[3], e, side),
                 (d, weights[4], c, here))
        for number, (x, weight, y, stream) in enumerate(steps):
            if number == 1:
                side.wait_stream(here)
            if number == 4:
                here.wait_stream(side)
            with torch.cuda.stream(stream):
                matmul(x, weight, y, kernel=kernel, overlap=not wait)
            if wait:
                torch.cuda.synchronize()

    products(True)
    want = c.clone(), e.clone()
    products(False)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            products(False)
    for _ in range(5):
        for x in (b, c, d, e):
            x.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(c, want[0]) and torch.equal(e, want[1])


def test_a_residual_and_a_bias_are_what_the_product_before_has_written():
    size, x = 640, normal(640, 640)
    weights = [normal(size, size) / size ** 0.5 for _ in range(40)]
    kernels = [Hopper(64, 80, 4, 1, early=True), Hopper(64, 96, 4, 1, c_major="M", early=True), Hopper(128, 64, 4)]

    def run(wait):
        before, out = torch.zeros_like(x), torch.empty_like(x)
        for number, weight in enumerate(weights):
            named = dict(residual=before, bias=before[number], beta=0.25, kernel=kernels[number % 3], overlap=not wait)
            matmul(x, weight, out, **named)
            if wait:
                torch.cuda.synchronize()
            before, out = out, before
        return before

    want = run(True)
    assert want.isfinite().all() and want.abs().max() > 0
    for _ in range(5):
        assert torch.equal(run(False), want)


@pytest.mark.parametrize("deep", [1, 3])
def test_scales_are_what_the_kernel_before_has_written(deep):
    a, b = (normal(384, 384, dtype=torch.float8_e4m3fn) for _ in range(2))
    scales, of_b = [torch.rand(384, deep, device="cuda") + 0.5 for _ in range(4)], torch.ones(deep, 384, device="cuda")
    of_a = torch.empty_like(scales[0])

    def product(number, overlap):
        of_a.copy_(scales[number])
        return matmul(a, b.t(), scale_a=of_a, scale_b=of_b, overlap=overlap)

    wanted = []
    for number in range(4):
        wanted.append(product(number, False))
        torch.cuda.synchronize()
    for number in [0, 1, 2, 3, 1, 0, 3, 2] * 20:
        assert torch.equal(product(number, True), wanted[number])


def test_two_streams_of_products_whose_ctas_wait_for_one_another_both_end():
    a, b = normal(300, 8000), normal(8000, 300) / 90
    outs = [torch.zeros(300, 300, device="cuda", dtype=torch.float16) for _ in range(2)]
    kernel, streams = Hopper(64, 64, 6, 1, split=True, early=True), [torch.cuda.Stream() for _ in range(2)]
    want = matmul(a, b, kernel=kernel, overlap=False)
    torch.cuda.synchronize()
    for _ in range(300):
        for out, stream in zip(outs, streams):
            matmul(a, b, out, kernel=kernel, stream=stream)
    torch.cuda.synchronize()
    assert all(torch.equal(out, want) for out in outs)


def test_a_grouped_product_reads_the_offsets_that_the_kernel_before_it_has_written():
    a, b = normal(512, 256, dtype=torch.bfloat16), normal(8, 256, 128, dtype=torch.bfloat16)
    offsets = torch.zeros(8, device="cuda", dtype=torch.int32)
    out = torch.zeros(512, 128, device="cuda", dtype=torch.bfloat16)
    ends = [torch.arange(step, 9 * step, step, device="cuda", dtype=torch.int32)[:8] for step in (64, 40, 8, 51)]
    wanted = []
    for of_groups in ends:
        out.zero_()
        wanted.append(grouped_matmul(a, b, of_groups, out, overlap=False).clone())
        torch.cuda.synchronize()
    for number in [0, 1, 2, 3, 1, 0, 3, 2] * 20:
        offsets.copy_(ends[number])
        out.zero_()
        grouped_matmul(a, b, offsets, out)
        assert torch.equal(out, wanted[number])


def test_a_product_on_the_legacy_stream_waits_for_the_streams_that_it_waits_for_without_a_word():
    library, handle = driver.cuda().library, c_void_p()
    assert not library.cuStreamCreate(byref(handle), 0)             # a blocking stream: the legacy one waits for it
    side = torch.cuda.ExternalStream(handle.value)
    a, b, early_kernel = normal(256, 256), normal(256, 256) / 16, Hopper(64, 64, 4, 1, early=True)
    out, other = torch.zeros_like(a), torch.zeros_like(a)
    for seed in range(20):
        fresh = normal(256, 256)
        want = matmul(fresh, b, kernel=early_kernel, overlap=False)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(2_000_000)
            a.copy_(fresh)
        matmul(fresh, b, other, kernel=early_kernel)                    # what the next one would overlap
        matmul(a, b, out, kernel=early_kernel)
        assert torch.equal(out, want), seed
    torch.cuda.synchronize()
    library.cuStreamDestroy_v2(handle)
