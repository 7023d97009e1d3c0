"""What only a GPU can show; skipped where there is none."""

from importlib import import_module

import numpy as np
import pytest
from gemm_kit import inputs

from cuda_kernels.bench.rungs import rungs
from cuda_kernels.kernels import KERNELS, MMA_KERNELS
from cuda_kernels.run.check import compare
from cuda_kernels.run.device import gpu_problem
from cuda_kernels.run.runner import run
from simlayout.codegen import identifier

pytestmark = pytest.mark.skipif(gpu_problem() is not None, reason=str(gpu_problem()))

SHAPES = [(256, 256, 128), (600, 2400, 40), (1000, 1384, 520), (1, 8, 16), (257, 129, 31), (64, 64, 8), (300, 130, 100)]

VARIANTS = [
    *(KERNELS[name].variant(stages=s) for name in ("mma_base", "mma_padded", "mma_permuted") for s in (1, 2, 3, 4)),
    *(KERNELS[name].variant(accumulate="f16") for name in MMA_KERNELS),
    *(KERNELS[name].variant(warps=w, loads=load) for name in ("mma_blocks", "mma_crosswise") for w in (4, 8)
      for load in ("ldmatrix", "lds", "mixed")),
    KERNELS["mma_crosswise"].variant(c_store="scalar"),
    *(KERNELS["mma_blocks"].variant(warps=w, loads="wmma") for w in (4, 8)),
    *(rung.kernel for rung in rungs("MatmulTutorial")), KERNELS["mma_permuted"].variant(stripes="serpentine"),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", VARIANTS, ids=lambda k: f"{k.name}-{k.options}")
def test_every_variant_is_right_at_every_shape(kernel, shape):
    a, b = inputs(*shape)
    error, how = compare(run(kernel, a, b.T, device="gpu").c, a, b, kernel.options.accumulate, np.random.default_rng(1))
    assert error <= 1, how


@pytest.mark.parametrize("name", MMA_KERNELS)
def test_every_kernel_is_right_at_4096_cubed(name):
    a, b = inputs(4096, 4096, 4096)
    error, how = compare(run(KERNELS[name], a, b.T, device="gpu").c, a, b, "f32", np.random.default_rng(1))
    assert error <= 1, how


@pytest.mark.parametrize("module", [m for k in MMA_KERNELS.values() for m in k.emits()])
def test_emitted_index_functions_run_on_the_gpu_as_the_model_says(module):
    from on_device import on_device

    index = import_module(f"cuda_kernels.emitted.{module}")
    for kernel in MMA_KERNELS.values():
        for access in kernel.emits().get(module, ()):
            function = getattr(index, identifier(access.name))
            assert np.array_equal(on_device(function, access), access.offsets() * (4 if access.dtype == "f32" else 2))
