"""Entries of a module of PTX, which are its kernels, and launches of these."""

from collections import defaultdict
from dataclasses import replace
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np

from simlayout.algebra.aliases import Progress
from simlayout.errors import HazardError, InstructionError, MachineError, brief
from simlayout.machine.engine.cta import most_registers
from simlayout.machine.engine.events import watcher
from simlayout.machine.engine.launch import Launch, Shape, three_of
from simlayout.machine.engine.listing import Later, SourceLine
from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.kinds import RACES, check_mode, error, located
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.arguments import form_of, packed
from simlayout.machine.ptx.attempts import Attempts, in_two_steps
from simlayout.machine.ptx.cxx.names import brief_name
from simlayout.machine.ptx.cxx.types import parameter_types
from simlayout.machine.ptx.declared.cxx_arrays import arrays_of
from simlayout.machine.ptx.declared.shared_arrays import name_elements, with_elements
from simlayout.machine.ptx.faults import refusal, summed
from simlayout.machine.ptx.looks.doubts import Before
from simlayout.machine.ptx.looks.unset import Unset, told
from simlayout.machine.ptx.looks.unwritten import can_be_tried
from simlayout.machine.ptx.lowering.lower import Lowering
from simlayout.machine.ptx.passes.by_order import accesses
from simlayout.machine.ptx.passes.unread import NOTE
from simlayout.machine.ptx.running import compiled
from simlayout.machine.ptx.variables import Loaded
from simlayout.wording import counted

LIMIT = 1 << 32
"""Instructions that a warp executes at most, if no other limit is given."""

LONGEST_TYPE = 60
"""Letters of a type of C++ that is told: those of CUTLASS have hundreds, and say less than their size."""

MOST_WARPS = 2**14
"""Warps that may run together: more than any GPU of today holds at once."""


