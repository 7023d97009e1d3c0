"""The source of a kernel with what every line did beside it, as Nsight Compute's source view shows it."""

from dataclasses import dataclass
from linecache import getline

HEAD = "line", "executions", "instructions", "wavefronts", "ideal", "excess", "source"
FORM = "{:>6}  {:>10}  {:>12}  {:>10}  {:>8}  {:>8}  {}"
FOOT = "* bounded by the model; the hardware's number is not known exactly"


@dataclass(frozen=True)
class SourceLine:
    """One line: how often warps executed it, and the warp instructions on shared memory that begin there.

    executions counts statements: a loop's own line once per entry, its body once per turn. instructions, wavefronts, ideal:
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

    @property
    def excess(self):
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal

    def as_dict(self):
        """Plain values, for JSON."""
        return {**vars(self), "excess": self.excess}


def source_lines(trace):
    """The SourceLines of a Trace: every line that was executed, by file and line."""
    counts = {}
    for c in trace.lines:
        n, w, i, exact = counts.get((c.file, c.line), (0, 0, 0, True))
        counts[c.file, c.line] = n + c.instructions, w + c.wavefronts, i + c.ideal, exact and c.exact
    places = sorted({*trace.executed, *counts})
    return [SourceLine(file, line, getline(file, line).rstrip("\n"), trace.executed.get((file, line), 0),
                       *counts.get((file, line), ())) for file, line in places]


def listing(trace, every_line=True):
    """The text of `Trace.listing`."""
    lines = [s for s in source_lines(trace) if every_line or s.instructions]
    blocks = []
    for file in dict.fromkeys(s.file for s in lines):
        rows = [_row(s) for s in lines if s.file == file]
        blocks.append("\n".join([file, FORM.format(*HEAD), *rows]))
    total = trace.totals()
    blocks.append(FORM.format("total", "", total.instructions, total.wavefronts, total.ideal, total.excess, "").rstrip()
                  + ("" if total.exact else f"\n{FOOT}"))
    blocks += [f"{h.count} times " * (h.count > 1) + str(h) for h in trace.hazards]
    blocks += trace.notes
    return "\n\n".join(blocks)


def _row(line):
    shared = [line.instructions, line.wavefronts, line.ideal, f"{line.excess}{'' if line.exact else ' *'}"]
    if not line.instructions:
        shared = [""] * 4
    return FORM.format(line.line, line.executions or "", *shared, line.source).rstrip()
