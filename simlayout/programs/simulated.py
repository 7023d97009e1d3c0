"""simulate: a kernel of Numba, Triton or CuPy, launched as it is written, and run without a GPU."""

from collections.abc import Callable
from typing import Any

from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.machine.engine.trace import Trace
from simlayout.programs.device import Launched, SimulatedDevice


def simulate(kernel: Any, *, arch: str = DEFAULT_ARCH, hazards: str = "raise",
             told: Callable[[Launched], None] | None = None, together: bool = False) -> "Simulated":
    """A kernel that is launched as always, `simulate(kernel)[grid, block, stream, shared_bytes](*args)`, and run by the
    CPU machine: each launch returns its Trace.

    kernel: what `numba.cuda.jit` makes, or a function written for it; what `triton.jit` makes, whose launch is
    `simulate(kernel)[grid](*args, num_warps=4)`; a `cupy.RawKernel`; a `cupy.RawModule`, of which `.get_function(name)`
    chooses; what `numba_cuda_mlir.cuda.jit` makes.
    arch: of the GPU. hazards: "raise", "report" or "off". told: called with each Launched. together: all CTAs at the same
    time, as in a cooperative launch: for kernels whose CTAs wait for one another.
    grid, block: ints or tuples of up to three; stream is taken and means nothing; shared_bytes: dynamic shared memory. args:
    as on a GPU; NumPy arrays, and Triton's torch tensors of the CPU, are changed in place. The kernel is compiled for each
    signature once, without a GPU, and its lines are those of the user's source.

    Raises MachineError for what is no kernel, or where its library is not installed; HazardError, AddressError as
    `simlayout.ptx`; and what the library itself raises.

    >>> import numpy as np
    >>> def add(x, y, out):
    ...     i = cuda.grid(1)
    ...     if i < out.size:
    ...         out[i] = x[i] + y[i]
    >>> from numba import cuda                                           # doctest: +SKIP
    >>> out = np.zeros(100)
    >>> simulate(add)[1, 128](np.ones(100), np.ones(100), out).hazards   # doctest: +SKIP
    ()
    """
    name = getattr(kernel, "__name__", None) or getattr(kernel, "name", None) or "kernels"
    return Simulated(_adapted(kernel, SimulatedDevice(arch, hazards, told, together=together)), name)


class Simulated:
    """A kernel on a device that is simulated. `simulated[grid, block, stream, shared_bytes](*args)` launches it; one of
    Triton `simulated[grid](*args)`, whose grid may be a tuple.

    kernel: the adapter of its library, which has `launch`, and `grid_alone` if its launches have a grid alone.
    """

    def __init__(self, kernel: Any, name: str):
        self._kernel, self._name = kernel, name

    def __repr__(self) -> str:
        return f"<simulated {self._name}>"

    def __getitem__(self, configuration: Any) -> Callable[..., Trace]:
        """What launches it: grid and block, and, if they are wanted, a stream and bytes of dynamic shared memory; of
        Triton a grid alone. Raises MachineError for fewer or more of them."""
        if getattr(self._kernel, "grid_alone", False):
            grid, block, shared_bytes = configuration, 1, 0
        else:
            given = configuration if isinstance(configuration, tuple) else (configuration,)
            if not 2 <= len(given) <= 4:
                raise MachineError("a launch has [grid, block] or [grid, block, stream, shared_bytes], not "
                                   f"{len(given)} of them")
            grid, block, _, shared_bytes = given + (0, 0)[len(given) - 2:]

        def launch(*args: Any, **options: Any) -> Trace:
            return self._kernel.launch(grid, block, shared_bytes, args, options)

        return launch

    def __call__(self, *args: Any, **options: Any) -> Trace:
        """Raises MachineError: a launch has a grid first."""
        how = "[grid]" if getattr(self._kernel, "grid_alone", False) else "[grid, block]"
        raise MachineError(f"{self._name} is launched with a grid: simulate({self._name}){how}(...)")

    def get_function(self, name: str) -> "Simulated":
        """A kernel of a `cupy.RawModule`, by its name or name expression, as CuPy's method. Raises MachineError."""
        from simlayout.programs import cupy_kernels

        if not hasattr(self._kernel, "named"):
            raise MachineError(cupy_kernels.NO_MODULE)
        return Simulated(self._kernel.named(name), name)


def _adapted(kernel, device):
    """The kernel by the adapter of its library."""
    from simlayout.programs import cupy_kernels, mlir_kernels, numba_cuda, triton_kernels

    if numba_cuda.is_kernel(kernel):
        return numba_cuda.NumbaKernel(kernel, device)
    if triton_kernels.is_kernel(kernel):
        return triton_kernels.TritonKernel(kernel, device)
    if cupy_kernels.is_kernel(kernel):
        return cupy_kernels.CupyKernel(kernel, device)
    if mlir_kernels.is_kernel(kernel):
        return mlir_kernels.MlirKernel(kernel, device)
    raise MachineError(f"{type(kernel).__name__} is no kernel that can be simulated: pass what numba.cuda.jit, "
                       "triton.jit or cupy.RawKernel make, or the PTX text to simlayout.ptx.load")
