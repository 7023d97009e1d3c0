"""run: a kernel written in Python, a grid, a block and arguments, executed on the CPU."""

from collections.abc import Callable, Iterable
from inspect import signature
from itertools import zip_longest
from types import FunctionType
from typing import Any

import numpy as np

from simlayout.algebra.aliases import Progress
from simlayout.arguments import typed
from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.interrupts import put_off
from simlayout.machine.engine.global_memory import GlobalPointer
from simlayout.machine.engine.launch import Launch, Shape, run_grid
from simlayout.machine.engine.trace import Trace
from simlayout.machine.python.numbers import cast, kind_of
from simlayout.machine.python.rewrite import device_function, parameter_names
from simlayout.machine.python.turns import PythonTurns
from simlayout.machine.python.warp import PythonWarp
from simlayout.proofs import Access
from simlayout.wording import counted


@typed(MachineError, own=("kernel", "grid", "block", "shared_bytes", "arch", "progress", "hazards", "cluster"))
def run(kernel: Callable[..., Any], grid: int | tuple[int, ...], block: int | tuple[int, ...], *args: Any,
        shared_bytes: int = 0, arch: str = DEFAULT_ARCH, progress: Progress | None = None, hazards: str = "raise",
        accesses: Iterable[Access] = (), cluster: int | tuple[int, ...] = 1, together: bool = False,
        registers: int | None = None) -> Trace:
    """Executes a CUDA kernel written in Python on the CPU, warp by warp, counts its wavefronts and finds its hazards.

    kernel: a function as written for numba-cuda (or what numba.cuda.jit made of it); its globals or closure hold
    instruction objects: anything with an attribute `twin`, called as `twin(warp, *operands)` for 32 lanes at once.
    grid, block: ints or tuples of up to three, in CTAs and threads. args: NumPy arrays arrive as GlobalPointer (and are
    changed in place), numbers with the types that Numba gives them, everything else as it is: for TMA, a simlayout.TensorMap
    with an array.
    shared_bytes: dynamic shared memory per CTA, in bytes. arch: for the wavefront model. progress: called as
    progress(finished CTAs, all CTAs) after each one.
    hazards: "raise" the first one, "report" all of them in `Trace.hazards`, or "off"; the kinds are
    `simlayout.machine.KINDS`. accesses: simlayout.Access objects (a plan's, say): then every load through an index
    function with the `access_name` of one must meet the element that it declares ("wrong element"). cluster: how many CTAs,
    neighbours along x, or (x, y, z) as of the grid, form a cluster and run at the same time. together: whether all CTAs do,
    as a cooperative launch promises; then they may wait for one another. Counters in global memory order CTAs in either
    case. What the run does, one Event after the other, is told within `simlayout.machine.watching`.

    Returns a Trace. CTAs, or clusters, run one after another, unless together; warps take turns when they wait, always in
    the same order. What cp.async, TMA and wgmma bring comes at the last moment that PTX allows, and fresh shared memory is
    poisoned: a missing wait shows.

    Raises HazardError (what is not defined on a GPU; a deadlock whatever `hazards` says), MachineError (a construct the
    machine cannot run), AddressError (an access out of bounds or not aligned), or whatever the kernel raises; each says
    file, line, CTA and warp.

    >>> class TidX:
    ...     twin = staticmethod(lambda warp: warp.tid)
    >>> class CtaidX:
    ...     twin = staticmethod(lambda warp: warp.index[0])
    >>> class StoreGlobal:
    ...     twin = staticmethod(lambda warp, pointer, value: pointer.write(
    ...         warp.active, np.asarray(value, np.int32).reshape(32, 1).view(np.uint8)))
    >>> tid_x, ctaid_x, st_global = TidX(), CtaidX(), StoreGlobal()
    >>> def kernel(out, n):
    ...     tid = tid_x()
    ...     if tid < n and tid % 2 == 0:
    ...         st_global(out + 4 * tid, 10 * tid + ctaid_x())
    >>> out = np.zeros(6, np.int32)
    >>> trace = run(kernel, 1, 32, out, 5)
    >>> out.tolist()
    [0, 0, 20, 0, 40, 0]
    >>> trace = run(kernel, 2, 32, out, 5, hazards="report")     # two CTAs that write the same bytes, of which three differ
    >>> [(h.kind, h.bytes) for h in trace.hazards]
    [('global race', (0, 8, 16))]
    """
    launch = Launch(arch, hazards, accesses, registers)
    shape = Shape.of(grid, block, shared_bytes, cluster, together, launch)
    function = getattr(kernel, "py_func", kernel)
    _check_count(function, len(args))
    arguments = _arguments(launch, args, parameter_names(function))
    function = device_function(function, arguments)
    with put_off() as wait:
        run_grid(launch, shape, lambda cta, index: PythonTurns(PythonWarp(cta, index), function, arguments, wait), progress)
    return launch.trace()


def _check_count(function, count):
    """Raises MachineError unless a kernel takes so many arguments."""
    if not isinstance(function, FunctionType):           # which is refused later
        return
    takes = signature(function)
    try:
        takes.bind(*[None] * count)
    except TypeError as error:
        raise MachineError(f"{function.__name__}{takes} is given {counted(count, 'argument')}: {error}") from None


def _arguments(launch, args, names):
    """What the kernel receives; errors name the argument."""
    made = []
    for i, (value, name) in enumerate(zip_longest(args, names[:len(args)], fillvalue=""), 1):
        try:
            made.append(argument(launch, value))
        except MachineError as error:
            raise MachineError(f"argument {i}{f' ({name})' * bool(name)}: {error}") from None
        if isinstance(value, np.ndarray):
            launch.allocation(value).passed_as(i, name)
    return made


def argument(launch: Launch, value: Any) -> Any:
    """What the kernel receives: numbers of the types that Numba gives them (Python's are s64 and f64)."""
    if isinstance(value, np.ndarray):
        return GlobalPointer(launch.allocation(value))
    kind = kind_of(value)
    return value if kind is None else cast(value, kind)
