"""Rows: stencils, softmax, layer norm, matrices times vectors, products of f32 and f64."""

from functools import partial

import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign
from cuda_kernels.conformance.foreign.rows_blocks import ints, normal

cuda = partial(Foreign, language="cuda")


def _softmax(args):
    x = args[0].astype(np.float64)
    grown = np.exp(x - x.max(axis=1, keepdims=True))
    return {1: grown / grown.sum(axis=1, keepdims=True)}


def _layer_norm(args):
    x = args[0].astype(np.float64)
    x = x - x.mean(axis=1, keepdims=True)
    return {3: x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * args[1] + args[2]}


def _sparse(rng):
    rows, columns = 200, 150
    lengths = rng.integers(0, 12, rows)
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return [first, ints(rng, first[-1], low=0, high=columns), ints(rng, first[-1], low=-8, high=9, dtype=np.float32),
            ints(rng, columns, low=-8, high=9, dtype=np.float32), np.zeros(rows, np.float32), rows]


def _sparse_vector(args):
    first, column, value, x = args[:4]
    return {4: np.array([(value[a:b] * x[column[a:b]]).sum(dtype=np.float32) for a, b in zip(first[:-1], first[1:])],
                        np.float32)}


def _matrices(m, n, k, dtype, extra, rng):
    return [normal(rng, m, k, dtype=dtype), normal(rng, k, n, dtype=dtype), np.zeros((m, n), dtype), *extra]


def _product(args):
    return {2: args[0].astype(np.float64) @ args[1].astype(np.float64)}


def _stencil_1d(args):
    x = np.pad(args[0], 4)
    return {1: sum(x[d : d + args[2]] for d in range(9)).astype(np.int32)}


def _stencil_2d(args):
    x = np.pad(args[0].astype(np.float64), 1, mode="edge")
    return {1: 0.5 * x[1:-1, 1:-1] + 0.125 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])}


def _stencil_3d(args):
    x = np.pad(args[0], 1)
    c = slice(1, -1)
    return {1: x[c, c, :-2] + x[c, c, 2:] + x[c, :-2, c] + x[c, 2:, c] + x[:-2, c, c] + x[2:, c, c] - 6 * x[c, c, c]}


ROWS = (
    cuda("stencil_1d", source="stencil", grid=(3, 1, 1), block=(256, 1, 1),
         make=lambda r: [ints(r, 700), np.zeros(700, np.int32), 700], result=_stencil_1d),
    cuda("stencil_2d", source="stencil", grid=(2, 3, 1), block=(32, 16, 1),
         make=lambda r: [normal(r, 40, 60), np.zeros((40, 60), np.float32), 40, 60], result=_stencil_2d,
         tolerance=(1e-5, 1e-5)),
    cuda("stencil_3d", source="stencil", grid=(2, 2, 1), block=(8, 8, 1),
         make=lambda r: [ints(r, 16, 16, 16, dtype=np.float32), np.zeros((16, 16, 16), np.float32), 16], result=_stencil_3d),
    cuda("softmax", source="rows", grid=(6, 1, 1), block=(128, 1, 1),
         make=lambda r: [normal(r, 6, 300), np.zeros((6, 300), np.float32), 300], result=_softmax, tolerance=(1e-5, 1e-7),
         approximate=True),
    cuda("layer_norm", source="rows", grid=(6, 1, 1), block=(64, 1, 1),
         make=lambda r: [normal(r, 6, 256), normal(r, 256), normal(r, 256), np.zeros((6, 256), np.float32), 256],
         result=_layer_norm, tolerance=(1e-4, 1e-5), approximate=True),
    cuda("matrix_vector", source="rows", grid=(5, 1, 1), block=(128, 1, 1),
         make=lambda r: [normal(r, 20, 200), normal(r, 200), np.zeros(20, np.float32), 200],
         result=lambda a: {2: a[0].astype(float) @ a[1]}, tolerance=(1e-4, 1e-4)),
    cuda("sparse_vector", source="rows", grid=(4, 1, 1), block=(64, 1, 1), make=_sparse, result=_sparse_vector),
    cuda("argmax", source="rows", grid=(5, 1, 1), block=(128, 1, 1),
         make=lambda r: [ints(r, 5, 500, dtype=np.float32), np.zeros(5, np.int32), 500],
         result=lambda a: {1: a[0].argmax(axis=1)}),
    cuda("sgemm_tiled", source="sgemm", grid=(3, 3, 1), block=(16, 16, 1),
         make=partial(_matrices, 40, 36, 50, np.float32, (40, 36, 50)), result=_product, tolerance=(1e-4, 1e-4)),
    cuda("sgemm_float4", source="sgemm", grid=(2, 1, 1), block=(256, 1, 1),
         make=partial(_matrices, 64, 128, 64, np.float32, (128, 64)), result=_product, tolerance=(1e-4, 1e-4)),
    cuda("dgemm_tiled", source="sgemm", grid=(3, 3, 1), block=(8, 8, 1), shared_bytes=512,
         make=partial(_matrices, 24, 24, 24, float, (24,)), result=_product, tolerance=(1e-12, 1e-12)),
)
"""The rows."""
