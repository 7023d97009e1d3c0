"""Rows: tensor cores and asynchronous copies of sm_80. A is (M, K), B is (N, K), C is (M, N)."""

from functools import partial

import ml_dtypes
import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign
from cuda_kernels.conformance.foreign.rows_blocks import ints, normal

cuda = partial(Foreign, language="cuda", source="tensor", block=(32, 1, 1), grid=(2, 2, 1))
copies = partial(Foreign, language="cuda", source="copies", block=(64, 1, 1), grid=(2, 1, 1))


def operands(m, n, k, dtype, out, rng):
    """A, B, C, n and k."""
    return [normal(rng, m, k).astype(dtype), normal(rng, n, k).astype(dtype), np.zeros((m, n), out), n, k]


def product(args):
    """A B^T in double precision."""
    return {2: args[0].astype(float) @ args[1].astype(float).T}


def _whole(m, n, k, dtype, rng):
    low, high = (0, 200) if dtype == np.uint8 else (-100, 100)
    return [ints(rng, m, k, low=low, high=high, dtype=dtype), ints(rng, n, k, low=low, high=high, dtype=dtype),
            np.zeros((m, n), np.int32), n, k]


def _tf32(rng):
    a, b, *rest = operands(32, 16, 32, np.float32, np.float32, rng)
    return [(x.view(np.uint32) & 0xFFFFE000).view(np.float32) for x in (a, b)] + rest


def _fp8(rng):
    return operands(32, 16, 64, ml_dtypes.float8_e4m3fn, np.float32, rng)


def _pipeline(args):
    tiles = args[0].reshape(2, -1, 64, 4)
    t = np.arange(64)
    return {1: sum(tiles[:, :, (t + 17 * j) % 64, j].sum(axis=1) for j in range(4))}


def _partial(args):
    t = np.arange(128)
    words = np.where(t < 90, args[0][:128], 0)
    pairs = args[0][:256].reshape(128, 2).copy()
    pairs[2::3, 1] = 0
    value = words + 3 * pairs[:, 0] + 5 * pairs[:, 1]
    return {1: value[t ^ 5]}


def _moved(args):
    blocks = args[0].reshape(4, 8, 8).copy()
    blocks[0] = blocks[0].T
    return {1: blocks.reshape(args[0].shape)}


MASKS = {"all": 0xFFFFFFFF, "none": 0, "half": 0xFFFF, "every_other": 0x55555555, "one": 0x80, "quarters": 0x0FF00FF0}
"""Name of a row -> the lanes that take part in its copy."""


def _lanes(mask):
    return (mask >> np.arange(32) & 1).astype(bool)[:, None]


def _ignored(mask, turn):
    def result(args):
        return {1: np.where(_lanes(mask), args[0], 0)}

    return {"make": lambda r: [ints(r, 32, 4), np.zeros((32, 4), np.int32), mask, turn, MASKS["all"]],
            "result": lambda a: _turned(a, result)}


def _turned(args, result):
    """What lane t finds at its place is what lane t ^ turn copied there."""
    return {1: result(args)[1][np.arange(32) ^ args[3]]}


def _guarded(mask):
    def result(args):
        return {1: np.where(_lanes(mask), args[0], np.arange(32)[:, None])}

    return {"make": lambda r: [ints(r, 32, 4), np.zeros((32, 4), np.int32), mask, MASKS["none"]], "result": result}


def _scattered(seed):
    """Ends of 32 copies, apart or in runs, and which lanes take part: another in each row."""
    rng = np.random.default_rng(seed)

    def ends(distinct):
        stride, first = int(rng.integers(1, 8)), int(rng.integers(0, 32))
        runs = first + stride * np.arange(32)
        kinds = [rng.choice(256, 32, replace=not distinct), runs, runs ^ 1, rng.permutation(runs)]
        return rng.choice(kinds).astype(np.int32)

    to, source, mask = ends(True), ends(False), int(rng.integers(0, 1 << 32, dtype=np.uint64))
    mask = int(rng.choice([mask, mask & int(rng.integers(0, 1 << 32)), mask | 0xFFFF, mask & 0xFF00FF]))

    def result(args):
        held = np.repeat(np.arange(256, dtype=np.int32)[:, None], 4, axis=1)
        held[to] = np.where(_lanes(mask), args[0][source], 0)
        return {1: held}

    return {"make": lambda r: [ints(r, 256, 4), np.zeros((256, 4), np.int32), to.copy(), source.copy(), mask, MASKS["all"]],
            "result": result}


one_warp = partial(copies, grid=(1, 1, 1), block=(32, 1, 1))
COPIES = (*(one_warp(f"copy_scattered_{i}", entry="copy_scattered", **_scattered(i)) for i in range(32)),
          *(one_warp(f"copy_ignored_{n}", entry="copy_ignored", **_ignored(mask, 0)) for n, mask in MASKS.items()),
          *(one_warp(f"copy_ignored_{n}_turned", entry="copy_ignored", **_ignored(mask, 9)) for n, mask in MASKS.items()),
          *(one_warp(f"copy_guarded_{n}", entry="copy_guarded", **_guarded(mask)) for n, mask in MASKS.items()))

ROWS = (
    *COPIES,
    cuda("wmma_f16", block=(128, 1, 1), make=partial(operands, 64, 64, 48, np.float16, np.float32), result=product,
         tolerance=(1e-4, 1e-4)),
    cuda("wmma_bf16", block=(128, 1, 1), make=partial(operands, 64, 64, 48, ml_dtypes.bfloat16, np.float32), result=product,
         tolerance=(1e-4, 1e-4)),
    cuda("mma_f16", block=(128, 1, 1), make=partial(operands, 128, 64, 96, np.float16, np.float16), result=product,
         tolerance=(2e-3, 2e-3)),
    cuda("mma_bf16", make=partial(operands, 32, 16, 64, ml_dtypes.bfloat16, np.float32), result=product,
         tolerance=(1e-4, 1e-4)),
    cuda("mma_tf32", make=_tf32, result=product, tolerance=(1e-4, 1e-4)),
    cuda("mma_s8", make=partial(_whole, 32, 16, 96, np.int8), result=product),
    cuda("mma_u8", make=partial(_whole, 32, 16, 96, np.uint8), result=product),
    cuda("mma_e4m3", make=_fp8, result=product, tolerance=(1e-2, 1e-2)),
    cuda("mma_f64", make=partial(operands, 16, 16, 20, float, float), result=product, tolerance=(1e-12, 1e-12)),
    copies("copy_pipeline", make=lambda r: [ints(r, 2, 7, 256, dtype=np.float32), np.zeros((2, 64), np.float32), 7],
           result=_pipeline),
    copies("copy_partial", block=(128, 1, 1), grid=(1, 1, 1), make=lambda r: [ints(r, 256), np.zeros(128, np.int32), 90],
           result=_partial),
    copies("matrices_moved", block=(32, 1, 1), grid=(1, 1, 1),
           make=lambda r: [normal(r, 32, 8, dtype=np.float16), np.zeros((32, 8), np.float16)], result=_moved),
)
"""The rows."""
