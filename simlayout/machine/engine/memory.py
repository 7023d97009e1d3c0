"""The shared memory of a CTA, and what it has in common with global memory (`global_memory`).

Both check every active lane: an access outside, or not aligned to its own width, is an AddressError naming the lane.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from simlayout.arguments import typed
from simlayout.errors import SHARED_BYTES, AddressError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.rows import room_for, rows_of

POISON = 0xFF
"""The byte that fills fresh shared memory and registers: NaN in f16, bf16 and f32, so that a read too early shows."""

MIXED = 1 << 32
"""A fill that is no word: each place has another one, so that differences between places show, too."""


def undefined(fill: int, count: int, first: int = 0) -> np.ndarray:
    """uint32 [count]: what is in so many words that nothing has written, of a fill: a word that is in all, or MIXED. first:
    the number of the first of them.

    >>> undefined(7, 3).tolist(), len({*undefined(MIXED, 1000).tolist()})
    ([7, 7, 7], 1000)
    """
    if fill != MIXED:
        return np.full(count, fill, np.uint32)
    words = np.arange(first + 1, first + count + 1, dtype=np.uint32) * np.uint32(0x9E3779B1)
    return (words ^ words >> np.uint32(15)) * np.uint32(0x85EBCA6B)


def lane_addresses(addresses, what):
    """int64 [32] of byte addresses or offsets; a uniform one is every lane's. Raises AddressError if not integers."""
    given = np.asarray(addresses)
    if given.dtype.kind not in "iu" or given.shape not in ((LANES,), ()):
        type_given = type(addresses).__name__ if given.dtype.kind == "O" else f"{given.dtype} of shape {given.shape}"
        raise AddressError(f"{what}: addresses are integers, one per lane (shape (32,)), not {type_given}")
    if given.shape == ():
        given = np.full(LANES, given)
    return given.astype(np.int64, copy=False)


PerLane = np.ndarray | int
"""A number of each lane, an int array [32], or one for all of them."""


@typed(MachineError)
class SharedMemory:
    """The shared memory of one CTA: `size` bytes, poisoned at the start. Aligned accesses are rows of a table.

    launch: the Launch that is told of changes, if any.

    >>> memory = SharedMemory(1024)
    >>> lanes = np.arange(32)
    >>> memory.store(memory.rows("st.shared.b32", 4 * lanes, 4), np.arange(128, dtype=np.uint8).reshape(32, 4))
    >>> memory.load(memory.rows("ld.shared.b64", 8 * (lanes % 16), 8), 8)[1].tolist()
    [8, 9, 10, 11, 12, 13, 14, 15]
    """

    def __init__(self, size: int, launch: Any = None):
        self.size, self._launch = size, launch
        room = np.full(room_for(size), POISON, np.uint8)
        if launch is not None:
            room.view(np.uint32)[:] = undefined(launch.fill, len(room) // 4)
        self.bytes = room[:size]
        self._tables = rows_of(room)

    def rows(self, instruction: str, addresses: np.ndarray, nbytes: int,
             active: np.ndarray | None = None) -> np.ndarray:
        """int64 [active lanes]: the rows of nbytes bytes at int64 [n] addresses. active: bool [n] or None (all).

        Raises AddressError, naming `instruction` and the lane, if one is outside or not aligned.
        """
        if nbytes not in self._tables:
            *most, widest = sorted(self._tables)
            raise AddressError(f"{instruction}: {nbytes} bytes per lane; shared memory moves {', '.join(map(str, most))} or "
                               f"{widest}")
        used = addresses if active is None else addresses[active]
        # One reduction checks all lanes: as the last legal address is aligned, used | (last - used) is negative where a
        # lane is outside, and has low bits where one is misaligned.
        last = (self.size // nbytes - 1) * nbytes
        seen = np.bitwise_or.reduce(used | (last - used))
        if seen < 0 or seen & (nbytes - 1):
            self._fault(instruction, addresses, nbytes, active)
        return used // nbytes

    def _fault(self, instruction, addresses, nbytes, active):
        lanes = range(len(addresses)) if active is None else np.flatnonzero(active).tolist()
        for lane in lanes:
            address = int(addresses[lane])
            if address < 0 or address + nbytes > self.size:
                raise AddressError(f"{instruction}: lane {lane} touches bytes {address} to {address + nbytes - 1} of "
                                   f"{self.size} bytes of shared memory: ask for more dynamic shared memory "
                                   f"({SHARED_BYTES}) or fix the address")
            if address % nbytes:
                low = address // nbytes * nbytes
                raise AddressError(f"{instruction}: lane {lane} gives address {address}, not a multiple of {nbytes}: "
                                   f"the nearest are {low} and {low + nbytes}")

    def load(self, rows: np.ndarray, nbytes: int) -> np.ndarray:
        """uint8 [n, nbytes] of int64 [n] rows."""
        return self._tables[nbytes].take(rows, axis=0)

    def words(self, dtype: DTypeLike) -> np.ndarray:
        """All of it as a flat array of a dtype, a view; up to what `room_for` gives."""
        return self._tables[max(self._tables)].reshape(-1).view(dtype)

    def store(self, rows: np.ndarray, data: np.ndarray) -> None:
        """Writes uint8 [n, nbytes] to int64 [n] rows; of equal rows the last one wins. The launch is told of a change."""
        table = self._tables[data.shape[1]]
        if self._launch is not None and (table[rows] != data).any():
            self._launch.changes += 1
        table[rows] = data
