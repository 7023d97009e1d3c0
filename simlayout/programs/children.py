"""Processes that a program starts: they simulate their device too, though nobody tells them to.

Each Python process that begins within `inherited` imports `begin`, which waits for the import of numba.cuda and puts a
SimulatedDevice in its place. The process that started it does not learn what it launches.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

VARIABLE = "SIMLAYOUT_PROGRAM"
"""Of the environment: the folder with the module that begins, the architecture, the mode of hazards, and "together" or
nothing, by ":"."""

_SITE = "from simlayout.programs.children import begin\n\nbegin()\n"


@contextmanager
def inherited(arch: str, hazards: str, together: bool = False) -> Iterator[None]:
    """A context: Python processes that begin in it have such a SimulatedDevice in the place of the GPU."""
    before = {name: os.environ.get(name) for name in (VARIABLE, "PYTHONPATH")}
    with TemporaryDirectory(prefix="simlayout-") as folder:
        Path(folder, "sitecustomize.py").write_text(_SITE)
        here = str(Path(__file__).resolve().parents[2])
        paths = [folder, *filter(None, [before["PYTHONPATH"]]), here]
        given = os.pathsep.join((folder, arch, hazards, "together" * together))
        os.environ |= {VARIABLE: given, "PYTHONPATH": os.pathsep.join(paths)}
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def begin() -> None:
    """Waits for numba.cuda, in a process that begins within `inherited`; goes on with the sitecustomize of others."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        return
    folder, arch, hazards, together = given.split(os.pathsep)
    sys.meta_path.insert(0, _Waiting(arch, hazards, bool(together)))
    sys.path[:] = [path for path in sys.path if path != folder]
    other = PathFinder.find_spec("sitecustomize", sys.path)
    if other is not None and other.loader is not None:
        other.loader.exec_module(module_from_spec(other))


class _Waiting(MetaPathFinder):
    """Puts a SimulatedDevice in its place as soon as numba.cuda is imported."""

    def __init__(self, arch: str, hazards: str, together: bool):
        self._device = arch, hazards, together

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """That of numba.cuda, whose loader goes on with the device."""
        if name != "numba.cuda":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                simulate(*self._device)

            spec.loader.exec_module = exec_module        # type: ignore[method-assign]
        return spec


def simulate(arch: str, hazards: str, together: bool = False) -> Any:
    """From now on numba-cuda uses a SimulatedDevice, which this returns."""
    from simlayout.programs.device import SimulatedDevice
    from simlayout.programs.numba_cuda import NumbaOnDevice

    device = SimulatedDevice(arch, hazards, together=together)
    NumbaOnDevice(device).__enter__()
    return device
