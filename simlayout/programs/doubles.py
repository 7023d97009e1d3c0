"""Arithmetic of float64 that a Numba kernel has by accident: Python's floats are float64, and so is what they meet."""

import inspect
import re
from collections.abc import Sequence
from os.path import basename
from typing import Any

import numpy as np

from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.units import named
from simlayout.machine.ptx.entry import Entry

DOUBLES = "arithmetic of float64, though all arrays are of float32 or integers"
"""What is noted."""

WHY = ("0.5, s = 0.0, int / int, float32 * int and Python floats that are passed are float64, and so is what they meet; "
       "float32(0.5) keeps it float32, which GPUs that are not for float64 (GeForce) compute at many times the rate")

_COMPUTE = {"add", "sub", "mul", "mad", "fma", "div", "sqrt", "rcp", "rsqrt"}
_ASKED = re.compile(r"\b(?<!def )(float64|double|complex128|f8|c16)\b")
_COMMENT = re.compile("#.*")


def doubles(kernel: Any, args: Sequence[Any], entry: Entry, trace: Trace) -> tuple[str, ...]:
    """What is noted of a launch of a compiled kernel of numba-cuda: nothing if an array holds float64, or if its source, its
    signature or what they name says that."""
    types = [getattr(getattr(arg, "value", arg), "dtype", None) for arg in args if getattr(arg, "shape", ())]
    if not types or not all(map(_is_single, types)) or np.float32 not in types or _asks(getattr(kernel, "py_func", None)):
        return ()
    sites = {step.site for step in entry.program.steps if _computes(step.name)}
    lines = sorted({site for site, times in trace.executed.items() if times and site in sites and site[0].endswith(".py")
                    and "-packages" not in site[0]})
    if not lines:
        return ()
    (file, _), *_ = lines
    return (f"{basename(file)}, {named('line', [number for of, number in lines if of == file])}: {DOUBLES}: {WHY}",)


def _is_single(dtype):
    return isinstance(dtype, np.dtype) and (dtype.kind in "iub" or dtype in (np.float32, np.float16))


def _computes(name):
    opcode, *modifiers = name.split(".")
    return opcode in _COMPUTE and modifiers[-1] == "f64"


def _asks(function):
    """Whether the code of a function, or of one that it calls, says float64, by that name or another one. One not known
    may."""
    todo, seen = [function], set()
    while todo:
        function = todo.pop()
        seen.add(function)
        try:
            source = _COMMENT.sub("", inspect.getsource(function)).replace(function.__doc__ or "", "")
            names = inspect.getclosurevars(function)
        except (OSError, TypeError):
            return True
        values = [*names.globals.values(), *names.nonlocals.values()]
        called = {getattr(value, "name", getattr(value, "__name__", "")) for value in values}
        if _ASKED.search(source) or any(isinstance(name, str) and _ASKED.fullmatch(name) for name in called):
            return True
        todo += [value.py_func for value in values if inspect.isfunction(getattr(value, "py_func", None))
                 and value.py_func not in seen]
    return False
