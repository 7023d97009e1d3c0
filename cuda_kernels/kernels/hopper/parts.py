"""Device functions that the wgmma kernels share: the loads of a stage, the ways to store C.

Plain Python, and makers of it: what a maker closes over is constant in the kernel. Consumer warpgroups own 64 rows of the
tile each; `t` is a thread's index in its warpgroup.
"""

from math import gcd

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
    st_global_v2_b32,
    st_global_v2_f32,
    stmatrix_x4,
    stmatrix_x4_trans,
    tma_load_3d,
    tma_load_3d_multicast,
    tma_store_3d_if,
    u32,
    u64,
)
from cuda_kernels.kernels.hopper.epilogue import make_address_of, make_finish, make_steps
from cuda_kernels.kernels.hopper.window import in_matrices, in_window
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


def make_load(major, size, dtype, parts=1, copy=tma_load_3d, copy_to_many=tma_load_3d_multicast, placed=in_matrices):
    """load(stage address, map, mbarrier, first, k, matrix, part, ctas) of an operand's tile: `size` rows of A or columns of
    B from `first` on, `depth_of` their dtype of K from `k` on. placed: of `window`, where boxes of a K-major operand lie;
    with `in_window` the row that they end with comes in the place of a matrix.

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
        row, which = placed(s32(first + mine), matrix)
        box(address + SPAN * mine, tensor_map, mbarrier, k, row, which, ctas)

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


def make_advance(config, count):
    """advance(acc): with an epilogue, the sums behind the first `count` come to the front; else nothing.

    NVVM leaves a loop with a large body as it is, where all that indexes registers must be constant: what is indexed by the
    loop's own number then lies in memory, and ptxas lets no two wgmma overlap (C7514). So the sums come to the loop.
    """
    left = config.tile_n // 2 - count

    def advance(acc):
        for i in range(left):
            acc[i] = acc[i + count]

    def stay(acc):
        pass

    return advance if config.epilogue else stay


def make_stage_block(config):
    """(begin(c, t, row, col, extent), stage(acc, address, begun, col, extent, first, at)): what a thread works out once;
    what writes the 16 columns whose sums begin at number `first` of the tile's, and `at` in acc, to the staging, to the
    thread's address. col: the tile's first column, and then the first that the thread has."""
    pack, (begin, finish) = cvt_rn_f16x2_f32 if config.out == "f16" else cvt_rn_bf16x2_f32, make_finish(config)
    stmatrix = stmatrix_x4_trans if config.c_major == "M" else stmatrix_x4

    def begin_rows(c, t, row, col, extent):
        return begin(c, s32(row + t // 32 * 16 + t % 32 // 4), col, t, extent)

    def stage(acc, address, begun, col, extent, first, at):
        v0, v1, v2, v3 = finish(begun, s32(col + 2 * first), 2 * first, extent, acc[at], acc[at + 1], acc[at + 2],
                                acc[at + 3])
        v4, v5, v6, v7 = finish(begun, s32(col + 2 * first + 8), 2 * first + 8, extent, acc[at + 4], acc[at + 5],
                                acc[at + 6], acc[at + 7])
        stmatrix(address, pack(v1, v0), pack(v3, v2), pack(v5, v4), pack(v7, v6))

    return begin_rows, stage


def _address_in_staging(config):
    """The index function of a configuration's staging."""
    from cuda_kernels.kernels.hopper.accesses import emitted_function, store_access

    return emitted_function(store_access(config))


