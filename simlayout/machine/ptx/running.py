"""Who executes the steps of a launch."""

import sys
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.interrupts import apart
from simlayout.machine.ptx.doubts import TooLong
from simlayout.machine.ptx.turns import TURN

LOOP = "simlayout.machine.ptx.compiled.loop"
"""The module of the compiled loop, which needs Numba."""

WARMTH = 20_000
"""Instructions of a launch, and of all short launches together, that are executed in NumPy before the compiled loop is
fetched, which takes a second."""


class _Process:
    """What this process has executed in NumPy, of launches that may have the compiled loop."""

    steps = 0


def compiled():
    """Whether the compiled loop is at hand, as it is once short launches together have executed a lot; None where Numba is
    not installed."""
    if LOOP in sys.modules:
        return True
    if find_spec("numba") is None:
        return None
    if _Process.steps > WARMTH:
        apart(lambda: import_module(LOOP))
        return True
    return False


class Running:
    """How the steps of a launch are executed: in NumPy at first; after a while by the compiled loop, where Numba is
    installed.

    before: a Before, where the launch may start anew instead of going on by the compiled loop. loop: that, or None.
    gathers: whether warps that come to a barrier stop in front of it.
    """

    def __init__(self, program, launch, space, before=None):
        self._what, self._left, self.loop, self._before = (program, launch, space), WARMTH, None, before
        self.gathers = False
        self._constants = program.constant_rows()
        if before is None and (compiled() or launch.doubts is not None):
            self.warm(WARMTH)

    def room_of(self, warp):
        """(rows, places, who) of a warp: its part of arrays of the whole CTA, so that all warps can be executed at once."""
        cta = warp.cta
        if cta.held is None:
            warps = cta.threads_padded // LANES
            cta.held = (np.empty((warps, *self._constants.shape), np.uint64), np.zeros((warps, 6), np.int64),
                        np.zeros((warps, 7), np.int64))
            cta.held[0][:] = self._constants
        return tuple(part[warp.warp_index] for part in cta.held)

    def warm(self, steps):
        """So many steps have been executed in NumPy."""
        self._left -= steps
        _Process.steps += steps
        if self._left <= 0 and self.loop is None and compiled() is not None:
            if self._before is not None and self._before.complete:
                raise TooLong
            module = sys.modules[LOOP] if compiled() else apart(lambda: import_module(LOOP))
            self.loop = module.Loop(*self._what)

    def ahead(self, turns, together):
        """Runs the warps of a CTA for a while by the compiled loop, if all of them can go on; gives those that need a turn
        of their own. together: whether these are all that have not ended.

        A warp that stands at a barrier needs none: the loop opens it when all stand there.
        """
        self.gathers = together and self.loop is not None and not self._what[1].shadowed
        if not self.gathers:
            return turns
        if all(turn.can_run for turn in turns):
            self.loop.run_all(turns, TURN)
        return [turn for turn in turns if not (turn.can_run and self.stands(turn.warp))] or turns

    def stands(self, warp):
        """Whether all lanes of a warp stand at a barrier that the compiled loop opens."""
        return len(warp.parts) == 1 and self.loop.is_barrier(warp.parts[0].at)

    def end(self):
        """The launch is over: the recorder gets what is left."""
        if self.loop is not None:
            self.loop.flush()
