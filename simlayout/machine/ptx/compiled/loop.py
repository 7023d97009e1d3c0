"""The compiled loop of a launch: its arrays, and the accesses of shared and global memory that it has noted."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.compiled.encode import BARRIER, SPECIAL, encoded
from simlayout.machine.ptx.compiled.executor import execute
from simlayout.machine.ptx.compiled.noted import count_sectors, count_touched
from simlayout.machine.ptx.compiled.together import execute_all, execute_parts
from simlayout.machine.ptx.doubts import Doubt

NOTED = 4096
"""Accesses that are noted before the recorder takes them: a megabyte of addresses."""

ROUNDS = 4096
"""Turns that all warps of a CTA take before somebody looks whether they should."""

_NONE = np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.uint64), np.zeros(0, np.uint64)

_BITS = np.arange(LANES, dtype=np.uint32)


class Loop:
    """Executes parts of the warps of a launch. executed: int64 [steps], counted here and by who executes the other steps."""

    def __init__(self, program, launch, space):
        self._program, self._launch, self._space = program, launch, space
        e = encoded(program, launch.shadowed or launch.watch is not None)
        self._steps = (e.code, e.targets, e.kinds, e.operands, e.hows, e.keeps, e.elements, e.offsets, e.copies, e.places)
        self._ranges, self._known = np.zeros((0, 5), np.int64), -1
        self._log = (np.zeros(NOTED, np.int64), np.zeros(NOTED, np.uint32), np.zeros((NOTED, LANES), np.int64),
                     np.zeros(1, np.int64))
        self._state = np.zeros(3, np.int64)
        self._shared, self._global_bytes = e.shared, e.global_bytes
        self._counts = np.zeros((len(e.shared), 3), np.int64)
        self._compiled = (e.kinds != SPECIAL).tolist()
        self._parts = np.zeros(LANES, np.int64), np.zeros((LANES, LANES), np.uint64), np.zeros(LANES, np.int64)

    def run(self, warp, part, limit, patience):
        """Executes what is compiled, from where a part is on; moves the part, and returns how many steps that was."""
        self._ready(1)
        part.at = execute(part.at, limit, patience, part.mask, warp.rows, *self._steps, self._program.executed, warp.places,
                          self._ranges, *self._log, self._state, warp.who, *self._doubts(warp.cta))
        self._look()
        return int(self._state[0])

    def run_parts(self, warp, patience, longest):
        """Executes what is compiled of all parts of a warp, also where they part and meet; moves them, and returns how many
        steps that was. longest: most steps that a part stands while others run."""
        at, masks, ran = self._parts
        for i, part in enumerate(warp.parts):
            at[i], masks[i], ran[i] = part.at, part.mask, part.ran
        self._ready(1)
        count = execute_parts(*self._parts, len(warp.parts), warp.steps_run, patience, longest, self._program.end, warp.rows,
                              *self._steps, self._program.executed, warp.places, self._ranges, *self._log, self._state,
                              warp.who, *self._doubts(warp.cta))
        warp.set_parts(at[:count].tolist(), masks[:count] != 0, ran[:count].tolist())
        self._look()
        return int(self._state[0])

    def is_compiled(self, at):
        """Whether a step may be executed here."""
        return self._compiled[at]

    def run_all(self, turns, turn):
        """Executes what is compiled of all warps of a CTA that have not ended, each for `turn` steps at a time."""
        cta, parts = turns[0].warp.cta, [each.warp.parts[0] for each in turns]
        which = np.array([each.warp.warp_index for each in turns])
        at, left = np.array([part.at for part in parts]), np.array([each.left for each in turns])
        before, masks = left.copy(), np.array([part.mask for part in parts])
        rows, places, who = cta.held
        done, enough = False, left.sum() - ROUNDS * turn * len(turns)
        while not done and left.sum() > enough:
            self._ready(turn)
            done = execute_all(which, at, self._program.end, turn, ROUNDS, left, masks, rows, *self._steps,
                               self._program.executed, places, self._ranges, *self._log, self._state, who,
                               *self._doubts(cta))
        for each, part, now, steps in zip(turns, parts, at.tolist(), (before - left).tolist()):
            part.at = now
            each.has_run(steps)
            each.warp.steps_run += steps
        self._look()

    def is_barrier(self, at):
        """Whether a step is a barrier that `run_all` opens."""
        return self._steps[2][at] == BARRIER

    def _doubts(self, cta):
        """Who wrote and who read shared and global memory."""
        doubts = self._launch.doubts
        return _NONE if doubts is None else (*doubts.shared_of(cta), doubts.wrote, doubts.read)

    def _look(self):
        """At what the loop says of what it did."""
        if self._state[1]:
            self._launch.changes, self._state[1] = self._launch.changes + 1, 0
        if self._state[2]:
            raise Doubt("an access that may be part of a race")

    def _ready(self, accesses):
        """So many accesses can be noted, and all arrays are known."""
        if self._log[3][0] + accesses > NOTED:
            self.flush()
        if self._known != self._space.count:
            self._find_arrays()

    def flush(self):
        """Gives the recorder what has been noted."""
        at, lanes, addresses, used = self._log
        n, used[0] = int(used[0]), 0
        count_sectors(at, lanes, addresses, n, self._global_bytes, self._counts)
        for step in np.flatnonzero(self._counts[:, 0]).tolist():
            move, nbytes = self._program.steps[step].memory, int(self._global_bytes[step])
            name, site = f"{'st' if move.store else 'ld'}.global.b{8 * nbytes}", self._program.steps[step].counted_at
            buffer = self._launch.recorder.sectors(name, site, nbytes, self._program.steps[step].beside)
            buffer.add_counts(*self._counts[step].tolist())
            if buffer.pieces is not None and len(buffer.pieces):
                these = np.flatnonzero(at[:n] == step)
                buffer.add_touched(*count_touched(addresses[these], lanes[these], buffer.pieces))
        self._counts[:] = 0
        for step in np.unique(at[:n][self._shared[at[:n]]]).tolist():
            these = np.flatnonzero(at[:n] == step)
            active = (lanes[these, None] >> _BITS & 1).astype(bool)
            self._tell(self._program.steps[step], addresses[these], active)

    def _tell(self, step, addresses, active):
        """Gives the recorder accesses of shared memory of one step: int64 [n, 32], bool [n, 32]."""
        move, recorder = step.memory, self._launch.recorder
        nbytes, what = move.size * len(move.elements), "st" if move.store else "ld"
        name, joined = f"{what}.shared.b{8 * nbytes}", step.joined
        if joined is None:
            recorder.add_all(name, step.counted_at, addresses, active)
        elif joined.bytes:
            recorder.add_all(joined.name(name), step.counted_at, addresses + joined.shift, active)

    def _find_arrays(self):
        self._known = self._space.count
        ranges = np.array(list(self._space.memory()), np.int64).reshape(-1, 4)
        ranges[:, 1] -= ranges[:, 0]
        aligned = (ranges[:, 1] + 15) // 8 * 8           # each begins at a cell of its own
        self._ranges = np.column_stack([ranges, np.cumsum(aligned) - aligned])
