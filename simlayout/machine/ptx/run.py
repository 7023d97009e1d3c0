"""Modules of PTX, their entries, and launches of these."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.machine.launch import Launch, Shape, run_grid
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.arguments import packed
from simlayout.machine.ptx.grammar import parse
from simlayout.machine.ptx.lower import Lowering
from simlayout.machine.ptx.space import GlobalSpace
from simlayout.machine.ptx.warp import PtxTurns, PtxWarp
from simlayout.machine.trace import Trace

LIMIT = 1 << 32
"""Instructions that a warp executes at most, if no other limit is given."""


class Entry:
    """A kernel of a Module. name; parameters: syntax.Variables; required_block: (x, y, z) of .reqntid, or None."""

    def __init__(self, module, function):
        self.module, self.name, self.parameters = module, function.name, function.parameters
        directives = function.directives
        self.required_block = (*directives["reqntid"], 1, 1)[:3] if "reqntid" in directives else None
        self._lowered = None

    def __repr__(self) -> str:
        given = ", ".join(f".{p.type}" if not p.shape else f"{p.bytes} bytes" for p in self.parameters)
        return f"<entry {self.name}({given})>"

    @property
    def program(self):
        """Its Program, lowered when it is first asked for."""
        if self._lowered is None:
            self._lowered = Lowering(self.module.syntax, self.name, self.module.addresses).program
        return self._lowered

    def run(self, grid: int | tuple, block: int | tuple, *args: Any, shared_bytes: int = 0, cluster: int = 1,
            hazards: str = "raise", progress: Callable[[int, int], object] | None = None, together: bool = False,
            arch: str | None = None, limit: int = LIMIT) -> Trace:
        """Executes the kernel and returns its Trace.

        grid, block: ints or tuples of up to three, in CTAs and threads. args: one for each parameter: NumPy arrays for
        pointers, changed in place; numbers for scalars; bytes, structured scalars or a simlayout.TensorMap for structs.
        shared_bytes: dynamic shared memory of a CTA, in bytes. cluster, hazards, progress, together: as of
        `simlayout.machine.run`. arch: for the wavefront model, by default the module's target. limit: instructions that one
        warp executes at most.

        Raises MachineError (arguments that do not fit, an endless program), HazardError, AddressError.
        """
        program = self.program
        launch = Launch(arch or self.module.arch, hazards)
        space = self.module.space(launch)
        parameters = packed(self, args, space)
        shape = Shape.of(grid, block, program.dynamic_at + shared_bytes, cluster, together, launch)
        self._check(shape)
        program.parameters, program.executed = parameters, [0] * len(program.steps)
        launch.dynamic_bytes = shared_bytes

        def begin(cta, index):
            return PtxTurns(PtxWarp(cta, index, program, space), limit)

        try:
            trace = run_grid(launch, shape, begin, progress)
        finally:
            program.executed, executed = [], program.executed
        for step, count in zip(program.steps, executed):
            if count:
                trace.executed[step.site] = trace.executed.get(step.site, 0) + count
        return trace

    def _check(self, shape):
        if self.required_block is not None and shape.block != self.required_block:
            raise MachineError(f"{self.name} requires blocks of {self.required_block} threads (.reqntid), not {shape.block}")


class Module:
    """A parsed module. syntax: what the text says; entries: {name: Entry}; arch: that of its .target.

    Its variables in global and constant memory live as long as it does, as those of a loaded module on a GPU.
    """

    def __init__(self, parsed: syntax.Module):
        self.syntax = parsed
        self.arch = _arch_of(parsed.target)
        self.entries = {name: Entry(self, function) for name, function in parsed.functions.items()
                        if function.entry and function.body is not None}
        self._memory = {}
        for variable in self._variables():
            data = np.zeros(max(variable.bytes, 1), np.uint8)
            initial = np.frombuffer(variable.initial or b"", np.uint8)
            data[:len(initial)] = initial
            self._memory[variable.name] = data
        space = GlobalSpace(Launch(self.arch, "off").allocation)
        self.addresses = {name: space.address(data) for name, data in self._memory.items()}
        for variable in self._variables():
            self._relocate(variable)

    def __getitem__(self, name: str) -> Entry:
        if name not in self.entries:
            raise MachineError(f"no entry {name!r}; this module has {', '.join(self.entries) or 'none'}")
        return self.entries[name]

    def entry(self) -> Entry:
        """The only entry. Raises MachineError if there are several, or none."""
        if len(self.entries) != 1:
            raise MachineError(f"this module has {len(self.entries)} entries ({', '.join(self.entries)}): name one, as in "
                               "module[name]")
        return next(iter(self.entries.values()))

    def variable(self, name: str, dtype: Any = np.uint8) -> np.ndarray:
        """The memory of a variable in global or constant memory, as a flat array; changes are seen by later runs."""
        if name not in self._memory:
            raise MachineError(f"no global variable {name!r}; this module has {', '.join(self._memory) or 'none'}")
        return self._memory[name].view(dtype)

    def space(self, launch):
        """The GlobalSpace of a Launch, with the module's variables in it."""
        space = GlobalSpace(launch.allocation)
        for data in self._memory.values():
            space.address(data)
        return space

    def _variables(self):
        functions = (f.variables for f in self.syntax.functions.values())
        for variables in (self.syntax.variables, *functions):
            yield from (v for v in variables.values() if v.space in ("global", "const"))

    def _relocate(self, variable):
        data = self._memory[variable.name]
        for r in variable.relocations:
            if r.symbol not in self.addresses:
                raise MachineError(f"{variable.name} holds the address of {r.symbol}, which the machine places nowhere yet")
            value = self.addresses[r.symbol] + r.addend
            if r.mask is not None:
                value = (value & r.mask) >> ((r.mask & -r.mask).bit_length() - 1)
            data[r.offset:r.offset + r.bytes] = np.frombuffer(value.to_bytes(8, "little")[:r.bytes], np.uint8)


def _arch_of(target):
    from simlayout.hardware.tables.arch import ARCHES

    plain = target.rstrip("af")
    return plain if plain in ARCHES else DEFAULT_ARCH


def load(source: str | Path) -> Module:
    """A Module of PTX text, or of a file that holds it.

    source: the text, or a path (a Path, or a string without a line break that ends in .ptx). Raises ParseError with file,
    line and column; InstructionError that lists by name and line what the machine does not have.
    """
    if isinstance(source, Path) or ("\n" not in source and source.endswith(".ptx")):
        try:
            text = Path(source).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise MachineError(f"{source}: {error}") from None
        return Module(parse(text, str(source)))
    return Module(parse(source))


