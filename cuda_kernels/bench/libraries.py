"""Device arrays, cuBLAS, CUDA graphs and clocks through torch, CuPy or Numba: what the timing asks of a library."""

from types import MappingProxyType

import numpy as np

from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import DeviceError


class Library:
    """What the libraries have in common.

    how: calls are repeated; dtypes: of operands; cublas: whether it has a cuBLAS to compare with; version: its name too;
    full: the exception for a lack of memory.
    """

    how, cublas = "back-to-back launches", True
    dtypes: tuple[str, ...] = ("f16",)

    def operands(self, problem):
        """(a, b, out) of a Product, and where it has scales or an epilogue {argument of `matmul`: what is passed}; random
        normal, or any integers."""
        def matrix(rows, cols, order):
            array = self.normal((cols, rows) if order == "T" else (rows, cols), problem.dtype)
            return self.on_gpu(array.T if order == "T" else array)

        (M, N, K), (first, second) = (problem.M, problem.N, problem.K), problem.order
        return matrix(M, K, first), matrix(K, N, second), self.empty((M, N), problem.out), *self.named(problem)

    def named(self, problem):
        """({argument of `matmul`: what is passed},) of a Product, () of one without: only torch has such."""
        return ()

    def on_gpu(self, array):
        """An array that `normal` made, on the GPU in the same order of memory."""
        return array

    def clear(self, x):
        """Writes zeros to an array."""
        x[...] = 0

    def repeated(self, calls, count):
        """A function that makes `count` of some calls in rotation."""
        return lambda: _rotate(calls, count)

    def apart(self, calls):
        """Calls, each behind a kernel of the library's own that adds 1 to a million numbers."""
        numbers = self.empty((1 << 20,), "f16")

        def behind(call):
            def both():
                numbers.__iadd__(1)
                call()
            return both

        return [behind(call) for call in calls]

    def elapsed(self, work):
        """Seconds that a GPU needs for what a function launches."""
        start, end = self.event(), self.event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return self.milliseconds(start, end) / 1e3


