"""What of a module of PTX lies in memory: its variables in global and constant memory, and where its kernels find them."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import ARCHES, DEFAULT_ARCH
from simlayout.machine.engine.launch import Launch
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.arguments import fields_of
from simlayout.machine.ptx.cxx.names import cxx_name
from simlayout.machine.ptx.lowering.lower import address_of
from simlayout.machine.ptx.memory.heap import Heap
from simlayout.machine.ptx.memory.space import GlobalSpace
from simlayout.wording import counted


def _zeros(nbytes):
    return np.zeros(nbytes, np.uint8)


class Loaded:
    """What launches of a module's kernels need of it. addresses: {name: that of a variable}; declared: {PTX symbol: (file,
    line, shape)} of arrays in shared memory, as a library tells them; the rest: as of `Module`."""

    declared: Mapping[str, tuple[str, int, tuple[int, ...]]] = {}

    def __init__(self, parsed: syntax.Module, spaces: Callable[..., GlobalSpace] = GlobalSpace,
                 room: Callable[[int], np.ndarray] = _zeros, heap: Heap | None = None, python: str | None = None):
        self.syntax, self._spaces, self.heap, self.python = parsed, spaces, heap or Heap(room), python
        self.arch = _arch_of(parsed.target)
        self._memory: dict[str, np.ndarray] = {}
        self._assigned = Assigned(self._memory)
        for variable in self._variables():
            data = room(max(variable.bytes, 1))
            initial = np.frombuffer(variable.initial or b"", np.uint8)
            data[:len(initial)] = initial
            self._memory[variable.name] = data
        self._places = spaces(Launch(self.arch, "off").allocation)
        self.addresses = {name: self._places.address(data) for name, data in self._memory.items()}
        for variable in self._variables():
            self._relocate(variable)

    def __reduce__(self):
        raise MachineError(f"{self!r} is bound to the memory of this process: `ptx.load` the text in each that runs it")

    def reached(self, symbols: Iterable[str]) -> tuple[str, ...]:
        """The variables in global and constant memory among some names, and those whose addresses they hold."""
        todo, found, variables = list(symbols), {}, self._by_name
        while todo:
            variable = variables.get(todo.pop())
            if variable is not None and variable.name not in found:
                found[variable.name] = None
                todo += [relocation.symbol for relocation in variable.relocations]
        return tuple(found)

    @cached_property
    def _by_name(self):
        return {variable.name: variable for variable in self._variables()}

    def space(self, launch: Launch, variables: Iterable[str]) -> GlobalSpace:
        """The GlobalSpace of a Launch, with some of the module's variables in it."""
        space = self._spaces(launch.allocation)
        space.heap = self.heap
        space.goes_on_from(self._places)
        for name in variables:
            space.admit(self._memory[name], f"variable {cxx_name(name)}")
        if self.heap.used:
            space.admit(self.heap.bytes, "heap")
        self._assigned.write(space)
        return space

    def _variables(self):
        functions = (f.variables for f in self.syntax.functions.values())
        for variables in (self.syntax.variables, *functions):
            yield from (v for v in variables.values() if v.space in ("global", "const"))

    def _relocate(self, variable):
        data = self._memory[variable.name]
        for r in variable.relocations:
            if r.symbol in self.addresses:
                value = self.addresses[r.symbol] + r.addend
            elif r.symbol in self.syntax.functions:
                value = address_of(self.syntax, r.symbol)
            else:
                raise MachineError(f"{variable.name} holds the address of {r.symbol}, which is in no global or constant "
                                   "memory of this module")
            if r.mask is not None:
                value = (value & r.mask) >> ((r.mask & -r.mask).bit_length() - 1)
            data[r.offset:r.offset + r.bytes] = np.frombuffer(value.to_bytes(8, "little")[:r.bytes], np.uint8)


def _arch_of(target):
    plain = target.rstrip("af")
    return plain if plain in ARCHES else DEFAULT_ARCH


class Assigned:
    """What variables of a module are given by fields, among which pointers may be: their addresses are those of a launch.

    memory: {variable: its bytes, uint8}.
    """

    def __init__(self, memory: dict[str, np.ndarray]):
        self._memory = memory
        self._given: dict[str, tuple[Any, bytes]] = {}   # variable -> (fields, the bytes that they were last)

    def give(self, name: str, value: Any, space: GlobalSpace) -> None:
        """A variable has these fields from now on. Raises MachineError if they do not fit."""
        before = self._given.get(name)
        self._given[name] = value, b""
        try:
            self._write(name, space)
        except MachineError as error:
            self._given.pop(name)
            if before is not None:
                self._given[name] = before
            raise MachineError(f"{name}: {error}") from None

    def write(self, space: GlobalSpace) -> None:
        """Writes what the fields are in a launch. What kernels have made of a variable stays, unless pointers have moved."""
        for name in self._given:
            self._write(name, space)

    def _write(self, name, space):
        (value, before), data = self._given[name], self._memory[name]
        made = fields_of(value, space)
        if len(made) > len(data):
            raise MachineError(f"{counted(len(made), 'byte')} are given, and it has {len(data)}")
        if made != before:
            data[:len(made)] = np.frombuffer(made, np.uint8)
            self._given[name] = value, made
