"""pytest's plugin: the fixture `simulate`, and `pytest --simlayout`, which runs a suite's launches without a GPU.

pytest loads this module in every run (entry point pytest11), so it imports nothing that takes time: what a run needs comes
with its first use.
"""

import sys
from contextlib import contextmanager
from functools import partial

import pytest

from simlayout.progress import Console
from simlayout.testing.marker import HAZARDS, MARKER, fault_of, options_of

ARCH = "sm_90"

NO_GPU = "Numba found no GPU. `pytest --simlayout` runs the launches without one."


def pytest_addoption(parser):
    """--simlayout, --simlayout-strict, --simlayout-arch, --simlayout-hazards."""
    group = parser.getgroup("simlayout", "simlayout: GPU kernels without a GPU")
    group.addoption("--simlayout", action="store_true",
                    help="launches of Numba's CUDA kernels run on the CPU machine; a table of them at the end")
    group.addoption("--simlayout-strict", action="store_true",
                    help="the same, and a test whose launches have hazards or excess wavefronts of shared memory fails")
    group.addoption("--simlayout-arch", default=ARCH, metavar="ARCH", help=f"the GPU that is simulated (default: {ARCH})")
    group.addoption("--simlayout-hazards", choices=HAZARDS,
                    help="tell all, stop at the first, or do not look for any, which is faster (default: report; of the "
                         "fixture `simulate` raise)")


def pytest_configure(config):
    """Puts the simulated device in the driver's place, before anything is collected."""
    config.addinivalue_line("markers", MARKER)
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        Console.shown = partial(_shown, capture)
    if config.getoption("simlayout") or config.getoption("simlayout_strict"):
        from simlayout.testing.session import Session

        config.pluginmanager.register(Session(config), "simlayout-session")
    elif config.getoption("simlayout_arch") != ARCH or config.getoption("simlayout_hazards"):
        raise pytest.UsageError("--simlayout-arch and --simlayout-hazards say how launches are simulated: give --simlayout")


def pytest_runtest_setup(item):
    """Fails a test whose marker says what there is not: it would have none of its options otherwise."""
    if fault := fault_of(item):
        pytest.fail(fault, pytrace=False)


@contextmanager
def _shown(capture):
    """Stderr is what the user sees. Afterwards pytest puts its own streams in place: whoever had put another there before,
    as doctest does, gets that back."""
    streams = sys.stdout, sys.stderr
    with capture.global_and_fixture_disabled():
        yield
    sys.stdout, sys.stderr = streams


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Says what to do where a kernel was launched and there is no GPU."""
    report = yield
    if call.excinfo is not None and call.excinfo.typename == "CudaSupportError":
        report.sections.append(("simlayout", NO_GPU))
    return report


@pytest.fixture
def simulate(request):
    """simlayout.simulate, with the options of the marker `simlayout` of the test: `simulate(kernel)[grid, block](*args)`
    returns the Trace of the launch."""
    from simlayout.programs import simulate

    options = options_of(request.node)
    options.pop("strict", None)
    session = request.config.pluginmanager.get_plugin("simlayout-session")
    if session is not None:
        options = {"arch": session.arch, "told": session.told, "hazards": session.hazards or "raise"} | options
    return partial(simulate, **options)
