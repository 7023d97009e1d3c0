"""Runs a problem on NumPy matrices: on the GPU, or on the CPU machine, with the same arguments and answer."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cuda_kernels.build.compile import bound_kernel, signature
from cuda_kernels.run.device import device_name, goes_to_gpu, on_gpu


@dataclass(frozen=True)
class Run:
    """results: the problem's matrices, f16; device: what computed them; trace: of the accesses, from the CPU machine."""

    results: tuple
    device: str
    trace: object = None


def run(practical, *matrices, n=None, device="cpu", hazards="raise"):
    """Solves one problem.

    practical: a Practical. matrices: f16 NumPy arrays of its shapes; n: the power, for problem 1.1 (2 if not given). device:
    "gpu", "cpu" (the CPU machine) or "auto" (the GPU if there is one). hazards: "raise", "report" or "off", what the CPU
    machine does about races and the like (`simlayout.machine.run`).

    Returns a Run. Raises SimlayoutError for other input, DeviceError where "gpu" has none.

    >>> from cuda_kernels.kernels.practical import PROBLEMS
    >>> done = run(PROBLEMS["1.1", "xor"], 2 * np.eye(16, dtype=np.float16), n=5)
    >>> int(done.results[0][3, 3]), done.trace.count("load left (xor)").instructions
    (32, 4)
    """
    n = (2 if practical.takes_power else 1) if n is None else n
    practical.check_inputs(matrices, n)
    by_gpu = goes_to_gpu(device)
    inputs = [np.ascontiguousarray(m) for m in matrices]
    results = [np.full(shape, np.nan, np.float16) for shape in practical.results]
    numbers = (int(n),) if practical.takes_power else ()
    if by_gpu:
        return _run_gpu(practical, inputs, results, numbers)
    return _run_cpu(practical, inputs, results, numbers, hazards)


def _run_cpu(practical, inputs, results, numbers, hazards):
    from simlayout import machine

    trace = machine.run(practical.body, 1, practical.block, *inputs, *results, *numbers, shared_bytes=practical.shared_bytes,
                        hazards=hazards, accesses=practical.accesses if hazards != "off" else ())
    return Run(tuple(results), "CPU machine", trace)


@lru_cache(None)
def _dispatcher(practical):
    """The kernel compiled for the current GPU, kept. At most 32 KB of shared memory: no attribute has to be set."""
    from numba import cuda

    return cuda.jit(signature(practical.signature), launch_bounds=(practical.block, 1))(bound_kernel(practical.body))


def _run_gpu(practical, inputs, results, numbers):
    configured = _dispatcher(practical)[1, practical.block, 0, practical.shared_bytes]
    found = on_gpu(practical.name, lambda *addresses: configured(*map(np.uint64, addresses), *map(np.int32, numbers)),
                   inputs, results)
    return Run(tuple(found), device_name())
