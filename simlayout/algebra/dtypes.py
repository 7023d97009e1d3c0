"""Element types as a table: bits, what stores them, how TMA and registers know them, what adds up their products."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from simlayout.errors import LayoutError, brief
from simlayout.wording import nearest


@dataclass(frozen=True)
class DType:
    """An element type; a row of TYPES.

    name: PTX's. bits: of an element in shared memory. storage: the name of the NumPy dtype that stores it. tma: its
    CUtensorMapDataType, None where TMA has no such elements. register: the type of the register operands that hold elements
    of it: b32, packed, or its own. exponent, fraction: bits of a float, 0 of other types; infinities: whether it has them,
    else the largest exponent is one of numbers too. accumulators: the types in which tensor cores add up its products.

    >>> dtype_of("f16").bytes
    2
    >>> dtype_of("tf32").numpy
    dtype('float32')
    >>> TYPES["e4m3"].tma, TYPES["e4m3"].accumulators, TYPES["e4m3"].largest, TYPES["s4"].limits
    (0, ('f32', 'f16'), 448.0, (-8, 7))
    """

    name: str
    bits: int
    storage: str
    tma: int | None = None
    register: str = "b32"
    exponent: int = 0
    fraction: int = 0
    infinities: bool = True
    accumulators: tuple = ()

    @property
    def bytes(self) -> int:
        """Size of one element in shared memory, in bytes."""
        return self.bits // 8

    @property
    def numpy(self) -> np.dtype:
        """The NumPy dtype that stores it. bf16, e4m3 and e5m2 need the package ml_dtypes, imported when asked for."""
        try:
            return np.dtype(self.storage)
        except TypeError:
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, self.storage))

    @property
    def in_numpy(self) -> bool:
        """Whether NumPy has such numbers, without the package ml_dtypes."""
        return hasattr(np, self.storage)

    @property
    def raw(self) -> np.dtype:
        """The unsigned integers that hold its bits, each in whole bytes.

        >>> TYPES["bf16"].raw, TYPES["s4"].raw
        (dtype('uint16'), dtype('uint8'))
        """
        return np.dtype(f"{'u' if self.bits <= 64 else 'V'}{max(1, self.bytes)}")

    @property
    def plain(self) -> np.dtype:
        """The dtype of its arrays where ml_dtypes is not asked for: raw bits where NumPy has no such numbers.

        >>> TYPES["bf16"].plain, TYPES["tf32"].plain
        (dtype('uint16'), dtype('float32'))
        """
        return np.dtype(self.storage) if self.in_numpy else self.raw

    @property
    def operand(self) -> np.dtype:
        """The dtype of A and B of a product in `simlayout.numerics`: raw bits of what registers hold packed.

        >>> TYPES["f16"].operand, TYPES["f64"].operand
        (dtype('uint16'), dtype('float64'))
        """
        return self.raw if self.register == "b32" else self.plain

    @property
    def limits(self) -> tuple | None:
        """(least, most) of an integer type; None of a float."""
        if self.exponent:
            return None
        return (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.name[0] == "s" else (0, (1 << self.bits) - 1)

    @property
    def bias(self) -> int:
        """Of the exponent of a float."""
        return (1 << self.exponent - 1) - 1

    @property
    def exponents(self) -> tuple:
        """The (least, most) exponents of a float's normal numbers."""
        return 1 - self.bias, self.bias + (not self.infinities)

    @property
    def largest(self) -> float:
        """The largest number of a float type; where there are no infinities, its last fraction of all is NaN's."""
        return (2 - 2.0**-self.fraction * (1 if self.infinities else 2)) * 2.0**self.exponents[1]

    @property
    def nan(self) -> int:
        """The bits of the NaN that tensor cores and conversions make of a float: all but the sign (measured:
        `simlayout.numerics.rules`)."""
        return (1 << self.bits - 1) - 1

    def __str__(self):
        return self.name


def _table(*rows):
    return {row.name: row for row in rows}


