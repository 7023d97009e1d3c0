"""Video instructions on carriers: one operation on a b32, or on each piece of it. PTX ISA, Scalar Video Instructions; SIMD
Video Instructions. Without selectors and masks of pieces, which no compiler writes.

Of whole words an sm_90 computes what ptxas puts in their place (tests/data/h200_video.npz, and its machine code): .sat to
u32 keeps results from being negative, but not from being too large, and what min and max compare with c has 64 bits: the
exact result, but of sums and differences a word with its sign. If the result is a u32, they have no sign.
"""

from collections.abc import Callable
from functools import cache

from simlayout.machine.arithmetic.integers import add, least, most, piece_of, subtract
from simlayout.machine.arithmetic.primitives import BITS, I64, U64, Carrier, select, unsigned

_0, _1, _31, _32 = (I64(n) for n in (0, 1, 31, 32))
_NOTHING = U64(0)


def average(a: Carrier, b: Carrier) -> Carrier:
    """Half of a sum, rounded up, and down where it is negative.

    >>> [int(average(I64(a), I64(-2))) for a in (1, 3)]
    [-1, 1]
    """
    total = a + b
    return select(total >= _0, total + _1, total) >> _1


def apart(a: Carrier, b: Carrier) -> Carrier:
    """|a - b|."""
    return most(a - b, b - a)


def set_if(met: Callable) -> Callable:
    """1 where a comparison is met, 0 elsewhere."""
    return lambda a, b: select(met(a, b), _1, _0)


OPERATIONS = {"add": add, "sub": subtract, "min": least, "max": most, "absdiff": apart, "avrg": average,
              "shl.clamp": lambda a, n: a << least(n, _32), "shl.wrap": lambda a, n: a << (n & _31),
              "shr.clamp": lambda a, n: a >> least(n, _32), "shr.wrap": lambda a, n: a >> (n & _31),
              "eq": set_if(lambda a, b: a == b), "ne": set_if(lambda a, b: a != b), "lt": set_if(lambda a, b: a < b),
              "le": set_if(lambda a, b: a <= b), "gt": set_if(lambda a, b: a > b), "ge": set_if(lambda a, b: a >= b)}


@cache
def video(name: str, width: int, signs: tuple[bool, bool, bool], saturated: bool, last: str) -> Callable:
    """An operation of OPERATIONS on the pieces of a and b, of so many bits. signs: whether the result's, a's and b's type is
    signed; saturated: to the result's type; last: what is done with c, "" or add (all pieces to it), min, max. a, b, c: b32.

    >>> a, b, c = U64(0x05FF0003), U64(0x03000001), U64(1)
    >>> [hex(video("absdiff", 8, (False,) * 3, False, last)(a, b, c)) for last in ("", "add")]
    ['0x2ff0002', '0x104']
    >>> hex(video("sub", 8, (False,) * 3, True, "")(b, a, c))
    '0x0'
    """
    operation, ones = OPERATIONS[name], BITS[width]
    shifts = tuple(U64(width * i) for i in range(32 // width))
    pick_a, pick_b = piece_of(width, signs[1]), piece_of(width, signs[2])
    half, most_unsigned = 1 << width - 1, (1 << (63 if width == 32 else width)) - 1
    low, high = (I64(-half), I64(half - 1)) if signs[0] else (_0, I64(most_unsigned))
    word = piece_of(32, True)

    def plain(a, b, by):
        return operation(pick_a(a, by), pick_b(b, by))

    def within(a, b, by):
        return least(most(plain(a, b, by), low), high)

    one = within if saturated else plain

    def side_by_side(a, b, c=_NOTHING):
        made = unsigned(one(a, b, shifts[0])) & ones
        for by in shifts[1:]:
            made = made | (unsigned(one(a, b, by)) & ones) << by
        return made

    def total(a, b, c):
        made = c
        for by in shifts:
            made = made + unsigned(one(a, b, by))
        return made

    def compared(a, b):
        made = one(a, b, _NOTHING)
        return word(unsigned(made), _NOTHING) if name in ("add", "sub") else made

    def least_of(a, b, c):
        made = compared(a, b)
        return unsigned(least(made, word(c, _NOTHING))) if signs[0] else least(unsigned(made), c)

    def most_of(a, b, c):
        made = compared(a, b)
        return unsigned(most(made, word(c, _NOTHING))) if signs[0] else most(unsigned(made), c)

    return {"": side_by_side, "add": total, "min": least_of, "max": most_of}[last]
