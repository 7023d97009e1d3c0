"""Random PTX kernels of one CTA whose warps come to atomics of shared memory in any order, and their counts in several."""

import random

import numpy as np

import simlayout as sl
from simlayout.machine.engine import launch

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .b32 %r<400>; .reg .b64 %d<9>; .reg .pred %p<200>;
.shared .align 16 .b8 s[4096]; .shared .align 16 .b8 t[4096]; .shared .align 4 .b32 c[64]; .shared .align 4 .b32 one;
ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shr.u32 %r3, %r1, 5;
mov.u32 %r5, s; mov.u32 %r6, t; mov.u32 %r7, c; shl.b32 %r8, %r1, 2;
add.u32 %r9, %r5, %r8; st.shared.b32 [%r9], %r1; add.u32 %r10, %r6, %r8; st.shared.b32 [%r10], %r2;
setp.lt.u32 %p1, %r1, 64; add.u32 %r9, %r7, %r8; @%p1 st.shared.b32 [%r9], 0; @%p1 st.shared.b32 [one], 0; bar.sync 0;
"""
WARPS = 4


class Program:
    """One, by its number. Between barriers it loads from one of the arrays s and t, and stores to the other one."""

    def __init__(self, seed):
        self._some, self._registers, self._predicates, self._labels = random.Random(seed), 10, 1, 0
        self._values, self._ranks, self._to, self._from, self._lines = ["%r1", "%r2", "%r3"], [], "%r5", "%r6", []
        self._by_rank = False
        self._block(self._some.randint(5, 14), 0)
        sums = "".join(f"mad.lo.u32 %r9, %r9, 3, {v};" for v in self._values)
        self.text = (HEAD + "\n".join(self._lines) + f"\nbar.sync 0; mov.u32 %r9, 0; {sums}\n"
                     "mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d1, %d2; st.global.u32 [%d2], %r9; ret; }\n")

    def _register(self):
        self._registers += 1
        return f"%r{self._registers}"

    def _predicate(self):
        self._predicates += 1
        return f"%p{self._predicates}"

    def _value(self):
        return self._some.choice(self._values)

    def _address(self, value, base, shift=None):
        a, b = self._register(), self._register()
        shift, mask = shift or self._some.choice([2, 2, 2, 3, 4, 7]), 252 if base == "%r7" else 4092
        self._lines.append(f"shl.b32 {a}, {value}, {shift}; and.b32 {a}, {a}, {mask}; add.u32 {b}, {base}, {a};")
        return b

    def _load(self):
        made, plain = self._register(), {"%r5": "s+8", "%r6": "t+64"}[self._from]
        at = plain if self._some.random() < 0.3 else self._address(self._value(), self._from)
        self._lines.append(f"ld.shared.b32 {made}, [{at}];")
        self._values.append(made)

    def _store(self):
        place = self._ranks[0] if self._ranks and self._by_rank else "%r1"
        self._lines.append(f"st.shared.b32 [{self._address(place, self._to, 2)}], {self._value()};")

    def _atomic(self, depth):
        made, at = self._register(), "one" if self._some.random() < 0.4 else self._address(self._value(), "%r7")
        kind = self._some.choice(["add.u32", "add.u32", "add.u32", "min.u32", "exch.b32", "inc.u32"])
        value = {"add.u32": self._some.choice(["1", "1", "1", *self._values]), "inc.u32": "1000"}.get(kind) or self._value()
        if not depth and self._some.random() < 0.3:
            p = self._predicate()
            self._lines.append(f"setp.eq.u32 {p}, %r2, 0; mov.u32 {made}, 0; "
                               f"@{p} atom.shared.{kind} {made}, [{at}], {value};")
            if self._some.random() < 0.8:
                first, made = made, self._register()
                self._lines.append(f"shfl.sync.idx.b32 {made}, {first}, 0, 31, -1;")
        else:
            self._lines.append(f"atom.shared.{kind} {made}, [{at}], {value};")
        self._values.append(made)
        if (at, kind, value, depth) == ("one", "add.u32", "1", 0):
            self._ranks.append(made)

    def _compute(self):
        made, a, b = self._register(), self._value(), self._value()
        self._lines.append(self._some.choice([
            f"add.u32 {made}, {a}, {b};", f"and.b32 {made}, {a}, {self._some.choice([7, 31, 63])};",
            f"shl.b32 {made}, {a}, 1;", f"xor.b32 {made}, {a}, {b};", f"mad.lo.u32 {made}, {a}, 3, {b};"]))
        self._values.append(made)

    def _branch(self, depth):
        self._labels += 1
        p, label, how = self._predicate(), f"L{self._labels}", self._some.choice(["eq", "ne", "lt"])
        self._lines.append(f"and.b32 %r9, {self._value()}, {self._some.choice([1, 3, 7])}; "
                           f"setp.{how}.u32 {p}, %r9, {self._some.choice([0, 1, 2])}; @{p} bra {label};")
        kept = [*self._values]
        self._block(self._some.randint(1, 3), depth + 1)
        self._values = kept
        self._lines.append(f"{label}:")

    def _vote(self):
        p, made = self._predicate(), self._register()
        self._lines.append(f"and.b32 %r9, {self._value()}, 1; setp.eq.u32 {p}, %r9, 0; "
                           f"vote.sync.ballot.b32 {made}, {p}, -1; and.b32 {made}, {made}, 63;")
        self._values.append(made)

    def _block(self, many, depth):
        for _ in range(many):
            kind = self._some.choices(["load", "store", "atomic", "compute", "branch", "vote"], [4, 4, 4, 3, 2, 1])[0]
            if kind in ("atomic", "branch") and depth < 2:
                getattr(self, f"_{kind}")(depth)
            elif kind in ("load", "store", "compute") or kind == "vote" and not depth:
                getattr(self, f"_{kind}")()
            if not depth and self._some.random() < 0.35:
                self._lines.append("bar.sync 0;")
                self._to, self._from, self._by_rank = self._from, self._to, self._some.random() < 0.5
                self._ranks.clear()


def counted_in_order(monkeypatch, entry, order):
    """The Trace of a kernel whose warps run in an order between barriers: a list of their numbers."""
    run, place = launch.run_residents, {warp: at for at, warp in enumerate(order)}

    def run_so(residents, begin, ahead=None):
        run(residents, begin, lambda ready, alone: sorted(ready, key=lambda turn: place[turn.warp.warp_index]))

    with monkeypatch.context() as patched:
        patched.setattr(launch, "run_residents", run_so)
        return entry.run(1, 32 * WARPS, np.zeros(32 * WARPS, np.uint32), hazards="report")


def loaded(seed):
    """The entry of one."""
    return sl.ptx.load(Program(seed).text).entry()
