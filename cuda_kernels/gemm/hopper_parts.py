"""Device functions that the wgmma kernels share: the order of tiles, the loads of a stage, the ways to store C.

Plain Python, and makers of it: what a maker closes over is constant in the kernel. Consumer warpgroups own 64 rows of the
tile each; `t` is a thread's index in its warpgroup.
"""

from cuda_kernels.ptx import (
    bar_sync_some,
    bulk_commit_group_if,
    bulk_wait_group_read_if,
    cvt_rn_bf16x2_f32,
    cvt_rn_f16x2_f32,
    fence_proxy_async,
    s32,
    st_global_b16,
    st_global_f32,
    stmatrix_x4,
    tma_load_3d,
    tma_load_3d_multicast,
    tma_store_3d_if,
    u32,
    u64,
)

DEPTH = 64
"""Elements of K per stage: 128 bytes of a K-major row."""

BLOCK = 64
"""Elements along the contiguous dimension of a TMA box of 16-bit elements: 128 bytes, the span of the swizzle."""


def quotient(a, b):
    """a // b of numbers from 0 to 2**31, in 32 bits (Numba's 64-bit division is a subroutine on the GPU)."""
    return s32(u32(a) // u32(b))


def tile_of(index, rows, cols, group):
    """(row, column, matrix) of tile number `index` in a batch of rows x cols tiles.

    `group` rows of tiles are walked together, column by column, so that tiles in flight share rows of A and columns of B
    in L2.

    >>> [tile_of(i, 3, 2, 2)[:2] for i in range(6)]
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]
    """
    matrix = quotient(index, rows * cols)
    rest = s32(index - matrix * rows * cols)
    band = quotient(rest, group * cols)
    rest = s32(rest - band * group * cols)
    height = s32(min(group, rows - band * group))
    col = quotient(rest, height)
    return s32(band * group + rest - col * height), col, matrix


def make_load(major, size, depth, cluster=1):
    """load(stage address, map, mbarrier, first, k, matrix, rank) of an operand's tile: `size` rows of A or columns of B from
    `first` on, `depth` of K.

    A K-major tile is one box per 64 of K, an MN-major one a box of 64 x depth per 64 rows. The CTAs of a cluster load a part
    of the tile each, and each part goes to all of them.
    """
    part, everyone = size // cluster, (1 << cluster) - 1

    def box(address, tensor_map, mbarrier, c0, c1, c2):
        if cluster == 1:
            tma_load_3d(u32(address), tensor_map, u32(mbarrier), s32(c0), s32(c1), s32(c2))
        else:
            tma_load_3d_multicast(u32(address), tensor_map, u32(mbarrier), u32(everyone), s32(c0), s32(c1), s32(c2))

    def load_k(address, tensor_map, mbarrier, first, k, matrix, rank):
        mine = part * rank
        for i in range(depth // BLOCK):
            box(address + 2 * BLOCK * (size * i + mine), tensor_map, mbarrier, k + BLOCK * i, first + mine, matrix)

    def load_mn(address, tensor_map, mbarrier, first, k, matrix, rank):
        mine = part * rank
        for i in range(part // BLOCK):
            box(address + 2 * depth * (mine + BLOCK * i), tensor_map, mbarrier, first + mine + BLOCK * i, k, matrix)

    return load_k if major == "K" else load_mn


def make_store_tma(store_c, columns, buffers, dtype):
    """store(acc, staging address, t, named barrier, map of C, row, column, matrix): through shared memory and TMA.

    The 64 x columns tile goes in boxes of 64 x 64 through `buffers` staging buffers of 8 KiB. A buffer is written again when
    the store that reads it has finished reading, so the writes to global memory overlap the next tile's products.
    """
    pack = cvt_rn_f16x2_f32 if dtype == "f16" else cvt_rn_bf16x2_f32
    boxes = columns // BLOCK
    all_free, one_free = bulk_wait_group_read_if(0), bulk_wait_group_read_if(buffers - 1)

    def write(acc, staging, t, j):
        for i in range(4):
            first = 32 * j + 8 * i
            stmatrix_x4(staging + store_c(t, j % buffers, i), pack(acc[first + 1], acc[first]),
                        pack(acc[first + 3], acc[first + 2]), pack(acc[first + 5], acc[first + 4]),
                        pack(acc[first + 7], acc[first + 6]))

    def copy(leader, staging, map_c, row, col, matrix, j):
        tma_store_3d_if(leader, map_c, u32(staging + 2 * BLOCK * BLOCK * (j % buffers)), s32(col + BLOCK * j), s32(row),
                        s32(matrix))
        bulk_commit_group_if(leader)

    def store_at_once(acc, staging, t, barrier, map_c, row, col, matrix):
        leader = s32(t == 0)
        all_free(leader)
        bar_sync_some(u32(barrier), u32(128))
        for j in range(boxes):
            write(acc, staging, t, j)
        fence_proxy_async()
        bar_sync_some(u32(barrier), u32(128))
        for j in range(boxes):
            copy(leader, staging, map_c, row, col, matrix, j)

    def store_by_boxes(acc, staging, t, barrier, map_c, row, col, matrix):
        leader = s32(t == 0)
        for j in range(boxes):
            one_free(leader)
            bar_sync_some(u32(barrier), u32(128))
            write(acc, staging, t, j)
            fence_proxy_async()
            bar_sync_some(u32(barrier), u32(128))
            copy(leader, staging, map_c, row, col, matrix, j)

    return store_at_once if buffers >= boxes else store_by_boxes


def make_store_pair(out):
    """store(address, low, high, left): two neighbouring f32 as elements of C, `left` of which (0, 1, more) exist."""
    pack = cvt_rn_bf16x2_f32 if out == "bf16" else cvt_rn_f16x2_f32

    def store_f32(at, low, high, left):
        if left > 0:
            st_global_f32(at, low)
        if left > 1:
            st_global_f32(at + u64(4), high)

    def store_16(at, low, high, left):
        pair = pack(high, low)
        if left > 0:
            st_global_b16(at, pair)
        if left > 1:
            st_global_b16(at + u64(2), pair >> 16)

    return store_f32 if out == "f32" else store_16


def make_store_direct(columns, out):
    """store(acc, address of C, t, row, column, M, N, ldc): every thread writes its own pairs; C may lie anywhere.

    row, column: the first of the warpgroup's 64 x columns tile; ldc: elements from one row of C to the next.
    """
    size, store_pair = 4 if out == "f32" else 2, make_store_pair(out)

    def store(acc, c, t, row, col, M, N, ldc):
        first_row, first_col = s32(row + t // 32 * 16 + t % 32 // 4), s32(col + t % 4 * 2)
        for h in range(2):
            at = c + u64(size) * (u64(first_row + 8 * h) * u64(ldc) + u64(first_col))
            if first_row + 8 * h < M:
                for j in range(columns // 8):
                    store_pair(at + u64(8 * size * j), acc[4 * j + 2 * h], acc[4 * j + 2 * h + 1], N - first_col - 8 * j)

    return store
