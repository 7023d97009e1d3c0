"""How launches used their arrays in shared memory: which elements the lanes of each warp instruction asked for."""

from dataclasses import dataclass, field
from math import prod

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.trace import Trace

UNKNOWN = "where it is declared is not known"

MOST = 4096
"""Patterns that are kept of one array and instruction."""


@dataclass
class Use:
    """What was done to one array. file, line: where it is declared; shape: of elements; itemsize: bytes of one; name: as
    of its SharedArray; beside: most bytes of other arrays that a kernel has beside it; kernels: {name: None}; seen:
    {instruction: {bytes: times}}, the key the addresses of 32 lanes from the array's start, int32, and whether each is
    active; others: warp instructions of which no more than their number is known; aligned, unseen,
    untold: as of its SharedArray; untold: of one without a shape, too."""

    file: str
    line: int
    shape: tuple[int, ...]
    itemsize: int
    name: str = ""
    beside: int = 0
    kernels: dict[str, None] = field(default_factory=dict)
    seen: dict[str, dict[bytes, int]] = field(default_factory=dict)
    others: int = 0
    aligned: int = 1
    unseen: str = ""
    untold: str = ""

    def add(self, instruction: str, addresses: np.ndarray, active: np.ndarray, times: np.ndarray) -> None:
        """Patterns int [n, 32], bytes from the array's start; bool [n, 32]; int [n]."""
        known = self.seen.setdefault(instruction, {})
        data, masks = np.where(active, addresses, 0).astype(np.int32), active.astype(np.uint8)
        for row, mask, count in zip(data, masks, times.tolist()):
            key = row.tobytes() + mask.tobytes()
            if key in known or len(known) < MOST:
                known[key] = known.get(key, 0) + count
            else:
                self.others += count

    def patterns(self, instruction: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(addresses int64 [n, 32], active bool [n, 32], times int64 [n]) of an instruction."""
        known = self.seen[instruction]
        rows = np.frombuffer(b"".join(known), np.uint8).reshape(len(known), 5 * LANES)
        addresses = np.ascontiguousarray(rows[:, :4 * LANES]).view(np.int32).astype(np.int64)
        return addresses, rows[:, 4 * LANES:].astype(bool), np.array(list(known.values()), np.int64)


class Uses:
    """The Uses of all arrays of launches. found: {(file, line, shape, itemsize, name): Use}; shape is () where no other
    place for its elements can be proposed."""

    def __init__(self):
        self.found: dict[tuple, Use] = {}

    def add(self, trace: Trace, kernel: str = "") -> None:
        """What one launch of a kernel did."""
        total = sum(array.bytes for array in trace.arrays)
        for array in trace.arrays:
            use = self._use(array)
            use.beside = max(use.beside, total - array.bytes)
            use.kernels[kernel] = None
            use.aligned, use.unseen = max(use.aligned, array.aligned), use.unseen or array.unseen
            for patterns in trace.patterns:
                low = np.where(patterns.active, patterns.addresses, np.iinfo(np.int32).max).min(axis=1)
                high = np.where(patterns.active, patterns.addresses, -1).max(axis=1)
                inside = (low >= array.offset) & (high < array.offset + array.bytes)
                if inside.any():
                    use.add(patterns.instruction, patterns.addresses[inside] - array.offset, patterns.active[inside],
                            patterns.times[inside])
                    use.others += patterns.others

    def _use(self, array):
        known = array.shape and not array.untold and not array.bytes % prod(array.shape)
        shape = array.shape if known else ()
        key = array.file, array.line, shape, array.bytes // prod(shape) if known else 1, array.name
        return self.found.setdefault(key, Use(*key, untold="" if known else array.untold or UNKNOWN))
