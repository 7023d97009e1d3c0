"""A PTX entry as the machine runs it: steps in a row, the order in which parted lanes meet, and what registers start
with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.kinds import calls_of, located
from simlayout.machine.hazards.scopes import GPU, is_narrow, is_sequential, reach_of
from simlayout.machine.ptx.lowering.accumulators import Accumulators
from simlayout.machine.ptx.opcodes.memory import Bounds
from simlayout.machine.ptx.opcodes.rows import Lanewise, Place, in_numpy, same
from simlayout.machine.ptx.passes.accesses import STRONG
from simlayout.machine.ptx.passes.joined import Joined
from simlayout.machine.ptx.passes.map_fields import Access
from simlayout.machine.ptx.passes.unset import HELD

SYSTEM_BYTES = 1024
"""Of the system's own shared memory."""

ROOM = 9
"""Rows behind a warp's registers that the compiled loop works with."""


@dataclass(slots=True)
class Step:
    """One instruction, bound to registers. What it does is one of `lanewise` with `compute`, `jump`, and `run`. Some that
    have `run` say it as data as well, for the compiled loop: as `memory`, `exchange`, `matrices` or `product`."""

    # Where it stands
    name: str                                            # its opcode and modifiers
    site: tuple                                          # (file, line) of the source that it came from
    caller: tuple | None                                 # the calls that led there if it was inlined, (file, line, caller)
    line: int                                            # of the PTX text
    text: str

    # Which lanes execute it
    guard: int | None = None                             # the row of its predicate
    negated: int = 0                                     # it executes where the predicate is not this
    together: Callable | None = None                     # (warp, active) -> bool [32]: those that must, together, or None

    # What it does
    lanewise: Lanewise | None = None                     # arithmetic, as data
    compute: Callable | None = None                      # (rows, mask): the same in NumPy; mask None: all lanes
    jump: Callable | None = None                         # (warp, part, active) -> whether the part goes on
    run: Callable | None = None                          # (warp): all else; a generator if it may wait
    memory: object | None = None                         # `opcodes.memory.Move` of a plain load or store
    exchange: object | None = None                       # `opcodes.warps.Exchange` of what lanes of a warp do together
    matrices: object | None = None                       # of ldmatrix (`opcodes.matrix`)
    product: object | None = None                        # of mma, likewise
    moves: Callable | None = None                        # () -> [(source, target)] that a call passes (`control._copy`)
    is_plain_beneath: bool = False                       # whether, behind a look at accumulators, it is one of these
    watches: int = 0                                     # those, a bit for each set; it looks where one has a guard

    # What it counts as
    joined: tuple[Joined, ...] | None = None             # of a load or store of which ptxas makes something else
    fields: tuple[Access, ...] = ()                      # of a tensormap.replace, likewise
    unread: bool = False                                 # a load that is left out, as nothing needs its result
    sunk: bool = False                                   # it stands before a wgmma.wait_group in the text (`sunk`)

    # What is known of it
    updates: int = 0                                     # bytes of a value of an atomic that orders nothing, of scope .gpu
    within: Bounds | None = None                         # of an access of shared memory: where its addresses are
    beside: np.ndarray | None = None                     # of global memory: what others of its place touch (`same_place`)
    meets: int | None = None                             # the number of a barrier of the whole CTA, where the text gives it
    rounded: str | None = None                           # the type of what it stores, if arithmetic of floats has rounded it
    answers: frozenset = frozenset()                     # where what a shuffle made this of was loaded (`passes.answers`)
    stops: bool = False                                  # it does nothing but end the kernel with an error
    waits: bool = False                                  # it reads a flag, or a counter (`published`)
    clock: int | None = None                             # the row that gets the time

    def left_out(self):
        """The Step that stands for it where ptxas leaves it out: it does nothing."""
        nothing = Lanewise("mov", same, (Place(None, "b32", 32),), (Place(0, "b32", 32),))
        return Step(self.name, self.site, self.caller, self.line, self.text, self.guard, self.negated, unread=True,
                    lanewise=nothing, compute=in_numpy(nothing))

    @property
    def counted_at(self):
        """(file, line, line of the PTX text): where the recorder counts its accesses."""
        return *self.site, self.line

    @property
    def is_latch(self):
        """Whether it is no instruction, but where lanes meet before they begin a loop anew (`blocks.with_latches`)."""
        return not self.name

    @property
    def aligned(self):
        """Whether it is a barrier that all lanes of a warp must execute together (PTX ISA: bar, barrier.sync.aligned)."""
        opcode, *modifiers = self.name.split(".")
        return "warp" not in modifiers and (opcode == "bar" or opcode == "barrier" and "aligned" in modifiers)

    def where(self):
        """Where it came from, as text."""
        return located(*self.site, calls_of(self.caller))


