"""Grids of which the compiled loop executes whole CTAs, and leaves the others to Python in the state in which they are."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.compiled.encode import encoded
from simlayout.machine.ptx.compiled.fresh import read_first
from simlayout.machine.ptx.memory.held import (
    CELL,
    CTA,
    FIRST,
    FULL,
    HAS_BEGUN,
    INTERVAL,
    NEXT_CTA,
    PARAMETERS_AT,
    SYNCED,
    WHOLE_GRID,
    WROTE,
    Held,
    Start,
    address_of,
    held_of,
    numbers,
)
from simlayout.machine.ptx.warps.parts import PATIENCE
from simlayout.machine.ptx.warps.turns import IDLE, LONG, TURN

_INDICES = {f"%{what}.{axis}": i for what in ("ctaid", "clusterid") for i, axis in enumerate("xyz")}
"""Special registers that differ between the CTAs of a grid, each a cluster by itself: along which axis."""


def started(warps) -> tuple[Start, np.ndarray, Held]:
    """How CTAs of a grid begin, the numbers of that, and arrays for one of them at a time. warps: of its first CTA, which
    has not begun."""
    cta, program = warps[0].cta, warps[0].program
    local = np.empty((len(warps), *warps[0].local.shape), np.uint8)
    indices = [(row, _INDICES[name]) for row, name in program.specials.items() if name in _INDICES]
    known = read_first(encoded(program, False).table, program.start)
    fresh = sorted({*(range(program.rows) if known is None else known)} - {*program.constants, *program.specials})
    start = Start(np.array(cta.grid, np.int64), np.array(fresh, np.int64), np.array(indices, np.int64).reshape(-1, 2),
                  np.array([part.mask for warp in warps for part in warp.parts]), np.array([program.start, 0]),
                  cta.shared.bytes.copy(), np.empty_like(cta.shared.bytes), local, np.empty_like(local),
                  np.array([warp.local for warp in warps]), len(fresh), len(indices), cta.shared.size, local.size)
    held = held_of(len(warps), program.constant_rows)
    held.rows[:] = cta.held.rows
    for w in range(len(warps)):
        held.places[w] = (address_of(start.shared), start.shared.size, address_of(local[w]), local.shape[2], 0, 0)
    return start, numbers(start), held


class Whole:
    """The CTAs of a launch. loop: its Loop; start, its numbers, held: as `started` gives them; limit: most instructions of a
    warp."""

    def __init__(self, loop, program, launch, start: Start, numbers: np.ndarray, held: Held, limit: int):
        self._loop, self._launch, self._start, self._numbers, self._held = loop, launch, start, numbers, held
        self._asked = np.array([LONG if held.warps == 1 else TURN, PATIENCE, 0, 0, 0])
        self._where = self._asked[2:]
        start.at[1] = min(limit, IDLE)
        held.places[:, PARAMETERS_AT:] = address_of(program.parameters), program.parameters.size
        held.who[:] = 0
        if launch.doubts is not None:
            held.who[:, CELL] = launch.doubts.cell
            held.who[:, WROTE] = [address_of(written) if written.size else 0 for written in start.written]
            held.who[:, CTA], held.who[:, FIRST] = 1, LANES * np.arange(len(held.who))

    @property
    def begun(self) -> bool:
        """Whether it has left a CTA to Python that is begun."""
        return bool(self._where[HAS_BEGUN])

    def run(self, first: int) -> int:
        """Executes CTAs from number `first` on, for a while; returns the number of the next one."""
        self._where[:] = first, 0, 0
        does, doubts = FULL, self._launch.doubts
        while does == FULL:
            shared = None if doubts is None else doubts.shared_tables(self._start.shared.size)
            does = self._loop.enter(WHOLE_GRID, 0, self._asked, self._held, shared, self._numbers)
        return int(self._where[NEXT_CTA])

    def hand_over(self, turn) -> None:
        """A warp, by its PtxTurns, goes on where it was left."""
        warp, held, start = turn.warp, self._held, self._start
        cta, w = warp.cta, warp.warp_index
        if not w:
            cta.shared.bytes[:] = start.shared
            if self._launch.doubts is not None:
                self._launch.doubts.is_of(cta)
        for mine, other in ((cta.held.rows, held.rows), (cta.held.parts, held.parts), (cta.held.at, held.at),
                            (cta.held.masks, held.masks), (cta.held.ran, held.ran), (cta.held.begun, held.begun)):
            mine[w] = other[w]
        warp.local[:] = start.local[w]
        if warp.local_written is not None:
            warp.local_written[:] = start.written[w]
        warp.who[[INTERVAL, SYNCED]] = held.who[w, [INTERVAL, SYNCED]]
        self._loop.give(warp)
        turn.has_run(warp.steps_run)
