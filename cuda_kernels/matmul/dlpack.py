"""Reads the DLPack capsule of an array that offers nothing else (https://dmlc.github.io/dlpack/latest/c_api.html)."""

import ctypes
from dataclasses import dataclass, field

from simlayout.errors import SimlayoutError

CUDA, CUDA_MANAGED = 2, 13
"""Device types of memory on a CUDA GPU (DLDeviceType)."""

_DTYPES = {(2, 16): "float16", (2, 32): "float32", (4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2",
           (0, 8): "int8", (1, 8): "uint8", (0, 32): "int32"}
"""(DLDataTypeCode, bits): kDLInt 0, kDLUInt 1, kDLFloat 2, kDLBfloat 4, kDLFloat8_e4m3fn 10, kDLFloat8_e5m2 12."""


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


@dataclass(frozen=True)
class CapsuleContents:
    """What a capsule says: address; shape; strides in ELEMENTS or None if contiguous; dtype; device index, None on a CPU.

    owner holds the capsule, whose memory stays alive with it.
    """

    address: int
    shape: tuple
    strides: tuple | None
    dtype: str
    device: int | None
    writeable: bool
    owner: object = field(repr=False, compare=False)


def read(x):
    """What the DLPack capsule of an array says; ordered on the default stream. Raises SimlayoutError if it gives none."""
    try:
        place = x.__dlpack_device__()
        capsule = x.__dlpack__(stream=1) if int(place[0]) in (CUDA, CUDA_MANAGED) else x.__dlpack__()
    except (BufferError, TypeError, RuntimeError) as error:
        raise SimlayoutError(f"{type(x).__name__} gives no DLPack capsule: {str(error).splitlines()[0]}") from None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    n = tensor.ndim
    strides = tuple(tensor.strides[:n]) if tensor.strides else None
    on_gpu = tensor.device_type in (CUDA, CUDA_MANAGED)
    dtype = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    return CapsuleContents((tensor.data or 0) + tensor.byte_offset, tuple(tensor.shape[:n]), strides,
                           dtype or f"DLPack type {tensor.code} of {tensor.bits} bits",
                           tensor.device if on_gpu else None, True, (x, capsule))
