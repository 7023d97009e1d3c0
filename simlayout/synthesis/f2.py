"""The family of F2 layouts: a layout for the best kernels that `f2_banks` finds, with few XORs.

A kernel fixes a layout's banks up to their names. The search first looks at the layouts that XOR further bits onto the
bits of the banks and leave all other bits of the chunk number as they are. Swizzles do that, and such a map, `x ^ ...`,
is its own inverse. Every kernel that meets the banks' own bits only in 0 belongs to exactly one of these layouts. If the
least excess needs another kernel, bits of the chunk number change places as well.
"""

from dataclasses import dataclass

import numpy as np

from simlayout.algebra import F2Map, Swizzle
from simlayout.algebra.translate import swizzle_to_f2
from simlayout.synthesis.f2_banks import States, grown, spreads, tables

WIDTHS = (1 << 11, 1 << 17)
"""How many partial layouts, the simplest ones, are kept at a time: at first, and if none of these reaches the least
excess."""


@dataclass(frozen=True)
class F2Found:
    """What `f2_layers` finds. layers: for each layout its layers, outermost first (empty for the tile as it is); the
    simplest layout comes first. bound: no layout of the family has less excess, and these layouts have exactly that if
    the Differences are exact. free: kernels without conflicts; examined, total: kernels. If fewer were examined, the
    bound is the Differences' constant."""

    layers: tuple
    bound: int
    free: int
    examined: int
    total: int


def f2_layers(differences, chunk, count, progress=None, executor=None):
    """The F2Found of some Differences: up to `count` layers, which move chunks of `chunk` elements whole.

    >>> import numpy as np
    >>> from simlayout.synthesis.f2_banks import differences
    >>> lanes = np.arange(32)
    >>> rows = differences(["ldmatrix.x4"], [(128 * (lanes % 16) + 16 * (lanes // 16))[None]], 16, 7)
    >>> layouts = f2_layers(rows, 8, 2)
    >>> layouts.layers, layouts.bound, layouts.free, layouts.total
    (((Swizzle(3, 3, 3),), (Swizzle(2, 4, 2), Swizzle(1, 3, 5))), 0, 4096, 11811)
    """
    known = spreads(differences, progress, executor)
    cost = int(known.states.costs[0]) if len(known.states) else 0
    columns = simplest(differences, cost, count)
    if not columns:
        columns = [completed(differences, known.order, images) for images in known.states.images[:count]]
    bound = differences.bound(cost if known.examined == known.total else 0)
    return F2Found(tuple(as_layers(each, chunk) for each in columns), bound, known.free, known.examined, known.total)


def simplest(differences, cost, count):
    """Columns, chunk number to chunk number, of up to `count` layouts of at most this cost that change nothing but the
    banks' bits: those of the fewest swizzles, then the fewest bits XORed. Empty where there is none (or none was found)."""
    low = tuple(range(differences.banks))
    order = low + tuple(bit for bit in differences.used_bits if bit >= differences.banks)
    for width in WIDTHS:
        states = _unit_states(differences, order, cost, width)
        if len(states):
            break
    layouts = []
    for images in states.images[np.argsort(_complexity(order, states.images), kind="stable")[:count]].tolist():
        columns = [1 << bit for bit in range(differences.bits)]
        for bit, image in zip(order, images):
            columns[bit] = image | (1 << bit if bit >= differences.banks else 0)
        layouts.append(tuple(columns))
    return layouts


def _unit_states(differences, order, cost, width):
    """States over `order` up to a cost, whose first bits, the banks', keep their places; the `width` simplest of them."""
    common = differences.common
    first = np.array([[1 << bit for bit in order[:common]]], np.uint8)
    states = States(first, np.array([common], np.uint8), np.zeros(1, np.int64))
    for level, table in enumerate(tables(differences, order)[common:], common):
        states = grown((states, table, differences, cost, differences.bits))
        if level < differences.banks:                    # the last row: those who do not see it may meet here already
            states = states[states.images[:, level] == 1 << level]
        if len(states) > width:
            states = states[np.argsort(_complexity(order, states.images), kind="stable")[:width]]
    return states


