"""Which registers a lane may read before it has written them is what following every path of a program says."""

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import given
from hypothesis import strategies as st

from simlayout.machine.ptx.compiled.encode import (
    BRANCH,
    COMPUTE,
    ELEMENTS,
    EXIT,
    FIELDS,
    GUARD,
    KIND,
    LOAD,
    RESULT,
    SPECIAL,
    STORE,
    TARGET,
    A,
    D,
)
from simlayout.machine.ptx.compiled.fresh import MOST, read_first

ROWS = st.integers(0, 5)


@st.composite
def tables(draw):
    """Steps that compute, load, store, branch and end, some of them guarded, with few registers."""
    n = draw(st.integers(1, 9))
    table = np.zeros((n + 1, FIELDS), np.int64)
    table[:, [GUARD, RESULT, RESULT + 1, *range(A, D + 1), *range(ELEMENTS, FIELDS)]] = -1
    for row in table[:-1]:
        row[KIND] = draw(st.sampled_from([COMPUTE, COMPUTE, LOAD, STORE, BRANCH, EXIT]))
        row[GUARD] = draw(st.sampled_from([-1, -1, 0, 5]))
        if row[KIND] == BRANCH:
            row[TARGET] = draw(st.integers(0, n - 1))
        elif row[KIND] != EXIT:
            row[A] = draw(ROWS)
            row[RESULT if row[KIND] == COMPUTE else ELEMENTS] = draw(ROWS)
    return table


def by_every_path(table, start):
    """The same, register by register: by a walk along all paths on which nothing has written it."""
    found = []
    for register in range(6):
        todo, seen = [start], set()
        while todo:
            at = todo.pop()
            if at in seen or at == len(table) - 1:
                continue
            seen.add(at)
            step, kind, guarded = table[at], table[at, KIND], table[at, GUARD] >= 0
            reads = {step[GUARD]} | ({step[A]} if kind in (COMPUTE, LOAD, STORE) else set())
            reads |= {step[ELEMENTS]} if kind == STORE else set()
            if register in reads:
                found.append(register)
                break
            writes = step[RESULT] if kind == COMPUTE else step[ELEMENTS] if kind == LOAD else -1
            if writes == register and not guarded:
                continue
            todo += [step[TARGET]] if kind == BRANCH else []
            todo += [at + 1] if guarded or kind not in (BRANCH, EXIT) else []
    return found


@given(tables(), st.data())
def test_registers_that_may_be_read_first_are_those_that_some_path_reads_first(table, data):
    start = data.draw(st.integers(0, len(table) - 2))
    assert read_first(table, start) == by_every_path(table, start)


def test_nothing_is_said_of_long_programs_and_of_steps_that_the_table_does_not_describe():
    table = np.full((3, FIELDS), -1, np.int64)
    table[:, KIND] = COMPUTE, SPECIAL, SPECIAL
    assert read_first(table, 0) is None
    assert read_first(np.full((MOST + 2, FIELDS), COMPUTE, np.int64), 0) is None
