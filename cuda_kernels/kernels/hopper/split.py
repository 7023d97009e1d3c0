"""Tiles that several CTAs compute together, each a part of K, where there are too few tiles to keep all SMs busy.

Work comes in units: first `whole` tiles, one unit each, then the tiles that are left, cut into `parts` units along K. A CTA
has at most one unit of a cut tile. It writes its sums, f32 or s32, to a workspace, waits until all parts of the tile are
there, and adds up its share of the tile's columns, the first part first: the same order, and so the same bits, in every run.
CTAs wait for one another, so all of them must be resident: the launch is cooperative.
"""

from math import gcd

from cuda_kernels.intrinsics import (
    atom_add_acq_rel_gpu,
    bar_sync_some,
    s32,
    st_global_b32,
    u32,
    u64,
    wait_global_at_least,
)
from cuda_kernels.kernels.hopper.order import divided, divider
from cuda_kernels.kernels.hopper.parts import make_store_quad
from cuda_kernels.kernels.hopper.sums import SUMS


def loads_at_once(config):
    """Groups of 8 columns that a thread adds up at a time: so many loads, each of which waits for L2, are under way at once.
    As many as do not push the accumulators out of the registers."""
    left = config.consumer_registers - config.accumulators
    most = 1 if left < 40 else 2 if config.consumers > 2 else 4
    return gcd(most, config.tile_n // 8)


def piece_bytes(columns):
    """Bytes of the workspace for one band's sums of one part: f32 or s32 [columns / 8, 128, 4]."""
    return 2048 * (columns // 8)


def part_of(tile, part, steps, by_parts):
    """(tile, part, first step, one past the last step)."""
    return s32(tile), part, divided(part * steps, by_parts), divided((part + 1) * steps, by_parts)


def unit_of(unit, steps, cutting):
    """(tile, part, first step, one past the last step) of unit number `unit`; steps: of a whole tile, at least as many as
    parts; cutting: of `cutting_of`.

    The first parts of all cut tiles come first, then the second ones: CTAs next to one another load the same steps of K,
    and L2 serves what they have in common together. Tile by tile the same took up to 1.26 times as long (measured on an
    H200).

    >>> [unit_of(u, 8, cutting_of(4, 2, 3)) for u in (1, 2, 3, 4)]
    [(1, 0, 0, 8), (2, 0, 0, 2), (3, 0, 0, 2), (2, 1, 2, 5)]
    """
    whole, _, left, by_parts, by_left = cutting
    if unit < whole:
        return s32(unit), s32(0), s32(0), s32(steps)
    cut = s32(unit - whole)
    part = divided(cut, by_left)
    return part_of(whole + cut - part * left, part, steps, by_parts)


def tile_unit(unit, steps, cutting):
    """unit_of where no tile is cut."""
    return s32(unit), s32(0), s32(0), s32(steps)


def cutting_of(tiles, whole, parts):
    """How tiles are cut, as `unit_of` takes it: whole tiles, the parts of each of the others, how many these are, and
    dividers by the parts and by them."""
    left = tiles - whole
    return whole, parts, left, divider(parts), divider(max(left, 1))


def make_reduce(config):
    """reduce(acc, t, barrier, room, piece, share, c, row, col, extent): writes this CTA's share of the columns of a
    band of 64 rows of C, summed over all parts.

    barrier: a named one of the consumer's. room: a workspace, a piece for each (cut tile, part, band), and counters, two u32
    for each (cut tile, band), zero before and after. piece: (number among the cut tiles, band). share: (this part, parts, a
    divider by them). c: address of the matrix; row, col: the band's first ones; extent: (M, N, elements from line to line).
    Rows beyond M are left alone.
    """
    columns, bands = config.tile_n, config.row_bands
    groups, bytes_of_piece = columns // 8, piece_bytes(columns)
    rounds = groups // loads_at_once(config)
    come, leave = make_counting()
    offer_four = SUMS[config.sums].offer
    store_share = make_store_share(config)

    def offer(acc, mine):
        """This CTA's products to its piece of the workspace."""
        for j in range(groups):
            offer_four(mine + u64(2048 * j), acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3])

    def reduce(acc, t, barrier, room, piece, share, c, row, col, extent):
        workspace, counters = room
        (tile, band), (part, parts, by_parts), (M, _, _) = piece, share, extent
        first = workspace + u64(bytes_of_piece) * u64(tile * parts * bands + band) + u64(16 * t)
        mine = first + u64(bytes_of_piece * bands) * u64(part)
        counter = counters + u64(8 * (bands * tile + band))
        warp_row = s32(row + t // 32 * 16)
        if warp_row < M:
            offer(acc, mine)
        bar_sync_some(u32(barrier), u32(128))
        come(counter, parts, t)
        bar_sync_some(u32(barrier), u32(128))
        at_row, at_col = s32(warp_row + t % 32 // 4), s32(col + t % 4 * 2)
        turn, last = divided(part * rounds, by_parts), divided((part + 1) * rounds, by_parts)
        while turn < last:
            if warp_row < M:
                store_share(acc, turn, first, parts, c, at_row, at_col, extent)
            turn = s32(turn + 1)
        bar_sync_some(u32(barrier), u32(128))
        leave(counter, parts, t)

    return reduce


def make_counting():
    """(come(counter, parts, t), leave(counter, parts, t)): thread t = 0 counts a CTA in and waits for all parts; counts it
    out, and the last one sets both counters back."""
    def come(counter, parts, t):
        if t == 0:
            atom_add_acq_rel_gpu(counter, u32(1))
            wait_global_at_least(counter, u32(parts))

    def leave(counter, parts, t):
        if t == 0:
            if atom_add_acq_rel_gpu(counter + u64(4), u32(1)) == parts - 1:
                st_global_b32(counter, 0)
                st_global_b32(counter + u64(4), 0)

    return come, leave


def make_store_share(config):
    """store_share(acc, turn, first, parts, c, row, col, extent): a turn's groups of 8 columns, summed over the parts from
    address `first` on, to C."""
    at_once, store_quad = loads_at_once(config), make_store_quad(config)
    from_part_to_part, taken = piece_bytes(config.tile_n) * config.row_bands, SUMS[config.sums].taken

    def add_up(acc, source, parts):
        """acc[4 i ...]: of the groups of 8 columns from `source` on, the sums over the parts."""
        for i in range(at_once):
            acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3] = taken(source + u64(2048 * i))
        for _ in range(parts - 1):
            source = source + u64(from_part_to_part)
            for i in range(at_once):
                p0, p1, p2, p3 = taken(source + u64(2048 * i))
                acc[4 * i] += p0
                acc[4 * i + 1] += p1
                acc[4 * i + 2] += p2
                acc[4 * i + 3] += p3

    def store_share(acc, turn, first, parts, c, row, col, extent):
        j = s32(at_once * turn)
        add_up(acc, first + u64(2048) * u64(j), parts)
        for i in range(at_once):
            store_quad(c, row, s32(col + 8 * (j + i)), extent, acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3])

    return store_share
