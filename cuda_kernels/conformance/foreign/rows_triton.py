"""Rows: kernels in Triton."""

from functools import partial

import ml_dtypes
import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign
from cuda_kernels.conformance.foreign.rows_blocks import ints, normal

WARPS = 4
"""Of a CTA."""

SCRATCH = [0, 0]
"""What Triton's last two parameters point to: nothing, where a kernel needs no scratch memory."""


def triton(name, signature, stages=3, **row):
    """A row of Triton. signature: {argument: type, or the value of a constant}; a type ending in ":16": a multiple of 16."""
    return Foreign(name, "triton", "triton_kernels", block=(32 * WARPS, 1, 1),
                   compile={"signature": signature, "warps": WARPS, "stages": stages}, **row)


def _softmax(args):
    x = args[0].astype(float)
    grown = np.exp(x - x.max(axis=1, keepdims=True))
    return {1: grown / grown.sum(axis=1, keepdims=True)}


def _layer_norm(args):
    x = args[0].astype(float)
    x = x - x.mean(axis=1, keepdims=True)
    return {3: x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * args[1] + args[2]}


def _matmul(rng):
    m, n, k = 128, 64, 128
    return [normal(rng, m, k, dtype=np.float16), normal(rng, k, n, dtype=np.float16), np.zeros((m, n), np.float16), m, n, k,
            *SCRATCH]


def _attention(rng):
    return [*(normal(rng, 128, 64, dtype=np.float16) for _ in "qkv"), np.zeros((128, 64), np.float16), 128, 0.125, *SCRATCH]


def _attended(args):
    q, k, v = (x.astype(float) for x in args[:3])
    score = q @ k.T * 0.125
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    return {3: weight / weight.sum(axis=1, keepdims=True) @ v}


def _sorted(args):
    x, (out, top) = args[0], (args[i].copy() for i in (1, 2))
    down = -np.sort(-x.astype(np.int64), axis=1)
    out[:, :200], out[:, 200:] = down, -(2**31)
    top[:, :8], top[:, 8] = down[:, :8], x.argmax(axis=1)
    return {1: out, 2: top}


def _ways(args):
    return {1: args[0].sum(1), 2: args[0].sum(0), 3: args[0].max(0)}


def _gathered(args):
    x, index = args[:2]
    return {2: np.take_along_axis(x, index, 0), 3: np.bincount(index.ravel(), minlength=32)}


def _factors(dtype, out, rng):
    """A (64, 128), B (128, 64) whose columns lie behind one another, and C."""
    a, b = (ints(rng, 64, 128, low=-8, high=9).astype(dtype) for _ in "ab")
    return [a, b, np.zeros((64, 64), out), 128, *SCRATCH]


def _multiplied(args):
    a, b = (x.astype(float) for x in args[:2])
    return {2: a @ b.T}


def _described(rng):
    a, b = (ints(rng, rows, 192, low=-3, high=4).astype(ml_dtypes.bfloat16) for rows in (192, 128))
    return [a, b, np.zeros((192, 128), ml_dtypes.bfloat16), 192, 128, 192, np.zeros(2 * 384, np.uint8), 0]


