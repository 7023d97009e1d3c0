"""What measurements on a computer without a GPU have alike: which computer it was, and what becomes of the record."""

import json
import os
import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from simlayout.files import write_whole

PACKAGES = ("numpy", "numba", "numba-cuda", "tensor-layouts")


def installed(package):
    """Its version, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu():
    """The CPU's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def about(command):
    """What a record starts with: date, CPU, versions, and the command that makes it."""
    return {"date": date.today().isoformat(), "cpu": cpu(), "cores": os.cpu_count(), "python": platform.python_version(),
            "versions": {package: installed(package) for package in PACKAGES}, "command": command}


def headline(record):
    """The same as a line of text."""
    packages = ", ".join(f"{name} {v}" for name, v in record["versions"].items() if v)
    return f"{record['cpu']}, {record['cores']} cores, Python {record['python']}, {packages}; {record['date']}"


def told(record, table, file):
    """Writes a record to a file, if one is named, and prints its table."""
    if file:
        write_whole(file, json.dumps(record, indent=1) + "\n")
    print(table(record))
