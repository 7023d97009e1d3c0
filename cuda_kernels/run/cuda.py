"""The GPU as a backend: compiles a kernel, or takes it from the cache, and launches it on copies of the arrays."""

from functools import partial
from typing import Any

from cuda_kernels.build import cache
from cuda_kernels.build.program import Program
from cuda_kernels.run import driver
from cuda_kernels.run.device import device_name
from cuda_kernels.run.step import step_of
from simlayout.errors import DeviceError
from simlayout.hardware.tables.arch import target_of
from simlayout.kernel import Work


class Gpu:
    """Runs kernels on the current GPU."""

    packed = True
    """The copies on the device have no gaps between lines."""

    def __init__(self):
        from numba import cuda

        self.device, self.cuda = cuda.get_current_device().id, driver.cuda()

    @property
    def name(self) -> str:
        """The GPU's name."""
        return device_name()

    @property
    def sms(self) -> int:
        """Its streaming multiprocessors."""
        return self.cuda.multiprocessors(self.device)

    def launch(self, work: Work, progress: Any = None, hazards: str = "raise") -> None:
        """Fills the arrays of a Work. progress and hazards have no effect, because nothing is traced."""
        program = Program(work.kernel.compiled_as, target_of(self.cuda.capability(self.device)))
        self.launch_code(work, *cache.compiled(program, self.cuda.version))

    def launch_code(self, work: Work, entry: str, code: bytes) -> None:
        """The same with machine code. entry: the kernel's name in it. DeviceError if the driver refuses the launch."""
        from numba import cuda
        from numba.cuda.cudadrv.driver import CudaAPIError

        kernel, shape = work.kernel, work.kernel.launch_shape(work.problem)
        try:
            held = {role: cuda.to_device(_whole(x)) for role, x in (work.arrays | work.spare()).items()}
            handle = self.cuda.kernel(entry, code, shape.shared_bytes, self.device, kernel.name)
            launched = driver.Shape(shape.grid, (shape.block, 1, 1), shape.shared_bytes, together=shape.together)
            step = step_of(kernel, work.problem, handle, launched, {role: (role, 0) for role in held},
                           partial(self._maker, work.arrays), f"{kernel.name} for {work.problem}")
            addresses = {role: x.__cuda_array_interface__["data"][0] for role, x in held.items()}
            step.bind(self.cuda, self.device, addresses)(0)
            cuda.synchronize()
            for role, x in work.arrays.items():
                held[role].copy_to_host(_whole(x))
        except CudaAPIError as error:
            raise DeviceError(f"the GPU refused {kernel.name} for {work.problem}: {error}") from error

    def _maker(self, arrays, used):
        """The TensorMapMaker of a Map."""
        return driver.TensorMapMaker(self.cuda, self.device, used.of(arrays[used.role]))


def _whole(x):
    """An array with what lies between its lines, in one piece."""
    return x if x.flags.c_contiguous else x.base
