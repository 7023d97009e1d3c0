"""The host side of matmul with the driver of `fake_driver` and a torch made of NumPy."""

import sys
import types
from importlib import import_module

import numpy as np
from fake_driver import DTYPES, FakeLibrary

host = import_module("cuda_kernels.matmul.matmul")


class Device:
    """An array with nothing but `__cuda_array_interface__`, over NumPy memory."""

    def __init__(self, array, stream=None, read_only=False):
        self.array, self.stream, self.read_only = array, stream, read_only
        self.dtype, self.shape = array.dtype, array.shape

    @property
    def __cuda_array_interface__(self):
        x = self.array
        return {"shape": x.shape, "strides": None if x.flags.c_contiguous else x.strides, "typestr": x.dtype.str,
                "data": (x.ctypes.data, self.read_only), "version": 3, "stream": self.stream}


class TorchDtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


def make_torch():
    """A module like torch: tensors over NumPy memory that say they lie on a GPU."""
    torch = types.ModuleType("torch")
    torch.float16, torch.bfloat16, torch.float32 = map(TorchDtype, ("float16", "bfloat16", "float32"))
    torch.float8_e4m3fn, torch.float8_e5m2 = map(TorchDtype, ("float8_e4m3fn", "float8_e5m2"))
    torch.int8, torch.uint8, torch.int32 = map(TorchDtype, ("int8", "uint8", "int32"))
    of_numpy = {dtype: getattr(torch, dtype.name) for dtype in DTYPES.values()}
    to_numpy = {t: n for n, t in of_numpy.items()}

    class Tensor:
        requires_grad = False

        def __init__(self, array, device=0):
            self.array, self.device = array, device
            self.shape, self.is_cuda = array.shape, device >= 0
            self.dtype = of_numpy.get(array.dtype) or TorchDtype(str(array.dtype))
            self._stride = tuple(s // array.itemsize for s in array.strides)
            self._at = array.ctypes.data

        def data_ptr(self):
            return self._at

        def stride(self):
            return self._stride

        def get_device(self):
            return self.device

        def new_empty(self, shape):
            return empty(shape, self.dtype, self.device)

    Tensor.__module__ = "torch"
    torch.Tensor, torch.stream, torch.grad, torch.made = Tensor, 0, True, []

    def empty(shape, dtype, device):
        raw = np.full(2 * int(np.prod(shape)) + 64, np.nan, np.float32).view(np.uint8)
        start = -raw.ctypes.data % 64
        kind = to_numpy[dtype]
        made = Tensor(raw[start: start + int(np.prod(shape)) * kind.itemsize].view(kind).reshape(shape), device)
        torch.made.append((made, torch.stream))
        return made

    class _Stream:
        def __init__(self, handle, device=None):
            self.cuda_stream = handle

        def __enter__(self):
            self.before, torch.stream = torch.stream, self.cuda_stream

        def __exit__(self, *_):
            torch.stream = self.before

    torch.empty, torch.is_grad_enabled = empty, lambda: torch.grad
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: torch.stream)
    torch.cuda = types.SimpleNamespace(ExternalStream=_Stream, stream=lambda s: s)
    return torch


def install(monkeypatch, library=None, **machine):
    """Puts a fake driver and a fake torch where matmul finds them: (library, torch)."""
    from cuda_kernels.build import cache
    from cuda_kernels.matmul.tune import kept
    from cuda_kernels.matmul.workspace import Workspaces
    from cuda_kernels.run import driver

    recipe = import_module("cuda_kernels.matmul.recipe")
    library, torch = library or FakeLibrary(**machine), make_torch()
    cuda = driver.Cuda(library)
    monkeypatch.setattr(driver, "cuda", lambda: cuda)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(recipe, "RECIPES", {})
    monkeypatch.setattr(kept, "_here", {})
    monkeypatch.setattr(recipe, "WORKSPACES", Workspaces())

    def compiled(config, version=0):
        if config not in library.programs.values():
            library.programs[0x100 + len(library.programs)] = config
        number = next(k for k, v in library.programs.items() if v == config)
        return f"entry_{number}", number

    monkeypatch.setattr(cache, "compiled", compiled)
    return library, torch


def numbers(shape, dtype=np.float16, seed=0):
    """Small integers: sums of their products are exact in every order and dtype used here."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


def aligned(array):
    """A copy whose first element lies on 64 bytes."""
    raw = np.zeros(array.nbytes + 64, np.uint8)
    at = -raw.ctypes.data % 64
    made = raw[at: at + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made
