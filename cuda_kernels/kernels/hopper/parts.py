"""Device functions that the wgmma kernels share: the loads of a stage, the ways to store C.

Plain Python, and makers of it: what a maker closes over is constant in the kernel. Consumer warpgroups own 64 rows of the
tile each; `t` is a thread's index in its warpgroup.
"""

from cuda_kernels.intrinsics import (
    bar_sync_some,
    bulk_commit_group_if,
    bulk_wait_group_read_if,
    cvt_rn_bf16x2_f32,
    cvt_rn_f16x2_f32,
    fence_proxy_async,
    s32,
    st_global_b16,
    st_global_b32,
    st_global_f32,
    stmatrix_x4,
    stmatrix_x4_trans,
    tma_load_3d,
    tma_load_3d_multicast,
    tma_store_3d_if,
    u32,
    u64,
)
from cuda_kernels.kernels.hopper.accesses import emitted_function, store_access
from cuda_kernels.kernels.hopper.scales import make_lines, make_scale
from simlayout.algebra.dtypes import TYPES

SPAN = 128
"""Bytes along the contiguous dimension of a TMA box, the span of the swizzle; and bytes of K per stage of a K-major row."""


def depth_of(dtype):
    """Elements of K per stage, and elements along the contiguous dimension of a TMA box.

    >>> depth_of("f16"), depth_of("e4m3")
    (64, 128)
    """
    return SPAN // TYPES[dtype].bytes


