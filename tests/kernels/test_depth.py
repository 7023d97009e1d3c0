"""The depth of a stage follows from the bytes of its elements, and with it boxes, steps and the name of the wgmma."""

import ml_dtypes
import numpy as np
import pytest

from cuda_kernels.kernels.gemm import matrix
from cuda_kernels.kernels.hopper import rules
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.kernels.hopper.parts import SPAN, depth_of, load_box
from cuda_kernels.run.runner import run
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.hardware.matrix.wgmma import TYPES as OF_WGMMA
from simlayout.hardware.matrix.wgmma import majors_of


@pytest.mark.parametrize("dtype", OF_WGMMA)
def test_a_row_of_a_stage_is_128_bytes_of_any_type(dtype):
    assert depth_of(dtype) * TYPES[dtype].bytes == SPAN == 128
    for major in majors_of(dtype):
        assert load_box(major, 128, dtype)[0] * TYPES[dtype].bytes == SPAN


def test_a_configuration_of_fp8_multiplies_right_once_its_type_is_allowed(monkeypatch):
    monkeypatch.setitem(rules.CHOICES, "dtype", (*rules.CHOICES["dtype"], "e4m3"))
    config = Hopper(tile_m=64, tile_n=64, stages=1, store="direct", persistent=False, body="wgmma_tma", dtype="e4m3",
                    out="f32")
    kernel = kernel_of(config)
    assert (config.depth, config.wgmma, kernel.plan.tile[2]) == (128, "wgmma.m64n64k32.f32.e4m3.e4m3", 128)
    assert set(kernel.prove()) == {"A", "B"}
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (rows, 200 // 16 * 16)).astype(ml_dtypes.float8_e4m3fn) for rows in (70, 60))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    for x, y in ((a, b), (a.view(np.uint8), b.view(np.uint8))):
        assert (run(kernel, x, y.T, device="cpu").c == exact).all()      # small integers: no sum is rounded
    with pytest.raises(SimlayoutError, match="e4m3, as ml_dtypes.float8_e4m3fn or as its bits in uint8"):
        matrix("a", a.astype(np.float16), "e4m3")
