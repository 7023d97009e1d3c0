"""Random kernels of three warps: the machine against one lane at a time, and its hazards against every pair of accesses.

The twin knows nothing of the machine. It executes the statements that the kernel's text was made from, lane by lane, on
a bytearray, and keeps every access. What happens before what is a graph of nodes: each thread's statements in a chain,
joined where threads meet. Two accesses to a byte race if neither's end is among what came before the other's start, unless
both store one value, of as many bytes.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import strategies as st
from machine_kit import Instruction, every_hazard, tid_x
from tiers import given_few
from written_source import functions_of

from simlayout.errors import HazardError
from simlayout.machine import run

WARPS, SIZE = 3, 512
PREDICATES = {"tid % 3 == 1": lambda t: t % 3 == 1, "tid % 32 < 5": lambda t: t % 32 < 5, "tid >= 40": lambda t: t >= 40,
              "tid % 2 == 0": lambda t: t % 2 == 0, "tid % 32 == 7": lambda t: t % 32 == 7}

# ---- the instructions of the kernels --------------------------------------------------------------------------------

loaded, left = [], {}


def pattern(width, tid, value, step):
    return ((value + step * tid[:, None] + step * np.arange(width)) & 255).astype(np.uint8)


def _load(width):
    def twin(warp, address):
        data = warp.shared_load(f"ld.shared.b{8 * width}", address, width)
        loaded.append((warp.warp_index, {(int(lane), data[lane].tobytes()) for lane in np.flatnonzero(warp.active)}))

    return Instruction(twin)


def _store(width):
    return Instruction(lambda warp, address, value, step:
                       warp.shared_store(f"st.shared.b{8 * width}", address, pattern(width, warp.tid, value, step)))


def _copy(width):
    return Instruction(lambda warp, address, value, step:
                       warp.commit_copy(f"cp.async.ca.{width}", address, pattern(width, warp.tid, value, step)))


def _ldmatrix(name):
    return Instruction(lambda warp, address: loaded.append((warp.warp_index, warp.shared_rows(name, address).tobytes())))


def _stmatrix(warp, address, value, step):
    data = pattern(4, warp.tid, value, step)
    warp.shared_store_rows("stmatrix.x1", address, data.reshape(8, 16))


@Instruction
def finish(warp):
    left["bytes"] = warp.cta.shared.bytes.tobytes()


NAMES = {
    **{f"load_{w}": _load(w) for w in (1, 2, 4, 8, 16)}, **{f"store_{w}": _store(w) for w in (1, 2, 4, 8, 16)},
    **{f"copy_{w}": _copy(w) for w in (4, 8, 16)},
    "ldmatrix_x2": _ldmatrix("ldmatrix.x2"), "ldmatrix_x2_trans": _ldmatrix("ldmatrix.x2.trans"),
    "stmatrix_x1": Instruction(_stmatrix), "tid_x": tid_x, "finish": finish,
    "commit": Instruction(lambda warp: warp.commit_group()),
    **{f"wait_{n}": Instruction(lambda warp, n=n: warp.wait_group(n)) for n in range(3)},
    "sync": Instruction(lambda warp: warp.sync(sum(1 << int(i) for i in np.flatnonzero(warp.active)))),
    "bar": Instruction(lambda warp: warp.barrier()),
    "bar_of_two": Instruction(lambda warp, id: warp.barrier(id, 64)),
    "bar_of_one": Instruction(lambda warp, id: warp.barrier(id, 32)),
}

# ---- statements: (name, *numbers), or (condition, [statements]) -----------------------------------------------------

numbers = st.integers(0, 40)
slopes, starts = st.sampled_from([1, 1, 1, 1, 0, 3]), st.sampled_from([0, 0, 0, 1, 32, 7])
steps = st.sampled_from([0, 0, 1, 3])
anywhere = st.one_of(
    st.tuples(st.sampled_from(["load_1", "load_2", "load_4", "load_8", "load_16"]), slopes, starts),
    st.tuples(st.sampled_from(["store_1", "store_2", "store_4", "store_8", "store_16"]), slopes, starts, numbers, steps),
    st.tuples(st.sampled_from(["copy_4", "copy_8", "copy_16"]), slopes, starts, numbers, steps),
    st.tuples(st.just("sync")),
)
whole = st.one_of(
    anywhere,
    st.tuples(st.sampled_from(["commit", "wait_0", "wait_0", "wait_1", "wait_2"])),
    st.tuples(st.sampled_from(["ldmatrix_x2", "ldmatrix_x2_trans"]), slopes, starts),
    st.tuples(st.just("stmatrix_x1"), slopes, starts, numbers, steps),
)
STATEMENTS = st.one_of(
    whole, whole, whole, st.just(("bar",)), st.just(("bar",)), st.just(("bar",)),
    st.tuples(st.sampled_from(list(PREDICATES)), st.lists(anywhere, min_size=1, max_size=2)),
    st.tuples(st.integers(0, WARPS - 1).map("tid // 32 == {}".format), st.lists(whole, min_size=1, max_size=2)),
    st.integers(0, WARPS - 1).map(lambda k: (f"tid // 32 != {k}", [("bar_of_two", 1 + k)])),
    st.integers(0, WARPS - 1).map(lambda k: (f"tid // 32 == {k}", [("bar_of_one", 4 + k)])),
)


def holds(condition, t):
    if condition in PREDICATES:
        return PREDICATES[condition](t)
    *_, operator, k = condition.split()
    return (t // 32 == int(k)) == (operator == "==")


def width_of(name):
    return 16 if "matrix" in name else int(name.rpartition("_")[2])


def text_of(statement):
    name, *rest = statement
    if name.startswith(("load", "store", "copy", "ldmatrix", "stmatrix")):
        width, (a, b, *values) = width_of(name), rest
        rest = [f"{width} * (({a} * tid + {b}) % {SIZE // width})", *values]
    return f"{name}({', '.join(map(str, rest))})"


def lines_of(statements, indent="    "):
    """[(text, statement, condition)] of a kernel, one per line."""
    for statement in statements:
        if isinstance(statement[-1], list):
            yield f"{indent}if {statement[0]}:", None, None
            for inner in statement[1]:
                yield f"{indent}    {text_of(inner)}", inner, statement[0]
        else:
            yield indent + text_of(statement), statement, None


HEAD = ["def kernel():", "    tid = tid_x()"]


def made_of(lines):
    return functions_of("\n".join([*HEAD, *lines, "    finish()"]) + "\n", dict(NAMES))["kernel"]


# ---- the twin -------------------------------------------------------------------------------------------------------


@dataclass
class Access:
    """What one thread does to some bytes: between nodes start and end (None: never ends), by instruction and line. values:
    byte -> (what a store writes there, bytes of its values)."""

    write: bool
    bytes: tuple
    start: int
    end: int | None
    instruction: int
    line: int
    values: dict = field(default_factory=dict)


class Twin:
    """Executes the lines, one lane at a time, and keeps every access."""

    def __init__(self, lines):
        self.program = [(3 + i, s, c) for i, (_, s, c) in enumerate(lines) if s is not None]
        self.memory = bytearray(b"\xff" * SIZE)
        self.before = [0]                                    # node -> set of nodes, as bits
        self.last = [0] * (32 * WARPS)
        self.accesses, self.loaded, self.collisions = [], [], set()
        self.open, self.groups = [[] for _ in range(WARPS)], [[] for _ in range(WARPS)]
        self.arrived, self.opened, self.instructions = {}, {}, 0

    def node(self, *threads):
        """A new node after the last ones of some threads, and the last of each from now on."""
        self.before.append(0)
        made = len(self.before) - 1
        for t in threads:
            self.before[made] |= self.before[self.last[t]] | 1 << self.last[t]
        for t in threads:
            self.last[t] = made
        return made

    def run(self):
        todo = {w: (self.warp(w), None) for w in range(WARPS)}
        while todo:
            for w in [w for w, (_, ready) in todo.items() if ready is None or ready()]:
                steps, _ = todo[w]
                try:
                    todo[w] = steps, next(steps)
                except StopIteration:
                    del todo[w]
        return self

    def warp(self, w):
        for line, (name, *rest), condition in self.program:
            lanes = [t for t in range(32 * w, 32 * w + 32) if condition is None or holds(condition, t)]
            if not lanes:
                continue
            self.instructions += 1
            if name.startswith("bar"):
                warps = {"bar": WARPS, "bar_of_two": 2, "bar_of_one": 1}[name]
                yield from self.barrier(rest[0] if rest else 0, warps, lanes)
            elif name == "sync":
                self.node(*lanes)
            elif name == "commit":
                self.groups[w].append(self.open[w])
                self.open[w] = []
            elif name.startswith("wait"):
                while len(self.groups[w]) > int(name[-1]):
                    self.land(self.groups[w].pop(0))
            else:
                self.touch(w, name, line, lanes, *rest)

    def barrier(self, id, warps, lanes):
        there = self.arrived.setdefault(id, [])
        there += lanes
        turn = self.opened.get(id, 0)
        if len(there) == 32 * warps:
            self.node(*there)
            self.arrived[id], self.opened[id] = [], turn + 1
        else:
            yield lambda: self.opened.get(id, 0) > turn

    def touch(self, w, name, line, lanes, a, b, value=0, step=0):
        width = width_of(name)

        def address(t):
            return width * ((a * t + b) % (SIZE // width))

        def data(t, n):
            return bytes((value + step * (t + i)) & 255 for i in range(n))

        start = {t: self.node(t) for t in lanes}
        first = 32 * w
        if name.startswith("load"):
            for t in lanes:
                self.keep(False, address(t), width, start[t], line)
            self.loaded.append((w, {(t - first, bytes(self.memory[address(t):address(t) + width])) for t in lanes}))
        elif name.startswith("ldmatrix"):
            rows = [address(first + r) for r in range(16)]
            for matrix, t in itertools.product(range(2), range(32)):
                if name.endswith("trans"):                   # elements (2 (t % 4), t // 4) and the one below
                    for row in (t % 4 * 2, t % 4 * 2 + 1):
                        self.keep(False, rows[8 * matrix + row] + 2 * (t // 4), 2, start[first + t], line)
                else:
                    self.keep(False, rows[8 * matrix + t // 4] + 4 * (t % 4), 4, start[first + t], line)
            self.loaded.append((w, b"".join(bytes(self.memory[r:r + 16]) for r in rows)))
        elif name.startswith("copy"):
            copies = [(t, address(t), data(t, width), self.keep(True, address(t), width, start[t], line)) for t in lanes]
            for *_, kept in copies:
                kept.end = None
            self.open[w].append(copies)
        else:
            stores = [(t, address(t), data(t, width)) for t in lanes]
            if name == "stmatrix_x1":
                stores = [(t, address(first + (t - first) // 4) + 4 * (t % 4), data(t, 4)) for t in lanes]
            for t, at, made in stores:
                size = "a row" if name == "stmatrix_x1" else width
                self.keep(True, at, len(made), start[t], line).values = {at + i: (b, size) for i, b in enumerate(made)}
            self.put((at, made) for _, at, made in stores)

    def land(self, group):
        for copies in group:
            for t, *_, kept in copies:
                kept.end = self.node(t)
            self.put((at, made) for _, at, made, _ in copies)

    def keep(self, write, at, width, node, line):
        self.accesses.append(Access(write, tuple(range(at, at + width)), node, node, self.instructions, line))
        return self.accesses[-1]

    def put(self, stores):
        """Stores of one instruction, lane after lane; different values to one byte collide."""
        seen = {}
        for at, made in stores:
            self.memory[at:at + len(made)] = made
            for i, value in enumerate(made):
                if seen.setdefault(at + i, value) != value:
                    self.collisions.add(at + i)

    def ends_before(self, one, other):
        return one.end is not None and self.before[other.start] >> one.end & 1

    def hazards(self):
        """({(line, line, byte)} of racing pairs, {(line, byte)} of reads that no write comes before)."""
        races, unwritten = set(), set()
        by_byte = {}
        for x in self.accesses:
            for byte in x.bytes:
                by_byte.setdefault(byte, []).append(x)
        for byte, here in by_byte.items():
            for x, y in itertools.combinations(here, 2):
                alike = byte in x.values and x.values[byte] == y.values.get(byte)
                if (x.write or y.write) and not alike and x.instruction != y.instruction:
                    if not self.ends_before(x, y) and not self.ends_before(y, x):
                        races |= {(x.line, y.line, byte), (y.line, x.line, byte)}
            for x in here:
                if not x.write and not any(y.write and self.ends_before(y, x) for y in here):
                    unwritten.add((x.line, byte))
        return races, unwritten


def hazards_of(kernel):
    """All hazards that a run finds."""
    return every_hazard(lambda: run(kernel, 1, 32 * WARPS, shared_bytes=SIZE, hazards="report"))


CLEARED = [("tid // 32 == 0", [("store_16", 1, 0, 9, 0)]), ("bar",)]                 # all bytes, by one warp
KERNELS = st.builds(list.__add__, st.sampled_from([[], CLEARED, CLEARED]), st.lists(STATEMENTS, min_size=2, max_size=12))


def same_as_twin(statements):
    lines = list(lines_of(statements))
    kernel = made_of([text for text, *_ in lines])
    loaded.clear()
    found = hazards_of(kernel)
    twin = Twin(lines).run()
    assert loaded == twin.loaded and left["bytes"] == bytes(twin.memory)

    races, unwritten = twin.hazards()
    for hazard in found:
        if hazard.kind == "unwritten read":
            assert {(hazard.second.line, b) for b in hazard.bytes} <= unwritten
        elif hazard.kind == "collision":
            assert set(hazard.bytes) <= twin.collisions
        else:
            assert {(hazard.first.line, hazard.second.line, b) for b in hazard.bytes} <= races
    wrong = {b for *_, b in races | unwritten} | twin.collisions
    assert {b for hazard in found for b in hazard.bytes} == wrong
    if wrong:
        with pytest.raises(HazardError):
            run(kernel, 1, 32 * WARPS, shared_bytes=SIZE)


@given_few(20, 1_500, KERNELS)
def test_memory_and_hazards_are_those_of_the_twin(statements):
    same_as_twin(statements)


def test_a_store_after_lanes_that_collide_is_compared_with_what_the_last_of_them_left():
    same_as_twin([("stmatrix_x1", 0, 0, 0, 1), ("store_16", 1, 0, 32, 0)])
