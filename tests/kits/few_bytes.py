"""Random little programs on two bytes of shared or global memory, and which of these bytes have races.

There are so few bytes and values that stores of one value meet often. A program is [(kind, who, lanes, byte, width, value)];
of HAND, by all of a warp, and GIVE, by one lane, (kind, from whom, to whom, lane); of SYNC (kind, who). Its warps are those
of one CTA, or of one CTA each. The twin knows nothing of the machine: each thread's accesses are a chain of nodes, joined
where threads meet or a warp hands on to another one, and all pairs are looked at.
"""

import itertools

import machine_kit as kit
import numpy as np

from simlayout.machine import run

LOAD, STORE, STRONG_LOAD, STRONG_STORE, HAND, GIVE, SYNC = range(7)
LANES = {0: [0], 1: [1], 2: [0, 1]}
WARPS = 4
SHAPES = "warps", "together", "cluster", "alone"


def program_of(draws, kinds, widths, in_turn=False):
    """A program. in_turn: a warp hands on only to later ones, as it must where CTAs run one after the other."""
    made = []
    for _ in range(draws.randint(3, 14)):
        kind, (one, other) = draws.choice(kinds), draws.sample(range(WARPS), 2)
        if kind in (HAND, GIVE):
            made.append((kind, *(sorted((one, other)) if in_turn else (one, other)), draws.randrange(2)))
        elif kind == SYNC:
            made.append((kind, one))
        else:
            width = draws.choice(widths)
            made.append((kind, one, draws.choice([0, 0, 1, 2]), draws.randrange(0, 2, width), width, draws.randrange(2)))
    return made


def played(program, shape, shared=False):
    """(hazards, notes) of the warps that execute their share of a program, after the bytes were made zero."""
    play, data, counters = kit.Instruction(_Play(program, shape, shared)), np.zeros(4, np.uint8), np.zeros(16, np.uint32)

    def on_shared(a, counts):
        if kit.tid_x() == 0:
            kit.st_shared(0, 0)
        kit.bar_sync()
        play(a, counts)

    def on_global(a, counts):
        play(a, counts)

    traces, options = [], {"together": shape == "together", "cluster": WARPS if shape == "cluster" else 1}
    grid, block = (1, 32 * WARPS) if shape == "warps" else (WARPS, 32)
    hazards = kit.every_hazard(lambda: traces.append(run(on_shared if shared else on_global, grid, block, data, counters,
                                                         shared_bytes=64, hazards="report", **options)))
    return hazards, traces[0].notes


class _Play:
    """What a warp does in a program."""

    __name__ = "play"

    def __init__(self, program, shape, shared):
        self.program, self.by_barrier, self.shared = program, shape == "warps", shared

    def __call__(self, warp, data, counters):
        me, everyone = warp.index[0] + warp.warp_index, warp.active
        for number, (kind, who, *rest) in enumerate(self.program):
            if kind == HAND and self.by_barrier and me in (who, rest[0]):
                (warp.barrier_arrive if me == who else warp.barrier)(1 + number, 2 * 32)
            elif kind in (HAND, GIVE) and me in (who, rest[0]):
                self.hand(warp, kind == HAND, me == who, counters + 4 * number, rest[1])
            elif kind == SYNC and me == who:
                warp.sync()
            elif kind < HAND and me == who:
                lanes, at, width, value = rest
                warp.narrow(np.isin(warp.lane, LANES[lanes]))
                (self.on_shared if self.shared else self.on_global)(
                    warp, kind, at if self.shared else data + at, np.full((32, width), value, np.uint8))
                warp.narrow(everyone)

    def hand(self, warp, all_of_it, gives, counter, lane):
        everyone = warp.active
        if all_of_it:
            warp.sync()
        if gives:
            warp.narrow(warp.lane == lane)
            warp.atomic_add(counter, 1)
            warp.narrow(everyone)
        else:
            warp.wait_at_least(counter, 1)

    def on_global(self, warp, kind, pointer, data):
        strong = kind not in (LOAD, STORE)
        if kind in (LOAD, STRONG_LOAD):
            pointer.read(warp.active, data.shape[1], strong=strong)
        else:
            pointer.write(warp.active, data, strong=strong)

    def on_shared(self, warp, kind, at, data):
        order, width = "weak" if kind in (LOAD, STORE) else "relaxed", data.shape[1]
        if kind in (LOAD, STRONG_LOAD):
            warp.shared_load(f"ld.shared.b{8 * width}", at, width, order)
        else:
            warp.shared_store(f"st.shared.b{8 * width}", at, data, order)


def racing(program, shape):
    """The bytes at which two threads meet that nothing orders, one of which writes, unless both are strong, or plain stores
    of one value, and of as many bytes."""
    before, last, accesses = [0], [0] * (32 * WARPS), []     # node -> the nodes before it, as bits; each thread's last node

    def node(threads, after=()):
        known = {last[t] for t in threads} | set(after)
        before.append(0)
        for n in known:
            before[-1] |= before[n] | 1 << n
        for t in threads:
            last[t] = len(before) - 1

    for number, (kind, who, *rest) in enumerate(program):
        warp = range(32 * who, 32 * who + 32)
        if kind == HAND and shape == "warps":
            node(range(32 * rest[0], 32 * rest[0] + 32), after=[last[t] for t in warp])
        elif kind in (HAND, GIVE):
            if kind == HAND:
                node(warp)
                node(range(32 * rest[0], 32 * rest[0] + 32))
            node([warp[rest[1]]])
            for t in range(32 * rest[0], 32 * rest[0] + 32):
                node([t], after=[last[warp[rest[1]]]])
        elif kind == SYNC:
            node(warp)
        else:
            lanes, at, width, value = rest
            for lane in LANES[lanes]:
                node([32 * who + lane])
                stored = (value, width) if kind == STORE else None
                accesses += [(byte, kind, stored, number, last[32 * who + lane], width) for byte in range(at, at + width)]
    return {x[0] for x, y in itertools.combinations(accesses, 2)
            if x[0] == y[0] and x[3] != y[3] and not before[y[4]] >> x[4] & 1 and _conflict(x, y)}


def _conflict(x, y):
    writes = any(kind in (STORE, STRONG_STORE) for kind in (x[1], y[1]))
    strong = all(kind in (STRONG_LOAD, STRONG_STORE) for kind in (x[1], y[1])) and x[5] == y[5]
    return writes and not strong and (x[2] is None or x[2] != y[2])
