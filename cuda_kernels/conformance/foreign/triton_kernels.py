"""Kernels in Triton. `build` compiles them; what they become, PTX, needs no Triton, so nor does importing this."""

from __future__ import annotations

try:
    import triton.language as tl
except ImportError:
    tl = None


def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def softmax_rows(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    grown = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, grown / tl.sum(grown, axis=0), mask=at < columns)


def layer_norm_rows(x, scale, shift, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    normed = centred * tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    result = normed * tl.load(scale + at, mask=inside) + tl.load(shift + at, mask=inside)
    tl.store(out + row * columns + at, result.to(tl.float16), mask=inside)


def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C (m, n) = A (m, k) B (k, n), f16 with f32 sums, all row-major."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    along = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, k, BK):
        left = tl.load(
            a + rows[:, None] * k + (at + along)[None, :], mask=(rows[:, None] < m) & (at + along < k)[None, :], other=0.0
        )
        right = tl.load(
            b + (at + along)[:, None] * n + columns[None, :],
            mask=(at + along < k)[:, None] & (columns[None, :] < n),
            other=0.0,
        )
        total = tl.dot(left, right, total)
    tl.store(
        c + rows[:, None] * n + columns[None, :], total.to(tl.float16), mask=(rows[:, None] < m) & (columns[None, :] < n)
    )


def attention(q, k, v, out, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """softmax(Q K^T scale) V of one head, (length, D), f16, without ever holding a row of the softmax."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + depth[None, :])
    top = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    result = tl.zeros((BM, D), dtype=tl.float32)
    for at in range(0, length, BN):
        others = at + tl.arange(0, BN)
        key = tl.load(k + others[:, None] * D + depth[None, :])
        value = tl.load(v + others[:, None] * D + depth[None, :])
        score = tl.dot(query, tl.trans(key)) * scale
        higher = tl.maximum(top, tl.max(score, axis=1))
        weight = tl.exp2((score - higher[:, None]) * 1.4426950408889634)
        shrink = tl.exp2((top - higher) * 1.4426950408889634)
        total = total * shrink + tl.sum(weight, axis=1)
        result = result * shrink[:, None] + tl.dot(weight.to(tl.float16), value)
        top = higher
    tl.store(out + rows[:, None] * D + depth[None, :], (result / total[:, None]).to(tl.float16))


def scan_rows(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0)
    tl.store(out + row * columns + at, tl.cumsum(values, axis=0), mask=at < columns)


def histogram_atomic(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


def sort_rows(x, out, top, columns, BLOCK: tl.constexpr, K: tl.constexpr):
    """Each row in order, its K largest, and where the largest is."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-(2**31))
    tl.store(out + row * BLOCK + at, tl.sort(values, descending=True))
    tl.store(top + row * 2 * K + tl.arange(0, K), tl.topk(values, K))
    tl.store(top + row * 2 * K + K, tl.argmax(values, axis=0))


def turn(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """The transpose, tile by tile."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(x + i[:, None] * columns + j[None, :], mask=(i < rows)[:, None] & (j < columns)[None, :])
    tl.store(out + j[:, None] * rows + i[None, :], tl.trans(tile), mask=(j < columns)[:, None] & (i < rows)[None, :])


def sums_both_ways(x, by_row, by_column, largest, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.arange(0, BM), tl.arange(0, BN)
    tile = tl.load(x + i[:, None] * BN + j[None, :])
    tl.store(by_row + i, tl.sum(tile, axis=1))
    tl.store(by_column + j, tl.sum(tile, axis=0))
    tl.store(largest + j, tl.max(tile, axis=0))


def scan_columns(x, out, BM: tl.constexpr, BN: tl.constexpr):
    """Sums down the columns, less those from the end of each row on."""
    i, j = tl.arange(0, BM), tl.arange(0, BN)
    tile = tl.load(x + i[:, None] * BN + j[None, :])
    tl.store(out + i[:, None] * BN + j[None, :], tl.cumsum(tile, axis=0) - tl.cumsum(tile, axis=1, reverse=True))


def gather_and_count(x, index, out, counts, BM: tl.constexpr, BN: tl.constexpr, BINS: tl.constexpr):
    """x[index[i, j], j], and how often each index occurs."""
    i, j = tl.arange(0, BM), tl.arange(0, BN)
    at = i[:, None] * BN + j[None, :]
    where = tl.load(index + at)
    tl.store(out + at, tl.gather(tl.load(x + at), where, axis=0))
    tl.store(counts + tl.arange(0, BINS), tl.histogram(tl.reshape(where, (BM * BN,)), BINS))


def product(a, b, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WHOLE: tl.constexpr):
    """C (BM, BN) = A (BM, k) B (k, BN), whose columns lie behind one another; WHOLE: of integers."""
    rows, columns, along = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.int32 if WHOLE else tl.float32)
    for at in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + (at + along)[None, :])
        right = tl.load(b + (at + along)[:, None] + columns[None, :] * k)
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * BN + columns[None, :], total)


def described(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C (m, n) = A (m, k) B (n, k)^T of bf16 by tensor maps that the kernel makes itself; one program after another."""
    of_a = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    of_b = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    of_c = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    tiles = tl.cdiv(m, BM) * tl.cdiv(n, BN)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        row, column = tile // tl.cdiv(n, BN) * BM, tile % tl.cdiv(n, BN) * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for at in range(0, k, BK):
            total = tl.dot(of_a.load([row, at]), of_b.load([column, at]).T, total)
        of_c.store([row, column], total.to(tl.bfloat16))