@dataclass
class Program:
    """A lowered entry.

    steps: of it, and of all functions that it may call; start: the index of the first
    places: of each step its place in the order, and one more, past the end; end: the place behind all others
    rows: how many registers have one; constants: {row: bits}; specials: {row: name of a special register}
    uses: of each step the set of rows that it reads and writes, but for its guard
    local_bytes: of each thread; static_shared: bytes of shared variables; dynamic_at: where dynamic shared memory begins
    reserved_at: where the system's shared memory begins, None if nothing uses it
    accumulators: registers that wgmma adds to
    register_bounds: the least and the most that a thread has at launch, as its setmaxnreg say
    passed: as `passes.arrays.passed_to`, of a line of the PTX
    parameters, executed: of a launch, their bytes, and how often each step was executed
    encoded: {(whether it is watched, whether clocked): its Encoded}; started: (of which launch, how its CTAs begin, as of
    `compiled.whole.started`)
    """

    name: str
    steps: list
    places: list
    start: int
    end: int
    rows: int
    constants: dict
    specials: dict
    local_bytes: int
    static_shared: int
    dynamic_at: int
    accumulators: Accumulators = field(default_factory=Accumulators)
    register_bounds: tuple = (None, None)
    reserved_at: int | None = None
    uses: list = field(default_factory=list)
    passed: Callable[[int], set[int]] = lambda line: set()
    parameters: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    executed: list = field(default_factory=list)
    encoded: dict = field(default_factory=dict)
    started: tuple = (None,)
    _follows: dict = field(default_factory=dict)

    def follows(self, at, to):
        """Whether step `to` can come after step `at`."""
        key = at, to
        if key not in self._follows:
            self._follows[key] = self._reaches(at, to)
        return self._follows[key]

    def _reaches(self, at, to):
        todo, seen = [at + 1], set()
        while todo:
            block = todo.pop()
            if block == to:
                return True
            if block in seen or block >= len(self.steps):
                continue
            seen.add(block)
            jump = self.steps[block].jump
            if jump is None or getattr(jump, "falls", False) or self.steps[block].guard is not None:
                todo.append(block + 1)
            todo += [target[0] for target in getattr(jump, "targets", ())]
        return False

    def function_of(self, at):
        """The Names of the function, other than the entry, that has step `at`; None of the entry's."""
        returns = [step.jump.names for step in self.steps if hasattr(step.jump, "names")]
        return next((names for names in returns if names.start <= at < names.end), None)

    def meets_others(self, steps):
        """Whether some steps (a set) have a barrier, behind which other warps go on too."""
        names = (self.steps[at].name for at in steps)
        return any(name.startswith(("bar.", "barrier.")) and ".warp." not in name for name in names)

    def deciding(self, steps):
        """int64 [n]: the rows of registers on which it depends what some steps (a set) do, but for arithmetic: where they
        go, and what they do with memory. Those that hold a time, or what is computed of one, are not among them."""
        made = [self.steps[at] for at in steps if self.steps[at].lanewise is not None]
        which = {row for at in steps if self.steps[at].lanewise is None and self.steps[at].clock is None
                 for row in self.uses[at]}
        which |= {self.steps[at].guard for at in steps}
        size = -1
        while size < len(which):
            size = len(which)
            for step in made:
                if not which.isdisjoint(place.row for place in step.lanewise.results):
                    which |= {place.row for place in (*step.lanewise.sources, *step.lanewise.results)}
        return np.array(sorted(which - self._timed(steps, made) - {None}), np.int64)

    def _timed(self, steps, made):
        """The rows that hold a time which one of some steps (a set) reads, or what arithmetic among them makes of one, but
        for whether one has come: that does not change for long, and may be counted."""
        timed, size = {self.steps[at].clock for at in steps} - {None}, 0
        while size < len(timed):
            size = len(timed)
            for step in made:
                if not (step.name.startswith("setp") or timed.isdisjoint(place.row for place in step.lanewise.sources)):
                    timed |= {place.row for place in step.lanewise.results}
        return timed

    @cached_property
    def narrow(self):
        """Whether it has strong accesses of memory other than shared that reach less than the GPU."""
        return any(is_narrow(step.name) for step in self.steps)

    @cached_property
    def orders_nearby(self):
        """Whether it has strong accesses or fences that order no more than a CTA or a cluster."""
        orders = "ld", "st", "atom", "red", "fence", "membar"
        return any(step.name.partition(".")[0] in orders and reach_of(step.name) < GPU for step in self.steps)

    @cached_property
    def reads_clocks(self):
        """Whether it may wait for no longer than a time."""
        return any(step.clock is not None for step in self.steps)

    @cached_property
    def is_sequential(self):
        """Whether it has a fence.sc of the GPU."""
        return any(is_sequential(step.name) for step in self.steps)

    @cached_property
    def publishes(self):
        """Whether it has strong stores, and what waits for some, or atomics, and loads that do: (in any memory, in shared
        memory)."""
        names = [step.name.split(".") for step in self.steps]
        waits = [step.name for step in self.steps if step.waits]
        sets = {"atom", "red"} if any(name.startswith("ld") for name in waits) else set()
        stores = any(opcode in sets or opcode == "st" and STRONG.intersection(modifiers) for opcode, *modifiers in names)
        return stores and bool(waits), stores and any(".global" not in name for name in waits)

    @cached_property
    def asks(self):
        """Whether atomics of shared memory say what others have done there, as those of locks."""
        return any(step.waits and step.name.startswith("atom") and ".global" not in step.name for step in self.steps)

    @cached_property
    def constant_rows(self):
        """uint64 [rows, 32]: what the registers of every warp hold at the start: constants; everything else is 0."""
        rows = np.zeros((self.rows + ROOM, LANES), np.uint64)
        for row, bits in self.constants.items():
            rows[row] = bits
        return rows

    def set_specials(self, warp):
        """Gives the rows of a warp its special registers."""
        for row, name in self.specials.items():
            warp.rows[row] = special(warp, name)


