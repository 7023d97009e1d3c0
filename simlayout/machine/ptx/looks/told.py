"""The second of two steps (see `doubts`): the shadows look at a launch again, until they have told what was in doubt."""

from dataclasses import replace

import numpy as np

from simlayout.machine.engine.launch import NEVER_WAITED
from simlayout.machine.hazards.kinds import HazardLog, calls_of, located
from simlayout.machine.ptx.looks.doubts import Doubt

MANY = 16
"""CTAs of a grid of which the shadows look at some; at a quarter of them at most."""

ENOUGH = 4096
"""Instructions for which the shadows go on when all that was in doubt has been told: it may race with other threads too, and
the hazards of short launches are all told and counted."""


class Enough(Exception):
    """All that was in doubt has been told."""


def _is_global(step):
    """Whether a step may access global memory."""
    return step.memory is None or step.memory.space != "shared"


class UntilTold(HazardLog):
    """A HazardLog that raises Enough a while after all that was in doubt has been told. program: the Program that runs;
    left: the lines that are yet to be told, {(file, line, callers)}; stopped: whether it has raised that."""

    def __init__(self, python, program, left):
        super().__init__("report", python)
        self.left, self.stopped, self._program, self._end = set(left), False, program, None

    def add(self, kind, first, second, *which, **words):
        """As of HazardLog."""
        super().add(kind, first, second, *which, **words)
        self._has_told(first, second)

    def again(self, kind, first, second, *memory):
        """As of HazardLog."""
        known = super().again(kind, first, second, *memory)
        if known:
            self._has_told(first, second)
        return known

    def _has_told(self, first, second):
        self.left -= {(place.file, place.line, place.callers) for place in (first, second) if place is not None}
        if not self.left:
            executed = self._program.executed.sum()
            self._end = self._end or executed + ENOUGH
            self.stopped = executed >= self._end
        if self.stopped:
            raise Enough


def told_of(program, trace, doubted, ctas, look):
    """The Trace of a launch that ran quickly, with hazards as the shadows tell of them; and whether memory is to be as the
    quick run has left it. doubted: as of Doubts; ctas: of the grid; look: called with numbers of CTAs, or None for all, and
    with the lines that were in doubt, gives the Trace of a launch with shadows, and its UntilTold. Raises Doubt where that
    does not do."""
    doubts = np.flatnonzero(doubted).tolist()
    lines = {(*program.steps[at].site, calls_of(program.steps[at].caller)) for at in doubts}
    some = np.unique(doubted[doubts] - 1).tolist()
    if ctas < max(MANY, 4 * len(some)) or any(_is_global(program.steps[at]) for at in doubts):
        some = None
    seen, log = look(some, lines)
    if some is None and not log.stopped:
        return seen, False
    if any(NEVER_WAITED in note for note in trace.notes):
        raise Doubt("what is no note where a hazard says it")
    if log.left:
        raise Doubt("what may be a race in some CTAs and none in others")
    stores = tuple(f"{located(*one.lines[0])}: " for one in seen.hazards if len(one.lines) > 1 and len(set(one.lines)) == 1)
    if not {note for note in seen.notes if not note.startswith(stores)} <= set(trace.notes):
        raise Doubt("what makes no difference in one place, and may in others")
    where = "the beginning of the launch" if some is None else f"{len(some)} of {ctas} CTAs"
    note = f"hazards, and how often there are any, are those of {where}: elsewhere a quick look finds none in other lines"
    hazards = tuple(replace(one, at_least=True) for one in seen.hazards)
    return replace(trace, hazards=hazards, notes=(*trace.notes, note)), True
