"""Rows: transposes, sums, scans, histograms and sorting: what the threads of a block do together through shared memory."""

from functools import partial

import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign

cuda = partial(Foreign, language="cuda")


def ints(rng, *shape, low=-100, high=101, dtype=np.int32):
    """Whole numbers from low to high - 1."""
    return rng.integers(low, high, shape).astype(dtype)


def normal(rng, *shape, dtype=np.float32):
    """Standard normal numbers."""
    return rng.standard_normal(shape).astype(dtype)


def _transpose(rng):
    return [normal(rng, 64, 96), np.zeros((96, 64), np.float32), 64, 96]


def _ragged(rng):
    return [normal(rng, 50, 70), np.zeros((70, 50), np.float32), 50, 70]


def _sum_of(n, blocks, threads, rng):
    return [ints(rng, n), np.zeros(blocks, np.int32), n]


def _block_sums(args, threads):
    x = np.zeros(len(args[1]) * threads, np.int32)
    x[: args[2]] = args[0][: args[2]]
    return {1: x.reshape(-1, threads).sum(axis=1, dtype=np.int32)}


def _kinds(rng):
    return [ints(rng, 128, low=0, high=5000), np.zeros(8, np.int32), np.zeros(2, np.float32), np.zeros(1),
            np.zeros(4, np.uint16)]


def _kinds_of(args):
    x = args[0].astype(np.int64)
    found = [x.sum(), x.min(), x.max(), np.bitwise_and.reduce(x | 0xFF), np.bitwise_or.reduce(x & 0xF0F),
             np.bitwise_xor.reduce(x), 128 % 41, 78]
    return {1: np.array(found).astype(np.int32), 2: np.array([(x % 8).sum(), (x % 16).sum()], np.float32),
            3: np.array([x.sum()], float), 4: np.arange(128).reshape(-1, 4).sum(axis=0).astype(np.uint16)}


def _last_block(rng):
    return [ints(rng, 1500), np.zeros(6, np.int32), np.zeros(1, np.int32), np.zeros(1, np.uint32), 1500]


