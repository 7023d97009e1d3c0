"""The few calls of the CUDA driver that a launch needs, through ctypes: less per call than any wrapper.

All that a launch reads (tensor maps, parameters, configuration) is prepared once and never changed, so threads share it.
"""

import ctypes
from ctypes import addressof, c_int, c_size_t, c_uint, c_uint8, c_uint32, c_uint64, c_void_p
from functools import lru_cache, partial
from threading import Lock

from cuda_kernels.run.captures import STREAMS, Captures
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import DeviceError, SimlayoutError

CAPABILITY_MAJOR, CAPABILITY_MINOR, MULTIPROCESSORS = 75, 76, 16
CLOCK_RATE, MEMORY_CLOCK_RATE, MEMORY_BUS_WIDTH, L2_CACHE_SIZE = 13, 36, 37, 38
"""CUdevice_attribute (cuda.h)."""
MAX_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES (cuda.h)."""
MEMORY_TYPE, DEVICE_ORDINAL = 2, 9
"""CUpointer_attribute (cuda.h)."""
HOST_MEMORY = 1
"""CU_MEMORYTYPE_HOST (cuda.h)."""
COOPERATIVE, CLUSTER_DIMENSION, PROGRAMMATIC_SERIALIZATION = 2, 4, 6
"""CUlaunchAttributeID (cuda.h)."""
MAP_BYTES, MAP_ALIGNMENT = 128, 128
"""sizeof and alignof of CUtensorMap (cuda.h)."""
PROMOTION = 2
"""CU_TENSOR_MAP_L2_PROMOTION_L2_128B (cuda.h): a line of 128 bytes that L2 lacks comes whole. Where rows of A and B start
off lines, two steps along K need a part of one each: there 22 products that wait for DRAM took 2.9 percent less than without
promotion on an H100, and 2.6 on an H200 (geometric means, at most 0.1 more; tests/data/promotion.json), and 6 whose rows
start on lines as long. With 256 bytes some took up to 16 percent longer."""
OVERLAPS = 12030
"""The first driver (CUDA 12.3) that captures launches which overlap into a graph, whose edges say when they begin."""
LEGACY = 0, 1
"""Handles of the legacy default stream (cuda.h: 0, and CU_STREAM_LEGACY), which is never captured."""
NO_CONTEXT = (3, 201)
"""CUDA_ERROR_NOT_INITIALIZED and CUDA_ERROR_INVALID_CONTEXT: the thread has no current context."""

_SIGNATURES = {
    "cuInit": (c_uint,), "cuDriverGetVersion": (c_void_p,), "cuDeviceGetCount": (c_void_p,),
    "cuDeviceGet": (c_void_p, c_int), "cuDeviceGetAttribute": (c_void_p, c_int, c_int),
    "cuDeviceGetName": (c_void_p, c_int, c_int),
    "cuDevicePrimaryCtxRetain": (c_void_p, c_int), "cuCtxPushCurrent_v2": (c_void_p,), "cuCtxPopCurrent_v2": (c_void_p,),
    "cuCtxGetCurrent": (c_void_p,), "cuCtxSetCurrent": (c_void_p,),
    "cuLibraryLoadData": (c_void_p, c_void_p, c_void_p, c_void_p, c_uint, c_void_p, c_void_p, c_uint),
    "cuLibraryGetKernel": (c_void_p, c_void_p, ctypes.c_char_p), "cuKernelSetAttribute": (c_int, c_int, c_void_p, c_int),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "cuMemsetD2D8Async": (c_uint64, c_size_t, c_uint8, c_size_t, c_size_t, c_void_p),
    "cuTensorMapEncodeTiled": (c_void_p, c_int, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_int, c_int,
                               c_int, c_int),
    "cuOccupancyMaxActiveClusters": (c_void_p, c_void_p, c_void_p), "cuMemAlloc_v2": (c_void_p, c_size_t),
    "cuStreamIsCapturing": (c_void_p, c_void_p), "cuStreamSynchronize": (c_void_p,),
    "cuGetErrorName": (c_int, c_void_p), "cuGetErrorString": (c_int, c_void_p),
}


class Attribute(ctypes.Structure):
    """CUlaunchAttribute: an id, and a union of 64 bytes that starts at byte 8."""

    _fields_ = [("id", c_int), ("pad", ctypes.c_char * 4), ("value", c_uint32 * 16)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("shared_bytes", c_uint), ("stream", c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", c_uint)]


class Cuda:
    """The driver. library: libcuda, or something with the same functions."""

    def __init__(self, library):
        self.library, self._contexts, self._kernels, self._attributes = library, {}, {}, {}
        self._lock, self._kernel_lock = Lock(), Lock()
        for name, types in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, c_int
        library.cuLaunchKernelEx.restype = c_int     # without argtypes: callers pass ctypes values, which costs half as much
        self.check(library.cuInit(0), "cannot start")
        self.version = self._int(library.cuDriverGetVersion)
        self.captures = Captures(library) if self.version >= OVERLAPS else None
        self.devices = self._int(library.cuDeviceGetCount)
        if not self.devices:
            raise DeviceError("no CUDA GPU on this machine")

    def check(self, status, what):
        """Raises DeviceError if a status is not 0; `what` could not be done."""
        if status:
            raise DeviceError(f"the CUDA driver {what}: {self._text('Name', status)} ({self._text('String', status)})")

    def _text(self, part, status):
        text = ctypes.c_char_p()
        failed = getattr(self.library, f"cuGetError{part}")(status, addressof(text))
        return f"error {status}" if failed or not text.value else text.value.decode()

    def _int(self, function, *arguments):
        value = c_int()
        self.check(function(addressof(value), *arguments), f"refused {function.__name__}")
        return value.value

    def attribute(self, device, attribute):
        """A CUdevice_attribute of a device, an int."""
        key = device, attribute
        if key not in self._attributes:
            self._attributes[key] = self._int(self.library.cuDeviceGetAttribute, attribute, device)
        return self._attributes[key]

    def capability(self, device):
        """Compute capability (major, minor)."""
        return self.attribute(device, CAPABILITY_MAJOR), self.attribute(device, CAPABILITY_MINOR)

    def multiprocessors(self, device):
        """How many SMs a device has."""
        return self.attribute(device, MULTIPROCESSORS)

    def name(self, device):
        """What a device is called, such as "NVIDIA H200"."""
        text = ctypes.create_string_buffer(256)
        self.check(self.library.cuDeviceGetName(addressof(text), len(text), device), f"gives no name of GPU {device}")
        return text.value.decode(errors="replace")

    def context(self, device):
        """The primary context of a device, the one that the CUDA runtime, torch, CuPy and Numba use."""
        with self._lock:
            if device not in self._contexts:
                context = c_void_p()
                status = self.library.cuDevicePrimaryCtxRetain(addressof(context), device)
                self.check(status, f"gives no context of GPU {device}")
                self._contexts[device] = context.value
        return self._contexts[device]

    def device_of(self, address, name):
        """The index of the device that an address lies on; SimlayoutError if it is the CPU's memory."""
        kind, device = c_uint(), c_int()
        status = self.library.cuPointerGetAttribute(addressof(kind), MEMORY_TYPE, address)
        if status in NO_CONTEXT:
            with self.on(0):
                status = self.library.cuPointerGetAttribute(addressof(kind), MEMORY_TYPE, address)
        if status or kind.value == HOST_MEMORY:
            raise SimlayoutError(f"{name} lies in the CPU's memory (or nowhere): copy it to the GPU")
        self.check(self.library.cuPointerGetAttribute(addressof(device), DEVICE_ORDINAL, address), "knows no such address")
        return device.value

    def on(self, device):
        """A context manager: the device's context is the thread's current one inside."""
        return _Current(self, self.context(device))

    def capturing(self, stream):
        """Whether work on a stream is being captured into a graph (or must not run because another stream's is)."""
        status = c_int()
        return bool(self.library.cuStreamIsCapturing(stream, addressof(status)) or status.value)

    def allocate(self, device, nbytes):
        """The address of new device memory, 256-byte aligned; never freed."""
        address = c_uint64()
        with self.on(device):
            self.check(self.library.cuMemAlloc_v2(addressof(address), nbytes), f"has no {nbytes} bytes of memory left")
        return address.value

    def synchronize(self, device, stream):
        """Waits for a stream."""
        with self.on(device):
            self.check(self.library.cuStreamSynchronize(stream), "reports an error of earlier work")

    def kernel(self, entry, code, shared_bytes, device, name):
        """The handle of a kernel (CUkernel) in machine code; kept for good.

        entry: its name in the code; shared_bytes: dynamic, per CTA; name: what a message calls it.
        """
        key = entry, code
        with self.on(device), self._kernel_lock:
            if key not in self._kernels:
                library, handle = c_void_p(), c_void_p()
                status = self.library.cuLibraryLoadData(addressof(library), code, None, None, 0, None, None, 0)
                self.check(status, f"refused the code of {name}")
                self.check(self.library.cuLibraryGetKernel(addressof(handle), library, entry.encode()), f"finds no {entry}")
                self._kernels[key] = handle.value
            kernel = self._kernels[key]
            status = self.library.cuKernelSetAttribute(MAX_DYNAMIC_SHARED, shared_bytes, kernel, device)
            self.check(status, f"refused {shared_bytes} bytes of shared memory for {name}")
        return kernel

    def clusters(self, device, kernel, shape):
        """How many clusters of a launch the GPU holds at a time. kernel: its handle; shape: a Shape."""
        with self.on(device):
            return self._int(self.library.cuOccupancyMaxActiveClusters, kernel, shape.on(0))

    def zero(self, address, strides, shape, itemsize, stream, device):
        """Writes zeros to an array with strides in bytes, without overlap."""
        if 0 in shape:
            return
        dims = sorted((stride, size) for stride, size in zip(strides, shape) if size > 1)
        width = itemsize
        while dims and dims[0][0] == width:
            width *= dims.pop(0)[1]
        pitch, height = dims.pop(0) if dims else (width, 1)
        offsets = [0]
        for stride, size in dims:
            offsets = [o + i * stride for i in range(size) for o in offsets]
        with self.on(device):
            for offset in offsets:
                status = self.library.cuMemsetD2D8Async(address + offset, pitch, 0, width, height, stream)
                self.check(status, "refused to clear out")


