"""One kernel on both front ends of the machine: as the Python function that it is, and as the PTX that Numba makes of it."""

from collections import Counter
from dataclasses import replace
from functools import wraps
from types import CellType, FunctionType

import numpy as np

from cuda_kernels.build.compile import marks, ptx
from cuda_kernels.intrinsics import Instruction
from simlayout import machine
from simlayout.machine.python.work import _argument
from simlayout.ptx import load


class Changed:
    """A Kernel with another body; everything else is the kernel's own."""

    def __init__(self, kernel, body):
        self.kernel, self.body = kernel, body

    def __getattr__(self, name):
        return getattr(self.kernel, name)


def without(kernel, *instructions):
    """The Kernel whose instructions of these names do nothing."""
    nothing = {}

    def resolve(value):
        if isinstance(value, Instruction) and value.name in instructions:
            if value not in nothing:
                twin = wraps(value.twin)(lambda *operands: None)
                nothing[value] = replace(value, text="", twin=twin, lowering=None)
            return nothing[value]
        return rebound(value) if isinstance(value, FunctionType) and value.__module__.startswith("cuda_kernels") else value

    done = {}

    def rebound(function):
        if function not in done:
            scope = dict(function.__globals__)
            made = FunctionType(function.__code__, scope, function.__name__, function.__defaults__,
                                tuple(CellType(resolve(cell.cell_contents)) for cell in function.__closure__ or ()))
            made.__module__, made.__doc__, done[function] = function.__module__, function.__doc__, made
            made.__dict__.update(function.__dict__)
            names = set(function.__code__.co_names)
            scope.update({name: resolve(scope[name]) for name in names if name in scope})
        return done[function]

    return Changed(kernel, rebound(kernel.body))


def in_python(work, hazards="raise"):
    """(Results, Trace) of a Work whose kernel runs as a Python function."""
    return machine.execute(work, None, hazards), work.results()


def in_ptx(work, hazards="raise", marked=True):
    """The same by way of PTX. marked: whether the instructions of an access carry its line."""
    kernel, shape = work.kernel, work.kernel.launch_shape(work.problem)
    arrays = work.arrays | work.spare()
    arguments = [_argument(value, arrays) for value in kernel.arguments(work.problem)]
    arguments = [bytes(128) if value is None else value for value in arguments]           # a tensor map that is not used
    entry = load(ptx(kernel, marked=marked)).entry()
    trace = entry.run(shape.grid, shape.block, *arguments, shared_bytes=shape.shared_bytes, cluster=shape.cluster,
                      together=shape.together, hazards=hazards)
    return trace, work.results()


def by_access(kernel, trace):
    """{name of an access: instructions, wavefronts, ideal}, of a trace of PTX by the lines that mark them."""
    names, found = {line: name for name, line in marks(kernel).items()}, Counter()
    for count in trace.lines:
        name = names.get(count.line, count.name)
        if name in marks(kernel):
            found[name, count.instruction] += np.array([count.instructions, count.wavefronts, count.ideal])
    return {key: tuple(numbers.tolist()) for key, numbers in found.items()}


def by_instruction(trace):
    """{instruction: instructions, wavefronts, ideal, bytes}."""
    return {c.instruction: (c.instructions, c.wavefronts, c.ideal, c.bytes) for c in trace.by_instruction()}
