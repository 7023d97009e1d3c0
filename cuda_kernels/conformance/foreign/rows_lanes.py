"""Rows: lanes that go different ways, and what lanes of a warp tell one another."""

from functools import partial

import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign
from cuda_kernels.conformance.foreign.rows_blocks import ints

cuda = partial(Foreign, language="cuda", grid=(1, 1, 1), block=(64, 1, 1))


def _s(x):
    return (x + 2**31) % 2**32 - 2**31


def _collatz(args):
    steps, peaks = [], []
    for x in args[0].tolist():
        top, count = x, 0
        while x != 1:
            x = 3 * x + 1 if x & 1 else x // 2
            top, count = max(top, x), count + 1
        steps.append(count)
        peaks.append(top)
    return {1: np.array(steps, np.uint32), 2: np.array(peaks, np.uint64)}


def _mandelbrot(args):
    w, h, limit = args[1:]
    cx, cy = np.meshgrid(-2.0 + 3.0 * np.arange(w) / w, -1.0 + 2.0 * np.arange(h) / h)
    x, y, out, inside = np.zeros((h, w)), np.zeros((h, w)), np.zeros((h, w), np.uint8), np.ones((h, w), bool)
    for _ in range(limit):
        inside &= x * x + y * y <= 4
        out += inside
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    return {0: out}


def _early(rng):
    x = ints(rng, 300, low=0, high=1000)
    x[rng.random(300) < 0.2] = -1
    x[32:64], x[180] = -1, -2
    return [x, np.full(384, -7, np.int32), 300]


def _early_return(args):
    x, out = np.full(384, -1), args[1].copy()
    x[:300] = args[0]
    for block in range(3):
        s = x[block * 128 : block * 128 + 128].tolist()
        for t, mine in enumerate(s):
            stop = s.index(-2) if -2 in s else 128
            count = sum(v > mine for v in s[:stop] if v >= 0)
            if mine >= 0 and count <= 100:
                out[block * 128 + t] = count
    return {1: out}


def _cases(rng):
    n = 200
    a, b = ints(rng, n, low=-1000, high=1000), ints(rng, n, low=-40, high=40)
    return [ints(rng, n, low=-1, high=15), a, b, np.zeros(n, np.int32), n]


def _case(op, x, y):
    cut = lambda q: int(q) if y else 0  # noqa: E731
    u, v = x % 2**32, y % 2**32
    quotient = cut(abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else 0)
    table = {0: x + y, 1: x - y, 2: x * y, 3: quotient, 4: cut(x - quotient * y), 5: x << (y & 31), 6: x >> (y & 31),
             7: (u ^ v).bit_count(), 8: 32 - u.bit_length() + int(f"{v:032b}"[::-1], 2), 9: max(x, y),
             10: y * len(range(x, 0, -3)), 11: sum(((u >> 8 * i) + (v >> 8 * i) & 255) << 8 * i for i in range(4)),
             12: abs(x) | abs(y)}
    return _s(table.get(op, -1))


def _nested(args):
    out = []
    for x in args[0].tolist():
        r = 0
        for a in range(x & 7):
            if a & 1:
                b = x & 15
                while b > 0:
                    if b == 5:
                        r += 100
                        break
                    r += b
                    b -= a
            else:
                c = x >> 3
                while True:
                    r ^= c
                    if r & 64:
                        break
                    c >>= 1
                    if not c:
                        break
            r += a
        out.append(r)
    return {1: np.array(out, np.int32)}


def _table(args):
    x = args[1].astype(np.int64)
    return {2: np.select([args[0] == 0, (args[0] == 1) | (args[0] == 3), args[0] == 2], [x, x + 100, (x * x ^ 5) + 7],
                         7).astype(np.int32)}


def _mask(bits):
    return sum(int(bool(bit)) << i for i, bit in enumerate(bits))


def _votes(args):
    out = []
    for x in args[0].reshape(-1, 32).tolist():
        positive = _mask(v > 0 for v in x)
        base = positive + all(v > -1000 for v in x) + 2 * any(v == 7 for v in x)
        base += 4 * (len({bool(v & 1024) for v in x}) == 1)
        same = len({v & 2048 for v in x}) == 1
        fours = _mask(i % 2 and v & 4 for i, v in enumerate(x))
        for i, v in enumerate(x):
            fmod = lambda q: abs(q) % 5 * (-1 if q < 0 else 1)  # noqa: E731
            equal = _mask(fmod(w) == fmod(v) for w in x)
            r = (base % 2**32) ^ (fours if i & 1 else 0)
            out.append((r ^ equal << 1 ^ (2**32 - 1 if same else 0) ^ same << 3) % 2**32)
    return {1: np.array(out, np.uint32)}


