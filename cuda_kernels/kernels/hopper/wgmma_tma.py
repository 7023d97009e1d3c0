"""wgmma_tma: the smallest kernel with TMA and wgmma. One warpgroup, one tile of C, one stage: load, wait, multiply, again.

Nothing overlaps, which is what the kernels after it change.
"""

from cuda_kernels.intrinsics import (
    aligned_shared,
    bar_sync,
    ctaid_x,
    fence_mbarrier_init,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    register_array,
    s32,
    tid_x,
    u32,
    u64,
    wgmma_wait_group,
)
from cuda_kernels.kernels.hopper.order import quotient
from cuda_kernels.kernels.hopper.parts import make_load, make_store_direct
from cuda_kernels.kernels.hopper.sums import SUMS


def make_body(config):
    """The kernel's Python function for a Hopper configuration of 64 rows; its arguments as of `wgmma_persistent`."""
    rows, cols = config.tile_m, config.tile_n
    tile_a, tile_b = config.operands
    bytes_a, bytes_b = tile_a.bytes, tile_b.bytes
    at_mbarrier, accumulators = bytes_a + bytes_b, cols // 2
    load_a, load_b = (make_load(major, size, config.dtype)
                      for major, size in ((config.a_major, rows), (config.b_major, tile_b.rows)))
    multiply, depth = config.multiply, config.depth
    describe_a, describe_b = (tile.descriptor().encode() for tile in config.operands)
    wait_all, store = wgmma_wait_group(accumulators, 0, 1, config.sums), make_store_direct(config)
    scalar = SUMS[config.sums].scalar

    def gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, ldc, matrix_c, whole, parts, workspace,
             counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left, early):
        tid, smem = tid_x(), aligned_shared()
        mbarrier = u32(smem + at_mbarrier)
        if tid == 0:
            mbarrier_init(mbarrier, u32(1))
            fence_mbarrier_init()
        bar_sync()
        if early:
            griddepcontrol_launch_dependents()
        griddepcontrol_wait()
        tiles_m, tiles_n = quotient(M + rows - 1, rows), quotient(N + cols - 1, cols)
        matrix = quotient(ctaid_x(), tiles_m * tiles_n)
        tile = s32(ctaid_x() - matrix * tiles_m * tiles_n)
        row, col = s32(rows * quotient(tile, tiles_n)), s32(cols * (tile - tiles_n * quotient(tile, tiles_n)))
        acc = register_array((accumulators,), scalar)
        a, b = u64(describe_a) | u64(u32(smem) >> 4), u64(describe_b) | u64(u32(smem + bytes_a) >> 4)
        k, parity = s32(0), s32(0)
        while k < K:
            if tid == 0:
                mbarrier_arrive_expect_tx(mbarrier, u32(bytes_a + bytes_b))
                load_a(smem, map_a, mbarrier, row, k, s32(matrix * batched_a), 0, 0)
                load_b(s32(smem + bytes_a), map_b, mbarrier, col, k, s32(matrix * batched_b), 0, 0)
            mbarrier_wait(mbarrier, u32(parity))
            multiply(acc, a, b, k)
            wait_all(acc)
            bar_sync()                                   # everyone's products have read the tiles: they may be loaded again
            k, parity = s32(k + depth), s32(1 - parity)
        store(acc, tid, c + u64(matrix) * matrix_c, row, col, (M, N, ldc))

    return gemm
