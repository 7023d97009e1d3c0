"""gpu_or_cpu: a lesson's job on the GPU, or, wherever that does not work, on the CPU machine.

A notebook runs on machines that nobody chose: on Colab the GPU is too old for cp.async, or there is none, and Numba has a
CUDA target of its own or an older numba-cuda. None of that may end a lesson.
"""

from collections.abc import Callable
from typing import Any

from simlayout.arguments import typed


@typed()
def gpu_or_cpu(problem: Callable[[], str | None], gpu: Callable[[], Any], cpu: Callable[[], Any]) -> Any:
    """What gpu() returns; or, where no GPU does it, what cpu() returns, after a sentence that says why.

    problem: called without arguments; why no GPU can do it, as a sentence, or None (`cuda_kernels.run.device.gpu_problem`).
    gpu, cpu: the job, called without arguments, at most once each; what cpu() raises is raised.

    >>> gpu_or_cpu(lambda: "no CUDA GPU on this machine", lambda: "1024 rows", lambda: "64 rows")
    on the CPU machine: no CUDA GPU on this machine
    '64 rows'
    """
    try:
        why = problem()
        if why is None:
            return gpu()
    except Exception as error:                           # drivers and compilers have error classes of their own, by version
        why = f"the GPU did not do it ({type(error).__name__}: {next(iter(str(error).splitlines()), '')})"
    print(f"on the CPU machine: {why}")
    return cpu()
