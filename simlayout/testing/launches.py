"""What the launches of a test suite did, as rows, and as the text at the end of a run."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from os.path import basename

from simlayout.programs.device import Launched
from simlayout.testing.trace_assertions import assert_no_conflicts, assert_no_hazards
from simlayout.wording import counted

HEAD = "kernel", "launches", "wavefronts", "excess", "hazards", "seconds"


@dataclass
class Row:
    """The launches of a kernel in a test, in plain values that another process can send.

    test: its id in pytest; kernel: its name; wavefronts, excess: of shared memory; seconds: of the machine; slow:
    "file.py:12" of each line with excess; texts: a sentence for each hazard, of one kind and pair of lines the first.
    """

    test: str
    kernel: str
    launches: int = 0
    wavefronts: int = 0
    excess: int = 0
    hazards: int = 0
    seconds: float = 0.0
    slow: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def as_list(self) -> list:
        """The values in their order, for another process."""
        return list(astuple(self))


class Launches:
    """Launches one after another, by kernel: their sums, and of those with hazards or excess the first."""

    def __init__(self):
        self.clear()

    def clear(self) -> None:
        """Forgets them."""
        self._rows: dict[str, Row] = {}
        self._hazards: set[tuple] = set()
        self._faulty: dict[str, list] = {}               # kernel -> [the first Launched, how many more]

    def add(self, launched: Launched) -> None:
        """Takes one."""
        trace, total = launched.trace, launched.trace.total()
        row = self._rows.setdefault(launched.name, Row("", launched.name))
        row.launches += 1
        row.wavefronts += int(total.wavefronts)
        row.excess += int(total.excess)
        row.seconds += float(launched.seconds)
        row.hazards += len(trace.hazards)
        for hazard in trace.hazards:
            key = launched.name, hazard.kind, hazard.lines
            if key not in self._hazards:
                self._hazards.add(key)
                row.texts.append(str(hazard))
        if total.excess:
            new = dict.fromkeys(f"{basename(line.file)}:{line.line}" for line in trace.source_lines() if line.excess)
            row.slow = list(dict.fromkeys(row.slow) | new)
        if trace.hazards or total.excess:
            self._faulty.setdefault(launched.name, [launched, -1])[1] += 1

    def rows(self, test: str) -> list[Row]:
        """A Row per kernel, as launches of a test."""
        for row in self._rows.values():
            row.test = test
        return list(self._rows.values())

    def faults(self) -> str:
        """What is wrong, as text: of each kernel its first launch with hazards or excess, with the lines; or ""."""
        return "\n\n".join(_fault(*faulty) for faulty in self._faulty.values())


def _fault(launched, more):
    told = []
    for claim in (assert_no_hazards, assert_no_conflicts):
        try:
            claim(launched.trace)
        except AssertionError as error:
            told.append(f"{launched.name}[{launched.grid}, {launched.block}]: {error}")
    return "\n\n".join(told + [f"and in {more} more of its launches"] * (more > 0))


def table(rows: Sequence[Row], looked: bool = True) -> list[str]:
    """The lines of a table with a row per kernel, and a line per test and kernel that has hazards or excess. looked: whether
    somebody looked for hazards.

    >>> rows = Row("test_a.py::test_x", "turn", 1, 1056, 992, 0, 0.25, ["a.py:7"]), Row("test_a.py::test_y", "add", 2)
    >>> print("\\n".join(table(rows)))
    kernel  launches  wavefronts  excess  hazards  seconds
    turn           1        1056     992        0     0.25
    add            2           0       0        0     0.00
    3 launches of 2 kernels
    <BLANKLINE>
    hazards or excess in 1 test:
    test_a.py::test_x
      turn: 992 excess wavefronts at a.py:7
    """
    if not rows:
        return ["no kernel was launched"]
    kernels = _grouped(rows, lambda row: row.kernel)
    cells = [HEAD, *(_cells(name, those, looked) for name, those in kernels.items())]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEAD))]
    lines = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
             for row in cells]
    launches = sum(row.launches for row in rows)
    lines.append(f"{launches} launch{'es' * (launches != 1)} of {counted(len(kernels), 'kernel')}"
                 f"{'' if looked else '; hazards were not looked for'}")
    tests = _grouped([row for row in rows if row.hazards or row.excess], lambda row: row.test)
    if tests:
        lines += ["", f"hazards or excess in {counted(len(tests), 'test')}:"]
    for test, those in tests.items():
        lines.append(test)
        for name, of_kernel in _grouped(those, lambda row: row.kernel).items():
            lines += [f"  {name}: {text}" for text in _texts(of_kernel)]
    return lines


def _grouped(rows, key):
    """{key: rows}, in the order in which the keys come."""
    made: dict = {}
    for row in rows:
        made.setdefault(key(row), []).append(row)
    return made


def _cells(name, rows, looked):
    sums = [str(sum(getattr(row, each) for row in rows)) for each in ("launches", "wavefronts", "excess", "hazards")]
    return name, *sums[:3], sums[3] if looked else "-", f"{sum(row.seconds for row in rows):.2f}"


def _texts(rows):
    """What is wrong with the launches of one kernel in one test, a sentence each."""
    excess = sum(row.excess for row in rows)
    if excess:
        lines = ", ".join(dict.fromkeys(line for row in rows for line in row.slow))
        yield f"{counted(excess, 'excess wavefront')} at {lines}"
    yield from dict.fromkeys(text for row in rows for text in row.texts)
