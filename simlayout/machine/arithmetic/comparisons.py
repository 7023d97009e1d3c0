"""Comparison and selection: setp, set, selp, slct, testp.

PTX ISA, Comparison and Selection Instructions. An ordered comparison with a NaN is false, one that ends in u is true.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.bitwise import both, differ, either
from simlayout.machine.arithmetic.floats import flush_f32
from simlayout.machine.arithmetic.primitives import F32, F64, I64, U64, Carrier, predicate, same, select

_U0, _U1, _U16, _HALF = U64(0), U64(1), U64(16), U64(0xFFFF)


def _eq(a, b):
    return a == b


def _ne(a, b):
    return a != b


def _lt(a, b):
    return a < b


def _le(a, b):
    return a <= b


def _gt(a, b):
    return a > b


def _ge(a, b):
    return a >= b


def _ordered_ne(a, b):
    return (a < b) | (a > b)


def _equ(a, b):
    return ~((a < b) | (a > b))


def _ltu(a, b):
    return ~(a >= b)


def _leu(a, b):
    return ~(a > b)


def _gtu(a, b):
    return ~(a <= b)


def _geu(a, b):
    return ~(a < b)


def _num(a, b):
    return (a == a) & (b == b)


def _nan(a, b):
    return (a != a) | (b != b)


INTEGER = {"eq": _eq, "ne": _ne, "lt": _lt, "le": _le, "gt": _gt, "ge": _ge, "lo": _lt, "ls": _le, "hi": _gt, "hs": _ge}
FLOAT = {"eq": _eq, "ne": _ordered_ne, "lt": _lt, "le": _le, "gt": _gt, "ge": _ge, "equ": _equ, "neu": _ne, "ltu": _ltu,
         "leu": _leu, "gtu": _gtu, "geu": _geu, "num": _num, "nan": _nan}
"""CmpOp -> comparison, of integers and of floats."""

BOOLEAN = {"and": both, "or": either, "xor": differ}
"""BoolOp -> function of two predicates."""


def comparison(name: str, is_float: bool) -> Callable:
    """The comparison that a CmpOp names.

    >>> bool(comparison("ltu", True)(np.float32(1), np.float32("nan")))
    True
    """
    return (FLOAT if is_float else INTEGER)[name]


@cache
def set_predicates(compare: Callable, combine: str = "", enter: Callable = same) -> Callable:
    """setp: the pair (p, q) of a comparison and its negation, each combined with c where a BoolOp says so. enter: what
    makes numbers of the operands (.ftz, halves).

    >>> [int(x) for x in set_predicates(comparison("lt", False), "and")(np.int64(1), np.int64(2), np.uint64(0))]
    [0, 0]
    """
    def plain(a, b):
        met = predicate(compare(enter(a), enter(b)))
        return met, met ^ _U1

    if not combine:
        return plain
    join = BOOLEAN[combine]

    def combined(a, b, c):
        met = predicate(compare(enter(a), enter(b)))
        return join(met, c), join(met ^ _U1, c)

    return combined


@cache
def set_predicates_of_pair(compare: Callable, combine: str, enter: Callable) -> Callable:
    """setp of f16x2 and bf16x2: p for the low halves, q for the high ones. enter: what makes numbers of 16 bits.

    >>> from simlayout.machine.arithmetic.halves import number_f16
    >>> below = set_predicates_of_pair(comparison("lt", True), "", number_f16)
    >>> [int(x) for x in below(np.uint64(0x3C004000), np.uint64(0x40003C00))]
    [0, 1]
    """
    def plain(a, b):
        low = predicate(compare(enter(a & _HALF), enter(b & _HALF)))
        return low, predicate(compare(enter(a >> _U16), enter(b >> _U16)))

    if not combine:
        return plain
    join = BOOLEAN[combine]

    def combined(a, b, c):
        low, high = plain(a, b)
        return join(low, c), join(high, c)

    return combined


@cache
def set_value(compare: Callable, true: object, false: object, combine: str = "", enter: Callable = same) -> Callable:
    """set: a number where a comparison holds (all ones, or 1.0), and zero elsewhere; with 1 and 0, a setp of one predicate.

    >>> hex(set_value(comparison("lt", False), np.uint64(0xFFFFFFFF), np.uint64(0))(np.int64(1), np.int64(2)))
    '0xffffffff'
    """
    def plain(a, b):
        return select(compare(enter(a), enter(b)), true, false)

    if not combine:
        return plain
    join = BOOLEAN[combine]

    def combined(a, b, c):
        return select(join(predicate(compare(enter(a), enter(b))), c) != _U0, true, false)

    return combined


@cache
def set_pair(compare: Callable, true: object, combine: str, enter: Callable) -> Callable:
    """set of f16x2 and bf16x2: in each half a number where the comparison holds, and zero elsewhere.

    >>> from simlayout.machine.arithmetic.halves import number_f16
    >>> below = set_pair(comparison("lt", True), np.uint64(0xFFFF), "", number_f16)
    >>> hex(below(np.uint64(0x3C004000), np.uint64(0x40003C00)))
    '0xffff0000'
    """
    both_predicates = set_predicates_of_pair(compare, combine, enter)

    def plain(a, b):
        low, high = both_predicates(a, b)
        return low * true | high * true << _U16

    def combined(a, b, c):
        low, high = both_predicates(a, b, c)
        return low * true | high * true << _U16

    return combined if combine else plain


def choose(a: Carrier, b: Carrier, p: Carrier) -> Carrier:
    """selp: a where the predicate holds, else b.

    >>> int(choose(np.uint64(1), np.uint64(2), np.uint64(0)))
    2
    """
    return select(p != _U0, a, b)


def choose_by_integer(a: Carrier, b: Carrier, c: Carrier) -> Carrier:
    """slct.s32: a where c is at least 0, else b.

    >>> int(choose_by_integer(np.uint64(1), np.uint64(2), np.int64(-1)))
    2
    """
    return select(c >= I64(0), a, b)


@cache
def choose_by_float(ftz: bool) -> Callable:
    """slct.f32: a where c is at least 0 (-0 too), else b, of NaN too. ftz: subnormal c count as zero.

    >>> int(choose_by_float(False)(np.uint64(1), np.uint64(2), np.float32(-1e-40)))
    2
    """
    enter = flush_f32 if ftz else same

    def chosen(a, b, c):
        return select(enter(c) >= F32(0), a, b)

    return chosen


@cache
def test(name: str, width: int) -> Callable:
    """testp: whether an f32 or f64 is finite, infinite, a number, not a number, normal (as zero is) or
    subnormal.

    >>> int(test("subnormal", 32)(np.float32(1e-40))), int(test("normal", 64)(np.float64(0)))
    (1, 1)
    """
    zero, least, infinity = ((F32(0), F32(2.0**-126), F32("inf")) if width == 32 else
                             (F64(0), F64(2.0**-1022), F64("inf")))

    def finite(x):
        return predicate(np.abs(x) < infinity)

    def infinite(x):
        return predicate(np.abs(x) == infinity)

    def number(x):
        return predicate(x == x)

    def not_a_number(x):
        return predicate(x != x)

    def normal(x):
        return predicate((np.abs(x) >= least) & (np.abs(x) < infinity) | (x == zero))

    def subnormal(x):
        return predicate((np.abs(x) < least) & (x != zero))

    return {"finite": finite, "infinite": infinite, "number": number, "notanumber": not_a_number, "normal": normal,
            "subnormal": subnormal}[name]
