"""Random kernels of a cluster in which TMA, reductions, mbarriers and cp.async meet loads, stores and atomics of shared
memory, against every pair of accesses.

The twin knows nothing of the machine: it makes a graph of what happens before what from the statements that the kernel's
text was made from. A node knows the nodes before it, and those of them that a fence.proxy.async lies behind. Two accesses
of a byte race if neither ends before the other starts and one writes, or if threads wrote, an engine comes later, and no
fence lies between. Atomics do not race with one another, nor do reductions of one kind, nor stores of one value by as many
bytes.
"""

import itertools
import random

import machine_kit as kit
import numpy as np
import pytest
from engine_twin import ALL, BOX, LANES, MBARRIERS, ONE, SIZE, WIDTHS, Twin
from hypothesis import strategies as st
from machine_kit import Instruction, every_hazard
from tiers import given_few
from written_source import functions_of

from simlayout.errors import HazardError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine import run
from simlayout.machine.hazards import proxies, shadow

# ---- the instructions of the kernels --------------------------------------------------------------------------------


def data(width, value):
    return np.full((32, width), value, np.uint8)


def of_width(width):
    """{name: Instruction}."""
    name = f"b{8 * width}"
    return {f"load_{width}": Instruction(lambda warp, at: int(warp.shared_load(f"ld.shared.{name}", at, width)[0, 0])),
            f"peer_{width}": Instruction(lambda warp, at, rank:
                                         int(warp.peer_load(f"ld.shared::cluster.{name}", at, width, rank)[0, 0])),
            f"atomic_{width}": Instruction(lambda warp, at, rank:
                                           warp.peer_update(f"red.shared::cluster.add.{name}", at, width, rank)[0].rank),
            f"store_{width}": Instruction(lambda warp, at, value:
                                          warp.shared_store(f"st.shared.{name}", at, data(width, value))),
            f"copy_{width}": Instruction(lambda warp, at, value:
                                         warp.commit_copy(f"cp.async.ca.{width}", at, data(width, value)))}


@Instruction
def box_load(warp, tensor, at, mbarrier):
    warp.mbarrier_arrive(mbarrier, expect=BOX)
    warp.tma_load(tensor, (0, 0), at, mbarrier)


def reduction(op):
    return Instruction(lambda warp, source, at, mbarrier, cta: warp.bulk_send_reduce(source, BOX, at, mbarrier, cta, op))


OPERATIONS = "add", "add", "max"
NAMES = {
    **{f"reduce_{op}": reduction(op) for op in OPERATIONS},
    "tid_x": kit.tid_x, "cluster_rank": kit.cluster_rank, "bar": kit.bar_sync, "bar_some": kit.bar_some,
    "bar_arrive": kit.bar_arrive, "cluster_arrive": kit.cluster_arrive, "cluster_wait": kit.cluster_wait,
    "fence": kit.fence_proxy_async, "commit": kit.commit, "mbarrier_init": kit.mbarrier_init, "arrive": kit.mbarrier_arrive,
    "arrive_remote": kit.mbarrier_arrive_remote, "wait_phase": kit.mbarrier_wait, "expect": kit.mbarrier_expect,
    "bulk_commit": kit.bulk_commit, "box_load": box_load,
    **{name: made for width in WIDTHS for name, made in of_width(width).items()},
    "matrix": Instruction(lambda warp, at: int(warp.shared_rows("ldmatrix.x2", at)[0, 0])),
    "wait": Instruction(lambda warp, pending: warp.wait_group(pending)),
    "sync": Instruction(lambda warp: warp.sync(sum(1 << int(i) for i in np.flatnonzero(warp.active)))),
    "box_to_all": Instruction(lambda warp, tensor, at, mbarrier: warp.tma_load(tensor, (0, 0), at, mbarrier, multicast=3)),
    "box_store": Instruction(lambda warp, tensor, at: warp.tma_store(tensor, (0, 0), at)),
    "bulk_wait": Instruction(lambda warp, pending, read: warp.bulk_wait(pending, read=bool(read))),
}

# ---- programs -------------------------------------------------------------------------------------------------------


