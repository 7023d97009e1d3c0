"""Arrays on a GPU, whoever owns them: torch, CuPy, Numba, anything with `__cuda_array_interface__` or DLPack.

Every call pays for `look`, which returns a hashable description and the address. `operand`, which checks an array and makes
an Operand, is called once per description. Nothing here imports a library that the caller has not imported already.
"""

import sys
from dataclasses import dataclass, field, replace
from numbers import Number

from cuda_kernels.matmul import dlpack
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError

ELEMENTS = tuple(TYPES[name] for name in ("f16", "bf16", "f32", "e4m3", "e5m2", "s8", "u8", "s32"))
"""Element types of arrays."""

TAKEN = "matmul takes float16, bfloat16, float8_e4m3fn, float8_e5m2, int8 or uint8 (and float32 or int32 as out)"
"""What it says of others."""

_NAMES = {text: row.name for row in ELEMENTS
          for text in (row.storage, f"torch.{row.storage}", *((row.plain.str,) if row.in_numpy else ()))}
"""Their names in libraries: NumPy and CuPy, torch, and the typestr of `__cuda_array_interface__`."""


@dataclass(frozen=True)
class Operand:
    """An array in device memory.

    address: of its first element; shape; strides: BYTES per dimension; dtype: of the ELEMENTS; device: its index,
    None for an array of no elements without an address; kind: "torch", "cupy", "cai" (Numba and others) or "dlpack"; stream:
    the handle of the stream on which a "cai" array says that its data is ready, else None; owner keeps the memory alive.
    """

    address: int
    shape: tuple
    strides: tuple
    dtype: str
    device: int | None
    kind: str
    writeable: bool = True
    stream: int | None = None
    owner: object = field(default=None, repr=False, compare=False)

    @property
    def itemsize(self):
        """Bytes per element."""
        return TYPES[self.dtype].bytes

    @property
    def extent(self):
        """Bytes from the first element to behind the last one; 0 if there is none."""
        return extent(self.shape, self.strides, self.itemsize)


def extent(shape, strides, itemsize):
    """Bytes from the first element to behind the last one of an array with strides in bytes, none negative.

    >>> extent((3, 4), (100, 2), 2), extent((0, 4), (8, 2), 2)
    (208, 0)
    """
    if 0 in shape:
        return 0
    return itemsize + sum((size - 1) * stride for size, stride in zip(shape, strides))


def contiguous(shape, itemsize):
    """Strides in bytes of an array whose elements lie one after another, the last dimension innermost.

    >>> contiguous((2, 3, 4), 2)
    (24, 8, 2)
    """
    strides, step = [], itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


# ---- looks: (description, address), a few hundred nanoseconds ----------------------------------------------------

def _look_torch(x):
    at = x.data_ptr()
    return (x.get_device(), x.shape, x.stride(), x.dtype, x.requires_grad, at & 15), at


def _look_cupy(x):
    data = x.data
    at = data.ptr
    return (data.device_id, x.shape, x.strides, x.dtype, at & 15), at


def _look_interface(x):
    face = x.__cuda_array_interface__
    at, read_only = face["data"]
    dtype = getattr(x, "dtype", None)
    return (None, face["shape"], face.get("strides"), face["typestr"], dtype and str(dtype), read_only, at & 15,
            face.get("stream"), face.get("mask") is None), at


def _look_dlpack(x):
    tensor = dlpack.read(x)
    return (tensor.device, tensor.shape, tensor.strides, tensor.dtype, tensor.address & 15), tensor.address


_KINDS = {"torch": _look_torch, "cupy": _look_cupy, "cai": _look_interface, "dlpack": _look_dlpack}
_looks = {}


def kind_of(x):
    """The kind of an array: "torch", "cupy", "cai" or "dlpack"; "numpy" or None if it is none of these."""
    for cls in type(x).__mro__:
        root = cls.__module__.partition(".")[0]
        if root == "torch" and hasattr(x, "data_ptr"):
            return "torch"
        if root == "cupy" and hasattr(x, "strides"):
            return "cupy"
        if root == "numpy":
            return "numpy"
    if hasattr(x, "__cuda_array_interface__"):
        return "cai"
    return "dlpack" if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__") else None


