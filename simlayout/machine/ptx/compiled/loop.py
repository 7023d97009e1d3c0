"""The compiled loop of a launch: its arrays, and the accesses of shared and global memory that it has noted."""

from functools import cached_property, partial

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.compiled.encode import BARRIER, SPECIAL, encoded
from simlayout.machine.ptx.compiled.executor import execute
from simlayout.machine.ptx.compiled.held import Common
from simlayout.machine.ptx.compiled.noted import count_sectors, count_touched
from simlayout.machine.ptx.compiled.together import FULL, execute_cta, execute_parts
from simlayout.machine.ptx.doubts import Doubt
from simlayout.machine.ptx.parts import PATIENCE

NOTED = 4096
"""Accesses that are noted before the recorder takes them: a megabyte of addresses."""

ROUNDS = 4096
"""Turns that all warps of a CTA take before somebody looks whether they should."""

_BITS = np.arange(LANES, dtype=np.uint32)

_LOG = slice(Common._fields.index("log_step"), Common._fields.index("log_used") + 1)
_spare: list[tuple] = []                                 # arrays to note accesses in, of launches that are over


class Loop:
    """Executes parts of the warps of a launch. steps: its Encoded."""

    def __init__(self, program, launch, space):
        self._program, self._launch, self._space = program, launch, space
        self.steps = encoded(program, launch.shadowed or launch.watch is not None)
        none = np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.uint64), np.zeros(0, np.uint64)
        log = _spare.pop() if _spare else (np.zeros(NOTED, np.int64), np.zeros(NOTED, np.uint32),
                                           np.zeros((NOTED, LANES), np.int64), np.zeros(1, np.int64))
        self._common = Common(program.executed, np.zeros((0, 5), np.int64), np.zeros(3, np.int64), *log, *none)
        self._known = -1
        self._counts, self._touched = (np.zeros((len(self.steps.shared), n), np.int64) for n in (3, 2))

    def run(self, warp, part, limit, patience):
        """Executes what is compiled, from where a part is on; moves the part, and returns how many steps that was."""
        common = self._ready(warp.cta)
        part.at = execute(part.at, limit, patience, part.mask, warp.rows, warp.places, warp.who, self.steps, common)
        self.look()
        return int(self._common.state[0])

    def run_parts(self, warp, patience):
        """Executes what is compiled of all parts of a warp, also where they part, meet and end; moves them, and returns how
        many steps that was."""
        self._take(warp)
        execute_parts(warp.warp_index, patience, PATIENCE, warp.cta.held, self.steps, self._ready(warp.cta))
        self.give(warp)
        self.look()
        return int(self._common.state[0])

    def is_compiled(self, at):
        """Whether a step may be executed here."""
        return self._compiled[at]

    @cached_property
    def _compiled(self):
        return (self.steps.kinds != SPECIAL).tolist()

    def run_all(self, turns, turn):
        """Executes what is compiled of all warps of a CTA that have not ended, each for `turn` steps at a time."""
        cta = turns[0].warp.cta
        held = cta.held
        held.parts[:] = 0
        for each in turns:
            self._take(each.warp)
            held.left[each.warp.warp_index] = min(each.left, ROUNDS * turn)
        before, does = held.left.copy(), FULL
        while does == FULL:
            does = execute_cta(turn, PATIENCE, held, self.steps, self._ready(cta))
        ran = (before - held.left).tolist()
        for each in turns:
            self.give(each.warp)
            each.has_run(ran[each.warp.warp_index])
        self.look()

    def _take(self, warp):
        """The parts of a warp become those of its CTA's Held."""
        w, held = warp.warp_index, warp.cta.held
        held.parts[w], held.begun[w] = len(warp.parts), warp.steps_run
        for i, part in enumerate(warp.parts):
            held.at[w, i], held.masks[w, i], held.ran[w, i] = part.at, part.mask, part.ran

    def give(self, warp):
        """The other way round."""
        w, held = warp.warp_index, warp.cta.held
        n, warp.steps_run = int(held.parts[w]), int(held.begun[w])
        warp.set_parts(held.at[w, :n].tolist(), held.masks[w, :n] != 0, held.ran[w, :n].tolist())

    def is_barrier(self, at):
        """Whether a step is a barrier that `run_all` opens."""
        return self.steps.kinds[at] == BARRIER

    def look(self):
        """At what the loop says of what it did."""
        state = self._common.state
        if state[1]:
            self._launch.changes, state[1] = self._launch.changes + 1, 0
        if state[2]:
            raise Doubt("an access that may be part of a race")

    def _ready(self, cta):
        """As `ready`, for a CTA."""
        doubts = self._launch.doubts
        return self.ready(None if doubts is None else doubts.shared_of(cta))

    def ready(self, shared):
        """The Common, in which an access can be noted, and all arrays are known. shared: who wrote and who read shared
        memory, None where nobody looks."""
        if self._common.log_used[0] == NOTED:
            self.flush()
        if self._known != self._space.count:
            self._find_arrays()
        if shared is not None and shared[0] is not self._common.shared_wrote:
            doubts, (wrote, read) = self._launch.doubts, shared
            self._common = self._common._replace(shared_wrote=wrote, shared_read=read, global_wrote=doubts.wrote,
                                                 global_read=doubts.read)
        return self._common

    def flush(self):
        """Gives the recorder what has been noted."""
        _, _, _, at, lanes, addresses, used, *_ = self._common
        n, used[0] = int(used[0]), 0
        count_sectors(at, lanes, addresses, n, self.steps.global_bytes, self._counts)
        for step in np.unique(at[:n][self.steps.beside[at[:n]]]).tolist():
            these = np.flatnonzero(at[:n] == step)
            self._touched[step] += count_touched(addresses[these], lanes[these], self._program.steps[step].beside)
        for step in np.unique(at[:n][self.steps.shared[at[:n]]]).tolist():
            these = np.flatnonzero(at[:n] == step)
            active = (lanes[these, None] >> _BITS & 1).astype(bool)
            self._tell(self._program.steps[step], addresses[these], active)

    def end(self):
        """Gives the recorder the rest; what it notes on is for another launch."""
        self.flush()
        self._launch.recorder.sectors_later(partial(_counted, self._program.steps, self.steps.global_bytes, self._counts,
                                                    self._touched))
        _spare.append(self._common[_LOG])

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
        self._common = self._common._replace(ranges=np.column_stack([ranges, np.cumsum(aligned) - aligned]))


def _counted(steps, nbytes, counts, touched):
    """The sectors of global memory that steps of a program asked for: as `Recorder.sectors_later` takes them."""
    for at in np.flatnonzero(counts[:, 0]).tolist():
        what = "st" if steps[at].memory.store else "ld"
        name = f"{what}.global.b{8 * nbytes[at]}"
        yield (name, steps[at].counted_at, int(nbytes[at]), steps[at].beside), counts[at].tolist(), touched[at].tolist()
