"""Kernels of Triton on NumPy arrays and torch tensors: Triton's own launcher runs over a driver that asks for PTX and
launches nothing.

What a launch specializes (divisibility by 16, the value 1, constexpr), how heuristics and grids are called, and what is
compiled, are therefore Triton's own.
"""

from copy import copy
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import LANES, MOST_THREADS, cuda_arch_of
from simlayout.machine.engine.launch import Launch
from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.languages import TRITON
from simlayout.machine.ptx.loading import read
from simlayout.machine.ptx.module import Module
from simlayout.programs.device import SimulatedDevice
from simlayout.programs.triton_arguments import passed, taken

PTX_VERSION = 90
"""Ten times the latest version of the PTX ISA that is asked for, unless a launch says `ptx_version=`; nor is one asked for
that Triton's own ptxas for the architecture does not take."""


def is_kernel(kernel: Any) -> bool:
    """Whether a kernel is what triton.jit, gluon.jit, triton.heuristics or triton.autotune make.

    >>> is_kernel(is_kernel)
    False
    """
    return any(cls.__module__.startswith("triton.runtime.") for cls in type(kernel).__mro__)


class _Driver:
    """What Triton asks of a GPU's driver. launched: (grid, arguments of the kernel) of the last launch."""

    def __init__(self, arch):
        self._chip, self.launched = cuda_arch_of(arch), None
        self.utils = SimpleNamespace(load_binary=lambda *_: (None, None, 0, 0, MOST_THREADS),
                                     get_device_properties=lambda _: {"max_shared_mem": self._chip.shared_bytes_per_cta})

    def get_current_device(self):
        return f"simulated {self._chip.name}"

    def get_current_stream(self, device):
        return 0

    def get_current_target(self):
        major, minor = self._chip.capability
        return import_module("triton.backends.compiler").GPUTarget("cuda", 10 * major + minor, LANES)

    def launcher_cls(self, source, metadata):
        """What Triton calls in the place of its own launcher: it notes what there is to launch."""

        def note(x, y, z, stream, function, packed, about, enter, leave, *args):
            self.launched = (x, y, z), args

        return note


class TritonKernel:
    """What triton.jit makes, on a SimulatedDevice; compiled once per specialization."""

    grid_alone = True

    def __init__(self, kernel: Any, device: SimulatedDevice):
        self._device, self._notes, self._modules = device, [], {}
        self._kernel = self._own(kernel)

    def launch(self, grid: Any, block: Any, shared_bytes: int, args: tuple, options: dict) -> Trace:
        """Runs it once; its arrays are changed in place. options: constexprs, num_warps and what else Triton takes. Raises
        what Triton raises."""
        if isinstance(grid, tuple) and any(isinstance(each, tuple) for each in grid):
            raise MachineError("a Triton kernel is launched with [grid] alone: num_warps=, given to the call, is its block")
        compiled, (size, values) = self._compiled(grid, args, options)
        entry, metadata = self._module(compiled)[compiled.name], compiled.metadata
        if not prod(size):                               # so Triton's own launcher does
            note = f"{compiled.src.fn.__name__}: the grid {size} has no programs, and Triton launches nothing"
            return replace(Launch(self._device.arch, "off").trace(), notes=(note, *self._notes))
        ctas = size[0] * metadata.num_ctas, *size[1:]
        trace = self._device.launch(
            entry, ctas, self._block(entry, metadata), self._values(entry, compiled, values, prod(ctas)), metadata.shared,
            cluster=metadata.num_ctas, together=metadata.launch_cooperative_grid, name=compiled.src.fn.__name__)
        return replace(trace, notes=(*trace.notes, *self._notes))

    def _own(self, kernel):
        """The kernel with caches of its own, and of configurations to choose from the first."""
        if type(kernel).__module__ == "triton.runtime.interpreter":
            raise MachineError("TRITON_INTERPRET is set, which makes functions for Triton's interpreter: unset it")
        if hasattr(kernel, "device_caches"):
            named = f"{kernel.cache_key} {kernel.fn.__code__.co_filename}"
            mine = copy(kernel)
            mine.hash = sha256(named.encode()).hexdigest()           # Triton keeps one text of equal kernels in two files
            mine.device_caches = type(mine.device_caches)(mine.create_binder)
            return mine
        mine = copy(kernel)
        if hasattr(mine, "configs"):
            if len(mine.configs) > 1:
                self._notes.append(f"{mine.base_fn.__name__}: nothing is timed here, so the first of {len(mine.configs)} "
                                   f"configurations runs: {mine.configs[0]}")
            mine.configs = mine.configs[:1]
        mine.fn = self._own(mine.fn)
        return mine

    def _compiled(self, grid, args, options):
        """(Triton's CompiledKernel, (grid, arguments)) of a launch."""
        active = import_module("triton.runtime.driver").driver
        driver, before = _Driver(self._device.arch), active._active
        named = {"ptx_version": _ptx_version(driver), **{name: taken(value) for name, value in options.items()}}
        grid = grid if callable(grid) or isinstance(grid, tuple | list) else (grid,)
        active.set_active(driver)
        try:
            compiled = self._kernel.run(*map(taken, args), grid=grid, warmup=False, **named)
        finally:
            active.set_active(before)
        return compiled, driver.launched

    def _block(self, entry, metadata):
        """The block that the PTX requires, which has the warps that Triton adds for copies; else num_warps."""
        return entry.required_block or (LANES * metadata.num_warps, 1, 1)

    def _module(self, compiled) -> Module:
        if compiled.hash not in self._modules:
            module = self._modules[compiled.hash] = read(compiled.asm["ptx"])
            module.python = TRITON
        return self._modules[compiled.hash]

    def _values(self, entry, compiled, args, ctas):
        """What `Entry.run` takes: the arguments that are no constants, and the scratch memory that Triton adds."""
        types = list(compiled.src.signature.values())
        metadata = compiled.metadata
        descriptors = iter(metadata.tensordesc_meta or ())
        values = [value for kind, arg in zip(types, args, strict=True) for value in passed(kind, arg, descriptors)]
        values += [np.zeros(size * ctas, np.uint8) if size else None
                   for size in (metadata.global_scratch_size, metadata.profile_scratch_size)]
        if len(values) != len(entry.parameters):
            raise MachineError(f"{entry.name} takes {len(entry.parameters)} parameters, and this version of Triton is "
                               f"expected to pass {len(values)}: Triton 3.9 is known")
        return tuple(values)


def _ptx_version(driver):
    nvidia = import_module("triton.backends.nvidia.compiler")
    return min(PTX_VERSION, nvidia.ptx_get_version(nvidia.get_ptxas(driver.get_current_target().arch).version))
