"""Integer arithmetic on carriers: sums, products, quotients, carries, dot products.

PTX ISA, Integer Arithmetic Instructions and Extended-Precision Integer Arithmetic Instructions. A result that exceeds its
type is cut to the width of its register by whoever writes it.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.primitives import BITS, I64, U64, Carrier, select, signed, unsigned

_U0, _U1, _U16, _U32 = (U64(n) for n in (0, 1, 16, 32))
_I0, _I_1, _I40 = (I64(n) for n in (0, -1, 40))
_ONES, _LOW = BITS[64], BITS[32]
_LEAST_32, _MOST_32 = I64(-(2**31)), I64(2**31 - 1)
_HALF, _SIGN_HALF = BITS[16], U64(0x8000)


def add(a: Carrier, b: Carrier) -> Carrier:
    """a + b.

    >>> int(add(np.uint64(3), np.uint64(5)))
    8
    """
    return a + b


def subtract(a: Carrier, b: Carrier) -> Carrier:
    """a - b.

    >>> int(subtract(np.int64(3), np.int64(5)))
    -2
    """
    return a - b


def multiply(a: Carrier, b: Carrier) -> Carrier:
    """a * b: mul.lo, and mul.wide of types below 64 bits.

    >>> int(multiply(np.int64(-3), np.int64(5)))
    -15
    """
    return a * b


def clamp_s32(x: Carrier) -> Carrier:
    """A sum of s32 clamped to s32: .sat.

    >>> int(clamp_s32(np.int64(2**31)))
    2147483647
    """
    return np.minimum(np.maximum(x, _LEAST_32), _MOST_32)


def add_saturated(a: Carrier, b: Carrier) -> Carrier:
    """add.sat.s32.

    >>> int(add_saturated(np.int64(2**31 - 1), np.int64(1)))
    2147483647
    """
    return clamp_s32(a + b)


def subtract_saturated(a: Carrier, b: Carrier) -> Carrier:
    """sub.sat.s32.

    >>> int(subtract_saturated(np.int64(-2**31), np.int64(1)))
    -2147483648
    """
    return clamp_s32(a - b)


def multiply_high_u64(a: Carrier, b: Carrier) -> Carrier:
    """The high 64 bits of a product of u64, from four products of 32 bits.

    >>> hex(multiply_high_u64(np.uint64(2**63), np.uint64(6)))
    '0x3'
    """
    a0, a1, b0, b1 = a & _LOW, a >> _U32, b & _LOW, b >> _U32
    middle = a1 * b0 + (a0 * b0 >> _U32)                  # below 2**64
    other = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> _U32) + (other >> _U32)


def multiply_high_s64(a: Carrier, b: Carrier) -> Carrier:
    """The high 64 bits of a product of s64.

    >>> int(multiply_high_s64(np.int64(-2**63), np.int64(2)))
    -1
    """
    high = multiply_high_u64(unsigned(a), unsigned(b))    # too large by b where a is negative, by a where b is
    high = high - select(a < _I0, unsigned(b), _U0) - select(b < _I0, unsigned(a), _U0)
    return signed(high)


@cache
def multiply_high(width: int, is_signed: bool) -> Callable:
    """mul.hi of a type.

    >>> int(multiply_high(16, False)(np.uint64(0x8000), np.uint64(6)))
    3
    """
    if width == 64:
        return multiply_high_s64 if is_signed else multiply_high_u64
    by = (I64 if is_signed else U64)(width)

    def high(a, b):
        return a * b >> by

    return high


@cache
def multiply_add(width: int, is_signed: bool, mode: str, saturated: bool = False) -> Callable:
    """mad.lo, mad.hi, mad.wide and mad.hi.sat.s32.

    >>> int(multiply_add(32, True, "lo")(np.int64(3), np.int64(4), np.int64(-5)))
    7
    """
    product = multiply_high(width, is_signed) if mode == "hi" else multiply

    def fused(a, b, c):
        return product(a, b) + c

    def clamped(a, b, c):
        return clamp_s32(product(a, b) + c)

    return clamped if saturated else fused


@cache
def product_24(mode: str, is_signed: bool, added: bool = False, saturated: bool = False) -> Callable:
    """mul24 and mad24: the low 32 bits of a product of 24-bit numbers, or its bits 16 to 47.

    >>> hex(product_24("hi", False)(np.uint64(0xFFFFFF), np.uint64(0x10000)))
    '0xffffff'
    """
    down = (I64 if is_signed else U64)(16 if mode == "hi" else 0)
    ones = BITS[24]

    def factor(x):
        return x & ones

    def signed_factor(x):
        return x << _I40 >> _I40

    cut = signed_factor if is_signed else factor

    def multiplied(a, b):
        return cut(a) * cut(b) >> down

    def with_sum(a, b, c):
        return (cut(a) * cut(b) >> down) + c

    def clamped(a, b, c):
        return clamp_s32((cut(a) * cut(b) >> down) + c)

    return clamped if saturated else with_sum if added else multiplied


def sum_of_absolute_difference(a: Carrier, b: Carrier, c: Carrier) -> Carrier:
    """sad: c + |a - b|.

    >>> int(sum_of_absolute_difference(np.uint64(3), np.uint64(5), np.uint64(1)))
    3
    """
    return c + (np.maximum(a, b) - np.minimum(a, b))


def divide_unsigned(a: Carrier, b: Carrier) -> Carrier:
    """div of unsigned types; by zero all ones (PTX leaves it open; the code that ptxas makes for sm_90).

    >>> int(divide_unsigned(np.uint64(7), np.uint64(2))), hex(divide_unsigned(np.uint64(7), np.uint64(0)))
    (3, '0xffffffffffffffff')
    """
    zero = b == _U0
    return select(zero, _ONES, a // select(zero, _U1, b))


def remainder_unsigned(a: Carrier, b: Carrier) -> Carrier:
    """rem of unsigned types; by zero all ones, as `divide_unsigned`.

    >>> int(remainder_unsigned(np.uint64(7), np.uint64(2)))
    1
    """
    zero = b == _U0
    safe = select(zero, _U1, b)
    return select(zero, _ONES, a - a // safe * safe)


def _magnitude(x):
    return unsigned(select(x < _I0, -x, x))


def divide_signed(a: Carrier, b: Carrier) -> Carrier:
    """div of signed types, toward zero; by zero -1, as `divide_unsigned`; the least number by -1 wraps.

    >>> [int(divide_signed(np.int64(-7), np.int64(b))) for b in (2, 0)]
    [-3, -1]
    """
    zero = b == _I0
    divisor = _magnitude(b)
    size = signed(_magnitude(a) // select(zero, _U1, divisor))
    quotient = select((a < _I0) ^ (b < _I0), -size, size)
    return select(zero, _I_1, quotient)


def remainder_signed(a: Carrier, b: Carrier) -> Carrier:
    """rem of signed types, with the sign of a; by zero -1, as `divide_unsigned`.

    >>> [int(remainder_signed(np.int64(-7), np.int64(b))) for b in (2, 0)]
    [-1, -1]
    """
    zero = b == _I0
    divisor, size = _magnitude(b), _magnitude(a)
    divisor = select(zero, _U1, divisor)
    rest = signed(size - size // divisor * divisor)
    return select(zero, _I_1, select(a < _I0, -rest, rest))


def absolute(a: Carrier) -> Carrier:
    """abs of signed types; the least number stays.

    >>> int(absolute(np.int64(-3)))
    3
    """
    return select(a < _I0, -a, a)


def negate(a: Carrier) -> Carrier:
    """neg of signed types.

    >>> int(negate(np.int64(3)))
    -3
    """
    return -a


def least(a: Carrier, b: Carrier) -> Carrier:
    """min of integers.

    >>> int(least(np.int64(-1), np.int64(1)))
    -1
    """
    return np.minimum(a, b)


def most(a: Carrier, b: Carrier) -> Carrier:
    """max of integers.

    >>> int(most(np.int64(-1), np.int64(1)))
    1
    """
    return np.maximum(a, b)


@cache
def extreme(name: str, relu: bool = False) -> Callable:
    """min, max, and those with .relu, which makes negative results zero.

    >>> int(extreme("min", True)(np.int64(-1), np.int64(1)))
    0
    """
    pick = {"min": least, "max": most}[name]

    def clamped(a, b):
        return np.maximum(pick(a, b), _I0)

    return clamped if relu else pick


@cache
def packed_16(operation: Callable, is_signed: bool) -> Callable:
    """An operation of two 16-bit integers on pairs of them in 32 bits: u16x2, s16x2.

    >>> hex(packed_16(add, False)(np.uint64(0x0001FFFF), np.uint64(0x00010001)))
    '0x20000'
    """
    def half(x, by):
        return x >> by & _HALF

    def signed_half(x, by):
        return signed((x >> by & _HALF ^ _SIGN_HALF) - _SIGN_HALF)

    part = signed_half if is_signed else half

    def both(a, b):
        low, high = operation(part(a, _U0), part(b, _U0)), operation(part(a, _U16), part(b, _U16))
        return np.uint64(low) & _HALF | (np.uint64(high) & _HALF) << _U16

    return both


@cache
def dot(bytes_signed_a: bool, bytes_signed_b: bool, mode: str = "") -> Callable:
    """dp4a, and dp2a with mode lo or hi: c + the products of bytes of b with bytes, or halves, of a. a, b: b32; c: s64.

    >>> dot(True, False)(np.uint64([0xFF020304]), np.uint64([0x01010101]), np.int64([10])).tolist()
    [18]
    """
    width = 16 if mode else 8
    shifts = tuple(U64(width * i) for i in range(32 // width))
    first = 16 if mode == "hi" else 0
    bytes_b = tuple(U64(first + 8 * i) for i in range(32 // width))
    pick_a, pick_b = piece_of(width, bytes_signed_a), piece_of(8, bytes_signed_b)

    if mode:
        def two(a, b, c):
            return (c + pick_a(a, shifts[0]) * pick_b(b, bytes_b[0]) + pick_a(a, shifts[1]) * pick_b(b, bytes_b[1]))

        return two

    def four(a, b, c):
        return (c + pick_a(a, shifts[0]) * pick_b(b, bytes_b[0]) + pick_a(a, shifts[1]) * pick_b(b, bytes_b[1])
                + pick_a(a, shifts[2]) * pick_b(b, bytes_b[2]) + pick_a(a, shifts[3]) * pick_b(b, bytes_b[3]))

    return four


@cache
def piece_of(width, is_signed):
    """A piece of a b32, as int64."""
    ones, sign = BITS[width], U64(1 << (width - 1) if is_signed else 0)

    def piece(x, by):
        return signed(((x >> by & ones) ^ sign) - sign)

    return piece
