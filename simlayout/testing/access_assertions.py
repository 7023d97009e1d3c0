"""Assertions on accesses: no bank conflicts, as many wavefronts as expected.

What fails raises CounterexampleError, an AssertionError: its text explains and draws the phase in which two lanes meet, its
`counterexample` holds the two. Arguments that make no sense raise the library's own errors, which are ValueErrors.
"""

from collections.abc import Sequence
from typing import overload

import numpy as np

from simlayout.algebra.aliases import ArrayLike, IndexFunction
from simlayout.arguments import typed
from simlayout.errors import LayoutError, SimlayoutError, brief
from simlayout.hardware import Analysis, Instruction, analyze
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.machine.engine.trace import Trace
from simlayout.plan import Plan
from simlayout.proofs import Access
from simlayout.testing.conflicts import Subject, conflict, explanation, subjects
from simlayout.testing.counterexample import refuted
from simlayout.testing.trace_assertions import Line, assert_trace_wavefronts
from simlayout.wording import counted


@typed(LayoutError, own=("subject", "arch"))
def assert_conflict_free(subject: Access | Plan | Analysis | IndexFunction, *, for_: Access | Sequence[Access] = (),
                         active: ArrayLike | None = None, arch: str | None = None) -> None:
    """No instruction of an access has two lanes that wait for each other: its wavefronts are those without any conflict.

    subject: an Access, whatever excess it declares; a Plan, for all its accesses; an Analysis; or a tile, any index
    function, with for_=[accesses] that it is to serve in the place of their own. active: as for `analyze`; arch: a
    chip, None for the one that the access is for. Of cp.async without sources the destinations count. An address that the
    instruction cannot take fails as well.

    Raises CounterexampleError with two lanes that meet in a bank, and the phase in which they do; LayoutError for what is
    none of these; what `analyze` raises for an instruction.

    >>> import simlayout as sl
    >>> tile = sl.Layout((16, 64), (64, 1))
    >>> load = sl.Access("load A", "ldmatrix.x4", tile, lambda tid: (tid % 16, 8 * (tid // 16)))
    >>> assert_conflict_free(sl.Swizzle(3, 3, 3) @ tile, for_=[load])
    >>> assert_conflict_free(sl.Swizzle(2, 3, 3) @ tile, for_=[load])
    Traceback (most recent call last):
    ...
    simlayout.testing.counterexample.CounterexampleError: access 'load A' has bank conflicts: ldmatrix.x4 takes 8 \
wavefronts, 4 without them, in 1 of 1
        instructions
    smallest counterexample, in instruction 0 of 1: two lanes want one bank, with different words
      lane 0 at tid = 0: coordinate (0, 0), offset 0, bytes 0-15, banks 0-3, words 0-3
      lane 4 at tid = 4: coordinate (4, 0), offset 256, bytes 512-527, banks 0-3, words 128-131
    ldmatrix.x4, access 0 of 1 on sm_90: 8 wavefronts, ideal 4, excess 4, conflicts 4
      matrix 0, lanes 0-7: 2 wavefronts
        banks 0-3: words 0-3 (lane 0), words 128-131 (lane 4)
        banks 4-7: words 36-39 (lane 1), words 164-167 (lane 5)
        banks 8-11: words 72-75 (lane 2), words 200-203 (lane 6)
        banks 12-15: words 108-111 (lane 3), words 236-239 (lane 7)
    bank        0        4        8       12       16       20       24       28
    w0          0        1        2        3        .        .        .        .
    w1          4        5        6        7        .        .        .        .
    what mends it: Sw<3,3,3> o (16,64):(64,1) is free of conflicts
    """
    __tracebackhide__ = True
    for one in subjects(subject, (for_,) if isinstance(for_, Access) else for_, active, arch):
        waiting = one.analysis.wavefronts > one.free
        if waiting.any():
            index = int(np.argmax(waiting))
            passes = counted(int(one.analysis.wavefronts[index]), one.analysis.arch.vendor.wavefront)
            fault = "writes its tile in parts" if one.analysis.instruction.kind == "copy" else "has bank conflicts"
            claim = (f"{one.name} {fault}: {one.analysis.instruction} takes {passes}, {int(one.free[index])} "
                     f"without them, in {int(waiting.sum())} of {waiting.size} instructions")
            raise conflict(one, index, claim)


@overload
def assert_wavefronts(subject: Access | Analysis | Instruction | str, expected: int | Sequence[int],
                      addresses: ArrayLike | None = None, *, active: ArrayLike | None = None,
                      arch: str | None = None) -> None: ...


