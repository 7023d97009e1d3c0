"""Modules of PTX, as users see them: entries by name, and variables in global and constant memory."""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from simlayout.arguments import typed
from simlayout.collector import collector_at_rest
from simlayout.errors import MachineError
from simlayout.machine.engine.launch import Launch
from simlayout.machine.ptx.cxx.names import cxx_name, cxx_names, is_in, same_name
from simlayout.machine.ptx.entry import Entry
from simlayout.machine.ptx.faults import Unsupported, summed
from simlayout.machine.ptx.variables import Loaded

MOST_LISTED = 12
"""Entries whose names an error lists."""

class _Entries(Mapping):
    """The entries of a Module by name, each made when somebody asks for it."""

    def __init__(self, module):
        self._module, self._made = module, {}
        functions = module.syntax.functions.items()
        self._functions = {name: one for name, one in functions if one.entry and one.body is not None}

    def __getitem__(self, name):
        if name not in self._made:
            with collector_at_rest():
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


class Module(Loaded):
    """A parsed module. syntax: what the text says; entries: {name: Entry}; arch: that of its .target. spaces: makes the
    GlobalSpace of a launch, called as that; room: gives memory of so many bytes, zeros; heap: where `malloc` of its kernels
    takes memory from. python: the language of its lines in Python files, a key of `hazards.languages.WORDS`, None if it has
    no words of its own for what a hazard advises.

    Its variables in global and constant memory live as long as it does, as those of a loaded module on a GPU.
    """

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """Its kernels by name, each made when somebody asks for it."""
        return _Entries(self)

    def __repr__(self) -> str:
        return f"<module {self.syntax.path}, {self.syntax.target}: {', '.join(self.entries) or 'no entries'}>"

    @property
    def unsupported(self) -> tuple[Unsupported, ...]:
        """What entries can reach and the machine cannot execute, by line; `load` refuses a module with any."""
        return summed(fault for entry in self.entries.values() for fault in entry.faults)

    @typed(MachineError)
    def __getitem__(self, name: str) -> Entry:
        """The Entry of that name, of that name in C++ ("rowsum<double, 32>"), or of a part of one that no other has. Raises
        MachineError that lists what there is."""
        if name in self.entries:
            return self.entries[name]
        found = name and ([mangled for mangled in self.entries if same_name(cxx_name(mangled), name)]
                          or [mangled for mangled in self.entries if f"{len(name)}{name}" in mangled]
                          or [known for known in self.entries if name in known or is_in(name, cxx_name(known))])
        if found and len(found) == 1:
            return self.entries[found[0]]
        shown = cxx_names(self.entries)
        if not found:
            raise MachineError(f"no entry {name!r} in {self.syntax.path}; it has {_listed(shown.values(), name)}")
        raise MachineError(f"{name!r} is a part of {len(found)} entries' names: give more of one of "
                           f"{_listed([shown[one] for one in found], name)}")

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


def _listed(names, near):
    """Names of entries as text, or those nearest to one if there are many."""
    names = list(names)
    shown = names if len(names) <= MOST_LISTED else get_close_matches(near, names, MOST_LISTED, 0)
    return ", ".join(shown) + f" and {len(names) - len(shown)} more" * (len(shown) < len(names)) or "none"
