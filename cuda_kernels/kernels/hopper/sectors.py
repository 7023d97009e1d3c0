"""C stored row by row, each row of a tile by a copy of its own that begins and ends on whole sectors of 32 bytes.

Where lines of C start on an odd multiple of 16 bytes, the edges of tiles cut through a sector in every other line. Two CTAs
then write a part of it each, and L2 reads the sector from DRAM before it can write it back: of 14608 lines of 28624 bytes
an NVIDIA H100 wrote tiles of 128 columns in 154 to 307 microseconds, and in 153 where lines are 48 bytes longer (DRAM's
reads: 17.6 MB against 7 KB; a program that only writes, by hand, driver 580.159.04, 2026-11-24).

So tiles overlap by LAP columns, and each line of a tile is stored from the first whole sector on: from the tile's first
column, or LAP columns behind it.
"""

from cuda_kernels.intrinsics import (
    bar_sync_some,
    bulk_commit_group_if,
    bulk_store,
    bulk_wait_group_read_if,
    fence_proxy_async,
    s32,
    u32,
    u64,
)
from cuda_kernels.kernels.hopper.epilogue import make_lines

LAP = 8
"""Columns of 2 bytes that neighbouring tiles have in common: a line starts on a sector, or 16 bytes into one."""

PITCH = 200
"""Columns from line to line of the staging, at most those of a tile: an odd multiple of 16 bytes, so that eight lines lie in
different banks."""

STAGING_BYTES = 64 * 2 * PITCH
"""Bytes of a staging buffer, of 64 rows."""


def run_of(line, col, step, N):
    """(first column, one more than the last) that a tile stores of a line of C: `step` columns from its own first one on,
    `col`, moved to whole sectors; of the first tile all from 0 on. line: the line's address, a multiple of 16.

    >>> [run_of(0, col, 128, 264) for col in (0, 128, 256)]
    [(0, 128), (128, 256), (256, 264)]
    >>> [run_of(528, col, 128, 264) for col in (0, 128, 256)]
    [(0, 136), (136, 264), (264, 264)]
    """
    shift = s32(line % u64(32)) >> 1                     # LAP, or none
    first, last = s32(col + shift), s32(col + shift + step)
    return (first if col > 0 else s32(0)), (last if last < N else N)


def make_store_sectors(config, write):
    """store(acc, staging address, t, named barrier, address of C, row, column, extent): 64 rows of C through the staging.
    write(acc, staging, t, row, col, extent): what writes them there; the first 64 threads copy a line each.
    """
    (pitch, _), step, buffers = make_lines(config), config.step_n, config.buffers
    one_free = bulk_wait_group_read_if(buffers - 1)

    def store(acc, staging, t, barrier, c, row, col, extent):
        M, N, lines = extent
        storing, own_row = s32(t < 64), s32(row + t)
        staging = s32(staging + STAGING_BYTES * (row // 64 % buffers))
        one_free(storing)
        bar_sync_some(u32(barrier), u32(128))
        write(acc, staging, t, row, col, extent)
        fence_proxy_async()
        bar_sync_some(u32(barrier), u32(128))
        if t < 64 and own_row < M:
            line = c + u64(own_row) * (u64(2) * u64(pitch(lines)))
            first, end = run_of(line, col, step, N)
            if first < end:
                source = s32(staging + 2 * PITCH * t + 2 * (first - col))
                bulk_store(line + u64(2) * u64(first), u32(source), u32(2 * (end - first)))
        bulk_commit_group_if(storing)

    return store
