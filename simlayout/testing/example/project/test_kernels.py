"""Tests of the kernels, as one writes them for a GPU: launch, and look at the results.

    pytest                       on a GPU
    pytest --simlayout           without one; a table says what the launches cost
    pytest --simlayout-strict    the same, and bank conflicts and races fail the test that they are in

kernels.py fails in three tests, mended.py in none.
"""

import kernels
import mended
import numpy as np
import pytest
from numba import cuda

from simlayout.testing import assert_wavefronts


@pytest.fixture(params=[kernels, mended], ids=["kernels", "mended"])
def module(request):
    return request.param


def test_transpose(module):
    a = np.random.default_rng(0).random((70, 40), np.float32)
    out = cuda.device_array((40, 70), np.float32)
    module.transpose[(2, 3), (32, 32)](cuda.to_device(a), out)
    assert (out.copy_to_host() == a.T).all()


def test_block_sums(module):
    a = np.arange(1000, dtype=np.int32)
    out = np.zeros(4, np.int32)
    module.block_sums[4, 256](a, out)
    assert out.tolist() == [a[i:i + 256].sum() for i in range(0, 1000, 256)]


def test_smooth(module):
    a = np.random.default_rng(0).integers(0, 100, 300).astype(np.float32)
    out = np.zeros_like(a)
    module.smooth[3, 128](a, out)
    wide = np.concatenate([[0], a, [0]])
    assert out == pytest.approx((wide[:-2] + wide[1:-1] + wide[2:]) / 3)


def test_a_transposed_tile_costs_what_its_bytes_need(simulate):
    a = np.zeros((32, 32), np.float32)
    trace = simulate(mended.transpose)[1, (32, 32)](a, a.copy())
    assert_wavefronts(trace, "tile[x, y]", at_most=32)
