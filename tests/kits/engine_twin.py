"""The twin of random kernels with engines: a graph of what happens before what, made of the statements of their text.

See tests/machine/test_engine_races_random.py.
"""

import itertools
from dataclasses import dataclass
from functools import reduce
from operator import or_

SIZE, BOX, MBARRIERS = 1024, 128, 2048                   # bytes of data, of a box; mbarriers behind
WIDTHS = 1, 2, 4, 8, 16
LANES = {"": lambda t: True, "tid % 3 == 1": lambda t: t % 3 == 1, "tid % 32 < 5": lambda t: t % 32 < 5,
         "tid % 32 == 0": lambda t: t % 32 == 0, "tid % 2 == 0": lambda t: t % 2 == 0}
ONE, ALL = "tid % 32 == 0", ""


@dataclass(eq=False)
class Access:
    """What a thread or an engine does to some bytes: between nodes start and end (None: never ends). reduction: which,
    if it is one; value: of a store, that of all its bytes, and how many they are."""

    write: bool
    engine: bool
    start: int
    end: int | None
    instruction: tuple
    line: int
    reduction: str | None = None
    value: tuple[int, int] | None = None


class Twin:
    """Every access of a Program, and what happens before what."""

    def __init__(self, program, lines):
        self.program = program
        self.before, self.fenced = [0], [0]              # node -> nodes before it, and of these those behind a fence: bits
        self.last = [0] * (32 * program.warps * program.ctas)
        self.bytes, self.open, self.groups, self.phases, self.barriers = {}, {}, {}, {}, {}
        for line, ((cta, warp), predicate, name, numbers) in zip(lines, program.statements, strict=True):
            self.parts = [(c, w, [32 * (c * program.warps + w) + i for i in range(32) if LANES[predicate](32 * w + i)])
                          for c in range(program.ctas) if cta in (None, c)
                          for w in range(program.warps) if warp in (None, w)]
            if name in ("bar", "cluster_arrive", "cluster_wait"):
                getattr(self, name)(*numbers)
            else:
                for c, w, threads in self.parts:
                    self.what = (line, c, w), line
                    getattr(self, name)((c, w), threads, *numbers)

    def node(self, threads=(), after=(), fence=False, known=()):
        """A new node after the last ones of some threads, from now on the last of each, after other nodes, and after what
        [(before, fenced)] says."""
        known = [*known, *((self.before[n] | 1 << n, self.fenced[n]) for n in (*(self.last[t] for t in threads), *after))]
        before, fenced = (reduce(or_, (bits[i] for bits in known), 0) for i in range(2))
        self.before.append(before)
        self.fenced.append(before if fence else fenced)
        made = len(self.before) - 1
        for t in threads:
            self.last[t] = made
        return made

    def touch(self, cta, at, count, write, start, end, engine=False, reduction=None):
        made = Access(write, engine, start, end, *self.what, reduction)
        for byte in range(at, at + count):
            self.bytes.setdefault((cta, byte), []).append(made)
        return made

    # ---- one method for each name --------------------------------------------------------------------------------

    def plain(self, where, threads, width, slope, start, write, cta=None, reduction=None):
        first, made = 32 * self.program.warps * where[0], []
        for t in threads:
            node, at = self.node([t]), width * ((slope * (t - first) + start) % (SIZE // width))
            made.append((t, self.touch(where[0] if cta is None else cta, at, width, write, node, node,
                                        reduction=reduction)))
        return made

    def load(self, where, threads, *address):
        self.plain(where, threads, *address, False)

    def peer(self, where, threads, *address):
        self.plain(where, threads, *address[:3], False, address[3])

    def store(self, where, threads, *address):
        for _, access in self.plain(where, threads, *address[:3], True):
            access.value = address[3], address[0]

    def atomic(self, where, threads, *address):
        self.plain(where, threads, *address[:3], True, reduction=f"atomic of {address[0]} bytes")

    def copy(self, where, threads, *address):
        made = self.plain(where, threads, *address[:3], True)
        for _, access in made:
            access.end = None
        self.open.setdefault(where, []).extend(made)

    def matrix(self, where, threads, _, slope, start):
        nodes = [self.node([t]) for t in threads]
        for matrix, lane in itertools.product(range(2), range(32)):
            row = 16 * ((slope * (32 * where[1] + 8 * matrix + lane // 4) + start) % (SIZE // 16))
            self.touch(where[0], row + 4 * (lane % 4), 4, False, nodes[lane], nodes[lane])

    def commit(self, key, threads=None):
        self.groups.setdefault(key, []).append(self.open.pop(key, []))

    def wait(self, key, threads, pending):
        groups = self.groups.get(key, [])
        while len(groups) > pending:
            for t, access in groups.pop(0):
                access.end = self.node([t])

    def fence(self, where, threads):
        for t in threads:
            self.node([t], fence=True)

    def sync(self, where, threads):
        if threads:
            self.node(threads)

    def bar(self):
        for cta in {c for c, *_ in self.parts}:
            self.node([t for c, _, threads in self.parts if c == cta for t in threads])

    def arrival(self, threads):
        """A node after what these threads did, of which they learn nothing."""
        return self.node(after=[self.node([t]) for t in threads])

    def bar_arrive(self, where, threads, id, _):
        self.barriers[where[0], id] = self.arrival(threads)

    def bar_some(self, where, threads, id, _):
        self.node(threads, after=[self.barriers[where[0], id]])

    def cluster_arrive(self, relaxed):
        node = self.arrival([t for *_, threads in self.parts for t in threads])
        self.met = (0, 0) if relaxed else (self.before[node] | 1 << node, self.fenced[node])

    def cluster_wait(self):
        for t in (t for *_, threads in self.parts for t in threads):
            self.node([t], known=[self.met])

    def arrive(self, where, threads, mbarrier, cta):
        self.phases[mbarrier, cta] = self.arrival(threads), None

    def expect(self, where, threads, mbarrier, _):
        self.phases[mbarrier, where[0]] = self.arrival(threads), self.node()

    def wait_phase(self, where, threads, mbarrier):
        for t in threads:
            self.node([t], after=[node for node in self.phases[mbarrier, where[0]] if node is not None])

    def box_load(self, where, threads, mbarrier, at):
        self.expect(where, threads, mbarrier, BOX)
        self.box_to_all(where, threads, mbarrier, at, where[:1])

    def box_to_all(self, where, threads, mbarrier, at, ctas=(0, 1)):
        start = self.node(threads)
        for cta in ctas:
            self.touch(cta, at, BOX, True, start, self.phases[mbarrier, cta][1], engine=True)

    def reduce(self, where, threads, mbarrier, at, source, cta, op):
        start, end = self.node(threads), self.phases[mbarrier, cta][1]
        self.touch(where[0], source, BOX, False, start, end, engine=True)
        self.touch(cta, at, BOX, True, start, end, engine=True, reduction=op)

    def box_store(self, where, threads, at):
        read = self.touch(where[0], at, BOX, False, self.node(threads), None, engine=True)
        self.open.setdefault(threads[0], []).append((threads[0], read))

    def bulk_commit(self, where, threads):
        self.commit(threads[0])

    def bulk_wait(self, where, threads, pending, read):
        self.wait(threads[0], threads, pending)

    # ---- what races ----------------------------------------------------------------------------------------------

    def races(self):
        """({(line, line, byte)} of racing pairs, {(line, line, byte)} of stores that are not ordered either), either way
        round. Of the second ones stores of one value by as many bytes do not race; where an engine has reduced the byte, the
        machine may not know that they are of one value."""
        found, stores = set(), set()
        for (_, byte), here in self.bytes.items():
            reduced = any(x.reduction and x.engine for x in here)
            for x, y in itertools.combinations(here, 2):
                alike = x.reduction == y.reduction if x.reduction else not x.write | y.write
                if not (alike or x.instruction == y.instruction or self.in_order(x, y) or self.in_order(y, x)):
                    pairs = {(x.line, y.line, byte), (y.line, x.line, byte)}
                    if x.value is None or x.value != y.value:
                        found |= pairs
                    elif reduced:
                        stores |= pairs
        return found, stores

    def in_order(self, x, y):
        """Whether x is over, for y, before y starts."""
        if x.end is None or not self.before[y.start] >> x.end & 1:
            return False
        return not (x.write and y.engine and not x.engine) or bool(self.fenced[y.start] >> x.end & 1)