class Torch(Library):
    """torch: all types, cuBLAS, and CUDA graphs."""

    how, dtypes = "CUDA graphs", ("f16", "bf16", "e4m3", "e5m2", "s8")

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("this torch has no CUDA")
        self.torch, self.version, self.full = torch, f"torch {torch.__version__}", torch.cuda.OutOfMemoryError
        self._kinds = {name: getattr(torch, TYPES[name].storage) for name in (*self.dtypes, "s32")
                       if hasattr(torch, TYPES[name].storage)}

    def normal(self, shape, dtype):
        """Random normal numbers, or any integers, C-contiguous."""
        if not TYPES[dtype].exponent:
            low, high = TYPES[dtype].limits
            return self.torch.randint(low, high + 1, shape, device="cuda", dtype=self._kinds[dtype])
        if TYPES[dtype].bits > 8:
            return self.torch.randn(*shape, device="cuda", dtype=self._kinds[dtype])
        return self.torch.randn(*shape, device="cuda").to(self._kinds[dtype])

    def named(self, problem):
        """({argument of `matmul`: what is passed},) of a Product, () of one without scales or an epilogue; scales in the
        orders of memory that torch._scaled_mm asks for."""
        words = EPILOGUES[problem.epilogue]
        named = {name: self.normal((problem.N,) if name == "bias" else (problem.M, problem.N), problem.out)
                 for name in words.reads}
        named |= {"activation": words.activation} if words.activation else {}
        named |= dict(zip(("scale_a", "scale_b"), self.scales(problem)))
        return (named,) if named else ()

    def scales(self, problem):
        """(scale_a, scale_b) of a Product, of groups with a first dimension of these in the second; () of one without."""
        (M, N), deep = (problem.M, problem.N), -(-problem.K // 128)
        lines = -(-deep // 4) * 4                        # cuBLAS reads the scales of B so far apart
        blocks = (deep, M), (*(problem.groups,) * (problem.groups > 0), -(-N // 128), lines)
        shapes = {"": (), "tensor": ((1, 1), (1, 1)), "lines": ((M, 1), (problem.groups or 1, N)), "1x128": blocks}
        made = [self.torch.rand(*shape, device="cuda") + 0.5 for shape in shapes[problem.scaled]]
        return [x[..., :deep].mT if i else x.t() for i, x in enumerate(made)] if problem.scaled == "1x128" else made

    def empty(self, shape, dtype):
        """An array whose elements are not set."""
        return self.torch.empty(*shape, device="cuda", dtype=self._kinds[dtype])

    def multiply(self, a, b, out, named=MappingProxyType({})):
        """out = a @ b by cuBLAS; of 8-bit floats with fast accumulation, but where every 128 of K have scales, as torch
        wants it. An epilogue is done by cuBLASLt as far as torch asks it to, the rest by torch's own kernels."""
        if a.dtype is self._kinds.get("s8"):
            self.torch._int_mm(a, b, out=out)
        elif "scale_a" in named:
            scales = named["scale_a"], named["scale_b"]
            fast = scales[0].numel() in (1, a.shape[0])
            self.torch._scaled_mm(a, b, *scales, out_dtype=out.dtype, use_fast_accum=fast, out=out)
        elif named:
            self._finish(a, b, out, **named)
        else:
            self.torch.matmul(a, b, out=out)

    def _finish(self, a, b, out, bias=None, residual=None, activation=None, multiply=None):
        torch = self.torch
        fused = bias is not None and residual is None and activation in ("relu", "gelu_tanh")
        added = residual if residual is not None else bias
        if fused:
            torch._addmm_activation(bias, a, b, use_gelu=activation == "gelu_tanh", out=out)
        elif added is not None:
            torch.addmm(added, a, b, out=out)
        else:
            torch.matmul(a, b, out=out)
        if residual is not None and bias is not None:
            out += bias
        if activation and not fused:
            functions = {"relu": torch.relu_, "silu": lambda x: torch.nn.functional.silu(x, inplace=True),
                         "gelu": lambda x: x.copy_(torch.nn.functional.gelu(x)),
                         "gelu_tanh": lambda x: x.copy_(torch.nn.functional.gelu(x, approximate="tanh"))}
            functions[activation](out)
        if multiply is not None:
            out *= multiply

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

    def event(self):
        """An event that can be timed."""
        return self.torch.cuda.Event(enable_timing=True)

    def milliseconds(self, start, end):
        """Between two events."""
        return start.elapsed_time(end)

    def free(self):
        """Gives cached memory back."""
        self.torch.cuda.empty_cache()


class Cupy(Library):
    """CuPy: f16 and cuBLAS. CuPy's cuBLAS refuses to be captured, so calls are launched one behind the other."""

    def __init__(self):
        import cupy

        self.cupy, self.version, self.full = cupy, f"CuPy {cupy.__version__}", cupy.cuda.memory.OutOfMemoryError

    def normal(self, shape, dtype):
        """Random normal numbers, C-contiguous."""
        return self.cupy.random.standard_normal(shape, dtype=np.float32).astype(np.float16)

    def empty(self, shape, dtype):
        """An array whose elements are not set."""
        return self.cupy.empty(shape, np.float16)

    def multiply(self, a, b, out):
        """out = a @ b by cuBLAS."""
        self.cupy.matmul(a, b, out=out)

    def copy(self, x):
        """A new array with the same elements."""
        return x.copy()

    def distance(self, x, y):
        """The largest difference of two arrays; NaN if one is in them."""
        return float(abs(x.astype(np.float32) - y.astype(np.float32)).max())

    def event(self):
        """An event that can be timed."""
        return self.cupy.cuda.Event()

    def milliseconds(self, start, end):
        """Between two events."""
        return self.cupy.cuda.get_elapsed_time(start, end)

    def free(self):
        """Gives cached memory back."""
        self.cupy.get_default_memory_pool().free_all_blocks()


class Numba(Library):
    """Numba alone: f16 arrays, back-to-back launches, and no cuBLAS to compare with."""

    cublas = False
    version = "neither torch nor CuPy is installed: no cuBLAS beside it"
    full = MemoryError

    def __init__(self):
        self._source = np.random.default_rng()

    def normal(self, shape, dtype):
        """Random normal numbers, C-contiguous, in the CPU's memory."""
        return self._source.standard_normal(shape, np.float32).astype(np.float16)

    def on_gpu(self, array):
        """An array that `normal` made, on the GPU in the same order of memory."""
        return self._cuda.to_device(array)

    def empty(self, shape, dtype):
        """An array whose elements are not set."""
        return self._cuda.device_array(shape, np.float16)

    def event(self):
        """An event that can be timed."""
        return self._cuda.event()

    def milliseconds(self, start, end):
        """Between two events."""
        return self._cuda.event_elapsed_time(start, end)

    @property
    def _cuda(self):
        from numba import cuda

        return cuda

    def free(self):
        """Nothing is cached."""


def _rotate(calls, count):
    for i in range(count):
        calls[i % len(calls)]()


def torch_library(why):
    """torch. Raises DeviceError where there is no GPU, or no torch with `why` it is needed."""
    from cuda_kernels.run.device import gpu_problem

    if problem := gpu_problem():
        raise DeviceError(problem)
    try:
        return Torch()
    except ImportError as error:
        raise DeviceError(f"{why}, and {error}: pip install torch") from None


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
    from cuda_kernels.run.device import gpu_problem

    if problem := gpu_problem():
        raise DeviceError(f"{problem}; `simlayout bench` times kernels on a GPU")
    library = array_library()
    if not library.cublas:
        raise DeviceError("no cuBLAS to compare with: pip install torch, or cupy-cuda13x")
    return library