@overload
def assert_wavefronts(subject: Trace, expected: Line, *, at_most: int) -> None: ...


def assert_wavefronts(subject: Access | Analysis | Instruction | str | Trace, expected: int | str | Sequence[int],
                      addresses: ArrayLike | None = None, *, active: ArrayLike | None = None,
                      arch: str | None = None, at_most: int | None = None) -> None:
    """An access takes exactly the wavefronts expected; `assert_wavefronts(trace, line, at_most=n)`: a line of a Trace takes
    at most n.

    subject: an Access or an Analysis; or an instruction, with addresses, bytes, int [n, 32] or [32]. expected: an int, the
    total over all instructions, or one int for each of them. active, arch: as for `assert_conflict_free`. Of a Trace,
    expected is the line: its number, "file.py:12", or a text that it contains; if it chooses several lines, their sum
    counts.

    Raises CounterexampleError with the first instruction that differs, explained, and two lanes that meet where it takes
    more than expected; of a Trace AssertionError with the listing of the line, and what would mend it; SimlayoutError for
    arguments that do not fit together, or a line that is not there; what `analyze` raises.

    >>> assert_wavefronts("ld.shared.b32", 2, [8 * lane for lane in range(32)])
    >>> assert_wavefronts("ld.shared.b32", [1], [8 * lane for lane in range(32)])    # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    simlayout.testing.counterexample.CounterexampleError: ld.shared.b32 takes 2 wavefronts where 1 is expected
    smallest counterexample, in instruction 0 of 1: two lanes want one bank, with different words
      lane 0: bytes 0-3, bank 0, word 0
      lane 16: bytes 128-131, bank 0, word 32
    ld.shared.b32, access 0 of 1 on sm_90: 2 wavefronts, ideal 1, excess 1, conflicts 1
    ...
    """
    __tracebackhide__ = True
    if isinstance(subject, Trace):
        if addresses is not None or active is not None or at_most is None:
            raise SimlayoutError("of a Trace give a line and at_most: assert_wavefronts(trace, line, at_most=32)")
        return assert_trace_wavefronts(subject, expected, at_most=at_most)       # type: ignore[arg-type]
    if at_most is not None:
        raise SimlayoutError(f"at_most goes with a Trace, not with {type(subject).__name__}: give what is expected")
    one = _analysed(subject, addresses, active, arch)
    actual, wanted = one.analysis.wavefronts, _expected(expected, len(one.analysis))
    if wanted.ndim:
        differs, text = actual != wanted, _takes(actual[actual != wanted][:1], wanted[actual != wanted][:1])
    else:                       # the first instruction that strays from the mean to the side to which the total does
        differs = (actual * len(actual) - wanted) * np.sign(actual.sum() - wanted) > 0
        text = f"{_takes(actual, wanted[None])}{f' in {len(actual)} instructions' * (len(actual) > 1)}"
    if not differs.any():
        return
    index = int(np.argmax(differs))
    claim = f"{one.name} {text}"
    more = actual[index] > wanted[index] if wanted.ndim else actual.sum() > wanted
    if more and actual[index] > one.free[index]:
        raise conflict(one, index, claim)
    raise refuted(claim, f"the first that differs: {one.where(index)}", (), explanation(one.analysis, index))


def _analysed(subject, addresses, active, arch):
    """The Subject of what `assert_wavefronts` was given."""
    if isinstance(subject, (Access, Analysis)):
        if addresses is not None:
            raise SimlayoutError(f"addresses go with an instruction, not with {type(subject).__name__}: leave them out")
        analysed, = subjects(subject, (), active, arch)
        return analysed
    if addresses is None:
        raise SimlayoutError(f"{subject}: an instruction needs the byte addresses of its lanes, [n, 32]")
    return Subject(str(subject), analyze(subject, addresses, active, arch or DEFAULT_ARCH))


def _expected(expected, instructions):
    """The expected wavefronts, int64 [] or [instructions]."""
    try:
        wanted = np.asarray(expected)
    except Exception:                                    # whatever an object does that says it is an array
        wanted = np.asarray("")
    if wanted.dtype.kind not in "iu" or wanted.ndim > 1 or wanted.ndim and len(wanted) != instructions:
        raise SimlayoutError(f"expected is an int, the total, or one int for each of {instructions} instructions, not "
                             f"{brief(expected)}")
    return wanted.astype(np.int64)


def _takes(taken, wanted):
    """"takes 2 wavefronts where 1 is expected"."""
    taken, wanted = int(taken.sum()), int(wanted.sum())
    return f"takes {taken} wavefront{'s' * (taken != 1)} where {wanted} {'is' if wanted == 1 else 'are'} expected"
