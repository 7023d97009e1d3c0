"""A warp that runs rewritten Python."""

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np

from simlayout.machine.engine.cta import Cta
from simlayout.machine.engine.global_memory import GlobalPointer
from simlayout.machine.engine.warp import Warp
from simlayout.machine.python.flow import Flow
from simlayout.machine.python.registers import RegisterArray
from simlayout.machine.python.syntax import WARP_NAME


class PythonWarp(Flow, Warp):
    """32 lanes that run a kernel function and the device functions that it calls."""

    def __init__(self, cta: Cta, warp_index: int):
        Warp.__init__(self, cta, warp_index)
        self.elements, self.cancelled, self.inside = cta.launch.elements, False, []

    def current_line(self) -> tuple[str, int] | None:
        """(file, line) of the kernel code that is being executed, None if there is none."""
        return next(((frame.f_code.co_filename, frame.f_lineno) for frame in _kernel_frames()), None)

    def variables(self) -> list:
        """What the names hold in all kernel functions that are being executed."""
        return [{name: _frozen(value) for name, value in frame.f_locals.items()} for frame in _kernel_frames()]


def _kernel_frames() -> Iterator[FrameType]:
    """The frames of kernel code that lead here, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if WARP_NAME in frame.f_code.co_varnames:
            yield frame
        frame = frame.f_back


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tobytes()
    if isinstance(value, RegisterArray):
        return value.values.tobytes()
    if isinstance(value, GlobalPointer):
        return _frozen(value.offset)
    if isinstance(value, tuple | list):
        return [_frozen(one) for one in value]
    return value if isinstance(value, int | float | str) else id(value)
