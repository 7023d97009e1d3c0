"""Kernels of numba-cuda-mlir, launched through simlayout.simulate."""

import inspect

import numpy as np
import pytest

import simlayout as sl
from simlayout.errors import HazardError, MachineError

pytest.importorskip("numba_cuda_mlir")
from numba_cuda_mlir import cuda


@cuda.jit
def turned(x, y, scale, pair):
    tile = cuda.shared.array((32, 32), np.float32)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    tile[j, i] = x[j, i]
    cuda.syncthreads()
    y[j, i] = scale * tile[i, j] + pair[0] * pair[1]


@cuda.jit
def shifted(x):
    tile = cuda.shared.array(64, np.int32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    x[i] = tile[63 - i]


@cuda.jit
def copied(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]


def line(kernel, text):
    lines, first = inspect.getsourcelines(kernel.py_func)
    return first + next(i for i, each in enumerate(lines) if text in each)


def test_a_kernel_runs_with_scalars_and_tuples_and_its_conflicts_have_the_lines_of_its_source():
    x, y = np.random.default_rng(0).random((32, 32), np.float32), np.zeros((32, 32), np.float32)
    trace = sl.simulate(turned)[1, (32, 32)](x, y, 2.0, (3, 0.5))
    assert (y == (2 * x.T.astype(np.float64) + 1.5).astype(np.float32)).all()
    rows = {s.line: s for s in trace.source_lines() if s.file == __file__}
    assert rows[line(turned, "tile[j, i] =")].excess == 0
    assert rows[line(turned, "y[j, i] =")].excess == 31 * 32


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f4", "f8"])
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[::2, ::3], lambda x: x.T, lambda x: x[::-1, 1:]],
                         ids=["whole", "strided", "transposed", "reversed"])
def test_arrays_of_any_strides_arrive_and_come_back(dtype, view):
    x = view(np.arange(60).astype(dtype).reshape(10, 6))
    y = view(np.zeros((10, 6), dtype))
    sl.simulate(copied)[1, 32](x, y)
    assert (x == y).all()


def test_a_race_is_raised_with_its_line():
    with pytest.raises(HazardError, match=rf"test_mlir_kernels.py:{line(shifted, '63 - i')}"):
        sl.simulate(shifted)[1, 64](np.arange(64, dtype=np.int32))


def test_a_kernel_is_compiled_once_for_a_signature():
    kernel, x = sl.simulate(copied), np.ones((4, 4))
    for _ in range(2):
        kernel[1, 32](x, x.copy())
    assert len(kernel._kernel._entries) == 1


def test_an_array_of_what_is_no_number_is_refused():
    with pytest.raises(MachineError, match="array of complex128"):
        sl.simulate(copied)[1, 32](np.zeros((2, 2), complex), np.zeros((2, 2), complex))
