"""Memory, CUDA graphs and events of a GPU through the driver alone: launches are timed without any library of arrays."""

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from ctypes import addressof, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

NON_BLOCKING, THREAD_LOCAL = 1, 1
"""CU_STREAM_NON_BLOCKING and CU_STREAM_CAPTURE_MODE_THREAD_LOCAL (cuda.h)."""

_SIGNATURES = {
    "cuCtxSynchronize": (), "cuMemAlloc_v2": (c_void_p, c_size_t), "cuMemFree_v2": (c_uint64,),
    "cuMemcpyHtoD_v2": (c_uint64, c_void_p, c_size_t), "cuMemcpyDtoH_v2": (c_void_p, c_uint64, c_size_t),
    "cuMemcpyDtoD_v2": (c_uint64, c_uint64, c_size_t), "cuStreamCreate": (c_void_p, c_uint),
    "cuStreamDestroy_v2": (c_void_p,), "cuStreamSynchronize": (c_void_p,), "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamEndCapture": (c_void_p, c_void_p), "cuGraphInstantiateWithFlags": (c_void_p, c_void_p, c_uint64),
    "cuGraphLaunch": (c_void_p, c_void_p), "cuGraphDestroy": (c_void_p,), "cuGraphExecDestroy": (c_void_p,),
    "cuEventCreate": (c_void_p, c_uint), "cuEventRecord": (c_void_p, c_void_p), "cuEventSynchronize": (c_void_p,),
    "cuEventElapsedTime": (c_void_p, c_void_p, c_void_p), "cuEventDestroy_v2": (c_void_p,),
}


class Stopwatch:
    """A stream of a device, and what is timed on it. In its `with` the device's context is the thread's; what was going on
    there has ended before, and what was allocated is free behind it.

    cuda: a `cuda_kernels.run.driver.Cuda`. stream: a handle.
    """

    def __init__(self, cuda, device: int):
        self._cuda, self._device, self._library = cuda, device, cuda.library
        for name, types in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.argtypes, function.restype = types, c_int
        self._ends = ExitStack()
        self.stream = 0

    def __enter__(self):
        with ExitStack() as ends:                        # if it cannot start, what it has made ends
            ends.enter_context(self._cuda.on(self._device))
            self._call("cuCtxSynchronize", what="reports an error of earlier work")
            self.stream = self._made(ends, "cuStreamCreate", "cuStreamDestroy_v2", NON_BLOCKING)
            self._start, self._stop = (self._made(ends, "cuEventCreate", "cuEventDestroy_v2", 0) for _ in range(2))
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *error):
        self._library.cuStreamSynchronize(self.stream)   # an interrupt leaves launches behind
        return self._ends.__exit__(*error)

    def memory(self, nbytes: int) -> int:
        """The address of new memory, 256-byte aligned."""
        address = c_uint64()
        self._call("cuMemAlloc_v2", addressof(address), nbytes, what=f"has no {nbytes} bytes of memory left")
        self._ends.callback(self._library.cuMemFree_v2, address.value)
        return address.value

    def fill(self, address: int, nbytes: int, block: bytes) -> None:
        """Repeats a block of bytes over memory."""
        filled = min(len(block), nbytes)
        self._call("cuMemcpyHtoD_v2", address, block, filled, what="refused to write memory")
        while filled < nbytes:
            more = min(filled, nbytes - filled)
            self._call("cuMemcpyDtoD_v2", address + filled, address, more, what="refused to copy memory")
            filled += more
        self._call("cuCtxSynchronize", what="failed to copy memory")

    def read(self, address: int, nbytes: int) -> bytes:
        """The bytes of memory, once the stream's work is done."""
        data = ctypes.create_string_buffer(nbytes)
        self._call("cuStreamSynchronize", self.stream, what="reports an error of a kernel")
        self._call("cuMemcpyDtoH_v2", addressof(data), address, nbytes, what="refused to read memory")
        return data.raw

    def repeated(self, calls: Sequence[Callable], count: int) -> Callable:
        """A function that makes `count` of some calls in rotation on the stream: a CUDA graph."""
        graph = c_void_p()
        self._call("cuStreamBeginCapture_v2", self.stream, THREAD_LOCAL, what="captures nothing")
        try:
            for i in range(count):
                calls[i % len(calls)]()
        finally:
            status = self._library.cuStreamEndCapture(self.stream, addressof(graph))
        self._cuda.check(status, "captured nothing")
        try:
            ready = self._made(self._ends, "cuGraphInstantiateWithFlags", "cuGraphExecDestroy", graph, 0)
        finally:
            self._library.cuGraphDestroy(graph)
        return lambda: self._call("cuGraphLaunch", ready, self.stream, what="refused to launch a graph")

    def elapsed(self, work: Callable) -> float:
        """Seconds that the GPU needs for what a function launches on the stream."""
        milliseconds = c_float()
        self._call("cuEventRecord", self._start, self.stream, what="records no event")
        work()
        self._call("cuEventRecord", self._stop, self.stream, what="records no event")
        self._call("cuEventSynchronize", self._stop, what="reports an error of a kernel")
        self._call("cuEventElapsedTime", addressof(milliseconds), self._start, self._stop, what="has no time of an event")
        return milliseconds.value / 1e3

    def _made(self, ends, function, ending, *arguments):
        """The handle that a function of the driver makes; its end is called behind the `with`."""
        handle = c_void_p()
        self._call(function, addressof(handle), *arguments, what=f"refused {function}")
        ends.callback(getattr(self._library, ending), handle.value)
        return handle.value

    def _call(self, function, *arguments, what):
        self._cuda.check(getattr(self._library, function)(*arguments), what)
