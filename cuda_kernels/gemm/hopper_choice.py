"""Which configuration of `wgmma_persistent` a product gets: the candidate with the least estimate that its types allow."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from cuda_kernels.gemm.hopper_candidates import CANDIDATES
from cuda_kernels.gemm.hopper_model import Estimates, lie_of
from simlayout.errors import SimlayoutError

ESTIMATES = Estimates(CANDIDATES)

@lru_cache(4096)
def choose(M, N, K, matrices, sms, a_major, b_major, dtype, out):
    """The Hopper configuration for C (M, N) = A (M, K) times B (K, N), `matrices` of them, on a GPU with `sms` SMs. Where
    its c_major is "M" it makes the transpose of C: its A is the product's B.

    >>> choose(8192, 8192, 8192, 1, 132, "K", "K", "f16", "f16").tile_m
    128
    """
    lie = lie_of(K if a_major == "K" else M, K if b_major == "K" else N)
    times = ESTIMATES(M, N, K, matrices, sms, lie)
    for i in np.argsort(times, kind="stable").tolist():
        config = suited(CANDIDATES[i], a_major, b_major, dtype, out)
        if config is not None:
            return in_order(config, M, N)
    raise SimlayoutError(f"no candidate suits {a_major}-major A and {b_major}-major B of {dtype}")


def configured(kernel, M, N, K, matrices, sms, a_major, b_major, dtype, out):
    """The Hopper configuration for a product: `kernel` with its orders and types or, without one, what is chosen."""
    if kernel is None:
        return choose(M, N, K, matrices, sms, a_major, b_major, dtype, out)
    return _with_types(kernel, a_major, b_major, dtype, out)


def in_order(config, M, N):
    """The configuration with the order of tiles for C (M, N) or, where its c_major is "M", for the transpose of that.

    CTAs that run side by side should share what there is more of. In groups of 8 rows they do so in wide matrices; where C
    has few columns of tiles, smaller groups do, and clusters, which share by themselves, want 4. What the orders 1, 2, 4, 8
    and 16 take is in `tests/data/h200_tuning.json`: this rule is within 1 % of the best of them for most grids of tiles, and
    64 x 2 tiles in groups of 8 took 1.3 times as long as in rows.

    >>> in_order(CANDIDATES[0], 8192, 32).group, in_order(CANDIDATES[0], 32, 8192).group
    (1, 8)
    """
    rows, cols = config.tile_grid(*((M, N) if config.c_major == "N" else (N, M)))
    if cols > 12:
        group = 8
    elif config.sharing > 1:
        group = 4
    elif cols > 4:
        group = 2
    else:
        group = 1 if rows >= 2 * cols else 8
    return replace(config, group=group)


def suited(candidate, a_major, b_major, dtype, out):
    """A candidate for operands of these orders and types; None where it cannot be: tiles of MN-major operands may need more
    shared memory. a_major, b_major: of the product, whose operands change places where the candidate's c_major is "M"."""
    try:
        return _with_types(candidate, a_major, b_major, dtype, out)
    except SimlayoutError:
        return None


def _with_types(config, a_major, b_major, dtype, out):
    first, second = (a_major, b_major) if config.c_major == "N" else (b_major, a_major)
    return replace(config, a_major=first, b_major=second, dtype=dtype, out=out,
                   store="direct" if out == "f32" else config.store)
