"""Runs modules of numba-cuda's tests by pytest, and writes what came of each test as a line of JSON: see numba_tests.

    python -m cuda_kernels.conformance.programs.numba_child FOLDER SECONDS MODULE ...

Numba is imported once; each module has a process that is forked from that one, each test at most so many seconds.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

from cuda_kernels.conformance.programs.numba_reasons import TOO_LARGE
from simlayout.programs.device import SimulatedDevice

PACKAGE = "numba.cuda.tests"

MOST_TESTS = 10
"""How many times as long as one test a module may take, whose process could also hang."""


class Told:
    """A pytest plugin that imports the module of tests by its name, and writes a line for each test as soon as it is
    over."""

    def __init__(self, module: str, path: Path, limit: float):
        self._module, self._limit = module, limit
        self._file = open(path, "w", buffering=1)        # until the process ends
        self._launched = False
        _watch_launches(self._launch)

    def _launch(self):
        self._launched = True

    def _tell(self, name, outcome, text, seconds):
        row = {"name": name, "outcome": outcome, "text": text, "seconds": round(seconds, 2), "launched": self._launched}
        print(json.dumps(row), file=self._file)

    def pytest_pycollect_makemodule(self, module_path: Path, parent: Any) -> Any:
        """The module, imported as a part of numba.cuda: by its path pytest would take it for one of numba_cuda."""
        name = f"{PACKAGE}.{self._module}"

        class Named(pytest.Module):
            def _getobj(self):
                return import_module(name)

        return Named.from_parent(parent, path=module_path)

    def pytest_collect_directory(self, path: Path, parent: Any) -> Any:
        """No package, whose __init__ pytest would import by its path."""
        return pytest.Dir.from_parent(parent, path=path)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leaves out what is too large."""
        for item in items:
            if item.name in TOO_LARGE:
                item.add_marker(pytest.mark.skip(reason=TOO_LARGE[item.name]))

    @pytest.fixture
    def initialize_from_pytest_config(self, request: Any) -> None:
        """What the conftest of numba-cuda's repository gives its tests: whether they keep what FileCheck refused."""
        request.instance._dump_failed_filechecks = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        """A test has so many seconds."""
        def over(*_: Any) -> NoReturn:
            raise TimeoutError(f"no end within {self._limit:.0f} s")

        signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, self._limit)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """A test begins: if it never ends, the line says which."""
        self._launched = False
        self._tell(nodeid.partition("::")[2], "begun", "", 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A part of a test is over."""
        if report.when != "call" and report.passed or type(report).__name__ == "SubtestReport" and not report.failed:
            return
        text = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else str(report.longrepr or "")
        outcome = report.outcome if not hasattr(report, "wasxfail") else "passed" if report.skipped else "failed"
        self._tell(report.nodeid.partition("::")[2], outcome, text, report.duration)

    def pytest_collectreport(self, report: Any) -> None:
        """A module that cannot be imported, or skips itself."""
        if not report.passed:
            text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self._tell("", "skipped" if report.skipped else "failed", text, 0)

    def pytest_sessionfinish(self) -> None:
        """All are over."""
        self._tell("", "end", "", 0)


def _watch_launches(tell: Callable[[], None]) -> None:
    """tell: called when a kernel is launched on the machine, and when a process begins, which may launch some."""
    def begun(event: str, _: Any) -> None:
        if event in ("subprocess.Popen", "os.posix_spawn", "os.fork"):
            tell()

    def counted(*args: Any, **options: Any) -> Any:
        tell()
        return launch(*args, **options)

    sys.addaudithook(begun)
    launch = SimulatedDevice.launch
    SimulatedDevice.launch = counted                     # type: ignore[method-assign]


def tested(module: str, folder: Path, limit: float) -> NoReturn:
    """Runs a module's tests, and ends this process."""
    with open(folder / f"{module}.log", "wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    path = Path(import_module("numba.cuda").__path__[0], "tests", *module.split(".")).with_suffix(".py")
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull, "-q", "--tb=short"]
    told = Told(module, folder / f"{module}.told", limit)
    try:
        pytest.main([str(path), *options], plugins=[told])
    finally:
        os._exit(0)


def limited(run: Callable[[], NoReturn], seconds: float) -> tuple[str, float]:
    """(how a forked process that runs something ended, as text; seconds that it and its children had a core)."""
    child, end = os.fork(), time.monotonic() + seconds
    if not child:
        os.setpgid(0, 0)
        run()
    while time.monotonic() < end:
        gone, status, used = os.wait4(child, os.WNOHANG)
        if gone:
            return f"the process ended with {os.waitstatus_to_exitcode(status)}", used.ru_utime + used.ru_stime
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    _, _, used = os.wait4(child, 0)
    return f"no end within {seconds:.0f} s", used.ru_utime + used.ru_stime


def main(folder: Path, seconds: float, modules: list[str]) -> None:
    """Runs all modules, one after another."""
    import_module("numba.cuda")
    for module in modules:
        end, used = limited(lambda module=module: tested(module, folder, seconds), MOST_TESTS * seconds)  # type: ignore[misc]
        (folder / f"{module}.end").write_text(json.dumps({"end": end, "seconds": round(used, 1)}))
        print(f"{module}: {end}, {used:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
