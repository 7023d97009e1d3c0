"""Epilogues on a GPU of compute capability 9.0: the CPU machine's bits, and torch's values; skipped where there is none."""

import random

import numpy as np
import pytest
from cut_tiles import SMS, assert_cut, cut_small_tiles
from epilogue_kit import CASES, asked
from torch_kit import normal, on_hopper, torch

from cuda_kernels import matmul, plan_matmul
from cuda_kernels.kernels.hopper.activations import ACTIVATIONS
from cuda_kernels.run.runner import run

pytestmark = on_hopper


@pytest.mark.parametrize("options, epilogue", CASES, ids=str)
@cut_small_tiles()
def test_what_is_finished_has_the_bits_of_the_cpu_machine(options, epilogue):
    kernel, operands = asked(np.random.default_rng(1), options, epilogue, (130, 72, 144))
    assert_cut(kernel.options, 130, 72, 144)
    there, here = (run(kernel, *operands, device=device, sms=SMS).c for device in ("gpu", "cpu"))
    assert np.ascontiguousarray(there).tobytes() == np.ascontiguousarray(here).tobytes()


def laid(M, N, dtype, turned):
    return normal(N, M, dtype=dtype).t() if turned else normal(M, N, dtype=dtype)


@pytest.mark.parametrize("seed", range(32))
def test_a_product_of_any_shape_and_strides_is_finished_right(seed):
    source = random.Random(seed)
    M, N, K = source.randrange(1, 700), source.randrange(1, 700), source.randrange(1, 900)
    dtype = source.choice([torch.float16, torch.bfloat16])
    out = source.choice([dtype, torch.float32])
    turned = source.choice([False, True])

    a, b = normal(M, K, dtype=dtype), normal(N, K, dtype=dtype).t()
    named = {"alpha": source.choice([1.0, 0.25])}
    named |= {"residual": laid(M, N, out, turned), "beta": -1.5} if source.randrange(2) else {}
    named |= {"bias": torch.randn(N, device="cuda").to(out)} if source.randrange(2) else {}
    named |= {"activation": source.choice(list(ACTIVATIONS))} if source.randrange(2) else {}
    named |= {"multiply": laid(M, N, out, turned)} if source.randrange(2) else {}
    c = named["residual"] if "residual" in named and source.randrange(2) else laid(M, N, out, turned)
    wanted = named["alpha"] * (a.double() @ b.double())
    if "residual" in named:
        wanted = wanted - 1.5 * named["residual"].double()
    if "bias" in named:
        wanted = wanted + named["bias"].double()
    if "activation" in named:
        wanted = torch.from_numpy(ACTIVATIONS[named["activation"]].exact(wanted.cpu().numpy())).cuda()
    if "multiply" in named:
        wanted = wanted * named["multiply"].double()
    matmul(a, b, c, **named)
    unit = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-17}[out]
    bound = unit * wanted.abs() + 2.0**-18 * K * (named["multiply"].double().abs() if "multiply" in named else 1)
    assert ((c.double() - wanted).abs() <= bound + 2.0**-24).all(), (M, N, K, dtype, out, turned, sorted(named))


def test_out_is_its_own_residual_in_a_graph_as_often_as_it_is_replayed():
    a, b = normal(300, 256), normal(256, 512)
    out = torch.zeros(300, 512, device="cuda", dtype=torch.float32)
    call = plan_matmul(a, b, out, residual=out, alpha=0.5, beta=0.5)
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    for _ in range(4):
        graph.replay()
    wanted = (a.double() @ b.double()) * sum(0.5 ** (i + 1) for i in range(5))
    assert (out.double() - wanted).abs().max() < 1e-3
