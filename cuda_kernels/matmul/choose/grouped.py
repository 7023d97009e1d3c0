"""Which configuration a grouped product gets: the candidate with the least estimate for groups of several sizes.

The host knows how many rows a group has on average, not how many each has. Groups that all had as many would favour a tile
that divides this number, so the candidates are estimated for batches of products of several sizes whose mean it is, and the
mean of these estimates decides. It is the formula's, without the trees, which were fitted to products by themselves.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from cuda_kernels.kernels.hopper.scales import grains_of
from cuda_kernels.matmul.choose.candidates import CANDIDATES, promoting
from cuda_kernels.matmul.choose.choice import suited
from cuda_kernels.matmul.choose.figures import H200
from cuda_kernels.matmul.choose.model import Estimates, misalignment_of
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError

SIZES = 0.31, 0.57, 0.73, 0.89, 1.04, 1.21, 1.45, 1.8
"""Rows of the groups that are estimated, in rows of the average one: no tile divides them all."""

TOGETHER = 2048
"""Rows of a group whose tiles are walked together, so that a group's matrix is read from DRAM once, unless it has more rows:
of 64 groups of 256 rows on average, 4096 columns and 7168 deep, tiles of 256 x 104 took 1.7 times as long where those that
share rows came first (by hand, on an H100)."""


def can_be_grouped(config):
    """Whether a candidate is considered for grouped products. Clusters lie across the rows of a group, because along them
    they would make its tiles longer; columns come in steps of 16 rows of a group, or of 64 across these."""
    across, along = config.turned(config.cluster_n, config.cluster_m)
    step = 64 if config.c_major == "N" else 16
    return config.slices == config.resident == along == 1 and across <= 2 and config.tile_n % step == 0


@lru_cache(None)
def programs_of(scaled):
    """Estimates of the candidates that can be grouped, for Hopper's option `scaled` of a product."""
    grains = grains_of(scaled)
    candidates = promoting(*grains) if grains else CANDIDATES
    walked = (replace(c, split=False, group=group_of(replace(c, grouped=True, split=False)) if c.c_major == "N" else 1)
              for c in candidates if can_be_grouped(c))
    return Estimates(tuple(dict.fromkeys(walked)))


def group_of(config):
    """How many tiles along the rows of a group are walked together."""
    return max(1, TOGETHER // config.group_height)


@lru_cache(4096)
def choose_grouped(wanted, gpu=H200):
    """The Hopper configuration for a grouped product on a GPU with these Figures. wanted: its M are the rows of all groups,
    its matrices the groups.

    >>> from cuda_kernels.matmul.choose.wanted import Wanted
    >>> few = choose_grouped(Wanted(64, 14336, 4096, 8))
    >>> few.grouped, few.c_major, few.tile_n         # eight rows a group become columns of tiles that are at least 16 wide
    (True, 'M', 16)
    """
    for config in ranked_grouped(wanted, gpu):
        return config
    raise SimlayoutError(f"no candidate suits {wanted.a_major}-major A and {wanted.b_major}-major B of {wanted.types[0]}"
                         + f" scaled by {wanted.scaled}" * bool(wanted.scaled))


def ranked_grouped(wanted, gpu):
    """Yields the Hopper configurations of what is wanted, that with the least estimate first."""
    estimates = programs_of(wanted.scaled)
    for i in np.argsort(estimated(estimates, wanted, gpu), kind="stable").tolist():
        config = suited(estimates.configs[i], wanted)
        if config is not None:
            config = replace(config, grouped=True)
            yield replace(config, group=group_of(config))


def estimated(estimates, wanted, gpu):
    """float64 [configurations]: microseconds, the mean over groups of SIZES."""
    deep = -(-wanted.K * TYPES[wanted.types[0]].bytes // 2)
    groups = min(wanted.matrices, wanted.M)
    misalignment = misalignment_of(*(deep if major == "K" else size for major, size in
                                     ((wanted.a_major, wanted.M), (wanted.b_major, wanted.N))))
    sizes = [max(1, round(size * wanted.M / groups)) for size in SIZES]
    return np.mean([estimates.times(estimates.work(rows, wanted.N, deep, groups, gpu, misalignment), gpu) for rows in sizes],
                   axis=0)
