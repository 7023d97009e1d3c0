"""The GPU tests of stumpy (time series, 8 modules of tests) with launches on the CPU machine and under CUDASIM.

    python -m cuda_kernels.conformance.programs.stumpy_tests FOLDER --json FILE [--modules NAME ...]

FOLDER: `tests` of stumpy's source distribution (pip download --no-deps --no-binary stumpy stumpy), of the version that is
installed; it needs stumpy, numba-cuda, pytest and pandas. Each module runs in a process of its own, under CUDASIM and right
after that on the machine, both with compiled CPU code; neither looks for hazards.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn
from xml.etree import ElementTree

from cuda_kernels.conformance.programs.numba_child import limited
from cuda_kernels.conformance.programs.numba_reasons import reason_of
from cuda_kernels.conformance.programs.numba_tests import OUTCOMES, Result, Table
from simlayout.programs.children import inherited

LIMIT = 3600
"""Seconds that a module may take."""


def modules_of_tests(folder: Path) -> list[str]:
    """Such as "test_gpu_stump"."""
    return sorted(path.stem for path in folder.glob("test_gpu_*.py"))


def run_module(folder: Path, module: str, where: str) -> tuple[list[Result], float]:
    """(Results, seconds of a core) of a module. where: "machine" or "cudasim"."""
    with TemporaryDirectory() as made, inherited("sm_90", "off") if where == "machine" else nullcontext():
        told = Path(made, "told.xml")
        environment = os.environ | ({"NUMBA_ENABLE_CUDASIM": "1"} if where == "cudasim" else {})
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore",
                   f"--junitxml={told}", str(folder / f"{module}.py")]

        def tested() -> NoReturn:
            with open(Path(made, "log"), "wb") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            os.execve(command[0], command, environment)

        end, seconds = limited(tested, LIMIT)
        if not told.exists():
            return [Result(module, "", "failed", end, seconds)], seconds
        return results_of(told.read_text(), module), seconds


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


def run(folder: Path, modules: Sequence[str]) -> Iterator[Table]:
    """A Table of modules of tests, after each of them. Before that the smallest one runs on the machine, whose loop is
    compiled then if it is not kept from another run."""
    about = {name: version(name) for name in ("stumpy", "numba-cuda", "numba")}
    about |= {"python": sys.version.split()[0], "date": time.strftime("%Y-%m-%d"), "cores": str(os.cpu_count())}
    smallest = min(modules, key=lambda module: (folder / f"{module}.py").stat().st_size)
    about["seconds before, of a core"] = f"{run_module(folder, smallest, 'machine')[1]:.0f}"
    rows: dict[str, dict[str, list[float]]] = {}
    rest: list[dict[str, str]] = []
    for module in modules:
        rows[module] = {}
        for where in ("cudasim", "machine"):
            tests, seconds = run_module(folder, module, where)
            found = Counter(test.outcome for test in tests)
            rows[module][where] = [*(found[outcome] for outcome in OUTCOMES), round(seconds, 1)]
            rest += [{"test": f"{module}::{test.name}", "outcome": test.outcome, "reason": test.reason}
                     for test in tests if test.outcome != "passed" and where == "machine"]
        yield Table(about, rows, tuple(rest))


def main() -> None:
    """Runs the tests and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])      # type: ignore[union-attr]
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="stumpy's tests")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE",
                        help="where the table is written, after each module")
    parser.add_argument("--modules", nargs="+", metavar="NAME", help="such as test_gpu_stump; all by default")
    given = parser.parse_args()
    folder = given.folder.resolve()
    for table in run(folder, given.modules or modules_of_tests(folder)):
        given.json.write_text(json.dumps(asdict(table), indent=1) + "\n")
        print(table.text(), flush=True)


if __name__ == "__main__":
    main()
