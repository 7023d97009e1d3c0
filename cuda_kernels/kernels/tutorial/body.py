"""The body of MatmulTutorial's kernel: 128x128x32 tiles, C in f32 through shared memory; its fragments are in `fragments`.

Two races of the original are not repeated: every refill, even an empty one, closes its cp.async group, and a barrier
separates the last chunk's loads from the C tile that reuses its memory.
"""

from cuda_kernels.intrinsics import (
    b32,
    bar_sync,
    cvt_rn_f16x2_f32,
    dynamic_shared,
    f32,
    ld_volatile_shared_f32,
    register_array,
    st_global_b16,
    tid_x,
    u64,
)
from cuda_kernels.kernels import common
from cuda_kernels.kernels.common import cta_col, cta_row, element, valid_bytes
from cuda_kernels.kernels.pipeline import make_main_loop, meet
from cuda_kernels.kernels.tutorial.fragments import make_fragments, make_multiply, make_store
from cuda_kernels.kernels.tutorial.plan import BLOCK, CHUNK_K, copy_col, element_col, make_rows


def make_copy(index, options):
    """(copy_chunk(smem, tid, stage, k, source), first row, first column): the copy of
    a chunk of A and B into a stage, and where a thread begins."""
    copy_row, element_row, _ = make_rows(options)
    if options.copies == "elements":
        row, col, width, copy = element_row, element_col, 1, common.copy_element
        copy_a, copy_b = index.copy_a_element, index.copy_b_element
    else:
        row, col, width, copy_a, copy_b = copy_row, copy_col, 8, index.copy_a, index.copy_b
        copy = (common.copy_whole if options.whole else common.copy_async) if options.ab_aligned else common.copy_by_halves
    below = 32 * options.warps * width // CHUNK_K    # rows that all threads copy at once
    deep = BLOCK // below

    def copy_chunk(smem, tid, stage, k, source):
        from_a, from_b, row0, col0, M, N, K, lda, ldb = source
        kk, along = k + col(tid), u64(2) * u64(k)
        for i in range(deep):
            copy(smem + copy_a(tid, i, stage), from_a + (along + u64(2 * below * i) * u64(lda)),
                 valid_bytes(row0 + row(tid, i), M, kk, K))
        for i in range(deep):
            copy(smem + copy_b(tid, i, stage), from_b + (along + u64(2 * below * i) * u64(ldb)),
                 valid_bytes(col0 + row(tid, i), N, kk, K))

    return copy_chunk, row, col


def make_body(index, options):
    """The kernel's Python function; `index` holds the index functions, in bytes."""
    read_c, read_row = index.read_c, make_rows(options)[2]
    copy_chunk, copy_row, copy_from = make_copy(index, options)
    load_fragments, shape_a, shape_b = make_fragments(index, options)
    main_loop = make_main_loop(options.stages, CHUNK_K, copy_chunk, load_fragments, make_multiply(options), meet,
                               options.fragments, options.steps)
    store_tile = make_store(index, options)
    registers, scalar = (4, f32) if options.accumulate == "f32" else (2, b32)
    tiles_n, pieces = BLOCK // options.beside // 8, BLOCK * BLOCK // (32 * options.warps)
    clear = common.make_clear(4, tiles_n, registers)

    def gemm(a, b, c, M, N, K, lda, ldb, ldc):
        row0, col0 = cta_row(BLOCK), cta_col(BLOCK)
        if row0 >= M or col0 >= N:
            return
        tid, smem = tid_x(), dynamic_shared()
        acc = register_array((4, tiles_n, registers), scalar)
        ra, rb = register_array(shape_a, b32), register_array(shape_b, b32)
        clear(acc)
        from_a = element(a, row0 + copy_row(tid, 0), lda, copy_from(tid))     # further rows are some way down, each
        from_b = element(b, col0 + copy_row(tid, 0), ldb, copy_from(tid))
        main_loop(smem, tid, ra, rb, acc, (from_a, from_b, row0, col0, M, N, K, lda, ldb), K)
        store_tile(smem, tid, acc)
        bar_sync()
        for i in range(pieces):
            value = ld_volatile_shared_f32(smem + read_c(tid, i))
            row, col = row0 + read_row(tid, i), col0 + tid % BLOCK
            if row < M and col < N:
                st_global_b16(element(c, row, ldc, col), cvt_rn_f16x2_f32(value, value))

    return gemm
