"""A grid whose CTAs the compiled loop executes one after the other, each from its start on."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.pointers import behind, copy, fill, i64s, u8s, u64s
from simlayout.machine.ptx.compiled.registers import registers_of
from simlayout.machine.ptx.compiled.together import execute_cta
from simlayout.machine.ptx.memory.held import (
    ARRIVED,
    AT,
    BEGINS,
    BEGUN,
    CELLS,
    CTA,
    ENDED,
    ENOUGH,
    FIRST_LOCAL,
    FIRST_MASKS,
    FIRST_SHARED,
    FRESH,
    FRESH_ROWS,
    GRID,
    HAS_BEGUN,
    INDICES,
    INTERVAL,
    LEFT,
    LOCAL_BYTES,
    LOCAL_MEMORY,
    LOCAL_WRITTEN,
    MASKS,
    NEXT_CTA,
    NUMBERED,
    OF_ENDED,
    PARTED,
    PARTS,
    RAN,
    SHARED_BYTES,
    SHARED_MEMORY,
    SHARED_READ,
    SHARED_UPDATED,
    SHARED_WROTE,
    SYNCED,
    WARPS,
    WHO,
    WHO_EACH,
)

U64 = np.uint64

MOST_AT_ONCE = 1 << 20
"""Steps of all warps after which somebody looks whether to go on: some hundredths of a second."""

BEGINNING = 256
"""Steps that take as long as the beginning of a warp, with room to spare."""


@within
def execute_grid(where, turn, longest, start, held, steps, common):
    """Executes CTAs from the one on that `where` says (see `held`); returns ENDED when all have ended, and else why not,
    with `where` as it is then: ENOUGH, when CTAs that have ended had MOST_AT_ONCE steps together, or a warp has executed all
    that it may, or what `execute_cta` says. start: the numbers of a Start; the rest is as of `execute_cta`."""
    size, begun, warps = i64s(start[GRID]), i64s(held[BEGUN]), held[WARPS]
    count = size[0] * size[1] * size[2]
    while where[NEXT_CTA] < count:
        if not where[HAS_BEGUN]:
            if where[OF_ENDED] > MOST_AT_ONCE:
                return ENOUGH
            _begin(where[NEXT_CTA], start, held, steps, common)
        where[HAS_BEGUN] = 1
        does = execute_cta(turn, longest, held, steps, common)
        if does != ENDED:
            return does
        for w in range(warps):
            where[OF_ENDED] += begun[w] + BEGINNING
        where[NEXT_CTA], where[HAS_BEGUN] = where[NEXT_CTA] + 1, 0
    return ENDED


@within
def _begin(number, start, held, steps, common):
    """A CTA is as at its start."""
    fresh, indices = i64s(start[FRESH]), i64s(start[INDICES])
    for w in range(held[WARPS]):
        rows = registers_of(w, held, steps)
        for k in range(start[FRESH_ROWS]):
            row = behind(rows, LANES * fresh[k])
            for i in range(LANES):
                row[i] = U64(0)
        for k in range(start[NUMBERED]):
            index = U64(_index(number, i64s(start[GRID]), indices[2 * k + 1]))
            row = behind(rows, LANES * indices[2 * k])
            for i in range(LANES):
                row[i] = index
        copy(behind(u64s(held[MASKS]), LANES * LANES * w), behind(u64s(start[FIRST_MASKS]), LANES * w), LANES)
        who = behind(i64s(held[WHO]), WHO_EACH * w)
        if who[CTA]:
            who[CTA], who[INTERVAL], who[ARRIVED], who[SYNCED], who[PARTED] = number + 1, 1, 0, 0, 0
        i64s(held[AT])[LANES * w], i64s(held[RAN])[LANES * w], i64s(held[PARTS])[w] = i64s(start[BEGINS])[0], 0, 1
        i64s(held[BEGUN])[w], i64s(held[LEFT])[w] = 0, i64s(start[BEGINS])[1]
    copy(u8s(start[SHARED_MEMORY]), u8s(start[FIRST_SHARED]), start[SHARED_BYTES])
    copy(u8s(start[LOCAL_MEMORY]), u8s(start[FIRST_LOCAL]), start[LOCAL_BYTES])
    fill(u8s(start[LOCAL_WRITTEN]), 0, start[LOCAL_BYTES])
    fill(u8s(common[SHARED_WROTE]), 0, 8 * common[CELLS])
    fill(u8s(common[SHARED_READ]), 0, 8 * common[CELLS])
    if common[SHARED_UPDATED]:
        fill(u8s(common[SHARED_UPDATED]), 0, 8 * common[CELLS])


@within
def _index(number, size, axis):
    """Where along an axis of a grid a CTA is."""
    rest, x, y = number // size[0], size[0], size[1]
    return number % x if axis == 0 else rest % y if axis == 1 else rest // y