def _last_sums(args):
    blocks = np.zeros(6, np.int64)
    for i, x in enumerate(args[0]):
        blocks[i // 128 % 6] += x
    return {1: blocks.astype(np.int32), 2: np.array([args[0].sum()], np.int32), 3: np.zeros(1, np.uint32)}


def _compact(rng):
    return [ints(rng, 700), np.zeros(700, np.int32), np.zeros(1, np.int32), 700]


def _compacted(args):
    kept = args[0][args[0] > 0]
    return {1: np.concatenate([kept, np.zeros(700 - len(kept), np.int32)]), 2: np.array([len(kept)], np.int32)}


ROWS = (
    cuda("transpose_naive", source="transpose", grid=(3, 2, 1), block=(32, 8, 1), make=_transpose,
         result=lambda a: {1: a[0].T}),
    cuda("transpose_padded", source="transpose", grid=(3, 2, 1), block=(32, 8, 1), make=_ragged,
         result=lambda a: {1: a[0].T}),
    cuda("transpose_swizzled", source="transpose", grid=(3, 2, 1), block=(256, 1, 1), make=_transpose,
         result=lambda a: {1: a[0].T}),
    cuda("reduce_tree", source="reduce", grid=(5, 1, 1), block=(128, 1, 1), shared_bytes=512,
         make=partial(_sum_of, 600, 5, 128), result=partial(_block_sums, threads=128)),
    cuda("reduce_interleaved", source="reduce", grid=(3, 1, 1), block=(256, 1, 1), make=partial(_sum_of, 700, 3, 256),
         result=partial(_block_sums, threads=256)),
    cuda("reduce_shuffle", source="reduce", grid=(2, 1, 1), block=(256, 1, 1),
         make=lambda r: [ints(r, 2048, dtype=np.float32), np.zeros(2, np.float32), 2048],
         result=lambda a: {1: a[0].reshape(4, 2, 256).sum(axis=(0, 2))}),
    cuda("reduce_atomic", source="reduce", grid=(4, 1, 1), block=(64, 1, 1),
         make=lambda r: [ints(r, 250), np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.uint32),
                         np.zeros(1, np.uint64), 250],
         result=lambda a: {1: np.array([a[0].sum()]), 2: np.array([min(0, a[0].min())]),
                           3: np.array([(a[0] & 0xFFFF).max()]), 4: np.array([(a[0].astype(np.int64) ** 2).sum()])}),
    cuda("reduce_last_block", source="reduce", grid=(6, 1, 1), block=(128, 1, 1), make=_last_block, result=_last_sums),
    cuda("dot_double", source="reduce", grid=(1, 1, 1), block=(128, 1, 1),
         make=lambda r: [normal(r, 900, dtype=float), normal(r, 900, dtype=float), np.zeros(1), 900],
         result=lambda a: {2: np.array([a[0] @ a[1]])}, tolerance=(1e-12, 1e-12)),
    cuda("scan_hillis", source="scan", grid=(2, 1, 1), block=(256, 1, 1),
         make=lambda r: [ints(r, 2, 256), np.zeros((2, 256), np.int32)], result=lambda a: {1: a[0].cumsum(axis=1)}),
    cuda("scan_blelloch", source="scan", grid=(1, 1, 1), block=(128, 1, 1), shared_bytes=1024,
         make=lambda r: [ints(r, 256), np.zeros(256, np.int32)], result=lambda a: {1: a[0].cumsum() - a[0]}),
    cuda("scan_shuffle", source="scan", grid=(1, 1, 1), block=(256, 1, 1),
         make=lambda r: [ints(r, 256, low=-(2**60), high=2**60, dtype=np.int64), np.zeros(256, np.int64)],
         result=lambda a: {1: a[0].cumsum()}),
    cuda("compact", source="scan", grid=(1, 1, 1), block=(256, 1, 1), make=_compact, result=_compacted),
    cuda("histogram_shared", source="histogram", grid=(3, 1, 1), block=(256, 1, 1),
         make=lambda r: [ints(r, 3000, low=0, high=256, dtype=np.uint8) // 3, np.zeros(256, np.uint32), 3000],
         result=lambda a: {1: np.bincount(a[0], minlength=256)}),
    cuda("histogram_global", source="histogram", grid=(8, 1, 1), block=(128, 1, 1),
         make=lambda r: [ints(r, 1000, low=0, high=256, dtype=np.uint8), np.zeros(16, np.uint32), 1000],
         result=lambda a: {1: np.bincount(a[0] >> 4, minlength=16)}),
    cuda("histogram_per_warp", source="histogram", grid=(1, 1, 1), block=(128, 1, 1),
         make=lambda r: [ints(r, 640, low=0, high=1000, dtype=np.uint32), np.zeros(16, np.uint32), 640],
         result=lambda a: {1: np.bincount(a[0] % 16, minlength=16)}),
    cuda("atomic_kinds", source="histogram", grid=(1, 1, 1), block=(128, 1, 1), make=_kinds, result=_kinds_of),
    cuda("sort_bitonic", source="sort", grid=(2, 1, 1), block=(256, 1, 1),
         make=lambda r: [ints(r, 2, 512, low=0, high=2**32, dtype=np.uint32)], result=lambda a: {0: np.sort(a[0], axis=1)}),
    cuda("sort_odd_even", source="sort", grid=(1, 1, 1), block=(128, 1, 1), make=lambda r: [normal(r, 128)],
         result=lambda a: {0: np.sort(a[0])}),
    cuda("sort_by_rank", source="sort", grid=(1, 1, 1), block=(64, 1, 1), shared_bytes=400,
         make=lambda r: [ints(r, 150, low=-30, high=30, dtype=np.int16), np.zeros(150, np.int16), 150],
         result=lambda a: {1: np.sort(a[0])}),
)
"""The rows."""