class Entry:
    """A kernel of a Module.

    module: what of that is Loaded. name: as the PTX has it; called: as its source has it, in brief, if that can be read off
    it. parameters: a `syntax.Variable` each, in order; types: their types in C++, None where the name does not tell.
    required_block: (x, y, z) of .reqntid, or None; most_threads: of .maxntid, or None; required_cluster: (x, y, z) of
    .reqnctapercluster, or None. static_shared: bytes of shared memory that it declares; has_dynamic_shared: whether it also
    uses what `run` gives as shared_bytes.
    shared_variables: {name: (where it begins, bytes)} of that which it declares. variables: names of those in global and
    constant memory that it can reach.
    """

    def __init__(self, module: Loaded, function: syntax.Function):
        self.module, self.name, self.parameters = module, function.name, function.parameters
        self.called = brief_name(function.name)
        self.function, self.form = function, form_of(function.parameters)
        told = function.directives
        self.required_block = (*told["reqntid"], 1, 1)[:3] if "reqntid" in told else None
        self.most_threads = prod(told["maxntid"]) if "maxntid" in told else None
        self.required_cluster = (*told["reqnctapercluster"], 1, 1)[:3] if told.get("reqnctapercluster") else None
        types = parameter_types(function.name)
        self.types = types if types is not None and len(types) == len(function.parameters) else None
        lowering = Lowering(module.syntax, self.name, module.addresses)
        self.program, self.faults = lowering.program, tuple(lowering.faults)
        self._names = lowering.names
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
        return f"<entry {self.called}({given}){''.join(f', {each}' for each in rest)}>"

    def __reduce__(self):
        return self.module.__reduce__()                  # refuses

    def described(self, parameter: syntax.Variable) -> str:
        """A parameter as text: its name without that of the entry, and its type, that of C++ if it is known and no long one
        of a template, or size."""
        of_cxx = self.types[self.parameters.index(parameter)] if self.types is not None else ""
        of_cxx = of_cxx if len(of_cxx) <= LONGEST_TYPE else ""
        size = counted(parameter.bytes, "byte") if parameter.shape else "" if of_cxx else f".{parameter.type}"
        return f"{self._own_name(parameter)}: {', '.join(filter(None, (of_cxx, size)))}"

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

        grid, block: ints or tuples of up to three, in CTAs and threads. args: one for each parameter: NumPy arrays for
        pointers, changed in place (a pointer to element [0, ..., 0]; None for a null pointer), of any dtype that the name of
        the kernel, if it is one of C++, does not exclude; numbers for scalars; bytes, structured scalars or a
        simlayout.TensorMap for structs.
        shared_bytes: dynamic shared memory of a CTA, in bytes. cluster, hazards, progress, together: as of
        `simlayout.machine.run`; a cluster that the entry requires need not be given. arch: for the wavefront model, by
        default the module's target. limit: instructions that one warp executes at most.

        Raises MachineError (arguments that do not fit, an endless program), HazardError, AddressError; each names the
        argument, or file and line, CTA and warp.
        """
        self.check()
        program, limit, arch = self.program, _whole(limit, "limit", 1), arch or self.module.arch
        dynamic_bytes = _whole(shared_bytes, "shared_bytes", 0)

        def prepared(log, program=program, hazards=hazards, unset=0):
            launch = Launch(arch, hazards, python=self.module.python)
            launch.log, launch.unset = log or launch.log, unset
            space = self.module.space(launch, self.variables)
            program.parameters = packed(self, args, space)
            space.expect(program.parameters)
            launch.dynamic_bytes, launch.narrow = dynamic_bytes, program.narrow
            shape = Shape.of(grid, block, program.dynamic_at + dynamic_bytes, self._cluster(cluster), together, launch,
                             MOST_WARPS, self.static_shared)
            if shape.together:
                space.workspace = space.address(np.zeros(2, np.uint32))
            self._check(shape)
            launch.registers = self._registers(shape)
            return launch, space, shape

        def attempted():
            attempts = Attempts(program, prepared, self._traced, limit, progress, self.module.python)
            if not looks:
                return attempts.once()
            if together or prod(self._cluster(cluster)) != 1:
                return self._unsure_by_races(attempts.shadowed())
            return self._unsure_by_races(in_two_steps(attempts, program, compiled()))

        def again(other, word, most):
            held = partial(prepared, program=other, hazards="off", unset=word)
            Attempts(other, held, lambda launch: None, min(limit, most), None, self.module.python).once()

        check_mode(hazards)
        looks = hazards != "off" and watcher() is None
        before = Before(prepared(None)[1]) if looks and self.unset.readers and can_be_tried(program) else None
        try:
            trace = attempted()
        except HazardError as raised:
            name_elements(raised, arrays_of(self, None, dynamic_bytes))
            raise
        found = () if before is None else told(self.unset, trace, before, again)
        if found and hazards == "raise":
            raise error(found[0])
        trace = replace(trace, hazards=(*trace.hazards, *found)) if found else trace
        arrays = Later(partial(arrays_of, self, trace, dynamic_bytes))
        return replace(trace, arrays=arrays, hazards=tuple(with_elements(one, arrays) for one in trace.hazards))

    @cached_property
    def unset(self) -> Unset:
        """As of `ptx.looks.unset`."""
        return Unset(self.module.syntax, self.functions, self.module.addresses)

    def _unsure_by_races(self, trace):
        """The Trace, in which those counts are not exact that depend on what loads and stores do that race."""
        raced = {(place.file, place.line) for one in trace.hazards if one.kind in RACES
                 for place in (one.first, one.second) if place is not None and place.instruction.startswith(("ld.", "st."))}
        sites = {site for names in self._names.values() if raced for site in names.unsure(names.moves_at(raced))}
        lines = [replace(c, exact=c.exact and (c.file, c.line, c.ptx_line) not in sites) for c in trace.lines]
        return replace(trace, lines=tuple(lines)) if sites else trace

    def _traced(self, launch):
        """The Trace of a Launch that has ended."""
        executed = self.program.executed
        self._record(launch.recorder, executed)
        return launch.trace(Later(partial(self._executed, executed)))

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
    def accesses(self) -> list[tuple[syntax.Instruction, set[int]]]:
        """As of `passes.by_order`: which parameters the addresses of its accesses of global memory are made of."""
        return accesses(self.function)

    @cached_property
    def _instructions(self):
        """Of its steps that are instructions: (index int64 [n], site after site; where each site begins there; the sites;
        [(index, site)] of loads whose results nothing reads)."""
        sites, unread = defaultdict(list), []
        for at, step in enumerate(self.program.steps):
            if not step.is_latch:
                sites[step.site].append(at)
                if step.unread:
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

    def check(self) -> None:
        """Raises InstructionError that lists what of the kernel the machine cannot execute, if there is anything."""
        if self.program is None:
            raise InstructionError(refusal(self.module.syntax.path, summed(self.faults)))

    def _cluster(self, cluster):
        given, required = three_of(cluster, "cluster"), self.required_cluster
        if required is not None and given not in ((1, 1, 1), required):
            raise MachineError(f"{self.called} requires clusters of {required} CTAs (.reqnctapercluster), not {given}")
        return required or given

    def _check(self, shape):
        if self.required_block is not None and shape.block != self.required_block:
            raise MachineError(f"{self.called} requires blocks of {self.required_block} threads (.reqntid), not "
                               f"{shape.block}")
        if self.most_threads is not None and prod(shape.block) > self.most_threads:
            raise MachineError(f"{self.called} takes blocks of at most {self.most_threads} threads (.maxntid), not "
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


def _whole(value, name, least):
    """An integer of at least so much."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise MachineError(f"{name} = {brief(value)}: give an integer of at least {least}")
    return int(value)
