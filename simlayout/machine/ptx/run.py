"""Modules of PTX, their entries, and launches of these."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from simlayout.algebra.aliases import Progress
from simlayout.errors import HazardError, InstructionError, MachineError, SimlayoutError
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.machine.engine.cta import most_registers
from simlayout.machine.engine.events import watcher
from simlayout.machine.engine.hazards import located
from simlayout.machine.engine.launch import Launch, Shape, run_grid, three_of
from simlayout.machine.engine.listing import Later, SourceLine
from simlayout.machine.engine.trace import Trace
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.arguments import form_of, packed
from simlayout.machine.ptx.assigned import Assigned
from simlayout.machine.ptx.cxx_names import cxx_name, cxx_names, same_name
from simlayout.machine.ptx.doubts import Before, Doubt, Doubts, TooLong, in_two_steps
from simlayout.machine.ptx.faults import Unsupported, refusal, summed
from simlayout.machine.ptx.heap import Heap
from simlayout.machine.ptx.lower import Lowering, address_of
from simlayout.machine.ptx.running import Running, compiled
from simlayout.machine.ptx.space import GlobalSpace
from simlayout.machine.ptx.turns import PtxTurns
from simlayout.machine.ptx.unread import NOTE, unread_loads
from simlayout.machine.ptx.unwritten import LIMIT as TRIED
from simlayout.machine.ptx.unwritten import judged, noted
from simlayout.machine.ptx.warp import PtxWarp
from simlayout.wording import counted

LIMIT = 1 << 32
"""Instructions that a warp executes at most, if no other limit is given."""

MOST_WARPS = 2**14
"""Warps that may run together: more than any GPU of today holds at once."""


class Entry:
    """A kernel of a Module.

    name: as the PTX has it. parameters: a `syntax.Variable` each, in order. required_block: (x, y, z) of .reqntid, or
    None; most_threads: of .maxntid, or None; required_cluster: (x, y, z) of .reqnctapercluster, or None. static_shared:
    bytes of shared memory that it declares; has_dynamic_shared: whether it also uses what `run` gives as shared_bytes.
    shared_variables: {name: (where it begins, bytes)} of that which it declares. variables: names of those in global and
    constant memory that it can reach.
    """

    def __init__(self, module: "Module", function: syntax.Function):
        self.module, self.name, self.parameters = module, function.name, function.parameters
        self.function, self.form = function, form_of(function.parameters)
        told = function.directives
        self.required_block = (*told["reqntid"], 1, 1)[:3] if "reqntid" in told else None
        self.most_threads = prod(told["maxntid"]) if "maxntid" in told else None
        self.required_cluster = (*told["reqnctapercluster"], 1, 1)[:3] if told.get("reqnctapercluster") else None
        lowering = Lowering(module.syntax, self.name, module.addresses)
        self.program, self.faults = lowering.program, tuple(lowering.faults)
        self.functions = tuple(lowering.names)
        self.static_shared, self.has_dynamic_shared = lowering.static_shared, lowering.has_dynamic_shared
        self.shared_variables = lowering.placed
        self.variables = module.reached(lowering.symbols)

    def __repr__(self) -> str:
        given = ", ".join(map(self.described, self.parameters))
        rest = []
        if self.required_block is not None:
            rest.append(f"block {self.required_block}")
        if self.static_shared or self.has_dynamic_shared:
            sizes = [counted(self.static_shared, "byte")] * bool(self.static_shared) + ["dynamic"] * self.has_dynamic_shared
            rest.append(f"shared memory: {' and '.join(sizes)}")
        return f"<entry {self.name}({given}){''.join(f', {each}' for each in rest)}>"

    def described(self, parameter: syntax.Variable) -> str:
        """A parameter as text: its name without that of the entry, and its type or size."""
        name = self._own_name(parameter)
        return f"{name}: {counted(parameter.bytes, 'byte')}" if parameter.shape else f"{name}: .{parameter.type}"

    def known_as(self, parameter: syntax.Variable) -> str:
        """The name of a parameter in its source, "" where a compiler has numbered it."""
        name = self._own_name(parameter)
        return "" if name.startswith("param_") else name

    def _own_name(self, parameter):
        return parameter.name.removeprefix(f"{self.name}_")

    def run(self, grid: int | tuple[int, ...], block: int | tuple[int, ...], *args: Any, shared_bytes: int = 0,
            cluster: int | tuple[int, ...] = 1, hazards: str = "raise", progress: Progress | None = None,
            together: bool = False, arch: str | None = None, limit: int = LIMIT) -> Trace:
        """Executes the kernel and returns its Trace.

        grid, block: ints or tuples of up to three, in CTAs and threads. args: one for each parameter: NumPy arrays of any
        dtype for pointers, changed in place (a pointer to element [0, ..., 0]; None for a null pointer); numbers for
        scalars; bytes, structured scalars or a simlayout.TensorMap for structs.
        shared_bytes: dynamic shared memory of a CTA, in bytes. cluster, hazards, progress, together: as of
        `simlayout.machine.run`; a cluster that the entry requires need not be given. arch: for the wavefront model, by
        default the module's target. limit: instructions that one warp executes at most.

        Raises MachineError (arguments that do not fit, an endless program), HazardError, AddressError; each names the
        argument, or file and line, CTA and warp.
        """
        self.check()
        program, limit, arch = self.program, _whole(limit, "limit", 1), arch or self.module.arch
        dynamic_bytes = _whole(shared_bytes, "shared_bytes", 0)

        def attempt(quick=False, patient=True, trial=None):
            launch = Launch(arch, hazards, python=self.module.python)
            space = self.module.space(launch, self.variables)
            program.parameters = packed(self, args, space)
            launch.dynamic_bytes, launch.narrow = dynamic_bytes, program.narrow
            shape = Shape.of(grid, block, program.dynamic_at + dynamic_bytes, self._cluster(cluster), together, launch,
                             MOST_WARPS)
            if shape.together:
                space.workspace = space.address(np.zeros(2, np.uint32))
            self._check(shape)
            launch.registers = self._registers(shape)
            tried = trial is not None and trial.tried
            if trial is not None:
                space.expect(program.parameters)
                trial.begin(launch, space)
            trace = self._run(launch, shape, space, min(limit, TRIED) if tried else limit, None if tried else progress,
                              quick, patient)
            return noted(trace, launch.log.put_aside()) if tried else trace

        def with_shadows(quick=False, patient=True):
            if quick:
                return attempt(quick)
            return judged(program, lambda trial: attempt(patient=patient or trial.tried, trial=trial))

        if hazards == "off" or watcher() is not None:
            return attempt()
        if together or prod(self._cluster(cluster)) != 1:
            return with_shadows()
        return in_two_steps(with_shadows, program, compiled())

    def _run(self, launch, shape, space, limit, progress, quick, patient):
        """Runs a launch as `in_two_steps` says; its Trace."""
        program, before = self.program, None
        space.expect(program.parameters)
        if quick or not patient:
            before = Before(space)
            if quick and not before.possible:
                raise Doubt
        if quick:
            launch.look_quickly(Doubts(program, space))
        program.executed = np.zeros(len(program.steps), np.int64)
        running = Running(program, launch, space, shape, limit, None if patient else before)

        def begin(cta, index):
            return running.begun(_Located(PtxWarp(cta, index, program, space, running), limit))

        try:
            run_grid(launch, shape, begin, progress, running.ahead, running.whole)
        except (Doubt, TooLong, SimlayoutError) as error:
            if not isinstance(error, TooLong) and not quick:
                raise
            before.give_back()
            raise error if isinstance(error, Doubt | TooLong) else Doubt(str(error)) from None
        running.end()
        self._record(launch.recorder, program.executed)
        return launch.trace(Later(partial(self._executed, program.executed)))

    def _record(self, recorder, executed):
        """Tells how often the instructions of each site were executed: int64 [steps]."""
        steps, firsts, sites, unread = self._instructions
        for site, times in zip(sites, np.add.reduceat(executed[steps], firsts).tolist() if sites else ()):
            if times:
                recorder.executed[site] += times
        for at, site in unread:
            if executed[at]:
                recorder.note(site, NOTE)

    @cached_property
    def _instructions(self):
        """Of its steps that are instructions: (index int64 [n], site after site; where each site begins there; the sites;
        [(index, site)] of loads whose results nothing reads)."""
        sites, unread = defaultdict(list), []
        for at, step in enumerate(self.program.steps):
            if not step.is_latch:
                sites[step.site].append(at)
                if (step.line, step.text) in self._unread:
                    unread.append((at, step.site))
        ends = np.cumsum([0, *map(len, sites.values())])
        return np.array([at for of in sites.values() for at in of], np.int64), ends[:-1], list(sites), unread

    @cached_property
    def _texts(self):
        """[(line, [(index, text, the source that it is of)] of its steps)] by line of the PTX text."""
        path, made = self.module.syntax.path, defaultdict(list)
        for at, step in enumerate(self.program.steps):
            if not step.is_latch:
                source = "" if step.site[0] == path else f"  // {located(*step.site)}"
                made[step.line].append((at, " ".join(step.text.split()), source))
        return sorted(made.items())

    def _executed(self, executed):
        """The SourceLines of the PTX text, by how often each step was executed, int64 [steps]; each names the source that it
        is of."""
        path, lines, executed = self.module.syntax.path, [], executed.tolist()
        for line, steps in self._texts:
            done = {text: source for at, text, source in steps if executed[at]}
            if done:
                lines.append(SourceLine(path, line, " ".join(done) + next(iter(done.values())),
                                        sum(executed[at] for at, _, _ in steps)))
        return tuple(lines)

    @cached_property
    def _unread(self):
        """{(line, text)} of its loads of shared memory whose results nothing reads."""
        return unread_loads(self.module.syntax.functions[name] for name in self.functions)

    def check(self) -> None:
        """Raises InstructionError that lists what of the kernel the machine cannot execute, if there is anything."""
        if self.program is None:
            raise InstructionError(refusal(self.module.syntax.path, summed(self.faults)))

    def _cluster(self, cluster):
        given, required = three_of(cluster, "cluster"), self.required_cluster
        if required is not None and given not in ((1, 1, 1), required):
            raise MachineError(f"{self.name} requires clusters of {required} CTAs (.reqnctapercluster), not {given}")
        return required or given

    def _check(self, shape):
        if self.required_block is not None and shape.block != self.required_block:
            raise MachineError(f"{self.name} requires blocks of {self.required_block} threads (.reqntid), not {shape.block}")
        if self.most_threads is not None and prod(shape.block) > self.most_threads:
            raise MachineError(f"{self.name} takes blocks of at most {self.most_threads} threads (.maxntid), not "
                               f"{prod(shape.block)}")

    def _registers(self, shape):
        """Registers of a thread at launch, None if nothing says how many: by .maxnreg, or as `setmaxnreg` must find them."""
        least, most = self.program.register_bounds
        if "maxnreg" in self.function.directives:
            return self.function.directives["maxnreg"][0]
        if least is None and most is None:
            return None
        room = most_registers(shape.block)
        return max(min(room, room if most is None else most), least or 0)


class _Located(PtxTurns):
    """The same, whose errors say where in the program they happened."""

    def resume(self):
        """As of PtxTurns."""
        try:
            super().resume()
        except HazardError:
            raise                                        # says so itself
        except SimlayoutError as error:
            where = f"{self.warp.standing()}: CTA {self.warp.index}, warp {self.warp.warp_index}"
            error.args = (f"{where}: {error}", *error.args[1:])
            raise


def _whole(value, name, least):
    """An integer of at least so much."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise MachineError(f"{name} = {value!r}: give an integer of at least {least}")
    return int(value)


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

    @property
    def unsupported(self) -> tuple[Unsupported, ...]:
        """What entries can reach and the machine cannot execute, by line; `load` refuses a module with any."""
        return summed(fault for entry in self.entries.values() for fault in entry.faults)

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

    def variable(self, name: str, dtype: DTypeLike = np.uint8) -> np.ndarray:
        """The memory of a variable in global or constant memory, as a flat array; changes are seen by later runs."""
        if name not in self._memory:
            raise MachineError(f"no global variable {name!r}; this module has {', '.join(self._memory) or 'none'}")
        return self._memory[name].view(dtype)

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
        for data in (*map(self._memory.get, variables), *([self.heap.bytes] if self.heap.used else ())):
            space.admit(data)
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
