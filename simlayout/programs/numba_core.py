"""The classes of cuda.core that numba-cuda uses, over a SimulatedDevice."""

import ctypes
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.bindings import driver as real

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import MOST_THREADS, arch_of
from simlayout.programs.attributes import board_name
from simlayout.programs.device import SimulatedDevice, three
from simlayout.programs.modules import Kernel, Library, linked
from simlayout.programs.numba_driver import CONTEXT


class Device:
    """cuda.core.Device. binding: the SimulatedBinding."""

    def __init__(self, binding: Any, number: int = 0):
        arch = binding.device.arch
        self._binding, self.device_id, self.name = binding, number, board_name(arch)
        self.compute_capability = arch_of(arch).capability
        self.uuid = uuid.uuid5(uuid.NAMESPACE_DNS, self.name)

    @property
    def context(self):
        """Its primary context, an object with a handle."""
        return _Handle(real.CUcontext(CONTEXT))

    def set_current(self):
        """Makes the primary context that of this thread."""
        if int(self._binding.cuCtxGetCurrent()[1]) != CONTEXT:
            self._binding.cuCtxPushCurrent(real.CUcontext(CONTEXT))


@dataclass(frozen=True)
class _Handle:
    handle: Any


class Stream:
    """cuda.core.Stream of a handle."""

    def __init__(self, handle: int):
        self.handle = real.CUstream(handle)

    @classmethod
    def from_handle(cls, handle: Any) -> "Stream":
        """The stream of a handle."""
        return cls(int(handle))

    def __cuda_stream__(self):
        return 0, int(self.handle)

    def sync(self):
        """Nothing is under way."""


@dataclass(frozen=True)
class LaunchConfig:
    """cuda.core.LaunchConfig: grid, block in CTAs and threads; shmem_size in bytes."""

    grid: tuple
    block: tuple
    shmem_size: int = 0
    is_cooperative: bool = False
    cluster: int | None = None


@dataclass(frozen=True)
class Attributes:
    """Of a kernel: bytes of its memories, most threads of a CTA; of registers nothing is known before ptxas has run."""

    shared_size_bytes: int
    const_size_bytes: int
    local_size_bytes: int
    max_threads_per_block: int
    num_regs: int = 0


class LoadedKernel:
    """cuda.core.Kernel."""

    def __init__(self, kernel: Kernel):
        self.kernel, self.handle = kernel, kernel.handle
        entry = kernel.entry
        module = entry.module
        constant = sum(v.bytes for v in module.syntax.variables.values() if v.space == "const")
        local = int(entry.program.local_bytes) if entry.program else 0
        self.attributes = Attributes(entry.static_shared, constant, local, int(entry.most_threads or MOST_THREADS))


class ObjectCode:
    """cuda.core.ObjectCode: PTX text that is loaded on a device when its first kernel is asked for."""

    device: SimulatedDevice                              # of each subclass

    def __init__(self, text: str, name: str = ""):
        self.code, self.name = text, name
        self._library: Library | None = None

    @classmethod
    def from_ptx(cls, text: str | bytes, name: str = "", **_: Any) -> "ObjectCode":
        """Of PTX text."""
        return cls(text.decode() if isinstance(text, bytes) else text, name)

    def __getattr__(self, name):
        if name.startswith("from_"):
            raise MachineError(f"{name.removeprefix('from_')} is machine code or intermediate code, which the machine does "
                               "not execute: link PTX or CUDA C++")
        raise AttributeError(name)

    @property
    def library(self) -> Library:
        """The Library that it becomes."""
        if self._library is None:
            self._library = Library(self.device, self.code.rstrip("\0"))
        return self._library

    @property
    def handle(self) -> int:
        """That of its library."""
        return self.library.handle

    def get_kernel(self, name: str) -> LoadedKernel:
        """The kernel of a name."""
        return LoadedKernel(self.library.kernel(name))


def _text(code):
    """The PTX of an ObjectCode, ours or what NVRTC made."""
    if isinstance(code, ObjectCode):
        return code.code
    if getattr(code, "code_type", "ptx") != "ptx":
        raise MachineError(f"{code.code_type} cannot be linked here, only PTX")
    return code.code.decode() if isinstance(code.code, bytes) else code.code


class Linker:
    """cuda.core.Linker: of several PTX texts one."""

    def __init__(self, *codes: Any, options: Any = None):
        self._codes = codes

    def link(self, kind: str) -> ObjectCode:
        """All of them as one ObjectCode."""
        return ObjectCode(linked([_text(code) for code in self._codes]))

    def get_info_log(self) -> str:
        """Nothing to tell."""
        return ""

    get_error_log = get_info_log

    def close(self) -> None:
        """Nothing is held."""


class LinkerOptions:
    """cuda.core.LinkerOptions, of which none changes what PTX computes."""

    def __init__(self, **options: Any):
        self.options = options


def launch(device: SimulatedDevice, config: LaunchConfig, kernel: LoadedKernel, values: Sequence[Any]) -> None:
    """cuda.core.launch: runs a kernel."""
    entry = kernel.kernel.entry
    if len(values) != len(entry.parameters):
        raise MachineError(f"{entry.name} takes {len(entry.parameters)} parameters, and {len(values)} are given")
    given = tuple(_value(v, p) for v, p in zip(values, entry.parameters))
    device.launch(entry, three(config.grid), three(config.block), given, config.shmem_size,
                  cluster=config.cluster or 1, together=config.is_cooperative, name=source_name(entry.name))


def _value(value, parameter):
    """What `Entry.run` takes of what cuda.core.launch does: numbers, ctypes numbers, buffers."""
    if isinstance(value, ctypes._SimpleCData):
        data = bytes(value)
        return np.frombuffer(data, f"u{len(data)}")[0] if parameter.type[0] != "f" else value.value
    if isinstance(value, bool):
        return int(value)
    handle = getattr(value, "handle", None)
    return int(handle) if handle is not None else value


def source_name(symbol: str) -> str:
    """The name of a Python function in the symbol that Numba makes of it.

    >>> source_name("_ZN6cudapy8__main__3addB2v1B94cw51cE5ArrayIfLi1E1C7mutable7alignedE")
    'add'
    """
    if not symbol.startswith("_ZN"):
        return symbol
    parts, rest = [], symbol[3:]
    while rest[:1].isdigit():
        digits = len(rest) - len(rest.lstrip("0123456789"))
        size = int(rest[:digits])
        parts.append(rest[digits:digits + size])
        rest = rest[digits + size:]
    return parts[-1] if parts else symbol
