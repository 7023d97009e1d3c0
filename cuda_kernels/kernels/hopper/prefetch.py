"""What a CTA fetches to L2 while it waits for the kernel ahead of it.

Until that kernel has ended nothing may be read that it may write; but what SMs write meets in L2, so to bring data there is
right whatever it writes. The CTAs that a kernel has when the one ahead still runs (`Hopper.early`) so use the DRAM that this
one leaves idle while it ends.
"""

from cuda_kernels.intrinsics import s32, tma_prefetch_3d, u32
from cuda_kernels.kernels.hopper.parts import make_load

AHEAD = 2
"""Steps along K that are fetched of what a CTA multiplies first. In a row, with early beginnings, 85 products on an H100
took 1.2 percent less with 1, 1.5 with 2, 1.6 with 3 and 4, 1.1 with 6 (geometric means), and at most 1.5 percent more with
2, 4.5 with 3; products that begin late, or wait, took as long with 2 as without (tests/data/h100_ahead.json)."""


def make_prefetch(config, ctas, unit_at, walk):
    """prefetch(rank, source, tiles_m, tiles_n, work), by one thread; the arguments: as of `produce`.

    CTAs that want the same of A or B, because their tiles lie in one row or column, take turns: each step is fetched by one
    of them. Where all fetched all, TMA was busy with it when the loads came, and 2 steps cost 0.8 percent (the same record).
    """
    def fetch(address, tensor_map, mbarrier, c0, c1, c2):
        tma_prefetch_3d(tensor_map, c0, c1, c2)

    def fetch_part(address, tensor_map, mbarrier, to, c0, c1, c2):
        tma_prefetch_3d(tensor_map, c0, c1, c2)

    below, beside, depth = config.cluster_m, config.cluster_n, config.depth
    fetch_a = make_load(config.a_major, config.tile_m, config.dtype, beside, fetch, fetch_part)
    fetch_b = make_load(config.b_major, config.operands[1].rows, config.dtype, below, fetch, fetch_part)
    place_of, first_unit, find = ctas.place, ctas.first_unit, walk.find
    first_row, first_col, of_a, of_b = walk.first_row, walk.first_col, walk.of_a, walk.of_b

    def prefetch(rank, source, tiles_m, tiles_n, work):
        map_a, map_b, batched_a, batched_b = source
        units, cutting, steps, order = work
        unit = first_unit()
        if unit < units:
            tile, _, step, end = unit_at(unit, steps, cutting)
            _, place = find(0, tile, order, tiles_m, tiles_n)
            down, right = place_of(rank)
            row, col = first_row(place, down), first_col(place, right)
            which_a, which_b = of_a(place, batched_a), of_b(place, batched_b)
            behind = s32(min(step + AHEAD, end))
            i = s32(step + place[1])
            while i < behind:
                fetch_a(s32(0), map_a, u32(0), row, s32(depth * i), which_a, right, u32(0))
                i = s32(i + tiles_n)
            i = s32(step + place[0])
            while i < behind:
                fetch_b(s32(0), map_b, u32(0), col, s32(depth * i), which_b, down, u32(0))
                i = s32(i + tiles_m)

    return prefetch
