"""Random PTX whose sums hand on a carry, in loops and branches, and what each thread leaves, one lane at a time."""

from itertools import count
from random import Random

import numpy as np

WORDS, KEPT, SHARED = 12, 8, 4
"""Registers that threads load; those of them that a program changes; words of shared memory of each thread."""

ONES = 0xFFFFFFFF
SUMS = {
    # what is made of a, b, c and the carry: 32 bits are the result, the next one is the carry (0 where sub borrows)
    "add.cc.u32": lambda a, b, c, cf: a + b, "add.cc.s32": lambda a, b, c, cf: a + b, "add.u32": lambda a, b, c, cf: a + b,
    "addc.u32": lambda a, b, c, cf: a + b + cf, "addc.cc.u32": lambda a, b, c, cf: a + b + cf,
    "sub.cc.u32": lambda a, b, c, cf: a + (b ^ ONES) + 1, "subc.u32": lambda a, b, c, cf: a + (b ^ ONES) + cf,
    "subc.cc.s32": lambda a, b, c, cf: a + (b ^ ONES) + cf, "mul.lo.u32": lambda a, b, c, cf: a * b,
    "mad.lo.cc.u32": lambda a, b, c, cf: (a * b & ONES) + c, "mad.hi.cc.u32": lambda a, b, c, cf: (a * b >> 32) + c,
    "madc.lo.u32": lambda a, b, c, cf: (a * b & ONES) + c + cf, "madc.hi.cc.u32": lambda a, b, c, cf: (a * b >> 32) + c + cf,
}


class Carried:
    """A program of a seed: `text` behind a head that loads %x0 to %x11, and shared words at [%c1]; `run` is its twin."""

    def __init__(self, seed):
        self._random, self._label = Random(seed), count()
        self._body = self._statements(0)
        self.text = "".join(self._told(self._body))

    def _statements(self, depth):
        """[("sum", name, to, operands) or ("load", to, word) or ("branch" or "loop", ..., statements)]."""
        made = []
        for _ in range(self._random.randint(2, 5)):
            kind = self._random.random()
            if kind < 0.6 or depth == 2:
                made.append(("sum", self._random.choice([*SUMS]), self._random.randrange(KEPT), [
                    self._random.choice([self._random.randrange(WORDS), self._random.randrange(KEPT, WORDS), "1", "0", "-1"])
                    for _ in range(3)]))
            elif kind < 0.75:
                made.append(("load", self._random.randrange(KEPT), self._random.randrange(SHARED)))
            elif kind < 0.85:
                made.append(("branch", *self._random.sample(range(WORDS), 2), self._statements(depth + 1)))
            else:
                made.append(("loop", depth, self._random.choice([2, 3, 4]), self._statements(depth + 1)))
        return made

    def _told(self, body):
        for kind, *what in body:
            if kind == "sum":
                name, to, operands = what
                given = operands[:3 if name.startswith("mad") else 2]
                given = [f"%x{one}" if isinstance(one, int) else one for one in given]
                yield f"{name} %x{to}, {', '.join(given)};\n"
            elif kind == "load":
                yield f"ld.shared.u32 %x{what[0]}, [%c1+{4 * what[1]}];\n"
            elif kind == "branch":
                one, other, inside = what
                label = f"L{next(self._label)}"
                yield f"setp.lt.u32 %p1, %x{one}, %x{other};\n@%p1 bra {label};\n{''.join(self._told(inside))}{label}:\n"
            else:
                depth, rounds, inside = what
                label, turn = f"L{next(self._label)}", f"%c{2 + depth}"
                yield (f"mov.u32 {turn}, 0;\n{label}:\n{''.join(self._told(inside))}ld.shared.u32 %x0, [%c1];\n"
                       f"add.u32 {turn}, {turn}, 1;\nsetp.lt.u32 %p1, {turn}, {rounds};\n@%p1 bra {label};\n")

    def run(self, words):
        """uint32 [threads, KEPT]: what threads have in the end whose words are uint32 [threads, WORDS]."""
        left = []
        for given in words.tolist():
            self._x, self._shared, self._carry = [*given], given[:SHARED], 0
            self._go(self._body)
            left.append(self._x[:KEPT])
        return np.array(left, np.uint32)

    def _go(self, body):
        for kind, *what in body:
            if kind == "sum":
                name, to, operands = what
                a, b, c = (self._x[one] if isinstance(one, int) else int(one) & ONES for one in operands)
                made = SUMS[name](a, b, c, self._carry)
                self._x[to] = made & ONES
                if ".cc" in name:
                    self._carry = made >> 32 & 1
            elif kind == "load":
                self._x[what[0]] = self._shared[what[1]]
            elif kind == "branch":
                if not self._x[what[0]] < self._x[what[1]]:
                    self._go(what[2])
            else:
                for _ in range(what[1]):
                    self._go(what[2])
                    self._x[0] = self._shared[0]
