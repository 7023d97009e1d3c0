"""A run of pytest whose launches run on the CPU machine: who launched what, and the table at the end.

Each report of a test carries the rows of its launches, so that workers of pytest-xdist send theirs with it.
"""

from contextlib import ExitStack
from typing import Any

import pytest

from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import cuda_arch_of
from simlayout.programs.device import Launched, SimulatedDevice
from simlayout.programs.numba_cuda import NumbaOnDevice
from simlayout.testing.launches import Launches, Row, table
from simlayout.testing.marker import options_of


class LaunchFault(AssertionError):
    """A test that fails because of what its launches did."""

    __module__ = "builtins"                              # summaries name it without a path


class Session:
    """A plugin, registered by `simlayout.testing.plugin`. arch, hazards: of the options, None of hazards where it was not
    given; rows: of all tests that are over; in a worker of xdist of its own."""

    def __init__(self, config: pytest.Config):
        self.arch, self._strict = config.getoption("simlayout_arch"), config.getoption("simlayout_strict")
        self.hazards = config.getoption("simlayout_hazards")
        self._stack = ExitStack()
        self.rows: list[Row] = []
        self._launches = Launches()                      # since the phase of a test began, or between them
        try:
            cuda_arch_of(self.arch)
            self._device = SimulatedDevice(self.arch, self.hazards or "report", self.told)
            self._stack.enter_context(NumbaOnDevice(self._device))
        except SimlayoutError as error:
            raise pytest.UsageError(f"--simlayout: {error}") from None

    def told(self, launched: Launched) -> None:
        """Called with each launch."""
        self._launches.add(launched)
        self._device.launches.clear()                    # a suite has more of them than memory has room

    def pytest_unconfigure(self) -> None:
        """Numba is as it was."""
        self._stack.close()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        return self._judged(item, (yield))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        return self._judged(item, (yield))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item):
        return self._judged(item, (yield))

    def _judged(self, item, result):
        """Fails a phase of a test if its launches have faults, and they are to count."""
        if self._strict and options_of(item).get("strict", True) and (found := self._launches.faults()):
            raise LaunchFault(found)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.excinfo and call.excinfo.errisinstance(LaunchFault):
            report.longrepr = str(call.excinfo.value)    # a traceback would show pytest alone
        elif report.failed and (found := self._launches.faults()):
            report.sections.append(("launches of this test, by simlayout", found))      # they may be why it failed
        report.simlayout = [row.as_list() for row in self._launches.rows(item.nodeid)]
        self._launches.clear()
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Takes the rows of a report, be it of this process or of a worker."""
        self.rows += [Row(*row) for row in getattr(report, "simlayout", ())]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Writes the table."""
        terminalreporter.section(f"simlayout: launches on the CPU machine, {self.arch}", "=")
        for line in table(self.rows, looked=self.hazards != "off"):
            terminalreporter.write_line(line)