PRODUCT = {"k": "i32:16", "BM": 64, "BN": 64}
ROWS = (
    triton("triton_vector_add", {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": 256}, entry="vector_add",
           grid=(4, 1, 1), make=lambda r: [normal(r, 900), normal(r, 900), np.zeros(900, np.float32), 900, *SCRATCH],
           result=lambda a: {2: a[0] + a[1]}),
    triton("triton_softmax", {"x": "*fp32", "out": "*fp32", "columns": "i32", "BLOCK": 512}, entry="softmax_rows",
           grid=(6, 1, 1), shared_bytes=16,
           make=lambda r: [normal(r, 6, 400), np.zeros((6, 400), np.float32), 400, *SCRATCH], result=_softmax,
           tolerance=(1e-5, 1e-7), approximate=True),
    triton("triton_layer_norm",
           {"x": "*fp16", "scale": "*fp32", "shift": "*fp32", "out": "*fp16:16", "columns": "i32", "epsilon": "fp32",
            "BLOCK": 256}, entry="layer_norm_rows", grid=(6, 1, 1), shared_bytes=16,
           make=lambda r: [normal(r, 6, 200, dtype=np.float16), normal(r, 200), normal(r, 200),
                           np.zeros((6, 200), np.float16), 200, 1e-5, *SCRATCH], result=_layer_norm, tolerance=(2e-3, 2e-3),
           approximate=True),
    triton("triton_matmul",
           {"a": "*fp16:16", "b": "*fp16:16", "c": "*fp16:16", "m": "i32:16", "n": "i32:16", "k": "i32:16", "BM": 64,
            "BN": 64, "BK": 32}, entry="matmul", grid=(2, 1, 1), shared_bytes=24576, make=_matmul,
           result=lambda a: {2: a[0].astype(float) @ a[1].astype(float)}, tolerance=(2e-3, 2e-3)),
    triton("triton_attention",
           {"q": "*fp16:16", "k": "*fp16:16", "v": "*fp16:16", "out": "*fp16:16", "length": "i32", "scale": "fp32", "D": 64,
            "BM": 64, "BN": 32}, entry="attention", stages=2, grid=(2, 1, 1), shared_bytes=24576, make=_attention,
           result=_attended, tolerance=(3e-3, 3e-3), approximate=True),
    triton("triton_scan", {"x": "*i32", "out": "*i32", "columns": "i32", "BLOCK": 256}, entry="scan_rows", grid=(3, 1, 1),
           shared_bytes=32, make=lambda r: [ints(r, 3, 200), np.zeros((3, 200), np.int32), 200, *SCRATCH],
           result=lambda a: {1: a[0].cumsum(axis=1)}),
    triton("triton_histogram", {"x": "*i32", "out": "*i32", "n": "i32", "BLOCK": 256}, entry="histogram_atomic",
           grid=(3, 1, 1), make=lambda r: [ints(r, 700, low=0, high=10), np.zeros(10, np.int32), 700, *SCRATCH],
           result=lambda a: {1: np.bincount(a[0], minlength=10)}),
    triton("triton_sort", {"x": "*i32", "out": "*i32", "top": "*i32", "columns": "i32", "BLOCK": 256, "K": 8},
           entry="sort_rows", grid=(2, 1, 1), shared_bytes=1024, result=_sorted,
           make=lambda r: [ints(r, 2, 200, low=-(2**30), high=2**30), np.zeros((2, 256), np.int32),
                           np.zeros((2, 16), np.int32), 200, *SCRATCH]),
    triton("triton_turn", {"x": "*fp32:16", "out": "*fp32:16", "rows": "i32:16", "columns": "i32:16", "BM": 64, "BN": 32},
           entry="turn", grid=(2, 3, 1), shared_bytes=8192, result=lambda a: {1: a[0].T},
           make=lambda r: [normal(r, 96, 80), np.zeros((80, 96), np.float32), 96, 80, *SCRATCH]),
    triton("triton_sums_both_ways",
           {"x": "*fp32:16", "by_row": "*fp32:16", "by_column": "*fp32:16", "largest": "*fp32:16", "BM": 64, "BN": 64},
           entry="sums_both_ways", grid=(1, 1, 1), shared_bytes=1024, result=_ways,
           make=lambda r: [ints(r, 64, 64, dtype=np.float32), *(np.zeros(64, np.float32) for _ in range(3)), *SCRATCH]),
    triton("triton_scan_columns", {"x": "*i32:16", "out": "*i32:16", "BM": 64, "BN": 32}, entry="scan_columns",
           grid=(1, 1, 1), shared_bytes=2048, make=lambda r: [ints(r, 64, 32), np.zeros((64, 32), np.int32), *SCRATCH],
           result=lambda a: {1: a[0].cumsum(0) - a[0][:, ::-1].cumsum(1)[:, ::-1]}),
    triton("triton_gather",
           {"x": "*fp32:16", "index": "*i32:16", "out": "*fp32:16", "counts": "*i32:16", "BM": 32, "BN": 64, "BINS": 32},
           entry="gather_and_count", grid=(1, 1, 1), shared_bytes=8192, result=_gathered,
           make=lambda r: [normal(r, 32, 64), ints(r, 32, 64, low=0, high=32), np.zeros((32, 64), np.float32),
                           np.zeros(32, np.int32), *SCRATCH]),
    triton("triton_int8", {"a": "*i8:16", "b": "*i8:16", "c": "*i32:16", **PRODUCT, "BK": 64, "WHOLE": True},
           entry="product", grid=(1, 1, 1), shared_bytes=24576, make=partial(_factors, np.int8, np.int32),
           result=_multiplied),
    triton("triton_e4m3", {"a": "*fp8e4nv:16", "b": "*fp8e4nv:16", "c": "*fp32:16", **PRODUCT, "BK": 64, "WHOLE": False},
           entry="product", grid=(1, 1, 1), shared_bytes=24576, make=partial(_factors, ml_dtypes.float8_e4m3fn, np.float32),
           result=_multiplied),
    triton("triton_tf32", {"a": "*fp32:16", "b": "*fp32:16", "c": "*fp32:16", **PRODUCT, "BK": 32, "WHOLE": False},
           entry="product", grid=(1, 1, 1), shared_bytes=49152, make=partial(_factors, np.float32, np.float32),
           result=_multiplied),
    triton("triton_described",
           {"a": "*bf16:16", "b": "*bf16:16", "c": "*bf16:16", "m": "i32:16", "n": "i32:16", "k": "i32:16", "BM": 64,
            "BN": 64, "BK": 64}, entry="described", grid=(2, 1, 1), shared_bytes=57368, make=_described, result=_multiplied,
           maps=("6",)),
)
"""The rows."""
