"""`run` executes any kernel, on the CPU machine or on the GPU, with the same arguments and results."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cuda_kernels.run.cuda import Gpu
from cuda_kernels.run.device import gpu_problem
from simlayout import machine
from simlayout.errors import DeviceError, SimlayoutError, require
from simlayout.kernel import CPU_SMS, Kernel, Work


class CpuMachine:
    """Runs kernels without a GPU, thread by thread, and counts and checks what they do."""

    name = "CPU machine"
    sms = CPU_SMS
    packed = False
    """The CPU machine reads matrices in place, with their gaps."""

    def launch(self, work: Work, progress: Any = None, hazards: str = "raise") -> machine.Trace:
        """Fills the arrays of a Work; returns the Trace of its accesses."""
        return machine.execute(work, progress, hazards)


@dataclass(frozen=True)
class Run:
    """The result of a run. results: NumPy arrays; device: the name of the GPU, or "CPU machine"; trace: the CPU machine's
    Trace of the accesses, None from a GPU."""

    results: tuple
    device: str
    trace: Any = None

    @property
    def c(self) -> np.ndarray:
        """The result of a kernel that has only one."""
        (result,) = self.results
        return result


def backend(kernel: Kernel, device: str = "auto") -> CpuMachine | Gpu:
    """The backend that runs a kernel. device: "gpu", "cpu" (the CPU machine) or "auto" (a GPU if there is one that can).

    Raises SimlayoutError for any other `device` and for what is no kernel, DeviceError if it is "gpu" and no GPU can run it.

    >>> from cuda_kernels import KERNELS
    >>> backend(KERNELS["mma_permuted"], "cpu").name
    'CPU machine'
    """
    require(Kernel, "run", kernel)
    if device not in ("auto", "gpu", "cpu"):
        raise SimlayoutError(f'device {device!r}: choose "auto", "gpu" or "cpu"')
    problem = "not asked for" if device == "cpu" else gpu_problem(kernel.needs)
    if device == "gpu" and problem:
        raise DeviceError(problem)
    return CpuMachine() if problem else Gpu()


def run(kernel: Kernel, *inputs: Any, device: str = "auto", progress: Any = None, hazards: str = "raise",
        sms: int | None = None) -> Run:
    """Launches a kernel once on NumPy arrays and returns the Run. A GEMM kernel computes a @ b.

    inputs: for a GEMM kernel a (M, K) and b (K, N), of the kernel's dtype, with any strides. device: as in `backend`.
    progress: called with (CTAs done, CTAs) on the CPU machine. hazards: what the CPU machine does about races and other
    hazards, "raise", "report" or "off" (see `simlayout.machine.run`). sms: the number of SMs for which the grid of a
    persistent kernel is made (default: those of the GPU, or 2 on the CPU machine).

    Raises SimlayoutError for inputs that do not fit the kernel, DeviceError if device is "gpu" and no GPU can run it.

    >>> from cuda_kernels import KERNELS
    >>> a, b = np.ones((16, 16), np.float16), np.eye(16, 8, dtype=np.float16)
    >>> run(KERNELS["mma_permuted"], a, b, device="cpu").c.sum()
    np.float16(128.0)
    """
    on = backend(kernel, device)
    work = kernel.work(*inputs, sms=sms or on.sms, packed=on.packed)
    trace = on.launch(work, progress, hazards)
    return Run(work.results(), on.name, trace)
