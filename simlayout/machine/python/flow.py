"""Where lanes part and meet: what rewritten `if`, loops and `return` call.

Control flow is edges between places in a function, and every edge carries lanes and the values of names: a lane-varying
`if` has an edge from either arm to what follows it, `continue` one to the head of the loop, `break` and a failed test one
to its end, `return` one to the end of the function. Where edges meet, each lane keeps the values that it came with. While
lanes wait at the far end of an edge, they are not active. Where all lanes take the same way nothing of this happens: the
statement is Python's own.
"""

import sys
from typing import Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.lanes import lane_list
from simlayout.machine.python.divergence import UNASSIGNED, Decisions, LaneRange, merge, truth

NOBODY = np.zeros(LANES, bool)
NOBODY.setflags(write=False)


def _values(names, scope):
    return [scope.get(name, UNASSIGNED) for name in names]


class Branch:
    """An `if` on which the active lanes disagree; truthy, so that rewritten code enters both arms."""

    def __init__(self, warp, true, names, site):
        self.warp, self.outer, self.size, self.true, self.names = warp, warp.active, warp.count, true, names
        self.outside, self.site = warp.parted, site
        warp.parted = site
        warp.narrow(self.outer & true)

    def then(self, scope):
        """Before the first arm: remembers what the names hold."""
        self.before = _values(self.names, scope)

    def otherwise(self, scope):
        """Between the arms: keeps what the first assigned, and returns what the names held before it."""
        self.after_then, self.stayed = _values(self.names, scope), self.warp.active
        self.warp.parted = self.site
        self.warp.narrow(self.outer & ~self.true)
        return self.before

    def merge(self, scope):
        """After the second arm: the names' merged values, in the order of `names`; the lanes that jumped nowhere go on."""
        warp, after_else = self.warp, _values(self.names, scope)
        here = warp.active
        then, otherwise = int(np.count_nonzero(self.stayed)), warp.count
        if then + otherwise == self.size:
            warp.parted = self.outside
            warp.narrow(self.outer)
        else:
            warp.parted = self.site
            warp.narrow(self.stayed | here)
        if not otherwise:
            return self.after_then
        if not then:
            return after_else
        return [merge(self.true, a, b) for a, b in zip(self.after_then, after_else, strict=True)]


