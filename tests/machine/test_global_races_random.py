"""Random kernels on global memory, against every pair of accesses.

The twin knows nothing of the machine: it makes a graph of what happens before what from the statements that the kernel's
text was made from. Each thread's accesses are a chain of nodes, joined where threads meet or one acquires what another
released; a copy begins at one node and ends at that of the wait for it, or never. Two accesses of a byte race if neither
ends before the other starts, one writes, and not both are atomics of one proxy.
"""

import importlib.util
import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import strategies as st
from machine_kit import Instruction, atomic_add, ctaid_x, every_hazard, tid_x, wait_at_least
from tiers import given_few

from simlayout.errors import HazardError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine import global_shadow, run

SIZE, ROW, BOX_ROWS = 512, 32, 4                         # bytes of global memory, of a row of the tensor, rows of a box
STAGE, MBARRIERS = 4096, 131072                          # shared bytes per statement; mbarriers behind
WIDTHS = 1, 2, 4, 8, 16

# ---- the instructions of the kernels --------------------------------------------------------------------------------


def _load(width, strong):
    return Instruction(lambda warp, pointer: pointer.read(warp.active, width, strong=strong))


def _store(width, strong):
    return Instruction(lambda warp, pointer, value:
                       pointer.write(warp.active, np.full((32, width), value, np.uint8), strong=strong))


def _copy(width):
    def twin(warp, pointer, stage):
        warp.commit_copy(f"cp.async.ca.{width}", stage + width * warp.tid, pointer.read(warp.active, width, copy=warp))

    return Instruction(twin)


@Instruction
def box_load(warp, tensor, coords, stage, mbarrier):
    warp.mbarrier_init(mbarrier, 1)
    warp.fence_proxy_async()
    warp.mbarrier_arrive(mbarrier, expect=tensor.box_bytes)
    warp.tma_load(tensor, coords, stage, mbarrier)


@Instruction
def filled(warp, stage, value):
    warp.shared_store("st.shared.b32", stage + 4 * warp.lane, np.full((32, 4), value, np.uint8))
    warp.fence_proxy_async()


@Instruction
def box_store(warp, tensor, coords, stage):
    warp.fence_proxy_async()
    warp.tma_store(tensor, coords, stage)


@Instruction
def box_add(warp, tensor, coords, stage):
    warp.fence_proxy_async()
    warp.tma_reduce(tensor, coords, stage)


NAMES = {
    "tid_x": tid_x, "ctaid_x": ctaid_x, "release": atomic_add, "acquire": wait_at_least,
    **{f"{how}load_{w}": _load(w, bool(how)) for w in WIDTHS for how in ("", "strong_")},
    **{f"{how}store_{w}": _store(w, bool(how)) for w in WIDTHS for how in ("", "strong_")},
    **{f"copy_{w}": _copy(w) for w in (4, 8, 16)}, "box_load": box_load, "box_store": box_store, "box_add": box_add,
    "filled": filled,
    "sync": Instruction(lambda warp: warp.sync(sum(1 << int(i) for i in np.flatnonzero(warp.active)))),
    "commit": Instruction(lambda warp: warp.commit_group()),
    "wait": Instruction(lambda warp, pending: warp.wait_group(pending)),
    "bulk_commit": Instruction(lambda warp: warp.bulk_commit()),
    "bulk_wait": Instruction(lambda warp, pending, read: warp.bulk_wait(pending, read=read)),
    "box_wait": Instruction(lambda warp, mbarrier: warp.mbarrier_wait(mbarrier, 0)),
    "bar": Instruction(lambda warp: warp.barrier()),
    "bar_some": Instruction(lambda warp, id, threads: warp.barrier(id, threads)),
    "cluster_sync": Instruction(lambda warp: warp.cluster_sync()),
}

# ---- statements: (name, *numbers) of whom: (CTA or None, warp or None, lanes) -----------------------------------------

LANES = {"": lambda t: True, "tid % 3 == 1": lambda t: t % 3 == 1, "tid % 32 < 5": lambda t: t % 32 < 5,
         "tid % 32 == 7": lambda t: t % 32 == 7, "tid % 32 == 0": lambda t: t % 32 == 0}


@dataclass
class Shape:
    """How a kernel runs."""

    ctas: int
    warps: int
    mode: str                                            # "alone", "together" or "cluster"

    @property
    def options(self):
        return {"together": self.mode == "together", "cluster": self.ctas if self.mode == "cluster" else 1}


shapes = st.one_of(st.builds(Shape, st.just(1), st.integers(1, 3), st.sampled_from(["alone", "together", "cluster"])),
                   st.builds(Shape, st.just(2), st.integers(1, 2), st.sampled_from(["alone", "together", "cluster"])))
