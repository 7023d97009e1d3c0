"""Rows: kernels in Numba."""

import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign, flat
from cuda_kernels.conformance.foreign.rows_blocks import ints, normal


def numba(name, types, **row):
    """A row of Numba. types: per argument a scalar's name, or (element, dimensions[, "any"])."""
    return Foreign(name, "numba", "numba_kernels", entry=name.removeprefix("numba_"), compile={"types": types}, **row)


def _arrays(*arrays):
    return [x for array in arrays for x in (flat(array) if isinstance(array, np.ndarray) else [array])]


def _place(arrays, which):
    """Where the data pointer of an array stands among the .params of arrays of those dimensions (-1: a number)."""
    at = 0
    for dims in arrays[:which]:
        at += 1 if dims < 0 else 5 + 2 * dims
    return at + 4


def _monte_carlo(rng):
    seeds = rng.integers(1, 2**63, (128, 2), dtype=np.uint64)
    return _arrays(seeds, np.zeros(128, np.int32), 20)


def _drawn(args):
    seeds, hits = args[_place((2, 1), 0)].copy(), np.zeros(128, np.int32)
    for t in range(128):
        a, b = map(int, seeds[t])
        for _ in range(20):
            drawn = (a + b) % 2**64
            b ^= a
            a = (a << 24 | a >> 40) % 2**64 ^ b ^ (b << 16) % 2**64
            b = (b << 37 | b >> 27) % 2**64
            hits[t] += (drawn >> 33) ** 2 + (drawn & 0x7FFFFFFF) ** 2 < 2**62
        seeds[t] = a, b
    return {_place((2, 1), 0): seeds, _place((2, 1), 1): hits}


def _voted(args):
    x, out = args[4], []
    for warp in x.reshape(-1, 32).tolist():
        kept = [v > 0 for v in warp]
        out += [sum(warp) * 100 + sum(kept[:i]) for i in range(32)]
    return {_place((1, 1), 1): np.array(out, np.int32)}


def _mandelbrot(args):
    out, limit = args[4].copy(), args[9]
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            point, z, out[j, i] = complex(-2 + 3 * i / out.shape[1], -1 + 2 * j / out.shape[0]), 0j, limit
            for count in range(limit):
                z = z * z + point
                if z.real * z.real + z.imag * z.imag > 4:
                    out[j, i] = count
                    break
    return {4: out}


def _sliced(rng):
    whole = ints(rng, 24, 40)
    return _arrays(whole[::2, 3:37], np.zeros((12, 17), np.int32))


def _strided(args):
    x = args[4]
    back = x[:, ::-1][:, :17]
    return {_place((2, 2), 1): x[:, ::2] // 3 - back % 7 + np.array([round(i / 3) for i in range(12)])[:, None]}


def _stencil(args):
    x, out = args[4], _place((2, 2), 1)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(x, 1), (3, 3)).sum((2, 3))
    return {out: around - 9 * x}


def _complex_rows(args):
    x, lane = args[4], np.arange(32)
    turned = x[:, (lane[:, None] * lane) % 32]           # [row, lane, j]
    return {_place((2, 2), 1): (turned * x[:, None, :]).sum(2)}


