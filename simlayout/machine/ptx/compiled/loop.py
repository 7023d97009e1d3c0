"""The compiled loop of a launch: its arrays, and the accesses of shared and global memory that it has noted."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.compiled.encode import encoded
from simlayout.machine.ptx.compiled.executor import execute

NOTED = 4096
"""Accesses that are noted before the recorder takes them: a megabyte of addresses."""

_BITS = np.arange(LANES, dtype=np.uint32)


class Loop:
    """Executes parts of the warps of a launch. executed: int64 [steps], counted here and by who executes the other steps."""

    def __init__(self, program, launch, space):
        self._program, self._launch, self._space = program, launch, space
        e = encoded(program, launch.log is not None or launch.watch is not None)
        self._steps = (e.code, e.targets, e.kinds, e.operands, e.hows, e.keeps, e.elements, e.offsets, e.places)
        self._ranges, self._known = np.zeros((0, 4), np.int64), -1
        self._log = (np.zeros(NOTED, np.int64), np.zeros(NOTED, np.uint32), np.zeros((NOTED, LANES), np.int64),
                     np.zeros(1, np.int64))
        self._state = np.zeros(2, np.int64)

    def run(self, warp, part, limit, patience):
        """Executes what is compiled, from where a part is on; moves the part, and returns how many steps that was."""
        if self._log[3][0] == NOTED:
            self.flush()
        if self._known != self._space.count:
            self._find_arrays()
        part.at = execute(part.at, limit, patience, part.mask, warp.rows, *self._steps, self._program.executed, warp.places,
                          self._ranges, *self._log, self._state)
        if self._state[1]:
            self._launch.changes, self._state[1] = self._launch.changes + 1, 0
        return int(self._state[0])

    def flush(self):
        """Gives the recorder what has been noted."""
        at, lanes, addresses, used = self._log
        n, used[0] = int(used[0]), 0
        for step in np.unique(at[:n]).tolist():
            these = np.flatnonzero(at[:n] == step)
            active = (lanes[these, None] >> _BITS & 1).astype(bool)
            self._tell(self._program.steps[step], addresses[these], active)

    def _tell(self, step, addresses, active):
        """Gives the recorder accesses of one step: int64 [n, 32], bool [n, 32]."""
        move, recorder = step.memory, self._launch.recorder
        nbytes, what = move.size * len(move.elements), "st" if move.store else "ld"
        if move.space == "shared":
            name, joined = f"{what}.shared.b{8 * nbytes}", step.joined
            if joined is None:
                recorder.add_all(name, step.counted_at, addresses, active)
            elif joined.bytes:
                recorder.add_all(joined.name(name), step.counted_at, addresses + joined.shift, active)
        elif move.space != "const":
            recorder.sectors(f"{what}.global.b{8 * nbytes}", step.counted_at, nbytes).add_all(addresses, active)

    def _find_arrays(self):
        self._known = self._space.count
        ranges = np.array(list(self._space.memory()), np.int64).reshape(-1, 4)
        ranges[:, 1] -= ranges[:, 0]
        self._ranges = ranges
