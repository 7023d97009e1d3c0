"""The common parts of the exercises: the refusal of an answer, and the readers of tiles and addresses."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simlayout import plots
from simlayout.algebra import parse
from simlayout.algebra.composed import Layer
from simlayout.errors import HazardError, SimlayoutError
from simlayout.hardware import analyze
from simlayout.proofs import verify
from simlayout.testing import assert_bijective, assert_conflict_free
from simlayout.testing.conflicts import Subject, meeting


class Refused(SimlayoutError):
    """An answer that does not have the property that is asked for; the text is the hint."""


@dataclass(frozen=True)
class Right:
    """What a judge returns for a right answer. remark: what may be said of it, or ""; draw: a function without arguments
    that draws what the answer does and returns the Axes, or None."""

    remark: str = ""
    draw: Callable | None = None


@dataclass(frozen=True)
class Exercise:
    """asks: what is to be found, in a few words. judge(answer): returns a Right, or raises for a wrong answer an error whose
    text is the hint."""

    asks: str
    judge: object


def tile_of(answer, plain):
    """The tile that an answer means: a swizzle or rotation of the plain layout, a layout of its shape, a text for one of
    these, or a function."""
    if isinstance(answer, str):
        answer = parse(answer)
    if isinstance(answer, Layer) and getattr(answer, "layout", None) is None:
        return answer @ plain
    shape = getattr(answer, "shape", None)
    if shape is not None and shape != plain.shape:
        raise Refused(f"{answer} has the shape {shape}; the tile's is {plain.shape}")
    if not callable(answer):
        raise Refused(f"{answer!r} is no tile: give a swizzle, a layout of shape {plain.shape} or a function (row, col)")
    return answer


def judge_tile(answer, plain, accesses, size=None):
    """The tile of an answer, after it is proved: one-to-one within `size` elements (None: those of the plain
    layout), and free of conflicts for all accesses, whose elements stay neighbours."""
    tile = tile_of(answer, plain)
    rows, columns = plain.shape
    assert_bijective(tile, {"row": rows, "col": columns}, plain.cosize if size is None else size, dtype=accesses[0].dtype)
    for access in accesses:
        assert_conflict_free(access.with_tile(tile))
        verify(access.with_tile(tile))
    return tile


def warp_addresses(answer, step):
    """int64 [32] from an answer: a list of 32 byte addresses, or a function of the lane; multiples of `step`."""
    values = [answer(lane) for lane in range(32)] if callable(answer) else answer
    addresses = np.asarray(values)
    if addresses.shape != (32,) or addresses.dtype.kind not in "iu":
        raise Refused(f"32 integers are asked for, one byte address for each lane, not {_shown(values)}")
    wrong = np.flatnonzero((addresses < 0) | (addresses % step != 0))
    if wrong.size:
        lane = int(wrong[0])
        raise Refused(f"lane {lane} has the byte address {addresses[lane]}: it must be a multiple of {step}, and "
                      "not negative")
    return addresses.astype(np.int64)


def drawn(instruction, addresses):
    """A function that draws the banks of one instruction."""
    return lambda: plots.banks(analyze(instruction, addresses))


def integer(answer, what):
    """The answer as an int; Refused for anything else."""
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
        raise Refused(f"{what} is an integer, not {_shown(answer)}")
    return int(answer)


def judge_transposition(run, wrong, costly):
    """The Trace of run() -> (Trace, c, a), which ran a kernel, after it is checked that c is a transposed, through shared
    memory and without conflicts. wrong, costly: the ends of the hints, for a wrong element and for a conflict."""
    try:
        trace, c, a = run()
    except HazardError as error:
        raise Refused(f"not defined on a GPU: {error}") from None
    differs = np.argwhere(~(c == a.T))
    if differs.size:
        row, col = (int(i) for i in differs[0])
        raise Refused(f"c[{row}, {col}] is {c[row, col]}, and a[{col}, {row}] is {a[col, row]}: {wrong}")
    if not trace.total().instructions:
        raise Refused("the kernel does not use shared memory")
    worst = max(trace.lines, key=lambda one: one.excess)
    if worst.excess:
        raise Refused(f"line {worst.line}: {worst.instruction} takes {worst.wavefronts} wavefronts for {worst.instructions} "
                      f"instructions, {worst.ideal} without conflicts: {costly}")
    return trace


def pair_that_meets(instruction, addresses):
    """"lanes 0 and 4 want bank 0: words 0 and 128", of the first two lanes that conflict; None where none do."""
    one = Subject(instruction, analyze(instruction, addresses))
    if not (one.analysis.wavefronts > one.free).any():
        return None
    a, b = (one.place(0, lane) for lane in meeting(one, 0))
    bank = sorted(set(a.banks) & set(b.banks))[0]
    words = (next(w for w in place.words if w % 32 == bank) for place in (a, b))
    return f"lanes {a.lane} and {b.lane} want bank {bank}, with the words {' and '.join(map(str, words))}"


def _shown(value):
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
