"""Who executes the steps of a launch."""

import sys
from importlib import import_module
from importlib.util import find_spec

from simlayout.hardware.tables.arch import LANES
from simlayout.interrupts import apart
from simlayout.machine.engine.cta import Residents
from simlayout.machine.ptx.looks.doubts import TooLong
from simlayout.machine.ptx.memory.held import held_of
from simlayout.machine.ptx.memory.published import Published
from simlayout.machine.ptx.warps.circles import Circles
from simlayout.machine.ptx.warps.turns import LONG, TURN
from simlayout.machine.ptx.warps.warp import PtxWarp

LOOP = "simlayout.machine.ptx.compiled.loop"
"""The module of the compiled loop, which needs Numba."""

ENTRANCE = "simlayout.machine.ptx.compiled.enter"
"""The module of the function that has all of it, compiled."""

WARMTH = 20_000
"""Instructions of a launch, and of all short launches together, that are executed in NumPy before the compiled loop is
fetched, which takes half a minute where it was not compiled before."""

SOONER = 8
"""By how much fewer these are where it is known that it was: then it takes a tenth of a second."""


class _Process:
    """What this process has executed in NumPy, of launches that may have the compiled loop."""

    steps = 0
    kept: bool | None = None                             # whether the compiled loop lies on the disk, once that is known


def compiled():
    """Whether the compiled loop is at hand, as it is once short launches together have executed a lot; None where Numba is
    not installed."""
    if LOOP in sys.modules:
        return True
    if find_spec("numba") is None:
        return None
    if _Process.steps > _warmth():
        apart(lambda: import_module(LOOP))
        return True
    return False


def _warmth():
    """After how many instructions in NumPy the compiled loop is fetched."""
    if _Process.kept is None and "numba" in sys.modules:
        _Process.kept = import_module("simlayout.jit").kept(import_module(ENTRANCE).enter)
    return WARMTH // SOONER if _Process.kept else WARMTH


class Running:
    """How the steps of a launch are executed: in NumPy at first; after a while by the compiled loop, where Numba is
    installed.

    shape: of the launch; limit: instructions that a warp executes at most; before: a Before, where the launch may start anew
    instead of going on by the compiled loop. loop: that, or None.
    gathers: whether warps that come to a barrier stop in front of it. published: what threads have stored for others that
    wait.
    """

    def __init__(self, program, launch, space, shape, limit, before=None):
        self._what, self._left, self.loop, self._before = (program, launch, space), _warmth(), None, before
        self._shape, self._limit, self._whole, self.gathers = shape, limit, None, False
        self.published, self._circles = Published(), Circles(program, launch, space)
        if before is None and (compiled() or launch.doubts is not None):
            self.warm(self._left)

    def room_of(self, warp):
        """(rows, places, who) of a warp: its part of arrays of the whole CTA, so that all warps can be executed at once."""
        cta, w = warp.cta, warp.warp_index
        if cta.held is None:
            cta.held = held_of(cta.threads_padded // LANES, self._what[0].constant_rows)
        return cta.held.rows[w], cta.held.places[w], cta.held.who[w]

    def warm(self, steps):
        """So many steps have been executed in NumPy."""
        self._left -= steps
        _Process.steps += steps
        if self._left <= 0 and self.loop is None and compiled() is not None:
            if self._before is not None and self._before.complete:
                raise TooLong
            module = sys.modules[LOOP] if compiled() else apart(lambda: import_module(LOOP))
            self.loop = module.Loop(*self._what)

    def whole(self, first):
        """Runs whole CTAs by the compiled loop from number `first` on, if it can: as of `run_grid`."""
        launch = self._what[1]
        if self.loop is None or launch.clocked or launch.watch is not None:
            return first, True
        if self._whole is None:
            self._whole = self._make_whole()
        number = self._whole.run(first)
        return number, self._whole.begun

    def _make_whole(self):
        from simlayout.machine.ptx.compiled.whole import Whole, started

        program, launch, space = self._what
        key = self._shape, launch.dynamic_bytes, launch.fill, launch.unset
        if program.started[0] != key:
            shape = self._shape
            first = Residents([(0, 0, 0)], shape.cluster, shape.grid, shape.block, shape.shared_bytes, launch).ctas[0]
            warps = [PtxWarp(first, i, program, space, self) for i in range(first.threads_padded // LANES)]
            program.started = key, *started(warps)
        return Whole(self.loop, program, launch, *program.started[1:], self._limit)

    def begun(self, turn):
        """A PtxTurns begins here; or goes on, with a warp of a CTA that the compiled loop has begun."""
        if self._whole is not None and self._whole.begun:
            self._whole.hand_over(turn)
        return turn

    def ahead(self, turns, todo):
        """Runs the warps of a CTA for a while by the compiled loop, if all of them can go on; gives those that need a turn
        of their own, which are none if they go round in a circle. todo: all that have not ended.

        A warp that stands at a barrier needs none: the loop opens it when all stand there.
        """
        if turns and self._circles.closed(turns, todo):
            for turn in turns:
                turn.goes_round(self._circles.reads, self._what[0].reads_clocks)
            return []
        self.gathers = self._are_all(turns, todo) and self.loop is not None and not self._what[1].clocked
        if not self.gathers:
            return turns
        if all(turn.can_run for turn in turns):
            self.loop.run_all(turns, LONG if turns[0].warp.is_lone else TURN)
        return [turn for turn in turns if not (turn.can_run and self.stands(turn.warp))] or turns

    def _are_all(self, turns, todo):
        """Whether these are all that have not ended, of one CTA."""
        cta = todo[0].warp.cta
        return len(turns) == len(todo) and cta.grid_barrier.warps == len(cta.registers)

    def stands(self, warp):
        """Whether all lanes of a warp stand at a barrier that the compiled loop opens."""
        return len(warp.parts) == 1 and self.loop.is_barrier(warp.parts[0].at)

    def end(self):
        """The launch is over: the recorder gets what is left."""
        if self.loop is not None:
            self.loop.end()
