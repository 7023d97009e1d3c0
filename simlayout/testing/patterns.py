"""Patterns of a warp's addresses as Hypothesis strategies, by name.

A pattern gives every lane a *unit*, an aligned piece as wide as the access, from 0 to top - 1; it is a function of top that
returns a strategy of int64 [32]. Each shrinks towards small numbers: unit 0 in all lanes, or lanes side by side.
"""

import numpy as np
from hypothesis import strategies as st

from simlayout.hardware.tables.arch import LANES

LANE = np.arange(LANES)


def strided(top):
    """Lane l takes start + stride * l; stride 0 is a broadcast."""
    most = (top - 1) // 31
    strides = st.integers(0, min(most, 64)) | st.integers(0, most)
    return strides.flatmap(lambda stride: st.integers(0, top - 1 - 31 * stride).map(lambda start: start + stride * LANE))


def xored(top):
    """Each bit of the lane XORs a number of its own: lanes of a power-of-two tile, swizzled or not."""
    below = 1 << top.bit_length() - 1
    columns = st.lists(st.integers(0, min(below, 256) - 1) | st.sampled_from([1 << i for i in range(below.bit_length() - 1)]
                                                                             or [0]), min_size=5, max_size=5)
    return st.builds(_xor, st.integers(0, below - 1), columns)


def _xor(start, columns):
    units = np.full(LANES, start)
    for bit, column in enumerate(columns):
        units ^= (LANE >> bit & 1) * column
    return units


def shared_by_blocks(top):
    """Blocks of 32, 16, 8, 4 or 2 neighbouring lanes have one unit: a broadcast."""
    return st.sampled_from([32, 16, 8, 4, 2]).flatmap(
        lambda wide: _units(top, 32 // wide).map(lambda units: np.repeat(units, wide)))


def rows(top):
    """Rows of a tile, 1 to 32 lanes beside each other in each, a pitch apart: down a column, or a block of a tile."""
    pitches = st.integers(0, min(64, (top - 1) // 31))
    return st.builds(lambda wide, pitch: (LANE // wide * pitch + LANE % wide) % top, st.sampled_from([1, 2, 4, 8, 16, 32]),
                     pitches)


def permuted(top):
    """Neighbouring units in any order."""
    return st.permutations(range(LANES)).map(lambda order: np.array(order) % top)


def paired(top):
    """lane and lane ^ step have one unit, step 1 to 4; now and then a lane is out of step."""
    return st.builds(_pair, _units(top, 32), st.sampled_from([1, 2, 3, 4]),
                     st.none() | st.tuples(st.integers(0, 31), st.integers(0, top - 1)))


def _pair(units, step, stray):
    addresses = units[np.minimum(LANE, LANE ^ step)]
    if stray is not None:
        addresses[stray[0]] = stray[1]
    return addresses


def anywhere(top):
    """No pattern: units from few or many."""
    return st.sampled_from([n for n in (2, 8, 64, 512) if n < top] + [top]).flatmap(lambda below: _units(below, 32))


def _units(top, count):
    return st.lists(st.integers(0, top - 1), min_size=count, max_size=count).map(np.array)


PATTERNS = {"strided": strided, "xored": xored, "blocks": shared_by_blocks, "rows": rows, "permuted": permuted,
            "paired": paired, "random": anywhere}
"""Name -> pattern, the simplest first: what is drawn shrinks towards the first."""
