"""Which configuration a grouped product gets: by the rows that a group has on average, which is all that the host knows.

Few rows of a group become columns of tiles, which may be narrow; so each group's matrix is read once, and that is what such
products wait for. Of many rows tiles are as large as the registers allow. The estimate of `choice`, for batches of products
of several sizes, was tried first: what it chose took up to 1.33 times as long as the best (by hand, on an H100).
"""

from dataclasses import replace
from functools import lru_cache

from cuda_kernels.kernels.hopper.scales import grains_of
from cuda_kernels.matmul.choose.candidates import OWN_COLUMNS, fitted
from cuda_kernels.matmul.choose.choice import suited
from simlayout.errors import SimlayoutError

TILES = ((8, 64, 16, "M"), (48, 128, 64, "M"), (192, 128, 128, "M"), (1 << 31, 128, 256, "N"))
"""(rows of a group up to which, tile_m, tile_n, c_major): of 24 configurations at 12 products of bf16, of 4 to 2048 rows a
group, the least or within 2 percent of it, but for 2048 rows, where clusters of 2 took 0.92 of the time, and 128 rows of
7168 columns, 2048 deep, where others took 0.93 (by hand, on an H100, with a kernel that stored the ends of groups directly,
and multiplied half a tile of columns where that was enough)."""

PROMOTING = ((48, 128, 64, "M"), (1 << 31, 128, 128, "N"), (1 << 31, 128, 64, "N"))
"""The same where sums are promoted; of these others have no registers. Not compared with others."""

TOGETHER = 2048
"""Rows of a group whose tiles are walked together, so that a group's matrix is read from DRAM once, unless it has more rows:
of 64 groups of 256 rows on average, 4096 columns and 7168 deep, tiles of 256 x 104 took 1.7 times as long where those that
share rows came first (by hand, on an H100)."""


def group_of(config):
    """How many tiles along the rows of a group are walked together."""
    return max(1, TOGETHER // config.group_height)


@lru_cache(4096)
def choose_grouped(wanted):
    """The Hopper configuration for a grouped product. wanted: its M are the rows of all groups, its matrices the groups.

    >>> from cuda_kernels.matmul.choose.wanted import Wanted
    >>> few, many = choose_grouped(Wanted(64, 14336, 4096, 8)), choose_grouped(Wanted(16384, 14336, 4096, 8))
    >>> few.c_major, few.tile_n, many.c_major, many.tile_m       # eight rows a group become columns
    ('M', 16, 'N', 128)
    """
    average, promotes = wanted.M / min(wanted.matrices, wanted.M), grains_of(wanted.scaled)
    rows = PROMOTING if promotes else TILES
    likeliest = [row for row in rows if average <= row[0]] + [row for row in reversed(rows) if average > row[0]]
    for _, tile_m, tile_n, c_major in likeliest:
        grains = promotes if c_major == "N" or not promotes else promotes[::-1]
        if grains and grains[1] == 1 and tile_n > OWN_COLUMNS:
            continue
        promoting = dict(dtype="e4m3", scaled="{}x{}".format(*grains)) if grains else {}
        candidate = fitted(tile_m, tile_n, c_major=c_major, **promoting)
        config = candidate and suited(candidate, wanted)
        if config:
            config = replace(config, grouped=True)
            return replace(config, group=group_of(config))
    raise SimlayoutError(f"no candidate suits {wanted.a_major}-major A and {wanted.b_major}-major B of {wanted.types[0]}"
                         + f" scaled by {wanted.scaled}" * bool(wanted.scaled))
