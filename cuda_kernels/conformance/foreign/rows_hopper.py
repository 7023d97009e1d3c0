"""Rows: TMA, bulk copies, mbarriers, wgmma and clusters, of sm_90a."""

from functools import partial

import ml_dtypes
import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign
from cuda_kernels.conformance.foreign.rows_blocks import ints, normal
from cuda_kernels.conformance.foreign.rows_tensor import operands, product
from simlayout.hardware import TensorMap

cuda = partial(Foreign, language="cuda", source="hopper", grid=(2, 2, 1), block=(128, 1, 1))


def _transposed(rng):
    x, out = normal(rng, 64, 96), np.zeros((96, 64), np.float32)
    return [TensorMap.of(x, (32, 32), 128), TensorMap.of(out, (32, 32), 128)]


def _edges(rng):
    x, out = ints(rng, 28, 56, dtype=np.int16), np.zeros((28, 56), np.int16)
    return [TensorMap.of(_bits(x)[:, :52], (24, 16), 0, "u16"), TensorMap.of(_bits(out)[:, :52], (24, 16), 0, "u16"),
            np.zeros((2, 3, 16, 24), np.int16)]


def _bits(x):
    return x.view(f"u{x.itemsize}")


def _edges_of(args):
    inside = args[0].array.view(np.int16)
    padded = np.zeros((4 + 28 + 16, 8 + 52 + 24), np.int16)
    padded[4:32, 8:60] = inside
    seen = np.stack([[padded[16 * j : 16 * j + 16, 24 * i : 24 * i + 24] for i in range(3)] for j in range(2)])
    out = padded[:28, :52] + 1  # stored 8 columns and 4 rows from where they were loaded
    return {1: out.view(np.uint16), 2: seen}


def _sums(rng):
    return [TensorMap.of(np.zeros((8, 32), np.int32), (32, 8), 0), np.zeros(64, np.int32)]


def _sums_of(args):
    return {0: np.arange(256).reshape(8, 32) * 6, 1: np.arange(64) * 3 + 3}


def _pipeline_of(args):
    x = args[0].reshape(-1, 192)
    return {1: (2 * x + x[:, ::-1]).reshape(args[1].shape)}


def _tma_product(rng):
    a, b, c, n, k = operands(128, 128, 320, np.float16, np.float16, rng)
    return [*(TensorMap.of(x, (64, 64), 128) for x in (a, b, c)), k]


def _phases(args):
    t = np.arange(64)
    return {0: sum((t + 13 * i) % 64 * (i + 1) for i in range(5))}


def _cluster_sum(args):
    x = args[0].reshape(-1, 4, 64)
    t, found = np.arange(64), 0
    for i in range(4):
        found = found * 3 + x[:, i, (t + i) % 64]
    return {1: np.repeat(found[:, None], 4, axis=1).reshape(-1), 2: x.sum(axis=(1, 2))}


REDUCED = ("add u4", "add i4", "add u8", "min u4", "min i4", "max u4", "max i4", "inc u4", "dec u4", "and u4", "or u4",
           "xor u4")
"""Operation and type of every row of cluster_reduce."""
OPERATIONS = {"add": np.add, "min": np.minimum, "max": np.maximum, "inc": lambda x, top: np.where(x >= top, 0, x + 1),
              "dec": lambda x, top: np.where((x == 0) | (x > top), top, x - 1), "and": np.bitwise_and, "or": np.bitwise_or,
              "xor": np.bitwise_xor}


def _reduced(rng):
    given = rng.integers(0, 1 << 32, (12, 5, 32), dtype=np.uint32)
    given[7:9, :, :] %= 9
    given[7:9, 1:] = 7  # inc and dec commute as long as the limit is one
    return [given, np.zeros((12, 32), np.uint32)]


def _reduced_of(args):
    made = np.zeros_like(args[1])
    for i, named in enumerate(REDUCED):
        operation, dtype = named.split()
        there, *comes = args[0][i].view(dtype)
        for sent in comes:
            there = OPERATIONS[operation](there, sent)
        made[i] = np.asarray(there, dtype).view(np.uint32)
    return {1: made}


def _multicast(rng):
    return [TensorMap.of(ints(rng, 32, 48), (16, 16), 0), np.zeros((4, 64), np.int32), 3]


def _multicast_of(args):
    x, out = args[0].array.astype(np.int64), np.zeros((4, 64), np.int64)
    for cta in range(4):
        for i in range(3):
            box = x[cta // 2 * 16 : cta // 2 * 16 + 16, i * 16 : i * 16 + 16].reshape(-1)
            j = np.arange(256)
            out[cta] += (box * (j % 5 + cta % 2)).reshape(4, 64).sum(axis=0)
    return {1: out}


ROWS = (
    cuda("tma_transpose", grid=(3, 2, 1), make=_transposed, result=lambda a: {1: a[0].array.T}),
    cuda("tma_edges", grid=(3, 2, 1), block=(64, 1, 1), make=_edges, result=_edges_of),
    cuda("tma_negative", grid=(3, 2, 1), block=(64, 1, 1), make=_edges, result=None, refused="negative coordinates"),
    cuda("bulk_reduce", grid=(3, 1, 1), block=(64, 1, 1), make=_sums, result=_sums_of),
    cuda("bulk_pipeline", grid=(1, 1, 1), make=lambda r: [ints(r, 11 * 192), np.zeros(11 * 192, np.int32), 11],
         result=_pipeline_of),
    cuda("mbarrier_phases", grid=(1, 1, 1), block=(64, 1, 1), make=lambda r: [np.zeros(64, np.int32)], result=_phases),
    cuda("wgmma_plain", make=partial(operands, 128, 128, 192, np.float16, np.float32), result=product,
         tolerance=(1e-3, 1e-3)),
    cuda("wgmma_registers", grid=(1, 1, 1), make=lambda r: operands(64, 64, 64, ml_dtypes.bfloat16, np.float32, r)[:3],
         result=product, tolerance=(1e-3, 1e-3)),
    cuda("wgmma_tma", block=(256, 1, 1), shared_bytes=3 * 16384 + 8192 + 48, make=_tma_product,
         result=lambda a: {2: a[0].array.astype(float) @ a[1].array.astype(float).T}, tolerance=(2e-3, 2e-3)),
    cuda("cluster_sum", grid=(8, 1, 1), block=(64, 1, 1), cluster=4,
         make=lambda r: [ints(r, 512), np.zeros(512, np.int32), np.zeros(2, np.int32)], result=_cluster_sum),
    cuda("cluster_histogram", grid=(4, 1, 1), cluster=2,
         make=lambda r: [ints(r, 2000, low=0, high=256, dtype=np.uint8), np.zeros(256, np.uint32), 2000],
         result=lambda a: {1: np.bincount(a[0], minlength=256)}),
    cuda("cluster_reduce", grid=(4, 1, 1), block=(32, 1, 1), cluster=4, make=_reduced, result=_reduced_of),
    cuda("tma_multicast", grid=(4, 1, 1), block=(64, 1, 1), cluster=2, make=_multicast, result=_multicast_of),
)
"""The rows."""
