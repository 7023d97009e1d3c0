"""Lanes that change memory one after another, in their order, as atomics do.

Lanes at different places go together, a turn for the first at each, one for the second, and so on. Where more lanes meet at
one place than there are places, each place is done with at once, if the operation adds up (see `Update.scan`).
"""

import numpy as np


class SharedCells:
    """What `global_memory.Cells` is of global memory, of rows of a SharedMemory: int64 [n], of nbytes."""

    def __init__(self, memory, rows, nbytes):
        self._memory, self._rows, self._nbytes = memory, rows, nbytes

    def load(self, which):
        """uint8 [m, nbytes] of some of the n."""
        return self._memory.load(self._rows[which], self._nbytes)

    def store(self, which, data):
        """Writes uint8 [m, nbytes] to some of the n; the memory is told of a change."""
        if (self.load(which) != data).any():
            self._memory.store(self._rows[which], data)


def one_by_one(cells, places, lanes, update, made, values, held):
    """Changes cells; yields (lanes int [m], what they found, what they left, [m, count] of update.dtype) in parts.

    places: int [n], where the lanes int [n] are; update: an Update, made: it, or its `in_l2`; values: uint64 [32, count]
    each; held: [32, count], gets what each lane found.
    """
    groups = together(places)
    turns = max(map(len, groups))
    if update.scans and len(groups) < turns:
        for group in groups:
            now = lanes[group]
            there = update.scan(cells.load(group[:1]).view(update.dtype), values[0][now])
            held[now] = there[:-1]
            cells.store(group[:1], there[-1:].view(np.uint8))
            yield now, there[:-1], there[1:]
        return
    for turn in range(turns):
        which = np.array([group[turn] for group in groups if turn < len(group)])
        now, before = lanes[which], cells.load(which).view(update.dtype)
        held[now] = before
        after = made(held[now], [value[now] for value in values])
        cells.store(which, np.ascontiguousarray(after).view(np.uint8))
        yield now, before, after


def together(places):
    """[indices]: entries of int [n] that are equal, in their order, a part for each value.

    >>> [group.tolist() for group in together(np.array([7, 3, 7, 7, 3]))]
    [[1, 4], [0, 2, 3]]
    """
    order = np.argsort(places, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(places[order])) + 1)
