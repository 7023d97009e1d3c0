"""Which configuration a grouped product gets: by the rows that a group has on average, which is all that the host knows.

Few rows of a group become columns of tiles, which may be narrow; so each group's matrix is read once, and that is what such
products wait for. Of many rows tiles are as large as the registers allow: two consumers multiply 128 rows each, so that each
column of B is read from shared memory once for two bands, or they take turns, where storing a tile is a large part of it.
The estimate of `choice`, for batches of products of several sizes, was tried: what it chose took up to 1.33 times as long as
the best (by hand, on an H100).
"""

from dataclasses import replace
from functools import lru_cache

from cuda_kernels.kernels.hopper.scales import grains_of
from cuda_kernels.matmul.choose.candidates import OWN_COLUMNS, fitted
from cuda_kernels.matmul.choose.choice import suited
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError

IN_TURNS = dict(tile_m=128, tile_n=192, bands=2, pingpong=True)
WIDE = dict(tile_m=256, tile_n=128, bands=2, c_major="M")

TILES = ((8, dict(tile_m=64, tile_n=16, c_major="M")), (48, dict(tile_m=128, tile_n=64, c_major="M")),
         (96, dict(tile_m=128, tile_n=128, c_major="M")), (1 << 31, WIDE), (1 << 31, dict(tile_m=128, tile_n=256)),
         (1 << 31, dict(tile_m=128, tile_n=128)))
"""(rows of a group up to which, Hopper options): the first that suits is taken. Of up to 11 configurations at the 14
products of `bench.grouped`, by hand on an H100 whose clock changed times by up to 8 percent: the least or within 2 percent
of it, but for groups of 512 rows, 4096 deep, where IN_TURNS took 0.93 of the time. 64 to 96 rows were not measured."""

SHALLOW, SHALLOW_ROWS = 4096, 200
"""Bytes of a line of K up to which groups of so many rows get IN_TURNS: an H100 took 0.89 and 0.90 of the time that the next
of them took with 2048 bytes and 4096 of 8 bits each, and 1.02 with 4096 bytes of 16 bits; with 7168 bytes 0.96 and 1.33."""

PROMOTING = ((48, dict(tile_m=128, tile_n=64, c_major="M")), (1 << 31, dict(tile_m=128, tile_n=128)),
             (1 << 31, dict(tile_m=128, tile_n=64)))
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
    >>> few.c_major, few.tile_n, many.tile_m         # eight rows a group become columns
    ('M', 16, 256)
    """
    for options in _likeliest(wanted):
        candidate = fitted(**options)
        config = candidate and suited(candidate, wanted)
        if config:
            config = replace(config, grouped=True)
            return replace(config, group=group_of(config))
    raise SimlayoutError(f"no candidate suits {wanted.a_major}-major A and {wanted.b_major}-major B of {wanted.types[0]}"
                         + f" scaled by {wanted.scaled}" * bool(wanted.scaled))


def _likeliest(wanted):
    """Yields Hopper options, the likeliest first, those for smaller tiles behind the ones that have room for a group."""
    average, promotes = wanted.M / min(wanted.matrices, wanted.M), grains_of(wanted.scaled)
    if not promotes and average >= SHALLOW_ROWS and wanted.K * TYPES[wanted.types[0]].bytes <= SHALLOW:
        yield IN_TURNS
    rows = PROMOTING if promotes else TILES
    for _, options in [row for row in rows if average <= row[0]] + [row for row in reversed(rows) if average > row[0]]:
        if not promotes:
            yield options
            continue
        grains = promotes if options.get("c_major") != "M" else promotes[::-1]
        if grains[1] > 1 or options["tile_n"] <= OWN_COLUMNS:
            yield options | dict(dtype="e4m3", scaled="{}x{}".format(*grains))
