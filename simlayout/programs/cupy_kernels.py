"""RawKernel and RawModule of CuPy on NumPy arrays: NVRTC compiles their source with CuPy's own options, without a GPU."""

import linecache
import os
from copy import copy
from hashlib import sha256
from importlib import import_module
from typing import Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import cuda_arch_of
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.engine.trace import Trace
from simlayout.machine.ptx.loading import read
from simlayout.machine.ptx.module import Module
from simlayout.programs.device import SimulatedDevice

SCALARS = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}
"""What CuPy passes for Python's numbers (CuPy's documentation, User-Defined Kernels: kernel arguments)."""

NO_MODULE = "only a cupy.RawModule has functions: launch the kernel itself"


def is_kernel(kernel: Any) -> bool:
    """Whether a kernel is a cupy.RawKernel or a cupy.RawModule.

    >>> is_kernel(is_kernel)
    False
    """
    return type(kernel).__module__ == "cupy._core.raw" and type(kernel).__name__ in ("RawKernel", "RawModule")


class CupyKernel:
    """A RawKernel, or a kernel of a RawModule, by default its only one, on a SimulatedDevice."""

    def __init__(self, kernel: Any, device: SimulatedDevice):
        self._kernel, self._device, self._name = kernel, device, getattr(kernel, "name", "")
        self._made: list[tuple[Module, dict[str, str]]] = []     # once it is compiled

    def named(self, name: str) -> "CupyKernel":
        """The kernel of a name, or a name expression, of the same compiled module.

        Raises MachineError for a RawKernel, which is one."""
        if hasattr(self._kernel, "name"):
            raise MachineError(NO_MODULE)
        other = copy(self)
        other._name = name
        return other

    def launch(self, grid: Any, block: Any, shared_bytes: int, args: tuple, options: dict) -> Trace:
        """Runs it once; its arrays are changed in place, and views of them are pointers to their first element, as CuPy
        passes them. Raises MachineError for an argument that has another size than the parameter."""
        if options:
            raise MachineError(f"a kernel of CuPy takes no options: {', '.join(options)}")
        entry = self._entry()
        values = args if len(args) != len(entry.parameters) else \
            tuple(_value(entry, i, value) for i, value in enumerate(args))
        return self._device.launch(entry, grid, block, values, shared_bytes,
                                   together=self._kernel.enable_cooperative_groups, name=self._name)

    def _entry(self):
        if not self._made:
            kernel = self._kernel
            if not kernel.code or kernel.backend != "nvrtc":
                raise MachineError("only source that NVRTC compiles can be simulated: give the kernel code= and "
                                   "backend='nvrtc'")
            self._made.append(compiled(kernel.code, tuple(kernel.options), self._device.arch, self._name,
                                       tuple(getattr(kernel, "name_expressions", None) or ())))
        module, names = self._made[0]
        symbol = names.get(self._name, self._name)
        if symbol in module.entries or not symbol and len(module.entries) == 1:
            return module.entries[symbol or next(iter(module.entries))]
        known = ", ".join([*names, *(name for name in module.entries if name not in names.values())])
        raise MachineError(f"no kernel {self._name!r} in this source; it has {known}" if symbol else
                           f"choose a kernel of the module by .get_function(name): {known}")


def compiled(code: str, options: tuple[str, ...], arch: str, name: str,
             expressions: tuple[str, ...] = ()) -> tuple[Module, dict[str, str]]:
    """(The Module of CUDA C++ source, {name expression: symbol}). Raises what CuPy raises for source that is wrong."""
    core, compiler = import_module("cupy._core.core"), import_module("cupy.cuda.compiler")
    target = "-arch=compute_{}{}".format(*cuda_arch_of(arch).capability)
    given = (*core.assemble_cupy_compiler_options(options), "-ftz=true", "--device-as-default-execution-space", target,
             "-lineinfo")
    path = _listed(code, name or "module")
    text, names = compiler._NVRTCProgram(code, path, name_expressions=expressions or None, method="ptx").compile(given)
    return read(text.decode() if isinstance(text, bytes) else text), names or {}


def _listed(code, name):
    """A path under which listings find source that is in no file."""
    path = os.path.abspath(f"{name}.cu")
    if linecache.getlines(path) not in ([], code.splitlines(True)):
        path = os.path.abspath(f"{name}.{sha256(code.encode()).hexdigest()[:8]}.cu")
    linecache.cache[path] = len(code), None, code.splitlines(True), path
    return path


def _value(entry, position, value):
    """An argument as CuPy passes it."""
    parameter, scalar = entry.parameters[position], value
    if isinstance(value, tuple(SCALARS)) and not isinstance(value, np.generic):
        scalar = SCALARS[type(value)](value)
    if not isinstance(scalar, np.generic):
        return value
    size = parameter.bytes if parameter.shape else width_of(parameter.type) // 8
    if scalar.nbytes != size and not (scalar.dtype.kind in "iub" and scalar.nbytes > size):
        raise MachineError(f"argument {position + 1} of {entry.name}: CuPy passes {value!r} as {scalar.dtype}, "
                           f"{scalar.nbytes} bytes, and the parameter has {size}: give it a NumPy type of that size")
    if parameter.shape:
        return scalar
    kind = {"f": "f", "b": "u"}.get(parameter.type[0], "u")
    if (scalar.dtype.kind == "f") != (kind == "f"):
        raise MachineError(f"argument {position + 1} of {entry.name}: CuPy passes {value!r} as {scalar.dtype}, and the "
                           f"parameter is .{parameter.type}: convert it")
    return int.from_bytes(scalar.tobytes()[:size], "little") if kind == "u" else scalar
