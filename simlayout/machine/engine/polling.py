"""Loops that read the same bytes again and again, until somebody else changes them.

A GPU runs the other warps meanwhile. Here a warp keeps its turn until it waits, so one that reads the same again, and has
changed nothing since, gives its turn away after a while (`Polling.polled`). Where all warps do and nothing changes, not even
a variable of a kernel, nobody ever will: that is a deadlock.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from simlayout.errors import TOGETHER
from simlayout.machine.engine.lanes import WarpPart
from simlayout.machine.engine.memory import PerLane
from simlayout.machine.hazards.kinds import Flag

PATIENCE = 64
"""Reads that find the same, one after the other, before a warp gives its turn away."""

MOST_TURNS = 2**12
"""Turns in which nothing in memory changes, after which a loop that counts is taken for endless too."""


class Polling(WarpPart):
    """What a Warp knows of its own reads. idle: whether its last turns changed nothing at all, so that another one by itself
    will not either, unless watches_time: it has looked at a clock. waits_for_flags: whether its program does, in shared
    memory."""

    watches_time = waits_for_flags = False
    waiting: tuple | None                                # while blocked: see Warp.block_until
    polls: bool                                          # whether it is `polled` that has given its turn away
    pause: Any                                           # set by the scheduler: gives the turn back

    def __init__(self, launch: Any):
        self._launch, self._seen, self._streak, self._changes = launch, {}, 0, -1
        self._turns, self.idle = 0, False
        self._variables: list | None = None
        self.waiting, self.polls, self.pause = None, False, None

    def polled(self, where: PerLane, data: np.ndarray) -> None:
        """The warp has read data at some addresses (arrays or numbers)."""
        if self.pause is None:
            return
        launch = self._launch
        if launch.changes != self._changes:
            self._seen, self._streak, self._changes, self._variables, self._turns = {}, 0, launch.changes, None, 0
            self.idle = False
        result = np.asarray(where).tobytes(), data.tobytes(), self.active.tobytes()
        key = self.site, self.caller
        self._streak = self._streak + 1 if self._seen.get(key) == result else 0
        self._seen[key] = result
        if self._streak >= PATIENCE:
            self._streak, self._turns = 0, self._turns + 1
            before, self._variables = self._variables, self.variables()
            self.idle = before == self._variables or self._turns > MOST_TURNS
            self.waiting = (lambda changes=launch.changes: launch.changes != changes), self.poll_text, None
            self.polls = True
            self.pause()
            self.waiting, self.polls = None, False

    def variables(self) -> list:
        """What its program's variables hold, to be compared, as far as it has any beside memory."""
        return []

    def flag_behind(self, group: int, thread: int, epoch: int, lanes: Sequence[int]) -> Flag | str | None:
        """By which flag one of some lanes knows of what a thread (of those whose clocks have this serial number) did in an
        epoch, where no order tells it. ATOMICS if it may be by an atomic; None if by none, or where nobody looks."""
        return None

    def poll_text(self) -> str:
        """What a warp waits for that reads the same again and again, as text."""
        return f"a change of what it reads again and again{self._not_there()}"

    def _not_there(self):
        left = self._launch.not_started
        if not left:
            return ""
        some = f"{left} CTAs of the grid are" if left > 1 else "one CTA of the grid is"
        return f" ({some} not resident: if it waits for one of those, launch it cooperatively: {TOGETHER})"
