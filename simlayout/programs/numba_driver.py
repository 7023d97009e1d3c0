"""The functions of the CUDA driver that numba-cuda calls, over a SimulatedDevice.

Each is named as in cuda.bindings.driver and returns as there: (CUresult, value ...). There is one device with one context;
streams do everything at once, in the order of the calls, which is one of the orders that a GPU may take.
"""

import ctypes
import os
from threading import local
from time import perf_counter
from typing import Any

import numpy as np
from cuda.bindings import driver as real

from simlayout.errors import MachineError
from simlayout.programs.attributes import attributes_of
from simlayout.programs.device import SimulatedDevice, move
from simlayout.programs.modules import Library, kernel_of

SUCCESS = real.CUresult.CUDA_SUCCESS
CONTEXT = 1
"""The handle of the only context."""

DRIVER_VERSION = 13000
"""Of CUDA 13.0, which PTX of numba-cuda for CUDA 13 needs."""


def _host(place):
    """The address of memory of the host, given as that or as an object with a buffer."""
    return np.asarray(place).ctypes.data if isinstance(place, np.ndarray | bytes | bytearray | memoryview) else int(place)


class SimulatedBinding:
    """In place of the module cuda.bindings.driver: its types and constants, and these functions.

    device: the SimulatedDevice. What is not simulated is refused by name (MachineError).
    """

    def __init__(self, device: SimulatedDevice):
        self.device = device
        self._stacks, self._handles, self._events = local(), 100, {}
        self._process: int | None = None                     # that began: one that is forked from it has no device
        self._attributes = attributes_of(device.arch)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cu") and name[2:3].isupper() and callable(getattr(real, name)):
            raise MachineError(f"{name} of the CUDA driver is not simulated")
        return getattr(real, name)

    def _handle(self):
        self._handles += 1
        return self._handles

    # ---- device and context --------------------------------------------------------------------------------------

    def cuInit(self, flags):
        self._process = os.getpid()
        return (SUCCESS,)

    def cuDriverGetVersion(self):
        return SUCCESS, DRIVER_VERSION

    def cuDeviceGetCount(self):
        return SUCCESS, 1

    def cuDeviceGetAttribute(self, attribute, device):
        name = attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")
        if name not in self._attributes:
            raise MachineError(f"the device attribute {name} is not simulated")
        return SUCCESS, self._attributes[name]

    def cuDeviceCanAccessPeer(self, device, peer):
        return SUCCESS, 0

    def cuDevicePrimaryCtxRetain(self, device):
        return SUCCESS, real.CUcontext(CONTEXT)

    def cuDevicePrimaryCtxRelease(self, device):
        return (SUCCESS,)

    def cuDevicePrimaryCtxReset(self, device):
        return (SUCCESS,)

    @property
    def _stack(self):
        if not hasattr(self._stacks, "contexts"):
            self._stacks.contexts = []
        return self._stacks.contexts

    def is_current(self):
        """Whether the primary context is that of this thread, and no other process has begun with it."""
        return self._process == os.getpid() and self._stack[-1:] == [CONTEXT]

    def cuCtxGetCurrent(self):
        self._process = self._process or os.getpid()
        if self._process != os.getpid():
            return real.CUresult.CUDA_ERROR_NOT_INITIALIZED, real.CUcontext(0)
        return SUCCESS, real.CUcontext(self._stack[-1] if self._stack else 0)

    def cuCtxPushCurrent(self, context):
        self._stack.append(int(context))
        return (SUCCESS,)

    def cuCtxPopCurrent(self):
        return SUCCESS, real.CUcontext(self._stack.pop())

    def cuCtxGetDevice(self):
        return SUCCESS, real.CUdevice(0)

    def cuCtxSynchronize(self):
        return (SUCCESS,)

    def cuProfilerStart(self):
        return (SUCCESS,)

    def cuProfilerStop(self):
        return (SUCCESS,)

    # ---- memory --------------------------------------------------------------------------------------------------

    def cuMemGetInfo(self):
        total = self._attributes["TOTAL_MEMORY"]
        return SUCCESS, total - self.device.memory.used, total

    def cuMemAlloc(self, nbytes):
        if nbytes > self._attributes["TOTAL_MEMORY"] - self.device.memory.used:
            return (real.CUresult.CUDA_ERROR_OUT_OF_MEMORY, real.CUdeviceptr(0))
        try:
            return SUCCESS, real.CUdeviceptr(self.device.memory.allocate(nbytes, fresh=True))
        except MemoryError:
            return (real.CUresult.CUDA_ERROR_OUT_OF_MEMORY, real.CUdeviceptr(0))

    def cuMemAllocManaged(self, nbytes, flags):
        self.device.memory.seen = True
        made = self.cuMemAlloc(nbytes)
        self.device.memory.written(int(made[1]))             # by the host, unseen
        return made

    def cuMemFree(self, address):
        self.device.memory.free(int(address))
        return (SUCCESS,)

    def cuMemHostAlloc(self, nbytes, flags):
        return SUCCESS, self.device.memory.allocate(nbytes)

    def cuMemFreeHost(self, address):
        return self.cuMemFree(address)

    def cuMemHostRegister(self, address, nbytes, flags):
        if self.device.memory.find(int(address)) is not None:
            return (real.CUresult.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,)
        self.device.memory.adopt(int(address), nbytes)
        return (SUCCESS,)

    def cuMemHostUnregister(self, address):
        return self.cuMemFree(address)

    def cuMemHostGetDevicePointer(self, address, flags):
        self.device.memory.seen = True
        return SUCCESS, real.CUdeviceptr(int(address))

    def cuMemGetAddressRange(self, address):
        extent = self.device.memory.extent(int(address))
        if extent is None:
            return real.CUresult.CUDA_ERROR_NOT_FOUND, real.CUdeviceptr(0), 0
        return SUCCESS, real.CUdeviceptr(extent[0]), extent[1]

    def cuPointerGetAttribute(self, attribute, address):
        return SUCCESS, int(address)

    def cuMemcpyHtoD(self, target, source, nbytes):
        self.device.memory.check(int(target), nbytes, "a copy to the device")
        move(int(target), _host(source), nbytes)
        self.device.memory.written(int(target))
        return (SUCCESS,)

    def cuMemcpyDtoH(self, target, source, nbytes):
        self.device.memory.seen = True
        return self._copied(target, source, nbytes)

    def _copied(self, target, source, nbytes):
        self.device.memory.check(int(source), nbytes, "a copy from the device")
        move(_host(target), int(source), nbytes)
        return (SUCCESS,)

    def cuMemcpyDtoD(self, target, source, nbytes):
        self.device.memory.check(int(target), nbytes, "a copy to the device")
        self.device.memory.written(int(target))
        return self._copied(target, source, nbytes)

    def cuMemcpyHtoDAsync(self, target, source, nbytes, stream):
        return self.cuMemcpyHtoD(target, source, nbytes)

    def cuMemcpyDtoHAsync(self, target, source, nbytes, stream):
        return self.cuMemcpyDtoH(target, source, nbytes)

    def cuMemcpyDtoDAsync(self, target, source, nbytes, stream):
        return self.cuMemcpyDtoD(target, source, nbytes)

    def cuMemsetD8(self, address, byte, nbytes):
        self.device.memory.check(int(address), nbytes, "memset")
        ctypes.memset(int(address), byte, nbytes)
        self.device.memory.written(int(address))
        return (SUCCESS,)

    def cuMemsetD8Async(self, address, byte, nbytes, stream):
        return self.cuMemsetD8(address, byte, nbytes)

    # ---- streams and events --------------------------------------------------------------------------------------

    def cuStreamCreate(self, flags):
        return SUCCESS, real.CUstream(self._handle())

    def cuStreamDestroy(self, stream):
        return (SUCCESS,)

    def cuStreamSynchronize(self, stream):
        return (SUCCESS,)

    def cuStreamWaitEvent(self, stream, event, flags):
        return (SUCCESS,)

    def cuStreamAddCallback(self, stream, callback, data, flags):
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
        function(int(callback))(int(stream), 0, data)
        return (SUCCESS,)

    def cuEventCreate(self, flags):
        return SUCCESS, real.CUevent(self._handle())

    def cuEventDestroy(self, event):
        self._events.pop(int(event), None)
        return (SUCCESS,)

    def cuEventQuery(self, event):
        return (SUCCESS,)

    def cuEventSynchronize(self, event):
        return (SUCCESS,)

    def cuEventRecord(self, event, stream):
        self._events[int(event)] = perf_counter()
        return (SUCCESS,)

    def cuEventElapsedTime(self, start, end):
        times = [self._events.get(int(event)) for event in (start, end)]
        if None in times:
            return real.CUresult.CUDA_ERROR_INVALID_HANDLE, 0.0
        self.device.timed = True
        return SUCCESS, 1000 * (times[1] - times[0])

    # ---- modules and kernels -------------------------------------------------------------------------------------

    def cuLibraryGetGlobal(self, library, name):
        found = Library.of(library).variable(name.decode())
        if found is None:
            return real.CUresult.CUDA_ERROR_NOT_FOUND, real.CUdeviceptr(0), 0
        return SUCCESS, real.CUdeviceptr(found[0]), found[1]

    def cuLibraryUnload(self, library):
        Library.of(library).unload()
        return (SUCCESS,)

    def cuKernelSetCacheConfig(self, kernel, config, device):
        return (SUCCESS,)

    def cuKernelSetAttribute(self, attribute, value, kernel, device):
        return (SUCCESS,)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, kernel, threads, shared_bytes):
        entry = kernel_of(kernel).entry
        shared = entry.static_shared + shared_bytes + self._attributes["RESERVED_SHARED_MEMORY_PER_BLOCK"]
        limits = [self._attributes["MAX_THREADS_PER_MULTIPROCESSOR"] // threads,
                  self._attributes["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"] // shared if shared else 1 << 20,
                  self._attributes["MAX_BLOCKS_PER_MULTIPROCESSOR"]]
        return SUCCESS, min(limits)

    def cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(self, kernel, threads, shared_bytes, flags):
        return self.cuOccupancyMaxActiveBlocksPerMultiprocessor(kernel, threads, shared_bytes)
