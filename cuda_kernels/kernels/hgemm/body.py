"""The body of cuda_hgemm's kernel: the main loop of `kernels.pipeline` over ldmatrix and mma.sync, C through shared memory.

It calls the index functions that are emitted from the plan. One stage copies through registers (the synchronous
mma_base.cu); two to four stages use cp.async.
"""

from cuda_kernels.intrinsics import (
    b32,
    bar_sync,
    dynamic_shared,
    f32,
    here,
    ld_volatile_shared_b128,
    ldmatrix_x2,
    register_array,
    st_shared_b32,
    tid_x,
    u64,
)
from cuda_kernels.kernels import common
from cuda_kernels.kernels.common import cta_col, cta_row_back_and_forth, cta_row_of, element, valid_bytes
from cuda_kernels.kernels.hgemm.plan import BLOCK_COLS, BLOCK_ROWS, beside, make_copy_maps, read_c_col, read_c_row
from cuda_kernels.kernels.pipeline import make_main_loop, meet_and_hold
from simlayout.hardware.tables.arch import LANES


def make_load_fragments(index, b_matrices):
    """load_fragments(smem, tid, ks, stage, buffer, ra, rb): those of a warp's 64 x 64 x 16; b_matrices: as of Hgemm."""
    load_a, load_b = common.make_load_a(index.load_a), index.load_b

    def load_b_by_two(smem, tid, ks, stage, buffer, rb):
        for j in range(8):
            rb[buffer, j, 0], rb[buffer, j, 1] = ldmatrix_x2(smem + load_b(tid, j, ks, stage))

    fragments_b = load_b_by_two if b_matrices == 2 else common.make_load_b(load_b, 4)

    def load_fragments(smem, tid, ks, stage, buffer, ra, rb):
        load_a(smem, tid, ks, stage, buffer, ra)
        fragments_b(smem, tid, ks, stage, buffer, rb)

    return load_fragments


def copy_of(options):
    """How 16 bytes of A or B come to shared memory: copy(destination, source, valid)."""
    if not options.ab_aligned:
        return common.copy_by_halves
    if options.depth == 1:
        return common.copy_through_registers
    return common.copy_whole if options.whole else common.copy_async


def make_copy_chunk(index, chunk_k, options):
    """copy_chunk(smem, tid, stage, k, source): a thread's part of the chunk of A and B from column k on, into a stage."""
    copy_a_row, copy_b_row, copy_col = make_copy_maps(chunk_k)
    deep_a, deep_b = beside(chunk_k), beside(chunk_k) // 2
    below = LANES // deep_a                              # rows that a warp copies at once
    copy_a, copy_b, copy = index.copy_a, index.copy_b, copy_of(options)

    def copy_chunk(smem, tid, stage, k, source):
        from_a, from_b, row0, col0, M, N, K, lda, ldb = source
        kk, along = k + copy_col(tid), u64(2) * u64(k)
        row0, col0 = here(row0), here(col0)              # which rows exist is not kept in registers
        for i in range(deep_a):
            copy(smem + copy_a(tid, i, stage), from_a + (along + u64(2 * below * i) * u64(lda)),
                 valid_bytes(row0 + copy_a_row(tid, i), M, kk, K))
        for i in range(deep_b):
            copy(smem + copy_b(tid, i, stage), from_b + (along + u64(2 * below * i) * u64(ldb)),
                 valid_bytes(col0 + copy_b_row(tid, i), N, kk, K))

    return copy_chunk


def make_multiply_fragments(options):
    """multiply_fragments(buffer, ra, rb, acc): all mma of a warp's 64 x 64 x 16, back and forth over the columns."""
    multiply = common.multiply_f32 if options.accumulate == "f32" else common.multiply_f16

    def multiply_fragments(buffer, ra, rb, acc):
        for i in range(4):
            for j in range(8):
                multiply(acc, i, j if i % 2 == 0 else 7 - j, ra, rb, buffer)

    return multiply_fragments


def make_store(index, options):
    """(store_tile(smem, tid, acc), store_lines(smem, tid, c, row0, col0, M, N, ldc)): C from the registers to shared memory
    as f16, and from there in whole lines to global memory."""
    store_c, read_c = index.store_c, index.read_c
    packed = common.packed_f32 if options.accumulate == "f32" else common.packed_f16
    store_global = common.store_whole if options.c_aligned else common.store_by_halves

    def store_tile(smem, tid, acc):
        for i in range(4):
            for j in range(8):
                for r in range(2):
                    st_shared_b32(smem + store_c(tid, i, j, r), packed(acc, i, j, r))

    def store_lines(smem, tid, c, row0, col0, M, N, ldc):
        for i in range(16):
            v0, v1, v2, v3 = ld_volatile_shared_b128(smem + read_c(tid, i))
            row, col = row0 + read_c_row(tid, i), col0 + read_c_col(tid)
            if row < M and col < N:
                store_global(element(c, row, ldc, col), v0, v1, v2, v3, N - col)

    return store_tile, store_lines


def make_body(kernel):
    """The Python function of a variant of Hgemm."""
    index, options, chunk_k = kernel.index, kernel.options, kernel.chunk_k
    copy_a_row, copy_b_row, copy_col = make_copy_maps(chunk_k)
    first_row = cta_row_back_and_forth if options.stripes == "serpentine" else cta_row_of
    main_loop = make_main_loop(
        options.depth, chunk_k, make_copy_chunk(index, chunk_k, options), make_load_fragments(index, kernel.b_matrices),
        make_multiply_fragments(options), meet_and_hold, steps=chunk_k // 16)
    registers, scalar = (4, f32) if options.accumulate == "f32" else (2, b32)
    clear = common.make_clear(4, 8, registers)
    store_tile, store_lines = make_store(index, options)

    def gemm(a, b, c, M, N, K, lda, ldb, ldc):
        row0, col0 = first_row(BLOCK_ROWS, M), cta_col(BLOCK_COLS)
        if row0 >= M or col0 >= N:
            return
        tid, smem = tid_x(), dynamic_shared()
        acc = register_array((4, 8, registers), scalar)
        ra = register_array((2, 4, 4), b32)           # two buffers: one is loaded while the other is multiplied
        rb = register_array((2, 8, 2), b32)
        clear(acc)
        from_a = element(a, row0 + copy_a_row(tid, 0), lda, copy_col(tid))    # further rows are `below` down, each
        from_b = element(b, col0 + copy_b_row(tid, 0), ldb, copy_col(tid))
        main_loop(smem, tid, ra, rb, acc, (from_a, from_b, row0, col0, M, N, K, lda, ldb), K)
        store_tile(smem, tid, acc)
        bar_sync()
        store_lines(smem, tid, c, row0, col0, M, N, ldc)

    return gemm
