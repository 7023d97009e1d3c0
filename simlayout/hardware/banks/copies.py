"""cp.async: what a copy from global into shared memory costs. Both ends count.

Through the cache (.ca), the lanes of a group (32, 16 or 8 of them for 4, 8 or 16 bytes) read lines of the cache, which
lie in the same 32 banks, and write shared memory. Two lanes clash if they share the source's bank or the destination's;
nothing merges, not even equal words. A group takes one wavefront more than the most clashes of any of its lanes. Lanes
with src-size 0 read nothing, so that they clash at their destination alone.

Past the cache (.cg, 16 bytes), lanes do not form groups. Where destinations are equal, the lowest lane stays. Data
comes in sectors of 32 bytes, and what one sector sends to one sector of shared memory is a piece. Pieces share a
wavefront if they come from one 128-byte line, go to one 128-byte line, move their halves alike, and agree in whether
an even sector lands on an even one. With a src-size (LDGSTS.ZFILL) the zeros come on top: what .ca would take. Ideal is then
one for each group and one for each 128 bytes that are read, as Nsight Compute has it. With ignore-src instead, a predicate
(into which ptxas turns a src-size that it knows to be all or nothing), the zeros come on top only where some lane does not
read; then they take as much.

Measured, not documented: see `records`.
"""

import numpy as np

from simlayout.hardware.banks.counts import Count, occupied
from simlayout.hardware.tables.arch import LANES

LINE_BYTES = 128
_LINE_SHIFT, _SECTOR_SHIFT, _UNIT_SHIFT = 7, 5, 4
_LINE_BITS = 16                                           # shared memory has fewer lines
_LANE = np.arange(LANES)
_EARLIER = _LANE[:, None] > _LANE                         # [lane, other]: the other comes first
_CHUNK = 2048                                             # accesses at a time: tables of 32 x 32 for each


def through_cache(row, addresses, active, sources=None, valid=None):
    """Count of cp.async.ca.

    addresses, sources: bytes, int [n, 32]; active: bool [n, 32]; valid: src-size in bytes, int [n, 32], or with ignore-src
    which lanes read, bool [n, 32], None for the instruction without either. Without sources only the destinations clash,
    with bounds for any sources.
    """
    read = active if valid is None else active & (valid > 0)
    wavefronts = _clashes(row, addresses, active, addresses if sources is None else sources, read)
    if sources is not None:
        return Count.exactly(wavefronts, occupied(row, active))
    return Count(wavefronts, occupied(row, active), at_least=wavefronts, at_most=active.sum(axis=1))


