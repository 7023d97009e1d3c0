"""Which configuration a grouped product gets: the candidate with the least estimate for groups of several sizes.

The host knows how many rows a group has on average, not how many each has. Groups that all had as many would favour a tile
that divides this number, so the candidates are estimated for batches of products of several sizes whose mean it is, and the
mean of these estimates decides.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from cuda_kernels.kernels.hopper.scales import grains_of
from cuda_kernels.matmul.choose.candidates import CANDIDATES, ORDERS, promoting
from cuda_kernels.matmul.choose.choice import LIKELY, estimated, suited
from cuda_kernels.matmul.choose.figures import H200
from cuda_kernels.matmul.choose.model import Estimates, misalignment_of
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError

SIZES = 0.4, 0.8, 1.2, 1.6
"""Rows of the groups that are estimated, in rows of the average one."""


@lru_cache(None)
def programs_of(scaled):
    """Estimates of the candidates that can be grouped, for Hopper's option `scaled` of a product."""
    grains = grains_of(scaled)
    candidates = promoting(*grains) if grains else CANDIDATES
    return Estimates(tuple(dict.fromkeys(replace(c, split=False) for c in candidates if c.slices == 1)))


@lru_cache(4096)
def choose_grouped(wanted, gpu=H200):
    """The Hopper configuration for a grouped product on a GPU with these Figures. wanted: its M are the rows of all groups,
    its matrices the groups.

    >>> from cuda_kernels.matmul.choose.wanted import Wanted
    >>> few = choose_grouped(Wanted(512, 4096, 7168, 256))
    >>> few.grouped, few.c_major, few.tile_n         # two rows a group become columns of tiles that are at least 16 wide
    (True, 'M', 16)
    """
    candidates = programs_of(wanted.scaled)
    for near in (_best(candidates, wanted, gpu)[:LIKELY], np.arange(len(candidates.configs))):
        estimates = candidates.take(near).in_orders(ORDERS)
        for i in _best(estimates, wanted, gpu).tolist():
            config = suited(estimates.configs[i], wanted)
            if config is not None:
                return replace(config, grouped=True)
    raise SimlayoutError(f"no candidate suits {wanted.a_major}-major A and {wanted.b_major}-major B of {wanted.types[0]}"
                         + f" scaled by {wanted.scaled}" * bool(wanted.scaled))


def _best(estimates, wanted, gpu):
    """Numbers of configurations, that with the least estimate first."""
    deep = -(-wanted.K * TYPES[wanted.types[0]].bytes // 2)
    average = wanted.M / min(wanted.matrices, wanted.M)
    misalignment = misalignment_of(*(deep if major == "K" else size for major, size in
                                     ((wanted.a_major, wanted.M), (wanted.b_major, wanted.N))))
    times = 0
    for rows in {max(1, round(size * average)) for size in SIZES}:
        work = estimates.work(rows, wanted.N, deep, min(wanted.matrices, wanted.M), gpu, misalignment)
        times = times + estimated(estimates, wanted, work, gpu)
    return np.argsort(times, kind="stable")
