"""Rows: numbers, memory of all kinds, calls."""

from functools import partial

import ml_dtypes
import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign
from cuda_kernels.conformance.foreign.rows_blocks import ints, normal

cuda = partial(Foreign, language="cuda", grid=(2, 1, 1), block=(64, 1, 1))
MASK = 2**64 - 1


def _edges(rng, n, low, high, dtype, edges):
    x = rng.integers(low, high, n, dtype=np.int64 if low < 0 else np.uint64)
    x[: len(edges)] = edges
    x[::7] >>= 40 if x.itemsize == 8 and high > 2**40 else 9
    return x.astype(dtype)


def _integers(rng):
    edges = [0, 1, -1, 2**63 - 1, -(2**63) + 1, 7, -7]
    a, b = (_edges(rng, 120, -(2**62), 2**62, np.int64, edges[i:]) for i in (0, 2))
    return [a, b, np.zeros((120, 8), np.int64), 120]


def _signed(x):
    return (x + 2**63) % 2**64 - 2**63


def _integers_of(args):
    rows = []
    for x, y in zip(args[0].tolist(), args[1].tolist()):
        u, v = x & MASK, y & MASK
        quotient = (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1) if y else 0
        p = (u * v + u) & (2**128 - 1)
        rows.append([_signed(q) for q in (quotient, x - quotient * y if y else 0, u // v if v else 0, u % v if v else 0,
                                          p >> 64, (p - (v << 3)) & MASK, x * y >> 64, (x * y >> 17) & MASK)])
    return {2: np.array(rows, np.int64)}


def _bits(rng):
    a, b = (ints(rng, 100, low=0, high=2**32, dtype=np.uint32) for _ in "ab")
    a[:4], b[:4] = (0, 0xFFFFFFFF, 1, 0x80000000), (0xFFFFFFFF, 0, 31, 32)
    return [a, b, np.zeros((100, 16), np.uint32), 100]


def _s(x, bits=32):
    return (x & (1 << bits) - 1) - ((x >> bits - 1 & 1) << bits)


def _bits_of(args):
    rows = []
    for x, y in zip(args[0].tolist(), args[1].tolist()):
        w = x << 32 | y
        pool = (y << 32 | x).to_bytes(8, "little")
        picked = sum(pool[y >> 4 * i & 7] << 8 * i for i in range(4))
        bytes_of = lambda v: [_s(v >> 8 * i, 8) for i in range(4)]  # noqa: E731
        halves = lambda v: [_s(v, 16), _s(v >> 16, 16)]  # noqa: E731
        left = x & 31
        shift = min(y & 63, 32)
        o = [x.bit_count(), 32 - x.bit_length(), int(f"{x:032b}"[::-1], 2), (x & -x).bit_length(), picked,
             (y << 32 | x) << left >> 32, (y << 32 | x) >> shift, w.bit_count() * 100 + 64 - w.bit_length(),
             sum(p * q for p, q in zip(bytes_of(x), bytes_of(y))) + 5,
             sum(p * q for p, q in zip(halves(x), bytes_of(y)[:2])) + 5, x * y >> 32, _s(x) * _s(y) >> 32,
             sum((max(p, q) & 0xFFFF) << 16 * i for i, (p, q) in enumerate(zip(halves(x), halves(y)))),
             abs(_s(x) - _s(y)) + 3, (x & y) | (~x & 0xF0F0) | (y ^ x), (x + y) // 2 ^ (x + y + 1) // 2]
        rows.append([v & 0xFFFFFFFF for v in o])
    return {2: np.array(rows, np.uint32)}


def _floats(width, dtype, rng):
    return [normal(rng, 100, dtype=dtype), normal(rng, 100, dtype=dtype), np.zeros((100, width), dtype), 100]


def _pairs(width, dtype, rng):
    return [normal(rng, 100, 2).astype(dtype), normal(rng, 100, 2).astype(dtype), np.zeros((100, width, 2), dtype), 100]


def _conversions(rng):
    x = normal(rng, 100) * np.float32(300)
    return [x, normal(rng, 100, dtype=float) * 1e6, np.zeros((100, 8), np.int32), np.zeros((100, 2), np.uint16),
            np.zeros((100, 2), np.float32), 100]


def _narrow(args):
    x = args[0]
    brain = (x.view(np.uint32) >> 16).astype(np.uint16)
    return {3: np.stack([x.astype(np.float16).view(np.uint16), brain], axis=1)}


def _sorted_windows(args):
    out = []
    for i in range(128):
        held = sorted(int(args[0][(i * 16 + j) % 300]) for j in range(16))
        out.append(held[i % 16] * 10000 + held[args[0][i % 300] & 15])
    return {1: np.array(out, np.int32)}


def _convolved(args):
    x, weights = np.pad(args[0].astype(float), 2), np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1])
    h, w = args[0].shape
    return {1: sum(weights[j, i] * x[j : j + h, i : i + w] for j in range(5) for i in range(5)) / 256}


TABLE = (7, 3, 15, 0, 9, 12, 1, 14, 2, 8, 5, 11, 4, 13, 6, 10)


def _substituted(args):
    out = []
    for x in args[0].tolist():
        for r in range(args[2]):
            y = sum(TABLE[x >> i & 15] << i for i in range(0, 32, 4))
            x = ((y << 7 | y >> 25) & 0xFFFFFFFF) + r & 0xFFFFFFFF
        out.append(x)
    return {1: np.array(out, np.uint32)}


