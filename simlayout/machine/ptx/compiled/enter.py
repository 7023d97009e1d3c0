"""Where Python enters the compiled loop: one function for all that it executes, because each would hold all of the loop."""

import numpy as np

from simlayout.jit import jit, within
from simlayout.machine.ptx.compiled.executor import execute
from simlayout.machine.ptx.compiled.grid import execute_grid
from simlayout.machine.ptx.compiled.held import MASKS
from simlayout.machine.ptx.compiled.pointers import behind, i64s, u64s
from simlayout.machine.ptx.compiled.rows import LANES
from simlayout.machine.ptx.compiled.together import execute_cta, execute_parts

WHOLE_GRID, WHOLE_CTA, ALL_PARTS, ONE_PART = range(4)
"""What is executed."""


@jit
def enter(what, who, asked, start, held, steps, common):
    """Executes a part of warp `who`, whose lanes are its first mask in `held` (asked: the step, a place in the order and most
    steps, as of `executor.execute`, whose result this is); or all of its parts (asked: most steps, patience, as of
    `together.execute_parts`); or all warps of a CTA (asked: a turn, patience, as of `execute_cta`, whose result this is), or
    of a grid (asked: the same, and behind that `where` of `grid.execute_grid`, whose result this is).

    asked: int64 [5], which may change; start, held, steps, common: int64, as `held.numbers` makes them of a Start, a Held, an
    Encoded and a Common.
    """
    given, of_start, of_held, of_steps, of_common = _at(asked), _at(start), _at(held), _at(steps), _at(common)
    if what == WHOLE_GRID:
        return execute_grid(behind(given, 2), given[0], given[1], of_start, of_held, of_steps, of_common)
    if what == WHOLE_CTA:
        return execute_cta(given[0], given[1], of_held, of_steps, of_common)
    if what == ALL_PARTS:
        execute_parts(who, given[0], given[1], of_held, of_steps, of_common)
        return 0
    mask = behind(u64s(of_held[MASKS]), LANES * LANES * who)
    return execute(who, given[0], given[1], given[2], mask, of_held, of_steps, of_common)


@within
def _at(numbers):
    return i64s(np.int64(numbers.ctypes.data))
