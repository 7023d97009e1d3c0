"""What is the same for all tests of a run, and takes long, is made by one worker of pytest-xdist, and not by each."""

import os
import time
from pathlib import Path

LONGEST = 600
"""Seconds for which a worker waits for another one."""


def made_once(tmp_path_factory, name, make):
    """The folder of that name that make(folder) has filled, in the first worker of this run that asks for it; the others
    wait meanwhile. Raises RuntimeError in these where it could not be made."""
    run = tmp_path_factory.getbasetemp()
    folder = (run.parent if "PYTEST_XDIST_WORKER" in os.environ else run) / name
    end = folder.with_name(f"{name} is made")
    try:
        folder.mkdir()
    except FileExistsError:
        return _waited_for(folder, end)
    fault = "not made"
    try:
        make(folder)
        fault = ""
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
        raise
    finally:
        _written_whole(end, fault)
    return folder


def _written_whole(path, text):
    """A file appears with what it says."""
    path.with_suffix(".part").write_text(text)
    os.replace(path.with_suffix(".part"), path)


def _waited_for(folder: Path, end: Path) -> Path:
    until = time.monotonic() + LONGEST
    while not end.exists():
        assert time.monotonic() < until, f"{folder} is not there after {LONGEST} seconds"
        time.sleep(0.05)
    if fault := end.read_text():
        raise RuntimeError(f"another worker could not make {folder}: {fault}")
    return folder
