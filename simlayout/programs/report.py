"""What is told at the end of a program: its kernels, what each line of them cost, hazards, and what would mend it."""

import os
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from os.path import basename
from time import perf_counter

from simlayout.excess import WithExcess
from simlayout.machine.engine.listing import FOOT, line_text
from simlayout.machine.engine.patterns import Worst, worst_of
from simlayout.machine.hazards.kinds import Hazard
from simlayout.programs.device import Launched
from simlayout.programs.doubles import DOUBLES
from simlayout.programs.mend import Mend, mends
from simlayout.programs.uses import Uses
from simlayout.wording import by, counted

SUMMED = ("executions", "instructions", "wavefronts", "ideal", "sectors", "least")
"""The counts of a line that add up over launches, and over lines."""

OF_ONE_LINE = "file", "line", "source", "worst", "touched", "filled", "wasted", "accesses", "apart"
"""What a line has, and all of them together have not."""


@dataclass
class Line(WithExcess[int]):
    """A line of source: the sums over all launches of a kernel. executions: warp instructions of all kinds; instructions,
    wavefronts, ideal: of shared memory; sectors, least: of global memory; touched, filled: the same of accesses that go to
    one place taken together (`machine.engine.sectors`), also with those of lines beside it. accesses: how many loads, or
    stores, these are of; apart: that of the SectorCount that wastes most, in the last launch. exact: False where the model
    only bounds an instruction. worst: the instruction of shared memory that cost the most wavefronts at once."""

    file: str
    line: int
    source: str
    executions: int = 0
    instructions: int = 0
    wavefronts: int = 0
    ideal: int = 0
    sectors: int = 0
    least: int = 0
    touched: int = 0
    filled: int = 0
    accesses: int = 0
    apart: tuple[int, int] | None = None
    exact: bool = True
    worst: Worst | None = None

    @property
    def sector_excess(self) -> int:
        """Sectors beyond the least."""
        return self.sectors - self.least

    @property
    def wasted(self) -> int:
        """Sectors that are touched beyond those that the bytes would fill."""
        return self.touched - self.filled

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        worst = self.worst and self.worst.as_dict()
        return {**vars(self), "excess": self.excess, "sector_excess": self.sector_excess, "wasted": self.wasted,
                "worst": worst}


@dataclass
class Kernel:
    """All launches of the kernels of one name. shapes: {(grid, block): how often}; seconds: of the machine; hazards: one for
    each kind and pair of lines, with how often; notes: sentences."""

    name: str
    launches: int = 0
    seconds: float = 0.0
    shapes: Counter = field(default_factory=Counter)
    places: dict[tuple[str, int], Line] = field(default_factory=dict)
    faults: dict[tuple, Hazard] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[Line, ...]:
        """By file and line; those of libraries come last."""
        return tuple(self.places[place] for place in sorted(self.places, key=lambda place: (in_library(place[0]), place)))

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        """In the order in which they were found first."""
        return tuple(self.faults.values())

    def total(self) -> Line:
        """One Line over everything."""
        made = Line("", 0, "", *(sum(getattr(line, name) for line in self.places.values()) for name in SUMMED))
        made.exact = all(line.exact for line in self.places.values())
        return made

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        shapes = [{"grid": grid, "block": block, "launches": n} for (grid, block), n in self.shapes.items()]
        total = {k: v for k, v in self.total().as_dict().items() if k not in OF_ONE_LINE}
        return {"name": self.name, "launches": self.launches, "seconds": self.seconds, "shapes": shapes, "total": total,
                "lines": [line.as_dict() for line in self.lines], "hazards": [h.as_dict() for h in self.hazards],
                "notes": list(self.notes)}

    def add(self, launched: Launched) -> None:
        """Counts one more launch."""
        self.launches += 1
        self.seconds += launched.seconds
        self.shapes[launched.grid, launched.block] += 1
        trace = launched.trace
        for (file, line), count in trace.executed.items():
            self._line(file, line).executions += count
        for c in trace.lines:
            at = self._line(c.file, c.line)
            at.instructions, at.wavefronts = at.instructions + c.instructions, at.wavefronts + c.wavefronts
            at.ideal, at.exact = at.ideal + c.ideal, at.exact and c.exact
        self._keep_worst(trace)
        for s in sorted(trace.sectors, key=lambda s: s.touched - s.filled):
            at = self._line(s.file, s.line)
            at.apart = s.apart
            at.sectors, at.least = at.sectors + s.sectors, at.least + s.least
            at.touched, at.filled = at.touched + s.touched, at.filled + s.filled
        for (file, line, _), n in Counter((s.file, s.line, s.instruction[:2]) for s in trace.sectors if s.touched).items():
            self._line(file, line).accesses = max(self._line(file, line).accesses, n)
        for h in trace.hazards:
            key = h.kind, h.lines
            known = self.faults.get(key)
            self.faults[key] = h if known is None else replace(known, count=known.count + h.count,
                                                                    at_least=known.at_least or h.at_least)
        self.notes.update(dict.fromkeys(trace.notes))

    def _keep_worst(self, trace):
        """Of each line the instruction that cost most in any launch."""
        for place, worst in worst_of(trace.patterns).items():
            at = self._line(*place)
            if at.worst is None or at.worst.wavefronts < worst.wavefronts:
                at.worst = worst

    def _line(self, file, line):
        at = self.places.get((file, line))
        if at is None:
            at = self.places[file, line] = Line(file, line, line_text(file, line).strip())
        return at


