"""Runs `warptile` on NumPy matrices of bf16: on the GPU, or on the CPU machine, with the same arguments and answer."""

import numpy as np

from cuda_kernels.kernels.warptile.warptile import KERNEL
from cuda_kernels.run.device import device_name, goes_to_gpu, load, on_gpu
from cuda_kernels.run.mma import Run
from simlayout.errors import SimlayoutError
from simlayout.kernel import Problem


def run_warptile(a, b, device="auto", progress=None, hazards="raise"):
    """a @ b by `warptile`.

    a: (M, K), b: (K, N), NumPy arrays of bf16, as ml_dtypes.bfloat16 or as their bits in uint16, with contiguous rows.
    device: "gpu", "cpu" (the CPU machine) or "auto" (the GPU if there is one). progress, hazards: as of
    `cuda_kernels.run.mma.run`.

    Returns a Run with C (M, N), of a's dtype; products are added in f32, in the order of K, and rounded to bf16 once.
    Raises SimlayoutError for other input, DeviceError where "gpu" has none.

    >>> ones = np.full((8, 8), 0x3F80, np.uint16)
    >>> hex(run_warptile(ones, ones, device="cpu").c[7, 7])
    '0x4100'
    """
    (bits_a, lda), (bits_b, ldb) = _matrix("a", a), _matrix("b", b)
    if a.shape[1] != b.shape[0]:
        raise SimlayoutError(f"a is (M, K) = {a.shape} and b is (K, N) = {b.shape}: their K differ")
    problem = Problem(a.shape[0], b.shape[1], a.shape[1])
    if goes_to_gpu(device):
        return _run_gpu(bits_a, bits_b, problem, a.dtype)
    return _run_cpu(bits_a, bits_b, problem, a.dtype, lda, ldb, progress, hazards)


def _matrix(name, x):
    """A matrix as uint16 and its elements from row to row; SimlayoutError for anything but bf16 with contiguous rows."""
    if getattr(x, "ndim", None) != 2:
        raise SimlayoutError(f"{name} must be a matrix, not {getattr(x, 'shape', type(x).__name__)}")
    if x.dtype.name not in ("uint16", "bfloat16"):
        raise SimlayoutError(f"{name} is {x.dtype}; warptile multiplies bf16, as ml_dtypes.bfloat16 or its bits in uint16")
    rows, cols = x.shape
    if cols > 1 and x.strides[1] != 2:
        raise SimlayoutError(f"{name} must have contiguous rows: stride {x.strides[1]} bytes; use np.ascontiguousarray")
    if rows > 1 and (x.strides[0] < 2 * cols or x.strides[0] % 2):
        raise SimlayoutError(f"{name} has overlapping rows (stride {x.strides[0]} bytes); use np.ascontiguousarray")
    return x.view(np.uint16), x.strides[0] // 2 if rows > 1 else cols


def _run_cpu(a, b, problem, dtype, lda, ldb, progress, hazards):
    from simlayout import machine

    M, N, K = problem.M, problem.N, problem.K
    kernel = KERNEL.fitted(M, N, K, lda, ldb, a=a.ctypes.data, b=b.ctypes.data)
    c = np.full((M, N), 0xFFFF, np.uint16)
    trace = machine.run(kernel.body, kernel.grid(M, N), kernel.block, a, b, c, M, N, K, lda, ldb, N,
                        shared_bytes=kernel.shared_bytes, progress=progress, hazards=hazards,
                        accesses=kernel.plan.accesses if hazards != "off" else ())
    return Run(c.view(dtype), "CPU machine", trace)


def _run_gpu(a, b, problem, dtype):
    M, N, K = problem.M, problem.N, problem.K
    loaded = load(KERNEL.fitted(M, N, K))
    (c,) = on_gpu(f"warptile for {problem}", lambda a, b, c: loaded(a, b, c, M, N, K, K, N, N),
                  [np.ascontiguousarray(a), np.ascontiguousarray(b)], [np.full((M, N), 0xFFFF, np.uint16)])
    return Run(c.view(dtype), device_name())
