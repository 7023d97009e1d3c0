"""Every rung of the ladder on a GPU: right at ragged shapes, with the bits of the CPU machine; skipped without one."""

import random

import numpy as np
import pytest

from cuda_kernels.bench.rungs import rungs
from cuda_kernels.kernels import named
from cuda_kernels.run.check import compare, rounded
from cuda_kernels.run.device import gpu_problem
from cuda_kernels.run.runner import run
from simlayout.kernel import Problem

MISSING = gpu_problem(named("wgmma_tma").needs)
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

RUNGS = {rung.label: rung.kernel for rung in rungs()}


def operands(kernel, M, N, K):
    """(a (M, K), b (N, K), the generator that drew them), normal."""
    generator = np.random.default_rng([M, N, K])
    return *(rounded(kernel.dtypes[0], generator.standard_normal((rows, K), np.float32)) for rows in (M, N)), generator


@pytest.mark.parametrize("label", RUNGS)
def test_a_rung_is_right_at_20_ragged_shapes(label):
    source, kernel = random.Random(label), RUNGS[label]
    for _ in range(20):
        M, N, K = (source.randint(1, 700) for _ in range(3))
        a, b, generator = operands(kernel, M, N, K)
        done = run(kernel, a, b.T, device="gpu")
        error, how = compare(done.c, a, b, getattr(kernel.options, "accumulate", "f32"), generator)
        assert error <= 1, (M, N, K, how)


@pytest.mark.parametrize("label", RUNGS)
def test_a_rung_has_the_bits_of_the_cpu_machine_and_no_hazard_there(label):
    M, N, K = 300, 136, 200
    kernel = RUNGS[label].fitted(Problem(M, N, K))
    a, b, _ = operands(kernel, M, N, K)
    on_gpu, on_cpu = (run(kernel, a, b.T, device=device).c for device in ("gpu", "cpu"))
    assert (np.asarray(on_gpu).view(np.uint16) == np.asarray(on_cpu).view(np.uint16)).all()