def past_cache(row, addresses, active, sources=None, valid=None):
    """Count of cp.async.cg; arguments as of `through_cache`."""
    given = np.zeros_like(addresses) if sources is None else sources
    read = active if valid is None else active & (valid > 0)
    chunks = (slice(i, i + _CHUNK) for i in range(0, max(len(addresses), 1), _CHUNK))
    parts = [_pieces(addresses[c], active[c], given[c], read[c]) for c in chunks]
    pieces, duplicated, written, pairs, alive = (np.concatenate(column) for column in zip(*parts, strict=True))
    low, high = np.where(duplicated, pairs, pieces), np.where(duplicated, alive, pieces)
    if sources is None:
        low, high = written, alive
        pieces = _clashes(row, addresses, active, addresses, read)
    count = Count(np.clip(pieces, low, high), occupied(row, active), low, high)
    if valid is None:
        return count
    zeros = through_cache(row, addresses, active, sources, valid)
    least, most, sums = low + zeros.at_least, high + zeros.at_most, count.wavefronts + zeros.wavefronts
    if valid.dtype == bool:
        some = (active & ~valid).any(axis=1)
        return Count(*(np.where(some, x, y) for x, y in ((sums, count.wavefronts), (count.ideal, count.ideal), (least, low),
                                                         (most, high))))
    lines = -(-alive * row.bytes // LINE_BYTES)
    return Count(sums, count.ideal + lines, least, most)


def _clashes(row, addresses, active, sources, read):
    """The sum over the groups of the most lanes, itself included, with which one lane clashes; int64 [n]."""
    total = np.zeros(len(addresses), np.int64)
    for start in range(0, len(addresses), _CHUNK):
        for group in map(list, row.groups):
            ends = (x[start:start + _CHUNK, group] for x in (addresses, active, sources, read))
            written, fetched = clashes(row.bytes, *ends)
            total[start:start + _CHUNK] += (written | fetched).sum(axis=2).max(axis=1)
    return total


def clashes(size, addresses, active, sources, read):
    """Which lanes of one group meet, themselves included: (in a bank that they write, in one that they read).

    size: bytes of the copy; the rest [n, lanes]; both bool [n, lanes, lanes].
    """
    target, source = (end // size % (128 // size) for end in (addresses, sources))
    return _same(target) & _both(active), _same(source) & _both(active & read)


def _same(values):
    """[n, lanes] -> bool [n, lanes, lanes]: two lanes hold the same value."""
    return values[:, :, None] == values[:, None, :]


def _both(lanes):
    """bool [n, lanes] -> [n, lanes, lanes]: both hold."""
    return lanes[:, :, None] & lanes[:, None, :]


def _bits(lanes):
    """bool [..., 32] -> uint32 [...], a bit for each lane: what any lane holds is asked of 32 at once."""
    return np.ascontiguousarray(np.packbits(lanes, axis=-1)).view(np.uint32)[..., 0]


def _pieces(addresses, active, sources, read):
    """[n] each: different pieces; whether one source goes to two places of a line; lines written; pairs of a line read and
    a line written; lanes that stay and read."""
    alive = survivors(addresses, active) & read
    line = addresses >> _LINE_SHIFT
    duplicated = (_same(sources >> _UNIT_SHIFT) & _same(line) & _both(alive) & _EARLIER).any(axis=(1, 2))
    pairs = sources >> _LINE_SHIFT << _LINE_BITS | line
    pieces = _different(wavefront_of(addresses, sources, alive), alive)
    return pieces, duplicated, _different(line, alive), _different(pairs, alive), alive.sum(axis=1)


def survivors(addresses, active):
    """Lanes of cp.async.cg that write: of those with one destination, the lowest; bool [n, 32]."""
    return active & (_bits(_same(addresses >> _UNIT_SHIFT) & _EARLIER) & _bits(active)[:, None] == 0)


def wavefront_of(addresses, sources, alive):
    """A number for every lane of cp.async.cg, int64 [n, 32]: those of `alive` that share one share a wavefront."""
    target, source = addresses >> _UNIT_SHIFT, sources >> _UNIT_SHIFT
    together = _bits(_same(addresses >> _SECTOR_SHIFT) & _same(sources >> _SECTOR_SHIFT) & _both(alive))
    half = 2 * (source & 1) + (target & 1)
    pattern = sum((together & _bits(half == code)[:, None] != 0).astype(np.int64) << code for code in range(4))
    flip = ((sources ^ addresses) >> _SECTOR_SHIFT) & 1
    lines = sources >> _LINE_SHIFT << _LINE_BITS | addresses >> _LINE_SHIFT
    return lines << 5 | pattern << 1 | flip


def lanes_by(values, alive):
    """{value: lanes} of the lanes of one access that are alive, in their order; values: int [32], alive: bool [32]."""
    held = {}
    for lane in np.flatnonzero(alive).tolist():
        held.setdefault(int(values[lane]), []).append(lane)
    return held


def _different(values, live):
    """How many different values the live lanes hold; int64 [n]."""
    ordered = np.sort(np.where(live, values, -1), axis=1)
    steps = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    return (ordered[:, :1] >= 0).sum(axis=1) + steps.sum(axis=1)
