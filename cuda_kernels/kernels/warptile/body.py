"""The body of warptile: copy a chunk, meet, multiply it by fma from registers, meet."""


from cuda_kernels.intrinsics import (
    bar_sync,
    cvt_f32_bf16_high,
    cvt_f32_bf16_low,
    cvt_rn_bf16x2_f32,
    dynamic_shared,
    f32,
    ld_global_v2_b32,
    ld_shared_b64,
    ld_shared_b128,
    register_array,
    st_global_v2_b32,
    st_shared_b16,
    st_shared_b64,
    tid_x,
    u64,
)
from cuda_kernels.intrinsics.arithmetic import fma_rn_f32
from cuda_kernels.kernels.common import cta_col, cta_row, element, store_two, two_halves, valid_bytes
from cuda_kernels.kernels.warptile.plan import (
    ACROSS,
    BLOCK,
    CHUNK_K,
    COLS,
    GROUPS,
    ROWS,
    copy_a_k,
    copy_a_row,
    copy_b_col,
    copy_b_k,
    result_col,
    result_row,
)


def four_whole(source, valid):
    """4 elements of a row in two registers, all of which exist."""
    return ld_global_v2_b32(source, 8)


def four_aligned(source, valid):
    """4 elements that start on 8 bytes; all of them exist, or none: then zeros."""
    return ld_global_v2_b32(source, valid)


def four_by_halves(source, valid):
    """4 elements one by one; zeros where they do not exist (`valid` bytes do)."""
    return two_halves(source, valid, 0), two_halves(source, valid, 2)


def store_four(destination, v0, v1, count):
    """4 elements of C in one 8-byte store."""
    st_global_v2_b32(destination, v0, v1)


def store_by_halves(destination, v0, v1, count):
    """Up to `count` of 4 elements of C, one by one."""
    store_two(destination, v0, count)
    store_two(destination + u64(4), v1, count - 2)


def split(registers, first, packed):
    """The two bf16 of a register as f32 in registers[first] and registers[first + 1]."""
    registers[first] = cvt_f32_bf16_low(packed)
    registers[first + 1] = cvt_f32_bf16_high(packed)


def make_copy_chunk(index, options):
    """copy_chunk(smem, tid, k, source): a thread's part of a chunk of A, which is transposed, and of B. source: addresses
    of the thread's first bytes of both, the tile's first row and column, M, N, K, and elements from row to row of both."""
    store_a, store_b = index.store_a, index.store_b
    four_a, four_b = (four_whole if options.whole else four_aligned if aligned else four_by_halves
                      for aligned in (options.a_aligned, options.b_aligned))

    def copy_rows_of_a(smem, tid, k, from_a, row0, M, K, lda):
        for i in range(4):
            source = from_a + (u64(2) * u64(k) + u64(64 * i) * u64(lda))
            v0, v1 = four_a(source, valid_bytes(row0 + copy_a_row(tid, i), M, k + copy_a_k(tid), K))
            st_shared_b16(smem + store_a(tid, i, 0), v0)
            st_shared_b16(smem + store_a(tid, i, 1), v0 >> 16)
            st_shared_b16(smem + store_a(tid, i, 2), v1)
            st_shared_b16(smem + store_a(tid, i, 3), v1 >> 16)

    def copy_rows_of_b(smem, tid, k, from_b, col0, N, K, ldb):
        for i in range(4):
            source = from_b + (u64(2) * u64(k) + u64(8 * i)) * u64(ldb)
            v0, v1 = four_b(source, valid_bytes(k + copy_b_k(tid, i), K, col0 + copy_b_col(tid), N))
            st_shared_b64(smem + store_b(tid, i), v0, v1)

    def copy_chunk(smem, tid, k, source):
        from_a, from_b, row0, col0, M, N, K, lda, ldb = source
        copy_rows_of_a(smem, tid, k, from_a, row0, M, K, lda)
        copy_rows_of_b(smem, tid, k, from_b, col0, N, K, ldb)

    return copy_chunk


def make_multiply_chunk(index):
    """multiply_chunk(smem, tid, reg_m, reg_n, acc): acc (ROWS, ACROSS) += a thread's rows of A times its columns of B, one
    k after the other."""
    load_a, load_b = index.load_a, index.load_b

    def load_registers(smem, tid, k, reg_m, reg_n):
        v0, v1, v2, v3 = ld_shared_b128(smem + load_a(tid, k))
        split(reg_m, 0, v0)
        split(reg_m, 2, v1)
        split(reg_m, 4, v2)
        split(reg_m, 6, v3)
        for j in range(GROUPS):
            v0, v1 = ld_shared_b64(smem + load_b(tid, j, k))
            split(reg_n, COLS * j, v0)
            split(reg_n, COLS * j + 2, v1)

    def multiply_chunk(smem, tid, reg_m, reg_n, acc):
        for k in range(CHUNK_K):
            load_registers(smem, tid, k, reg_m, reg_n)
            for i in range(ROWS):
                for n in range(ACROSS):
                    acc[i, n] = fma_rn_f32(reg_m[i], reg_n[n], acc[i, n])

    return multiply_chunk


def make_store_results(options):
    """store_results(tid, acc, c, row0, col0, M, N, ldc): a thread's accumulators to C, rounded to bf16."""
    store_c = store_four if options.c_aligned else store_by_halves

    def store_results(tid, acc, c, row0, col0, M, N, ldc):
        for i in range(ROWS):
            for j in range(GROUPS):
                row, col = row0 + result_row(tid) + i, col0 + result_col(tid, j)
                v0 = cvt_rn_bf16x2_f32(acc[i, COLS * j + 1], acc[i, COLS * j])
                v1 = cvt_rn_bf16x2_f32(acc[i, COLS * j + 3], acc[i, COLS * j + 2])
                if row < M and col < N:
                    store_c(element(c, row, ldc, col), v0, v1, N - col)

    return store_results


def make_body(index, options):
    """The kernel's Python function; `index` holds the emitted index functions, in bytes."""
    copy_chunk, multiply_chunk = make_copy_chunk(index, options), make_multiply_chunk(index)
    store_results = make_store_results(options)

    def gemm(a, b, c, M, N, K, lda, ldb, ldc):
        row0, col0 = cta_row(BLOCK), cta_col(BLOCK)
        if row0 >= M or col0 >= N:
            return
        tid, smem = tid_x(), dynamic_shared()
        acc = register_array((ROWS, ACROSS), f32)              # threadResults
        reg_m = register_array((ROWS,), f32)
        reg_n = register_array((ACROSS,), f32)
        for i in range(ROWS):
            for n in range(ACROSS):
                acc[i, n] = 0
        from_a = element(a, row0 + copy_a_row(tid, 0), lda, copy_a_k(tid))       # further rows are 32 down, each
        from_b = element(b, copy_b_k(tid, 0), ldb, col0 + copy_b_col(tid))       # and of B 4
        source = from_a, from_b, row0, col0, M, N, K, lda, ldb
        for chunk in range((K + CHUNK_K - 1) // CHUNK_K):
            copy_chunk(smem, tid, chunk * CHUNK_K, source)
            bar_sync()
            multiply_chunk(smem, tid, reg_m, reg_n, acc)
            bar_sync()
        store_results(tid, acc, c, row0, col0, M, N, ldc)

    return gemm
