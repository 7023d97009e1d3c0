"""What engines read: bytes that a wgmma or a bulk store may still be reading may not be written.

An engine does what it does in order (see `clocks`), so of each engine the last read of each byte is enough: who knows that
it is over knows that of all before.

Of the generic proxy and the async one in turn: a generic-proxy read followed by a TMA write of the same bytes (write after
read) that is ordered by a barrier or an mbarrier but has no fence.proxy.async is not reported, because the read's value has
arrived before the write starts, and CUTLASS's and CUDA's published pipelines rely on it. The PTX memory model would ask for
a fence, and Triton inserts one.
"""

import numpy as np

CELL = 16
"""Bytes that engines read and write at least, and aligned to."""

PRUNE_AT = 4096
"""With so many touches, those that nothing refers to any more are dropped."""


class AsyncReads:
    """The reads by engines of `size` bytes, by their agents (`Touch.agent`)."""

    def __init__(self, size):
        self._cells = -(-size // CELL)
        self._tables = {}                                # agent -> uint32 serial of its last read of each cell
        self._touches = {}                               # serial -> Touch

    def add(self, touch):
        """An engine begins to read; rows of `touch` are cells."""
        if touch.agent not in self._tables:
            self._tables[touch.agent] = np.zeros(self._cells, np.uint32)
        self._tables[touch.agent][touch.rows] = touch.serial
        self._touches[touch.serial] = touch
        self._touches = pruned(self._touches, self._tables.values())

    def unfinished(self, touch, clocks):
        """[(the engine's Touch, bool [n, nbytes]: which bytes of `touch`)]: reads that those who touch these bytes do not
        know to be over."""
        reads = []
        cells = touch.rows * touch.nbytes // CELL if self._tables else None
        for table in self._tables.values():
            stamps = table[cells]
            last = int(stamps.max())
            if not last or not touch.unaware(self._touches[last], clocks).any():
                continue                                 # who knows that the last is over knows it of all before
            for stamp in np.unique(stamps[stamps > 0]).tolist():
                read = self._touches[stamp]
                where = (stamps == stamp)[:, None] & touch.unaware(read, clocks)
                if where.any():
                    reads.append((read, np.broadcast_to(where, (len(stamps), touch.nbytes))))
        return reads


def pruned(touches, tables):
    """{serial: Touch}: those that are still in one of the tables of serials, where there are many."""
    if len(touches) < PRUNE_AT or len(touches) & (len(touches) - 1):
        return touches
    left = set()
    for table in tables:
        left.update(np.unique(table).tolist())
    return {serial: touch for serial, touch in touches.items() if serial in left}
