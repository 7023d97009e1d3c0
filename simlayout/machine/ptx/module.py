"""Modules of PTX: entries, and variables in global and constant memory."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from simlayout.arguments import typed
from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.machine.engine.launch import Launch
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.assigned import Assigned
from simlayout.machine.ptx.cxx_names import cxx_name, cxx_names, same_name
from simlayout.machine.ptx.faults import Unsupported, summed
from simlayout.machine.ptx.heap import Heap
from simlayout.machine.ptx.lower import address_of
from simlayout.machine.ptx.run import Entry
from simlayout.machine.ptx.space import GlobalSpace


def _zeros(nbytes):
    return np.zeros(nbytes, np.uint8)


class _Entries(Mapping):
    """The entries of a Module by name, each made when somebody asks for it."""

    def __init__(self, module):
        self._module, self._made = module, {}
        functions = module.syntax.functions.items()
        self._functions = {name: one for name, one in functions if one.entry and one.body is not None}

    def __getitem__(self, name):
        if name not in self._made:
            self._made[name] = Entry(self._module, self._functions[name])
        return self._made[name]

    def __contains__(self, name):
        return name in self._functions

    def __iter__(self):
        return iter(self._functions)

    def __len__(self):
        return len(self._functions)

    def __repr__(self):
        return f"<entries: {', '.join(self) or 'none'}>"


class Module:
    """A parsed module. syntax: what the text says; entries: {name: Entry}; arch: that of its .target. spaces: makes the
    GlobalSpace of a launch, called as that; room: gives memory of so many bytes, zeros; heap: where `malloc` of its kernels
    takes memory from. python: the language of its lines in Python files, a key of `engine.languages.WORDS`, None if it has
    no words of its own for what a hazard advises.

    Its variables in global and constant memory live as long as it does, as those of a loaded module on a GPU.
    """

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
        self.entries: Mapping[str, Entry] = _Entries(self)

    def __repr__(self) -> str:
        return f"<module {self.syntax.path}, {self.syntax.target}: {', '.join(self.entries) or 'no entries'}>"

    def __reduce__(self):
        raise MachineError(f"{self!r} is bound to the memory of this process: `ptx.load` the text in each that runs it")

    @property
    def unsupported(self) -> tuple[Unsupported, ...]:
        """What entries can reach and the machine cannot execute, by line; `load` refuses a module with any."""
        return summed(fault for entry in self.entries.values() for fault in entry.faults)

    @typed(MachineError)
    def __getitem__(self, name: str) -> Entry:
        """The Entry of that name, of that name in C++ ("rowsum<double, 32>"), or of a part of it that no other has. Raises
        MachineError that lists what there is."""
        if name in self.entries:
            return self.entries[name]
        found = name and ([mangled for mangled in self.entries if same_name(cxx_name(mangled), name)]
                          or [mangled for mangled in self.entries if f"{len(name)}{name}" in mangled]
                          or [known for known in self.entries if name in known])
        if found and len(found) == 1:
            return self.entries[found[0]]
        shown = cxx_names(self.entries)
        if not found:
            raise MachineError(f"no entry {name!r} in {self.syntax.path}; it has {', '.join(shown.values()) or 'none'}")
        raise MachineError(f"{name!r} is a part of {len(found)} entries' names: give more of one of "
                           f"{', '.join(shown[one] for one in found)}")

    def entry(self) -> Entry:
        """The only entry. Raises MachineError if there are several, or none."""
        if len(self.entries) != 1:
            raise MachineError(f"{self.syntax.path} has {len(self.entries)} entries, and one is wanted: choose by "
                               f"module[name] from {', '.join(cxx_names(self.entries).values()) or 'another module'}")
        return next(iter(self.entries.values()))

    @typed(MachineError)
    def variable(self, name: str, dtype: DTypeLike = np.uint8) -> np.ndarray:
        """The memory of a variable in global or constant memory, as a flat array; changes are seen by later runs."""
        if name not in self._memory:
            raise MachineError(f"no global variable {name!r}; this module has {', '.join(self._memory) or 'none'}")
        return self._memory[name].view(dtype)

    @typed(MachineError)
    def assign(self, name: str, value: Any) -> None:
        """Gives a variable in global or constant memory what a struct takes: bytes, a structured scalar, a TensorMap, or a
        list of fields, in which a Pointer is one, as `cudaMemcpyToSymbol` does. Raises MachineError if it does not fit."""
        self.variable(name)
        self._assigned.give(name, value, self._spaces(Launch(self.arch, "off").allocation))

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
    from simlayout.hardware.tables.arch import ARCHES

    plain = target.rstrip("af")
    return plain if plain in ARCHES else DEFAULT_ARCH
