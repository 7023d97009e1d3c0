"""The classes of cuda.core that numba-cuda uses, over a SimulatedDevice."""

import ctypes
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Any, NoReturn

import numpy as np
from cuda.bindings import driver as real

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import MOST_THREADS, cuda_arch_of
from simlayout.programs.attributes import board_name
from simlayout.programs.device import SimulatedDevice, three
from simlayout.programs.modules import Kernel, Library
from simlayout.programs.numba_driver import CONTEXT


class _Simulated:
    """A class of cuda.core of which the rest is refused by name."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise MachineError(f"{type(self).__name__}.{name} of cuda.core is not simulated")


class Device(_Simulated):
    """cuda.core.Device. binding: the SimulatedBinding."""

    def __init__(self, binding: Any, number: int = 0):
        arch = binding.device.arch
        self._binding, self.device_id, self.name = binding, number, board_name(arch)
        self.compute_capability = cuda_arch_of(arch).capability
        self.uuid = uuid.uuid5(uuid.NAMESPACE_DNS, self.name)
        self.arch = arch.removeprefix("sm_")

    @property
    def context(self):
        """Its primary context, an object with a handle."""
        return _Handle(real.CUcontext(CONTEXT))

    def set_current(self):
        """Makes the primary context that of this thread."""
        if int(self._binding.cuCtxGetCurrent()[1]) != CONTEXT:
            self._binding.cuCtxPushCurrent(real.CUcontext(CONTEXT))

    def create_stream(self, options: Any = None) -> "Stream":
        """A new stream."""
        return Stream(int(self._binding.cuStreamCreate(0)[1]))

    @property
    def default_stream(self) -> "Stream":
        """The stream of number 0."""
        return Stream(0)

    def sync(self) -> None:
        """Nothing is under way."""


@dataclass(frozen=True)
class _Handle:
    handle: Any


class Stream(_Simulated):
    """cuda.core.Stream of a handle."""

    def __init__(self, handle: int):
        self.handle = real.CUstream(handle)

    @classmethod
    def from_handle(cls, handle: Any) -> "Stream":
        """The stream of a handle."""
        return cls(int(handle))

    def __cuda_stream__(self):
        return 0, int(self.handle)

    def sync(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class LaunchConfig:
    """cuda.core.LaunchConfig: grid, block in CTAs and threads; shmem_size in bytes."""

    grid: tuple
    block: tuple
    shmem_size: int = 0
    is_cooperative: bool = False
    cluster: int | tuple | None = None


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
        self.name = source_name(entry.name)
        module = entry.module
        constant = sum(v.bytes for v in module.syntax.variables.values() if v.space == "const")
        local = int(entry.program.local_bytes) if entry.program else 0
        self.attributes = Attributes(entry.static_shared, constant, local, int(entry.most_threads or MOST_THREADS))


def _refuse(what: str) -> NoReturn:
    raise MachineError(f"{what}, cannot be linked: the machine executes PTX; link PTX or CUDA C++")


def _refuses(kind):
    """A class method in place of one that loads code of a kind, which the machine does not execute."""
    return classmethod(lambda cls, data, name="", **_: _refuse(f"{name}, {kind}"))


class ObjectCode:
    """cuda.core.ObjectCode: PTX that is loaded on a device when its first kernel is asked for. texts: of what is linked."""

    device: SimulatedDevice                              # of each subclass
    ltoir = b""

    def __init__(self, texts: Sequence[str], name: str = ""):
        self.texts, self.name, self.code_type = tuple(texts), name, "ptx"
        self._library: Library | None = None

    @classmethod
    def from_ptx(cls, text: str | bytes, name: str = "", **_: Any) -> "ObjectCode":
        """Of PTX text."""
        return cls([_text(text)], name)

    @classmethod
    def from_library(cls, data: bytes, name: str = "", **_: Any) -> "ObjectCode":
        """Of libcudadevrt, whose functions the machine has; of no other library."""
        if "cudadevrt" not in name:
            _refuse(f"{name}, a library of machine code")
        return cls([], name)

    from_cubin, from_fatbin = _refuses("a cubin of machine code"), _refuses("a fat binary of machine code")
    from_object = _refuses("an object file of machine code")

    @classmethod
    def from_ltoir(cls, data: bytes, name: str = "", **_: Any) -> "ObjectCode":
        """Of LTO-IR, of which a Linker makes PTX."""
        made = cls([], name)
        made.ltoir = bytes(data)
        return made

    def __reduce__(self):
        return unpickled, (self.texts, self.name)

    @property
    def code(self) -> bytes:
        """Its PTX."""
        return "\n".join(self.texts).encode()

    @property
    def library(self) -> Library:
        """The Library that it becomes."""
        if self._library is None:
            self._library = Library(self.device, self.texts)
        return self._library

    @property
    def handle(self) -> int:
        """That of its library."""
        return self.library.handle

    def get_kernel(self, name: str) -> LoadedKernel:
        """The kernel of a name."""
        return LoadedKernel(self.library.kernel(name))


def unpickled(texts: tuple[str, ...], name: str) -> ObjectCode:
    """An ObjectCode that was in a cache, on the device that numba-cuda uses now. Raises MachineError where none is
    simulated: a GPU cannot load it."""
    kind = import_module("numba.cuda.cudadrv.driver").ObjectCode
    if not issubclass(kind, ObjectCode):
        raise MachineError(f"{name or 'this code'} was made for a simulated device, and no device is simulated")
    return kind(texts, name)


def _text(code):
    return (code.decode() if isinstance(code, bytes) else code).rstrip("\0")


class Linker:
    """cuda.core.Linker: of several ObjectCodes one."""

    def __init__(self, *codes: Any, options: Any = None):
        self._codes = codes

    def link(self, kind: str) -> ObjectCode:
        """All of them as one ObjectCode."""
        first = self._codes[0]
        texts = [text for code in self._codes for text in code.texts]
        parts = [code.ltoir for code in self._codes if code.ltoir]
        return type(first)(texts + ([optimized(parts, first.device.arch)] if parts else []), first.name)

    def get_info_log(self) -> str:
        """Nothing to tell."""
        return ""

    get_error_log = get_info_log

    def close(self) -> None:
        """Nothing is held."""


def optimized(parts: Sequence[bytes], arch: str) -> str:
    """The PTX that nvJitLink makes of LTO-IR. Raises MachineError with what it says where it cannot."""
    from cuda.bindings import nvjitlink

    handle = nvjitlink.create(4, ["-lto", "-ptx", "-lineinfo", f"-arch={arch}"])
    try:
        for number, part in enumerate(parts):
            nvjitlink.add_data(handle, nvjitlink.InputType.LTOIR, part, len(part), f"part {number}")
        nvjitlink.complete(handle)
        text = bytearray(nvjitlink.get_linked_ptx_size(handle))
        nvjitlink.get_linked_ptx(handle, text)
    except nvjitlink.nvJitLinkError as error:
        told = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, told)
        raise MachineError(f"nvJitLink cannot link this LTO-IR: {_text(bytes(told)) or error}") from None
    finally:
        nvjitlink.destroy(handle)
    return _text(bytes(text))


class LinkerOptions:
    """cuda.core.LinkerOptions, of which none changes what PTX computes."""

    def __init__(self, **options: Any):
        self.options = options


def launch(device: SimulatedDevice, config: LaunchConfig, kernel: LoadedKernel, values: Sequence[Any]) -> None:
    """cuda.core.launch: runs a kernel. Raises `refused` for what a GPU refuses to launch."""
    entry = kernel.kernel.entry
    if len(values) != len(entry.parameters):
        raise MachineError(f"{entry.name} takes {len(entry.parameters)} parameters, and {len(values)} are given")
    name, grid, block = kernel.name, three(config.grid), three(config.block)
    most = kernel.attributes.max_threads_per_block
    if not prod(grid) * prod(block):
        raise refused(f"CUDA_ERROR_INVALID_VALUE: {name} is launched with grid {grid}, block {block}: nothing would run")
    if prod(block) > most:
        raise refused(f"CUDA_ERROR_INVALID_VALUE: {name} takes blocks of at most {most} threads, not {prod(block)}")
    given = tuple([v if type(v) is int else _value(v, p) for v, p in zip(values, entry.parameters)])
    device.launch(entry, grid, block, given, config.shmem_size, cluster=config.cluster or 1, together=config.is_cooperative,
                  name=name)


def refused(message: str) -> Exception:
    """A MachineError that is a CUDAError of cuda.core too, as programs expect of a launch that a GPU refuses."""
    from cuda.core._utils.cuda_utils import CUDAError

    return type("LaunchError", (MachineError, CUDAError), {})(message)


def _value(value, parameter):
    """What `Entry.run` takes of what cuda.core.launch does: numbers, ctypes numbers, buffers."""
    if isinstance(value, ctypes._SimpleCData):
        if isinstance(value.value, int | float) and (parameter.type[0] == "f") == isinstance(value.value, float):
            return value.value
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
    >>> source_name("_ZN6cudapy8__main__9tr_c3_b6pfB2v1E"), source_name("_ZN6cudapy8__main__12_3clambda_3eB2v1E")
    ('tröp', '<lambda>')
    """
    if not symbol.startswith("_ZN"):
        return symbol
    parts, rest = [], symbol[3:]
    while rest[:1].isdigit():
        digits = len(rest) - len(rest.lstrip("0123456789"))
        size = int(rest[:digits])
        parts.append(rest[digits:digits + size])
        rest = rest[digits + size:]
    return _SPELLED_OUT.sub(_letters, parts[-1]) if parts else symbol


_SPELLED_OUT = re.compile(r"(?:_(?:[89a-f][0-9a-f]|3c|3e))+")
"""What Numba makes of letters that are no ASCII, and of < and >: the bytes of UTF-8."""


def _letters(found):
    try:
        return bytes.fromhex(found[0].replace("_", "")).decode()
    except UnicodeDecodeError:                           # a name that only looks like it
        return found[0]
