"""The families that `search` walks: layers over a tile, and paddings of it.

A family's candidates keep chunks whole: `chunk` elements, those of the widest access. They are all that the family has
there, so that "none is conflict-free" is a statement about the family.
"""

from simlayout.algebra import Layout, Rotation, Swizzle


def swizzles(tile, chunk):
    """Every Swizzle<B,M,S> with M = log2(chunk) and S >= B > 0 whose bits lie in the tile, fewest bits first.

    >>> [str(s) for s in swizzles(Layout((16, 16), (16, 1)), 8)]
    ['Sw<1,3,1>', 'Sw<1,3,2>', 'Sw<1,3,3>', 'Sw<1,3,4>', 'Sw<2,3,2>', 'Sw<2,3,3>']
    """
    base, bits = _log(chunk), _log(tile.cosize)
    found = [Swizzle(b, base, shift) for shift in range(1, bits - base) for b in range(1, shift + 1)
             if base + b + shift <= bits]
    return sorted(found, key=lambda s: (s.bits, s.shift))


def rotations(tile, chunk):
    """Rotations of 2, 4, ... chunks that advance every 1, 2, 4, ... of their rows, within the tile."""
    found, count = [], 2
    while chunk * count <= tile.cosize:
        line = chunk * count
        while line < tile.cosize:
            found.append(Rotation(chunk, count, line))
            line *= 2
        count *= 2
    return found


def paddings(tile, chunk, most=8):
    """The layouts of a plain tile of two modes whose rows, the mode with the larger stride, lie 1 to `most` chunks further
    apart."""
    if not isinstance(tile, Layout) or tile.rank != 2 or tile.depth != 1 or max(tile.stride) % chunk:
        return []
    row = max(tile.stride)
    return [Layout(tile.shape, tuple(d + chunk * pad if d == row else d for d in tile.stride)) for pad in range(1, most + 1)]


def _log(n):
    return max(n - 1, 0).bit_length()