class _Current:
    def __init__(self, cuda, context):
        self.cuda, self.context = cuda, context

    def __enter__(self):
        self.cuda.check(self.cuda.library.cuCtxPushCurrent_v2(self.context), "cannot make the GPU current")

    def __exit__(self, *_):
        self.cuda.library.cuCtxPopCurrent_v2(addressof(c_void_p()))


class TensorMapMaker:
    """Encodes one tensor map for any base address: all the rest is fixed and prepared.

    device: its index; layout: a `simlayout.hardware.TensorMap`, which has checked the limits; its address is not used.
    """

    def __init__(self, cuda, device, layout):
        rank = len(layout.dims)
        self._cuda, self._device, self._function = cuda, device, cuda.library.cuTensorMapEncodeTiled
        self._arrays = ((c_uint64 * rank)(*layout.dims), (c_uint64 * max(rank - 1, 1))(*layout.strides),
                        (c_uint32 * rank)(*layout.box), (c_uint32 * rank)(*(layout.element_strides or (1,) * rank)))
        self._head, self._ahead = (layout.dtype_enum, rank), layout.ahead
        fill = 1 if layout.fill == "nan" else 0
        self._tail = *(addressof(array) for array in self._arrays), 0, layout.enum, PROMOTION, fill

    def encode(self, target, address):
        """Writes the 128 bytes of the map of an array at `address` to host memory at `target`, a multiple of 128."""
        address -= self._ahead
        status = self._function(target, *self._head, address, *self._tail)
        if status in NO_CONTEXT:
            with self._cuda.on(self._device):
                status = self._function(target, *self._head, address, *self._tail)
        if status:
            self._cuda.check(status, f"refused a tensor map at {address:#x}")


