"""Who executes the steps of a launch."""

import sys
from importlib import import_module
from importlib.util import find_spec

from simlayout.interrupts import apart

LOOP = "simlayout.machine.ptx.compiled.loop"
"""The module of the compiled loop, which needs Numba."""

WARMTH = 20_000
"""Instructions of a launch that are executed in NumPy before the compiled loop is fetched, which takes a second."""


class Running:
    """How the steps of a launch are executed: in NumPy at first; after a while by the compiled loop, where Numba is
    installed.

    loop: that, or None.
    """

    def __init__(self, program, launch, space):
        self._what, self._left, self.loop = (program, launch, space), WARMTH, None
        if LOOP in sys.modules:                          # already there
            self.warm(WARMTH)

    def warm(self, steps):
        """So many steps have been executed in NumPy."""
        self._left -= steps
        if self._left <= 0 and self.loop is None and find_spec("numba") is not None:
            self.loop = apart(lambda: import_module(LOOP)).Loop(*self._what)

    def end(self):
        """The launch is over: the recorder gets what is left."""
        if self.loop is not None:
            self.loop.flush()
