"""Where the tiles lie that a CTA works on: in a batch of products, or in groups of rows whose sizes the device alone knows.

In a grouped product every group of rows of A is multiplied by a matrix B of its own. `offsets`, int32 on the device, holds
the row behind the last one of each group; a group that ends where it begins, or before, has no rows, and an end beyond the
rows of A counts as their last. Groups lie along the columns of C where `c_major` is "M". A tile lies in one group: where
it goes on behind the group's last row, TMA brings zeros and stores nothing (`window`).

The tiles of a group come one after another, and so do the groups. Each warp finds for itself in which group a tile lies:
its lanes hold what there is to know of 32 groups, a window, and because the numbers of a CTA's tiles only rise, the window
only moves on. So that takes no more than a look at each 32 groups, and a few shuffles for a tile.
"""

from dataclasses import dataclass

from cuda_kernels.intrinsics import (
    here,
    laneid,
    ld_global_b32,
    redux_sync_add,
    s32,
    shfl_sync_idx,
    shfl_sync_up_or_zero,
    u64,
    vote_sync_count,
)
from cuda_kernels.kernels.hopper.order import divided, quotient, tile_of
from simlayout.hardware.tables.arch import LANES


@dataclass(frozen=True)
class Walk:
    """Device functions that say where tiles lie. The arguments: order, as of `make_body`; tiles_m, tiles_n: rows and columns
    of tiles.

    ordered(order, matrices, M, N): the order with what it takes besides to find a tile; counted(work, tiles_m, tiles_n): the
    work, with the units that there are; begin(order, tiles_m, tiles_n) -> what was seen; find(seen, tile, order, tiles_m,
    tiles_n) -> (what was seen, a place); first_row(place, down), first_col(place, right): of a CTA's tile there;
    of_a(place, batched), of_b: the number of its A or B, if each has its own (batched is 1, else 0), or, of a window, the
    row that it ends with; of_c(place): the number of its C; within(M, N, place): the rows and columns of C as
    far as they go there; bounded(extent, place, order): the same of the extent (M, N, lines).
    """

    ordered: object
    counted: object
    begin: object
    find: object
    first_row: object
    first_col: object
    of_a: object
    of_b: object
    of_c: object
    within: object
    bounded: object


def make_walk(config, ctas):
    """The Walk of a Hopper configuration."""
    return make_grouped_walk(config, ctas) if config.grouped else make_plain_walk(ctas)


def make_plain_walk(ctas):
    """The Walk over a batch of products. A place: (row, column) of its tile, and its matrix."""
    first_row, first_col = ctas.first_row, ctas.first_col

    def ordered(order, matrices, M, N):
        return order

    def counted(work, tiles_m, tiles_n):
        return work

    def begin(order, tiles_m, tiles_n):
        return 0

    def find(seen, tile, order, tiles_m, tiles_n):
        return seen, tile_of(tile, tiles_m, tiles_n, order)

    def row_of(place, down):
        return first_row(place[0], down)

    def col_of(place, right):
        return first_col(place[1], right)

    def of_c(place):
        return place[2]

    def within(M, N, place):
        return M, N

    def bounded(extent, place, order):
        return extent

    return Walk(ordered, counted, begin, find, row_of, col_of, number_of, number_of, of_c, within, bounded)


def number_of(place, batched):
    """The number of a place's A or B."""
    return s32(place[2] * batched)


def end_of_group(place, batched):
    """The row behind the last one of a place's group."""
    return place[4]


def make_window(height):
    """look(order, across, first) -> (first row, row behind the last one, tiles to the end of it in the window) of the group
    of a lane, of the window that begins with group `first`. height: rows of a tile; across: tiles beside one another."""
    def end_of(offsets, i, rows):
        return s32(min(max(s32(ld_global_b32(offsets + u64(4) * u64(i))), 0), rows))

    def bounds(order, i):
        _, offsets, _, _, groups, rows = order
        last = s32(groups - 1)
        first = end_of(offsets, s32(min(max(i - 1, 0), last)), rows)
        return s32(first * (i > 0)), end_of(offsets, s32(min(i, last)), rows)

    def tiles(first, last, across):
        return s32(across * quotient(max(s32(last - first), 0) + height - 1, height))

    def look(order, across, first):
        start, end = bounds(order, s32(first + laneid()))
        upto = tiles(start, end, across)
        for distance in (1, 2, 4, 8, 16):
            upto = s32(upto + shfl_sync_up_or_zero(upto, s32(distance)))
        return start, end, upto

    def count(order, across):
        groups, mine, first = order[4], s32(0), s32(0)
        while first < groups:
            start, end = bounds(order, s32(first + laneid()))
            mine = s32(mine + tiles(start, end, across))
            first = s32(first + LANES)
        return redux_sync_add(mine)

    return look, count