def make_write_lines(config):
    """write(acc, staging, t, row, col, extent): 64 rows of a tile to the staging of `sectors`. Where blocks of 16 columns do
    not divide the tile the last one begins earlier, and writes 8 columns again."""
    address_of, (begin, stage) = _address_in_staging(config), make_stage_block(config)
    blocks, last = config.staged_blocks, config.tile_n - 16

    def write(acc, staging, t, row, col, extent):
        begun, own_col = begin(0, t, row, col, extent), s32(col + t % 4 * 2)
        for i in range(blocks):
            first = min(16 * i, last)
            stage(acc, staging + address_of(t, first // 8), begun, own_col, extent, first // 2, first // 2)

    return write


def make_store_box(config):
    """(write(acc, staging, t, c, row, column, extent, j), copy(leader, staging, map of C, row, column, matrix, j)) of box j
    of a tile: what writes it to its staging buffer, and what copies it from there to global memory, in a group of its own.
    matrix: in a window, the line of C that it ends with."""
    address_of, (begin, stage) = _address_in_staging(config), make_stage_block(config)
    down, width, buffers, last = config.c_major == "M", config.box_n, config.buffers, config.box_starts[-1]
    placed = in_window if config.windows[2] else in_matrices
    blocks, box_bytes, in_turns, advance = width // 16, 128 * width, config.epilogue != "", make_advance(config, width // 2)

    def write(acc, staging, t, c, row, col, extent, j):
        begun, own_col = begin(c, t, row, col, extent), s32(col + t % 4 * 2)
        for i in range(blocks):
            address, first = staging + address_of(t, blocks * (j % buffers) + i), min(width * j, last) // 2 + 8 * i
            stage(acc, address, begun, own_col, extent, first, 8 * i if in_turns else first)
        advance(acc)

    def copy(leader, staging, map_c, row, col, matrix, j):
        source, here = u32(staging + box_bytes * (j % buffers)), s32(col + min(width * j, last))
        if down:
            line, which = placed(here, matrix)
            tma_store_3d_if(has_lines(leader, here, matrix), map_c, source, s32(row), s32(line), s32(which))
        else:
            line, which = placed(row, matrix)
            tma_store_3d_if(has_lines(leader, row, matrix), map_c, source, here, s32(line), s32(which))
        bulk_commit_group_if(leader)

    def always(leader, line, end):
        return leader

    def ahead_of_end(leader, line, end):
        return s32(leader * (line < end))

    has_lines = ahead_of_end if config.windows[2] else always
    return write, copy


def make_store_tma(config):
    """store(acc, staging address, t, named barrier, c, map of C, row, column, matrix, extent): through shared memory and
    TMA; c: as of `epilogue`.

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

    def store_at_once(acc, staging, t, barrier, c, map_c, row, col, matrix, extent):
        leader = s32(t == 0)
        all_free(leader)
        bar_sync_some(u32(barrier), u32(128))
        for j in range(boxes):
            write(acc, staging, t, c, row, col, extent, j)
        fence_proxy_async()
        bar_sync_some(u32(barrier), u32(128))
        for j in range(boxes):
            copy(leader, staging, map_c, row, col, matrix, j)

    def store_by_boxes(acc, staging, t, barrier, c, map_c, row, col, matrix, extent):
        leader = s32(t == 0)
        for j in range(boxes):
            if j < left:
                young_free(leader)
            else:
                one_free(leader)
            bar_sync_some(u32(barrier), u32(128))
            write(acc, staging, t, c, row, col, extent, j)
            fence_proxy_async()
            bar_sync_some(u32(barrier), u32(128))
            copy(leader, staging, map_c, row, col, matrix, j)

    return store_at_once if buffers >= boxes else store_by_boxes


def make_store_pair(config):
    """store(at, step, low, high, left): two neighbours of a row of C, as far as `left` columns exist, from address `at` on,
    `step` bytes apart; the column is even.

    Where their address is a multiple of their size one store writes both. Four lanes then fill a sector of 32 bytes of f32
    or s32 at once; with two stores they write it twice, and int8 products took 20 percent longer (geometric mean of 80
    configurations on an H100: tests/data/h100_pairs.json). It is asked of each two: kept for a line, the answer took a
    register more, and tiles spilled that an epilogue of five parts and `split` leave 40 registers."""
    pack, size = cvt_rn_bf16x2_f32 if config.out == "bf16" else cvt_rn_f16x2_f32, 2 * TYPES[config.out].bytes
    of_words = {"f32": (st_global_f32, st_global_v2_f32), "s32": (st_global_b32, st_global_v2_b32)}
    one, both = of_words.get(config.out, (None, None))

    def apart(at, step, low, high, left):
        if left > 0:
            one(at, low)
        if left > 1:
            one(at + step, high)

    def packed_apart(at, step, low, high, left):
        pair = pack(high, low)
        if left > 0:
            st_global_b16(at, pair)
        if left > 1:
            st_global_b16(at + step, pair >> 16)

    def packed(at, low, high):
        st_global_b32(at, pack(high, low))

    one_by_one, together = (apart, both) if one else (packed_apart, packed)

    def whole(at, step, low, high, left):
        if left > 0:                                     # TMA's lines start on 16 bytes, and so no pair ends a line
            together(at, low, high)

    def where_aligned(at, step, low, high, left):
        aligned = u32(at % u64(size)) == u32(0)          # first: behind `left > 1` it is a branch more, and spilled
        if left > 1 and aligned:
            together(at, low, high)
        else:
            one_by_one(at, step, low, high, left)

    if config.c_major == "M":                            # neighbours of the transpose are none of C's
        return one_by_one
    return whole if config.store == "tma" else where_aligned


def make_store_quad(config):
    """store(c, row, col, extent, v0, v1, v2, v3): the elements (row, column), (row, column + 1), (row + 8,
    column) and (row + 8, column + 1) of C as far as they exist, as four neighbouring accumulators hold them; the column is
    even. c, and in extent, (M, N, lines), the lines: as of `epilogue`."""
    steps, (begin, finish), address_of = make_steps(config), make_finish(config), make_address_of(config)
    store_pair = make_store_pair(config)

    def store(c, row, col, extent, v0, v1, v2, v3):
        M, N, lines = extent
        v0, v1, v2, v3 = finish(begin(c, row, col, 0, extent), col, 0, extent, v0, v1, v2, v3)
        row_step, col_step = steps(lines)
        first = address_of(c) + u64(row) * row_step + u64(col) * col_step
        if row < M:
            store_pair(first, col_step, v0, v1, N - col)
        if row + 8 < M:
            store_pair(first + u64(8) * row_step, col_step, v2, v3, N - col)

    return store


def make_store_direct(config):
    """store(acc, t, c, row, col, extent): every thread writes its own elements; C may lie anywhere.

    row, col: the first of the warpgroup's 64 rows of the tile; c, extent: as of `make_store_quad`. NVVM leaves a loop over
    32 groups as it is where they are scaled (see `make_advance`), so that there is one for each half.
    """
    store_quad, groups = make_store_quad(config), config.tile_n // 8
    at_once, half = gcd(groups, 4), groups // 2
    advance = make_advance(config, 4 * at_once)

    def store(acc, t, c, row, col, extent):
        first_row, first_col = s32(row + t // 32 * 16 + t % 32 // 4), s32(col + t % 4 * 2)
        for j in range(half):
            store_quad(c, first_row, s32(first_col + 8 * j), extent, acc[4 * j], acc[4 * j + 1], acc[4 * j + 2],
                       acc[4 * j + 3])
        for j in range(half, groups):
            store_quad(c, first_row, s32(first_col + 8 * j), extent, acc[4 * j], acc[4 * j + 1], acc[4 * j + 2],
                       acc[4 * j + 3])

    def store_in_turns(acc, t, c, row, col, extent):
        first_row, first_col = s32(row + t // 32 * 16 + t % 32 // 4), s32(col + t % 4 * 2)
        for j in range(0, groups, at_once):
            for i in range(at_once):
                store_quad(c, first_row, s32(first_col + 8 * (j + i)), extent, acc[4 * i], acc[4 * i + 1], acc[4 * i + 2],
                           acc[4 * i + 3])
            advance(acc)

    return store_in_turns if config.epilogue else store
