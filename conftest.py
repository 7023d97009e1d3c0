"""What all tests and doctests share: no deadline, no workers for a test that is named, no COLUMNS, Ctrl-C, one thread of
BLAS, a collector of garbage that does not look through the tests themselves, and closed figures."""

import gc
import os
import signal
import sys
import threading

import pytest
from hypothesis import HealthCheck, settings

for profile, examples in (("simlayout", 45), ("thorough", 300)):          # pytest --hypothesis-profile=thorough
    settings.register_profile(profile, max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("simlayout")            # a busy machine fails no test


collect_ignore_glob = ["conftest.py", "*/conftest.py", "*/programs_warm.py"]
"""They have no doctests, and to look for some pytest would import them: each of the first two kinds as `conftest`, of which
there can be one, and the last would have every worker wait for the machine to be compiled before its first test."""


def pytest_configure(config):
    """COLUMNS is not what prints would go by in a shell: workers of xdist have one. NumPy's products take a thread for each
    core in each of as many workers, and those that wait do so at work: tests/matmul and tests/numerics took 52 s of the
    processor where they take 35, and one test five times as long while the machine was busy. And a job that a script starts
    in the background ignores SIGINT, as do its children: tests of Ctrl-C would wait for ever."""
    os.environ.pop("COLUMNS", None)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")           # before a worker starts, and NumPy is imported
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """None, where all that is asked for are tests by name: they are there before a worker has started. Else xdist's own
    number."""
    return 0 if config.args and all("::" in argument for argument in config.args) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Python's collector of garbage skips what the collection of tests makes, which stays to the end, and comes less often
    later: it took a sixth of the time of tests/machine and tests/plots."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        gc.enable()


@pytest.fixture(autouse=True)
def figures_closed():
    """Closes the figures that a test has drawn, which pyplot keeps. A test that draws nothing does not load Matplotlib."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def sdist_and_wheel(tmp_path_factory):
    """The paths of the project's sdist, and of the wheel that was built from it."""
    pytest.importorskip("build", reason="needs build: pip install 'simlayout[test]'")
    from distributions import build
    from once import made_once

    made = made_once(tmp_path_factory, "dist", lambda folder: build(tmp_path_factory.mktemp("project") / "copy", folder))
    return next(made.glob("*.tar.gz")), next(made.glob("*.whl"))


@pytest.fixture(scope="session")
def wheel(sdist_and_wheel):
    """The path of the wheel."""
    return sdist_and_wheel[1]
