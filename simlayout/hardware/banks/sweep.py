"""The bank model on a GPU, for sweeps: equal to `model.checked_wavefronts`. The kernel is in `sweep_kernel`."""

from functools import lru_cache

import numpy as np

from simlayout.errors import AddressError, DeviceError, InstructionError
from simlayout.hardware.banks import model, sweep_kernel
from simlayout.hardware.banks.geometry import geometry
from simlayout.hardware.banks.operands import EVERY, access_of, integers, mask_of, refuse, rows_of, signed
from simlayout.hardware.tables.arch import DEFAULT_ARCH, FEATURES, LANES, arch_of
from simlayout.hardware.tables.instructions import instruction as instruction_of

_CHUNK = 1 << 20      # accesses on the GPU at a time
_BLOCK = 256          # threads of a CTA: 8 accesses
_MOST_CTAS = 1 << 14  # beyond them, warps count several accesses, one after another
_NO_FAULT = np.iinfo(np.int64).max


def wavefronts_on_gpu(instruction, addresses, active=None, arch=DEFAULT_ARCH):
    """(wavefronts, ideal) of n accesses of a warp to shared memory, counted on the GPU; int64 [n] each.

    instruction, addresses, active, arch: as of `analyze`, for instructions whose lanes meet in banks alone (loads, stores,
    ldmatrix, stmatrix, 32-bit integer reductions and atomics). NumPy arrays go to the GPU in chunks, and NumPy arrays come
    back. Addresses that are there already (of PyTorch, CuPy, Numba: whatever has a __cuda_array_interface__; int32 or int64,
    C-contiguous) stay, and the results are Numba device arrays, which those libraries take as they are.

    Raises DeviceError where no GPU can do it, InstructionError for other instructions, and what `analyze` raises.

    >>> wavefronts_on_gpu("cp.async.cg.16", [0] * 32)
    Traceback (most recent call last):
    ...
    simlayout.errors.InstructionError: cp.async.cg.16 is not counted on a GPU: what it costs is more than banks; use analyze
    """
    row, chip = instruction_of(instruction), arch_of(arch)
    numbers = geometry(row, chip.shared_bytes_per_cta) if row.rule == "banks" else None
    if numbers is None:
        raise InstructionError(f"{row} is not counted on a GPU: what it costs is more than banks; use analyze")
    problem = gpu_problem()
    if problem:
        raise DeviceError(f"{problem}: use analyze, which counts on the CPU")
    gpu, host = Gpu(), not _on_gpu(addresses)
    given = integers(addresses) if host else gpu.addresses(addresses)
    mask = mask_of(row, gpu.read(active) if _on_gpu(active) else active, len(given))

    def count(part, live, start):
        counts = gpu.empty(len(part)), gpu.empty(len(part))
        fault = gpu.count(part, gpu.copy(EVERY if live is None else live), numbers, *counts)
        if fault is not None:
            only = slice(start + fault, start + fault + 1)
            one = given[only] if host else gpu.read(given[only])
            refuse(row, chip, start + fault, access_of(one, rows_of(mask, only), 0))
        return counts

    if not host:
        return count(given, mask, 0)
    total = np.empty((2, len(given)), np.int64)
    for rows in model.chunks(len(given), _CHUNK):
        total[:, rows] = [gpu.read(x) for x in count(gpu.copy(signed(given[rows])), rows_of(mask, rows), rows.start)]
    return total[0], total[1]


def gpu_problem(feature="match.any"):
    """Why Numba cannot run a kernel on a GPU here, as a sentence; None if it can. feature: what it
    needs, one of FEATURES."""
    try:
        from numba import cuda
    except ImportError:
        return 'numba-cuda is not installed: pip install "simlayout[cuda]"'
    try:
        if not cuda.is_available():
            return "no CUDA GPU (or no driver) on this machine"
        capability = tuple(cuda.get_current_device().compute_capability)
    except Exception as error:                      # the driver's own error classes differ by version
        return f"the CUDA driver does not answer: {str(error).splitlines()[0]}"
    needed = FEATURES[feature].since
    if capability < needed:
        return "the GPU has compute capability {}.{}; this needs {}.{} ({})".format(*capability, *needed, feature)
    return None


def _on_gpu(array):
    return hasattr(array, "__cuda_array_interface__")


class Gpu:
    """What `wavefronts_on_gpu` asks of a GPU."""

    def addresses(self, array):
        """[n, 32] of a device array of byte addresses; raises AddressError where it cannot be taken as it is."""
        from numba import cuda

        given = cuda.as_cuda_array(array)
        if given.dtype not in (np.int32, np.int64) or given.ndim not in (1, 2) or given.shape[-1] != LANES \
                or not given.is_c_contiguous():
            raise AddressError(f"addresses on the GPU, {given.dtype} of shape {given.shape}: give int32 or int64, [n, 32] "
                               "or [32], C-contiguous")
        return given.reshape(given.size // LANES, LANES)

    def copy(self, array):
        """A NumPy array as a device array."""
        from numba import cuda

        return cuda.to_device(np.ascontiguousarray(array))

    def read(self, array):
        """A device array as a NumPy array."""
        from numba import cuda

        return cuda.as_cuda_array(array).copy_to_host()

    def empty(self, n):
        """int64 [n] on the device."""
        from numba import cuda

        return cuda.device_array(n, np.int64)

    def count(self, addresses, mask, numbers, wavefronts, ideal):
        """Counts device arrays, [n, 32] and [n or 1, 32], into int64 [n]; returns the first access at fault, or None."""
        fault = self.copy(np.array([_NO_FAULT]))
        arguments = (addresses.reshape(addresses.size), mask.reshape(mask.size), LANES if len(mask) > 1 else 0,
                     len(addresses), *numbers, wavefronts, ideal, fault)
        ctas = min(-(-addresses.size // _BLOCK), _MOST_CTAS)
        self.launch(max(ctas, 1), _BLOCK, arguments)
        first = int(self.read(fault)[0])
        return None if first == _NO_FAULT else first

    def launch(self, grid, block, arguments):
        """Starts `sweep_kernel.count`."""
        _kernel()[grid, block](*arguments)


@lru_cache(None)
def _kernel():
    from numba import cuda

    return cuda.jit(sweep_kernel.bound())
