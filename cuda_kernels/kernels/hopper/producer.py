"""The producer of `wgmma_persistent`: one thread that has TMA fill the stages, as far ahead as they are free."""

from cuda_kernels.intrinsics import mbarrier_arrive_expect_tx, mbarrier_wait, s32, successor, u32
from cuda_kernels.kernels.hopper.order import tile_of
from cuda_kernels.kernels.hopper.parts import make_load


def make_produce(config, places, ring, ctas, unit_at):
    """produce(smem, rank, source, tiles_m, tiles_n, work): loads all that the CTA multiplies. source: maps of A and of B,
    whether they have a matrix each; tiles_m, tiles_n: rows and columns of tiles; work: as of `make_body`."""
    below, beside, stages = config.cluster_m, config.cluster_n, config.stages
    at_b, bytes_a, bytes_b, at_full, at_empty = places.b, places.a_bytes, places.b_bytes, places.full, places.empty
    load_a = make_load(config.a_major, config.tile_m, config.dtype, beside)
    load_b = make_load(config.b_major, config.operands[1].rows, config.dtype, below)
    next_stage, next_parity, cluster, depth = ring.next_stage, ring.next_parity, config.sharing, config.depth
    place, of_row, of_col, first_row, first_col = ctas.place, ctas.of_row, ctas.of_col, ctas.first_row, ctas.first_col
    first_unit, next_unit = ctas.first_unit, ctas.next_unit

    def produce(smem, rank, source, tiles_m, tiles_n, work):
        map_a, map_b, batched_a, batched_b = source
        units, cutting, steps, order = work
        stage, parity = s32(0), s32(1)                   # every stage is free at first: the parity before the first phase
        down, right = place(rank)
        to_row, to_col = of_row(down), of_col(right)
        unit = first_unit()
        while unit < units:
            tile, _, step, end = unit_at(unit, steps, cutting)
            tile_row, tile_col, matrix = tile_of(tile, tiles_m, tiles_n, order)
            row, col = first_row(tile_row, down), first_col(tile_col, right)
            while step < end:
                full = u32(smem + at_full + 8 * stage)
                mbarrier_wait(u32(smem + at_empty + 8 * stage), u32(parity))
                mbarrier_arrive_expect_tx(full, u32(bytes_a + bytes_b))
                load_a(s32(smem + bytes_a * stage), map_a, full, row, s32(depth * step), s32(matrix * batched_a),
                       right, to_row)
                load_b(s32(smem + at_b + bytes_b * stage), map_b, full, col, s32(depth * step), s32(matrix * batched_b),
                       down, to_col)
                parity = next_parity(parity, stage)
                stage = next_stage(stage)
                step = successor(step)
            unit = next_unit(unit)
        if cluster > 1:
            for _ in range(stages):
                mbarrier_wait(u32(smem + at_empty + 8 * stage), u32(parity))
                parity = next_parity(parity, stage)
                stage = next_stage(stage)

    return produce
