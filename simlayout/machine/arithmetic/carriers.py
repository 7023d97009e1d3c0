"""From the raw bits of registers to carriers and back."""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import InstructionError
from simlayout.machine.arithmetic.primitives import BITS, U64, bits_f32, bits_f64, float_f32, float_f64, signed, unsigned

_SCALARS = {f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)}
_SCALARS |= {name: TYPES[name].bits for name in ("f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "b128")}
_PACKED = {f"{name}x2": 2 * _SCALARS[name] for name in ("f16", "bf16", "s16", "u16", "f32", "e4m3", "e5m2")}
WIDTHS: dict[str, int] = _SCALARS | _PACKED | dict.fromkeys(("pred", "cc"), 1)
"""Type -> bits. PTX ISA, Fundamental Types; Alternate Floating-Point Data Formats; Packed Data Types."""


def width_of(name: str) -> int:
    """The bits of a type; raises InstructionError for one that PTX lacks.

    >>> width_of("s32"), width_of("f16x2"), width_of("pred")
    (32, 32, 1)
    """
    if name not in WIDTHS:
        raise InstructionError(f"{name} is no type of a register that lane-wise instructions take")
    return WIDTHS[name]


@cache
def reader(name: str) -> Callable:
    """What makes carriers of a type from the bits of registers (uint64), of which the low ones of the type's width count.

    >>> reader("s8")(np.uint64([0x1FF, 5])).tolist(), reader("f32")(np.uint64([0x3F800000])).tolist()
    ([-1, 5], [1.0])
    """
    width = width_of(name)
    if name in ("f32", "f64"):
        return float_f32 if width == 32 else float_f64
    if name[0] == "s":
        return signed if width == 64 else _sign_extender(width)
    return truncation(width)


@cache
def writer(name: str) -> Callable:
    """What makes 64 bits from carriers of a type: floats as their bits, zero-extended; integers as they are, so that a
    signed one is sign-extended, as cvt to s8 leaves a wider register. Whoever stores them keeps as many bits as the
    register has.

    >>> [hex(bits) for bits in writer("s32")(np.int64([-1, 5]))]
    ['0xffffffffffffffff', '0x5']
    """
    if name in ("f32", "f64"):
        return bits_f32 if name == "f32" else bits_f64
    return unsigned if name[0] == "s" else _bits


def _bits(x):
    return np.uint64(x)


@cache
def truncation(width: int) -> Callable:
    """What keeps the low bits of a uint64.

    >>> hex(truncation(16)(np.uint64(0x12345)))
    '0x2345'
    """
    ones = BITS[width]

    def truncate(x):
        return np.uint64(x) & ones

    return truncate


@cache
def extension(width: int, is_signed: bool) -> Callable:
    """What wraps a carrier to an integer type: to its low bits, sign- or zero-extended.

    >>> int(extension(8, True)(np.int64(200))), int(extension(8, False)(np.uint64(456)))
    (-56, 200)
    """
    if not is_signed:
        return truncation(width)
    return _wrapper(width)


@cache
def _sign_extender(width):
    up = U64(64 - width)
    down = np.int64(64 - width)

    def extend(bits):
        return signed(np.uint64(bits) << up) >> down

    return extend


@cache
def _wrapper(width):
    up = np.int64(64 - width)

    def wrap(x):
        return (np.int64(x) << up) >> up

    return wrap