DTYPES = _table(
    DType("f16", 16, "float16", 6, exponent=5, fraction=10, accumulators=("f32", "f16")),
    DType("bf16", 16, "bfloat16", 9, exponent=8, fraction=7, accumulators=("f32",)),
    DType("f32", 32, "float32", 7, "f32", exponent=8, fraction=23),
    DType("tf32", 32, "float32", 11, exponent=8, fraction=10, accumulators=("f32",)),
    DType("f64", 64, "float64", 8, "f64", exponent=11, fraction=52, accumulators=("f64",)),
    DType("e4m3", 8, "float8_e4m3fn", 0, exponent=4, fraction=3, infinities=False, accumulators=("f32", "f16")),
    DType("e5m2", 8, "float8_e5m2", 0, exponent=5, fraction=2, accumulators=("f32", "f16")),
    DType("s8", 8, "int8", 0, accumulators=("s32",)),
    DType("s16", 16, "int16", 1, "s16"),
    DType("s32", 32, "int32", 3, "s32"),
    DType("s64", 64, "int64", 5, "s64"),
    DType("u8", 8, "uint8", 0, accumulators=("s32",)),
    DType("u16", 16, "uint16", 1, "b16"),
    DType("u32", 32, "uint32", 2, "u32"),
    DType("u64", 64, "uint64", 4, "u64"),
    DType("b8", 8, "uint8"),
    DType("b16", 16, "uint16", register="b16"),
    DType("b32", 32, "uint32"),
    DType("b64", 64, "uint64", register="b64"),
    DType("b128", 128, "V16", register="b128"),
)
"""Those that tiles of shared memory have, by name. Where two rows share a storage, a NumPy dtype stands for the first. tf32
is an f32 whose low 13 bits the tensor cores do not read. Names, bits, exponents: PTX ISA, "Fundamental types" and "Alternate
floating-point data formats"; OCP 8-bit floating point, for e4m3 and e5m2. tma: cuda.h, CUtensorMapDataType; TMA moves bits,
so 8-bit types travel as u8, s16 as u16. register, accumulators: PTX ISA, mma and wgmma.mma_async."""

TYPES = DTYPES | _table(
    DType("s4", 4, "int8", accumulators=("s32",)),
    DType("u4", 4, "uint8", accumulators=("s32",)),
    DType("b4", 4, "uint8"),
    DType("b1", 1, "uint8", accumulators=("s32",)),
)
"""These, and those of less than a byte, which only operands of tensor cores have."""

# What other libraries and languages call them; refused, since some mean something else there.
_ELSEWHERE = {
    "half": "f16", "fp16": "f16", "__half": "f16", "bfloat": "bf16", "__nv_bfloat16": "bf16", "float": "f32", "fp32": "f32",
    "single": "f32", "double": "f64", "fp64": "f64", "fp8": "e4m3 or e5m2", "f8": "e4m3 or e5m2", "char": "s8", "i8": "s8",
    "int8_t": "s8", "uint8_t": "u8", "uint16_t": "u16", "int": "s32", "i32": "s32", "int32_t": "s32", "unsigned": "u32",
    "uint32_t": "u32", "uint": "u32", "short": "s16", "i16": "s16", "int16_t": "s16", "long": "s64", "i64": "s64",
    "int64_t": "s64", "uint64_t": "u64", "size_t": "u64",
}

_PACKED = frozenset(("b1", "b4", "s4", "u4", "i4", "int4", "uint4", "e2m1", "f4", "fp4", "nvfp4", "mxfp4"))

_BY_STORAGE = {row.storage: row for row in reversed(DTYPES.values())}


def dtype_of(dtype: DType | DTypeLike) -> DType:
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
f16 bf16 f32 tf32 f64 e4m3 e5m2 s8 s16 s32 s64 u8 u16 u32 u64 b8 b16 b32 b64 b128
    """
    if isinstance(dtype, DType):
        return dtype
    name = dtype
    if isinstance(dtype, np.dtype):
        name = dtype.name
    elif isinstance(dtype, type) and issubclass(dtype, np.generic):
        name = np.dtype(dtype).name
    known = (DTYPES.get(name) or _BY_STORAGE.get(name)) if isinstance(name, str) else None
    if known is None:
        raise LayoutError(f"unknown dtype {brief(dtype)}{did_you_mean(name)}; known: {' '.join(DTYPES)}")
    return known


def did_you_mean(name, known=DTYPES):
    """What was probably meant by a name that is not among the known ones; "" where that cannot be told.

    >>> did_you_mean("half"), did_you_mean("e4m4"), did_you_mean("i64"), did_you_mean("fp8", ("f16", "bf16"))
    (' (did you mean f16?)', ' (did you mean e4m3?)', ' (did you mean s64?)', '')
    >>> did_you_mean("e2m1")
    ' (less than a byte: give the bytes that hold several, b8)'
    """
    if not isinstance(name, str) or len(name) > 30:
        return ""
    lower = name.lower()
    if lower in _PACKED:
        return " (less than a byte: give the bytes that hold several, b8)"
    meant = _ELSEWHERE.get(lower, "")
    if not meant or not set(meant.split(" or ")) <= set(known):
        meant = next(iter(nearest(lower, known)), "")
    return f" (did you mean {meant}?)" if meant else ""
