"""Calls of functions that are known, in the compiled loop: where lanes return to, and what is passed."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.encode import RESULT, SECOND
from simlayout.machine.ptx.compiled.pointers import behind, load_8, store_8
from simlayout.machine.ptx.memory.held import LOCAL_AT, LOCAL_SIZE, WROTE

U64, I64 = np.uint64, np.int64
_COPY = 5
"""Numbers of each row of `Encoded.copies`."""


@within
def enter(rows, step, lanes, at):
    """Notes that lanes call a function; False if some are inside already. step: of the table; at: its number."""
    returns, inside = behind(rows, LANES * step[RESULT]), behind(rows, LANES * step[SECOND])
    asked = step[SECOND] >= 0
    for i in range(LANES):
        if asked and lanes[i] and inside[i]:
            return False
    for i in range(LANES):
        if lanes[i]:
            returns[i] = U64(at + 1)
            if asked:
                inside[i] = U64(1)
    return True


@within
def leave(rows, step, lanes):
    """Where lanes go on that leave a function; -1 if not all of them go to the same place."""
    returns, inside, to = behind(rows, LANES * step[RESULT]), behind(rows, LANES * step[SECOND]), I64(-1)
    for i in range(LANES):
        if lanes[i]:
            here = I64(returns[i])
            if to >= 0 and here != to:
                return I64(-1)
            to = here
    for i in range(LANES):
        if step[SECOND] >= 0 and lanes[i]:
            inside[i] = U64(0)
    return to


@within
def pass_on(rows, copies, first, last, lanes, memory, who):
    """Copies what a call passes: see `encode.Encoded`."""
    for c in range(first, last):
        one = behind(copies, _COPY * c)
        row, at, to_row, to, n = one[0], one[1], one[2], one[3], one[4]
        for i in range(LANES):
            if not lanes[i]:
                continue
            local = memory[LOCAL_AT] + i * memory[LOCAL_SIZE]
            if row >= 0 and to_row >= 0:
                rows[LANES * to_row + i] = rows[LANES * row + i]
                continue
            value = rows[LANES * row + i] if row >= 0 else U64(0)
            for b in range(n):
                if row < 0:
                    byte = load_8(local + at + b)
                    if to_row >= 0:
                        value |= byte << U64(8 * b)
                else:
                    byte = value >> U64(8 * b)
                if to_row < 0:
                    store_8(local + to + b, byte)
                    if who[WROTE]:
                        store_8(who[WROTE] + i * memory[LOCAL_SIZE] + to + b, U64(1))
            if to_row >= 0:
                rows[LANES * to_row + i] = value
