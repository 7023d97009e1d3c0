"""The families that `search` walks layout by layout: layers over a tile, and paddings of it. (That of F2 maps, which is too
large for that, is in `f2`.)

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
    choices = [Swizzle(b, base, shift) for shift in range(1, bits - base) for b in range(1, shift + 1)
               if base + b + shift <= bits]
    return sorted(choices, key=lambda s: (s.bits, s.shift))


def rotations(tile, chunk):
    """Rotations of 2, 4, ... chunks that advance every 1, 2, 4, ... of their rows and start again after 2, 4, ... of these
    lines, within the tile.

    >>> [str(r) for r in rotations(Layout((8, 16), (16, 1)), 8)][:3]
    ['Rot<8,2,16,2>', 'Rot<8,2,32,2>', 'Rot<8,2,64,2>']
    """
    results, count = [], 2
    while chunk * count <= tile.cosize:
        line = chunk * count
        while line < tile.cosize:
            results += [Rotation(chunk, count, line, 1 << k) for k in range(1, count.bit_length())]
            line *= 2
        count *= 2
    return results


def paddings(tile, chunk, most=8):
    """The layouts of a plain tile whose rows, the mode with the next larger stride than the elements of a row, lie 1 to
    `most` chunks further apart; modes with larger strides still follow one another without gaps. [] for other tiles.

    >>> [str(p) for p in paddings(Layout((384, 32, 4), (32, 1, 12288)), 8, 2)]
    ['(384,32,4):(40,1,15360)', '(384,32,4):(48,1,18432)']
    """
    if not isinstance(tile, Layout) or tile.rank < 2 or tile.depth != 1:
        return []
    inner, row, *outer = sorted(range(tile.rank), key=lambda mode: tile.stride[mode])
    if tile.stride[inner] != 1 or tile.stride[row] % chunk or tile.stride[row] < tile.shape[inner]:
        return []
    layouts = []
    for pad in range(1, most + 1):
        strides = list(tile.stride)
        strides[row] += chunk * pad
        following = strides[row] * tile.shape[row]
        for mode in outer:
            if tile.stride[mode] != tile.stride[row] * (following // strides[row]):
                return []
            strides[mode] = following
            following *= tile.shape[mode]
        layouts.append(Layout(tile.shape, tuple(strides)))
    return layouts


def _log(n):
    return max(n - 1, 0).bit_length()
