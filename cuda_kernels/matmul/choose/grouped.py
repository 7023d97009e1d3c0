"""What a grouped product may get, and how long it takes by the estimate: as many products, of the rows that groups have on
average, because the host knows no more; groups may have up to twice as many, so that their last tiles are half empty.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from cuda_kernels.matmul.choose.programs import programs_of
from cuda_kernels.matmul.choose.rates import RATES

TOGETHER = 2048
"""Rows of a group whose tiles are walked together, so that a group's matrix is read from DRAM once, unless it has more rows:
of 64 groups of 256 rows on average, 4096 columns and 7168 deep, tiles of 256 x 104 took 1.7 times as long where those that
share rows came first (by hand, on an H100)."""

FEW_ROWS, FEW_COLUMNS = 48, 64
"""Rows of a group, on average, up to which tiles have no more rows, and these columns of the group's matrix: then all CTAs
together read the fewest lines of it at a time. With 128 and 256 columns DRAM took 1 to 3 percent longer."""

IN_TURNS = {64: 200, 128: 176}
"""Rows of tiles, where C lies by rows, for consumers that take turns -> the fewest columns that more rows get."""

WIDE = (256, 96, 4), (256, 128, 2)
"""Columns, rows and consumers of tiles, where C lies by columns, that more rows get, too. Smaller tiles than all these took
up to twice as long as the estimate says, and of the others hardly one less than the best of these."""

RATES_OF_GROUPS = replace(RATES, merged_in_gpc=0.5)
"""L2 serves fewer CTAs together than in a plain product, because tiles that groups leave in part empty take less time."""

LOST = 0.2
"""Tiles of a group that need the same columns of its matrix read these from DRAM once if they are multiplied at the same
time; where what all CTAs read in a tile is more than L2, this part of them does not. At the worst none of them did."""

LAST_WAVE = 0.15
"""The part of DRAM's time that CTAs without a tile leave unused in the last wave."""

SHARED_LINES, LINE_COLUMNS = 1.025, 64
"""So many times as long take tiles whose columns are no multiple of these: they end within a line of 128 bytes of C, which
two tiles then write. At 16384 rows in 64 groups, 7168 columns and 2048 deep, 128 x 176 took 1.18 times as long as 128 x 192
(two runs on an H100); in most products it is little."""


def together(height):
    """How many tiles of so many rows are walked together; of many heights at a time."""
    return np.maximum(1, TOGETHER // height)


@lru_cache(None)
def of_groups(scaled=""):
    """The Estimates of what grouped products may have: each as if its tiles' first dimension lay along the rows of groups,
    along which tiles are walked wherever C lies; down: whether that is by columns."""
    every = programs_of(scaled)
    taken = every.take(np.flatnonzero((every.sharing == 1) & (every.slices == 1) & (every.resident == 1)))
    turned, tile_m, tile_n = taken.turned, taken.tile_m, taken.tile_n
    taken.tile_m, taken.tile_n = np.where(turned, tile_n, tile_m), np.where(turned, tile_m, tile_n)
    taken.down, taken.turned, taken.split = turned, np.zeros_like(turned), np.zeros_like(taken.split)
    taken.group = together(taken.tile_m)
    return taken


def fitting(estimates, mean):
    """bool [configurations]: which are considered first for groups of so many rows on average, because others are estimated
    too low, or took no less; where sums are promoted there are none of these for many rows."""
    rows, columns = estimates.tile_m, estimates.tile_n
    if mean <= FEW_ROWS:
        return (columns == FEW_COLUMNS) & (rows <= FEW_ROWS)
    found = np.zeros_like(estimates.down)
    for height, least in IN_TURNS.items():
        found |= estimates.pingpong & ~estimates.down & (rows == height) & (columns >= least)
    for width, height, consumers in WIDE:
        found |= estimates.down & (columns == width) & (rows == height) & (estimates.consumers == consumers)
    return found


def estimated_groups(wanted, deep, gpu, misalignment):
    """(the Estimates of what a grouped product may have, their microseconds, which of them are `fitting`). deep: its K in
    elements of 16 bits."""
    groups = min(wanted.matrices, wanted.M)
    mean, matrix, estimates = wanted.M / groups, 2 * deep * wanted.N, of_groups(wanted.scaled)
    work = estimates.work(mean, wanted.N, deep, groups, gpu, misalignment, uneven=True)
    along = work.whole / -(-wanted.N // estimates.tile_n) / groups           # tiles of a group that need the same columns
    lost = LOST * np.clip(2 * deep * estimates.tile_n * gpu.sms / gpu.l2_bytes - 1, 0, 1)
    waves = work.whole / gpu.sms
    memory = (work.memory + lost * (along - 1) * matrix * groups) * (1 + LAST_WAVE * (np.ceil(waves) / waves - 1))
    times = estimates.times(replace(work, memory=memory), gpu, RATES_OF_GROUPS)
    times = times * np.where(estimates.tile_n % LINE_COLUMNS > 0, SHARED_LINES, 1)
    return estimates, times, fitting(estimates, mean)