def special(warp, name):
    """What a special register holds (PTX ISA, Special Registers): uint64, of each lane or of all."""
    return np.asarray(SPECIALS[name](warp)).astype(np.uint64)


def _three(what):
    return {f"%{what}.{axis}": (lambda warp, i=i: _VECTORS[what](warp)[i]) for i, axis in enumerate("xyz")}


_VECTORS = {
    "tid": lambda warp: warp.thread,
    "ntid": lambda warp: warp.block,
    "ctaid": lambda warp: warp.index,
    "nctaid": lambda warp: warp.grid,
    "clusterid": lambda warp: [at // size for at, size in zip(warp.index, warp.cta.cluster.shape)],
    "nclusterid": lambda warp: [n // size for n, size in zip(warp.grid, warp.cta.cluster.shape)],
    "cluster_ctaid": lambda warp: [at % size for at, size in zip(warp.index, warp.cta.cluster.shape)],
    "cluster_nctaid": lambda warp: warp.cta.cluster.shape,
}

SPECIALS = {
    **{name: function for what in _VECTORS for name, function in _three(what).items()},
    "%laneid": lambda warp: warp.lane,
    "%warpid": lambda warp: warp.warp_index,
    "%nwarpid": lambda warp: len(warp.cta.registers),
    "%smid": lambda warp: warp.number // max(len(warp.cta.registers), 1),
    "%nsmid": lambda warp: 132,
    "%gridid": lambda warp: 0,
    "%is_explicit_cluster": lambda warp: int(warp.cluster_size > 1),
    "%cluster_ctarank": lambda warp: warp.cta.rank,
    "%cluster_nctarank": lambda warp: warp.cluster_size,
    "%lanemask_eq": lambda warp: 1 << warp.lane,
    "%lanemask_le": lambda warp: (2 << warp.lane) - 1,
    "%lanemask_lt": lambda warp: (1 << warp.lane) - 1,
    "%lanemask_ge": lambda warp: 0xFFFFFFFF & -(1 << warp.lane),
    "%lanemask_gt": lambda warp: 0xFFFFFFFF & -(2 << warp.lane),
    "%dynamic_smem_size": lambda warp: warp.dynamic_bytes,
    "%total_smem_size": lambda warp: warp.cta.shared.size,
    "%aggr_smem_size": lambda warp: warp.cta.shared.size,
    "%reserved_smem_offset_begin": lambda warp: 0,
    "%reserved_smem_offset_end": lambda warp: 0,
    "%reserved_smem_offset_cap": lambda warp: 0,
    "%reserved_smem_offset_1": lambda warp: warp.program.reserved_at or 0,
    HELD.name: lambda warp: warp.cta.launch.unset * 0x100000001,
    **{f"%envreg{i}": (lambda warp: 0) for i in range(32)},
    "%envreg1": lambda warp: warp.space.workspace >> 32,                 # of cooperative groups' grid.sync (driver_abi.h)
    "%envreg2": lambda warp: warp.space.workspace & 0xFFFFFFFF,
}
"""Name -> its value for a Warp; those that count time are instructions of their own (`opcodes.control`)."""
