"""The common parts of the exercises: the refusal of an answer, and the readers of tiles and addresses."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simlayout import plots
from simlayout.algebra import parse
from simlayout.algebra.composed import Layer
from simlayout.errors import HazardError, SimlayoutError
from simlayout.hardware import analyze
from simlayout.lessons.exercises.said import Said
from simlayout.machine.engine.patterns import worst_of
from simlayout.proofs import verify
from simlayout.testing import assert_bijective, assert_conflict_free
from simlayout.testing.conflicts import Subject, meeting


class Refused(SimlayoutError):
    """An answer that does not have the property that is asked for; the sentence, as of Said, is the hint."""

    def __init__(self, template, *values):
        self.said = Said(template, *values)
        super().__init__(str(self.said))


@dataclass(frozen=True)
class Right:
    """What a judge returns for a right answer. remark: what may be said of it, a Said or ""; draw: a function without
    arguments that draws what the answer does and returns the Axes, or None."""

    remark: Said | str = ""
    draw: Callable | None = None


@dataclass(frozen=True)
class Exercise:
    """asks: what is to be found, in a few words. judge(answer): returns a Right, or raises for a wrong answer an error whose
    text is the hint."""

    asks: Said
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
        raise Refused("{} has the shape {}; the tile's is {}", answer, shape, plain.shape)
    if not callable(answer):
        raise Refused("{} is no tile: give a swizzle, a layout of shape {} or a function (row, col)", repr(answer),
                      plain.shape)
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
        raise Refused("32 integers are asked for, one byte address for each lane, not {}", _shown(values))
    wrong = np.flatnonzero((addresses < 0) | (addresses % step != 0))
    if wrong.size:
        lane = int(wrong[0])
        raise Refused("lane {} has the byte address {}: it must be a multiple of {}, and not negative", lane,
                      addresses[lane], step)
    return addresses.astype(np.int64)


def drawn(instruction, addresses):
    """A function that draws the banks of one instruction."""
    return lambda: plots.banks(analyze(instruction, addresses))


def integer(answer, what):
    """The answer as an int; Refused for anything else. what: a Said, that is to be one."""
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
        raise Refused("{} is an integer, not {}", what, _shown(answer))
    return int(answer)


def judge_transposition(run, wrong, costly):
    """The Trace of run() -> (Trace, c, a), which ran a kernel, after it is checked that c is a transposed, through shared
    memory and without conflicts. wrong, costly: Saids, the ends of the hints for a wrong element and for a conflict."""
    try:
        trace, c, a = run()
    except HazardError as error:
        raise Refused("not defined on a GPU: {}", error) from None
    differs = np.argwhere(~(c == a.T))
    if differs.size:
        row, col = (int(i) for i in differs[0])
        raise Refused("c[{}, {}] is {}, and a[{}, {}] is {}: {}", row, col, c[row, col], col, row, a[col, row], wrong)
    if not trace.total().instructions:
        raise Refused("the kernel does not use shared memory")
    worst = max(trace.lines, key=lambda one: one.excess)
    if worst.excess:
        raise Refused("line {}: {} takes {} wavefronts for {} instructions, {} without conflicts: {}", worst.line,
                      worst.instruction, worst.wavefronts, worst.instructions, worst.ideal, costly)
    return trace


def drawn_load(trace):
    """A function that draws the banks of the costliest load of a Trace, which transposed: that of a column."""
    worst = worst_of(trace.patterns).values()
    load = max((one for one in worst if one.instruction.startswith("ld")), key=lambda one: one.wavefronts)
    active = [address is not None for address in load.addresses]
    return lambda: plots.banks(analyze(load.instruction, [address or 0 for address in load.addresses], active))


def pair_that_meets(instruction, addresses):
    """"lanes 0 and 4 want bank 0: words 0 and 128" as a Said, of the first two lanes that conflict; None where none do."""
    one = Subject(instruction, analyze(instruction, addresses))
    if not (one.analysis.wavefronts > one.free).any():
        return None
    a, b = (one.place(0, lane) for lane in meeting(one, 0))
    bank = sorted(set(a.banks) & set(b.banks))[0]
    words = (next(w for w in place.words if w % 32 == bank) for place in (a, b))
    return Said("lanes {} and {} want bank {}, with the words {} and {}", a.lane, b.lane, bank, *words)


def _shown(value):
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
