"""Rows: what people write: structures and parts of vectors in shared memory, pairs of halves, tables, recurrences."""

from functools import partial

import numpy as np

from cuda_kernels.conformance.foreign.row import Foreign
from cuda_kernels.conformance.foreign.rows_blocks import ints, normal

cuda = partial(Foreign, language="cuda", source="practice")
HASH = np.uint32(2654435761)


def _forces(args):
    dx, dy, dz = np.moveaxis(args[0][None] - args[0][:, None], 2, 0)
    return {1: np.stack([(dx * dy).sum(1), (dy * dz).sum(1), (dz * dx).sum(1)], 1)}


def _parts(args):
    tile, t = args[0].reshape(2, 128, 4), np.arange(128)
    a, b, c, d = (np.moveaxis(tile[:, at], 2, 0) for at in (t * 7 % 128, t ^ 5, 127 - t, t // 4))
    return {1: a[0] * b[1] + a[2] * c[3] + b[3] - c[0] * a[0] + d[2]}


def _heaped(args):
    key = [0, *args[0].tolist()]
    for top in range(64, 0, -1):
        while top:
            least = min((at for at in (top, 2 * top, 2 * top + 1) if at <= 128), key=key.__getitem__)
            key[top], key[least] = key[least], key[top]
            top = least if least != top else 0
    return {1: np.array(key[1:], np.int32), 2: 0.5 * np.array(key[1:]) + 1}


def _normed(args):
    x = args[0].astype(np.float32)
    mean = (x * x).sum(1) / np.float32(x.shape[1])
    return {1: (x * (np.float32(1) / np.sqrt(mean))[:, None]).astype(np.float16)}


def _points(rng):
    x = (normal(rng, 2, 256) + 1j * normal(rng, 2, 256)).astype(np.complex64)
    return [x, np.zeros((2, 256), np.complex64), np.exp(-2j * np.pi * np.arange(256) / 256).astype(np.complex64)]


def _slot(words):
    return words.astype(np.uint32) * HASH >> np.uint32(24)


def _words(rng):
    """Words of which no two want the same place: where others would go depends on time."""
    some = ints(rng, 500, low=0, high=2**30)
    _, first = np.unique(_slot(some), return_index=True)
    return [rng.choice(some[first][:90], 1000), np.zeros(256, np.int32), np.zeros(256, np.int32), 1000]


def _hashed(args):
    keys, at = np.full(256, -1, np.int32), _slot(args[0])
    keys[at] = args[0]
    return {1: keys, 2: np.bincount(at, minlength=256)}


def _boxes(rng):
    return [ints(rng, 256, low=0, high=2**32, dtype=np.uint32), rng.permutation(256).astype(np.uint8),
            ints(rng, 256, low=0, high=2**32, dtype=np.uint32), np.zeros(256, np.uint32)]


def _through_tables(args):
    v, box, wide, _ = args

    def bytes_of(v):
        return [v >> np.uint32(8 * i) & np.uint32(255) for i in range(4)]

    for _ in range(3):
        turned = [wide[b] << np.uint32(8 * i) | wide[b] >> np.uint32(32 - 8 * i) if i else wide[b]
                  for i, b in enumerate(bytes_of(v))]
        v = turned[0] ^ turned[1] ^ turned[2] ^ turned[3]
    return {3: sum(box[b].astype(np.uint32) << np.uint32(8 * i) for i, b in enumerate(bytes_of(v)))}


def _common(args):
    longest = []
    for a, b in zip(args[0].tolist(), args[1].tolist()):
        row = [0] * 129
        for letter in a:
            before = row
            row = [0]
            for i, other in enumerate(b):
                row.append(before[i] + 1 if letter == other else max(before[i + 1], row[i]))
        longest.append(row[-1])
    return {2: np.array(longest, np.int32)}


def _sparse(rng):
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 90, 10))]).astype(np.int32)
    columns = ints(rng, int(starts[-1]), low=0, high=200)
    return [starts, columns, ints(rng, len(columns), dtype=np.float32), ints(rng, 200, dtype=np.float32),
            np.zeros(10, np.float32), 10, 200]


def _sparse_times(args):
    starts, columns, values, x = args[:4]
    return {4: np.array([values[i:j] @ x[columns[i:j]] for i, j in zip(starts[:-1], starts[1:])], np.float32)}


def _eliminated(args):
    m = args[0].astype(float)
    for k in range(32):
        p = k + abs(m[k:, k]).argmax()
        m[[k, p]] = m[[p, k]]
        m[k + 1:, k] /= m[k, k]
        m[k + 1:, k + 1:] -= m[k + 1:, k, None] * m[k, k + 1:]
    return {1: m}


def _by_digit(args):
    digit = args[0] >> np.uint32(args[3]) & np.uint32(15)
    counts = np.bincount(digit, minlength=16)
    return {1: args[0][digit.argsort(kind="stable")], 2: counts.cumsum() - counts}


ROWS = (
    cuda("forces", grid=(3, 1, 1), block=(64, 1, 1), result=_forces,
         make=lambda r: [ints(r, 192, 3, low=-9, high=10, dtype=np.float32), np.zeros((192, 3), np.float32), 192]),
    cuda("parts_of_vectors", grid=(2, 1, 1), block=(128, 1, 1), result=_parts,
         make=lambda r: [ints(r, 256, 4, dtype=np.float32), np.zeros((2, 128), np.float32)]),
    cuda("heap_of_nodes", grid=(1, 1, 1), block=(128, 1, 1), result=_heaped,
         make=lambda r: [r.permutation(1000)[:128].astype(np.int32), np.zeros(128, np.int32), np.zeros(128)]),
    cuda("rms_norm", grid=(3, 1, 1), block=(128, 1, 1), shared_bytes=2400, result=_normed,
         make=lambda r: [ints(r, 3, 1200, low=-9, high=10, dtype=np.float16), np.zeros((3, 1200), np.float16), 1200]),
    cuda("fourier_256", grid=(2, 1, 1), block=(64, 1, 1), make=_points, result=lambda a: {1: np.fft.fft(a[0])},
         tolerance=(1e-4, 1e-4)),
    cuda("hash_table", grid=(1, 1, 1), block=(128, 1, 1), make=_words, result=_hashed),
    cuda("tables", grid=(2, 1, 1), block=(128, 1, 1), make=_boxes, result=_through_tables),
    cuda("subsequence", grid=(2, 1, 1), block=(128, 1, 1), result=_common,
         make=lambda r: [*(ints(r, 2, 128, low=65, high=69, dtype=np.int8) for _ in "ab"), np.zeros(2, np.int32)]),
    cuda("sparse_rows", grid=(3, 1, 1), block=(128, 1, 1), shared_bytes=800, make=_sparse, result=_sparse_times),
    cuda("eliminate", grid=(1, 1, 1), block=(32, 32, 1), result=_eliminated, tolerance=(1e-3, 1e-3),
         make=lambda r: [normal(r, 32, 32), np.zeros((32, 32), np.float32)]),
    cuda("digits_by_votes", grid=(1, 1, 1), block=(128, 1, 1), result=_by_digit,
         make=lambda r: [ints(r, 128, low=0, high=2**32, dtype=np.uint32), np.zeros(128, np.uint32), np.zeros(16, np.int32),
                         12]),
)
"""The rows."""
