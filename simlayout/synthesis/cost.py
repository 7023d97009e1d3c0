"""What each access costs in a layout, what it must cost in any, and a better layout that is found at once."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from simlayout.algebra import Composed, Layout
from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.excess import WithExcess
from simlayout.hardware.banks.model import WORD_BYTES
from simlayout.proofs import Access
from simlayout.synthesis.kernels import plain_tile
from simlayout.synthesis.result import Candidate
from simlayout.synthesis.search import search

QUICK = 40_000
"""Instructions times layouts that `better_layout` counts at most: less than 0.3 s."""

QUICK_LAYOUTS = 64
"""Layouts of a tile that `better_layout` expects at most."""


@dataclass(frozen=True)
class Cost(WithExcess[int]):
    """What one access costs. wavefronts, ideal: over its domain; least: excess that it has in every layout that keeps chunks
    of `chunk` bytes whole; widest: an access that needs them whole, or None where it is this one."""

    access: Access
    wavefronts: int
    ideal: int
    least: int
    chunk: int
    widest: Access | None = None

    @property
    def reason(self) -> str:
        """Why no layout has less excess, where that is so; "" otherwise."""
        if not self.excess or self.least < self.excess:
            return ""
        full = _line(self.access) // self.chunk
        whose = f"{self.widest.instruction} needs" if self.widest else "it needs itself"
        return (f"no layout has less that keeps chunks of {self.chunk} bytes whole, as {whose}: {full} such chunks fill the "
                f"banks, and its lanes want the same {WORD_BYTES} bytes of more chunks than that at once")


@typed()
def costs(accesses: Collection[Access]) -> tuple[Cost, ...]:
    """The Cost of each of some accesses to one tile, in the tile that they have.

    >>> import simlayout as sl
    >>> tile = sl.parse("Sw<3,3,3> o (64,64):(64,1)")
    >>> rows = sl.Access("rows", "st.shared.b128", tile, lambda tid, i: (4 * i + tid // 8, 8 * (tid % 8)),
    ...                  {"tid": 32, "i": 16})
    >>> columns = sl.Access("columns", "ld.shared.b32", tile, lambda tid, k: (tid, 2 * k), {"tid": 32, "k": 32})
    >>> [(c.access.name, c.excess, c.least) for c in costs([rows, columns])]
    [('rows', 0, 0), ('columns', 96, 96)]
    """
    if not accesses:
        raise SimlayoutError("costs takes at least one Access")
    widest = max(accesses, key=lambda a: a.bytes)
    return tuple(_cost(access, widest) for access in accesses)


def _cost(access, widest):
    analysis = access.analyze()
    chunk = max(widest.bytes, WORD_BYTES)
    ideal = int(analysis.ideal.sum())
    fewest = _least(access.addresses(), access.used_lanes(), chunk, _line(access))
    least = int(np.maximum(fewest, analysis.ideal).sum()) - ideal
    row = analysis.instruction
    exact = row.rule == "banks" and row.kind in ("load", "store") and row.rival is None
    return Cost(access, int(analysis.wavefronts.sum()), ideal, least if exact else 0, chunk,
                widest if widest.bytes > access.bytes else None)


def _line(access):
    """Bytes after which the banks begin again for an access."""
    return access.row.banks * WORD_BYTES


def _least(addresses, used, chunk, line):
    """Wavefronts of each instruction, [n], in any layout that moves chunks whole: a bank serves one word at a time, so words
    at one place of their chunks, each of another chunk, take one wavefront for as many of them as a line has chunks."""
    words = np.sort(addresses[:, used] // WORD_BYTES)
    places = chunk // WORD_BYTES
    first = np.concatenate([np.ones((len(words), 1), bool), np.diff(words, axis=1) != 0], axis=1)
    words_of_place = np.stack([(first & (words % places == place)).sum(axis=1) for place in range(places)], axis=1)
    return -(-words_of_place.max(axis=1) * chunk // line)


@typed()
def better_layout(*accesses: Access) -> Candidate | None:
    """The Candidate of least excess among the plain tile of an access, or of several to one tile, and its swizzles and
    paddings, if it has less excess than they have; None if there is none, or if looking would take longer than a moment.
    The plain tile of a mere function has rows as long as the accesses reach.

    >>> import simlayout as sl
    >>> from simlayout.proofs.natural import natural_access
    >>> print(better_layout(natural_access(sl.parse("(16,64):(64,1)"), "ldmatrix.x4", "f16")))
    Sw<3,3,3> o (16,64):(64,1): excess 0, 0 bytes wasted, 8 operations
    """
    excess = sum(int(access.analyze().excess.sum()) for access in accesses)
    if not excess or sum(access.instructions() for access in accesses) * QUICK_LAYOUTS > QUICK:
        return None
    try:
        tile = accesses[0].tile
        plain = plain_tile(tile) if hasattr(tile, "shape") else _reached(accesses)
        moved = tuple(access.with_tile(plain) for access in accesses)
        if not any(access.analyze().excess.any() for access in moved):
            return Candidate("plain", plain, 0, 0, moved)
        candidates = search(moved, ("swizzle", "pad"), limit=1)
    except SimlayoutError:                  # a tile of one element, lanes that nest their coordinates: nothing to propose
        return None
    return candidates[0] if candidates and candidates[0].excess < excess else None


def _reached(accesses):
    """The row-major layout of the coordinates that some accesses reach."""
    sizes = [0]
    for access in accesses:
        ends = [int(np.max(leaf)) + 1 for leaf in access.coordinates()]
        ends[-1] += access.elements - 1                  # they lie along the last coordinate, where rows lie whole
        sizes = np.maximum(sizes, ends).tolist() if len(sizes) == len(ends) else ends
    return Layout.row_major(*sizes)


def replaceable(tile):
    """The layout that a search begins with: a Layout or composition as it is, of any other tile the plain one.

    >>> from simlayout.codegen.notations import tile
    >>> print(replaceable(tile("row * 64 + (col ^ ((row & 7) << 3)) for row<16, col<64")))
    (16,64):(64,1)
    """
    return tile if isinstance(tile, (Layout, Composed)) else plain_tile(tile)
