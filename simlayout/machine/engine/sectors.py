"""Sectors of global memory: global memory moves in pieces of 32 bytes, and a warp instruction asks for every piece that it
touches, however few bytes of it it needs.

What is counted is, of each instruction of each warp, the sectors that its active lanes touch, each once. Caches do not
enter: a sector that two instructions ask for counts twice. Beside it stands the least number: that of the bytes that are
touched, each once, packed into sectors. It is a rule, and not measured: Nsight Compute has the same idea (theoretical
sectors, memory_l2_theoretical_sectors_global), and packs the bytes of all lanes, so its ideal is larger where lanes read
the same.

Whether a line wastes sectors is another question: the parts of a complex number are loaded by two instructions, of which
each asks for all the sectors and uses half of their bytes. So accesses that go to one place are also looked at together:
the sectors that they touch, each once, beside those that their bytes would fill.
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
    atom and red. instructions: warp instructions; sectors, least: their sums. touched, filled: sectors that these accesses
    and the others of their place touch, each once, and how many their bytes would fill; 0 where another access of the line
    has the numbers. taken: bytes of a lane there; close, between: how many neighbours among the lanes are less than a sector
    apart, and more than that, and the bytes from each to its next.
    """

    file: str
    line: int
    ptx_line: int
    instruction: str
    instructions: int
    sectors: int
    least: int
    touched: int = 0
    filled: int = 0
    taken: int = 0
    close: int = 0
    between: int = 0

    @property
    def excess(self) -> int:
        """Sectors beyond the least."""
        return self.sectors - self.least

    @property
    def apart(self) -> tuple[int, int] | None:
        """(bytes that a lane takes, bytes from there to what the next one takes, about) where several lanes share a sector,
        and leave half of it and more, in pieces; None elsewhere, as where they take neighbouring bytes of many places.

        >>> SectorCount("", 1, 1, "ld.global.b8", 10, 32, 10, 32, 10, 1, 310, 930).apart
        (1, 3)
        >>> SectorCount("", 1, 1, "ld.global.b32", 1, 16, 4, 16, 4, 4).apart
        """
        few = self.touched * self.taken <= SECTOR // 2 * self.filled
        alone = self.touched == self.sectors >= 2 * self.filled
        return (self.taken, round(self.between / self.close)) if few and alone and self.close > self.touched else None

    def plus(self, other: "SectorCount") -> "SectorCount":
        """The sum of both, with this one's place."""
        return replace(self, instructions=self.instructions + other.instructions, sectors=self.sectors + other.sectors,
                       least=self.least + other.least, touched=self.touched + other.touched,
                       filled=self.filled + other.filled, close=self.close + other.close,
                       between=self.between + other.between)


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


def touched_of(addresses: np.ndarray, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(touched, filled), int64 [n] each, of warp instructions whose lanes touch pieces of memory: int64 [m, 2], (bytes from
    the lane's address, bytes). addresses: int64 [n, 32], those of a lane that takes no part as of one that does.

    >>> numbers = 16 * np.arange(32)
    >>> touched_of(np.array([numbers]), np.array([[0, 16]])), touched_of(np.array([numbers]), np.array([[0, 4], [8, 4]]))
    ((array([16]), array([16])), (array([16]), array([8])))
    """
    starts = (addresses[:, :, None] + pieces[:, 0]).reshape(len(addresses), -1)
    ends = (addresses[:, :, None] + pieces.sum(axis=1)).reshape(len(addresses), -1)
    order = np.argsort(starts, axis=1)
    starts, ends = np.take_along_axis(starts, order, 1), np.take_along_axis(ends, order, 1)
    reached = np.maximum.accumulate(np.column_stack([np.full(len(starts), -1), ends[:, :-1]]), axis=1)
    bytes = np.maximum(ends - np.maximum(starts, reached), 0).sum(axis=1)
    first, last = np.maximum(starts >> _SHIFT, (reached - 1 >> _SHIFT) + 1), ends - 1 >> _SHIFT
    return np.maximum(last - first + 1, 0).sum(axis=1), -(-bytes // SECTOR)


def near_of(addresses: np.ndarray, taken: int) -> tuple[int, int]:
    """(neighbours that are less than a sector apart, and more than the bytes that each lane takes; the bytes from each to
    its next, summed up) of warp instructions: int64 [n, 32], those of a lane that takes no part as of one that does.

    >>> near_of(np.array([8 * np.arange(32), 4 * np.arange(32), 256 * np.arange(32)]), 4)
    (31, 248)
    """
    gaps = np.diff(np.sort(addresses, axis=1), axis=1)
    near = gaps[(gaps > taken) & (gaps < SECTOR)]
    return len(near), int(near.sum())


def taken_of(nbytes: int, pieces: np.ndarray | None) -> int:
    """Bytes that a lane takes of its place, each once; nbytes of an access that is alone.

    >>> taken_of(4, None), taken_of(4, np.array([[0, 4], [8, 4], [2, 4]]))
    (4, 10)
    """
    if pieces is None:
        return nbytes
    return len(np.unique(np.concatenate([start + np.arange(n) for start, n in pieces]))) if len(pieces) else 0


class SectorBuffer:
    """The accesses of one instruction on one line, counted whenever many of them are there. nbytes: of each lane. pieces:
    what they and the others of their place touch, as of `touched_of`; none where another access of the line has them; None
    where they are alone."""

    _held: np.ndarray | None

    def __init__(self, nbytes: int, pieces: np.ndarray | None = None):
        self._nbytes, self._held, self._used = nbytes, None, 0
        self.pieces = pieces
        self.taken = taken_of(nbytes, pieces)
        self.instructions = self.sectors = self.least = self.touched = self.filled = self.close = self.between = 0

    def add(self, addresses: np.ndarray, active: np.ndarray) -> None:
        """One warp instruction: int64 [32], bool [32], of which at least one is True."""
        if self._held is None:
            self._held = np.empty((_CHUNK, LANES), np.int64)
        elif self._used == _CHUNK:
            self.flush()
        first = addresses[active.argmax()]
        self._held[self._used] = np.where(active, addresses, first)
        self._used += 1

    def add_counts(self, instructions: int, sectors: int, least: int, close: int, between: int) -> None:
        """What has been counted elsewhere; the last two as of `near_of`."""
        self.instructions += instructions
        self.sectors += sectors
        self.least += least
        self.close += close
        self.between += between
        if self.pieces is None:
            self.add_touched(sectors, least)

    def add_touched(self, touched: int, filled: int) -> None:
        """The same of accesses that have pieces."""
        self.touched += touched
        self.filled += filled

    def flush(self) -> None:
        """Counts what has been added."""
        if self._held is not None:
            self._count(self._held[:self._used])
            self._used = 0

    def _count(self, addresses):
        if len(addresses):
            sectors, least = sectors_of(addresses, self._nbytes)
            self.add_counts(len(addresses), int(sectors.sum()), int(least.sum()), *near_of(addresses, self.taken))
            if self.pieces is not None and len(self.pieces):
                touched, filled = touched_of(addresses, self.pieces)
                self.add_touched(int(touched.sum()), int(filled.sum()))
