"""Which registers of a program have to be zero when a CTA begins: those that it may read before it has written them."""

import numpy as np

from simlayout.machine.ptx.compiled.encode import (
    BARRIER,
    BRANCH,
    COMPUTE,
    ELEMENTS,
    EXIT,
    GUARD,
    JOIN,
    KIND,
    LOAD,
    MOVE,
    RESULT,
    SECOND,
    SPLIT,
    STORE,
    TARGET,
    A,
    D,
)

MOST = 4096
"""Steps of a program that is looked at."""

_SEEN = {MOVE, COMPUTE, BRANCH, LOAD, STORE, JOIN, SPLIT, BARRIER, EXIT}
"""Kinds of steps of which the table tells all that they read and write."""


def read_first(table: np.ndarray, start: int) -> list[int] | None:
    """The rows that a lane may read before it has written them, from step `start` on; None where that is not looked at: for
    a long program, or one with other steps than plain ones. table: of an Encoded."""
    steps = table[:-1].tolist()
    if len(steps) > MOST or any(step[KIND] not in _SEEN for step in steps):
        return None
    needs, sets = zip(*map(_rows_of, steps))
    live, changed = [0] * (len(steps) + 1), True         # a bit for each row, before each step
    while changed:
        changed = False
        for at in range(len(steps) - 1, -1, -1):
            kind, goes_on = steps[at][KIND], steps[at][GUARD] >= 0
            after = live[steps[at][TARGET]] if kind == BRANCH else 0
            if goes_on or kind not in (BRANCH, EXIT):
                after |= live[at + 1]
            now = needs[at] | after & ~sets[at]
            changed |= now != live[at]
            live[at] = now
    return [row for row in range(live[start].bit_length()) if live[start] >> row & 1]


def _rows_of(step):
    """(the rows that it reads, those that it surely writes), as bits."""
    kind, elements = step[KIND], step[ELEMENTS:]
    reads, writes = [step[GUARD]], []
    if kind not in (BRANCH, BARRIER, EXIT):
        reads += step[A:D + 1]
        writes += elements if kind == LOAD else step[RESULT:SECOND + 1]
        reads += elements if kind == STORE else ()
    return _bits(reads), 0 if step[GUARD] >= 0 else _bits(writes)


def _bits(rows):
    bits = 0
    for row in rows:
        bits |= 1 << row if row >= 0 else 0
    return bits
