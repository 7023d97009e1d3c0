"""numba-cuda's own tests of its CUDA target, as installed with it, with launches on the CPU machine and under CUDASIM.

    python -m cuda_kernels.conformance.programs.numba_tests --json FILE [--modules NAME ...] [--only machine|cudasim]

Each module of tests runs in a process of its own, by pytest; Numba is imported once. It needs numba-cuda, pytest, and what
those tests import: cffi, filecheck, psutil, scipy. The table says of every test that did not pass why; what FILE holds of
other modules stays.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from cuda_kernels.bench.command import ended_by, recording_parser_of
from cuda_kernels.conformance.programs.numba_reasons import TOO_LARGE, area_of, reason_of
from simlayout.files import write_whole
from simlayout.programs.children import inherited

FOLDERS = "doc_examples", "cudapy", "cudadrv", "nrt", "core", "nocuda"
"""Of numba-cuda's tests; `cudasim` tests Numba's own simulator, `benchmarks` nothing."""

OUTCOMES = "passed", "refused", "not applicable", "failed"

LIMIT = 300
"""Seconds that a test may take."""


@dataclass(frozen=True)
class Result:
    """A test. module, name: such as "cudapy.test_print" and "TestPrint::test_cuhello"; outcome: one of OUTCOMES; reason: why
    it did not pass, "" where it did; seconds: it took; launched: whether it launched a kernel on the machine, or began a
    process, which may have."""

    module: str
    name: str
    outcome: str
    reason: str
    seconds: float
    launched: bool = False

    @property
    def needs_launch(self) -> bool:
        """Whether it counts among the tests of launches: also what the machine stopped before one."""
        return self.launched or self.outcome in ("refused", "failed")


@dataclass(frozen=True)
class Table:
    """What a run found. about: versions, date, cores; modules: {module: {"machine" or "cudasim": [tests of each of OUTCOMES,
    seconds of a core]}}, and "launching": those of the machine that need a launch, with seconds by the clock; rest:
    what did not pass on the machine: its name, outcome, reason, and the area of driver API that it needs, "" if none."""

    about: dict[str, str]
    modules: dict[str, dict[str, list[float]]]
    rest: tuple[dict[str, str], ...] = ()

    def counts(self, where: str) -> dict[str, int]:
        """{outcome: tests}. where: "machine", "cudasim" or "launching"."""
        rows = [row[where] for row in self.modules.values() if where in row]
        return {outcome: int(sum(row[i] for row in rows)) for i, outcome in enumerate(OUTCOMES)}

    def seconds(self, where: str) -> float:
        """Of a core, for all modules."""
        return sum(row[where][-1] for row in self.modules.values() if where in row)

    def share(self, where: str = "launching") -> float:
        """Of the tests that need no driver API beyond what is simulated, how many pass on the machine. where: "launching",
        only of those that need a launch, or "machine", of all. Tests that do not apply are in neither."""
        counts = self.counts(where)
        outside = sum(bool(test["area"]) for test in self.rest)
        return counts["passed"] / (counts["passed"] + counts["refused"] + counts["failed"] - outside)

    def cudasim_share(self) -> float:
        """Of the tests that apply to either, how many pass under CUDASIM: what it skips although the machine runs it does
        not pass."""
        total = sum(sum(row["machine"][i] for i in (0, 1, 3)) for row in self.modules.values() if "machine" in row)
        return self.counts("cudasim")["passed"] / total

    def text(self) -> str:
        """The counts and times as lines."""
        rows = [f"{where:9} " + ", ".join(f"{n} {what}" for what, n in self.counts(where).items())
                + (f", {self.seconds(where):.0f} s of a core" if where != "launching" else "")
                for where in ("machine", "launching", "cudasim")]
        causes = Counter((test["outcome"], test["reason"]) for test in self.rest)
        return "\n".join([*rows, *(f"{n:5} {outcome}: {reason}" for (outcome, reason), n in causes.most_common())])

    def after(self, before: "Table") -> "Table":
        """Both, and what is in this one only as it is here."""
        new = {module for module, row in self.modules.items() if "machine" in row}
        kept = tuple(test for test in before.rest if test["test"].partition("::")[0] not in new)
        modules = before.modules | {module: before.modules.get(module, {}) | row for module, row in self.modules.items()}
        return Table(self.about, dict(sorted(modules.items())), kept + self.rest)


def read(path: Path) -> Table:
    """The Table in a file."""
    found = json.loads(path.read_text())
    return Table(found["about"], found["modules"], tuple(found["rest"]))


def modules_of_tests() -> list[str]:
    """The modules of tests that are installed, such as "cudapy.test_print"."""
    root = _folder()
    return sorted(f"{folder}.{path.stem}" for folder in FOLDERS for path in (root / folder).glob("test_*.py"))


def _folder():
    spec = find_spec("numba_cuda")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit('numba-cuda is not installed: pip install "simlayout[cuda]"')
    return Path(spec.submodule_search_locations[0]) / "numba" / "cuda" / "tests"


def run_modules(modules: Sequence[str], where: str, limit: float = LIMIT) -> dict[str, tuple[list[Result], float]]:
    """{module: its Results, and the seconds that they took}. where: "machine" or "cudasim"."""
    simulated = inherited("sm_90", "off") if where == "machine" else nullcontext()
    with TemporaryDirectory() as folder, simulated:
        environment = os.environ | ({"NUMBA_ENABLE_CUDASIM": "1"} if where == "cudasim" else {})
        command = [sys.executable, "-m", "cuda_kernels.conformance.programs.numba_child", folder, str(limit), *modules]
        subprocess.run(command, env=environment, cwd=folder, check=True)
        return {module: _read(Path(folder), module) for module in modules}


def _read(folder, module):
    """(Results, seconds) of a module from what its process wrote."""
    told, end = folder / f"{module}.told", json.loads((folder / f"{module}.end").read_text())
    rows = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
    tests, begun = [], ""
    for row in rows:
        begun = row["name"] if row["outcome"] == "begun" else ""
        if row["outcome"] not in ("begun", "end"):
            tests.append(Result(module, row["name"], *_judged(row), row["seconds"], row["launched"]))
    if not rows or rows[-1]["outcome"] != "end":
        tests.append(Result(module, begun, "failed", end["end"], end["seconds"]))
    return tests, end["seconds"]


def _judged(row):
    """(outcome, reason) of a test as pytest told it."""
    if row["outcome"] == "passed":
        return "passed", ""
    if row["outcome"] == "skipped":
        reason = row["text"].removeprefix("Skipped: ")
        return "refused" if reason in TOO_LARGE.values() else "not applicable", reason
    return reason_of(row["name"], row["text"])


def run(modules: Sequence[str], where: Iterable[str], limit: float = LIMIT) -> Table:
    """A Table of modules of tests, run one after another."""
    about = {"numba-cuda": version("numba-cuda"), "numba": version("numba"), "python": sys.version.split()[0],
             "date": time.strftime("%Y-%m-%d"),
             "cores": str(os.cpu_count()), "limit": f"{limit:g} s a test"}
    rows: dict[str, dict[str, list[float]]] = {module: {} for module in modules}
    rest: list[dict[str, str]] = []
    for place in where:
        for module, (tests, took) in run_modules(modules, place, limit).items():
            rows[module][place] = _row(_once(tests), took)
            if place == "machine":
                launching = [test for test in _once(tests) if test.needs_launch]
                rows[module]["launching"] = _row(launching, round(sum(test.seconds for test in launching), 1))
                rest += [{"test": f"{module}::{test.name}", "outcome": test.outcome, "reason": test.reason,
                          "area": area_of(test.reason)} for test in _once(tests) if test.outcome != "passed"]
    return Table(about, rows, tuple(rest))


def _row(tests, seconds):
    """[tests of each of OUTCOMES, seconds]."""
    here = Counter(test.outcome for test in tests)
    return [*(here[outcome] for outcome in OUTCOMES), seconds]


def _once(tests):
    """Each test once: with subtests, by the worst of what came of them."""
    worst: dict[str, Result] = {}
    for test in tests:
        before = worst.get(test.name)
        if before is None or OUTCOMES.index(test.outcome) > OUTCOMES.index(before.outcome):
            worst[test.name] = test
    return list(worst.values())


def main() -> None:
    """Runs the tests and writes the table."""
    parser = recording_parser_of("cuda_kernels.conformance.programs.numba_tests", __doc__, required=True)
    parser.add_argument("--modules", nargs="+", metavar="NAME", help="such as cudapy.test_print; all by default")
    parser.add_argument("--only", choices=("machine", "cudasim"), help="both by default")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for each test")
    given = parser.parse_args()
    table = run(given.modules or modules_of_tests(), [given.only] if given.only else ("machine", "cudasim"), given.limit)
    if os.path.exists(given.json):
        table = table.after(read(given.json))
    write_whole(given.json, json.dumps(asdict(table), indent=1) + "\n")
    print(table.text())


if __name__ == "__main__":
    ended_by(main)
