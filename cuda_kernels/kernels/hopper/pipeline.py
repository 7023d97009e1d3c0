"""What kernels share whose stages TMA fills: the ring of stages with their mbarriers, and the CTAs of a cluster.

full[s] counts the bytes of stage s, empty[s] those who have read it. The CTAs of a cluster work on neighbouring tiles,
`cluster_m` below one another and `cluster_n` beside one another: of the rows of A that it shares with those beside it each
loads a part and sends it to all of them, and so of the columns of B with those below it. So empty[s] counts the readers of
all that a CTA sends to, which are those that it receives from.
"""

from dataclasses import dataclass

from cuda_kernels.intrinsics import (
    cluster_ctarank,
    ctaid_x,
    fence_mbarrier_init,
    mbarrier_arrive_cluster_if,
    mbarrier_arrive_if,
    mbarrier_init,
    nctaid_x,
    prefetch_tensormap,
    s32,
    u32,
)
from cuda_kernels.kernels.hopper.order import quotient


@dataclass(frozen=True)
class Ring:
    """Device functions of a ring of stages: next_stage(stage); next_parity(parity, stage), before the stage moves on;
    begin(smem, map_a, map_b), by one thread, sets up the mbarriers, full from byte `at_full` on and empty behind them."""

    next_stage: object
    next_parity: object
    begin: object


def make_ring(stages, at_full, readers, writers=1, others=0):
    """The Ring of `stages` stages; readers: arrivals that release one; writers: those that fill it, beside the bytes;
    others: how many mbarriers of one arrival lie behind those of the stages."""
    last, at_empty = stages - 1, at_full + 8 * stages

    def next_stage(stage):
        return s32(stage + 1) if stage < last else s32(0)

    def next_parity(parity, stage):
        return parity if stage < last else s32(1 - parity)

    def begin(smem, map_a, map_b):
        prefetch_tensormap(map_a)
        prefetch_tensormap(map_b)
        for i in range(stages):                          # by one thread: at an address per lane, 32 ns each (measured)
            mbarrier_init(u32(smem + at_full + 8 * i), u32(writers))
            mbarrier_init(u32(smem + at_empty + 8 * i), u32(readers))
        for i in range(others):
            mbarrier_init(u32(smem + at_empty + 8 * (stages + i)), u32(1))
        fence_mbarrier_init()

    return Ring(next_stage, next_parity, begin)


@dataclass(frozen=True)
class Cluster:
    """Device functions of a CTA's place among those that share its loads.

    peers: CTAs that a release is told to; rank(): among those that share loads; place(rank): which of the CTAs below one
    another, which of those beside one another; of_row(down), of_col(right): those that get a part of its rows of A, of its
    columns of B, as bits; first_row, first_col: of its tile of C; first_unit(), next_unit(unit): the work of those that
    share loads; teller(t, down, right): what release(t, teller, condition, address) takes with thread t = 0, 1, ...: alone,
    whether it is the one that tells, in a cluster the CTA that it tells, which are those below and above, then those beside.
    """

    peers: int
    rank: object
    place: object
    of_row: object
    of_col: object
    first_row: object
    first_col: object
    first_unit: object
    next_unit: object
    teller: object
    release: object


def make_release(below, beside, first):
    """(teller, release) of `Cluster`; first(): the rank of the first CTA that shares loads with this one."""
    peers = below + beside - 1

    def leader(t, down, right):
        return s32(t == 0)

    def peer_of(t, down, right):
        if below == 1 or beside == 1:
            return s32(first() + t)
        other, near = s32(t - below), s32(t < below)
        return s32(first() + near * (t + below * right) + (1 - near) * (down + below * (other + (other >= right))))

    def release_own(t, teller, condition, address):
        mbarrier_arrive_if(s32(teller * condition), address)

    def release_cluster(t, teller, condition, address):
        mbarrier_arrive_cluster_if(s32((t < peers) * condition), address, u32(teller))

    return (leader, release_own) if below * beside == 1 else (peer_of, release_cluster)


def make_cluster(config):
    """The Cluster of a Hopper configuration. Of one with slices, those that share loads follow one another."""
    rows, cols, below, beside, size = (config.tile_m, config.step_n, config.cluster_m, config.cluster_n, config.sharing)
    first_row_of_ctas, slices = sum(1 << below * i for i in range(beside)), config.slices

    def rank():
        if slices > 1:
            return s32(cluster_ctarank() - first())
        return cluster_ctarank() if size > 1 else s32(0)

    def first():
        return s32(size * quotient(cluster_ctarank(), size)) if slices > 1 else s32(0)

    def place(rank):
        if below == 1:
            return s32(0), rank
        return (rank, s32(0)) if beside == 1 else (s32(rank % below), s32(rank // below))

    def of_row(down):
        return u32(first_row_of_ctas << s32(first() + down))

    def of_col(right):
        return u32(((1 << below) - 1) << s32(first() + below * right))

    def first_row(tile_row, down):
        return s32(rows * (below * tile_row + down)) if below > 1 else s32(rows * tile_row)

    def first_col(tile_col, right):
        return s32(cols * (beside * tile_col + right)) if beside > 1 else s32(cols * tile_col)

    def first_unit():
        return ctaid_x() if size == 1 else quotient(ctaid_x(), size)

    def next_unit(unit):
        return s32(unit + nctaid_x()) if size == 1 else s32(unit + quotient(nctaid_x(), size))

    return Cluster(below + beside - 1, rank, place, of_row, of_col, first_row, first_col, first_unit, next_unit,
                   *make_release(below, beside, first))