def make_grouped_walk(config, ctas):
    """The Walk over groups of rows. order: (how many of the tiles along a group's rows are walked together, address of the
    offsets, divider by these and all that lie beside them, bytes from the scales of one group's B to those of the next,
    groups, rows). A place: (row, column) of its tile in the group, the group, the group's first row and the one behind its
    last. What was seen: the first group of the window, the tiles before it, and the lane's group."""
    down_columns, (below, beside) = config.c_major == "M", (config.cluster_m, config.cluster_n)
    height = config.tile_n * beside if down_columns else config.tile_m * below
    first_row, first_col, scaled = ctas.first_row, ctas.first_col, config.scaled
    look, count = make_window(height)

    def across(tiles_m, tiles_n):
        return tiles_m if down_columns else tiles_n

    def ordered(order, matrices, M, N):
        group, offsets, by_group, step_scales, _ = order
        return group, offsets, by_group, step_scales, matrices, N if down_columns else M

    def counted(work, tiles_m, tiles_n):
        _, cutting, steps, order = work
        return count(order, across(tiles_m, tiles_n)), cutting, steps, order

    def begin(order, tiles_m, tiles_n):
        start, end, upto = look(order, across(tiles_m, tiles_n), s32(0))
        return s32(0), s32(0), start, end, upto

    def find(seen, tile, order, tiles_m, tiles_n):
        first, before, start, end, upto = seen
        wide, groups, total = across(tiles_m, tiles_n), order[4], shfl_sync_idx(upto, s32(LANES - 1))
        while tile >= before + total and first + LANES < groups:
            first, before = s32(first + LANES), s32(before + total)
            start, end, upto = look(order, wide, first)
            total = shfl_sync_idx(upto, s32(LANES - 1))
        at = vote_sync_count(s32(before + upto <= tile))
        mine, last = shfl_sync_idx(start, at), shfl_sync_idx(end, at)
        long = quotient(last - mine + height - 1, height)
        index = s32(tile - before - shfl_sync_idx(upto, at) + wide * long)
        along, beside = place_in(index, long, wide, order)
        row, col = (beside, along) if down_columns else (along, beside)
        return (first, before, start, end, upto), (row, col, s32(first + at), mine, last)

    def place_in(index, long, wide, order):
        """`order.tile_of` of tile number `index` of a group of so many tiles along its rows, and so many beside these."""
        together, by_together = order[0], order[2]
        above = s32(together * divided(index, by_together))
        rest, high = s32(index - above * wide), s32(min(together, long - above))
        beside = quotient(rest, high)
        return s32(above + rest - beside * high), beside

    def row_of(place, down):
        row = first_row(place[0], down)
        return row if down_columns else s32(place[3] + row)

    def col_of(place, right):
        col = first_col(place[1], right)
        return s32(place[3] + col) if down_columns else col

    def of_c(place):
        return s32(0)

    def within(M, N, place):
        return (M, place[4]) if down_columns else (place[4], N)

    def bounded(extent, place, order):
        M, N, lines = extent
        last, lines = here(place[4]), scales_of(lines, here(place[2]), order)
        return (M, last, lines) if down_columns else (last, N, lines)

    def plain_lines(lines, group, order):
        return lines

    def of_group(lines, group, order):
        """lines, with the scales of the group's B."""
        pitch, of_a, of_b, added = lines
        step = u64(order[3]) * u64(group)
        if down_columns:
            return pitch, (of_a[0] + step, of_a[1], of_a[2]), of_b, added
        return pitch, of_a, (of_b[0] + step, of_b[1], of_b[2]), added

    scales_of = of_group if scaled else plain_lines
    of_a, of_b = (end_of_group if window else number_of for window in config.windows[:2])
    return Walk(ordered, counted, begin, find, row_of, col_of, of_a, of_b, of_c, within, bounded)
