"""One run for every kernel: on the CPU machine or on the GPU, with the same arguments and answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cuda_kernels.run.cuda import Gpu
from cuda_kernels.run.device import gpu_problem
from simlayout import machine
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.kernel import CPU_SMS, Kernel, Work


class CpuMachine:
    """Runs kernels without a GPU: what each of their threads does, counted and checked."""

    name = "CPU machine"
    sms = CPU_SMS
    packed = False
    """It reads matrices where they lie."""

    def launch(self, work: Work, progress: Any = None, hazards: str = "raise") -> machine.Trace:
        """Fills the arrays of a Work; returns the Trace of its accesses."""
        return machine.execute(work, progress, hazards)


@dataclass(frozen=True)
class Run:
    """What a run gave. results: NumPy arrays; device: what computed them; trace: of the accesses, from the CPU machine."""

    results: tuple
    device: str
    trace: Any = None

    @property
    def c(self) -> np.ndarray:
        """The result, of a kernel that has one."""
        (result,) = self.results
        return result


def backend(kernel: Kernel, device: str = "auto") -> CpuMachine | Gpu:
    """What runs a kernel: `device` is "gpu", "cpu" (the CPU machine) or "auto" (a GPU, if there is one that can run it).

    Raises SimlayoutError for another word, DeviceError where "gpu" has none for it.
    """
    if device not in ("auto", "gpu", "cpu"):
        raise SimlayoutError(f'device {device!r}: choose "auto", "gpu" or "cpu"')
    problem = "not asked for" if device == "cpu" else gpu_problem(kernel.needs)
    if device == "gpu" and problem:
        raise DeviceError(problem)
    return CpuMachine() if problem else Gpu()


def run(kernel: Kernel, *inputs: Any, device: str = "auto", progress: Any = None, hazards: str = "raise",
        sms: int | None = None) -> Run:
    """What one launch of a kernel makes of NumPy arrays: of a GEMM kernel, a @ b.

    inputs: of a GEMM kernel a (M, K) and b (K, N), of the kernel's dtype, of any strides. device: as of `backend`. progress:
    called with (CTAs done, CTAs) on the CPU machine. hazards: "raise", "report" or "off", what the CPU machine does about
    races and the like (`simlayout.machine.run`). sms: how many SMs the grid of a persistent kernel is for; those of the GPU,
    or 2 on the CPU machine, where they are not given.

    Raises SimlayoutError for other input, DeviceError where "gpu" has none.

    >>> from cuda_kernels import KERNELS
    >>> a, b = np.ones((16, 16), np.float16), np.eye(16, 8, dtype=np.float16)
    >>> run(KERNELS["mma_permuted"], a, b, device="cpu").c.sum()
    np.float16(128.0)
    """
    on = backend(kernel, device)
    work = kernel.work(*inputs, sms=sms or on.sms, packed=on.packed)
    trace = on.launch(work, progress, hazards)
    return Run(work.results(), on.name, trace)