def _called(args):
    out, wide = [], []
    for t, x in enumerate(args[0].tolist()):
        a, b, c = x, 0.5, [1, 2, 3]
        for i in range(1, 4):
            v = i + t % 5
            a, b = a + v, b * v
            c[v % 3] = v
        out.append(a + c[0] * 3 + c[1] * 5 + c[2] * 7)
        wide.append(b)
    return {1: np.array(out, np.int32), 2: np.array(wide)}


def _pointed(args):
    x, t = args[0].astype(np.int64), np.arange(64)
    return {1: np.select([t // 4 % 3 == 0, t // 4 % 3 == 1], [x + t, x - t], x * t).astype(np.int32)}


def _generic(args):
    x, out = args[0].tolist(), []
    for t in range(64):
        space = (sum(x[:4]), sum(x[(t + i) % 64] * (i + t % 3) for i in range(4)), sum(x[:4]), x[t] + 1)[t % 4]
        out.append(space + x[t] + 1)
    return {1: np.array(out, np.int32)}


def _text(rng):
    text, word = rng.integers(97, 100, 500).astype(np.uint8), np.frombuffer(b"abca", np.uint8).copy()
    return [text, 500, word, 4, np.full(1, 500, np.int32), np.zeros(1, np.int32)]


def _found(args):
    text, places = bytes(args[0]), []
    for i in range(497):
        if text[i : i + 4] == b"abca":
            places.append(i)
    return {4: np.array([min(places)]), 5: np.array([len(places)])}


def _widths(args):
    s, t = args[0].copy(), np.arange(64)
    u16, i32 = s.view(np.uint16), s.view(np.int32)
    a, b = s[t * 37 % 1024], u16[(t * 5 + 3) % 512]
    c = i32.reshape(-1, 2)[(t * 3 + 1) % 128].copy()
    d = i32.reshape(-1, 4)[t ^ 9]
    e = s.view(np.int8)[t * 16 + 5].astype(np.int32)
    out = np.zeros(1024, np.uint8)
    out[:128].view(np.uint16)[:] = b + a
    c[:, 0] += e
    out[128:640].view(np.int32)[:] = c.reshape(-1)
    out[640:704] = a ^ e.astype(np.uint8)
    out[704:960].view(np.int32)[:] = np.bitwise_xor.reduce(d, axis=1)
    out[960:].view(np.int32)[:] = np.arange(16)
    return {1: out}


def _life(args):
    cells = (args[0][:, None] >> np.arange(32) & 1).astype(int)
    n = sum(np.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - cells
    alive = ((n == 3) | (n == 2) & (cells == 1)).astype(np.uint64)
    return {1: (alive << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(np.uint32)}


ROWS = (
    cuda("integers", source="arithmetic", make=_integers, result=_integers_of),
    cuda("bits", source="arithmetic", make=_bits, result=_bits_of),
    cuda("doubles", source="arithmetic", make=partial(_floats, 8, float), result=None),
    cuda("floats", source="arithmetic", make=partial(_floats, 12, np.float32), result=None),
    cuda("halves", source="arithmetic", make=partial(_pairs, 8, np.float16), result=None),
    cuda("brains", source="arithmetic", make=partial(_pairs, 4, ml_dtypes.bfloat16), result=None),
    cuda("conversions", source="arithmetic", make=_conversions, result=_narrow),
    cuda("approximate", source="arithmetic", make=lambda r: [normal(r, 100), np.zeros((100, 12), np.float32), 100],
         result=None, approximate=True),
    cuda("local_array", source="memory", make=lambda r: [ints(r, 300, low=0), np.zeros(128, np.int32), 300],
         result=_sorted_windows),
    cuda("convolution", source="memory", grid=(2, 3, 1), block=(16, 8, 1),
         make=lambda r: [normal(r, 20, 30), np.zeros((20, 30), np.float32), 30, 20], result=_convolved,
         tolerance=(1e-5, 1e-5)),
    cuda("substitution", source="memory",
         make=lambda r: [ints(r, 128, low=0, high=2**32, dtype=np.uint32), np.zeros(128, np.uint32), 5],
         result=_substituted),
    cuda("calls", source="calls", grid=(1, 1, 1), make=lambda r: [ints(r, 64), np.zeros(64, np.int32), np.zeros(64)],
         result=_called),
    cuda("recursion", source="calls", grid=(1, 1, 1), make=lambda r: [ints(r, 64), np.zeros(64, np.int32)],
         result=lambda a: {1: (a[0] & 7) ** (np.arange(64) % 9)}),
    cuda("pointers", source="pointers", grid=(1, 1, 1), make=lambda r: [ints(r, 64), np.zeros(64, np.int32)],
         result=_pointed),
    cuda("generic", source="memory", grid=(1, 1, 1), make=lambda r: [ints(r, 64), np.zeros(64, np.int32)], result=_generic),
    cuda("printing", source="memory", grid=(1, 1, 1), make=lambda r: [ints(r, 64)], result=None),
    cuda("string_search", source="memory", grid=(8, 1, 1), shared_bytes=128, make=_text, result=_found),
    cuda("widths", source="memory", grid=(1, 1, 1),
         make=lambda r: [ints(r, 1024, low=0, high=256, dtype=np.uint8), np.zeros(1024, np.uint8)], result=_widths),
    cuda("game_of_life", source="memory", grid=(1, 1, 1),
         make=lambda r: [ints(r, 64, low=0, high=2**32, dtype=np.uint32), np.zeros(64, np.uint32), 64], result=_life),
)
"""The rows."""
