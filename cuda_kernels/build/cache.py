"""Compiled kernels on disk, so that only the first process pays for a compilation.

A file holds the entry's name, the assembler and the machine code behind a checksum; it is written whole or not at all, and
one that does not check, or that another assembler made, is compiled again. Its name is a hash of the configuration, of the
source of both packages, of the compilers' versions and of the driver's.

SIMLAYOUT_CACHE names the folder; without it, $XDG_CACHE_HOME/simlayout or ~/.cache/simlayout. A user without a home, as in
some containers, has no cache unless told where: a folder that others can write, such as /tmp, would run their code.
"""

import hashlib
import os
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from cuda_kernels.build.assembler import assembler, is_still, surroundings
from simlayout.errors import SimlayoutError
from simlayout.files import write_whole

COMPILERS = ("numba", "numba-cuda", "llvmlite", "cuda-core", "nvidia-nvjitlink", "nvidia-cuda-nvcc")
"""Distributions whose version changes the machine code."""

_MAGIC = b"simlayout kernel 2\n"


def folder():
    """The cache's folder, as the environment says now; None where it names none and the user has no home."""
    named = os.environ.get("SIMLAYOUT_CACHE")
    if named:
        return Path(named)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simlayout"
    except RuntimeError:                             # neither HOME nor an entry among the users
        return None


def _file(config, driver):
    """Where a configuration is kept, or None."""
    place = folder()
    return place and place / f"{key(config, driver)}.kernel"


@lru_cache(1)
def _sources():
    """A hash of all Python source that a kernel may be made of: both packages."""
    root = str(Path(__file__).parents[2])
    digest = hashlib.sha256()
    for path in sorted(path for package in ("cuda_kernels", "simlayout") for path in _python(os.path.join(root, package))):
        digest.update(f"{path.removeprefix(root)}\0".encode())
        with open(path, "rb", buffering=0) as file:
            digest.update(file.read())
    return digest.hexdigest()


def _python(folder):
    """The paths of all Python files below a folder. (pathlib takes twice as long, a fortieth of a second.)"""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _python(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path


@lru_cache(1)
def _versions():
    versions = []
    for name in COMPILERS:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            pass
    return ", ".join(versions)


def key(config, driver=0):
    """The name of a configuration's file: a hash. config: a frozen dataclass whose repr holds all that it says; driver: the
    driver's version number."""
    return hashlib.sha256(f"{config!r}\n{_sources()}\n{_versions()}\n{driver}".encode()).hexdigest()[:40]


def compiled(config, driver=0):
    """(name of the entry, machine code) of a configuration, from the cache or from `config.compile()`.

    What cannot be read or written is compiled and used all the same.
    """
    path = _file(config, driver)
    entry = path and _read(path)
    if entry is None:
        entry = config.compile()
        if path is not None:
            _write(path, *entry)
    return entry


def holds(config, driver=0):
    """Whether a configuration's file is there; it may be damaged."""
    path = _file(config, driver)
    try:
        return path is not None and path.exists()
    except OSError:                                  # a folder that cannot be looked into
        return False


def _read(path):
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, body = data[: len(_MAGIC) + 32], data[len(_MAGIC) + 32:]
    if head != _MAGIC + hashlib.sha256(body).digest():
        return None
    name, assembled_by, under, code = body.split(b"\n", 3)
    return (name.decode(), code) if is_still(os.fsdecode(assembled_by), under.decode()) else None


def _write(path, name, code):
    body = os.fsencode(f"{name}\n{assembler()}\n{surroundings()}\n") + code
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _MAGIC + hashlib.sha256(body).digest() + body)
    except (OSError, SimlayoutError):
        pass                                         # a folder that cannot be written costs time, not the answer