class Program:
    """A cluster of `ctas` CTAs of `warps` warps, and statements [((CTA, warp), lanes, name, numbers)]; None: all of them.

    counts: of the arrivals of each mbarrier, of which each has one phase.
    """

    def __init__(self, draws):
        self.random, self.statements, self.counts, self.loads = draws, [], [], []
        self.ctas, self.warps = draws.choice([1, 2]), draws.choice([1, 2, 2, 3])
        self.together = draws.choice([False, True])
        self.barriers, self.arrived = itertools.count(1), False
        kinds = [self.access] * 8 + [self.orders, self.handed, self.load, self.store, self.reduce] * 2
        kinds += [self.copies, self.cluster, self.named, self.wait, self.count]
        for _ in range(draws.randint(3, 14)):
            draws.choice(kinds)()
        if self.arrived:
            self.cluster()

    def add(self, who, lanes, name, *numbers):
        self.statements.append((who, lanes, name, numbers))

    def warp(self):
        return self.random.randrange(self.ctas), self.random.randrange(self.warps)

    def whom(self):
        cta, warp = self.warp()
        return self.random.choice([None, cta]), self.random.choice([None, warp, warp])

    def mbarrier(self, count):
        self.counts.append(count)
        return len(self.counts) - 1

    def access(self):
        pick = self.random.choice
        width, address = pick(WIDTHS), (pick([1, 1, 1, 0, 3]), pick([0, 0, 1, 32, 7]))
        name = pick(["load"] * 2 + ["store"] * 3 + ["copy", "matrix", "peer", "atomic"])
        width = {"copy": max(width, 4), "atomic": min(max(width, 4), 8), "matrix": 16}.get(name, width)
        more = {"load": (), "matrix": (), "peer": (pick(range(self.ctas)),), "atomic": ("cta",)}
        self.add(self.whom(), ALL if name == "matrix" else pick([ALL, ALL, *LANES]), name, width, *address,
                 *more.get(name, (self.value(),)))

    def value(self):
        return self.random.choice([1, 2, 1 + len(self.statements)])

    def count(self):
        """Some warps of a CTA do this and that with one word, atomics for the most part."""
        cta, at, pick = self.random.randrange(self.ctas), self.random.randrange(SIZE // 4), self.random.choice
        for _ in range(self.random.randint(2, 4)):
            name = pick(["atomic", "atomic", "store", "load"])
            more = {"atomic": ("cta",), "store": (self.value(),), "load": ()}[name]
            self.add((cta, pick(range(self.warps))), pick([ONE, ONE, "tid % 32 < 5"]), name, 4, 0, at, *more)

    def copies(self):
        who = self.whom()
        self.add(who, ALL, "commit")
        self.add(who, ALL, "wait", self.random.choice([0, 0, 1]))

    def orders(self):
        name = self.random.choice(["fence", "sync", "bar"])
        who, lanes = self.whom(), self.random.choice([ALL, *LANES])
        self.add(*((who[0], None), ALL) if name == "bar" else (who, lanes), name)

    def cluster(self):
        """A half of barrier.cluster: what comes until the next one lies between the two."""
        name, numbers = ("cluster_wait", ()) if self.arrived else ("cluster_arrive", (self.random.choice([0, 0, 0, 1]),))
        self.arrived = not self.arrived
        self.add((None, None), ALL, name, *numbers)

    def named(self):
        cta, warp = self.warp()
        if self.warps > 1:
            id = next(self.barriers)
            self.add((cta, warp), ALL, "bar_arrive", id, 64)
            self.add((cta, (warp + 1) % self.warps), ALL, "bar_some", id, 64)

    def handed(self):
        lanes, (cta, warp) = self.random.choice([ALL, ONE]), self.warp()
        mbarrier = self.mbarrier(1 if lanes else 32)
        self.add(self.warp(), lanes, "arrive", mbarrier, cta)
        self.add((cta, self.random.choice([None, warp])), self.random.choice([ALL, ALL, ONE]), "wait_phase", mbarrier)

    def load(self):
        at, who, mbarrier = BOX * self.random.randrange(SIZE // BOX), self.warp(), self.mbarrier(1)
        if self.ctas == 2 and self.random.choice([False, False, True]):
            self.add((None, 0), ONE, "expect", mbarrier, BOX)
            self.add(who, ONE, "box_to_all", mbarrier, at)
            self.loads += [(mbarrier, 0), (mbarrier, 1)]
        else:
            self.add(who, ONE, "box_load", mbarrier, at)
            self.loads.append((mbarrier, who[0]))

    def reduce(self):
        """Some warps send boxes to one place of a CTA, where they complete on one mbarrier or on two."""
        cta, pick = self.random.randrange(self.ctas), self.random.choice
        at, mbarriers = self.random.randrange(SIZE // BOX), [self.mbarrier(1) for _ in range(pick([1, 2]))]
        sent = [(pick(mbarriers), self.warp(), pick(OPERATIONS)) for _ in range(self.random.randint(1, 3))]
        for mbarrier in mbarriers:
            self.add((cta, pick(range(self.warps))), ONE, "expect", mbarrier, BOX * sum(m == mbarrier for m, *_ in sent))
            self.loads.append((mbarrier, cta))
        for mbarrier, who, op in sent:
            source = (at + self.random.randrange(1, SIZE // BOX)) % (SIZE // BOX)
            self.add(who, ONE, "reduce", mbarrier, BOX * at, BOX * source, cta, op)

    def store(self):
        who, pick = self.warp(), self.random.choice
        self.add(who, ONE, "box_store", BOX * self.random.randrange(SIZE // BOX))
        if pick([False, True, True, True]):
            self.add(who, ONE, "bulk_commit")
        if pick([False, True, True]):
            self.add(who, ONE, "bulk_wait", pick([0, 0, 1]), pick([0, 1]))

    def wait(self):
        if self.loads:
            mbarrier, cta = self.random.choice(self.loads)
            self.add((cta, self.random.choice([None, self.warp()[1]])), self.random.choice([ALL, ALL, ONE]), "wait_phase",
                     mbarrier)

    # ---- its text ----------------------------------------------------------------------------------------------------

    def text(self):
        """(lines, [line number of each statement]); before the statements all is written, fenced and ordered."""
        lines = ["def kernel(m, target):", "    tid, cta = tid_x(), cluster_rank()", f"    for i in range({SIZE // 512}):",
                 "        if tid < 32:", "            store_16(16 * tid + 512 * i, 0)", "    if tid == 0:"]
        lines += [f"        mbarrier_init({MBARRIERS + 8 * i}, {n})" for i, n in enumerate(self.counts)] or ["        pass"]
        lines += ["    fence()", "    cluster_arrive(0)", "    cluster_wait()"]
        numbers = []
        for (cta, warp), predicate, name, rest in self.statements:
            tests = [f"cta == {cta}"] * (cta is not None) + [f"tid // 32 == {warp}"] * (warp is not None)
            indent = "    "
            for test in (*tests, *filter(None, [predicate])):
                lines.append(f"{indent}if {test}:")
                indent += "    "
            lines.append(indent + self.call(cta, name, *rest))
            numbers.append(len(lines))
        return [*lines, "    cluster_arrive(0)", "    cluster_wait()"], numbers

    def call(self, cta, name, *rest):
        if name in ("load", "store", "peer", "copy", "matrix", "atomic"):
            width, slope, start, *more = rest
            address = f"{width} * (({slope} * tid + {start}) % {SIZE // width})"
            return f"{name if name == 'matrix' else f'{name}_{width}'}({', '.join([address, *map(str, more)])})"
        at = MBARRIERS + 8 * rest[0] if rest else 0
        return {"arrive": lambda: f"arrive({at})" if rest[1] == cta else f"arrive_remote({at}, {rest[1]})",
                "wait_phase": lambda: f"wait_phase({at}, 0)", "expect": lambda: f"expect({at}, {rest[1]})",
                "reduce": lambda: f"reduce_{rest[4]}({rest[2]}, {rest[1]}, {at}, {rest[3]})",
                "box_load": lambda: f"box_load(m, {rest[1]}, {at})", "box_to_all": lambda: f"box_to_all(m, {rest[1]}, {at})",
                "box_store": lambda: f"box_store(target, {rest[0]})",
                }.get(name, lambda: f"{name}({', '.join(map(str, rest))})")()


# ---- the twin -------------------------------------------------------------------------------------------------------


def launch(program, kernel, mode):
    source, target = (TensorMap.of(np.zeros((4, 8), np.uint32), (8, 4), swizzle=0) for _ in range(2))
    run(kernel, program.ctas, 32 * program.warps, source, target, shared_bytes=4096, hazards=mode, cluster=program.ctas,
        together=program.together)


@given_few(15, 2_000, st.integers(0, 2**32 - 1), st.sampled_from([proxies.PRUNE_AT, 2]))
def test_races_with_engines_in_shared_memory_are_those_of_the_twin(seed, kept):
    program = Program(random.Random(seed))
    lines, numbers = program.text()
    kernel, (races, stores) = functions_of("\n".join(lines) + "\n", dict(NAMES))["kernel"], Twin(program, numbers).races()
    with pytest.MonkeyPatch.context() as patch:
        for module in (proxies, shadow):
            patch.setattr(module, "PRUNE_AT", kept)
        every = every_hazard(lambda: launch(program, kernel, "report"))
    found = [hazard for hazard in every if hazard.kind not in ("early exit", "global race")]    # of what nobody waits for
    for hazard in found:
        assert {(hazard.first.line, hazard.second.line, byte) for byte in hazard.bytes} <= races | stores
    assert {byte for hazard in found for byte in hazard.bytes} == {byte for *_, byte in races}
    if races:
        with pytest.raises(HazardError):
            launch(program, kernel, "raise")
