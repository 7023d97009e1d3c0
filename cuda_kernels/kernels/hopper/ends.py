"""C where a group of rows ends within a tile: TMA would write over the next group's rows, so threads copy what there is.

The tile is staged as for TMA, box by box; then each thread reads 16 bytes of a line (a row of C, or a column where C is
stored by columns) where the swizzle has them, and stores them if the line is the group's.
"""

from cuda_kernels.intrinsics import (
    bar_sync_some,
    bulk_wait_group_read_if,
    ld_volatile_shared_b128,
    s32,
    st_global_b16,
    st_global_b128,
    u32,
    u64,
)
from cuda_kernels.kernels.hopper.epilogue import make_lines
from cuda_kernels.kernels.hopper.parts import make_store_box

THREADS = 128
"""Of a consumer."""


def make_copy_lines(config):
    """copy(staging, t, c, row, col, extent, j): box j of a tile from its staging buffer, 16 bytes per thread at a time."""
    (pitch, _), down, width, buffers = make_lines(config), config.c_major == "M", config.box_n, config.buffers
    starts, box_bytes, turns = config.box_starts, 128 * width, 64 * width // 8 // THREADS
    chunks = 8 if down else width // 8                   # of 16 bytes in a line of the box
    swizzled = chunks - 1

    def copy(staging, t, c, row, col, extent, j):
        M, N, lines = extent
        first_line, lines_end = (s32(col + starts[j]), N) if down else (row, M)
        first, end = (row, M) if down else (s32(col + starts[j]), N)
        for i in range(turns):
            chunk = s32(t + THREADS * i)
            line, at = s32(first_line + chunk // chunks), s32(first + 8 * (chunk % chunks))
            byte = s32(16 * chunk)
            source = s32(staging + box_bytes * (j % buffers) + (byte ^ (byte >> 7 & swizzled) << 4))
            w0, w1, w2, w3 = ld_volatile_shared_b128(u32(source))
            target = c + u64(line) * (u64(2) * u64(pitch(lines))) + u64(2) * u64(at)
            if line < lines_end and at + 8 <= end:
                st_global_b128(target, w0, w1, w2, w3)
            elif line < lines_end:
                store_some(target, s32(end - at), w0, w1, w2, w3)

    def store_some(target, left, w0, w1, w2, w3):
        words = w0, w1, w2, w3
        for k in range(4):
            if left > 2 * k:
                st_global_b16(target + u64(4 * k), words[k])
            if left > 2 * k + 1:
                st_global_b16(target + u64(4 * k + 2), words[k] >> 16)

    return copy


def make_store_end(config):
    """store(acc, staging address, t, named barrier, address of C, row, column, extent): a band of 64 rows of a tile as far
    as extent goes."""
    (write, _), copy, boxes = make_store_box(config), make_copy_lines(config), len(config.box_starts)
    all_free = bulk_wait_group_read_if(0)

    def store(acc, staging, t, barrier, c, row, col, extent):
        all_free(s32(t == 0))
        for j in range(boxes):
            bar_sync_some(u32(barrier), u32(THREADS))    # nobody reads the buffer any more
            write(acc, staging, t, c, row, col, extent, j)
            bar_sync_some(u32(barrier), u32(THREADS))
            copy(staging, t, c, row, col, extent, j)

    return store
