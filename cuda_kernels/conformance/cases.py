"""Address patterns that distinguish rules: strides, broadcasts, pairs and broken pairs, masks, swizzles, chance.

A pattern gives every lane a *unit* (an aligned piece as wide as the access); a mask says which lanes take part.
"""

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from simlayout.algebra import Swizzle
from simlayout.hardware import instruction as instruction_of
from simlayout.hardware.tables.arch import LANES

LANE = np.arange(LANES)
WINDOW = 48 * 1024
"""Bytes of shared memory that the patterns use: what a kernel has without asking for more."""

SOURCE_WINDOW = 1 << 20
"""Bytes of global memory from which the copies read."""

STRIDES = 34
"""The first cases of every instruction: lane i takes unit i * stride, strides 0 to 33."""


@dataclass(frozen=True, eq=False)
class Cases:
    """n accesses of a warp by one instruction.

    addresses: shared bytes, int32 [n, 32]; active: bool [n, 32]; labels: str [n], the families they come from;
    sources: global bytes of copies, int32 [n, 32], None for other instructions; valid: their src-size, bytes, int32 [n,
    32], None for copies without one.
    """

    instruction: str
    addresses: np.ndarray
    active: np.ndarray
    labels: tuple
    sources: np.ndarray | None = None
    valid: np.ndarray | None = None

    def __len__(self):
        return len(self.addresses)

    def __getitem__(self, rows):
        """The cases of a slice, an index array or a mask."""
        rows = np.arange(len(self))[rows]
        sources, valid = (None if x is None else x[rows] for x in (self.sources, self.valid))
        return Cases(self.instruction, self.addresses[rows], self.active[rows],
                     tuple(self.labels[i] for i in rows), sources, valid)


def _anywhere(rng, top, size=LANES):
    """Units from windows of very different sizes: many or few lanes to a bank."""
    window = min(top, int(2 ** rng.uniform(2, np.log2(top))))
    return rng.integers(0, top - window + 1) + rng.integers(0, window, size)


def broadcast(rng, top, unit):
    """Every lane the same unit."""
    return np.full(LANES, rng.integers(0, top))


def consecutive(rng, top, unit):
    """32 neighbours, from anywhere."""
    return rng.integers(0, top - LANES + 1) + LANE


def permuted(rng, top, unit):
    """32 neighbours in any order."""
    return rng.integers(0, top - LANES + 1) + rng.permutation(LANES)


def reversed_blocks(rng, top, unit):
    """Neighbours with the lanes' bits flipped: reversed in blocks of 2 to 32."""
    return rng.integers(0, top - LANES + 1) + (LANE ^ rng.integers(0, LANES))