ROWS = (
    numba("numba_transpose", (("float32", 2), ("float32", 2)), grid=(4, 3, 1), block=(16, 16, 1),
          make=lambda r: _arrays(normal(r, 40, 60), np.zeros((60, 40), np.float32)),
          result=lambda a: {_place((2, 2), 1): a[4].T}),
    numba("numba_total", (("int32", 1), ("int32", 1)), grid=(3, 1, 1), block=(128, 1, 1),
          make=lambda r: _arrays(ints(r, 1000), np.zeros(1, np.int32)),
          result=lambda a: {_place((1, 1), 1): np.array([a[4].sum()])}),
    numba("numba_inclusive_scan", (("int32", 1), ("int32", 1)), grid=(1, 1, 1), block=(128, 1, 1), shared_bytes=1024,
          make=lambda r: _arrays(ints(r, 128), np.zeros(128, np.int32)),
          result=lambda a: {_place((1, 1), 1): a[4].cumsum()}),
    numba("numba_matmul_tiled", (("float32", 2),) * 3, grid=(3, 2, 1), block=(8, 8, 1),
          make=lambda r: _arrays(normal(r, 16, 32), normal(r, 32, 24), np.zeros((16, 24), np.float32)),
          result=lambda a: {_place((2, 2, 2), 2): a[4].astype(float) @ a[_place((2, 2, 2), 1)]}, tolerance=(1e-4, 1e-4)),
    numba("numba_histogram", (("int32", 1), ("int32", 1)), grid=(3, 1, 1), block=(64, 1, 1),
          make=lambda r: _arrays(ints(r, 1000, low=0, high=5000), np.zeros(64, np.int32)),
          result=lambda a: {_place((1, 1), 1): np.bincount(a[4] % 64, minlength=64)}),
    numba("numba_mandelbrot", (("int32", 2), "int32"), grid=(3, 3, 1), block=(16, 8, 1),
          make=lambda r: _arrays(np.zeros((20, 40), np.int32), 40), result=_mandelbrot),
    numba("numba_monte_carlo", (("uint64", 2), ("int32", 1), "int32"), grid=(2, 1, 1), block=(64, 1, 1), make=_monte_carlo,
          result=_drawn),
    numba("numba_median_of_window", (("float32", 1), ("float32", 1)), grid=(2, 1, 1), block=(64, 1, 1),
          make=lambda r: _arrays(normal(r, 108), np.zeros(100, np.float32)),
          result=lambda a: {_place((1, 1), 1): np.median(np.lib.stride_tricks.sliding_window_view(a[4], 9),
                                                         axis=1).astype(np.float32)}),
    numba("numba_votes", (("int32", 1), ("int32", 1)), grid=(2, 1, 1), block=(64, 1, 1),
          make=lambda r: _arrays(ints(r, 128), np.zeros(128, np.int32)), result=_voted),
    numba("numba_stencil", (("float32", 2), ("float32", 2)), grid=(3, 3, 1), block=(32, 16, 1),
          make=lambda r: _arrays(ints(r, 40, 70, dtype=np.float32), np.zeros((40, 70), np.float32)), result=_stencil),
    numba("numba_sums_of_rows", (("float32", 2), ("float32", 1)), grid=(5, 1, 1), block=(128, 1, 1),
          make=lambda r: _arrays(ints(r, 5, 300, dtype=np.float32), np.zeros(5, np.float32)),
          result=lambda a: {_place((2, 1), 1): a[4].sum(1)}),
    numba("numba_sort_tile", (("int64", 1), ("int16", 1)), grid=(1, 1, 1), block=(128, 1, 1),
          make=lambda r: _arrays(r.permutation(256).astype(np.int64) << 33, np.arange(256, dtype=np.int16)),
          result=lambda a: {4: np.sort(a[4]), _place((1, 1), 1): a[4].argsort().astype(np.int16)}),
    numba("numba_bins_of_halves", (("int32", 1), ("float64", 1), ("float64", 1)), grid=(2, 1, 1), block=(128, 1, 1),
          make=lambda r: _arrays(ints(r, 1000, low=0, high=1000), ints(r, 1000, dtype=float), np.zeros(32)),
          result=lambda a: {_place((1, 1, 1), 2): np.bincount(a[4] & 31, a[_place((1, 1, 1), 1)], 32)}),
    numba("numba_complex_rows", (("complex64", 2), ("complex64", 2)), grid=(2, 1, 1), block=(128, 1, 1),
          make=lambda r: _arrays((ints(r, 8, 32, dtype=np.float32) + 1j * ints(r, 8, 32)).astype(np.complex64),
                                 np.zeros((8, 32), np.complex64)),
          result=_complex_rows),
    numba("numba_bytes_of_words", (("uint32", 1), ("uint32", 1)), grid=(2, 1, 1), block=(128, 1, 1),
          make=lambda r: _arrays(ints(r, 256, low=0, high=2**32, dtype=np.uint32), np.zeros(256, np.uint32)),
          result=lambda a: {_place((1, 1), 1): a[4].reshape(-1, 2)[:, ::-1].ravel().byteswap()}),
    numba("numba_neighbours_in_local", (("int32", 1), ("int32", 1)), grid=(1, 1, 1), block=(64, 1, 1),
          make=lambda r: _arrays(ints(r, 512), np.zeros(512, np.int32)),
          result=lambda a: {_place((1, 1), 1): np.sort(a[4].reshape(32, 16), 1).ravel()}),
    numba("numba_strided", (("int32", 2, "any"), ("int32", 2)), grid=(2, 3, 1), block=(8, 8, 1), make=_sliced,
          result=_strided),
)
"""The rows."""
