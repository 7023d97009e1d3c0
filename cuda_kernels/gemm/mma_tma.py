"""mma_tma: the tile of `mma_swizzled`, its operands by TMA: mma.sync where the loads cost no thread anything.

Every chunk of K is a stage with an mbarrier for its bytes, `full`, and one that counts the warps that have read it, `empty`.
All eight warps multiply; thread 0 also loads: half a chunk after the warps have begun to release a stage it waits until all
have, and has it filled again. No barrier of the CTA is left in the loop, no cp.async, and no address of global memory.
In a cluster each CTA loads a part of what it shares with those below and beside it, and sends it to all of them.
"""

from cuda_kernels.emitted import mma_swizzled as index
from cuda_kernels.gemm.common import element, multiply_f32, packed_f32, store_whole
from cuda_kernels.gemm.hgemm import read_c_col, read_c_row
from cuda_kernels.gemm.hopper_order import quotient, tile_of
from cuda_kernels.gemm.hopper_parts import DEPTH, make_load
from cuda_kernels.ptx import (
    aligned_shared,
    b32,
    bar_sync,
    bar_warp_sync,
    cluster_ctarank,
    cluster_sync,
    ctaid_x,
    f32,
    fence_mbarrier_init,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    ld_volatile_shared_b128,
    ldmatrix_x4,
    mbarrier_arrive_cluster_if,
    mbarrier_arrive_expect_tx,
    mbarrier_arrive_if,
    mbarrier_init,
    mbarrier_wait,
    prefetch_tensormap,
    register_array,
    s32,
    st_shared_b32,
    successor,
    tid_x,
    u32,
    u64,
)

ROWS, COLS, WARPS = 256, 128, 8