def strided(rng, top, unit):
    """Any stride, any start."""
    stride = rng.integers(0, (top - 1) // 31)
    return rng.integers(0, top - 31 * stride) + stride * LANE


def shared_by_blocks(rng, top, unit):
    """Blocks of 2, 4, 8 or 16 neighbouring lanes share a unit."""
    return _anywhere(rng, top)[LANE // 2 ** rng.integers(1, 5)]


def shared_by_partners(rng, top, unit):
    """lane and lane ^ step share a unit, step 1 to 31: pairs for 1 and 2, not for the others."""
    return _anywhere(rng, top)[np.minimum(LANE, LANE ^ rng.choice([1, 2, 3, 4, 5, 6, 8, 16, 31]))]


def broken_pairs(rng, top, unit):
    """Pairs, except for one to three lanes."""
    units = shared_by_partners(rng, top, unit)
    units[rng.integers(0, LANES, rng.integers(1, 4))] = rng.integers(0, top)
    return units


def few_units(rng, top, unit):
    """Every lane one of 2 to 8 units."""
    return rng.choice(_anywhere(rng, top, rng.integers(2, 9)), LANES)


def few_banks(rng, top, unit):
    """Units in one to four banks, a multiple of 128 bytes apart."""
    line = max(1, 128 // unit)
    rows = top // line
    return rng.integers(0, min(rows, 2 ** rng.integers(1, 6)), LANES) * line + rng.choice(rng.integers(0, line, 4), LANES)


def tile(rng, top, unit):
    """A tile of rows of 32 to 512 bytes read along columns or blocks, padded or not."""
    pitch = max(1, int(rng.choice([32, 64, 128, 256, 512])) // unit) + int(rng.choice([0, 0, 1, 2, 4]))
    wide = 2 ** rng.integers(0, 5)
    return (LANE // wide * pitch + LANE % wide + rng.integers(0, pitch)) % top


def swizzled(rng, top, unit):
    """The same under a CuTe swizzle on units."""
    bits, base = rng.integers(1, 4), rng.integers(0, 3)
    swizzle = Swizzle(int(bits), int(base), int(bits + rng.integers(0, 3)))
    return np.asarray(swizzle(tile(rng, top, unit))) % top


def misordered(rng, top, unit):
    """A tile with its lanes shuffled."""
    return tile(rng, top, unit)[rng.permutation(LANES)]


def at_random(rng, top, unit):
    """No pattern."""
    return _anywhere(rng, top)


FAMILIES = (broadcast, consecutive, permuted, reversed_blocks, strided, shared_by_blocks, shared_by_partners,
            broken_pairs, few_units, few_banks, tile, swizzled, misordered, at_random)


def _all(rng):
    return np.full(LANES, True)


def _some(rng):
    return rng.random(LANES) < rng.uniform(0.05, 0.95)


def _one(rng):
    return LANE == rng.integers(0, LANES)


def _all_but_one(rng):
    return LANE != rng.integers(0, LANES)


def _run(rng):
    """A run of lanes, most often across the border of a quarter or half."""
    low = rng.integers(0, LANES)
    return (LANE >= low) & (LANE < low + rng.integers(1, 17))


def _around_a_border(rng):
    """Up to four lanes on either side of 8, 16 or 24."""
    border = rng.choice([8, 16, 24])
    return (LANE >= border - rng.integers(0, 5)) & (LANE < border + rng.integers(0, 5))


def _groups(rng):
    """Some of the halves, quarters, or groups of 4 or 2."""
    size = 2 ** rng.integers(1, 5)
    return (rng.random(16) < 0.5)[LANE // size]


def _every_other(rng):
    """One of each two, four, eight or sixteen lanes."""
    step = 2 ** rng.integers(1, 5)
    return LANE % step == rng.integers(0, step)


def _one_of_each_pair(rng):
    """lane or lane ^ step, at random: inactive partners keep pairs whole."""
    step = rng.choice([1, 2])
    return (rng.random(LANES) < 0.5)[np.minimum(LANE, LANE ^ step)] ^ (LANE & step > 0)


MASKS = (_all, _all, _all, _some, _one, _all_but_one, _run, _around_a_border, _groups, _every_other, _one_of_each_pair)
"""Where lanes may be inactive, each case draws one of these."""


def generate(name, count, seed=0, sized=False):
    """`count` Cases of an instruction, the same for the same seed.

    name: of `simlayout.hardware.INSTRUCTIONS`. The first are the strides, the rest go round the families. sized: with
    src-sizes, for a copy.

    >>> cases = generate("ld.shared.b64", 100, seed=7)
    >>> cases.labels[33], cases.addresses[1, :4].tolist(), bool((cases.addresses % 8 == 0).all())
    ('stride 33', [0, 8, 16, 24], True)
    """
    row = instruction_of(name)
    rng = np.random.default_rng([seed, crc32(row.name.encode())])
    top = WINDOW // row.bytes
    units = np.empty((count, LANES), np.int64)
    active = np.full((count, LANES), True)
    labels = []
    for i in range(count):
        if i < STRIDES:
            units[i] = i * LANE
            labels.append(f"stride {i}")
        else:
            family = FAMILIES[i % len(FAMILIES)]
            units[i] = family(rng, top, row.bytes)
            labels.append(family.__name__)
            if not row.needs_whole_warp:
                active[i] = rng.choice(MASKS)(rng)
    sources = _sources(rng, count, row.bytes) if row.kind == "copy" else None
    valid = _sizes(rng, count, row.bytes) if sized else None
    return Cases(row.name, (units * row.bytes).astype(np.int32), active, tuple(labels), sources, valid)


def _sources(rng, count, unit):
    """Global bytes of copies: half of them one run of neighbours, the rest from the same families."""
    top = SOURCE_WINDOW // unit
    elements = np.empty((count, LANES), np.int64)
    for i in range(count):
        family = consecutive if i % 2 else rng.choice(FAMILIES)
        elements[i] = family(rng, top, unit)
    aligned = elements[1::2, :1] - elements[1::2, :1] % max(1, 128 // unit)  # a run starts on a line: it is coalesced
    elements[1::2] = np.minimum(aligned, top - LANES) + LANE
    return (elements * unit).astype(np.int32)


def _sizes(rng, count, unit):
    """src-sizes: everything, all or nothing by lane, one part, or a mixture by lane."""
    parts = np.arange(0, unit + 1, 2)
    kinds = (lambda: np.full(LANES, unit), lambda: unit * rng.integers(0, 2, LANES),
             lambda: np.full(LANES, rng.choice(parts)), lambda: rng.choice(parts, LANES))
    return np.array([kinds[i // 2 % 4]() for i in range(count)], np.int32)
