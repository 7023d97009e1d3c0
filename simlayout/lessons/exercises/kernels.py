"""Lesson 7: formulas and kernels."""

import numpy as np

from simlayout.algebra import Layout, Swizzle
from simlayout.errors import HazardError
from simlayout.lessons.exercises.asking import Exercise, Refused
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
        raise Refused(f"a function of (row, col) or a text is asked for, not {answer!r}")
    assert_equivalent(TILE, function, {"row": 16, "col": 64}, dtype="f16")


def judge_store(answer):
    """7.2: the lanes of the store that meets the load."""
    if not callable(answer):
        raise Refused(f"a function (tid, i) -> (row, col) is asked for, not {answer!r}")
    store = Access("store", "st.shared.b128", TILE, answer, {"tid": 32, "i": 4}, "f16", excess=None)
    verify(store)
    verify(LOAD, stored_by=[store])
    assert_conflict_free(store)


def judge_kernel(answer):
    """7.3: a kernel that transposes through shared memory."""
    from simlayout import machine

    if not callable(answer):
        raise Refused(f"a kernel, a function of (a, c), is asked for, not {answer!r}")
    a = np.random.default_rng(7).standard_normal((32, 32)).astype(np.float32)
    c = np.full_like(a, np.nan)
    try:
        trace = machine.run(answer, 1, THREADS, a, c, shared_bytes=SHARED_BYTES)
    except HazardError as error:
        raise Refused(f"not defined on a GPU: {error}") from None
    wrong = ~(c == a.T)
    if wrong.any():
        row, col = (int(i) for i in np.argwhere(wrong)[0])
        raise Refused(f"c[{row}, {col}] is {c[row, col]}, and a[{col}, {row}] is {a[col, row]}: this is no transposition")
    shared = trace.total()
    if not shared.instructions:
        raise Refused("the kernel does not use shared memory")
    worst = max(trace.lines, key=lambda one: one.excess)
    if worst.excess:
        raise Refused(f"line {worst.line}: {worst.instruction} takes {worst.wavefronts} wavefronts for {worst.instructions} "
                      f"instructions, {worst.ideal} without conflicts: let rows begin in other banks")
    return f"{shared.wavefronts} wavefronts for {shared.instructions} instructions"


EXERCISES = {
    "7.1": Exercise("Sw<3,3,3> o (16,64):(64,1) as a function of (row, col), or a text", judge_formula),
    "7.2": Exercise("a function (tid, i) -> (row, col), where each thread stores 8 halves in trip i of 4", judge_store),
    "7.3": Exercise("a kernel (a, c) that transposes 32x32 floats with 64 threads", judge_kernel),
}
