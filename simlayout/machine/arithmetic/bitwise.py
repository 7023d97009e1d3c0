"""Logic, shifts, counts of bits and permutations of bytes on unsigned carriers (signed ones where a type is signed).

PTX ISA, Logic and Shift Instructions; Integer Arithmetic Instructions (popc to fns); prmt.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.primitives import BITS, I64, U64, Carrier, predicate, select, unsigned

_U0, _U1, _U2, _U3, _U4, _U6, _U7, _U8, _U15, _U16, _U31, _U32, _U63, _U255 = (
    U64(n) for n in (0, 1, 2, 3, 4, 6, 7, 8, 15, 16, 31, 32, 63, 255))
_I0, _I1, _I31, _I63, _LEAST = (I64(n) for n in (0, 1, 31, 63, -1 << 31))
_HALF, _LOW = BITS[16], BITS[32]
_PAIRS, _FOURS, _BYTES, _SUMS, _TOP = (U64(n) for n in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F,
                                                         0x0101010101010101, 56))
_PAIRS_OF_BYTES, _PAIRS_OF_HALVES = U64(0x00FF00FF00FF00FF), U64(0x0000FFFF0000FFFF)


def both(a: Carrier, b: Carrier) -> Carrier:
    """and.

    >>> int(both(np.uint64(6), np.uint64(3)))
    2
    """
    return a & b


def either(a: Carrier, b: Carrier) -> Carrier:
    """or.

    >>> int(either(np.uint64(6), np.uint64(3)))
    7
    """
    return a | b


def differ(a: Carrier, b: Carrier) -> Carrier:
    """xor.

    >>> int(differ(np.uint64(6), np.uint64(3)))
    5
    """
    return a ^ b


def invert(a: Carrier) -> Carrier:
    """not of .b types.

    >>> hex(invert(np.uint64(0)))
    '0xffffffffffffffff'
    """
    return ~a


def invert_predicate(a: Carrier) -> Carrier:
    """not.pred.

    >>> int(invert_predicate(np.uint64(0)))
    1
    """
    return a ^ _U1


def is_zero(a: Carrier) -> Carrier:
    """cnot: 1 of 0, else 0.

    >>> int(is_zero(np.uint64(0)))
    1
    """
    return predicate(a == _U0)


def look_up(a: Carrier, b: Carrier, c: Carrier, table: Carrier) -> Carrier:
    """lop3: bit by bit, the bit of the table that a, b and c number (a counts 4, b 2, c 1).

    >>> hex(look_up(*np.uint64([[0xF0], [0xCC], [0xAA], [0x80]]))[0])
    '0x80'
    """
    of_pairs_low = _chosen(c, table, _U0), _chosen(c, table, _U2)             # b = 0 and 1, where a = 0
    of_pairs_high = _chosen(c, table, _U4), _chosen(c, table, _U6)
    low = of_pairs_low[0] ^ (of_pairs_low[0] ^ of_pairs_low[1]) & b
    high = of_pairs_high[0] ^ (of_pairs_high[0] ^ of_pairs_high[1]) & b
    return (low ^ (low ^ high) & a) & _LOW


def _chosen(c, table, by):
    """Where a bit of c is 0, the bit of the table at `by`, and where it is 1, the one behind it."""
    no, yes = _U0 - (table >> by & _U1), _U0 - (table >> by >> _U1 & _U1)
    return no ^ (no ^ yes) & c


@cache
def look_up_with_predicate(combine: Callable) -> Callable:
    """lop3.or and lop3.and: what lop3 makes, and whether it is not zero, combined with a predicate.

    >>> [x.tolist() for x in look_up_with_predicate(either)(*np.uint64([[1], [1], [1], [0x80], [0]]))]
    [[1], [1]]
    """
    def combined(a, b, c, table, q):
        made = look_up(a, b, c, table)
        return made, combine(predicate(made != _U0), q)

    return combined


@cache
def shift_left(width: int) -> Callable:
    """shl: by the width or more gives 0.

    >>> [int(shift_left(32)(np.uint64(3), np.uint64(n))) for n in (1, 32)]
    [6, 0]
    """
    limit = U64(width)

    def shift(a, n):
        return select(n < limit, a << np.minimum(n, _U63), _U0)

    return shift


def shift_right_unsigned(a: Carrier, n: Carrier) -> Carrier:
    """shr of unsigned types and of .b types: by the width or more gives 0.

    >>> [int(shift_right_unsigned(np.uint64(12), np.uint64(n))) for n in (2, 99)]
    [3, 0]
    """
    return select(n <= _U63, a >> np.minimum(n, _U63), _U0)


def shift_right_signed(a: Carrier, n: Carrier) -> Carrier:
    """shr of signed types: by the width or more leaves the sign.

    >>> [int(shift_right_signed(np.int64(-12), np.uint64(n))) for n in (2, 99)]
    [-3, -1]
    """
    return a >> np.int64(np.minimum(n, _U63))


@cache
def funnel_shift(direction: str, mode: str) -> Callable:
    """shf: 32 bits of the 64 that b and a make: the high ones after a shift left, the low ones after one right.

    >>> hex(funnel_shift("l", "wrap")(np.uint64(0x80000000), np.uint64(1), np.uint64(33)))
    '0x3'
    """
    def wrapped(n):
        return n & _U31

    def clamped(n):
        return np.minimum(n, _U32)

    amount = wrapped if mode == "wrap" else clamped

    def left(a, b, n):
        return ((b << _U32 | a) << amount(n)) >> _U32

    def right(a, b, n):
        return (b << _U32 | a) >> amount(n) & _LOW

    return left if direction == "l" else right


def count_ones(a: Carrier) -> Carrier:
    """popc.

    >>> count_ones(np.uint64([0xFF01])).tolist()
    [9]
    """
    a = a - (a >> _U1 & _PAIRS)
    a = (a & _FOURS) + (a >> _U2 & _FOURS)
    return ((a + (a >> _U4)) & _BYTES) * _SUMS >> _TOP


def _length(a):
    """The number of bits up to the highest one."""
    a = a | a >> _U1
    a = a | a >> _U2
    a = a | a >> _U4
    a = a | a >> _U8
    a = a | a >> _U16
    return count_ones(a | a >> _U32)


@cache
def leading_zeros(width: int) -> Callable:
    """clz.

    >>> int(leading_zeros(32)(np.uint64(1)))
    31
    """
    most = U64(width)

    def count(a):
        return most - _length(a)

    return count


@cache
def find_highest(width: int, is_signed: bool, shift: bool) -> Callable:
    """bfind: the place of the highest bit that differs from the sign, or with .shiftamt what shifts it to the top;
    0xffffffff if there is none.

    >>> [int(find_highest(32, False, shift)(np.uint64(5))) for shift in (False, True)]
    [2, 29]
    """
    top = U64(width)

    def plain(a):
        return a

    def against_sign(a):
        return unsigned(a ^ a >> _I63)

    number = against_sign if is_signed else plain

    def place(a):
        return _length(number(a)) - _U1 & _LOW

    def amount(a):
        found = _length(number(a))
        return select(found == _U0, _LOW, top - found)

    return amount if shift else place


@cache
def reverse(width: int) -> Callable:
    """brev.

    >>> hex(reverse(32)(np.uint64(1)))
    '0x80000000'
    """
    down = U64(64 - width)

    def reversed_bits(a):
        a = (a & _PAIRS) << _U1 | a >> _U1 & _PAIRS
        a = (a & _FOURS) << _U2 | a >> _U2 & _FOURS
        a = (a & _BYTES) << _U4 | a >> _U4 & _BYTES
        a = (a & _PAIRS_OF_BYTES) << _U8 | a >> _U8 & _PAIRS_OF_BYTES
        a = (a & _PAIRS_OF_HALVES) << _U16 | a >> _U16 & _PAIRS_OF_HALVES
        return (a << _U32 | a >> _U32) >> down

    return reversed_bits


def find_nth_set(mask: Carrier, base: Carrier, offset: Carrier) -> Carrier:
    """fns: the place of the offset-th set bit of a mask, counted from base upward, or downward if offset is negative; with
    offset 0, base if it is set; 0xffffffff if there is none. mask, base: unsigned; offset: signed. Of offset -2**31, which
    has no positive counterpart, the GPU makes 0 (of 66 masks on an H200, 2026-11-23).

    >>> [int(find_nth_set(np.uint64(0b10110), np.uint64(1), np.int64(n))) for n in (0, 2, 3)]
    [1, 2, 4]
    """
    step = select(offset < _I0, -_I1, _I1)
    left = select(offset < _I0, -offset, np.maximum(offset, _I1))
    start = np.int64(base)
    found: Carrier = -_I1
    for i in range(32):
        place = start + step * np.int64(i)
        inside = (place >= _I0) & (place <= _I31) & ((offset != _I0) | (place == start))
        there = inside & (mask >> np.uint64(place & _I31) & _U1 != _U0)
        left = left - np.int64(there)
        found = select(there & (left == _I0), place, found)
    return select(offset == _LEAST, _U0, np.uint64(found) & _LOW)


_PLACES: dict[str, Callable] = {
    "f4e": lambda i, c: c + i, "b4e": lambda i, c: c - i & 7, "rc8": lambda i, c: c,
    "ecl": max, "ecr": min, "rc16": lambda i, c: 2 * (c & 1) + (i & 1)}
"""Mode of prmt -> the byte that becomes byte i, by the low bits of c."""


@cache
def permute(mode: str = "") -> Callable:
    """prmt: four of the eight bytes of b and a, chosen by the nibbles of c, whose high bit repeats the byte's sign; or one
    of the four choices of a mode, by the low two bits of c.

    >>> hex(permute()(*np.uint64([0x33221100, 0x77665544, 0x7531]))), hex(permute("rc8")(*np.uint64([0x33221100, 0, 2])))
    ('0x77553311', '0x22222222')
    """
    if not mode:
        return _permuted
    place = _PLACES[mode]
    table = sum((place(i, c) & 7) << (16 * c + 4 * i) for c in range(4) for i in range(4))
    choices = U64(table)

    def chosen(a, b, c):
        return _permuted(a, b, choices >> ((c & _U3) << _U4) & _HALF)

    return chosen


def _permuted(a, b, c):
    both_words = b << _U32 | a
    made = _U0
    for i in range(4):
        nibble = c >> np.uint64(4 * i) & _U15
        byte = both_words >> ((nibble & _U7) << _U3) & _U255
        sign = (byte >> _U7) * _U255
        made = made | select(nibble > _U7, sign, byte) << np.uint64(8 * i)
    return made
