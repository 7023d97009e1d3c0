"""Device arrays, cuBLAS, CUDA graphs and clocks through torch, CuPy or Numba: what the timing asks of a library."""

import numpy as np

from simlayout.errors import DeviceError


class Torch:
    """torch: f16 and bf16, cuBLAS, and CUDA graphs."""

    how, dtypes, cublas = "CUDA graphs", ("f16", "bf16"), True

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("this torch has no CUDA")
        self.torch, self.version, self.full = torch, f"torch {torch.__version__}", torch.cuda.OutOfMemoryError

    def operands(self, problem):
        """(a, b, out) of a Problem, a and b random normal."""
        kind = {"f16": self.torch.float16, "bf16": self.torch.bfloat16}[problem.dtype]

        def matrix(rows, cols, order):
            shape = (cols, rows) if order == "T" else (rows, cols)
            made = self.torch.randn(*shape, device="cuda", dtype=kind)
            return made.T if order == "T" else made

        (M, N, K), (first, second) = (problem.M, problem.N, problem.K), problem.order
        return matrix(M, K, first), matrix(K, N, second), self.torch.empty(M, N, device="cuda", dtype=kind)

    def multiply(self, a, b, out):
        """out = a @ b by cuBLAS."""
        self.torch.matmul(a, b, out=out)

    def copy(self, x):
        """A new array with the same elements."""
        return x.clone()

    def distance(self, x, y):
        """The largest difference of two arrays; NaN if one is in them."""
        return (x.float() - y.float()).abs().max().item()

    def repeated(self, calls, count):
        """A function that makes `count` of some calls in rotation: a CUDA graph."""
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            _rotate(calls, count)
        return graph.replay

    def elapsed(self, work):
        """Seconds that a GPU needs for what a function launches."""
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        self.torch.cuda.synchronize()
        return start.elapsed_time(end) / 1e3

    def free(self):
        """Gives cached memory back."""
        self.torch.cuda.empty_cache()


class Cupy:
    """CuPy: f16 and cuBLAS. CuPy's cuBLAS refuses to be captured, so calls are launched one behind the other."""

    how, dtypes, cublas = "back-to-back launches", ("f16",), True

    def __init__(self):
        import cupy

        self.cupy, self.version, self.full = cupy, f"CuPy {cupy.__version__}", cupy.cuda.memory.OutOfMemoryError

    def operands(self, problem):
        """(a, b, out) of a Problem, a and b random normal."""
        def matrix(rows, cols, order):
            shape = (cols, rows) if order == "T" else (rows, cols)
            made = self.cupy.random.standard_normal(shape, dtype=np.float32).astype(np.float16)
            return made.T if order == "T" else made

        (M, N, K), (first, second) = (problem.M, problem.N, problem.K), problem.order
        return matrix(M, K, first), matrix(K, N, second), self.cupy.empty((M, N), np.float16)

    def multiply(self, a, b, out):
        """out = a @ b by cuBLAS."""
        self.cupy.matmul(a, b, out=out)

    def copy(self, x):
        """A new array with the same elements."""
        return x.copy()

    def distance(self, x, y):
        """The largest difference of two arrays; NaN if one is in them."""
        return float(abs(x.astype(np.float32) - y.astype(np.float32)).max())

    def repeated(self, calls, count):
        """A function that makes `count` of some calls in rotation."""
        return lambda: _rotate(calls, count)

    def elapsed(self, work):
        """Seconds that a GPU needs for what a function launches."""
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end) / 1e3

    def free(self):
        """Gives cached memory back."""
        self.cupy.get_default_memory_pool().free_all_blocks()


class Numba:
    """Numba alone: f16 arrays, back-to-back launches, and no cuBLAS to compare with."""

    how, dtypes, cublas = "back-to-back launches", ("f16",), False
    version = "neither torch nor CuPy is installed: no cuBLAS beside it"
    full = MemoryError

    def operands(self, problem):
        """(a, b, out) of a Problem, a and b random normal."""
        from numba import cuda

        source = np.random.default_rng()

        def matrix(rows, cols, order):
            shape = (cols, rows) if order == "T" else (rows, cols)
            made = source.standard_normal(shape, np.float32).astype(np.float16)
            return cuda.to_device(made.T if order == "T" else made)

        (M, N, K), (first, second) = (problem.M, problem.N, problem.K), problem.order
        return matrix(M, K, first), matrix(K, N, second), cuda.device_array((M, N), np.float16)

    def repeated(self, calls, count):
        """A function that makes `count` of some calls in rotation."""
        return lambda: _rotate(calls, count)

    def elapsed(self, work):
        """Seconds that a GPU needs for what a function launches."""
        from numba import cuda

        start, end = cuda.event(), cuda.event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return cuda.event_elapsed_time(start, end) / 1e3

    def free(self):
        """Nothing is cached."""


def _rotate(calls, count):
    for i in range(count):
        calls[i % len(calls)]()


def array_library():
    """torch, else CuPy, else Numba alone."""
    for library in (Torch, Cupy):
        try:
            return library()
        except ImportError:
            continue
    return Numba()


def cublas_library():
    """torch, else CuPy. Raises DeviceError where neither is installed, or no GPU is there."""
    from cuda_kernels.launch import gpu_problem

    if problem := gpu_problem():
        raise DeviceError(f"{problem}; `simlayout bench` times kernels on a GPU")
    found = array_library()
    if not found.cublas:
        raise DeviceError("no cuBLAS to compare with: pip install torch, or cupy-cuda13x")
    return found
