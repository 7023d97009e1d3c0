"""Random kernels on global memory, against every pair of accesses.

The twin knows nothing of the machine: it makes a graph of what happens before what from the statements that the kernel's
text was made from. Each thread's accesses are a chain of nodes, joined where threads meet or one acquires what another
released; in which order atomics came to a counter is noted as they run. A copy begins at one node and ends at that of the
wait for it, or never. Two accesses of a byte race if neither ends before the other starts, one writes, and they are neither
atomics of one proxy nor stores of one value, plain ones or of boxes by one CTA, to the same bytes.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import strategies as st
from machine_kit import every_hazard
from random_global_accesses import (
    BOX_ROWS,
    COUNTERS,
    LANES,
    MBARRIERS,
    ROW,
    SIZE,
    STATEMENTS,
    Program,
    came,
    handing_on,
    shapes,
    value_of,
    width_of,
)
from tiers import given_few

from simlayout.errors import HazardError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine import run
from simlayout.machine.hazards import global_shadow

# ---- the twin -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Access:
    """What one thread does to some bytes: between nodes start and end (None: never ends)."""

    instruction: tuple
    line: int
    write: bool
    atomic: str | None                                   # the proxy
    start: int
    end: int | None
    box: tuple | None = None                             # thread, if it is a store of a box
    stored: tuple | None = None                          # value and width of a plain store; of a box what fills it where


@dataclass
class Twin:
    """Every access of a Program, and what happens before what."""

    program: Program
    came: list = field(default_factory=list)             # see there
    preceding: list = field(default_factory=lambda: [set()])             # node -> nodes right before it
    bytes: dict = field(default_factory=dict)            # byte -> [Access]

    def __post_init__(self):
        shape = self.program.shape
        self.last = [0] * (shape.ctas * shape.warps * 32)
        self.open, self.groups, self.loads, self.released, self.counted = {}, {}, {}, {}, {}
        for line in self.program.lines:
            self.execute(*line)
        for one, other in itertools.combinations(self.came, 2):
            (counter, node), (same, later) = self.counted[one], self.counted[other]
            if counter == same:
                self.preceding[later].add(node)
        self.before = {0: 0}                             # node -> all nodes before it, as bits
        while len(self.before) < len(self.preceding):
            for node, preceding in enumerate(self.preceding):
                if node not in self.before and all(one in self.before for one in preceding):
                    self.before[node] = 0
                    for one in preceding:
                        self.before[node] |= self.before[one] | 1 << one

    def node(self, *threads, after=()):
        self.preceding.append({*(self.last[t] for t in threads), *after})
        for t in threads:
            self.last[t] = len(self.preceding) - 1
        return len(self.preceding) - 1

    def execute(self, line, number, who, predicate, statement):
        name, *rest = statement
        shape = self.program.shape
        inside = {"tid < 64": lambda t: t < 64, **LANES}[predicate]
        warps = [(c, w) for c in range(shape.ctas) for w in range(shape.warps)
                 if who[0] in (None, c) and who[1] in (None, w)]
        parts = [(c, w, [32 * (c * shape.warps + w) + i for i in range(32) if inside(32 * w + i)]) for c, w in warps]
        if name == "cluster_sync":
            self.node(*(t for *_, threads in parts for t in threads))
        elif name in ("bar", "bar_some"):
            for cta in {c for c, _ in warps}:
                self.node(*(t for c, _, threads in parts if c == cta for t in threads))
        else:
            for cta, warp, threads in parts:
                getattr(self, name.rpartition("_")[0] if name[-1].isdigit() else name)(
                    (line, cta, warp), line, number, (cta, warp), threads, statement)

    def touch(self, bytes, *what, **more):
        made = Access(*what, **more)
        for byte in bytes:
            if 0 <= byte < SIZE:
                self.bytes.setdefault(byte, []).append(made)
        return made

    # one method for each name: (instruction, line, number, (cta, warp), threads, statement)

    def plain(self, instruction, line, number, where, threads, statement, write=False, atomic=None):
        name, slope, start, shift = statement
        width, made = width_of(name), []
        for t in threads:
            tid, node = t - 32 * where[0] * self.program.shape.warps, self.node(t)
            at = width * ((slope * tid + start + shift * where[0]) % (SIZE // width))
            stored = (value_of(number), width) if write and atomic is None else None
            made.append((t, self.touch(range(at, at + width), instruction, line, write, atomic, node, node, stored=stored)))
        return made

    def load(self, *what):
        self.plain(*what)

    def store(self, *what):
        self.plain(*what, write=True)

    def strong_load(self, *what):
        self.plain(*what, atomic=width_of(what[-1][0]))

    def strong_store(self, *what):
        self.plain(*what, write=True, atomic=width_of(what[-1][0]))

    def copy(self, *what):
        copies = self.plain(*what)
        for _, access in copies:
            access.end = None
        self.open.setdefault(("copies", *what[3]), []).extend(copies)

    def commit(self, instruction, line, number, where, threads, statement):
        self.groups.setdefault(("copies", *where), []).append(self.open.pop(("copies", *where), []))

    def wait(self, instruction, line, number, where, threads, statement):
        self.finish(("copies", *where), statement[1])

    def finish(self, key, pending, ends=True):
        groups = self.groups.get(key, [])
        for group in groups[:max(len(groups) - pending, 0)]:
            for t, access in group:
                if ends and access.end is None:
                    access.end = self.node(t)

    def box(self, coords, *what, **more):
        column, row = coords
        columns = [c for c in range(column, column + ROW) if 0 <= c < ROW]
        bytes = [ROW * r + c for r in range(row, row + BOX_ROWS) if r >= 0 for c in columns]
        return self.touch(bytes, *what, **more)

    def box_load(self, instruction, line, number, where, threads, statement):
        for t in threads:
            self.loads[number, t] = self.box(statement[1:], instruction, line, False, None, self.node(t), None)

    def box_wait(self, instruction, line, number, where, threads, statement):
        for t in threads:
            access = self.loads[statement[1], t]
            access.end = self.node(t) if access.end is None else access.end

    def box_store(self, instruction, line, number, where, threads, statement, atomic=None):
        for t in threads:
            value = None if atomic else ("box", number, where[0])
            store = self.box(statement[1:], instruction, line, True, atomic, self.node(t), None, stored=value)
            self.open.setdefault(("boxes", t), []).append((t, store))

    def box_add(self, *what):
        self.box_store(*what, atomic="async")

    def bulk_commit(self, instruction, line, number, where, threads, statement):
        for t in threads:
            self.groups.setdefault(("boxes", t), []).append(self.open.pop(("boxes", t), []))

    def bulk_wait(self, instruction, line, number, where, threads, statement):
        for t in threads:
            self.finish(("boxes", t), statement[1], ends=not statement[2])

    def filled(self, *what):
        pass

    def sync(self, instruction, line, number, where, threads, statement):
        if threads:
            self.node(*threads)

    def release(self, instruction, line, number, where, threads, statement):
        self.released[number] = self.node(*threads)

    def acquire(self, instruction, line, number, where, threads, statement):
        for t in threads:
            self.node(t, after=(self.released[number],))

    def count(self, instruction, line, number, where, threads, statement):
        self.counted[where[0], line] = statement[1], self.node(*threads)

    def count_relaxed(self, *what):
        pass

    def races(self):
        """({(line, line, byte)} of racing pairs, {(line, line, byte)} of plain stores of one value that are not ordered
        either), either way round. The machine may tell of the second ones too where a byte has a race: it compares with what
        is there, which is then not what each of them has stored."""
        found, stores = set(), set()
        for byte, here in self.bytes.items():
            for x, y in itertools.combinations(here, 2):
                strong = x.atomic and x.atomic == y.atomic
                if (x.write or y.write) and x.instruction != y.instruction and not strong:
                    if not self.ends_before(x, y) and not self.ends_before(y, x):
                        pairs = {(x.line, y.line, byte), (y.line, x.line, byte)}
                        if x.stored and x.stored == y.stored:
                            stores |= pairs
                        else:
                            found |= pairs
        return found, stores

    def ends_before(self, x, y):
        return x.end is not None and self.before[y.start] >> x.end & 1


def global_hazards(program, kernel):
    """All hazards in global memory that a run finds, not one per pair of lines."""
    return [hazard for hazard in every_hazard(lambda: launch(program, kernel, "report")) if hazard.kind != "early exit"]


def launch(program, kernel, mode):
    a, counters = np.zeros((SIZE // ROW, ROW), np.uint8), np.zeros(COUNTERS + 3, np.uint32)
    came.clear()
    shape = program.shape
    tensor = TensorMap.of(a.view(np.uint32), (ROW // 4, BOX_ROWS), swizzle=0)
    run(kernel, shape.ctas, 32 * shape.warps, a, tensor, counters, shared_bytes=MBARRIERS + 4096, hazards=mode,
        **shape.options)


LIMITS = {}, {"LISTED": 70, "PRUNE_AT": 3, "THINNED": 1}
"""Of what is kept: the machine's own, and some that short runs reach."""


@given_few(12, 1_500, shapes, st.lists(STATEMENTS, min_size=2, max_size=12), st.sampled_from(LIMITS))
def test_races_in_global_memory_are_those_of_the_twin(shape, statements, limits):
    check(shape, statements, limits)


@given_few(8, 1_300, handing_on(), st.sampled_from(LIMITS))
def test_counters_order_ctas_that_run_one_after_the_other_as_the_twin_says(program, limits):
    check(*program, limits)


def check(shape, statements, limits):
    program = Program(shape, statements)
    kernel = program.kernel()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(global_shadow, name, value)
        found = global_hazards(program, kernel)
    races, stores = Twin(program, list(came)).races()
    assert {hazard.kind for hazard in found} <= {"global race"}
    for hazard in found:
        assert {(hazard.first.line, hazard.second.line, byte) for byte in hazard.bytes} <= races | stores
    assert {byte for hazard in found for byte in hazard.bytes} == {byte for *_, byte in races}
    if races:
        with pytest.raises(HazardError):
            launch(program, kernel, "raise")
