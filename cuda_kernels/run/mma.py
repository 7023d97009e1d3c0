"""Runs one GEMM kernel on NumPy matrices: on the GPU, or on the CPU machine, with the same arguments and answer."""

from dataclasses import dataclass

import numpy as np

from cuda_kernels.run.device import device_name, goes_to_gpu, load, on_gpu
from simlayout.errors import SimlayoutError
from simlayout.kernel import Problem


@dataclass(frozen=True)
class Run:
    """C (M, N) f16, the device that computed it, and, from the CPU machine, the trace of its accesses."""

    c: np.ndarray
    device: str
    trace: object = None


def problem_of(a, b):
    """The Problem of a (M, K) and b (N, K); SimlayoutError for anything but f16 matrices with one K, K-contiguous."""
    for name, x in (("a", a), ("b", b)):
        if getattr(x, "ndim", None) != 2:
            raise SimlayoutError(f"{name} must be a matrix, not {getattr(x, 'shape', type(x).__name__)}")
        if x.dtype != np.float16:
            raise SimlayoutError(f"{name} is {x.dtype}; these kernels multiply float16")
        if x.shape[1] > 1 and x.strides[1] != 2:
            raise SimlayoutError(f"{name} must be contiguous along K: stride {x.strides[1]} bytes; use np.ascontiguousarray")
        if x.shape[0] > 1 and (x.strides[0] < 2 * x.shape[1] or x.strides[0] % 2):
            raise SimlayoutError(f"{name} has overlapping rows (stride {x.strides[0]} bytes); use np.ascontiguousarray")
    if a.shape[1] != b.shape[1]:
        raise SimlayoutError(f"a is (M, K) = {a.shape} and b is (N, K) = {b.shape}: their K differ")
    return Problem(a.shape[0], b.shape[0], a.shape[1])


def run(kernel, a, b, device="auto", progress=None, hazards="raise"):
    """a @ b.T by one kernel.

    kernel: a Kernel. a: (M, K), b: (N, K), float16 NumPy arrays, contiguous along K. device: "gpu", "cpu" (the CPU
    machine) or "auto" (the GPU if there is one). progress: called with (CTAs done, CTAs) on the CPU machine. hazards:
    "raise", "report" or "off", what the CPU machine does about races and the like (`simlayout.machine.run`).

    Returns a Run with C (M, N), float16. Raises SimlayoutError for other input, DeviceError where "gpu" has none.

    >>> a, b = np.ones((16, 16), np.float16), np.eye(8, 16, dtype=np.float16)
    >>> from cuda_kernels import KERNELS
    >>> run(KERNELS["mma_permuted"], a, b, device="cpu").c.sum()
    np.float16(128.0)
    """
    problem, by_gpu = problem_of(a, b), goes_to_gpu(device)
    lda, ldb = a.strides[0] // 2 if len(a) > 1 else problem.K, b.strides[0] // 2 if len(b) > 1 else problem.K
    if by_gpu:
        lda = ldb = problem.K                        # the copies on the device are contiguous
    kernel = kernel.fitted(problem.M, problem.N, problem.K, lda, ldb)
    if by_gpu:
        return _run_gpu(kernel, a, b, problem)
    return _run_cpu(kernel, a, b, problem, lda, ldb, progress, hazards)


def _run_cpu(kernel, a, b, problem, lda, ldb, progress, hazards):
    from simlayout import machine

    c = np.full((problem.M, problem.N), np.nan, np.float16)
    trace = machine.run(kernel.body, kernel.grid(problem.M, problem.N), kernel.block, a, b, c, problem.M, problem.N,
                        problem.K, lda, ldb, problem.N, shared_bytes=kernel.shared_bytes, progress=progress, hazards=hazards,
                        accesses=kernel.plan.accesses if hazards != "off" else ())
    return Run(c, "CPU machine", trace)


def _run_gpu(kernel, a, b, problem):
    loaded, (M, N, K) = load(kernel), (problem.M, problem.N, problem.K)
    (c,) = on_gpu(f"{kernel.name} for {problem}", lambda a, b, c: loaded(a, b, c, M, N, K, K, K, N),
                  [np.ascontiguousarray(a), np.ascontiguousarray(b)], [np.full((M, N), np.nan, np.float16)])
    return Run(c, device_name())
