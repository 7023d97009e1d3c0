"""What `enter.enter` does, compiled into it; imported once it is compiled."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.grid import execute_grid
from simlayout.machine.ptx.compiled.pointers import behind, i64s, u64s
from simlayout.machine.ptx.compiled.together import execute, execute_cta, execute_parts
from simlayout.machine.ptx.memory.held import ALL_PARTS, MASKS, WHOLE_CTA, WHOLE_GRID


def entered(what, who, asked, start, held, steps, common):
    """As `enter.enter`."""
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
