"""The registers of a warp in the compiled loop, rows of 32 uint64, and what else its steps work with."""

from typing import Any, NamedTuple

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.encode import (
    AS_IT_IS,
    CUT_TO_8,
    CUT_TO_16,
    CUT_TO_32,
    FROM_S8,
    FROM_S16,
    FROM_S32,
    REGISTERS,
)
from simlayout.machine.ptx.compiled.pointers import behind, u64s
from simlayout.machine.ptx.lowering.program import ROOM
from simlayout.machine.ptx.memory.held import ROWS

U64, I64 = np.uint64, np.int64
ZERO, ONES = U64(0), U64(0xFFFFFFFFFFFFFFFF)


class Warp(NamedTuple):
    """What the steps of a warp work with.

    rows: its registers; copies: as of `encode.Encoded`; memory: its `held.PLACES`; who, common, state, log_used: as of
    `held`. The rest are rows for what is needed for the time of a step: room has four of them; found, cells: where the
    addresses of an access are (see `access`); result: what is computed; others: lanes that are not those of the step.
    """

    rows: Any
    copies: Any
    memory: Any
    who: Any
    common: Any
    state: Any
    log_used: Any
    room: Any
    found: Any
    cells: Any
    result: Any
    others: Any


@within
def registers_of(w, held, steps):
    """The registers of warp `w`."""
    return u64s(registers_at(w, held, steps))


@within
def registers_at(w, held, steps):
    """Where they are in this process."""
    return held[ROWS] + 8 * w * LANES * (steps[REGISTERS] + ROOM)


@within
def row_of(warp, number):
    """A row of a Warp."""
    return behind(warp.rows, LANES * number)


@within
def read(source, how, room):
    """The row that has what a source is read as (see `encode`): the row itself, or row `room`, which then has that."""
    if how == AS_IT_IS:
        return source
    if how == FROM_S32:
        for i in range(LANES):
            room[i] = U64(I64(np.int32(source[i])))
    elif how == CUT_TO_32:
        for i in range(LANES):
            room[i] = source[i] & U64(0xFFFFFFFF)
    elif how == FROM_S8:
        for i in range(LANES):
            room[i] = U64(I64(np.int8(source[i])))
    elif how == FROM_S16:
        for i in range(LANES):
            room[i] = U64(I64(np.int16(source[i])))
    elif how == CUT_TO_8:
        for i in range(LANES):
            room[i] = source[i] & U64(0xFF)
    elif how == CUT_TO_16:
        for i in range(LANES):
            room[i] = source[i] & U64(0xFFFF)
    else:                                                # NEGATED
        for i in range(LANES):
            room[i] = source[i] ^ U64(1)
    return room


@within
def write(row, value, keep, full, lanes):
    """Writes what `keep` has of row `value` to a row, in the lanes whose entry in row `lanes` is all ones."""
    if full:
        for i in range(LANES):
            row[i] = value[i] & keep
    else:
        for i in range(LANES):
            row[i] = (value[i] & keep & lanes[i]) | (row[i] & ~lanes[i])


@within
def some(lanes):
    """Whether a lane takes part."""
    total = ZERO
    for i in range(LANES):
        total |= lanes[i]
    return total != ZERO


@within
def every(lanes):
    """Whether all do."""
    total = ONES
    for i in range(LANES):
        total &= lanes[i]
    return total == ONES
