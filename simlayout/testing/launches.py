"""What the launches of a test suite did, as rows, and as the text at the end of a run."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from os.path import basename

from simlayout.programs.device import Launched
from simlayout.testing.trace_assertions import assert_no_conflicts, assert_no_hazards
from simlayout.wording import counted

HEAD = "kernel", "launches", "wavefronts", "excess", "hazards", "seconds"


@dataclass(frozen=True)
class Row:
    """One launch of a test, in plain values that another process can send. test: its id in pytest; kernel: its name;
    wavefronts, excess: of shared memory; seconds: of the machine; hazards: a sentence each; slow: "file.py:12" of each line
    with excess."""

    test: str
    kernel: str
    wavefronts: int
    excess: int
    seconds: float
    hazards: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, test: str, launched: Launched) -> "Row":
        """That of a Launched."""
        trace, total = launched.trace, launched.trace.total()
        slow = [f"{basename(line.file)}:{line.line}" for line in trace.source_lines() if line.excess]
        return cls(test, launched.name, int(total.wavefronts), int(total.excess), float(launched.seconds),
                   [str(hazard) for hazard in trace.hazards], slow)

    def as_list(self) -> list:
        """The values in their order, for another process."""
        return list(astuple(self))


def faults(launches: Iterable[Launched]) -> str:
    """What is wrong with launches, as text: of each kernel its first launch with hazards or excess, with the lines; "" if
    nothing is."""
    texts: dict[str, list[str]] = {}
    for launched in launches:
        for claim in (assert_no_hazards, assert_no_conflicts):
            try:
                claim(launched.trace)
            except AssertionError as error:
                texts.setdefault(launched.name, []).append(f"{launched.name}[{launched.grid}, {launched.block}]: {error}")
                break
    return "\n\n".join(told[0] + f"\nand {len(told) - 1} more of its launches" * (len(told) > 1) for told in texts.values())


def table(rows: Sequence[Row]) -> list[str]:
    """The lines of a table with a row per kernel, and a line per test and kernel that has hazards or excess.

    >>> rows = Row("test_a.py::test_x", "turn", 1056, 992, 0.25, [], ["a.py:7"]), Row("test_a.py::test_y", "add", 0, 0, 0.1)
    >>> print("\n".join(table(rows)))
    kernel  launches  wavefronts  excess  hazards  seconds
    turn           1        1056     992        0     0.25
    add            1           0       0        0     0.10
    2 launches of 2 kernels
    <BLANKLINE>
    hazards or excess in 1 test:
    test_a.py::test_x
      turn: 992 excess wavefronts at a.py:7
    """
    if not rows:
        return ["no kernel of Numba was launched"]
    kernels = _grouped(rows, lambda row: row.kernel)
    cells = [HEAD, *(_cells(name, those) for name, those in kernels.items())]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEAD))]
    lines = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
             for row in cells]
    lines.append(f"{_launches(len(rows))} of {counted(len(kernels), 'kernel')}")
    tests = _grouped([row for row in rows if row.hazards or row.excess], lambda row: row.test)
    if tests:
        lines += ["", f"hazards or excess in {counted(len(tests), 'test')}:"]
    for test, those in tests.items():
        lines.append(test)
        for name, launches in _grouped(those, lambda row: row.kernel).items():
            lines += [f"  {name}: {text}" for text in _texts(launches)]
    return lines


def _grouped(rows, key):
    """{key: rows}, in the order in which the keys come."""
    made: dict = {}
    for row in rows:
        made.setdefault(key(row), []).append(row)
    return made


def _cells(name, rows):
    return (name, str(len(rows)), str(sum(r.wavefronts for r in rows)), str(sum(r.excess for r in rows)),
            str(sum(len(r.hazards) for r in rows)), f"{sum(r.seconds for r in rows):.2f}")


def _launches(count):
    return f"{count} launch" + "es" * (count != 1)


def _texts(rows):
    """What is wrong with the launches of one kernel in one test, a sentence each."""
    excess = sum(row.excess for row in rows)
    if excess:
        lines = ", ".join(dict.fromkeys(line for row in rows for line in row.slow))
        yield f"{counted(excess, 'excess wavefront')} at {lines}"
    yield from dict.fromkeys(hazard for row in rows for hazard in row.hazards)
