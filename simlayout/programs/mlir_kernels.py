"""Kernels of numba-cuda-mlir: compiled to PTX without a GPU, and given the arguments that their MLIR takes.

Its launcher is compiled code over the driver, so this does what it does: arrays become memref descriptors (MLIR, "MemRef
descriptors in the LLVM lowering": allocated and aligned pointer, offset, sizes, strides in elements), tuples their members.
"""

from importlib import import_module
from typing import Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import cuda_arch_of
from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.languages import NUMBA
from simlayout.machine.ptx.entry import Entry
from simlayout.machine.ptx.loading import load
from simlayout.programs.device import SimulatedDevice


def is_kernel(kernel: Any) -> bool:
    """Whether a kernel is what numba_cuda_mlir.cuda.jit makes.

    >>> is_kernel(is_kernel)
    False
    """
    return type(kernel).__module__ == "numba_cuda_mlir.descriptor"


class MlirKernel:
    """What numba_cuda_mlir.cuda.jit makes, on a SimulatedDevice; compiled once per signature."""

    def __init__(self, kernel: Any, device: SimulatedDevice):
        self._kernel, self._device = kernel, device
        self._typeof = import_module("numba_cuda_mlir.numba_cuda.typing.typeof").typeof
        self._entries: dict[tuple, Entry] = {}

    def launch(self, grid: Any, block: Any, shared_bytes: int, args: tuple, options: dict) -> Trace:
        """Runs it once; its arrays are changed in place. Raises MachineError for arguments that are no arrays of numbers,
        numbers or tuples of these, and what numba-cuda-mlir raises."""
        if options:
            raise MachineError(f"a kernel of numba-cuda-mlir takes no options: {', '.join(options)}")
        signature = tuple(map(self._typeof, args))
        if signature not in self._entries:
            self._entries[signature] = self._compiled(signature)
        entry, values = self._entries[signature], tuple(value for arg in args for value in _parameters(arg))
        return self._device.launch(entry, grid, block, values, shared_bytes, name=self._kernel.py_func.__name__)

    def _compiled(self, signature):
        cuda, tools = (import_module(f"numba_cuda_mlir.{name}") for name in ("cuda", "tools"))
        known = {name: value for name, value in self._kernel.targetoptions.items() if name in ("fastmath", "opt")}
        capability, before = cuda_arch_of(self._device.arch).capability, tools._cached_cc
        tools._cached_cc = capability                            # it would ask a driver
        try:
            text, _ = cuda.compile_ptx(self._kernel.py_func, signature, lineinfo=True, device=False, cc=capability, **known)
        finally:
            tools._cached_cc = before
        module = load(text)
        module.python = NUMBA
        return module.entry()


def _parameters(value):
    """What the parameters are for an argument."""
    if isinstance(value, tuple):
        for part in value:
            yield from _parameters(part)
    elif isinstance(value, np.ndarray):
        yield from _memref(value)
    elif isinstance(value, bool | np.bool_):
        yield int(value)
    elif isinstance(value, int | float | np.integer | np.floating):
        yield value
    else:
        raise MachineError(f"{type(value).__name__}: of numba-cuda-mlir's arguments only arrays, numbers and tuples of them "
                           "are known here; numba-cuda takes more")


def _memref(array):
    """The fields of an array's memref descriptor."""
    if array.dtype.kind not in "biuf" or any(stride % array.itemsize for stride in array.strides):
        raise MachineError(f"an array of {array.dtype} with strides {array.strides}: only numbers at whole elements are "
                           "known here; numba-cuda takes more")
    yield from (array, array, 0, *array.shape, *(stride // array.itemsize for stride in array.strides))
