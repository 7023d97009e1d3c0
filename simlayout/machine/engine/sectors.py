"""Sectors of global memory: global memory moves in pieces of 32 bytes, and a warp instruction asks for every piece that it
touches, however few bytes of it it needs.

What is counted is, of each instruction of each warp, the sectors that its active lanes touch, each once. Caches do not
enter: a sector that two instructions ask for counts twice. Beside it stands the least number: that of the bytes that are
touched, each once, packed into sectors. It is a rule, and not measured: Nsight Compute has the same idea (theoretical
sectors, memory_l2_theoretical_sectors_global), and packs the bytes of all lanes, so its ideal is larger where lanes read
the same.
"""

from dataclasses import dataclass, replace

import numpy as np

from simlayout.hardware.tables.arch import LANES

SECTOR = 32
"""Bytes of a sector."""

_SHIFT = 5
_CHUNK = 1024


@dataclass(frozen=True)
class SectorCount:
    """What the accesses of global memory by one instruction on one line asked for.

    file, line, ptx_line: as of an AccessCount. instruction: "ld.global.b32", of generic addresses too, "atom.global.b32" of
    atom and red. instructions: warp instructions; sectors, least: their sums.
    """

    file: str
    line: int
    ptx_line: int
    instruction: str
    instructions: int
    sectors: int
    least: int

    @property
    def excess(self) -> int:
        """Sectors beyond the least."""
        return self.sectors - self.least

    def plus(self, other: "SectorCount") -> "SectorCount":
        """The sum of both, with this one's place."""
        return replace(self, instructions=self.instructions + other.instructions, sectors=self.sectors + other.sectors,
                       least=self.least + other.least)


def sectors_of(addresses: np.ndarray, nbytes: int) -> tuple[np.ndarray, np.ndarray]:
    """(sectors, least), int64 [n] each, of warp instructions that access nbytes at int64 [n, 32] addresses, aligned to
    nbytes, at most 32. A lane that takes no part has the address of one that does.

    >>> lanes = np.arange(32)
    >>> sectors_of(np.array([4 * lanes, 4 * lanes + 4, 128 * lanes, 0 * lanes]), 4)
    (array([ 4,  5, 32,  1]), array([4, 4, 4, 1]))
    """
    placed = np.sort(addresses, axis=1)
    bytes = nbytes * (1 + np.count_nonzero(np.diff(placed, axis=1), axis=1))
    return 1 + np.count_nonzero(np.diff(placed >> _SHIFT, axis=1), axis=1), -(-bytes // SECTOR)


class SectorBuffer:
    """The accesses of one instruction on one line, counted whenever many of them are there. nbytes: of each lane."""

    def __init__(self, nbytes):
        self._nbytes, self._held, self._used = nbytes, np.empty((_CHUNK, LANES), np.int64), 0
        self.instructions = self.sectors = self.least = 0

    def add(self, addresses: np.ndarray, active: np.ndarray) -> None:
        """One warp instruction: int64 [32], bool [32], of which at least one is True."""
        if self._used == _CHUNK:
            self.flush()
        first = addresses[active.argmax()]
        self._held[self._used] = np.where(active, addresses, first)
        self._used += 1

    def add_counts(self, instructions: int, sectors: int, least: int) -> None:
        """What has been counted elsewhere."""
        self.instructions += instructions
        self.sectors += sectors
        self.least += least

    def flush(self) -> None:
        """Counts what has been added."""
        self._count(self._held[:self._used])
        self._used = 0

    def _count(self, addresses):
        if len(addresses):
            sectors, least = sectors_of(addresses, self._nbytes)
            self.instructions += len(addresses)
            self.sectors += int(sectors.sum())
            self.least += int(least.sum())
