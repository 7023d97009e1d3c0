"""The compiled loop of a launch: its arrays, and the accesses of shared and global memory that it has noted."""

from functools import cached_property, partial

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.compiled.encode import BARRIER, KIND, SPECIAL, encoded
from simlayout.machine.ptx.compiled.enter import address_of_loop, enter
from simlayout.machine.ptx.compiled.noted import count_sectors, count_touched
from simlayout.machine.ptx.looks.doubts import TRIED, Doubt
from simlayout.machine.ptx.memory.held import (
    ALL_PARTS,
    ARRAYS,
    DONE,
    EXECUTED,
    FULL,
    MAY_TELL,
    ONE_PART,
    ORDERED,
    RANGES,
    SHARED_WROTE,
    STORED,
    WHOLE_CTA,
    Log,
    address_of,
    numbers,
)
from simlayout.machine.ptx.memory.space import SHARED, WINDOW
from simlayout.machine.ptx.warps.parts import PATIENCE

NOTED = 4096
"""Accesses that are noted before the recorder takes them: a megabyte of addresses."""

ROUNDS = 4096
"""Turns that all warps of a CTA take before somebody looks whether they should."""

_BITS = np.arange(LANES, dtype=np.uint32)

_spare: list[Log] = []                                   # of launches that are over
_NOTHING = np.zeros(0, np.int64)


class Loop:
    """Executes parts of the warps of a launch. steps: its Encoded."""

    def __init__(self, program, launch, space):
        self._program, self._launch, self._space = program, launch, space
        self.steps = encoded(program, launch.shadowed or launch.watch is not None, launch.clocked)
        self._log = _spare.pop() if _spare else Log(NOTED, address_of_loop())
        self._common, self._state, self._tables = self._log.common, self._log.state, None
        self._common[EXECUTED], self._common[ARRAYS] = address_of(program.executed), 0
        self._common[SHARED_WROTE:] = 0
        self._state[:] = 0
        self._ranges, self._known = None, -1
        self._counts = np.zeros((len(self.steps.shared), 5), np.int64)
        self._touched = np.zeros((len(self.steps.shared) if self.steps.counts_beside else 0, 2), np.int64)

    def enter(self, what, who, asked, held, shared, start=_NOTHING):
        """What `enter.enter` returns, after a look at what it says of what it did. held: a Held; start: of a Start;
        shared: who wrote and who read shared memory, None where nobody looks."""
        self._ready(shared)
        does = enter(what, who, asked, start, held.numbers, self.steps.numbers, self._common)
        if self._state[STORED]:
            self._launch.changes, self._state[STORED] = self._launch.changes + 1, 0
        if self._state[MAY_TELL]:
            raise Doubt("an access that may be part of a race")
        return does

    def run(self, warp, part, limit, patience):
        """Executes what is compiled, from where a part is on; moves the part, and returns how many steps that was."""
        w, held = warp.warp_index, warp.cta.held
        held.masks[w, 0] = part.mask
        part.at = self._enter_cta(ONE_PART, w, (part.at, limit, patience), warp.cta)
        return int(self._state[DONE])

    def run_parts(self, warp, patience):
        """Executes what is compiled of all parts of a warp, also where they part, meet and end; moves them, and returns how
        many steps that was."""
        self._take(warp)
        self._enter_cta(ALL_PARTS, warp.warp_index, (patience, PATIENCE), warp.cta)
        self.give(warp)
        return int(self._state[DONE])

    def _enter_cta(self, what, who, asked, cta):
        doubts = self._launch.doubts
        shared = None if doubts is None else doubts.shared_of(cta)
        if doubts is not None and doubts.clocked:
            self._common[ORDERED] = cta.shadow.ready()
        return self.enter(what, who, np.array(asked, np.int64), cta.held, shared)

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
            held.left[each.warp.warp_index] = min(each.left, ROUNDS * turn, TRIED)
        before, does = held.left.copy(), FULL
        while does == FULL:
            does = self._enter_cta(WHOLE_CTA, 0, (turn, PATIENCE), cta)
        ran = (before - held.left).tolist()
        for each in turns:
            self.give(each.warp)
            each.has_run(ran[each.warp.warp_index])

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
        return self.steps.table[at, KIND] == BARRIER

    def _ready(self, shared):
        """An access can be noted, and all arrays are known."""
        if self._log.used[0] == NOTED:
            self.flush()
        if self._known != self._space.count:
            self._find_arrays()
        if shared is not None and shared is not self._tables:
            doubts, self._tables = self._launch.doubts, shared
            here, everywhere = ([address_of(table) if table.size else 0 for table in tables]
                                for tables in (shared, doubts.everywhere))
            doubted, unwritten = 0 if doubts.doubted is None else doubts.doubted, doubts.unwritten
            noted = (0, 0, 0) if unwritten is None else (unwritten.times, unwritten.order, unwritten.count)
            self._common[SHARED_WROTE:ORDERED] = numbers((*here, len(shared[0]), *everywhere, doubts.equal, doubted, *noted))

    def flush(self):
        """Gives the recorder what has been noted."""
        log, steps = self._log, self.steps
        n, log.used[0] = int(log.used[0]), 0
        at = log.step[:n]
        count_sectors(at, log.lanes, log.addresses, n, steps.global_bytes, steps.taken, self._counts)
        for step in np.unique(at[steps.beside[at]]).tolist() if steps.counts_beside else ():
            these = np.flatnonzero(at == step)
            self._touched[step] += count_touched(log.addresses[these], log.lanes[these], self._program.steps[step].beside)
        for step in np.unique(at[steps.shared[at]]).tolist() if steps.counts_shared else ():
            these = np.flatnonzero(at == step)
            active = (log.lanes[these, None] >> _BITS & 1).astype(bool)
            self._tell(self._program.steps[step], log.addresses[these], active)

    def end(self):
        """Gives the recorder the rest; what it notes on is for another launch."""
        self.flush()
        self._launch.recorder.sectors_later(partial(_counted, self._program.steps, self.steps.global_bytes, self._counts,
                                                    self._touched))
        _spare.append(self._log)

    def _tell(self, step, addresses, active):
        """Gives the recorder accesses of shared memory of one step: int64 [n, 32], bool [n, 32]."""
        recorder = self._launch.recorder
        if step.memory is not None and not step.memory.space:                   # generic: some may be of shared memory
            addresses = np.where(active, addresses - SHARED, 0)
            here = (addresses >= 0).all(axis=1) & (addresses < WINDOW).all(axis=1)
            addresses, active = addresses[here], active[here]
            if not here.any():
                return
        name = (step.memory or step.matrices).name
        if step.joined is None:
            recorder.add_all(name, step.counted_at, addresses, active)
        for joined in step.joined or ():
            recorder.add_all(joined.name(name), step.counted_at, addresses + joined.shift, active)

    def _find_arrays(self):
        if self._launch.doubts is not None:
            self._launch.doubts.check_arrays()
        self._known, self._ranges = self._space.count, self._space.ranges()
        self._common[RANGES], self._common[ARRAYS] = address_of(self._ranges), len(self._ranges)


def _counted(steps, nbytes, counts, touched):
    """The sectors of global memory that steps of a program asked for: as `Recorder.sectors_later` takes them."""
    for at in np.flatnonzero(counts[:, 0]).tolist():
        what = "st" if steps[at].memory.store else "ld"
        name = f"{what}.global.b{8 * nbytes[at]}"
        pieces = touched[at].tolist() if len(touched) else (0, 0)
        yield (name, steps[at].counted_at, int(nbytes[at]), steps[at].beside), counts[at].tolist(), pieces
