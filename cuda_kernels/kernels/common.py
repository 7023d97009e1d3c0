"""Device functions that the mma.sync kernels share. Plain Python: they run inlined on the GPU and as they are on a CPU."""

from cuda_kernels.intrinsics import (
    cp_async_cg_16,
    cp_async_cg_16_zfill,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    cvt_f32_f16_high,
    cvt_f32_f16_low,
    cvt_rn_f16x2_f32,
    ld_global_b16,
    ld_global_b128,
    ldmatrix_x4,
    mma_m16n8k8_f32_f16_f16_f32,
    mma_m16n8k16_f16_f16_f16_f16,
    mma_m16n8k16_f32_f16_f16_f32,
    st_global_b16,
    st_global_b128,
    st_shared_b16,
    st_shared_b128,
    u64,
)
from cuda_kernels.kernels.kernel import STRIPE


def cta_row(rows):
    """First row of C of this CTA, for tiles of `rows` rows."""
    return ctaid_y() * rows


def cta_row_of(rows, M):
    """cta_row, whatever M is."""
    return cta_row(rows)


def cta_row_back_and_forth(rows, M):
    """First row of C of this CTA where every other stripe is walked from the last row of tiles to the first."""
    return rows * ((M + rows - 1) // rows - 1 - ctaid_y()) if ctaid_z() % 2 == 1 else cta_row(rows)


def cta_col(cols):
    """First column of C of this CTA, for tiles of `cols` columns."""
    return (ctaid_z() * STRIPE + ctaid_x()) * cols


def element(base, row, leading, col):
    """Address of element (row, col) of a row-major f16 matrix with `leading` elements per row."""
    return base + u64(2) * (u64(row) * u64(leading) + u64(col))


def valid_bytes(row, rows, k, K):
    """How many of the 16 bytes at (row, k) exist: none past the last row, fewer at the end of K."""
    left = min(max(2 * (K - k), 0), 16)
    return left if row < rows else 0


def copy_whole(destination, source, valid):
    """16 bytes by cp.async, all of which exist."""
    cp_async_cg_16(destination, source)


def copy_async(destination, source, valid):
    """16 bytes by cp.async; what does not exist becomes zero (which costs about twice the wavefronts)."""
    cp_async_cg_16_zfill(destination, source, valid)


def copy_through_registers(destination, source, valid):
    """16 bytes by ld.global and st.shared; all 16 exist or none does."""
    v0, v1, v2, v3 = ld_global_b128(source, valid)
    st_shared_b128(destination, v0, v1, v2, v3)


def copy_element(destination, source, valid):
    """2 bytes by ld.global and st.shared; zero where they do not exist."""
    st_shared_b16(destination, ld_global_b16(source, valid))


def two_halves(source, valid, first):
    """The halves at `first` and `first + 1` packed into one register; zero where they do not exist."""
    low = ld_global_b16(source + u64(2 * first), 2 * first < valid)
    high = ld_global_b16(source + u64(2 * first + 2), 2 * first + 2 < valid)
    return low | (high << 16)


def copy_by_halves(destination, source, valid):
    """16 bytes gathered two at a time: for rows that do not start on 16 bytes."""
    st_shared_b128(destination, two_halves(source, valid, 0), two_halves(source, valid, 2),
                   two_halves(source, valid, 4), two_halves(source, valid, 6))


def store_whole(destination, v0, v1, v2, v3, count):
    """Eight halves of C in one 16-byte store."""
    st_global_b128(destination, v0, v1, v2, v3)


def store_by_halves(destination, v0, v1, v2, v3, count):
    """Up to `count` of eight halves of C, one by one."""
    store_two(destination, v0, count)
    store_two(destination + u64(4), v1, count - 2)
    store_two(destination + u64(8), v2, count - 4)
    store_two(destination + u64(12), v3, count - 6)


def store_two(destination, value, count):
    """The two halves of a register, as far as `count` of them exist."""
    if count > 0:
        st_global_b16(destination, value)
    if count > 1:
        st_global_b16(destination + u64(2), value >> 16)


def make_clear(rows, cols, registers):
    """clear(acc): zeros in the accumulators of rows x cols tiles."""
    def clear(acc):
        for i in range(rows):
            for j in range(cols):
                for r in range(registers):
                    acc[i, j, r] = 0

    return clear


def make_load_a(load_a):
    """load(smem, tid, ks, stage, buffer, ra): by ldmatrix, four blocks of 16 rows of A for a k16 step, into a buffer."""
    def load(smem, tid, ks, stage, buffer, ra):
        for i in range(4):
            ra[buffer, i, 0], ra[buffer, i, 1], ra[buffer, i, 2], ra[buffer, i, 3] = ldmatrix_x4(
                smem + load_a(tid, i, ks, stage))

    return load


def make_load_b(load_b, pairs):
    """The same of so many pairs of 8 columns of B, into rb."""
    def load(smem, tid, ks, stage, buffer, rb):
        for i in range(pairs):
            rb[buffer, 2 * i, 0], rb[buffer, 2 * i, 1], rb[buffer, 2 * i + 1, 0], rb[buffer, 2 * i + 1, 1] = ldmatrix_x4(
                smem + load_b(tid, i, ks, stage))

    return load


def multiply_f32(acc, i, j, ra, rb, buffer):
    """acc[i, j] += A_i B_j on one 16x8 tile with the fragments of a buffer, f32 accumulator: 4 registers."""
    acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3] = mma_m16n8k16_f32_f16_f16_f32(
        ra[buffer, i, 0], ra[buffer, i, 1], ra[buffer, i, 2], ra[buffer, i, 3], rb[buffer, j, 0], rb[buffer, j, 1],
        acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3])