class Parameters:
    """The parameters of one launch in host memory that does not move: tensor maps first, then numbers.

    makers: for each map, a TensorMapMaker (None if the kernel does not use the map) and the array's address. types: of the
    numbers, as a text like "u64 s32"; values: the numbers.
    """

    def __init__(self, makers, types, values):
        kinds = [getattr(ctypes, f"c_{TYPES[t].storage}") for t in types.split()]
        size = MAP_BYTES * len(makers) + 8 * len(kinds)
        self.memory = (ctypes.c_char * (size + MAP_ALIGNMENT))()
        at = -(-addressof(self.memory) // MAP_ALIGNMENT) * MAP_ALIGNMENT
        places = []
        for maker, address in makers:
            if maker is not None:
                maker.encode(at, address)
            places.append(at)
            at += MAP_BYTES
        for kind, value in zip(kinds, values, strict=True):
            kind.from_address(at).value = value
            places.append(at)
            at += 8
        self.places = (c_void_p * len(places))(*places)
        self.pointer = c_void_p(addressof(self.places))


class Shape:
    """How a kernel is launched.

    grid, block: (x, y, z). shared_bytes: dynamic, per CTA. cluster: CTAs per cluster, along x or (x, y, z). overlap: whether
    the kernel may start before the one ahead of it in the stream has ended; it then waits itself, with griddepcontrol.wait.
    together: whether its CTAs wait for one another; it then starts only if all of them fit on the GPU. overlaps: overlap;
    waiting: the Shape without it.
    """

    def __init__(self, grid, block, shared_bytes, cluster=1, overlap=False, together=False):
        self.fixed = (c_uint * 3)(*grid), (c_uint * 3)(*block), shared_bytes
        attributes = []
        if cluster not in (1, (1, 1, 1)):
            along = cluster if isinstance(cluster, tuple) else (cluster, 1, 1)
            attributes.append(Attribute(CLUSTER_DIMENSION, b"", (c_uint32 * 16)(*along)))
        if overlap:
            attributes.append(Attribute(PROGRAMMATIC_SERIALIZATION, b"", (c_uint32 * 16)(1)))
        if together:
            attributes.append(Attribute(COOPERATIVE, b"", (c_uint32 * 16)(1)))
        self.attributes, self.count = (Attribute * max(len(attributes), 1))(*attributes), len(attributes)
        self.configs = {}
        self.overlaps = overlap
        self.waiting = Shape(grid, block, shared_bytes, cluster, False, together) if overlap else self

    def on(self, stream):
        """The CUlaunchConfig for a stream, in the form that ctypes passes by reference."""
        config = self.configs.get(stream)
        if config is None:
            if len(self.configs) >= STREAMS:
                self.configs.clear()
            pointer = ctypes.cast(self.attributes, ctypes.POINTER(Attribute)) if self.count else None
            config = self.configs[stream] = ctypes.byref(Config(*self.fixed, stream or None, pointer, self.count))
        return config


class Launch:
    """One launch, prepared: call it with the handle of a stream. Nothing in it changes, so threads may share it."""

    def __init__(self, cuda, device, kernel, shape, parameters, name):
        self.cuda, self.device, self.name, self.shape, self.parameters = cuda, device, name, shape, parameters
        self._launch, self._kernel, self._pointer = cuda.library.cuLaunchKernelEx, c_void_p(kernel), parameters.pointer
        self._context = cuda.context(device)
        self._alone = cuda.devices == 1

    def __call__(self, stream):
        # the null stream belongs to the current context: with one GPU it is the right one unless the thread has none yet
        status = self._start(stream) if self._alone else NO_CONTEXT[0]
        if status:
            self.again(status, stream)

    def again(self, status, stream):
        """Launches in a context of its own if that is what the driver lacked; raises DeviceError for any other status."""
        if status in NO_CONTEXT:
            with self.cuda.on(self.device):
                status = self._start(stream)
        self.cuda.check(status, f"refused to launch {self.name}")

    def _start(self, stream):
        """Launches, and returns what the driver says."""
        if self.shape.overlaps and stream not in LEGACY and self.cuda.capturing(stream):
            return self._into_graph(stream)
        return self._launch(self.shape.on(stream), self._kernel, self._pointer, None)

    def _into_graph(self, stream):
        """Launches into a capture, to overlap only what is itself such a launch: behind one, products of up to 50 us took
        0.25 us less, but behind a kernel of torch's 0.2 to 0.3 us more, while in a stream they took 1.5 to 1.8 us less
        (medians, tests/data/h100_overlap.json, h200_overlap.json)."""
        captures = self.cuda.captures
        shape = self.shape if captures.ends_with_ours(stream) else self.shape.waiting
        status = self._launch(shape.on(stream), self._kernel, self._pointer, None)
        if not status:
            captures.note(stream)
        return status

    def bare(self, stream):
        """The driver's call alone, as a function without arguments: the part of a launch's time that we cannot save."""
        return partial(self._launch, self.shape.on(stream), self._kernel, self._pointer, None)

    def quick(self, stream):
        """A function without arguments that launches on a stream. What it returns, unless that is 0 or None, is for
        `again`."""
        if not self._alone:
            return partial(self, stream)
        usual, captured = self.bare(stream), c_int()
        if not self.shape.overlaps or stream in LEGACY:
            return usual
        ask = partial(self.cuda.library.cuStreamIsCapturing, stream, addressof(captured))
        return lambda: self._into_graph(stream) if ask() or captured.value else usual()


@lru_cache(1)
def cuda():
    """The driver of this machine. Raises DeviceError if there is none, or no GPU."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise DeviceError("no CUDA driver (libcuda.so.1) on this machine: matmul needs an NVIDIA GPU") from None
    try:
        return Cuda(library)
    except AttributeError as error:
        raise DeviceError(f"the CUDA driver is too old ({error}): CUDA 12.1 or newer is needed") from None
