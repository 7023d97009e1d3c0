"""Accumulators of wgmma: registers of a PTX warp that belong to the tensor core for a while.

Which registers these are is known when a program is loaded, so only the steps that use one of them look whether they may.
Arithmetic looks only while a set that it uses has a guard: else the compiled loop executes it, as what else there is
between one wgmma and the next.
"""

from functools import reduce
from operator import or_

import numpy as np

from simlayout.machine.hazards.guards import Fenced, Registers
from simlayout.machine.ptx.memory.held import GUARDED

BITS = 62
"""Sets of accumulators that have a bit of their own in an int64; more of them share these."""

BEHIND = ("touches registers of the wgmma that follows, behind their wgmma.fence: PTX asks for another fence; ptxas 13.0 "
          "moves the fence behind it without a word")
"""A compiler that knows nothing of wgmma moves `float d[32] = {}` past the inline asm of the fence. ptxas puts
WARPGROUP.ARRIVE behind moves, additions and loads between a fence and the first wgmma after it."""

BETWEEN = ("touches registers of a wgmma that follows, behind their wgmma.fence and another wgmma: PTX asks for another "
           "fence; ptxas 13.5 moves constants up, and else adds a fence, or a wait too, which costs time (C7514, C7517)")
"""So is what CuTe DSL makes of `accumulators.fill(0.0)` in front of a fence, where a tile takes two wgmma: seen in the
machine code of moves, additions, loads and stores of such registers."""

SUNK = ("moves registers of a wgmma before its wgmma.wait_group: PTX forbids it; ptxas 13.5 does it behind the wait, as "
        "nothing needs them before")


class RegisterRows(Registers):
    """The 32-bit registers in some rows of a warp, as accumulators are taken by `simlayout.machine.engine.warpgroup`. rows:
    a tuple; number: that of the set. moved: (site, note) of what touched them behind a wgmma.fence, which has to be told if
    the next wgmma comes without another one; None."""

    __slots__ = ("_guard", "_number", "moved", "rows")

    def __init__(self, warp, rows, number):
        self._guard, self._number, self.moved = None, number, None
        super().__init__(warp)
        self.rows = np.array(rows)

    @property
    def guard(self):
        """As of Registers; the compiled loop knows of which sets there is one."""
        return self._guard

    @guard.setter
    def guard(self, guard):
        had, self._guard, bit = self._guard, guard, _bit(self._number)
        if guard is not None:
            self.warp.who[GUARDED] |= bit
        elif had is not None and all(one.guard is None for one in self.warp.accumulators[self._number % BITS::BITS]):
            self.warp.who[GUARDED] &= ~bit

    def begins(self):
        """A wgmma is about to add to them."""
        if self.moved is not None and self.guard is None:
            self.warp.cta.launch.recorder.note_once(*self.moved)
            self.guard = Fenced()
        self.moved = None

    @property
    def values(self):
        """uint32 [registers, 32]."""
        return self.warp.rows[self.rows].astype(np.uint32)

    def fill(self, data):
        """All of them become data, uint8 [bytes]."""
        self.warp.rows[self.rows] = data.view(np.uint32).reshape(len(self.rows), -1)

    def __repr__(self):
        return f"{len(self.rows)} registers"


class Accumulators:
    """Those of a program: `sets`, tuples of rows, each with a number."""

    def __init__(self):
        self.sets, self._numbers = [], {}

    def number(self, rows):
        """The number of a set of rows."""
        if rows not in self._numbers:
            self._numbers[rows] = len(self.sets)
            self.sets.append(rows)
        return self._numbers[rows]

    def of(self, warp):
        """[RegisterRows]: those of a Warp, by number."""
        return [RegisterRows(warp, rows, number) for number, rows in enumerate(self.sets)]

    def watch(self, steps, rows):
        """Makes steps look that use an accumulator. rows: for each step, the rows that it uses."""
        owners = {}
        for number, members in enumerate(self.sets):
            for row in members:
                owners.setdefault(row, []).append(number)
        for step, used in zip(steps, rows, strict=True):
            numbers = sorted({number for row in used for number in owners.get(row, ())})
            if step.name.startswith("wgmma.mma_async"):
                numbers = [number for number in numbers if number != step.run.number]
            if numbers and step.jump is None:
                _look(step, numbers)


def _bit(number):
    return 1 << number % BITS


def _look(step, numbers):
    """Makes a step tell the sets of accumulators that it touches them. What is a note whatever they do, is not compiled."""
    compute, run = step.compute, step.run

    def looking(warp):
        for number in numbers:
            registers = warp.accumulators[number]
            guard = registers.guard
            if step.sunk:
                warp.cta.launch.recorder.note_once(step.site, SUNK)
            if isinstance(guard, Fenced) and (warp.right_behind_fence or guard.unused):
                registers.moved = step.site, BEHIND if warp.right_behind_fence else BETWEEN
            if guard is not None:
                guard.touched(registers)
        if compute is None:
            return run(warp)
        compute(warp.rows, None if warp.whole else warp.active)

    step.is_plain_beneath = any(one is not None for one in (step.matrices, step.memory, step.product, compute))
    if step.sunk:
        step.lanewise = None
    step.watches = reduce(or_, map(_bit, numbers))
    step.run, step.compute, step.memory, step.matrices, step.product = looking, None, None, None, None
