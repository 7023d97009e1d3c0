"""What engines do to shared memory: bytes that a wgmma or a bulk store may still be reading may not be written, bytes that a
reduction may still be changing may only be reduced in the same way.

An engine does what it does in order (see `clocks`), so the last touch of each byte by each engine is enough: whoever knows
that it is over knows the same of all before.

One kind of missing fence is not reported: a generic-proxy read, then a barrier or an mbarrier, then a TMA write of the same
bytes, without fence.proxy.async. The read's value has arrived before the write starts, and the pipelines that CUTLASS and
CUDA publish rely on it. The PTX memory model would ask for a fence, and Triton inserts one.
"""

import numpy as np

CELL = 16
"""Bytes that engines read and write at least, and aligned to."""

PRUNE_AT = 4096
"""With so many touches, those that nothing refers to any more are dropped."""


class EngineTouches:
    """What engines do to `size` bytes, by their agents (`Touch.agent`), in units of `unit` bytes."""

    def __init__(self, size, unit):
        self._units, self._unit = -(-size // CELL) * (CELL // unit), unit
        self._tables = {}                                # agent -> uint32 serial of its last touch of each unit
        self._touches = {}                               # serial -> Touch

    def add(self, touch):
        """An engine begins to touch bytes."""
        if touch.agent not in self._tables:
            self._tables[touch.agent] = np.zeros(self._units, np.uint32)
        self._tables[touch.agent][self._of(touch.rows, touch.nbytes)] = touch.serial
        self._touches[touch.serial] = touch
        self._touches = pruned(self._touches, self._tables.values())

    def unfinished(self, touch, clocks):
        """[(the engine's Touch, bool [n, nbytes]: which bytes of `touch`)]: what those who touch these bytes do not know to
        be over."""
        pairs = []
        units = self._of(touch.rows, touch.nbytes) if self._tables else None
        for table in self._tables.values():
            stamps = table[units]
            last = int(stamps.max())
            if not last or not touch.unaware(self._touches[last], clocks).any():
                continue                                 # who knows that the last is over knows it of all before
            stamps = np.repeat(stamps, touch.nbytes // stamps.shape[1], axis=1)
            for stamp in np.unique(stamps[stamps > 0]).tolist():
                known = self._touches[stamp]
                where = (stamps == stamp) & touch.unaware(known, clocks)
                if where.any():
                    pairs.append((known, where))
        return pairs

    def overwritten(self, touch):
        """Bytes hold something new: what engines did to them before no longer matters."""
        for table in self._tables.values():
            table[self._of(touch.rows, touch.nbytes)] = 0

    def last(self, rows, nbytes):
        """The last touch of any of these bytes, None if there is none."""
        units = self._of(rows, nbytes)
        return self._touches.get(max((int(table[units].max()) for table in self._tables.values()), default=0))

    def _of(self, rows, nbytes):
        """int64 [n, units]: the units in which rows of nbytes lie."""
        return (rows * nbytes // self._unit)[:, None] + np.arange(max(nbytes // self._unit, 1))


def pruned(touches, tables):
    """{serial: Touch}: those that are still in one of the tables of serials, where there are many."""
    if len(touches) < PRUNE_AT or len(touches) & (len(touches) - 1):
        return touches
    left = set()
    for table in tables:
        left.update(np.unique(table).tolist())
    return {serial: touch for serial, touch in touches.items() if serial in left}