def look(x, name):
    """(description, address): equal descriptions are equal Operands except for address and owner.

    The description is a hashable tuple that holds the address modulo 16; the device comes first, None if the array does
    not tell it. Raises SimlayoutError for anything that is not an array on a GPU; `name` names it in the message.
    """
    read = _looks.get(type(x)) or _new_look(x, name)
    try:
        return read(x)
    except (AttributeError, KeyError, RuntimeError, TypeError) as error:
        text = (str(error) or type(error).__name__).splitlines()[0]
        raise SimlayoutError(f"{name} is no array of numbers in memory ({text})") from None


def address(x, kind):
    """The address of an array of a known kind that is known to be one."""
    return x.data_ptr() if kind == "torch" else x.data.ptr if kind == "cupy" else look(x, "out")[1]


def _new_look(x, name):
    kind = kind_of(x)
    if kind is None or kind == "numpy":
        what = "a NumPy array: in the CPU's memory" if kind else f"{type(x).__name__}: not an array on a GPU"
        more = "; `simlayout gemm --cpu` needs no GPU" if kind else "; a number is passed as alpha" * isinstance(x, Number)
        raise SimlayoutError(f"{name} is {what}; copy it to the GPU, for example with torch.from_numpy(x).cuda(), "
                             f"cupy.asarray(x) or numba.cuda.to_device(x){more}")
    _looks[type(x)] = _KINDS[kind]
    return _KINDS[kind]


# ---- operands: checked once per description ----------------------------------------------------------------------

def operand(x, name, cuda, taken=TAKEN):
    """The Operand of an array.

    cuda: the driver (`cuda_kernels.run.driver.Cuda`), asked for the device of a bare address; taken: what the error for a
    dtype that is none of the ELEMENTS says there is. Raises SimlayoutError for an array in CPU memory, another dtype or
    negative strides.
    """
    look(x, name)
    kind = next(k for k, f in _KINDS.items() if f is _looks[type(x)])
    result = {"torch": _of_torch, "cupy": _of_cupy, "cai": _of_interface, "dlpack": _of_dlpack}[kind](x, name, cuda, taken)
    for size, stride in zip(result.shape, result.strides):
        if stride < 0 and size > 1:
            raise SimlayoutError(f"{name} has a negative stride ({stride} bytes): copy it first")
    if any(stride % result.itemsize for stride in result.strides) or result.address % result.itemsize:
        raise SimlayoutError(f"{name} is not aligned to its {result.itemsize}-byte elements: copy it first")
    return replace(result, strides=tuple(max(stride, 0) for stride in result.strides))     # below 0 of a size of 1 alone


def _dtype(name, taken, *texts):
    """The row of the dtype that an array's library calls by one of these texts, the last of which says most."""
    for text in texts:
        if text in _NAMES:
            return _NAMES[text]
    raise SimlayoutError(f"{name} is {texts[-1]}; {taken}")


def _of_torch(x, name, cuda, taken):
    if x.get_device() < 0 or not x.is_cuda:
        raise SimlayoutError(f"{name} is a torch tensor in the CPU's memory: move it to the GPU with .cuda()")
    dtype = _dtype(name, taken, str(x.dtype))
    size = TYPES[dtype].bytes
    strides = tuple(size * stride for stride in x.stride())
    return Operand(x.data_ptr(), tuple(x.shape), strides, dtype, x.get_device(), "torch", True, None, x)


def _of_cupy(x, name, cuda, taken):
    dtype = _dtype(name, taken, str(x.dtype))
    return Operand(x.data.ptr, tuple(x.shape), tuple(x.strides), dtype, x.data.device_id, "cupy", True, None, x)


