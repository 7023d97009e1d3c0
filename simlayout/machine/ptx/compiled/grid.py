"""A grid whose CTAs the compiled loop executes one after the other, each from its start on."""

from typing import NamedTuple

import numpy as np

from simlayout.jit import jit
from simlayout.machine.engine.memory import POISON
from simlayout.machine.ptx.compiled.rows import LANES
from simlayout.machine.ptx.compiled.together import ENDED, ENOUGH, execute_cta
from simlayout.machine.ptx.doubts import ARRIVED, CTA, INTERVAL

MOST_AT_ONCE = 1 << 20
"""Steps of all warps after which somebody looks whether to go on: some hundredths of a second."""

BEGINNING = 256
"""Steps that take as long as the beginning of a warp, with room to spare."""


class Start(NamedTuple):
    """How a CTA begins.

    size: int64 [3], the grid along x, y and z; rows: uint64 [warps, n, 32], registers of its first CTA; indices: int64
    [m, 2], the rows that have the CTA's index, and along which axis; masks: uint64 [warps, 32], the lanes that there are;
    at: int64 [2], the first step, and how many steps a warp may execute. shared_first: uint8, shared memory at the start;
    shared: uint8, local: uint8 [warps, 32, bytes], the memory itself; written: the same, what of local memory has been
    written.
    """

    size: np.ndarray
    rows: np.ndarray
    indices: np.ndarray
    masks: np.ndarray
    at: np.ndarray
    shared_first: np.ndarray
    shared: np.ndarray
    local: np.ndarray
    written: np.ndarray


@jit
def execute_grid(where, turn, longest, start, held, steps, common):
    """Executes CTAs from number where[0] on, which has begun if where[1] is not 0; returns ENDED when all have ended, and
    else why not, with where[0] the CTA that is next: ENOUGH, when it has not begun or a warp of it has executed all that it
    may, or what `execute_cta` says. where[2] grows by the steps of CTAs that have ended, up to MOST_AT_ONCE. start: a Start;
    the rest is as of `execute_cta`."""
    count = start.size[0] * start.size[1] * start.size[2]
    while where[0] < count:
        if not where[1]:
            if where[2] > MOST_AT_ONCE:
                return ENOUGH
            _begin(where[0], start, held, common)
        where[1] = 1
        does = execute_cta(turn, longest, held, steps, common)
        if does != ENDED:
            return does
        where[2] += held.begun.sum() + BEGINNING * len(held.begun)
        where[0], where[1] = where[0] + 1, 0
    return ENDED


@jit
def _begin(number, start, held, common):
    """A CTA is as at its start."""
    held.rows[:] = start.rows
    rest, x, y = number // start.size[0], start.size[0], start.size[1]
    index = number % x, rest % y, rest // y
    for k in range(len(start.indices)):
        for w in range(len(held.rows)):
            for i in range(LANES):
                held.rows[w, start.indices[k, 0], i] = np.uint64(index[start.indices[k, 1]])
    for w in range(len(held.rows)):
        held.masks[w, 0] = start.masks[w]
        if held.who[w, CTA]:
            held.who[w, CTA], held.who[w, INTERVAL], held.who[w, ARRIVED] = number + 1, 1, 0
    held.at[:, 0], held.ran[:, 0], held.parts[:] = start.at[0], 0, 1
    held.begun[:], held.left[:] = 0, start.at[1]
    start.shared[:], start.local[:], start.written[:] = start.shared_first, POISON, 0
    common.shared_wrote[:], common.shared_read[:] = 0, 0
