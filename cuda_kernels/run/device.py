"""A kernel on the GPU: compiled once per variant, launched on raw addresses."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from cuda_kernels.build.compile import bound_kernel, signature
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.hardware.banks import sweep

NUMBA_CUDA = (0, 30)
"""The oldest numba-cuda that compiles the kernels: the one that pyproject.toml asks for."""


def gpu_problem():
    """Why no kernel can run on a GPU here, as a sentence; None if one can."""
    return sweep.gpu_problem("cp.async") or numba_cuda_problem()


def numba_cuda_problem():
    """Why the numba-cuda that is installed cannot compile the kernels, as a sentence; None if it can. Numba has a CUDA
    target of its own, which finds the GPU as well."""
    try:
        found = version("numba-cuda")
    except PackageNotFoundError:
        return 'numba-cuda is not installed: pip install "simlayout[cuda]"'
    if _numbers(found) < NUMBA_CUDA:
        return (f"numba-cuda {found} is too old, the kernels need {'.'.join(map(str, NUMBA_CUDA))}: "
                'pip install "simlayout[cuda]", then restart Python')
    return None


def _numbers(text):
    """The first two numbers of a version: (0, 30) of "0.30.4"."""
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in text.split(".")[:2])


def goes_to_gpu(device):
    """Whether work for `device` runs on a GPU: "gpu", "cpu" (the CPU machine) or "auto" (the GPU if there is one).

    Raises SimlayoutError for other words, DeviceError where "gpu" has none.
    """
    if device not in ("auto", "gpu", "cpu"):
        raise SimlayoutError(f'device {device!r}: choose "auto", "gpu" or "cpu"')
    problem = gpu_problem() if device != "cpu" else "not asked for"
    if device == "gpu" and problem:
        raise DeviceError(problem)
    return problem is None


def on_gpu(what, launch, inputs, results):
    """Results of one launch on host arrays: what the GPU made of `results`, a list of arrays.

    launch: called with the device addresses of the inputs, then of the results, ints. inputs, results: contiguous NumPy
    arrays, all copied to the GPU. what: for the DeviceError where the GPU refuses.
    """
    from numba import cuda
    from numba.cuda.cudadrv.driver import CudaAPIError

    try:
        arrays = [cuda.to_device(x) for x in (*inputs, *results)]
        launch(*(x.__cuda_array_interface__["data"][0] for x in arrays))
        cuda.synchronize()
        return [x.copy_to_host() for x in arrays[len(inputs):]]
    except CudaAPIError as error:
        raise DeviceError(f"the GPU refused {what}: {error}") from error


def compute_capability():
    """The current GPU's compute capability, (major, minor)."""
    from numba import cuda

    return tuple(cuda.get_current_device().compute_capability)


def device_name():
    """The current GPU's name."""
    from numba import cuda

    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else name


class Loaded:
    """A compiled kernel. Call it with device addresses: it launches and returns at once."""

    def __init__(self, kernel):
        from cuda.bindings import driver
        from numba import cuda

        self.kernel = kernel
        device = cuda.get_current_device()
        limit = device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        if kernel.shared_bytes > limit:
            raise DeviceError(f"{kernel.name} needs {kernel.shared_bytes} bytes of shared memory per CTA; "
                              f"{device_name()} has {limit}: use fewer stages")
        self.dispatcher = cuda.jit(signature(kernel.signature), launch_bounds=(kernel.block, 1))(bound_kernel(kernel.body))
        compiled = next(iter(self.dispatcher.overloads.values())).library.get_cufunc().kernel
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (status,) = driver.cuKernelSetAttribute(attribute, kernel.shared_bytes, compiled.handle, 0)
        if status != 0:
            raise DeviceError(f"{kernel.name}: the driver refused {kernel.shared_bytes} bytes of shared memory ({status})")

    def __call__(self, a, b, c, M, N, K, lda, ldb, ldc, stream=0):
        """Launches on addresses a, b, c (ints) and leading dimensions in elements; stream: a Numba stream or 0."""
        configured = self.dispatcher[self.kernel.grid(M, N), self.kernel.block, stream, self.kernel.shared_bytes]
        configured(np.uint64(a), np.uint64(b), np.uint64(c), *(np.int32(v) for v in (M, N, K, lda, ldb, ldc)))


@lru_cache(64)
def _load(name, options):
    from cuda_kernels.kernels import EVERY

    return Loaded(EVERY[name].variant(**{f: getattr(options, f) for f in options.__dataclass_fields__}))


def load(kernel):
    """The compiled form of a Kernel variant; compiled on first use, then kept.

    Raises DeviceError where no GPU can run it.
    """
    problem = gpu_problem()
    if problem:
        raise DeviceError(problem)
    return _load(kernel.name, kernel.options)
