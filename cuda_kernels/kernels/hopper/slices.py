"""Tiles that the CTAs of a cluster cut along K; they add up their parts in shared memory.

As `split`, it keeps SMs busy that the tiles of the last wave leave idle, and costs no workspace in global memory. Each CTA
owns some of the tile's columns: all send their sums of these to its shared memory, where they complete on an mbarrier of the
consumer (st.async), and it adds them up in order, the first part first: the same bits in every run. So nobody waits for the
others but for what he needs of them. Work comes in the same units, each of the CTAs that share loads. Full waves of tiles
are whole, so that a unit's part is its number in the cluster.

A configuration asks here for bytes; what is emitted is imported where a kernel is made.
"""

from cuda_kernels.intrinsics import mbarrier_arrive_expect_tx, mbarrier_wait, s32, u32
from cuda_kernels.kernels.hopper.order import divided, quotient
from cuda_kernels.kernels.hopper.parts import make_store_quad
from cuda_kernels.kernels.hopper.split import part_of, piece_bytes
from cuda_kernels.kernels.hopper.sums import SUMS


def slice_of(unit, steps, cutting):
    """unit_of for slices, tile by tile: the slices of a tile are the CTAs of one cluster.

    >>> from cuda_kernels.kernels.hopper.split import cutting_of
    >>> [slice_of(u, 8, cutting_of(4, 2, 3)) for u in (1, 2, 3, 4)]
    [(1, 0, 0, 8), (2, 0, 0, 2), (2, 1, 2, 5), (2, 2, 5, 8)]
    """
    whole, parts, _, by_parts, _ = cutting
    if unit < whole:
        return s32(unit), s32(0), s32(0), s32(steps)
    cut = s32(unit - whole)
    tile = divided(cut, by_parts)
    return part_of(whole + tile, s32(cut - tile * parts), steps, by_parts)


def owned_at_most(columns, slices):
    """Groups of 8 columns of a tile of so many that each of its slices adds up at most.

    >>> owned_at_most(80, 3)
    4
    """
    return -(-columns // 8 // slices)


def exchanged_bytes(columns, slices):
    """Bytes of shared memory for the parts of what a slice adds up of 64 rows of a tile of so many columns; 0 where no tile
    is cut into slices.

    >>> exchanged_bytes(64, 4), exchanged_bytes(80, 3), exchanged_bytes(80, 1)
    (16384, 24576, 0)
    """
    return slices * piece_bytes(8 * owned_at_most(columns, slices)) if slices > 1 else 0


def first_owned(part, groups, slices):
    """The first of a tile's groups of 8 columns that the CTA with this part owns; it owns those up to the next part's."""
    return quotient(part * groups, slices)


def owners(groups, slices):
    """((owner, how many of its groups come before), ...) of each group of 8 columns of a tile.

    >>> owners(5, 3)
    ((0, 0), (1, 0), (1, 1), (2, 0), (2, 1))
    """
    first = [part * groups // slices for part in range(slices + 1)]
    return tuple((part, j - first[part]) for part in range(slices) for j in range(first[part], first[part + 1]))


def make_add_slices(config, places, ctas):
    """add(acc, smem, t, consumer, part, c, row, col, extent): writes this CTA's share of the columns of the consumer's
    64 rows of C, summed over the CTAs that have parts of its tile.

    c: address of the matrix; row, col: the consumer's first ones; extent: (M, N, elements from line to line). It is the last
    thing that a CTA works on. All CTAs of the cluster must have begun.
    """
    from cuda_kernels.emitted.wgmma import exchange

    slices, groups, store_quad = config.slices, config.tile_n // 8, make_store_quad(config)
    send, held = SUMS[config.sums].send, SUMS[config.sums].held
    most, own_bytes, part_bytes = owned_at_most(config.tile_n, slices), config.exchanged_bytes, slices * piece_bytes(8)
    at_parts, at_come, to = places.parts, places.come, owners(groups, slices)
    sharing, rank = config.sharing, ctas.rank

    def send_all(acc, mine, come, t, part):
        for j in range(groups):
            owner, i = to[j]
            at, cta = u32(mine + exchange(t, s32(slices * i + part))), u32(sharing * owner + rank())
            send(at, come, cta, acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3])

    def add_up(acc, mine, t, owned):
        """acc[4 i ...]: of the groups that this CTA owns, the sums over all parts; the last one's again where it owns fewer
        than others."""
        for i in range(most):
            at = s32(slices * min(i, owned - 1))
            s0, s1, s2, s3 = held(u32(mine + exchange(t, at)))
            for other in range(1, slices):
                p0, p1, p2, p3 = held(u32(mine + exchange(t, s32(at + other))))
                s0, s1, s2, s3 = s0 + p0, s1 + p1, s2 + p2, s3 + p3
            acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3] = s0, s1, s2, s3

    def add(acc, smem, t, consumer, part, c, row, col, extent):
        mine, come = s32(smem + at_parts + own_bytes * consumer), u32(smem + at_come + 8 * consumer)
        first = first_owned(part, groups, slices)
        owned = s32(first_owned(part + 1, groups, slices) - first)
        if t == 0:
            mbarrier_arrive_expect_tx(come, u32(part_bytes * owned))
        send_all(acc, mine, come, t, part)
        mbarrier_wait(come, u32(0))
        if owned > 0:
            add_up(acc, mine, t, owned)
        at_row, at_col = s32(row + t // 32 * 16 + t % 32 // 4), s32(col + t % 4 * 2 + 8 * first)
        for i in range(most // 2):                       # two loops, as in `make_store_direct`
            if i < owned:
                store_quad(c, at_row, s32(at_col + 8 * i), extent, acc[4 * i], acc[4 * i + 1], acc[4 * i + 2],
                           acc[4 * i + 3])
        for i in range(most // 2, most):
            if i < owned:
                store_quad(c, at_row, s32(at_col + 8 * i), extent, acc[4 * i], acc[4 * i + 1], acc[4 * i + 2],
                           acc[4 * i + 3])

    return add