class Loop:
    """A `while` or `for`: who is in it, and who waits at its head or its end.

    names: those that the loop assigns, whose values the edges carry. diverged: whether lanes have left before others, so
    that `end` has values to merge. skipped: the edges of `continue` to the head; finished: those of a failed test to the
    `else`; broke: those of `break` past it.
    """

    __slots__ = ("warp", "names", "entered", "entered_count", "outside", "size", "diverged", "skipped", "finished", "broke")

    def __init__(self, warp, names):
        self.warp, self.names = warp, names
        self.entered, self.entered_count, self.outside = warp.active, warp.count, warp.parted
        self.size = warp.count                           # lanes in the present trip
        self.diverged, self.skipped, self.finished, self.broke = False, [], [], []

    # ---- the head ------------------------------------------------------------------------------------------------

    def test(self, condition):
        """Whether any lane goes on, by the condition of a `while`; only those that do stay active."""
        warp = self.warp
        agreed = warp.agreed(condition)
        if agreed is None:
            self._part(warp.active & truth(condition), sys._getframe(1))
            agreed = True
        self.size = warp.count
        return agreed

    def over(self, values):
        """What a `for` without jumps walks over."""
        return self._by_lanes(values) if values.__class__ is LaneRange else self.warp.iterate(values)

    def over_while_any(self, values):
        """What a `for` with jumps walks over, while lanes are left."""
        return self._by_lanes(values) if values.__class__ is LaneRange else self._while_any(self.warp.iterate(values))

    def _while_any(self, values):
        for value in values:
            if not self.warp.count:
                return
            self.size = self.warp.count
            yield value

    def _by_lanes(self, values):
        """The trips of a range that differs by lane: int64 [32] each."""
        warp, at = self.warp, values.start
        while True:
            going = warp.active & values.holds(at)
            if not going.any():
                return
            if np.count_nonzero(going) < warp.count:
                self._part(going, sys._getframe(1))
            self.size = warp.count
            yield at
            at = at + values.step

    def _part(self, going, frame):
        """Some lanes have finished; the others go on."""
        warp = self.warp
        self._leave(self.finished, warp.active & ~going, frame)
        warp.narrow(going)

    def _leave(self, edges, lanes, frame):
        """Lanes take an edge with the values that the names have in a frame."""
        edges.append((lanes, _values(self.names, frame.f_locals)))
        self.diverged = True
        self.warp.parted = frame.f_code.co_filename, frame.f_lineno

    # ---- jumps: True where Python's own jump does it, as all lanes of this trip jump -----------------------------

    def breaks(self):
        """`break` by the active lanes."""
        warp = self.warp
        if warp.count == self.size and not self.finished:
            return True
        self._leave(self.broke, warp.active, sys._getframe(1))
        self.size -= warp.count
        warp.narrow(NOBODY)
        return False

    def skips(self):
        """`continue` by the active lanes."""
        warp = self.warp
        if warp.count == self.size:
            return True
        self._leave(self.skipped, warp.active, sys._getframe(1))
        warp.narrow(NOBODY)
        return False

    # ---- where edges meet: the values of the names ---------------------------------------------------------------

    def meet(self):
        """At the end of the body: those who skipped it come back."""
        edges, self.skipped = self.skipped, []
        return self._met(edges, sys._getframe(1))

    def complete(self):
        """Before the `else`: all who did not break."""
        edges, self.finished = self.finished, []
        return self._met(edges, sys._getframe(1))

    def end(self):
        """After the loop: all lanes that did not return."""
        return self._met(self.finished + self.broke, sys._getframe(1))

    def _met(self, edges, frame):
        warp = self.warp
        if warp.count:
            edges = [(warp.active, _values(self.names, frame.f_locals)), *edges]
        if not edges:                                    # all lanes have returned
            return _values(self.names, frame.f_locals)
        lanes, values = edges[0]
        for theirs, held in edges[1:]:
            values = [merge(theirs, a, b) for a, b in zip(held, values, strict=True)]
            lanes = lanes | theirs
        if np.count_nonzero(lanes) == self.entered_count:
            lanes, warp.parted = self.entered, self.outside
        warp.narrow(lanes)
        return values


class Returns:
    """The end of a function that some lanes may reach before others, and what they bring."""

    def __init__(self, warp):
        self.warp, self.entered, self.size, self.given = warp, warp.active, warp.count, []

    def gives(self, value):
        """`return value` by the active lanes; True where all that are in the function return together."""
        warp = self.warp
        if warp.count == self.size and not self.given:
            self._leave()
            return True
        self.given.append((warp.active, value))
        warp.narrow(NOBODY)
        if warp.caller is None:                          # the kernel itself: these threads exit
            warp.exit(self.given[-1][0])
        return False

    def result(self):
        """At the end of the function: the value that each lane returned, None where none returned any."""
        warp = self.warp
        if warp.count:                                   # they fall off the end
            self.given.append((warp.active, None))
        self._leave()
        _, value = self.given[0]
        for lanes, other in self.given[1:]:
            if (value is None) is not (other is None):
                nothing = next(where for where, held in self.given if held is None)
                raise MachineError(f"some lanes return a value and lanes {lane_list(nothing)} none: return one for all, or "
                                   "for none")
            value = merge(lanes, other, value)
        return value

    def _leave(self):
        """All lanes that came are back with the caller."""
        if self.warp.caller is not None and self.warp.active is not self.entered:
            self.warp.narrow(self.entered)


class Flow(Decisions):
    """Lanes that part and meet."""

    def branch(self, test: Any, names: list[str]) -> bool | Branch:
        """Decides an `if`: True, False, or a Branch where the active lanes disagree. names: those that it assigns."""
        if test is True or test is False:
            return test
        agreed = self.agreed(test)
        if agreed is not None:
            return agreed
        frame = sys._getframe(1)
        return Branch(self, truth(test), names, (frame.f_code.co_filename, frame.f_lineno))

    def loop(self, names: list[str]) -> Loop:
        """A Loop that begins here."""
        return Loop(self, names)

    def returns(self) -> Returns:
        """The Returns of a function that begins here."""
        return Returns(self)
