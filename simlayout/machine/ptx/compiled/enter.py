"""Where Python enters the compiled loop: one function for all that it executes, because each would hold all of the loop."""

from numba.extending import overload

from simlayout.jit import jit


@jit
def enter(what, who, asked, start, held, steps, common):
    """Executes a part of warp `who`, whose lanes are its first mask in `held` (asked: the step, a place in the order and
    most steps, as of `executor.execute`, whose result this is); or all of its parts (asked: most steps, patience, as of
    `together.execute_parts`); or all warps of a CTA (asked: a turn, patience, as of `execute_cta`, whose result this is), or
    of a grid (asked: the same, and behind that `where` of `grid.execute_grid`, whose result this is).

    asked: int64 [5], which may change; start, held, steps, common: int64, as `held.numbers` makes them of a Start, a Held
    and an Encoded, and what a Log has of a launch.
    """
    return _entered(what, who, asked, start, held, steps, common)


def _entered(what, who, asked, start, held, steps, common):
    raise NotImplementedError("compiled code alone calls it")


@overload(_entered, jit_options={"error_model": "numpy"})
def _of_inside(what, who, asked, start, held, steps, common):
    from simlayout.machine.ptx.compiled.inside import entered

    return entered
