"""What a module's variables are given by fields, among which pointers may be: their addresses are those of a launch."""

from typing import Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.ptx.arguments import fields_of
from simlayout.machine.ptx.space import GlobalSpace
from simlayout.wording import counted


class Assigned:
    """Of a module. memory: {variable: its bytes, uint8}."""

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
