"""Modules of PTX on a SimulatedDevice, as libraries load them: linked of several texts, found by handles."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from simlayout.errors import MachineError
from simlayout.machine.ptx.entry import Entry
from simlayout.machine.ptx.linking import link
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.programs.device import SimulatedDevice

_parsed = lru_cache(64)(parse)                           # what many kernels are linked with


class Library:
    """Linked code on a device. handle: an integer that names it."""

    _known: dict[int, "Library"] = {}

    def __init__(self, device: SimulatedDevice, texts: Sequence[str]):
        self.device, self.module = device, device.module(link([_parsed(text) for text in texts]))
        self.handle = id(self)
        self._known[self.handle] = self

    @classmethod
    def of(cls, handle: Any) -> "Library":
        """The Library of a handle. Raises MachineError for one that is not loaded."""
        if int(handle) not in cls._known:
            raise MachineError(f"{int(handle):#x} is no module that is loaded")
        return cls._known[int(handle)]

    def kernel(self, name: str) -> "Kernel":
        """The Kernel of a name. Raises MachineError."""
        if name not in self.module.entries:
            raise MachineError(f"no kernel {name!r} in this module; it has {', '.join(self.module.entries) or 'none'}")
        return Kernel(self, self.module.entries[name])

    def variable(self, name: str) -> tuple[int, int] | None:
        """(address, bytes) of a variable in global or constant memory."""
        if name not in self.module.addresses:
            return None
        return self.module.addresses[name], self.module.variable(name).size

    def unload(self) -> None:
        """Its handle means nothing any more."""
        if self._known.pop(self.handle, None) is not None:
            self.device.forget(self.module)


class Kernel:
    """An entry of a Library. handle: an integer that names it as long as it lives."""

    _known: dict[int, "Kernel"] = {}

    def __init__(self, library: Library, entry: Entry):
        self.library, self.entry, self.handle = library, entry, id(self)
        self._known[self.handle] = self


def kernel_of(handle: Any) -> Kernel:
    """The Kernel of a handle."""
    return Kernel._known[int(handle)]
