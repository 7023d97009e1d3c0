"""Assertions on the Trace of a launch: no bank conflicts, no hazards, so many wavefronts at most.

What fails raises an AssertionError that lists the offending lines with their counts, and the smallest change that helps.
Lines are chosen by number, by "file.py:12", or by a text that they contain. Lines that are not there, or do not access
shared memory, are an error: a check of nothing would always pass.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from os.path import basename

from simlayout.errors import SimlayoutError, brief, require
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.machine.engine.listing import SourceLine
from simlayout.machine.engine.trace import Trace
from simlayout.programs.mend import mends
from simlayout.programs.report import mend_lines
from simlayout.programs.uses import Uses
from simlayout.wording import are, counted

Line = int | str
"""A line number, "file.py:12", or a text that lines contain."""


def assert_no_conflicts(trace: Trace, lines: Line | Iterable[Line] | None = None) -> None:
    """No line takes more wavefronts of shared memory than its bytes need.

    lines: which of them, by default all. Raises AssertionError with the listing of those that do, and what would mend them;
    SimlayoutError for lines that this trace has not, or that do not access shared memory.

    >>> from simlayout.kernel import AccessCount
    >>> trace = Trace((AccessCount("tile", "ld.shared.b32", 4, 128, 4, file="kernels.py", line=7),))
    >>> assert_no_conflicts(trace)                                                 # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: bank conflicts: 124 excess wavefronts on 1 line
    kernels.py
      line  executions  instructions  wavefronts     ideal    excess  source
         7                         4         128         4       124
    ...
    """
    require(Trace, "assert_no_conflicts", trace)
    __tracebackhide__ = True
    slow = [line for line in chosen(trace, lines) if line.excess]
    if slow:
        excess = sum(line.excess for line in slow)
        raise AssertionError(_told(f"bank conflicts: {counted(excess, 'excess wavefront')} on {counted(len(slow), 'line')}",
                                   trace, slow))


def assert_trace_wavefronts(trace: Trace, line: Line, *, at_most: int) -> None:
    """As `assert_wavefronts` of a Trace: the lines that `line` chooses take at most so many wavefronts together."""
    __tracebackhide__ = True
    if isinstance(at_most, bool) or not isinstance(at_most, int) or at_most < 0:
        raise SimlayoutError(f"at_most = {at_most!r}: give the wavefronts that are allowed, an int of at least 0")
    found = chosen(trace, line)
    taken = sum(each.wavefronts for each in found)
    if taken > at_most:
        raise AssertionError(_told(f"{counted(taken, 'wavefront')} where at most {at_most} {are(at_most)} allowed", trace,
                                   found))


def assert_no_hazards(trace: Trace) -> None:
    """No races, reads of what nothing wrote, or accesses outside the arrays, of a run with hazards="report".

    Raises AssertionError with the lines that they are on, and what each needs.

    >>> assert_no_hazards(Trace(()))
    """
    require(Trace, "assert_no_hazards", trace)
    __tracebackhide__ = True
    if trace.hazards:
        places = {place for hazard in trace.hazards for place in hazard.lines}
        lines = [line for line in trace.source_lines() if (line.file, line.line) in places]
        text = _listed(trace, lines, trace.hazards)
        raise AssertionError(f"{counted(len(trace.hazards), 'hazard')}\n{text}")


def chosen(trace: Trace, lines: Line | Iterable[Line] | None) -> list[SourceLine]:
    """The SourceLines of a trace that access shared memory: all, or those that lines choose. Raises SimlayoutError for a
    line that chooses none."""
    every = [line for line in trace.source_lines() if line.instructions]
    if lines is None:
        return every
    __tracebackhide__ = True                             # a wrong line is a fault of the test
    given: list
    try:
        given = [lines] if isinstance(lines, Integral | str) else list(lines)     # type: ignore[arg-type]
    except Exception:                                    # no list, or one that breaks
        given = [lines]
    wanted = [int(each) if isinstance(each, Integral) else each for each in given]       # NumPy's, too
    if wrong := [each for each in wanted if not isinstance(each, int | str)]:
        raise SimlayoutError(f"lines are numbers, 'file.py:7' or parts of their text, not {brief(wrong[0])}")
    if not wanted:
        raise SimlayoutError("no lines are given: leave lines out for all of them")
    found = {}
    for each in wanted:
        here = {(line.file, line.line): line for line in every if _is(line, each)}
        if not here:
            raise SimlayoutError(_missing(trace, every, each))
        found |= here
    return list(found.values())


def _is(line, wanted):
    """Whether a SourceLine is one that was asked for."""
    if isinstance(wanted, int):
        return line.line == wanted
    place = re.fullmatch(r"(.+):(\d+)", wanted)
    if place and f"/{line.file}".endswith(f"/{place[1]}") and line.line == int(place[2]):
        return True
    return bool(wanted.strip()) and wanted in line.source


def _missing(trace, every, wanted):
    """The sentence on a line that chooses none."""
    executed = [line for line in trace.source_lines() if _is(line, wanted)]
    if executed:
        return f"line {wanted!r} was executed and does not access shared memory"
    places = [f"{basename(line.file)}:{line.line}" for line in every]
    shown = "".join(f"\n  {place}  {line.source.strip()}".rstrip() for place, line in zip(places, every))
    return f"no line {wanted!r} in this trace; shared memory is accessed on {', '.join(places) or 'none'}{shown}"


def _told(claim, trace, lines):
    """The text of a failure: the claim, the lines, and what would mend them."""
    return "\n".join([claim, _listed(trace, lines), *mended(trace)])


def _listed(trace, lines, hazards=()):
    """The listing of some lines alone."""
    places = {(line.file, line.line) for line in lines}
    part = replace(trace, lines=tuple(c for c in trace.lines if (c.file, c.line) in places), notes=(),
                   executed={place: n for place, n in trace.executed.items() if place in places}, hazards=tuple(hazards))
    return part.listing()


def mended(trace: Trace) -> list[str]:
    """Lines on the smallest edit that removes excess, of each array whose declaration is known and that has some."""
    uses = Uses()
    uses.add(trace)
    return [line for mend in mends(uses, DEFAULT_ARCH) for line in mend_lines(mend)]