class Report:
    """Takes each Launched, as `told` of a SimulatedDevice does; knows at the end what to tell. arch: of the device. hazards:
    whether somebody looked for them."""

    def __init__(self, arch: str, hazards: bool = True):
        self.arch, self.looked, self.kernels, self._uses = arch, hazards, {}, Uses()
        self._started = perf_counter()
        self.unfinished: list[str] = []
        self._mends: tuple[Mend, ...] | None = None

    def add(self, launched: Launched) -> None:
        """One launch is over."""
        self.kernels.setdefault(launched.name, Kernel(launched.name)).add(launched)
        self._uses.add(launched.trace, launched.name)
        self._mends = None

    def give_up(self, name: str) -> None:
        """A launch of a kernel, by its name, did not come to its end: it was interrupted, or it raised an error."""
        self.unfinished.append(name)

    @property
    def launches(self) -> int:
        """How many there were."""
        return sum(kernel.launches for kernel in self.kernels.values())

    @property
    def excess(self) -> int:
        """Wavefronts of shared memory beyond the ideal, of all kernels."""
        return sum(kernel.total().excess for kernel in self.kernels.values())

    @property
    def hazards(self) -> int:
        """How many were found, of all kernels, each kind and pair of lines once."""
        return sum(len(kernel.faults) for kernel in self.kernels.values())

    def mends(self) -> tuple[Mend, ...]:
        """What would mend the arrays that have excess, the worst first."""
        if self._mends is None:
            self._mends = mends(self._uses, self.arch)
        return self._mends

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON: see `simlayout guide numba`."""
        return {"arch": self.arch, "launches": self.launches, "seconds": perf_counter() - self._started,
                "machine_seconds": sum(kernel.seconds for kernel in self.kernels.values()), "excess": self.excess,
                "hazards": self.hazards if self.looked else None,
                "kernels": [kernel.as_dict() for kernel in self.kernels.values()],
                "mends": [mend.as_dict() for mend in self.mends()]}


# ---- as text -----------------------------------------------------------------------------------------------------------

HEAD = ("line", "instructions", "wavefronts", "ideal", "excess", "sectors", "least", "source")
FORM = "{:>6}  {:>12}  {:>10}  {:>8}  {:>8}  {:>8}  {:>8}  {}"
UNCOALESCED = 2
"""A line of global memory is named if it touches so many times the sectors that its bytes would fill."""

MOST_NAMED = 5
"""Hazards and lines of global memory of a kernel that are named in the text; JSON has all."""


def text(report: Report) -> str:
    """The report for a terminal, without a line break at its end."""
    if not report.kernels:
        return given_up(report) or "no kernel was launched"
    blocks = ["\n".join(_kernel(kernel)) for kernel in report.kernels.values()]
    found = report.mends()
    if found:
        blocks.append("\n".join(line for mend in found for line in mend_lines(mend)))
    elif report.excess:
        blocks.append(UNDECLARED)
    return "\n\n".join([*blocks, *filter(None, [given_up(report)]), summary(report)])


SOURCELESS = "<text>"
"""The file of instructions whose PTX names no source for them, as of those by which Numba notes an exception."""

UNDECLARED = ("no edit is proposed: the excess is of copies by cp.async, or in dynamic shared memory, whose shape is in the "
              "index expressions")


def given_up(report):
    """Of launches that no number here counts."""
    if not report.unfinished:
        return ""
    names = ", ".join(dict.fromkeys(report.unfinished))
    return f"{counted(len(report.unfinished), 'launch')} of {names} did not come to an end, and nothing of it is counted"


def summary(report: Report) -> str:
    """All of it in one sentence."""
    seconds = sum(kernel.seconds for kernel in report.kernels.values())
    hazards = str(report.hazards) if report.looked else "not looked for"
    return (f"{counted(report.launches, 'launch')} of {counted(len(report.kernels), 'kernel')}, simulated as "
            f"{report.arch} in {seconds:.1f} s; excess {report.excess}, hazards {hazards}")


def _kernel(kernel):
    yield f"{kernel.name}: {launches_text(kernel)}"
    lines = [line for line in kernel.lines if line.instructions or line.sectors]
    lines = [line for line in lines if line.file != SOURCELESS] or lines
    for file in dict.fromkeys(line.file for line in lines):
        yield f"  {shown_path(file)}"
        yield "  " + FORM.format(*HEAD)
        yield from ("  " + FORM.format(*_cells(line)).rstrip() for line in lines if line.file == file)
    if not lines:
        yield "  no access of shared or global memory"
    elif not all(line.exact for line in lines):
        yield f"  {FOOT}"
    for told in uncoalesced_lines(kernel):
        yield f"  {told}"
    yield from (f"  note: {note}" for note in kernel.notes if DOUBLES in note)
    for hazard in kernel.hazards[:MOST_NAMED]:
        yield f"  hazard: {hazard.times}{hazard}"
    if len(kernel.hazards) > MOST_NAMED:
        yield f"  and {counted(len(kernel.hazards) - MOST_NAMED, 'more hazard')}"


def shown_path(file: str) -> str:
    """A path without the working folder in which it lies, or without the folder of installed packages.

    >>> shown_path("/usr/lib/python3/dist-packages/numba_cuda/numba/cuda/random.py")
    'numba_cuda/numba/cuda/random.py, a library'
    """
    if in_library(file):
        return f"{_INSTALLED.sub('', file)}, a library"
    return file.removeprefix(os.path.join(os.getcwd(), ""))


_INSTALLED = re.compile(r".*[/\\](?:site|dist)-packages[/\\]")


def in_library(file: str) -> bool:
    """Whether a file belongs to an installed package, so that it is not the user's to change."""
    return _INSTALLED.match(file) is not None


