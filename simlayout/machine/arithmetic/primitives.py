"""What every lane-wise instruction is made of: a choice per lane, bits as floats and back, predicates.

Everything in this package works on NumPy arrays of carriers as it stands, and on scalars after `compile_scalar`. A carrier
is how a register's value is passed:

  s8 s16 s32 s64                        int64, sign-extended
  u8 u16 u32 u64 b8 b16 b32 b64         uint64, zero-extended
  pred, cc                              uint64, 0 or 1
  f32, f64                              float32, float64
  f16 bf16 f16x2 bf16x2 tf32, fp8 pairs uint64, raw bits

NumPy's warnings (overflow, invalid, divide) say nothing here: callers hold `np.errstate(all="ignore")`. Compiled code needs
`error_model="numpy"`. Constants are typed, because a Python integer turns a uint64 into a float64 in older NumPy and in
Numba.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Carrier: TypeAlias = Any
"""A NumPy array of carriers [..., lanes], or a NumPy scalar. Any to type checkers, because one source serves both."""

U64, I64, F32, F64 = np.uint64, np.int64, np.float32, np.float64
"""How a constant of a carrier is written: U64(31)."""

BITS = {1: U64(1), 8: U64(0xFF), 16: U64(0xFFFF), 24: U64(0xFFFFFF), 32: U64(0xFFFFFFFF), 64: U64(0xFFFFFFFFFFFFFFFF)}
"""Width -> all ones."""

_U0, _U1 = U64(0), U64(1)
_SIGN_64 = U64(1 << 63)


def select(condition: Carrier, yes: Carrier, no: Carrier) -> Carrier:
    """Per lane, `yes` where the condition holds and `no` elsewhere; both are worked out. Their types are equal.

    >>> select(np.array([True, False]), np.array([1, 2]), np.array([3, 4])).tolist()
    [1, 4]
    """
    return np.where(condition, yes, no)


def predicate(condition: Carrier) -> Carrier:
    """The carrier of a predicate: 1 where a condition holds.

    >>> predicate(np.array([True, False]))
    array([1, 0], dtype=uint64)
    """
    return np.uint64(condition)


def as_f64(x: Carrier) -> Carrier:
    """Numbers as f64, of an array as an array. (np.float64 of an array of one element is a scalar before NumPy 2.4.)

    >>> as_f64(np.float32([1.5]))
    array([1.5])
    """
    return np.asarray(x, np.float64)[()]


def bits_f32(x: Carrier) -> Carrier:
    """The bits of f32 numbers.

    >>> hex(bits_f32(np.float32(1)))
    '0x3f800000'
    """
    return np.uint64(np.float32(x).view(np.uint32))


def float_f32(bits: Carrier) -> Carrier:
    """The f32 numbers of bits.

    >>> float(float_f32(np.uint64(0x3F800000)))
    1.0
    """
    return np.uint32(bits).view(np.float32)


def bits_f64(x: Carrier) -> Carrier:
    """The bits of f64 numbers.

    >>> hex(bits_f64(np.float64(1)))
    '0x3ff0000000000000'
    """
    return as_f64(x).view(np.uint64)


def float_f64(bits: Carrier) -> Carrier:
    """The f64 numbers of bits.

    >>> float(float_f64(np.uint64(0x3FF0000000000000)))
    1.0
    """
    return np.uint64(bits).view(np.float64)


def unsigned(x: Carrier) -> Carrier:
    """The 64 bits of a signed carrier.

    >>> int(unsigned(np.int64(-1))) == 2**64 - 1
    True
    """
    return np.int64(x).view(np.uint64)


def signed(x: Carrier) -> Carrier:
    """64 bits as a signed carrier.

    >>> int(signed(np.uint64(2**64 - 1)))
    -1
    """
    return np.uint64(x).view(np.int64)


def with_operands(count: int, *functions: Callable) -> Callable:
    """The one of several functions that takes so many operands.

    >>> with_operands(1, lambda a: "one", lambda a, b: "two")(0)
    'one'
    """
    return next(function for function in functions if function.__code__.co_argcount == count)


def same(x: Carrier) -> Carrier:
    """The carrier as it is: of mov, and where a modifier is absent.

    >>> int(same(np.uint64(5)))
    5
    """
    return x
