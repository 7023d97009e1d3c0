"""The GPU as a backend: compiles a kernel, or takes it from the cache, and launches it on copies of the arrays."""

from typing import Any

import numpy as np

from cuda_kernels.build import cache
from cuda_kernels.build.program import Program
from cuda_kernels.run import driver
from cuda_kernels.run.device import device_name
from simlayout.errors import DeviceError
from simlayout.hardware import TensorMap
from simlayout.hardware.tables.arch import target_of
from simlayout.kernel import Map, Pointer, Work


class Gpu:
    """Runs kernels on the current GPU."""

    packed = True
    """Lines follow one another in the copies on the device."""

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
        """Fills the arrays of a Work. progress, hazards: of no meaning here; nothing is traced."""
        program = Program(work.kernel.compiled_as, target_of(self.cuda.capability(self.device)))
        self.launch_code(work, *cache.compiled(program, self.cuda.version))

    def launch_code(self, work: Work, entry: str, code: bytes) -> None:
        """The same with machine code, whose entry has a name. Raises DeviceError where the driver refuses it."""
        from numba import cuda
        from numba.cuda.cudadrv.driver import CudaAPIError

        kernel, shape = work.kernel, work.kernel.launch_shape(work.problem)
        spare = {role: np.zeros(max(nbytes, 16), np.uint8) for role, nbytes in work.spare.items()}
        try:
            held = {role: cuda.to_device(_whole(x)) for role, x in (work.arrays | spare).items()}
            at = {role: x.__cuda_array_interface__["data"][0] for role, x in held.items()}
            handle = self.cuda.kernel(entry, code, shape.shared_bytes, self.device, kernel.name)
            maps, values = self._parameters(work, at)
            parameters = driver.Parameters(maps, " ".join(a.type for a in kernel.signature if a.type != "map"), values)
            launched = driver.Shape(shape.grid, (shape.block, 1, 1), shape.shared_bytes, together=shape.together)
            driver.Launch(self.cuda, self.device, handle, launched, parameters, f"{kernel.name} for {work.problem}")(0)
            cuda.synchronize()
            for role, x in work.arrays.items():
                held[role].copy_to_host(_whole(x))
        except CudaAPIError as error:
            raise DeviceError(f"the GPU refused {kernel.name} for {work.problem}: {error}") from error

    def _parameters(self, work, at):
        """([(maker or None, address)] of the tensor maps, the other values as numbers), for {role: address}."""
        maps, values = [], []
        for argument, value in zip(work.kernel.signature, work.kernel.arguments(work.problem)):
            if argument.type != "map":
                values.append(at[value.role] if isinstance(value, Pointer) else value)
            elif isinstance(value, Map):
                layout = TensorMap.of(work.arrays[value.role], value.box, value.swizzle, value.dtype)
                maps.append((driver.TensorMapMaker(self.cuda, self.device, layout), at[value.role]))
            else:
                maps.append((None, 0))
        return maps, values


def _whole(x):
    """An array with what lies between its lines, in one piece."""
    return x if x.flags.c_contiguous else x.base
