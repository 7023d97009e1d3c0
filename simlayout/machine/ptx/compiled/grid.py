"""A grid whose CTAs the compiled loop executes one after the other, each from its start on."""

from typing import NamedTuple

import numpy as np

from simlayout.jit import within
from simlayout.machine.engine.memory import POISON
from simlayout.machine.ptx.compiled.encode import REGISTERS
from simlayout.machine.ptx.compiled.held import (
    AT,
    BEGUN,
    CELLS,
    LEFT,
    MASKS,
    PARTS,
    RAN,
    ROWS,
    SHARED_READ,
    SHARED_WROTE,
    WARPS,
    WHO,
    WHO_EACH,
)
from simlayout.machine.ptx.compiled.pointers import behind, copy, fill, i64s, u8s, u64s
from simlayout.machine.ptx.compiled.rows import LANES
from simlayout.machine.ptx.compiled.together import ENDED, ENOUGH, execute_cta
from simlayout.machine.ptx.doubts import ARRIVED, CTA, INTERVAL
from simlayout.machine.ptx.program import ROOM

MOST_AT_ONCE = 1 << 20
"""Steps of all warps after which somebody looks whether to go on: some hundredths of a second."""

BEGINNING = 256
"""Steps that take as long as the beginning of a warp, with room to spare."""


U64 = np.uint64


class Start(NamedTuple):
    """How a CTA begins.

    size: int64 [3], the grid along x, y and z; rows: uint64 [warps, n, 32], registers of its first CTA; indices: int64
    [m, 2], the rows that have the CTA's index, and along which axis; masks: uint64 [warps, 32], the lanes that there are;
    at: int64 [2], the first step, and how many steps a warp may execute. shared_first: uint8, shared memory at the start;
    shared: uint8, local: uint8 [warps, 32, bytes], the memory itself; written: the same, what of local memory has been
    written. numbered: how many rows of indices there are; shared_bytes, local_bytes: of all of the memory.
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
    numbered: int
    shared_bytes: int
    local_bytes: int


(_SIZE, _ROWS, _INDICES, _MASKS, _AT, _SHARED_FIRST, _SHARED, _LOCAL, _WRITTEN, _NUMBERED, _SHARED_BYTES,
 _LOCAL_BYTES) = range(len(Start._fields))
"""Where `held.numbers` has them."""


@within
def execute_grid(where, turn, longest, start, held, steps, common):
    """Executes CTAs from number where[0] on, which has begun if where[1] is not 0; returns ENDED when all have ended, and
    else why not, with where[0] the CTA that is next: ENOUGH, when it has not begun or a warp of it has executed all that it
    may, or what `execute_cta` says. where[2] grows by the steps of CTAs that have ended, up to MOST_AT_ONCE. start: the
    numbers of a Start; the rest is as of `execute_cta`."""
    size, begun, warps = i64s(start[_SIZE]), i64s(held[BEGUN]), held[WARPS]
    count = size[0] * size[1] * size[2]
    while where[0] < count:
        if not where[1]:
            if where[2] > MOST_AT_ONCE:
                return ENOUGH
            _begin(where[0], start, held, steps, common)
        where[1] = 1
        does = execute_cta(turn, longest, held, steps, common)
        if does != ENDED:
            return does
        for w in range(warps):
            where[2] += begun[w] + BEGINNING
        where[0], where[1] = where[0] + 1, 0
    return ENDED


@within
def _begin(number, start, held, steps, common):
    """A CTA is as at its start."""
    warps, each, indices = held[WARPS], LANES * (steps[REGISTERS] + ROOM), i64s(start[_INDICES])
    for w in range(warps):
        rows = behind(u64s(held[ROWS]), w * each)
        copy(rows, behind(u64s(start[_ROWS]), w * each), LANES * steps[REGISTERS])
        for k in range(start[_NUMBERED]):
            index = U64(_index(number, i64s(start[_SIZE]), indices[2 * k + 1]))
            row = behind(rows, LANES * indices[2 * k])
            for i in range(LANES):
                row[i] = index
        copy(behind(u64s(held[MASKS]), LANES * LANES * w), behind(u64s(start[_MASKS]), LANES * w), LANES)
        who = behind(i64s(held[WHO]), WHO_EACH * w)
        if who[CTA]:
            who[CTA], who[INTERVAL], who[ARRIVED] = number + 1, 1, 0
        i64s(held[AT])[LANES * w], i64s(held[RAN])[LANES * w], i64s(held[PARTS])[w] = i64s(start[_AT])[0], 0, 1
        i64s(held[BEGUN])[w], i64s(held[LEFT])[w] = 0, i64s(start[_AT])[1]
    copy(u8s(start[_SHARED]), u8s(start[_SHARED_FIRST]), start[_SHARED_BYTES])
    fill(u8s(start[_LOCAL]), POISON, start[_LOCAL_BYTES])
    fill(u8s(start[_WRITTEN]), 0, start[_LOCAL_BYTES])
    fill(u8s(common[SHARED_WROTE]), 0, 4 * common[CELLS])
    fill(u8s(common[SHARED_READ]), 0, 4 * common[CELLS])


@within
def _index(number, size, axis):
    """Where along an axis of a grid a CTA is."""
    rest, x, y = number // size[0], size[0], size[1]
    return number % x if axis == 0 else rest % y if axis == 1 else rest // y
