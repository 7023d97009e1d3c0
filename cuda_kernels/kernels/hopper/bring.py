"""The scales of a tile's rows and columns, which a consumer copies to shared memory before it multiplies, and reads where it
stores C.

Loads from global memory would keep each box of C waiting there; the copies run while the tensor core works. Each consumer
has the scales of its own rows, and those of all of the tile's columns: none waits for another.
"""

from cuda_kernels.intrinsics import bar_sync_some, cp_async_ca_4, cp_async_commit_group, cp_async_wait_group, s32, u32
from cuda_kernels.kernels.hopper.scales import scale_at
from simlayout.hardware.matrix.wgmma_fragments import THREADS


def make_bring(config, places):
    """(bring(smem, t, consumer, row, col, extent), arrived(consumer), found(extent, brought)) of a configuration with
    scales of lines; of others bring is None, and the others do nothing.

    bring: a consumer's thread copies its share of the scales of the rows from `row` on, and of the columns from `col` on;
    returns the shared addresses of the scales of the first row and column of C, as they would be. arrived: the copies of all
    of the consumer's threads have come. found: the extent (M, N, lines) whose scales are there.
    """
    rows, count = 64 * config.bands, config.lines_scales
    at_scales, nbytes, all_come = places.scales, 4 * config.lines_scales, cp_async_wait_group(0)

    def copy_one(at, i, row, col, extent):
        M, N, (_, of_a, of_b, _) = extent
        if i < rows:
            cp_async_ca_4(at, scale_at(of_a, s32(row + i), M, 1))
        else:
            cp_async_ca_4(at, scale_at(of_b, s32(col + i - rows), N, 1))

    def bring(smem, t, consumer, row, col, extent):
        first = s32(smem + at_scales + nbytes * consumer)
        bar_sync_some(u32(consumer + 1), u32(THREADS))   # nobody reads those of the tile before any more
        for i in range(0, count, THREADS):
            if t + i < count:
                copy_one(u32(first + 4 * (t + i)), s32(t + i), row, col, extent)
        cp_async_commit_group()
        return s32(first - 4 * row), s32(first + 4 * rows - 4 * col)

    def arrived(consumer):
        all_come()
        bar_sync_some(u32(consumer + 1), u32(THREADS))

    def found(extent, brought):
        M, N, (pitch, _, _, added) = extent
        return M, N, (pitch, brought[0], brought[1], added)

    def at_once(consumer):
        pass

    def as_it_is(extent, brought):
        return extent

    return (bring, arrived, found) if config.lines_scales else (None, at_once, as_it_is)