def load_box(major, size, dtype, parts=1):
    """The TMA box of an operand of `size` rows or columns, `depth_of` its dtype of K, of which `parts` CTAs load a part
    each: elements, innermost first."""
    depth = depth_of(dtype)
    return (depth, size // parts if major == "K" else depth // parts, 1)


def make_load(major, size, dtype, parts=1, copy=tma_load_3d, copy_to_many=tma_load_3d_multicast):
    """load(stage address, map, mbarrier, first, k, matrix, part, ctas) of an operand's tile: `size` rows of A or columns of
    B from `first` on, `depth_of` their dtype of K from `k` on.

    A K-major tile is one box, an MN-major one a box per 64 rows. Of `parts` CTAs of a cluster each loads a part, of a
    K-major tile some rows, of an MN-major one some of K; it goes to the CTAs whose bits are set in `ctas`. copy,
    copy_to_many: what moves a box; the plan hands in functions that note what is moved.
    """
    wide, depth = load_box(major, size, dtype, parts)[1], depth_of(dtype)

    def box(address, tensor_map, mbarrier, c0, c1, c2, ctas):
        if parts == 1:
            copy(u32(address), tensor_map, u32(mbarrier), s32(c0), s32(c1), s32(c2))
        else:
            copy_to_many(u32(address), tensor_map, u32(mbarrier), u32(ctas), s32(c0), s32(c1), s32(c2))

    def load_k(address, tensor_map, mbarrier, first, k, matrix, part, ctas):
        mine = wide * part
        box(address + SPAN * mine, tensor_map, mbarrier, k, first + mine, matrix, ctas)

    def load_mn(address, tensor_map, mbarrier, first, k, matrix, part, ctas):
        mine = wide * part
        for i in range(size // depth):
            box(address + SPAN * (depth * i + mine), tensor_map, mbarrier, first + depth * i, k + mine, matrix, ctas)

    return load_k if major == "K" else load_mn


def make_describe(config, places):
    """describe(operands, stage): the descriptors of A and B of a stage; operands: their first bytes in stage 0."""
    bytes_a, bytes_b = places.a_bytes, places.b_bytes
    describe_a, describe_b = (tile.descriptor().encode() for tile in config.operands)

    def describe(operands, stage):
        from_a, from_b = operands
        a = u64(describe_a) | u64(u32(from_a + bytes_a * stage) >> 4)
        b = u64(describe_b) | u64(u32(from_b + bytes_b * stage) >> 4)
        return a, b

    return describe


def make_stage_block(config):
    """(rows(t, row, extent), stage(acc, address, of_rows, col, extent, first)): the scales of a thread's rows; what writes
    the 16 columns whose accumulators begin at number `first` to the staging, to the thread's address. col: the first column
    of the tile that the thread has."""
    pack, (rows, scale) = cvt_rn_f16x2_f32 if config.out == "f16" else cvt_rn_bf16x2_f32, make_scale(config)
    stmatrix = stmatrix_x4_trans if config.c_major == "M" else stmatrix_x4

    def rows_of(t, row, extent):
        return rows(s32(row + t // 32 * 16 + t % 32 // 4), extent)

    def stage(acc, address, of_rows, col, extent, first):
        v0, v1, v2, v3 = scale(of_rows, s32(col + 2 * first), extent, acc[first], acc[first + 1], acc[first + 2],
                               acc[first + 3])
        v4, v5, v6, v7 = scale(of_rows, s32(col + 2 * first + 8), extent, acc[first + 4], acc[first + 5], acc[first + 6],
                               acc[first + 7])
        stmatrix(address, pack(v1, v0), pack(v3, v2), pack(v5, v4), pack(v7, v6))

    return rows_of, stage


def make_write_lines(config):
    """write(acc, staging, t, row, col, extent): 64 rows of a tile to the staging of `rows`. Where blocks of 16 columns do
    not divide the tile the last one begins earlier, and writes 8 columns again."""
    address_of, (rows, stage) = emitted_function(store_access(config)), make_stage_block(config)
    blocks, last = config.staged_blocks, config.tile_n - 16

    def write(acc, staging, t, row, col, extent):
        of_rows, own_col = rows(t, row, extent), s32(col + t % 4 * 2)
        for i in range(blocks):
            first = min(16 * i, last)
            stage(acc, staging + address_of(t, first // 8), of_rows, own_col, extent, first // 2)

    return write


def make_store_box(config):
    """(write(acc, staging, t, row, column, extent, j), copy(leader, staging, map of C, row, column, matrix, j)) of box j of
    a tile: what writes it to its staging buffer, and what copies it from there to global memory, in a group of its own."""
    address_of, (rows, stage) = emitted_function(store_access(config)), make_stage_block(config)
    down, width, buffers, last = config.c_major == "M", config.box_n, config.buffers, config.box_starts[-1]
    blocks, box_bytes = width // 16, 128 * width

    def write(acc, staging, t, row, col, extent, j):
        of_rows, own_col = rows(t, row, extent), s32(col + t % 4 * 2)
        for i in range(blocks):
            address = staging + address_of(t, blocks * (j % buffers) + i)
            stage(acc, address, of_rows, own_col, extent, min(width * j, last) // 2 + 8 * i)

    def copy(leader, staging, map_c, row, col, matrix, j):
        source, here = u32(staging + box_bytes * (j % buffers)), s32(col + min(width * j, last))
        if down:
            tma_store_3d_if(leader, map_c, source, s32(row), here, s32(matrix))
        else:
            tma_store_3d_if(leader, map_c, source, here, s32(row), s32(matrix))
        bulk_commit_group_if(leader)

    return write, copy


def make_store_tma(config):
    """store(acc, staging address, t, named barrier, map of C, row, column, matrix, extent): through shared memory and TMA.

    The tile of 64 rows goes in boxes of `config.box_n` columns, which begin at `config.box_starts`, through `config.buffers`
    staging buffers. A buffer is written again when the store that reads it has finished reading, so the writes to global
    memory overlap the next tile's products. Every tile begins with the first buffer: where the last round of the one before
    was of fewer boxes than there are buffers, these are younger than the rest, and fewer stores may still read when they are
    written again. Where boxes overlap, two stores write the same values.
    """
    write, copy = make_store_box(config)
    boxes, buffers = len(config.box_starts), config.buffers
    left = boxes % buffers
    all_free, one_free = bulk_wait_group_read_if(0), bulk_wait_group_read_if(buffers - 1)
    young_free = bulk_wait_group_read_if(max(left - 1, 0))

    def store_at_once(acc, staging, t, barrier, map_c, row, col, matrix, extent):
        leader = s32(t == 0)
        all_free(leader)
        bar_sync_some(u32(barrier), u32(128))
        for j in range(boxes):
            write(acc, staging, t, row, col, extent, j)
        fence_proxy_async()
        bar_sync_some(u32(barrier), u32(128))
        for j in range(boxes):
            copy(leader, staging, map_c, row, col, matrix, j)

    def store_by_boxes(acc, staging, t, barrier, map_c, row, col, matrix, extent):
        leader = s32(t == 0)
        for j in range(boxes):
            if j < left:
                young_free(leader)
            else:
                one_free(leader)
            bar_sync_some(u32(barrier), u32(128))
            write(acc, staging, t, row, col, extent, j)
            fence_proxy_async()
            bar_sync_some(u32(barrier), u32(128))
            copy(leader, staging, map_c, row, col, matrix, j)

    return store_at_once if buffers >= boxes else store_by_boxes


def make_store_quad(config):
    """store(c, row, col, extent, v0, v1, v2, v3): the elements (row, column), (row, column + 1), (row + 8,
    column) and (row + 8, column + 1) of C as far as they exist, as four neighbouring accumulators hold them. c: the
    address of C; extent: (M, N, lines of C, as of `scales`)."""
    (pitch, _), (rows, scale) = make_lines(config), make_scale(config)
    pack = cvt_rn_bf16x2_f32 if config.out == "bf16" else cvt_rn_f16x2_f32
    store_one = st_global_f32 if config.out == "f32" else st_global_b32
    size, down = TYPES[config.out].bytes, config.c_major == "M"

    def store_32(at, step, low, high, left):
        if left > 0:
            store_one(at, low)
        if left > 1:
            store_one(at + step, high)

    def store_16(at, step, low, high, left):
        pair = pack(high, low)
        if left > 0:
            st_global_b16(at, pair)
        if left > 1:
            st_global_b16(at + step, pair >> 16)

    store_pair = store_32 if size == 4 else store_16

    def store(c, row, col, extent, v0, v1, v2, v3):
        M, N, lines = extent
        v0, v1, v2, v3 = scale(rows(row, extent), col, extent, v0, v1, v2, v3)
        line = u64(size) * u64(pitch(lines))
        row_step, col_step = (u64(size), line) if down else (line, u64(size))
        first = c + u64(row) * row_step + u64(col) * col_step
        if row < M:
            store_pair(first, col_step, v0, v1, N - col)
        if row + 8 < M:
            store_pair(first + u64(8) * row_step, col_step, v2, v3, N - col)

    return store


def make_store_direct(config):
    """store(acc, t, c, row, col, extent): every thread writes its own elements; C may lie anywhere.

    row, col: the first of the warpgroup's 64 rows of the tile; c, extent: as of `make_store_quad`.
    """
    store_quad, groups = make_store_quad(config), config.tile_n // 8

    def store(acc, t, c, row, col, extent):
        first_row, first_col = s32(row + t // 32 * 16 + t % 32 // 4), s32(col + t % 4 * 2)
        for j in range(groups):
            store_quad(c, first_row, s32(first_col + 8 * j), extent, acc[4 * j], acc[4 * j + 1], acc[4 * j + 2],
                       acc[4 * j + 3])

    return store
