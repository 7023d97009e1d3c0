"""What a grouped product may get, and how long it takes by the estimate: as many products, of the rows that groups have on
average, because the host knows no more; groups may have up to twice as many, so that their last tiles are half empty. What
that lacks, as that consumers without rows leave their products out, trees of their own have learned.
"""

from functools import lru_cache

import numpy as np

from cuda_kernels.matmul.choose.candidates import KK
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.programs import programs_of
from cuda_kernels.matmul.choose.trees import OF_GROUPS

TOGETHER = 2048
"""Rows of a group whose tiles are walked together, so that a group's matrix is read from DRAM once, unless it has more rows.
A quarter, half and twice as many took as long on average, to half a percent, and 0.90 to 1.15 of the time at single ones of
68 products on an H200 (`tests/data/h200_groups_row.json.xz`), which trees that learned from that did not foresee."""

ROOM, HIGHER = 4, 1.08
"""Tiles that are higher than those with room for so many times the rows of an average group take so many times as long: at
184 products where both were measured the best of them took 0.97 to 2.58 times as long as the best others, 1.08 in the
geometric mean, and less at three (`h200_groups.json.xz`, `h200_groups_more.json.xz`, `h200_groups_many.json.xz` and
`h100_groups.json.xz` in `tests/data`). Trees alone held some of far larger matrices than were measured for fast."""

LEAST, STEP = 16, 8
"""The height of the lowest tile, and what heights differ by."""


class AlongGroups(Estimates):
    """Estimates of grouped products for the configurations of others: each as if its tiles' first dimension lay along the
    rows of groups, along which tiles are walked wherever C lies."""

    def __init__(self, estimates):
        vars(self).update(vars(estimates))
        turned, tile_m, tile_n = self.turned, self.tile_m, self.tile_n
        self.tile_m, self.tile_n = np.where(turned, tile_n, tile_m), np.where(turned, tile_m, tile_n)
        self.turned, self.split, self.trees = np.zeros_like(turned), np.zeros_like(self.split), OF_GROUPS

    def corrected(self, work, times, gpu):
        """As of Estimates, with what ROOM and HIGHER say."""
        enough = np.maximum(LEAST, STEP * np.ceil(ROOM * work.rows / STEP))
        return np.where(self.tile_m > enough, HIGHER, 1) * super().corrected(work, times, gpu)


@lru_cache(None)
def of_groups(majors=KK, scaled=""):
    """The Estimates of what grouped products of such operands and scales may have."""
    every = programs_of(majors, scaled)
    taken = AlongGroups(every.take(np.flatnonzero((every.sharing == 1) & (every.slices == 1))))
    taken.group = np.maximum(1, TOGETHER // taken.tile_m)
    return taken


def work_of_groups(estimates, rows, N, deep, groups, gpu, narrow, c_bytes):
    """The Work of so many rows in groups, the mean of them each. deep: K in elements of 16 bits; arguments may be arrays."""
    filled = np.minimum(groups, rows)
    return estimates.work(rows / filled, N, deep, filled, gpu, uneven=True, narrow=narrow, c_bytes=c_bytes)


def estimated_groups(wanted, deep, narrow, c_bytes, gpu):
    """(the Estimates of what a grouped product may have, their microseconds). deep, narrow: of `in_16_bits`; c_bytes: of an
    element of C."""
    estimates = of_groups(wanted.majors, wanted.scaled)
    work = work_of_groups(estimates, wanted.M, wanted.N, deep, wanted.matrices, gpu, narrow, c_bytes)
    return estimates, estimates.corrected(work, estimates.times(work, gpu), gpu)