whom = st.tuples(st.sampled_from([None, None, 0, 1]), st.sampled_from([None, None, 0, 1, 2]))
lanes = st.sampled_from(["", "", "", *LANES])
place = (st.sampled_from([1, 1, 1, 1, 3]), st.sampled_from([0, 0, 0, 1, 32, 7]), st.sampled_from([0, 0, 16, 32]))
boxes = (st.sampled_from([0, 0, 16, -16]), st.integers(-2, 15))
one_lane = st.just("tid % 32 == 0")
STATEMENTS = st.one_of(
    st.tuples(whom, lanes, st.tuples(st.sampled_from([f"load_{w}" for w in WIDTHS]), *place)),
    st.tuples(whom, lanes, st.tuples(st.sampled_from([f"store_{w}" for w in WIDTHS]), *place)),
    st.tuples(whom, lanes, st.tuples(st.sampled_from(["strong_load_4", "strong_store_4", "strong_store_2"]), *place)),
    st.tuples(whom, lanes, st.tuples(st.sampled_from(["copy_4", "copy_8", "copy_16"]), *place)),
    st.tuples(whom, st.just(""), st.sampled_from([("commit",), ("wait", 0), ("wait", 1)])),
    st.tuples(whom, one_lane, st.tuples(st.sampled_from(["box_load", "box_store", "box_store", "box_add"]), *boxes)),
    st.tuples(whom, one_lane, st.sampled_from([("bulk_commit",), ("bulk_wait", 0, True), ("bulk_wait", 0, False),
                                               ("bulk_wait", 1, False), ("box_wait", 0), ("box_wait", 1)])),
    st.tuples(whom, lanes, st.just(("sync",))),
    st.tuples(st.tuples(st.sampled_from([None, 0, 1]), st.none()), st.just(""), st.just(("bar",))),
    st.tuples(st.tuples(st.sampled_from([None, 0]), st.none()), st.just(""), st.just(("bar",))),
    st.just(((None, None), "", ("cluster_sync",))),
    st.tuples(st.tuples(st.sampled_from([None, 1]), st.none()), st.just(""), st.just(("bar_some",))),
    st.tuples(st.just((None, None)), st.just(""), st.tuples(st.just("hand"), *[st.integers(0, 1)] * 4)),
)


def width_of(name):
    return int(name.rpartition("_")[2])


