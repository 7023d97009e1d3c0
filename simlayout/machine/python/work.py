"""A Kernel's Work on the CPU machine: the arguments that its table names, and its launch."""

from typing import Any

from simlayout.arguments import typed
from simlayout.kernel import Map, Pointer, Work
from simlayout.machine.engine.trace import Trace
from simlayout.machine.python.run import run


@typed()
def execute(work: Work, progress: Any = None, hazards: str = "raise") -> Trace:
    """Fills the arrays of a Work by running its kernel's own Python function; returns the Trace of its accesses.

    progress, hazards: as of `run`. With hazards other than "off" loads are checked against the kernel's accesses.
    """
    kernel, shape = work.kernel, work.kernel.launch_shape(work.problem)
    arrays = work.arrays | work.spare()
    arguments = [_argument(value, arrays) for value in kernel.arguments(work.problem)]
    return run(kernel.body, shape.grid, shape.block, *arguments, shared_bytes=shape.shared_bytes, cluster=shape.cluster,
               registers=shape.registers, together=shape.together, progress=progress, hazards=hazards,
               accesses=kernel.accesses if hazards != "off" else ())


def _argument(value, arrays):
    """What the machine takes for the value of an Argument: an array, a TensorMap of one, or a number."""
    if isinstance(value, Pointer):
        return arrays[value.role]
    if isinstance(value, Map):
        return value.of(arrays[value.role])
    return value
