"""Which configuration of `wgmma_persistent` a product gets: the candidate, in one of several orders of tiles, with the least
estimate that its types allow."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache

import numpy as np

from cuda_kernels.matmul.choose.candidates import BY_SECTORS, ORDERS, off_sectors
from cuda_kernels.matmul.choose.figures import H200
from cuda_kernels.matmul.choose.grouped import estimated_groups
from cuda_kernels.matmul.choose.model import in_16_bits
from cuda_kernels.matmul.choose.programs import programs_of
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError

LIKELY = 64
"""So many candidates are estimated in all orders and corrected: those with the least estimates in their usual order."""

WORTH = 1.4
"""Configurations are worth measuring if their estimate is within this factor of the least one."""


@lru_cache(4096)
def choose(wanted, gpu=H200):
    """The Hopper configuration for what is wanted on a GPU with these Figures: the first of `ranked`.

    >>> from cuda_kernels.matmul.choose.wanted import Wanted
    >>> chosen = choose(Wanted(1, 4096, 14336))
    >>> chosen.c_major, chosen.tile_n                # the one row becomes a column: tiles are at least 64 x 16
    ('M', 16)
    """
    for _, config in ranked(wanted, gpu):
        return config
    raise SimlayoutError(f"no candidate suits {wanted.a_major}-major A and {wanted.b_major}-major B of {wanted.types[0]}"
                         + f" scaled by {wanted.scaled}" * bool(wanted.scaled))


def ranked(wanted, gpu):
    """Yields (estimate in microseconds, Hopper configuration) of what is wanted, the least estimate first, but before it
    one BY_SECTORS where C is `off_sectors`, of which the estimate knows nothing; behind the LIKELY ones once more all. The
    estimate is of one of several such products in a row, of which the next may begin early if the configuration says so.
    Where c_major is "M" a configuration makes the transpose of C: its A is the product's B.

    The formula is of types of 16 bits: a product of 8-bit ones is estimated as one of half the depth, because a wgmma of
    32 bytes along K takes as long for either, and so does TMA for a line of so many bytes. What differs the trees know.
    """
    (deep, narrow), c_bytes = in_16_bits(wanted.K, wanted.types[0]), TYPES[wanted.out].bytes
    if wanted.grouped:
        yield from _ranked_groups(wanted, deep, narrow, c_bytes, gpu)
        return
    candidates = programs_of(wanted.majors, wanted.scaled)
    product = wanted.M, wanted.N, deep, wanted.matrices, gpu
    programs = np.argsort(candidates.times(candidates.work(*product, c_bytes=c_bytes), gpu), kind="stable")
    for near in (programs[:LIKELY], programs):
        estimates = candidates.take(near).in_ways(ORDERS)
        times = estimates(*product, narrow=narrow, c_bytes=c_bytes)
        if near is not programs and (config := by_sectors(wanted, gpu)) is not None:
            yield float(times.min()), config
        for i in np.argsort(times, kind="stable").tolist():
            config = suited(estimates.configs[i], wanted)
            if config is not None:
                yield float(times[i]), without_split(config, wanted, gpu.sms)


def _ranked_groups(wanted, deep, narrow, c_bytes, gpu):
    """The same of a grouped product."""
    estimates, times = estimated_groups(wanted, deep, narrow, c_bytes, gpu)
    for i in np.argsort(times, kind="stable").tolist():
        config = suited(estimates.configs[i], wanted)
        if config is not None:
            yield float(times[i]), replace(config, group=int(estimates.group[i]))


def by_sectors(wanted, gpu):
    """The first of BY_SECTORS that suits what is wanted, where C is `off_sectors`; else None."""
    return next(filter(None, (suited(c, wanted) for c in BY_SECTORS)), None) if off_sectors(wanted, gpu) else None


def likely(wanted, gpu, most, in_orders=2):
    """[Hopper configuration] that are worth measuring, at most so many, the likeliest first, each kernel in so many orders
    of tiles; of those whose orders are the same there, and of `early` and not, one."""
    found, orders, least = {}, Counter(), None
    for estimate, config in ranked(wanted, gpu):
        least = estimate if least is None else least
        if estimate > WORTH * least or len(found) == most:
            break
        rows, cols = config.tile_grid(*config.turned(wanted.M, wanted.N))
        same = replace(config, group=1 if cols == 1 else min(config.group, rows), early=False)
        if same not in found and orders[same.program] < in_orders:
            orders[same.program] += 1
            found[same] = config
    return list(found.values())


def suited(candidate, wanted):
    """A configuration for what is wanted; None where it cannot be: to store C without TMA, or an epilogue, may take more
    registers, and what was made for other majors or scales may have no room."""
    try:
        taken = candidate.taking(wanted.types, wanted.out, wanted.majors, wanted.scaled, wanted.epilogue)
        taken = taken if taken.store == "sectors" else replace(taken, store=wanted.store)
        return replace(taken, grouped=True, split=False) if wanted.grouped else taken
    except SimlayoutError:
        return None


def without_split(config, wanted, sms):
    """The configuration without the code that adds up parts, where no tile is cut: 0.4 percent faster (geometric mean of 76
    products on an H200)."""
    _, parts = config.cut(*config.turned(wanted.M, wanted.N), wanted.K, wanted.matrices, sms)
    return config if parts > 1 or not config.split else replace(config, split=False)
