"""Rows: what blocks and warps do by CUB: every algorithm of its reductions, scans and histograms, sorts and exchanges."""

from functools import partial

import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign
from cuda_kernels.conformance.foreign.rows_blocks import ints

CTAS, THREADS, TILE = 3, 128, 512
cub = partial(Foreign, language="cuda", source="cub", block=(THREADS, 1, 1))
blocks, one = partial(cub, grid=(CTAS, 1, 1)), partial(cub, grid=(1, 1, 1))


def _keys(rng):
    return [ints(rng, CTAS, TILE, low=0, high=2**32, dtype=np.uint32),
            np.arange(CTAS * TILE, dtype=np.uint32).reshape(CTAS, TILE)]


def _sorted_pairs(args):
    keys, values = args
    order = np.argsort(keys, 1, kind="stable")
    return {0: np.take_along_axis(keys, order, 1), 1: np.take_along_axis(values, order, 1)}


def _letters(rng):
    return [ints(rng, CTAS, TILE, low=0, high=256, dtype=np.uint8), np.zeros((CTAS, 256), np.uint32)]


def _runs(rng):
    return [ints(rng, CTAS, TILE, low=0, high=3), np.zeros((CTAS, TILE), np.int32), np.zeros((CTAS, TILE), np.int32)]


def _heads(args):
    before = np.concatenate([args[0][:, :1], args[0][:, :-1]], 1)
    heads = (before != args[0]).astype(np.int32)
    heads[:, 0] = 1
    differences = args[0] - before
    differences[:, 0] = args[0][:, 0]                    # the first element has no left neighbour, and stays as it is
    return {1: heads, 2: differences}


def _coded(rng):
    lengths = ints(rng, 2 * THREADS, low=1, high=6)
    return [ints(rng, 2 * THREADS), lengths, np.zeros(lengths.sum(), np.int32), np.zeros(1, np.int32)]


def _decoded(args):
    return {2: np.repeat(args[0], args[1]), 3: args[1].sum(keepdims=True)}


def _warps(rng):
    return [ints(rng, TILE, dtype=np.float32), np.zeros(THREADS, np.float32), np.zeros(THREADS // 16, np.float32),
            np.zeros(TILE, np.float32), ints(rng, TILE)]


def _by_warps(args):
    x, keys = args[0], args[4]
    return {1: x[:THREADS].reshape(-1, 32).cumsum(1).ravel(), 2: x[:THREADS].reshape(-1, 16).max(1),
            3: x.reshape(8, 4, 16).swapaxes(1, 2).ravel(), 4: np.sort(keys.reshape(-1, TILE // 4), 1).ravel()}


def _exchange(dtype, items, rng):
    return [ints(rng, THREADS, items, dtype=dtype), np.zeros((THREADS, items), dtype)]


def _exchanged(args):
    return {1: args[0] + args[0][:, :1]}


ROWS = (
    *(blocks(f"cub_total_{by}", make=lambda r: [ints(r, CTAS, THREADS, dtype=np.float32), np.zeros(CTAS, np.float32)],
             result=lambda a: {1: a[0].sum(1)}) for by in ("raking", "commutative", "warps")),
    *(blocks(f"cub_sums_{by}", make=lambda r: [ints(r, CTAS, TILE), np.zeros((CTAS, TILE), np.int32)],
             result=lambda a: {1: a[0].cumsum(1)}) for by in ("raking", "memoize", "warps")),
    blocks("cub_radix_sort", make=_keys, result=_sorted_pairs),
    blocks("cub_merge_sort", make=lambda r: [ints(r, CTAS, TILE, low=-1000, high=1000)],
           result=lambda a: {0: np.sort(a[0], 1)}),
    *(blocks(f"cub_histogram_{by}", make=_letters,
             result=lambda a: {1: np.stack([np.bincount(of, minlength=256) for of in a[0]])}) for by in ("atomic", "sort")),
    *(one(f"cub_exchange_{what}", make=partial(_exchange, dtype, items), result=_exchanged)
      for what, dtype, items in (("8", np.int32, 8), ("9", np.int32, 9), ("doubles", float, 4), ("shorts", np.int16, 6))),
    blocks("cub_heads", make=_runs, result=_heads),
    one("cub_decode", make=_coded, result=_decoded),
    one("cub_by_warps", make=_warps, result=_by_warps),
)
"""The rows."""
