"""Element types: how many bits an element has, and which NumPy dtype stores it."""

import reprlib
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from simlayout.errors import LayoutError


@dataclass(frozen=True)
class DType:
    """An element type: its PTX name, its size in shared memory in bits, and the name of the NumPy dtype that stores it.

    >>> dtype_of("f16").bytes
    2
    >>> dtype_of("tf32").numpy
    dtype('float32')
    """

    name: str
    bits: int
    storage: str

    @property
    def bytes(self):
        """Size of one element in shared memory, in bytes."""
        return self.bits // 8

    @property
    def numpy(self):
        """The NumPy dtype that stores it. bf16, e4m3 and e5m2 need the package ml_dtypes, imported when asked for."""
        try:
            return np.dtype(self.storage)
        except TypeError:
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, self.storage))

    def __str__(self):
        return self.name


# PTX ISA, "Fundamental types" and "Alternate floating-point data formats". Where two rows share a storage, a NumPy
# dtype stands for the first. tf32 is an f32 whose low 13 bits the tensor cores do not read.
DTYPES = {
    row.name: row
    for row in (
        DType("f16", 16, "float16"),
        DType("bf16", 16, "bfloat16"),
        DType("f32", 32, "float32"),
        DType("tf32", 32, "float32"),
        DType("f64", 64, "float64"),
        DType("e4m3", 8, "float8_e4m3fn"),
        DType("e5m2", 8, "float8_e5m2"),
        DType("s8", 8, "int8"),
        DType("s32", 32, "int32"),
        DType("u8", 8, "uint8"),
        DType("u16", 16, "uint16"),
        DType("u32", 32, "uint32"),
        DType("b8", 8, "uint8"),
        DType("b16", 16, "uint16"),
        DType("b32", 32, "uint32"),
        DType("b64", 64, "uint64"),
        DType("b128", 128, "V16"),
    )
}

# What other libraries and languages call them; refused, since some mean something else there.
_ELSEWHERE = {
    "half": "f16", "fp16": "f16", "__half": "f16", "bfloat": "bf16", "__nv_bfloat16": "bf16", "float": "f32", "fp32": "f32",
    "single": "f32", "double": "f64", "fp64": "f64", "fp8": "e4m3 or e5m2", "f8": "e4m3 or e5m2", "char": "s8", "i8": "s8",
    "int8_t": "s8", "uint8_t": "u8", "uint16_t": "u16", "int": "s32", "i32": "s32", "int32_t": "s32", "unsigned": "u32",
    "uint32_t": "u32", "uint": "u32",
}

_BY_STORAGE = {row.storage: row for row in reversed(DTYPES.values())}


def dtype_of(dtype):
    """The DType meant by a DType, one of our names ("f16"), or a NumPy dtype, scalar type or full name ("float16").

    Short NumPy codes such as "f8" are refused: NumPy means 8 bytes by it, a CUDA programmer 8 bits.
    Raises LayoutError, which lists the known names and suggests one.

    >>> import numpy as np
    >>> dtype_of(np.float16) is dtype_of("f16") is dtype_of(np.dtype("float16"))
    True
    >>> dtype_of("f8")
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: unknown dtype 'f8' (did you mean e4m3 or e5m2?); known: \
f16 bf16 f32 tf32 f64 e4m3 e5m2 s8 s32 u8 u16 u32 b8 b16 b32 b64 b128
    """
    if isinstance(dtype, DType):
        return dtype
    name = dtype
    if isinstance(dtype, np.dtype):
        name = dtype.name
    elif isinstance(dtype, type) and issubclass(dtype, np.generic):
        name = np.dtype(dtype).name
    found = (DTYPES.get(name) or _BY_STORAGE.get(name)) if isinstance(name, str) else None
    if found is None:
        raise LayoutError(f"unknown dtype {reprlib.repr(dtype)}{_hint(name)}; known: {' '.join(DTYPES)}")
    return found


def _hint(name):
    """What was probably meant by a name that is not known; "" where that cannot be told."""
    if not isinstance(name, str) or len(name) > 30:
        return ""
    near = _ELSEWHERE.get(name.lower()) or next(iter(get_close_matches(name.lower(), DTYPES, 1)), None)
    return f" (did you mean {near}?)" if near else ""
