"""f16 and bf16 arithmetic on raw bits, one number or two to a register.

PTX ISA, Half Precision Floating Point Instructions. Sums, products and fused multiply-adds are worked out in f64, exactly or
rounded to odd, and rounded once. Every NaN that arithmetic makes is 0x7fff.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.primitives import F32, F64, U64, Carrier, as_f64, float_f32, same, select, with_operands
from simlayout.machine.arithmetic.rounding import encoder, odd_sum

_U0, _U13, _U16 = U64(0), U64(13), U64(16)
_HALF, _SIGN, _SIZE = U64(0xFFFF), U64(0x8000), U64(0x7FFF)
_INFINITY = {"f16": U64(0x7C00), "bf16": U64(0x7F80)}
_LEAST_NORMAL = U64(0x0400)
_ONE = {"f16": U64(0x3C00), "bf16": U64(0x3F80)}
_SCALE, _GREAT, _NAN, _ZERO = F32(2.0**112), F32("inf"), F32("nan"), F64(0)
_CANONICAL = U64(0x7FFF)
OUT_OF_BOUNDS = U64(0x7FF7)
"""The NaN with which a tensor copy marks what lies out of bounds ("OOB NaN"), of either sign. The PTX ISA does not say
which: an open-source emulator of tensor copies reports it of an sm_120 GPU; an H200 makes zero of 0xfff7 (f16) and 0x7ff7
(bf16), and of none of 490 other NaN of f16 and 103 of bf16 (2026-11-23)."""

_TINY = F64(2.0**-14 * (1 - 2.0**-12))
"""What an f16 result lies below, in magnitude, if it is subnormal when rounded to 11 bits (see `rounding.flush_tiny`)."""


def number_f16(bits: Carrier) -> Carrier:
    """The f16 numbers of raw bits, as f32.

    >>> float(number_f16(np.uint64(0xC200)))
    -3.0
    """
    size = bits & _SIZE
    made = float_f32(size << _U13) * _SCALE                       # the exponents of f32 begin 112 lower
    infinity = U64(0x7C00)
    made = select(size < infinity, made, select(size == infinity, _GREAT, _NAN))
    return select(bits & _SIGN == _U0, made, -made)


def number_bf16(bits: Carrier) -> Carrier:
    """The bf16 numbers of raw bits, as f32; a NaN keeps its bits.

    >>> float(number_bf16(np.uint64(0xC040)))
    -3.0
    """
    return float_f32((bits & _HALF) << _U16)


NUMBER = {"f16": number_f16, "bf16": number_bf16}
"""Type -> what makes f32 of its raw bits."""


# ---- f64 in, f64 out

def _add(a, b):
    return odd_sum(a, b)


def _subtract(a, b):
    return odd_sum(a, -b)


def _multiply(a, b):
    return a * b


def _fuse(a, b, c):
    return odd_sum(a * b, c)


_OPERATIONS = {"add": (2, _add), "sub": (2, _subtract), "mul": (2, _multiply), "fma": (3, _fuse)}


def flush_f16(bits: Carrier) -> Carrier:
    """.ftz of f16: subnormal numbers as zeros of their sign.

    >>> hex(flush_f16(np.uint64(0x83FF)))
    '0x8000'
    """
    return select(bits & _SIZE < _LEAST_NORMAL, bits & _SIGN, bits)


@cache
def saturate(name: str) -> Callable:
    """.sat: at least +0, at most 1; NaN becomes +0.

    >>> [hex(saturate("f16")(np.uint64(x))) for x in (0xC000, 0x4000, 0x7FFF, 0x3800)]
    ['0x0', '0x3c00', '0x0', '0x3800']
    """
    one = _ONE[name]
    infinity = _INFINITY[name]

    def clamp(bits):
        return select((bits >= _SIGN) | (bits > infinity), _U0, np.minimum(bits, one))

    return clamp


def rectify(bits: Carrier) -> Carrier:
    """.relu: negative numbers become +0; NaN stays, as the canonical one.

    >>> hex(rectify(np.uint64(0xC000)))
    '0x0'
    """
    return select(bits >= _SIGN, _U0, bits)


@cache
def arithmetic(name: str, operation: str, ftz: bool = False, sat: bool = False, relu: bool = False) -> Callable:
    """add, sub, mul or fma of f16 or bf16.

    >>> hex(arithmetic("f16", "fma")(*np.uint64([0x3C01, 0x3C01, 0x0001])))
    '0x3c02'
    """
    operands, wide = _OPERATIONS[operation]
    number, encode = NUMBER[name], encoder(name)
    enter = flush_f16 if ftz else same
    end = saturate(name) if sat else rectify if relu else same

    def flushed(x):
        bits = encode(x)
        return select(np.abs(x) < _TINY, bits & _SIGN, bits)

    finish = flushed if ftz else encode

    def two(a, b):
        return end(finish(wide(as_f64(number(enter(a))), as_f64(number(enter(b))))))

    def three(a, b, c):
        return end(finish(wide(as_f64(number(enter(a))), as_f64(number(enter(b))), as_f64(number(enter(c))))))

    return three if operands == 3 else two


@cache
def fuse_unless_out_of_bounds(name: str, relu: bool) -> Callable:
    """fma.oob: zero where a or b is OUT_OF_BOUNDS or its negative; else fma.

    >>> hex(fuse_unless_out_of_bounds("f16", False)(*np.uint64([0x7FF7, 0x3C00, 0x3C00])))
    '0x0'
    """
    fuse = arithmetic(name, "fma", relu=relu)

    def fused(a, b, c):
        return select((a & _SIZE == OUT_OF_BOUNDS) | (b & _SIZE == OUT_OF_BOUNDS), _U0, fuse(a, b, c))

    return fused


@cache
def sign(name: str, operation: str, ftz: bool = False) -> Callable:
    """neg and abs: arithmetic, so that a NaN becomes 0x7fff.

    >>> hex(sign("f16", "neg")(np.uint64(0x3C00)))
    '0xbc00'
    """
    infinity = _INFINITY[name]
    enter = flush_f16 if ftz else same
    mask, flip = {"neg": (_HALF, _SIGN), "abs": (_SIZE, _U0)}[operation]

    def changed(bits):
        return select(bits & _SIZE > infinity, _CANONICAL, enter(bits) & mask ^ flip)

    return changed


@cache
def extreme(name: str, operation: str, ftz: bool = False, nan: bool = False, xorsign: bool = False) -> Callable:
    """min and max: -0 lies below +0; a NaN loses, of two 0x7fff is left. nan: one wins; xorsign: of the magnitudes, with the
    exclusive or of the signs.

    >>> hex(extreme("f16", "max")(np.uint64(0x3C00), np.uint64(0x7E00)))
    '0x3c00'
    """
    infinity = _INFINITY[name]
    enter = flush_f16 if ftz else same

    def key(bits):                                                # in the order of the numbers, -0 below +0
        return select(bits & _SIGN == _U0, bits | _SIGN, bits ^ _HALF)

    def least(a, b):
        return select(key(a) < key(b), a, b)

    def most(a, b):
        return select(key(a) > key(b), a, b)

    pick = least if operation == "min" else most

    def loses(a, b):
        a_nan, b_nan = a & _SIZE > infinity, b & _SIZE > infinity
        return select(a_nan, select(b_nan, _CANONICAL, b), select(b_nan, a, pick(a, b)))

    def wins(a, b):
        return select((a & _SIZE > infinity) | (b & _SIZE > infinity), _CANONICAL, pick(a, b))

    chosen = wins if nan else loses

    def plain(a, b):
        return chosen(enter(a), enter(b))

    def with_sign(a, b):
        a, b = enter(a), enter(b)
        made = chosen(a & _SIZE, b & _SIZE)
        return select(made > infinity, made, made | (a ^ b) & _SIGN)

    return with_sign if xorsign else plain


@cache
def cut_off(name: str, function: Callable) -> Callable:
    """A function of f32 on numbers of f16 or bf16, whose result is cut off to them, but not from infinity: ex2 and tanh
    (measured on an H200, 2026-11-23, over all operands).

    >>> [hex(x) for x in cut_off("f16", np.sqrt)(np.uint64([0x4000, 0x4400]))]
    ['0x3da8', '0x4000']
    """
    number, encode = NUMBER[name], encoder(name, "rz")
    beyond = F32(2.0**16) if name == "f16" else _GREAT

    def applied(bits):
        made = function(number(bits))
        return encode(as_f64(select(made >= beyond, _GREAT, made)))

    return applied


@cache
def reading(name: str, ftz: bool = False) -> Callable:
    """What makes f32 numbers of f16 or bf16, with .ftz of f16: for comparisons.

    >>> float(reading("f16", True)(np.uint64(1)))
    0.0
    """
    number = NUMBER[name]

    def read(bits):
        return number(flush_f16(bits))

    return read if ftz else number


@cache
def mixed(operation: Callable, name: str, operands: int) -> Callable:
    """An operation of f32 whose first operands are f16 or bf16, of which it has all but the last: add.f32.f16 and the like.

    >>> float(mixed(np.add, "f16", 2)(np.uint64(0x3C00), np.float32(2)))
    3.0
    """
    number = NUMBER[name]

    def two(a, b):
        return operation(number(a), b)

    def three(a, b, c):
        return operation(number(a), number(b), c)

    return with_operands(operands, two, three)


@cache
def packed(function: Callable, operands: int) -> Callable:
    """A function of 16-bit carriers on both halves of 32-bit ones.

    >>> hex(packed(arithmetic("f16", "add"), 2)(np.uint64(0x3C004000), np.uint64(0x3C003C00)))
    '0x40004200'
    """
    def one(a):
        return function(a & _HALF) | function(a >> _U16) << _U16

    def two(a, b):
        return function(a & _HALF, b & _HALF) | function(a >> _U16, b >> _U16) << _U16

    def three(a, b, c):
        return function(a & _HALF, b & _HALF, c & _HALF) | function(a >> _U16, b >> _U16, c >> _U16) << _U16

    return with_operands(operands, one, two, three)