def _of_interface(x, name, cuda, taken):
    face = x.__cuda_array_interface__
    if face.get("mask") is not None:
        raise SimlayoutError(f"{name} has a mask: fill its masked elements first")
    dtype = _dtype(name, taken, face["typestr"], str(getattr(x, "dtype", face["typestr"])))     # bfloat16 is there "<V2"
    shape = tuple(face["shape"])
    address, read_only = face["data"]
    strides = face.get("strides")
    strides = contiguous(shape, TYPES[dtype].bytes) if strides is None else tuple(strides)
    device = cuda.device_of(address, name) if address else None
    return Operand(address, shape, strides, dtype, device, "cai", not read_only, _plain(face.get("stream")), x)


def _of_dlpack(x, name, cuda, taken):
    tensor = dlpack.read(x)
    if tensor.device is None:
        raise SimlayoutError(f"{name} is a {type(x).__name__} in the CPU's memory: move it to the GPU")
    dtype = _dtype(name, taken, tensor.dtype)
    size = TYPES[dtype].bytes
    strides = contiguous(tensor.shape, size) if tensor.strides is None else tuple(size * s for s in tensor.strides)
    return Operand(tensor.address, tensor.shape, strides, dtype, tensor.device, "dlpack", owner=tensor.owner)


# ---- new arrays and streams of the caller's library ---------------------------------------------------------------

def new(like, kind, shape, dtype, device, stream=None):
    """A new C-contiguous array of the same kind and on the same device as `like`; its elements are not set.

    dtype: "f16", "bf16" or "f32". stream: the handle of the stream that will write it, None for the library's current one:
    memory that a library pools is reused in the order of one stream. A "dlpack" array gets a Numba device array.
    """
    if kind == "torch":
        return _new_torch(like, shape, dtype, device, stream)
    if kind == "cupy":
        return _new_cupy(shape, dtype, device, stream)
    return _new_numba(shape, dtype, device)


def _new_numba(shape, dtype, device):
    from numba import cuda

    with cuda.gpus[device]:
        return cuda.device_array(shape, _numpy_dtype(dtype))


def _numpy_dtype(dtype):
    try:
        return TYPES[dtype].numpy
    except ImportError:
        kind = TYPES[dtype].storage
        raise SimlayoutError(f"a {kind} out needs ml_dtypes here: pip install ml_dtypes, or pass out=") from None


def _new_torch(like, shape, dtype, device, stream):
    torch = sys.modules["torch"]
    kind = getattr(torch, TYPES[dtype].storage)
    if stream is None:
        if like.dtype is kind:
            return like.new_empty(shape)                 # on the same device: sooner than to tell torch which
        return torch.empty(shape, dtype=kind, device=device)
    with torch.cuda.stream(torch.cuda.ExternalStream(stream, device=device)):
        return torch.empty(shape, dtype=kind, device=device)


def _new_cupy(shape, dtype, device, stream):
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(device):
        if stream is None:
            return cupy.empty(shape, _numpy_dtype(dtype))
        with cupy.cuda.ExternalStream(stream, device):
            return cupy.empty(shape, _numpy_dtype(dtype))


def current_stream(kind, device):
    """A function without arguments: the handle of the stream that a library uses now on a device; 0 is the default one."""
    if kind == "torch":
        torch = sys.modules["torch"]
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        return (lambda: raw(device)) if raw else lambda: torch.cuda.current_stream(device).cuda_stream
    if kind == "cupy":
        cupy = sys.modules["cupy"]
        return lambda: cupy.cuda.get_current_stream(device).ptr
    return lambda: 0


def _plain(stream):
    """A stream of `__cuda_array_interface__`: None or a handle, where 1 names the legacy default stream too."""
    return 0 if stream == 1 else stream


def handle(stream):
    """The driver's handle of a stream: an int, or a torch, CuPy, Numba or cuda.core stream. Raises SimlayoutError.

    >>> handle(0), handle(1)
    (0, 1)
    """
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    for attribute in ("cuda_stream", "ptr"):
        number = getattr(stream, attribute, None)
        if isinstance(number, int):
            return number
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    shown = stream if isinstance(stream, int) else type(stream).__name__
    raise SimlayoutError(f"stream is {shown}: pass a torch, CuPy, Numba or cuda.core stream, or its handle")
