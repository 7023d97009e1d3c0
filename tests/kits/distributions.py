"""The project as others get it: its sdist and its wheel, built from a copy of what they are made of."""

import os
import subprocess
import sys
from shutil import copytree, ignore_patterns

from places import ROOT

PACKAGES = ("simlayout", "cuda_kernels")
FILES = ("pyproject.toml", "README.md", "LICENSE")
NOT_SHIPPED = ("cuda_kernels/lab/", *(f"cuda_kernels/conformance/{name}/" for name in (
    "foreign", "fragments", "gemms", "opcodes", "products", "programs")))
"""What needs a checkout's records."""


def shipped():
    """What the wheel must hold of the packages, as paths within the repository."""
    found = (path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    return {path.as_posix() for path in found
            if "__pycache__" not in path.parts and not path.as_posix().startswith(NOT_SHIPPED)}


def data_files():
    """Those of `shipped` that are not Python."""
    return {name for name in shipped() if not name.endswith(".py")}


def build(copy, into):
    """Builds the sdist, and the wheel from the sdist, in a copy of the project; returns their paths."""
    for package in PACKAGES:
        copytree(ROOT / package, copy / package, ignore=ignore_patterns("__pycache__"))
    for file in FILES:
        (copy / file).write_bytes((ROOT / file).read_bytes())
    done = subprocess.run([sys.executable, "-m", "build", "--outdir", into, copy], env=outside(), cwd=into,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (sdist,), (wheel,) = into.glob("*.tar.gz"), into.glob("*.whl")
    return sdist, wheel


def outside(**more):
    """The environment variables for a fresh Python: nothing that would let it see the repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))} | more
