"""Lesson 7: formulas and kernels."""

import numpy as np

from simlayout import plots
from simlayout.algebra import Layout, Swizzle
from simlayout.lessons.exercises.answers import Exercise, Refused, Right, drawn_load, judge_transposition
from simlayout.lessons.exercises.said import Said
from simlayout.proofs import Access, verify
from simlayout.testing import assert_conflict_free, assert_equivalent

TILE = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))
LOAD = Access("load", "ldmatrix.x4", TILE, lambda tid, k: (tid % 16, 16 * k + 8 * (tid // 16)), {"tid": 32, "k": 4}, "f16")
THREADS, SHARED_BYTES = 64, 4608


def judge_formula(answer):
    """7.1: the swizzled tile as a formula."""
    from simlayout.codegen import formula

    function = formula(answer) if isinstance(answer, str) else answer
    if not callable(function):
        raise Refused("a function of (row, col) or a text is asked for, not {}", repr(answer))
    assert_equivalent(TILE, function, {"row": 16, "col": 64}, dtype="f16")
    return Right(draw=lambda: plots.layout(TILE))


def judge_store(answer):
    """7.2: the lanes of the store that meets the load."""
    if not callable(answer):
        raise Refused("a function (tid, i) -> (row, col) is asked for, not {}", repr(answer))
    store = Access("store", "st.shared.b128", TILE, answer, {"tid": 32, "i": 4}, "f16", excess=None)
    verify(store)
    verify(LOAD, stored_by=[store])
    assert_conflict_free(store)
    return Right(draw=store.plot)


def judge_kernel(answer):
    """7.3: a kernel that transposes through shared memory."""
    if not callable(answer):
        raise Refused("a kernel, a function of (a, c), is asked for, not {}", repr(answer))
    trace = judge_transposition(lambda: _run(answer), Said("this is no transposition"),
                                Said("let rows begin in other banks"))
    shared = trace.total()
    return Right(Said("{} wavefronts for {} instructions", shared.wavefronts, shared.instructions), drawn_load(trace))


def _run(kernel):
    """(Trace, c, a) of a kernel of 7.3."""
    from simlayout import machine

    a = np.random.default_rng(7).standard_normal((32, 32)).astype(np.float32)
    c = np.full_like(a, np.nan)
    return machine.run(kernel, 1, THREADS, a, c, shared_bytes=SHARED_BYTES), c, a


EXERCISES = {
    "7.1": Exercise(Said("Sw<3,3,3> o (16,64):(64,1) as a function of (row, col), or a text"), judge_formula),
    "7.2": Exercise(Said("a function (tid, i) -> (row, col), where each thread stores 8 halves in trip i of 4"),
                    judge_store),
    "7.3": Exercise(Said("a kernel (a, c) that transposes 32x32 floats with 64 threads"), judge_kernel),
}