def multiply_f32_k8(acc, i, j, ra, rb, buffer):
    """multiply_f32 by two mma of half the depth: registers 0 and 1 of an A fragment are its first 8 columns, 2 and 3 its
    last ones."""
    acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3] = mma_m16n8k8_f32_f16_f16_f32(
        ra[buffer, i, 0], ra[buffer, i, 1], rb[buffer, j, 0], acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3])
    acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3] = mma_m16n8k8_f32_f16_f16_f32(
        ra[buffer, i, 2], ra[buffer, i, 3], rb[buffer, j, 1], acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3])


def multiply_f16(acc, i, j, ra, rb, buffer):
    """acc[i, j] += A_i B_j on one 16x8 tile, f16 accumulator: 2 registers of two values."""
    acc[i, j, 0], acc[i, j, 1] = mma_m16n8k16_f16_f16_f16_f16(
        ra[buffer, i, 0], ra[buffer, i, 1], ra[buffer, i, 2], ra[buffer, i, 3], rb[buffer, j, 0], rb[buffer, j, 1],
        acc[i, j, 0], acc[i, j, 1])


def packed_f32(acc, i, j, r):
    """Columns 2t, 2t + 1 of row g + 8r of tile (i, j) as f16 in one register."""
    return cvt_rn_f16x2_f32(acc[i, j, 2 * r + 1], acc[i, j, 2 * r])


def packed_f16(acc, i, j, r):
    """Columns 2t, 2t + 1 of row g + 8r of tile (i, j): already one register."""
    return acc[i, j, r]


def low_f32(acc, i, j, r):
    """Column 2t of row g + 8r of tile (i, j) as f32."""
    return acc[i, j, 2 * r]


def high_f32(acc, i, j, r):
    """Column 2t + 1 of row g + 8r of tile (i, j) as f32."""
    return acc[i, j, 2 * r + 1]


def low_f16(acc, i, j, r):
    """Column 2t of row g + 8r of tile (i, j) as f32."""
    return cvt_f32_f16_low(acc[i, j, r])


def high_f16(acc, i, j, r):
    """Column 2t + 1 of row g + 8r of tile (i, j) as f32."""
    return cvt_f32_f16_high(acc[i, j, r])
