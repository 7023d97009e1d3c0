"""The heap that `malloc` and `free` of kernels use (CUDA C++ Programming Guide, Dynamic Global Memory Allocation)."""

from bisect import insort
from collections.abc import Callable

import numpy as np

from simlayout.errors import AddressError

HEAP_BYTES = 8 << 20
"""Of the heap of a context (CUDA C++ Programming Guide: Heap Memory Allocation, the default)."""

ALIGNMENT = 16
"""Of what malloc gives, in bytes (as before)."""


class Heap:
    """Memory that kernels take and give back; it lives as long as the module or device that has it. room: gives so many
    bytes.

    What was given back is given out again as late as possible.

    >>> heap = Heap(lambda nbytes: np.zeros(nbytes, np.uint8), 64)
    >>> heap.allocate(20), heap.allocate(20), heap.allocate(1)
    (0, 32, None)
    >>> heap.free(0)
    >>> heap.allocate(32)
    0
    """

    def __init__(self, room: Callable[[int], np.ndarray], nbytes: int = HEAP_BYTES):
        self._room, self._nbytes = room, nbytes
        self._bytes: np.ndarray | None = None
        self._free, self._taken, self._next = [(0, nbytes)], {}, 0      # (start, bytes) that are free; start -> bytes

    @property
    def bytes(self) -> np.ndarray:
        """uint8: all of it."""
        if self._bytes is None:
            self._bytes = self._room(self._nbytes)
        return self._bytes

    def is_at(self, address: int) -> bool:
        """Whether it begins at an address of this process."""
        return self._bytes is not None and self._bytes.__array_interface__["data"][0] == address

    @property
    def used(self) -> bool:
        """Whether anything was ever taken from it."""
        return self._bytes is not None

    def allocate(self, nbytes: int) -> int | None:
        """Where nbytes bytes are that nobody has; None where there are none."""
        size = max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT
        able = [free for free in self._free if free[1] >= size]
        if not able:
            return None
        start, room = next((free for free in able if free[0] >= self._next), able[0])
        self._free.remove((start, room))
        if room > size:
            insort(self._free, (start + size, room - size))
        self._taken[start], self._next = size, start + size
        return start

    def free(self, start: int) -> None:
        """Gives back what `allocate` gave. Raises AddressError for anything else."""
        if start not in self._taken:
            raise AddressError(f"free: malloc gave nothing at byte {start} of the heap, or it is free already")
        insort(self._free, (start, self._taken.pop(start)))
        merged: list[tuple[int, int]] = []
        for at, size in self._free:
            if merged and sum(merged[-1]) == at:
                merged[-1] = merged[-1][0], merged[-1][1] + size
            else:
                merged.append((at, size))
        self._free = merged
