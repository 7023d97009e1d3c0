"""The GPU tests of stumpy (time series, 8 modules of tests) with launches on the CPU machine and under CUDASIM.

    python -m cuda_kernels.conformance.programs.stumpy_tests FOLDER --json FILE [--modules NAME ...]

FOLDER: `tests` of stumpy's source distribution (pip download --no-deps --no-binary stumpy stumpy), of the version that is
installed; it needs stumpy, numba-cuda, pytest and pandas. Each module runs in a process of its own, under CUDASIM and right
after that on the machine, both with compiled CPU code; neither looks for hazards. FILE is written after each module. What is
measured is the time of a core of the whole process, and inside of its launches: imports, NumPy twins of the tests and what
Numba compiles for the CPU are outside of them and the same for both; what numba-cuda compiles for a GPU is outside of them
too, and CUDASIM has none.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn
from xml.etree import ElementTree

from cuda_kernels.bench.command import ended_by, recording_parser_of
from cuda_kernels.conformance.programs.numba_child import limited
from cuda_kernels.conformance.programs.numba_reasons import reason_of
from cuda_kernels.conformance.programs.numba_tests import Result
from cuda_kernels.conformance.programs.stumpy_clock import VARIABLE
from simlayout.files import write_whole
from simlayout.programs.children import inherited

LIMIT = 3600
"""Seconds that a module may take."""

SIDES = "cudasim", "machine"


@dataclass(frozen=True)
class Measured:
    """A module on one side: tests that passed, and others; seconds of a core, of the whole process; its launches, and
    seconds of a core inside of them."""

    passed: int
    others: int
    seconds: float
    launches: int
    launching: float


@dataclass(frozen=True)
class Record:
    """What a run found. about: versions, date, cores; modules: {module: {one of SIDES: Measured}}; rest: tests that did not
    pass on the machine, by name: why."""

    about: dict[str, str]
    modules: dict[str, dict[str, Measured]] = field(default_factory=dict)
    rest: dict[str, str] = field(default_factory=dict)

    def total(self, side: str) -> Measured:
        """The sums of a side.

        >>> one = Measured(2, 0, 3.5, 40, 1.25)
        >>> Record({}, {"a": {"machine": one}, "b": {"machine": one}}).total("machine")
        Measured(passed=4, others=0, seconds=7.0, launches=80, launching=2.5)
        """
        rows = [asdict(row[side]) for row in self.modules.values()]
        return Measured(**{name: sum(row[name] for row in rows) for name in Measured.__annotations__})

    def text(self) -> str:
        """The sums as lines."""
        return "\n".join(f"{side:8} {t.passed} passed, {t.others} others; {t.seconds:.0f} s of a core, {t.launching:.1f} s "
                         f"of them in {t.launches} launches" for side, t in ((side, self.total(side)) for side in SIDES))


def read(path: Path) -> Record:
    """The Record in a file."""
    held = json.loads(path.read_text())
    modules = {name: {side: Measured(**row) for side, row in sides.items()} for name, sides in held["modules"].items()}
    return Record(held["about"], modules, held["rest"])


def modules_of_tests(folder: Path) -> list[str]:
    """Such as "test_gpu_stump"."""
    return sorted(path.stem for path in folder.glob("test_gpu_*.py"))


def run_module(folder: Path, module: str, where: str) -> tuple[list[Result], Measured]:
    """The tests of a module, and what they took. where: one of SIDES."""
    with TemporaryDirectory() as made, inherited("sm_90", "off") if where == "machine" else nullcontext():
        told, clock = Path(made, "told.xml"), Path(made, "clock.json")
        environment = os.environ | {VARIABLE: str(clock)} | ({"NUMBA_ENABLE_CUDASIM": "1"} if where == "cudasim" else {})
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore",
                   "-p", "cuda_kernels.conformance.programs.stumpy_clock", f"--junitxml={told}",
                   str(folder / f"{module}.py")]

        def tested() -> NoReturn:
            with open(Path(made, "log"), "wb") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            os.execve(command[0], command, environment)

        end, seconds = limited(tested, LIMIT)
        tests = results_of(told.read_text(), module) if told.exists() else [Result(module, "", "failed", end, seconds)]
        passed = sum(test.outcome == "passed" for test in tests)
        launches, launching = json.loads(clock.read_text()) if clock.exists() else (0, 0.0)
        return tests, Measured(passed, len(tests) - passed, round(seconds, 1), launches, round(launching, 2))


def results_of(text: str, module: str) -> list[Result]:
    """The Results in what pytest writes as XML.

    >>> results_of('<a><testcase name="test_x" time="0.5"><failure>E   ValueError: no</failure></testcase></a>', "m")
    [Result(module='m', name='test_x', outcome='failed', reason='ValueError: no', seconds=0.5, launched=False)]
    """
    made = []
    for case in ElementTree.fromstring(text).iter("testcase"):
        name, outcome, reason = case.get("name", ""), "passed", ""
        for told in case:
            if told.tag == "skipped":
                outcome, reason = "not applicable", told.get("message", "")
            elif told.tag in ("failure", "error"):
                outcome, reason = reason_of(name, told.text or "")
        made.append(Result(module, name, outcome, reason, float(case.get("time", 0))))
    return made


def run(folder: Path, modules: Sequence[str]) -> Iterator[Record]:
    """The Record after each module of tests. Before that the smallest one runs on the machine, whose loop is compiled then
    if it is not kept from another run."""
    about = {name: version(name) for name in ("stumpy", "numba-cuda", "numba")}
    about |= {"python": sys.version.split()[0], "date": time.strftime("%Y-%m-%d"), "cores": str(os.cpu_count())}
    smallest = min(modules, key=lambda module: (folder / f"{module}.py").stat().st_size)
    about["seconds before, of a core"] = f"{run_module(folder, smallest, 'machine')[1].seconds:.0f}"
    record = Record(about)
    for module in modules:
        record.modules[module] = {}
        for side in SIDES:
            tests, record.modules[module][side] = run_module(folder, module, side)
            if side == "machine":
                record.rest.update({f"{module}::{test.name}": f"{test.outcome}: {test.reason}" for test in tests
                                    if test.outcome != "passed"})
        yield record


def main() -> None:
    """Runs the tests and writes the record."""
    parser = recording_parser_of("cuda_kernels.conformance.programs.stumpy_tests", __doc__, required=True)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="stumpy's tests")
    parser.add_argument("--modules", nargs="+", metavar="NAME", help="such as test_gpu_stump; all by default")
    given = parser.parse_args()
    folder = given.folder.resolve()
    for record in run(folder, given.modules or modules_of_tests(folder)):
        write_whole(given.json, json.dumps(asdict(record), indent=1) + "\n")
        print(record.text(), flush=True)


if __name__ == "__main__":
    ended_by(main)