class Program:
    """The lines of a kernel, [(text, line, statement's number, whom, lanes, statement)], and their text."""

    def __init__(self, shape, statements):
        self.shape, self.lines = shape, []
        self.text = ["def kernel(a, m, counters):", "    tid = tid_x()", "    cta = ctaid_x()"]
        for number, (who, lanes, (name, *rest)) in enumerate(statements):
            cta, warp = who
            if (cta or 0) >= shape.ctas or (warp or 0) >= shape.warps:
                continue
            box = f"m, ({rest[0] // 4}, {rest[1]})" if name.startswith("box") and len(rest) == 2 else ""
            if name == "hand":
                most = (shape.ctas, shape.warps) * 2
                from_cta, from_warp, to_cta, to_warp = (n % m for n, m in zip(rest, most, strict=True))
                if from_cta == to_cta or shape.mode != "alone":
                    self.add(number, (from_cta, from_warp), "tid % 32 == 0", ("release",), f"counters + {4 * number}, 1")
                    self.add(number, (to_cta, to_warp), "", ("acquire",), f"counters + {4 * number}, 1")
            elif name == "bar_some":
                if shape.warps > 1:
                    self.add(number, who, "tid < 64", (name,), "1, 64")
            elif name == "cluster_sync":
                if shape.mode == "cluster":
                    self.add(number, who, "", (name,), "")
            elif name == "box_load":
                at = (number * 4) * 8
                self.add(number, who, lanes, (name, *rest),
                         f"{box}, {STAGE * number} + tid // 32 * 128, {MBARRIERS + at} + tid // 32 * 8")
            elif name in ("box_store", "box_add"):
                stage = f"{STAGE * number} + tid // 32 * 128"
                self.add(number, who, "", ("filled",), f"{stage}, {number + 1}")
                self.add(number, who, "", ("sync",), "")
                self.add(number, who, lanes, (name, *rest), f"{box}, {stage}")
            elif name == "box_wait":
                before = [(n, *at) for _, n, *at, s in self.lines if s[0] == "box_load"]
                if len(before) > rest[0]:                # of those who issued it, whoever waits now
                    n, whose, _ = before[rest[0]]
                    self.add(number, whose, lanes, (name, n), f"{MBARRIERS + n * 32} + tid // 32 * 8")
            elif "load" in name or "store" in name or "copy" in name:
                width, (slope, start, shift) = width_of(name), rest
                index = f"{width} * (({slope} * tid + {start} + {shift} * cta) % {SIZE // width})"
                more = f", {number + 1}" if "store" in name else f", {STAGE * number}" if "copy" in name else ""
                self.add(number, who, lanes, (name, *rest), f"a + {index}{more}")
            else:
                self.add(number, who, lanes, (name, *rest), ", ".join(map(str, rest)))

    def add(self, number, who, lanes, statement, arguments):
        cta, warp = who
        tests = [*([f"cta == {cta}"] if cta is not None else ()), *([f"tid // 32 == {warp}"] if warp is not None else ())]
        indent = "    "
        for test in (*tests, *filter(None, [lanes])):
            self.text.append(f"{indent}if {test}:")
            indent += "    "
        self.text.append(f"{indent}{statement[0]}({arguments})")
        self.lines.append((len(self.text), number, who, lanes, statement))

    def kernel(self, folder):
        path = folder / f"random_{next(_counter)}.py"
        path.write_text("\n".join([*self.text, "    bar()"]) + "\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        vars(module).update(NAMES)
        spec.loader.exec_module(module)
        return module.kernel


_counter = itertools.count()

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


@dataclass
class Twin:
    """Every access of a Program, and what happens before what."""

    program: Program
    before: list = field(default_factory=lambda: [0])    # node -> the nodes before it, as bits
    bytes: dict = field(default_factory=dict)            # byte -> [Access]

    def __post_init__(self):
        shape = self.program.shape
        self.last = [0] * (shape.ctas * shape.warps * 32)
        self.open, self.groups, self.loads, self.released = {}, {}, {}, {}
        for line in self.program.lines:
            self.execute(*line)

    def node(self, *threads, after=()):
        made = 0
        for node in (*(self.last[t] for t in threads), *after):
            made |= self.before[node] | 1 << node
        self.before.append(made)
        for t in threads:
            self.last[t] = len(self.before) - 1
        return len(self.before) - 1

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
            made.append((t, self.touch(range(at, at + width), instruction, line, write, atomic, node, node)))
        return made

    def load(self, *what):
        self.plain(*what)

    def store(self, *what):
        self.plain(*what, write=True)

    def strong_load(self, *what):
        self.plain(*what, atomic="generic")

    def strong_store(self, *what):
        self.plain(*what, write=True, atomic="generic")

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
            stored = self.box(statement[1:], instruction, line, True, atomic, self.node(t), None)
            self.open.setdefault(("boxes", t), []).append((t, stored))

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

    def races(self):
        """{(line, line, byte)} of racing pairs, either way round."""
        found = set()
        for byte, here in self.bytes.items():
            for x, y in itertools.combinations(here, 2):
                if (x.write or y.write) and x.instruction != y.instruction and not (x.atomic and x.atomic == y.atomic):
                    if not self.ends_before(x, y) and not self.ends_before(y, x):
                        found |= {(x.line, y.line, byte), (y.line, x.line, byte)}
        return found

    def ends_before(self, x, y):
        if self.program.shape.mode == "alone" and x.instruction[1] != y.instruction[1]:
            return False
        return x.end is not None and self.before[y.start] >> x.end & 1


def global_hazards(program, kernel):
    """All hazards in global memory that a run finds, not one per pair of lines."""
    return [hazard for hazard in every_hazard(lambda: launch(program, kernel, "report")) if hazard.kind != "early exit"]


def launch(program, kernel, mode):
    a, counters = np.zeros((SIZE // ROW, ROW), np.uint8), np.zeros(64, np.uint32)
    shape = program.shape
    tensor = TensorMap.of(a.view(np.uint32), (ROW // 4, BOX_ROWS), swizzle=0)
    run(kernel, shape.ctas, 32 * shape.warps, a, tensor, counters, shared_bytes=MBARRIERS + 4096, hazards=mode,
        **shape.options)


LIMITS = {}, {"LISTED": 70, "PRUNE_AT": 3, "THINNED": 1}
"""Of what is kept: the machine's own, and some that short runs reach."""


@given_few(50, 150, shapes, st.lists(STATEMENTS, min_size=2, max_size=12), st.sampled_from(LIMITS))
def test_races_in_global_memory_are_those_of_the_twin(folder, shape, statements, limits):
    program = Program(shape, statements)
    kernel = program.kernel(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(global_shadow, name, value)
        found = global_hazards(program, kernel)
    races = Twin(program).races()
    assert {hazard.kind for hazard in found} <= {"global race"}
    for hazard in found:
        assert {(hazard.first.line, hazard.second.line, byte) for byte in hazard.bytes} <= races
    assert {byte for hazard in found for byte in hazard.bytes} == {byte for *_, byte in races}
    if races:
        with pytest.raises(HazardError):
            launch(program, kernel, "raise")
