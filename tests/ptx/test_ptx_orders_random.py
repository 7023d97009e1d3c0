"""Random programs in which warps of CTAs and clusters hand on what they did by flags, with releases, acquires and fences of
all scopes, against a graph of what PTX's release and acquire patterns order.

The twin knows nothing of the machine. A thread's statements are a chain of nodes, joined at barriers. Whoever takes a flag
knows, from its acquire or a later fence on, the nodes that a release, or a fence before a strong write, of the sender or of
an atomic in between has given out; if both scopes have both threads. A fence.sc of the GPU, and what was read before one,
counts as that of all who meet at a barrier behind it, or before it. Scopes of the flags themselves are always wide enough.
"""

import itertools
import random
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import strategies as st
from machine_kit import every_hazard
from ptx_texts import module
from tiers import given_few

import simlayout as sl

CTAS, WARPS, WORDS, FLAGS = 4, 2, 3, 5
SCOPES = "cta", "cluster", "gpu"
THREADS = list(itertools.product(range(CTAS), range(WARPS)))
SENDS = "st.{}.{}.global.u32 {}, 1;", "red.{}.{}.global.add.u32 {}, 1;", "atom.{}.{}.global.exch.b32 %r6, {}, 1;"


@dataclass
class Shape:
    """How a program runs."""

    cluster: int
    together: bool

    def apart(self, one, other):
        """How far apart two threads (CTA, warp) are: as an index of SCOPES."""
        return 0 if one[0] == other[0] else 1 if one[0] // self.cluster == other[0] // self.cluster else 2


def program_of(draws, shape):
    """[(kind, thread, ...)], in an order in which they can run: data (word, whether it writes); fence (scope); bar; send,
    relay and take (flag, whether it orders, scope)."""
    made, flags = [], 0
    for _ in range(draws.randint(1, 5)):
        kind, thread = draws.choice(["data", "fence", "bar"] + ["hand"] * 4 + ["block"] * 2), draws.choice(THREADS)
        if kind == "data":
            made.append((kind, thread, draws.randrange(WORDS), draws.choice([False, True])))
        elif kind == "fence":
            made.append((kind, thread, draws.randrange(3), draws.choice([False, True])))
        elif kind == "bar":
            made.append((kind, thread))
        elif flags < FLAGS:
            made += (block if kind == "block" else hand)(draws, flags, shape)
            flags += 1
    return made


def hand(draws, flag, shape):
    """One writes a word and sets a flag, perhaps another one counts there too, and the last reads the word."""
    who, word = draws.sample(THREADS, draws.choice([2, 2, 3])), draws.randrange(WORDS)
    who = who if shape.together else sorted(who, key=lambda thread: thread[0])
    needed = max(shape.apart(one, other) for one, other in itertools.combinations(who, 2))
    for does, one in zip(("send", "relay", "take") if len(who) == 3 else ("send", "take"), who):
        fence = [("fence", one, draws.choice([0, needed, needed, 2]), draws.choice([False, True]))] * draws.choice([0, 1, 1])
        fence = [*fence, *[("bar", one)] * draws.choice([0, 0, 0, 1])][::draws.choice([1, -1])]
        data = [("data", one, word if does != "relay" else draws.randrange(WORDS), does != "take")]
        passes = (does, one, flag, draws.choice([False, False, True]), draws.randrange(needed, 3), len(who) - 1)
        yield from (*data * draws.choice([0, 1, 1, 1]), *fence, passes) if does == "send" else (
            *data * (does == "relay") * draws.choice([0, 1]), passes, *fence, *data * (does == "take"))


def block(draws, flag, shape):
    """A warp of a CTA writes a word, one of them sets a flag, one of another CTA takes it, and one of those reads the word;
    fences of the GPU and barriers between."""
    one, other = draws.sample(range(CTAS), 2) if shape.together else sorted(draws.sample(range(CTAS), 2))
    word, (writes, sends, takes, reads) = draws.randrange(WORDS), draws.choices(range(WARPS), k=4)
    steps = [("data", (one, writes), word, True), ("fence", (one, writes), 2, draws.choice([False, True, True])),
             ("bar", (one, 0)), ("send", (one, sends), flag, False, 2, 1), ("take", (other, takes), flag, False, 2, 1),
             ("bar", (other, 0)), ("fence", (other, reads), 2, draws.choice([False, True, True])),
             ("data", (other, reads), word, False)]
    return [step for step in steps if step[0] in ("send", "take") or draws.random() < 0.9]


def text_of(program):
    lines = ["ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;"]
    for n, (kind, (cta, warp), *what) in enumerate(program):
        lines.append(f"setp.ne.u32 %p1, %r2, {cta}; @%p1 bra L{n};")
        if kind == "bar":
            lines.append("bar.sync 0;")
        else:
            lines.append(f"setp.ne.u32 %p1, %r1, {32 * warp}; @%p1 bra L{n};")
        if kind == "data":
            lines.append(f"st.global.u32 [%rd1+{4 * what[0]}], {n + 1};" if what[1] else
                         f"ld.global.u32 %r6, [%rd1+{4 * what[0]}]; nanosleep.u32 %r6;")
        elif kind == "fence":
            lines.append(f"fence.{'sc' if what[1] else 'acq_rel'}.{SCOPES[what[0]]};")
        elif kind != "bar":
            flag, orders, scope, last = what
            at, scope = f"[%rd1+{256 + 4 * flag}]", SCOPES[scope]
            if kind == "send":
                lines.append(SENDS[flag % 3].format("release" if orders else "relaxed", scope, at))
            else:
                wanted = last if kind == "take" else 1
                how = "acquire" if orders and kind == "take" else "relaxed"
                lines.append(f"W{n}: ld.{how}.{scope}.global.u32 %r6, {at}; setp.ne.u32 %p1, %r6, {wanted}; @%p1 bra W{n};")
            if kind == "relay":
                lines.append(f"atom.{'acq_rel' if orders else 'relaxed'}.{scope}.global.add.u32 %r6, {at}, 1;")
        lines.append(f"L{n}:")
    return module("\n".join([*lines, "ret;"]), ["u64"])


