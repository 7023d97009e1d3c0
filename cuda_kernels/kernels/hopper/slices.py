"""Tiles that the CTAs of a cluster cut along K; they add up their parts through distributed shared memory.

As `split`, it keeps SMs busy that the tiles of the last wave leave idle; it costs no workspace in global memory, and
the wait of a cluster instead of the GPU's. The parts are added in order, the first one first: the same bits in every run.
Work comes in the same units. Full waves of tiles are whole, so that a unit's part is the CTA's rank in its cluster.
"""

from cuda_kernels.emitted.wgmma import exchange
from cuda_kernels.intrinsics import bar_sync_some, cluster_sync, s32, u32
from cuda_kernels.kernels.hopper.order import quotient
from cuda_kernels.kernels.hopper.parts import make_store_quad
from cuda_kernels.kernels.hopper.sums import SUMS


def make_add_slices(config):
    """add(acc, stages, t, consumer, part, c, row, col, extent): writes this CTA's share of the columns of the consumer's
    64 rows of C, summed over the cluster. All stages must have been multiplied.

    stages: shared address where they were; c: address of the matrix; row, col: the consumer's first ones; extent: (M, N,
    elements from line to line). All threads of the cluster meet once in `cluster_sync` meanwhile, the producers' too; it is
    the last thing that a CTA works on.
    """
    slices, groups, store_quad = config.slices, config.tile_n // 8, make_store_quad(config)
    share, shared = SUMS[config.sums].share, SUMS[config.sums].shared
    part_bytes, consuming = 256 * config.tile_n, 128 * config.consumers
    at_once = -(-groups // slices)                       # so many loads are under way together

    def add(acc, stages, t, consumer, part, c, row, col, extent):
        mine = s32(stages + part_bytes * consumer)
        bar_sync_some(u32(8), u32(consuming))            # no consumer's products read the stages any more
        for j in range(groups):
            share(u32(mine + exchange(t, j)), acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3])
        cluster_sync()
        at_row, at_col = s32(row + t // 32 * 16 + t % 32 // 4), s32(col + t % 4 * 2)
        first, last = quotient(part * groups, slices), quotient((part + 1) * groups, slices)
        for i in range(at_once):
            at = u32(mine + exchange(t, s32(min(first + i, groups - 1))))
            s0, s1, s2, s3 = shared(at, u32(0))
            for other in range(1, slices):
                p0, p1, p2, p3 = shared(at, u32(other))
                s0, s1, s2, s3 = s0 + p0, s1 + p1, s2 + p2, s3 + p3
            acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3] = s0, s1, s2, s3
        for i in range(at_once):
            if first + i < last:
                store_quad(c, at_row, s32(at_col + 8 * (first + i)), extent, acc[4 * i], acc[4 * i + 1], acc[4 * i + 2],
                           acc[4 * i + 3])

    return add
