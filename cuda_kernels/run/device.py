"""Which GPU there is, and why a kernel cannot run on it."""

from importlib.metadata import PackageNotFoundError, version

from simlayout.hardware.banks import sweep
from simlayout.kernel import Kernel

NUMBA_CUDA = (0, 30)
"""The oldest numba-cuda that compiles the kernels: the one that pyproject.toml asks for."""


def gpu_problem(needs=Kernel.needs):
    """Why no kernel that needs a Feature can run on a GPU here, as a sentence; None if one can."""
    return sweep.gpu_problem("cp.async") or needs.missing(compute_capability()) or numba_cuda_problem()


def numba_cuda_problem():
    """Why the numba-cuda that is installed cannot compile the kernels, as a sentence; None if it can. Numba has a CUDA
    target of its own, which finds the GPU as well."""
    try:
        installed = version("numba-cuda")
    except PackageNotFoundError:
        return 'numba-cuda is not installed: pip install "simlayout[cuda]"'
    if _numbers(installed) < NUMBA_CUDA:
        return (f"numba-cuda {installed} is too old, the kernels need {'.'.join(map(str, NUMBA_CUDA))}: "
                'pip install "simlayout[cuda]", then restart Python')
    return None


def _numbers(text):
    """The first two numbers of a version: (0, 30) of "0.30.4"."""
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in text.split(".")[:2])


def compute_capability():
    """The current GPU's compute capability, (major, minor)."""
    from numba import cuda

    return tuple(cuda.get_current_device().compute_capability)


def device_name():
    """The current GPU's name."""
    from numba import cuda

    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else name
