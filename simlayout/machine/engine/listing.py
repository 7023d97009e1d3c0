"""The source of a kernel with what every line did beside it, as Nsight Compute's source view shows it."""

import linecache
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simlayout.errors import SimlayoutError
from simlayout.excess import WithExcess

HEAD = "line", "executions", "instructions", "wavefronts", "ideal", "excess", "source"
FORM = "{:>6}  {:>10}  {:>12}  {:>10}  {:>8}  {:>8}  {}"
LARGEST = 1 << 24
"""Bytes of a source file that is read."""

FOOT = "* bounded by the model; the hardware's number is not known exactly"


@dataclass(frozen=True)
class SourceLine(WithExcess[int]):
    """One line: how often warps executed it, and the warp instructions on shared memory that begin there.

    executions counts statements: a loop's own line once per entry, its body once per turn; of PTX warp instructions of all
    kinds. instructions, wavefronts, ideal:
    their sums, all 0 on a line without shared memory. exact: False where the model only bounds an instruction.
    """

    file: str
    line: int
    source: str
    executions: int
    instructions: int = 0
    wavefronts: int = 0
    ideal: int = 0
    exact: bool = True

    def as_dict(self):
        """Plain values, for JSON."""
        return {**vars(self), "excess": self.excess}


class Later(Sequence):
    """A tuple that is made when somebody looks at it: most launches of a program are never looked at line by line.

    >>> Later(lambda: (1, 2))[1:], Later(lambda: (1, 2)) == (1, 2)
    ((2,), True)
    """

    def __init__(self, make: Callable[[], tuple]):
        self._make: Callable[[], tuple] | None = make
        self._made: tuple = ()

    def _tuple(self) -> tuple:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made

    def __getitem__(self, index: Any) -> Any:
        return self._tuple()[index]

    def __len__(self) -> int:
        return len(self._tuple())

    def __eq__(self, other: object) -> bool:
        return self._tuple() == (other._tuple() if isinstance(other, Later) else other)

    def __hash__(self) -> int:
        return hash(self._tuple())

    def __repr__(self) -> str:
        return repr(self._tuple())

    def __reduce__(self) -> Any:
        return tuple, (self._tuple(),)


def source_lines(trace, ptx=False):
    """The SourceLines of a Trace: every line that was executed, by file and line; of the source, or of the PTX text."""
    if ptx:
        if not trace.ptx:
            raise SimlayoutError("this run was not of PTX: it has lines of its source alone")
        counts = sums_of(trace.lines, lambda c: c.ptx_line)
        return tuple(replace(s, **counts.get(s.line, {})) for s in trace.ptx)
    counts = sums_of(trace.lines, lambda c: (c.file, c.line))
    for file in {file for file, _ in trace.executed}:
        linecache.checkcache(file)                       # a name may mean another file by now
    return tuple(SourceLine(*place, line_text(*place), trace.executed.get(place, 0), **counts.get(place, {}))
                 for place in sorted({*trace.executed, *counts}))


def sums_of(lines, place):
    """{place: the sums of its accesses, as fields of a SourceLine}. lines: AccessCounts; place: gives that of one."""
    counts = {}
    for c in lines:
        sums = counts.setdefault(place(c), {"instructions": 0, "wavefronts": 0, "ideal": 0, "exact": True})
        for name in ("instructions", "wavefronts", "ideal"):
            sums[name] += getattr(c, name)
        sums["exact"] &= c.exact
    return counts


def line_text(file, line):
    """A line of a source file, "" where it is not at hand. PTX may name any file: what is no plain file is not opened."""
    if file not in linecache.cache and not (os.path.isfile(file) and os.path.getsize(file) <= LARGEST):
        return ""
    return linecache.getline(file, line).rstrip("\n")


def listing(trace, every_line=True, ptx=False):
    """The text of `Trace.listing`."""
    lines = [s for s in source_lines(trace, ptx) if every_line or s.instructions]
    blocks, counted = [], {s.file for s in lines if s.instructions}
    for file in sorted({s.file for s in lines}, key=lambda file: (file not in counted, file)):      # headers come last
        blocks.append("\n".join([file, *rows([s for s in lines if s.file == file])]))
    total = trace.total()
    blocks.append(FORM.format("total", "", total.instructions, total.wavefronts, total.ideal, total.excess, "").rstrip()
                  + ("" if total.exact else f"\n{FOOT}"))
    blocks += [f"{h.times}{h}" for h in trace.hazards]
    blocks += trace.notes
    return "\n\n".join(blocks)


def rows(lines: Sequence[SourceLine]) -> list[str]:
    """The head of a table, and a line of it for each SourceLine."""
    return [FORM.format(*HEAD), *map(_row, lines)]


def _row(line):
    shared = [line.instructions, line.wavefronts, line.ideal, f"{line.excess}{'' if line.exact else ' *'}"]
    if not line.instructions:
        shared = [""] * 4
    return FORM.format(line.line, line.executions or "", *shared, line.source).rstrip()