def _complexity(order, images):
    """How much each layout has to compute, to compare: its swizzles first, then its XORed bits; int64 [N]."""
    swizzles, bits = np.zeros(len(images), np.int64), np.zeros(len(images), np.int64)
    for shift in range(1, max(order, default=0) + 1):
        sources = np.zeros(len(images), np.uint64)       # the bits that are XORed so far below themselves
        for level in range(images.shape[1]):
            if 0 <= order[level] - shift < 8:
                sources |= (images[:, level] >> order[level] - shift & 1).astype(np.uint64) << np.uint64(order[level])
        swizzles += np.bitwise_count(sources & ~(sources << np.uint64(1)))
        bits += np.bitwise_count(sources)
    return swizzles << 32 | bits


def completed(differences, order, images):
    """Columns of an invertible map whose lowest bits have the images, in reduced row echelon form, of the bits of `order`;
    other bits are free. Bits stay where they are as far as they can."""
    image_of = {bit: int(image) for bit, image in zip(order, images)}
    pivots = _pivots(differences, order, image_of)
    place = {bit: bit for bit in pivots[:differences.common] if bit < differences.common}
    rows = iter(sorted(set(range(differences.common)) - set(place.values())))
    place.update((bit, next(rows)) for bit in pivots[:differences.common] if bit not in place)
    place.update((bit, differences.common) for bit in pivots[differences.common:])     # the last row, not seen by all
    outside = [bit for bit in range(differences.bits) if bit not in place]
    place.update((bit, bit) for bit in outside if bit >= differences.banks)
    rows = iter(sorted(set(range(differences.bits)) - set(place.values())))
    place.update((bit, next(rows)) for bit in outside if bit not in place)
    columns = []
    for bit in range(differences.bits):
        banks = sum(1 << place[pivots[k]] for k in range(differences.banks) if image_of[bit] >> k & 1)
        columns.append(banks | (0 if bit in pivots else 1 << place[bit]))
    return tuple(columns)


def _pivots(differences, order, image_of):
    """The bits that begin the rows of the banks, row by row. Adds the images of bits that are not in `order`: these, lowest
    first, fill what is left of the banks."""
    common, pivots, last = differences.common, [], []

    def take(bit):
        if len(pivots) < common and image_of[bit] == 1 << len(pivots):
            pivots.append(bit)
        elif image_of[bit] >> common and not last:
            last.append(bit)

    for bit in order:
        take(bit)
    for bit in range(differences.bits):
        if bit not in image_of:
            full = len(pivots) == common and (last or common == differences.banks)
            image_of[bit] = 0 if full else 1 << len(pivots)
            take(bit)
    return pivots + last


def as_layers(columns, chunk):
    """The layers, in elements and outermost first, of columns of chunk numbers: swizzles if they are enough, one for each
    run of neighbouring bits that are XORed equally far below themselves; else an F2Map. The identity has no layers.

    >>> as_layers((1, 2, 4, 8 ^ 1, 16 ^ 2, 32 ^ 1), 8), as_layers((2, 1), 8)
    ((Swizzle(2, 3, 3), Swizzle(1, 3, 5)), (F2Map((1, 2, 4, 16, 8)),))
    """
    first = chunk.bit_length() - 1
    entries = [1 << i for i in range(first)] + [column << first for column in columns]
    while entries and entries[-1] == 1 << len(entries) - 1:
        entries.pop()
    f2 = F2Map(entries)
    runs = [(run, bit + up, -up) for up, mask in f2.diagonals() if up < 0 for bit, run in _runs(mask) if run <= -up]
    swizzles = [Swizzle(*of_run) for of_run in sorted(runs, key=lambda r: (r[2], r[1]))]
    together = F2Map([1 << i for i in range(f2.inputs)])
    for swizzle in reversed(swizzles):
        together = swizzle_to_f2(swizzle, f2.inputs) @ together
    return tuple(swizzles) if together == f2 else (f2,)


def _runs(mask):
    """[(first bit, bits)] of the runs of ones of a mask.

    >>> _runs(0b1100010)
    [(1, 1), (5, 2)]
    """
    runs, bit = [], 0
    while mask >> bit:
        rest = mask >> bit
        bit += (rest & -rest).bit_length() - 1
        run = (~(mask >> bit) & (mask >> bit) + 1).bit_length() - 1
        runs.append((bit, run))
        bit += run
    return runs