def make_body(config):
    """The kernel's Python function for a Hopper configuration of 256x128 tiles; its arguments as of `wgmma_persistent`."""
    stages, stage_bytes = config.stages, config.stage_bytes
    bytes_a = ROWS * 2 * DEPTH
    at_full = stages * stage_bytes
    at_empty = at_full + 8 * stages
    below, beside, cluster = config.cluster_m, config.cluster_n, config.sharing
    peers, first_row_of_ctas = below + beside - 1, sum(1 << below * i for i in range(beside))
    load_a, load_b = make_load("K", ROWS, beside), make_load("K", COLS, below)
    last = stages - 1
    address_a, address_b, store_c, read_c = index.load_a, index.load_b, index.store_c, index.read_c

    def next_stage(stage):
        return s32(stage + 1) if stage < last else s32(0)

    def next_parity(parity, stage):
        return parity if stage < last else s32(1 - parity)

    def place(rank):
        if below == 1:
            return s32(0), rank
        return (rank, s32(0)) if beside == 1 else (s32(rank % below), s32(rank // below))

    def peer_of(lane, down, right):
        if below == 1 or beside == 1:
            return lane
        other, near = s32(lane - below), s32(lane < below)
        return s32(near * (lane + below * right) + (1 - near) * (down + below * (other + (other >= right))))

    def release(smem, lane, peer, stage):
        if cluster == 1:
            mbarrier_arrive_if(s32(lane == 0), u32(smem + at_empty + 8 * stage))
        else:
            mbarrier_arrive_cluster_if(s32(lane < peers), u32(smem + at_empty + 8 * stage), u32(peer))

    def fill(smem, map_a, map_b, stage, parity, row, col, chunk, matrix_a, matrix_b, down, right, of_row, of_col):
        full = u32(smem + at_full + 8 * stage)
        mbarrier_wait(u32(smem + at_empty + 8 * stage), u32(parity))
        mbarrier_arrive_expect_tx(full, u32(stage_bytes))
        load_a(s32(smem + stage_bytes * stage), map_a, full, row, s32(DEPTH * chunk), matrix_a, right, of_row)
        load_b(s32(smem + stage_bytes * stage + bytes_a), map_b, full, col, s32(DEPTH * chunk), matrix_b, down, of_col)

    def load_fragments(smem, tid, ks, stage, buffer, ra, rb):
        for i in range(4):
            ra[buffer, i, 0], ra[buffer, i, 1], ra[buffer, i, 2], ra[buffer, i, 3] = ldmatrix_x4(
                smem + address_a(tid, i, ks, stage))
        for j in range(4):
            rb[buffer, 2 * j, 0], rb[buffer, 2 * j, 1], rb[buffer, 2 * j + 1, 0], rb[buffer, 2 * j + 1, 1] = ldmatrix_x4(
                smem + address_b(tid, j, ks, stage))

    def multiply(buffer, ra, rb, acc):
        for i in range(4):
            for j in range(8):
                multiply_f32(acc, i, j if i % 2 == 0 else 7 - j, ra, rb, buffer)

    def gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, ldc, matrix_c, whole, parts, workspace,
             counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left):
        tid, smem = tid_x(), aligned_shared()
        rank = cluster_ctarank() if cluster > 1 else s32(0)
        tiles_m, tiles_n = quotient(M + below * ROWS - 1, below * ROWS), quotient(N + beside * COLS - 1, beside * COLS)
        if tid == 0:
            prefetch_tensormap(map_a)
            prefetch_tensormap(map_b)
            for i in range(stages):
                mbarrier_init(u32(smem + at_full + 8 * i), u32(1))
                mbarrier_init(u32(smem + at_empty + 8 * i), u32(WARPS * peers))
            fence_mbarrier_init()
        if cluster > 1:
            cluster_sync()
        else:
            bar_sync()
        griddepcontrol_launch_dependents()
        griddepcontrol_wait()
        lane, chunks = s32(tid % 32), quotient(K + DEPTH - 1, DEPTH)
        down, right = place(rank)
        of_row, of_col = u32(first_row_of_ctas << down), u32(((1 << below) - 1) << (below * right))
        peer = peer_of(lane, down, right)
        unit = ctaid_x() if cluster == 1 else quotient(ctaid_x(), cluster)
        tile_row, tile_col, matrix = tile_of(unit, tiles_m, tiles_n, (group, by_matrix, by_group, by_rows, by_last))
        row, col = s32(ROWS * (below * tile_row + down)), s32(COLS * (beside * tile_col + right))
        matrix_a, matrix_b = s32(matrix * batched_a), s32(matrix * batched_b)
        acc = register_array((4, 8, 4), f32)
        ra, rb = register_array((2, 4, 4), b32), register_array((2, 8, 2), b32)
        for i in range(4):
            for j in range(8):
                for r in range(4):
                    acc[i, j, r] = 0
        if tid == 0:
            for s in range(last):
                if s < chunks:
                    fill(smem, map_a, map_b, s32(s), s32(1), row, col, s32(s), matrix_a, matrix_b, down, right, of_row, of_col)
        stage, parity, chunk = s32(0), s32(0), s32(0)
        filled, filling, before = s32(last), s32(1), s32(last)
        mbarrier_wait(u32(smem + at_full), u32(0))
        load_fragments(smem, tid, 0, 0, 0, ra, rb)
        while chunk < chunks:
            load_fragments(smem, tid, 1, stage, 1, ra, rb)
            multiply(0, ra, rb, acc)
            bar_warp_sync()
            if chunk > 0:
                release(smem, lane, peer, before)
            load_fragments(smem, tid, 2, stage, 0, ra, rb)
            multiply(1, ra, rb, acc)
            if tid == 0 and chunk + last < chunks:
                fill(smem, map_a, map_b, filled, filling, row, col, s32(chunk + last), matrix_a, matrix_b, down, right,
                     of_row, of_col)
            filling = next_parity(filling, filled)
            filled = next_stage(filled)
            load_fragments(smem, tid, 3, stage, 1, ra, rb)
            multiply(0, ra, rb, acc)
            before = stage
            parity = next_parity(parity, stage)
            stage = next_stage(stage)
            chunk = successor(chunk)
            if chunk < chunks:
                mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))
                load_fragments(smem, tid, 0, stage, 0, ra, rb)
            multiply(1, ra, rb, acc)
        bar_sync()
        for i in range(4):
            for j in range(8):
                for r in range(2):
                    st_shared_b32(smem + store_c(tid, i, j, r), packed_f32(acc, i, j, r))
        bar_sync()
        matrix_at = c + u64(matrix) * matrix_c
        for i in range(16):
            v0, v1, v2, v3 = ld_volatile_shared_b128(smem + read_c(tid, i))
            at_row, at_col = row + read_c_row(tid, i), col + read_c_col(tid)
            if at_row < M and at_col < N:
                store_whole(element(matrix_at, at_row, ldc, at_col), v0, v1, v2, v3, N - at_col)
        if cluster > 1:
            cluster_sync()

    return gemm