class Twin:
    """What happens before what."""

    def __init__(self, program, shape):
        self.shape, self.before, self.last = shape, [0], dict.fromkeys(THREADS, 0)
        self.fenced = {thread: [] for thread in self.last}           # [(scope, node)]
        self.sequential = {thread: [] for thread in self.last}       # nodes of its fence.sc's of the GPU
        self.handed = {thread: set() for thread in self.last}        # `taken` of threads that it has met
        self.taken = {thread: [] for thread in self.last}            # [(scope, node, who, flag)]: given out, and read there
        self.given = {flag: [] for flag in range(FLAGS)}             # the same of each flag
        self.accesses = []
        for kind, thread, *what in program:
            getattr(self, kind)(thread, *what)

    def node(self, threads, after=()):
        self.before.append(0)
        for one in {*(self.last[thread] for thread in threads), *after}:
            self.before[-1] |= self.before[one] | 1 << one
        made = len(self.before) - 1
        self.last.update(dict.fromkeys(threads, made))
        return made

    def data(self, thread, word, writes):
        self.accesses.append((word, writes, thread, self.node([thread])))

    def bar(self, thread):
        cta = [one for one in self.last if one[0] == thread[0]]
        self.node(cta)
        made, seen = ({one for each in cta for one in of[each]} for of in (self.sequential, self.taken))
        for one in cta:
            self.fenced[one] += [(2, node) for node in made]
            self.handed[one] |= seen | {one for each in cta for one in self.handed[each]}

    def fence(self, thread, scope, sequential):
        sequential &= scope == 2
        node = self.acquire(thread, scope, self.handed[thread] if sequential else ())
        self.fenced[thread].append((scope, node))
        if sequential:
            self.sequential[thread].append(node)

    def acquire(self, thread, scope, handed=(), flag=None):
        """A node after what was given out and read: by a fence, or by an acquire of one flag."""
        return self.node([thread], [node for reach, node, who, at in {*self.taken[thread], *handed}
                                    if self.shape.apart(thread, who) <= min(reach, scope) and flag in (None, at)])

    def release(self, thread, orders, scope, flag):
        return [(reach, node, thread, flag) for reach, node in self.fenced[thread] + [(scope, self.node([thread]))] * orders]

    def send(self, thread, flag, orders, scope, last):
        self.given[flag] += self.release(thread, orders, scope, flag)

    def relay(self, thread, flag, orders, scope, last):
        self.taken[thread] += self.given[flag]
        if orders:
            self.acquire(thread, scope, flag=flag)
        self.given[flag] += self.release(thread, orders, scope, flag)

    def take(self, thread, flag, orders, scope, last):
        self.taken[thread] += self.given[flag]
        if orders:
            self.acquire(thread, scope, flag=flag)

    def races(self):
        """The words of data at which two threads race."""
        return {x[0] for x, y in itertools.combinations(self.accesses, 2) if x[0] == y[0] and (x[1] or y[1])
                and x[2] != y[2] and not self.before[y[3]] >> x[3] & 1}


def found_in(program, shape):
    entry, data = sl.ptx.load(text_of(program)).entry(), np.zeros(128, np.uint32)
    found = every_hazard(lambda: entry.run(CTAS, 32 * WARPS, data, hazards="report", cluster=shape.cluster,
                                           together=shape.together))
    return {byte // 4 for hazard in found for byte in hazard.bytes}


NEAR, SERIAL = Shape(1, False), Shape(2, False)

FOUND = [
    (NEAR, [("data", (2, 1), 1, True), ("send", (2, 1), 0, True, 1, 1), ("take", (2, 0), 0, False, 0, 1),
            ("fence", (2, 0), 0, False), ("data", (2, 0), 1, False)]),
    (SERIAL, [("fence", (2, 0), 2, False), ("data", (1, 1), 1, True), ("send", (1, 1), 4, True, 2, 2),
              ("relay", (2, 0), 4, False, 2, 2), ("take", (3, 1), 4, True, 2, 2), ("data", (3, 1), 1, False)]),
    (NEAR, [("data", (0, 0), 0, True), ("fence", (0, 0), 2, True), ("send", (0, 0), 0, False, 2, 1),
            ("take", (1, 0), 0, False, 2, 1), ("bar", (1, 0)), ("fence", (1, 1), 2, True), ("send", (1, 1), 1, False, 2, 1),
            ("take", (2, 0), 1, True, 2, 1), ("data", (2, 0), 0, False)]),
]


@pytest.mark.parametrize("shape, program", FOUND)
def test_who_looks_less_far_than_was_released_knows_and_so_does_who_reads_what_an_atomic_has_carried_on(shape, program):
    assert found_in(program, shape) == Twin(program, shape).races() == set()


@given_few(50, 6_000, st.integers(0, 2**32 - 1), st.builds(Shape, st.sampled_from([1, 2]), st.booleans()))
def test_what_flags_hand_on_is_what_release_and_acquire_patterns_order(seed, shape):
    program = program_of(random.Random(seed), shape)
    assert found_in(program, shape) == Twin(program, shape).races()
