"""In which order tiles of C are worked on, and division without a division: a product with a number that the host made.

A GPU divides integers in a chain of some 15 instructions that wait for one another, about 0.1 microseconds (measured on an
H200 between two stamps of %globaltimer); the place of a tile takes three divisions, on the way to its first load and to its
store. Plain Python, for kernels and hosts.
"""

from cuda_kernels.intrinsics import s32, u32, u64


def quotient(a, b):
    """a // b of numbers from 0 to 2**31, in 32 bits (Numba's 64-bit division is a subroutine on the GPU). A constant b costs
    no division."""
    return s32(u32(a) // u32(b))


def divider(d):
    """What `divided` divides by d with, 1 <= d < 2**31: a multiplier m < 2**32 in the low half, a shift s in the high one.

    With 2**(p - 1) < d <= 2**p, s = 31 + p and m = ceil(2**s / d): m d exceeds 2**s by less than d, so n m / 2**s exceeds
    n / d by less than n / 2**s <= 1 / d for n <= 2**31, and has the same floor (Granlund and Montgomery, "Division by
    invariant integers using multiplication", theorem 4.2).

    >>> divider(8) == (1 << 31) + (34 << 32)
    True
    """
    shift = 31 + (d - 1).bit_length()
    return -(-(1 << shift) // d) | shift << 32


def divided(n, by):
    """n // d for 0 <= n < 2**31 and by = divider(d).

    >>> divided(1000, divider(7))
    142
    """
    return s32(u64(u32(n)) * (u64(by) & u64(0xFFFFFFFF)) >> (u64(by) >> u64(32)))


def order_of(rows, cols, group):
    """The order of rows x cols tiles in groups of rows, as `tile_of` takes it: the group, and dividers by the tiles of a
    matrix, by those of a group, by the rows of a group and of the last one."""
    group = min(group, rows)
    return group, divider(rows * cols), divider(group * cols), divider(group), divider(rows % group or group)


def tile_of(index, rows, cols, order):
    """(row, column, matrix) of tile number `index` in a batch of rows x cols tiles; order: of `order_of`.

    A group of rows of tiles is walked together, column by column, so that tiles in flight share rows of A and columns of B
    in L2.

    >>> [tile_of(i, 3, 2, order_of(3, 2, 2))[:2] for i in range(6)]
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]
    """
    group, by_matrix, by_group, by_rows, by_last = order
    matrix = divided(index, by_matrix)
    rest = s32(index - matrix * rows * cols)
    first = s32(group * divided(rest, by_group))
    rest, height = s32(rest - first * cols), s32(min(group, rows - first))
    col = divided(rest, by_rows if height == group else by_last)
    return s32(first + rest - col * height), col, matrix
