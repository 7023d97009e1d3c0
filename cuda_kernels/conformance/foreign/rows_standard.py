"""Rows: what CUDA C++ has in its standard library and in cooperative groups, from pipelines to groups that copy."""

from functools import partial

import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign
from cuda_kernels.conformance.foreign.rows_blocks import ints
from simlayout.hardware import TensorMap

THREADS, BATCHES, ROUNDS = 128, 7, 5
cuda = partial(Foreign, language="cuda", source="standard", grid=(1, 1, 1), block=(THREADS, 1, 1))


def _all(args):
    x = args[0].reshape(BATCHES, THREADS)
    return {1: (x * np.arange(1, BATCHES + 1)[:, None] + x[:, ::-1]).sum(0)}


def _roles(args):
    return {1: args[0].reshape(BATCHES, 96)[:, (np.arange(32, THREADS) * 5) % 96].sum(0)}


def _split(args):
    mine, other = args[0].astype(np.int64), 0
    for i in range(ROUNDS):
        mine, other = mine + np.roll(mine, -33), other + (mine ^ i)
    return {1: mine + other}


def _tile(rng):
    x, y = ints(rng, 48, 96, dtype=np.float32), np.zeros((48, 96), np.float32)
    return [TensorMap.of(x, (32, 16), 0), TensorMap.of(y, (32, 16), 0)]


def _turned(args):
    tiles = args[0].array.reshape(3, 16, 3, 32)
    return {1: tiles[:, ::-1, :, ::-1].reshape(48, 96)}


def _atomics(args):
    x = args[0].astype(np.int64)
    product = 1
    for value in x.tolist():
        product = product * (2 * value + 1) & 2**32 - 1
    found = np.array([max(x.max(), 0), min(x.min(), 0), x.sum(), product]).astype(np.uint32).view(np.int32)
    return {1: found, 2: np.array([x.sum()], np.float32)}


def _groups(args):
    rows = args[0].reshape(2, THREADS // 8, 32)
    each = (rows[0].reshape(-1, 4, 8).sum(1) - rows[1].reshape(-1, 8, 4).sum(2)).ravel()
    thread = np.arange(THREADS)
    sums = np.bincount(thread // 32 * 3 + thread % 3, each)            # by warp and label
    return {1: each, 2: sums.astype(np.int32)}


def _latch(args):
    first = args[0][::32].astype(np.int64)
    return {1: np.array([*(first * np.arange(1, 5))[::-1], first.sum()])}


def _complexes(rng):
    a, b = (ints(rng, 16, 16, dtype=np.float32) + 1j * ints(rng, 16, 16, dtype=np.float32) for _ in range(2))
    return [a.astype(np.complex64), b.astype(np.complex64), np.zeros((16, 16), np.complex64)]


ROWS = (
    cuda("pipeline_all", make=lambda r: [ints(r, BATCHES * THREADS), np.zeros(THREADS, np.int32), BATCHES], result=_all),
    cuda("pipeline_roles", make=lambda r: [ints(r, BATCHES * 96), np.zeros(96, np.int32), BATCHES], result=_roles),
    cuda("barrier_split", make=lambda r: [ints(r, THREADS), np.zeros(THREADS, np.int32), ROUNDS], result=_split),
    cuda("bulk_there_and_back", grid=(2, 1, 1), make=lambda r: [ints(r, 8 * THREADS), np.zeros(8 * THREADS, np.int32)],
         result=lambda a: {1: a[0] + np.arange(8 * THREADS) % 4}),
    cuda("tensor_tile", grid=(3, 3, 1), make=_tile, result=_turned),
    cuda("atomic_refs", make=lambda r: [ints(r, THREADS), np.zeros(4, np.int32), np.zeros(1, np.float32)], result=_atomics),
    cuda("groups_copy", make=lambda r: [ints(r, 8 * THREADS), np.zeros(THREADS, np.int32), np.zeros(12, np.int32)],
         result=_groups),
    cuda("latch_and_semaphore", make=lambda r: [ints(r, THREADS), np.zeros(5, np.int32)], result=_latch, waits=True),
    cuda("complex_product", block=(256, 1, 1), make=_complexes, result=lambda a: {2: a[0] @ a[1]}),
)
"""The rows."""