def _shuffles(args):
    out, wide = [], []
    for x in args[0].reshape(-1, 32).tolist():
        for i, v in enumerate(x):
            r = x[5] + 3 * x[(i & 16) + i * 7 % 16]
            r = _s(r) ^ (x[i - 3] if i % 8 >= 3 else v)
            r = _s(r + (x[i + 9] if i + 9 < 32 else v)) ^ x[i ^ 21]
            out.append(_s(r + (x[i // 2] if i < 11 else 0)))
            wide.append(x[i ^ 1] * 1.5 + (x[i + 4] if i + 4 < 32 else v) * 0.25)
    return {1: np.array(out, np.int32), 2: np.array(wide)}


def _reductions(args):
    out = []
    for x in args[0].reshape(-1, 32):
        u = x.view(np.uint32)
        r = [x.sum(), x.min(), x.max(), u.min(), u.max(), np.bitwise_and.reduce(u | np.uint32(15)), np.bitwise_or.reduce(u),
             np.bitwise_xor.reduce(u)]
        total = 0
        for v in r:
            total = total * 31 + int(v)
        out += [_s(total + (sum(range(0, 32, 3)) if i % 3 == 0 else 0)) for i in range(32)]
    return {1: np.array(out, np.int32)}


def _groups(args):
    out, count = [], 0
    for x in args[0].reshape(-1, 32).tolist():
        some = [v for v in x if v & 4]
        count += len(some)
        for i, v in enumerate(x):
            eight = x[i // 8 * 8 : i // 8 * 8 + 8]
            alike = [j for j, w in enumerate(x) if w & 3 == v & 3]
            d = len(alike) + (some[0] if v & 4 else 0)
            out.append(_s(sum(eight) + 3 * max(x) + 5 * sum(eight[: i % 8 + 1]) + 7 * d + 11 * alike.index(i) + i // 8))
    return {1: np.array(out, np.int32), 2: np.array([count])}


def _numbers(args):
    out = []
    for _cta in range(2 * 3 * 2):
        for z in range(2):
            for y in range(4):
                for x in range(8):
                    lane = x + 8 * y
                    below, above = (1 << lane) - 1, (2**32 - 1) >> lane << lane
                    out.append((lane + (below ^ above) * 2 + (1 << lane) + 3 * 1000 + 1 + y * 7 + z * 13) % 2**32)
    return {0: np.array(out, np.uint32)}


ROWS = (
    cuda("collatz", source="diverge", grid=(3, 1, 1),
         make=lambda r: [ints(r, 150, low=1, high=10000, dtype=np.uint32), np.zeros(150, np.uint32),
                         np.zeros(150, np.uint64), 150], result=_collatz),
    cuda("mandelbrot", source="diverge", grid=(3, 3, 1), block=(16, 8, 1),
         make=lambda r: [np.zeros((20, 40), np.uint8), 40, 20, 50], result=_mandelbrot),
    cuda("early_return", source="diverge", grid=(3, 1, 1), block=(128, 1, 1), make=_early, result=_early_return),
    cuda("many_cases", source="diverge", grid=(4, 1, 1), make=_cases,
         result=lambda a: {3: np.array([_case(*v) for v in zip(a[0].tolist(), a[1].tolist(), a[2].tolist())], np.int32)}),
    cuda("branch_table", source="diverge", make=lambda r: [ints(r, 64, low=0, high=5), ints(r, 64), np.zeros(64, np.int32)],
         result=_table),
    cuda("spin_lock", source="diverge", grid=(3, 1, 1), waits=True,
         make=lambda r: [np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)],
         result=lambda a: {0: np.zeros(1), 1: np.array([3 * 2016]), 2: np.array([3])}),
    cuda("lanes_in_turn", source="diverge", block=(32, 1, 1), waits=True, make=lambda r: [np.zeros(32, np.int32)],
         result=lambda a: {0: np.arange(32) ** 2}),
    cuda("nested_branches", source="diverge", grid=(2, 1, 1),
         make=lambda r: [ints(r, 100, low=0, high=512), np.zeros(100, np.int32), 100], result=_nested),
    cuda("votes", source="warp", make=lambda r: [ints(r, 64, low=-900, high=4000), np.zeros(64, np.uint32)], result=_votes),
    cuda("shuffles", source="warp", make=lambda r: [ints(r, 64), np.zeros(64, np.int32), np.zeros(64)], result=_shuffles),
    cuda("reductions", source="warp", make=lambda r: [ints(r, 64), np.zeros(64, np.int32)], result=_reductions),
    cuda("groups", source="warp", make=lambda r: [ints(r, 64), np.zeros(64, np.int32), np.zeros(1, np.int32)],
         result=_groups),
    cuda("lane_numbers", source="warp", grid=(2, 3, 2), block=(8, 4, 2), make=lambda r: [np.zeros(12 * 64, np.uint32)],
         result=_numbers),
)
"""The rows."""
