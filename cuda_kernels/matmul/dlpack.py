"""Reads the DLPack capsule of an array that offers nothing else (https://dmlc.github.io/dlpack/latest/c_api.html)."""

import ctypes
from dataclasses import dataclass, field

from simlayout.errors import SimlayoutError

CUDA, CUDA_MANAGED = 2, 13
"""Device types of memory on a CUDA GPU (DLDeviceType)."""

OF_ANY_WIDTH = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
OF_ONE_WIDTH = {6: "bool", 7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn",
                11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz", 14: "float8_e8m0fnu", 15: "float6_e2m3fn",
                16: "float6_e3m2fn", 17: "float4_e2m1fn"}
"""DLDataTypeCode -> its name: kDLInt to kDLComplex, which the bits of an element follow; kDLBool to kDLFloat4_e2m1fn."""


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


def dtype_of(code, bits, lanes):
    """The name of a DLDataType, as NumPy, ml_dtypes and torch write it where they have it.

    >>> dtype_of(4, 16, 1), dtype_of(11, 8, 1), dtype_of(17, 4, 2)
    ('bfloat16', 'float8_e4m3fnuz', 'float4_e2m1fn in vectors of 2')
    """
    name = f"{OF_ANY_WIDTH[code]}{bits}" if code in OF_ANY_WIDTH else OF_ONE_WIDTH.get(code, f"DLPack type {code}")
    return name + f" in vectors of {lanes}" * (lanes != 1)


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
    return CapsuleContents((tensor.data or 0) + tensor.byte_offset, tuple(tensor.shape[:n]), strides,
                           dtype_of(tensor.code, tensor.bits, tensor.lanes),
                           tensor.device if on_gpu else None, (x, capsule))