def launches_text(kernel: Kernel) -> str:
    """How often a kernel was launched, and how."""
    (grid, block), _ = kernel.shapes.most_common(1)[0]
    more = f", and {counted(len(kernel.shapes) - 1, 'other shape')}" if len(kernel.shapes) > 1 else ""
    return (f"{counted(kernel.launches, 'launch')}, grid {_by(grid)}, block {_by(block)}{more}, "
            f"{kernel.seconds:.2g} s on the machine")


def _by(size):
    """(4, 2, 1) as "4 x 2"."""
    used = size if size[2] > 1 else size[:2] if size[1] > 1 else size[:1]
    return by(used)


def _cells(line):
    shared = (line.instructions, line.wavefronts, line.ideal, f"{line.excess}{'' if line.exact else ' *'}")
    return (line.line, *(shared if line.instructions else [""] * 4),
            *((line.sectors, line.least) if line.sectors else [""] * 2), line.source)


def uncoalesced(kernel: Kernel) -> list[Line]:
    """Lines that waste most of the sectors that they touch, the worst first; those of libraries only where the kernel has no
    others."""
    own = [line for line in kernel.lines if not in_library(line.file)]
    found = [line for line in own or kernel.lines if line.touched >= UNCOALESCED * line.filled and line.wasted]
    return sorted(found, key=lambda line: -line.wasted)


def uncoalesced_lines(kernel: Kernel) -> list[str]:
    """What is told of the worst of them."""
    several = len({line.file for line in kernel.lines if line.instructions or line.sectors} - {SOURCELESS}) > 1
    return [f"{f'{basename(line.file)}, ' * several}{uncoalesced_text(line)}" for line in uncoalesced(kernel)[:MOST_NAMED]]


ROUNDED = 0.5
"""By so much the times may exceed the accesses of such a line, because places seldom begin where sectors do."""


def uncoalesced_text(line: Line) -> str:
    """Such a line in one sentence."""
    times = line.touched / line.filled
    head = f"line {line.line} touches {times:.1f} times the sectors that its bytes fill: "
    cached = ", as r, g, b = image[y, x]: then all but the first find their sectors in the cache"
    if line.apart:
        return (f"{head}threads take {line.apart[0]} of about {line.apart[1]} bytes; keep each part in an array of its own, "
                f"unless a thread takes them all{cached}")
    beside = f", unless its {line.accesses} accesses go side by side in each thread{cached}"
    together = line.accesses > 1 and times < line.accesses + ROUNDED
    return f"{head}let neighbouring threads take neighbouring numbers{beside * together}"


def mend_lines(mend: Mend) -> list[str]:
    """What would mend an array, as lines."""
    where = f"{basename(mend.file)}:{mend.line}: " if mend.file else ""
    head = f"{where}excess {mend.excess} of {mend.name or 'an array in shared memory'}"
    if not mend.edits:
        return [f"{head}; no edit is proposed: {mend.why}"]
    cost = f", {mend.bytes} bytes more" if mend.bytes else ""
    known = f" ({mend.why})" * bool(mend.why)
    return [f"{head}; this makes it {mend.left}{cost}{known}:", *(f"  line {e.line}: {e.after}" for e in mend.edits)]
