"""Sums, differences and products that read or write the carry flag.

PTX ISA, Extended-Precision Integer Arithmetic Instructions. The flag is a uint64, 0 or 1. Differences
are sums with the complement, as ptxas makes them for sm_90a (IADD3.X of ~b), and the flag is that sum's carry. The PTX ISA
says that CC.CF holds the borrow, which is the same wherever differences alone follow a difference.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.integers import multiply_high
from simlayout.machine.arithmetic.primitives import BITS, U64, predicate

_U0, _U1 = U64(0), U64(1)


def _add_with_carry(width):
    ones = BITS[width]

    def summed(a, b, carry):
        first = a + b & ones
        total = first + carry & ones
        return total, predicate(first < a) | predicate(total < first)

    return summed


@cache
def sum_with_carry(width: int, reads: bool, writes: bool) -> Callable:
    """add.cc, addc and addc.cc on unsigned carriers: the sum, and the carry where it is written.

    >>> [int(x) for x in sum_with_carry(32, True, True)(np.uint64(2**32 - 1), np.uint64(0), np.uint64(1))]
    [0, 1]
    """
    both = _add_with_carry(width)

    def start(a, b):
        return both(a, b, _U0)

    def middle(a, b, carry):
        return both(a, b, carry)

    def end(a, b, carry):
        return a + b + carry

    return (middle if writes else end) if reads else start


@cache
def difference_with_carry(width: int, reads: bool, writes: bool) -> Callable:
    """sub.cc, subc and subc.cc on unsigned carriers: the difference, and where it is written the carry of a + ~b + 1, which
    is 0 when something was borrowed.

    >>> difference, carry = difference_with_carry(32, False, True)(np.uint64([3]), np.uint64([5]))
    >>> hex(difference[0] & np.uint64(2**32 - 1)), int(carry[0])
    ('0xfffffffe', 0)
    """
    both, ones = _add_with_carry(width), BITS[width]

    def start(a, b):
        return both(a, b ^ ones, _U1)

    def middle(a, b, carry):
        return both(a, b ^ ones, carry)

    def end(a, b, carry):
        return a + (b ^ ones) + carry

    return (middle if writes else end) if reads else start


@cache
def multiply_add_with_carry(width: int, is_signed: bool, mode: str, reads: bool, writes: bool) -> Callable:
    """mad.cc, madc and madc.cc: half of a product, plus c, plus the carry; carriers of u types, of s types those of b and a.

    >>> [int(x) for x in multiply_add_with_carry(32, False, "lo", False, True)(*np.uint64([2**31, 2, 5]))]
    [5, 0]
    """
    high, ones = multiply_high(width, is_signed), BITS[width]
    both = _add_with_carry(width)

    def low_bits(a, b):
        return np.uint64(a * b) & ones

    def high_bits(a, b):
        return np.uint64(high(a, b)) & ones

    product = high_bits if mode == "hi" else low_bits

    def start(a, b, c):
        return both(product(a, b), c, _U0)

    def middle(a, b, c, carry):
        return both(product(a, b), c, carry)

    def end(a, b, c, carry):
        return product(a, b) + c + carry

    return (middle if writes else end) if reads else start
