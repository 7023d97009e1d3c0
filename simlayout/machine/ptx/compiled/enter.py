"""Where the compiled loop is entered. Whatever calls a function is optimised with all of it once more, layer by layer: so
the loop itself is apart, and called by its address, which took 85 s to compile where one function had taken 131 (of a CPU's
time, numba 0.68)."""

from functools import cache

from numba import types
from numba.extending import overload

from simlayout.jit import address_in_process, jit


@jit
def enter(what, who, asked, start, held, steps, common):
    """Executes a part of warp `who`, whose lanes are its first mask in `held` (asked: the step, a place in the order and
    most steps, as of `executor.execute`, whose result this is); or all of its parts (asked: most steps, patience, as of
    `together.execute_parts`); or all warps of a CTA (asked: a turn, patience, as of `execute_cta`, whose result this is), or
    of a grid (asked: the same, and behind that `where` of `grid.execute_grid`, whose result this is).

    asked: int64 [5], which may change; start, held, steps, common: int64, as `held.numbers` makes them of a Start, a Held
    and an Encoded, and what a Log has of a launch, with the `address_of_loop`.
    """
    return _entered(what, who, asked, start, held, steps, common)


@jit
def execute(w, at, limit, patience, mask, held, steps, common):
    """As `executor.execute`."""
    return _executed(w, at, limit, patience, mask, held, steps, common)


@cache
def address_of_loop() -> int:
    """Where in this process `execute` is, compiled."""
    return address_in_process(execute, (types.int64,) * 8)


def _entered(what, who, asked, start, held, steps, common):
    raise NotImplementedError("compiled code alone calls it")


def _executed(w, at, limit, patience, mask, held, steps, common):
    raise NotImplementedError("compiled code alone calls it")


@overload(_entered, jit_options={"error_model": "numpy"})
def _of_inside(what, who, asked, start, held, steps, common):
    from simlayout.machine.ptx.compiled.inside import entered

    return entered


@overload(_executed, jit_options={"error_model": "numpy"})
def _of_executor(w, at, limit, patience, mask, held, steps, common):
    from simlayout.machine.ptx.compiled.executor import execute

    return execute
