"""The producers of `wgmma_persistent`: one thread that has TMA fill the stages, as far ahead as they are free, and, where
each stage has scales of its own, a warp that copies these."""

from cuda_kernels.intrinsics import (
    cp_async_ca_4,
    cp_async_mbarrier_arrive,
    laneid,
    mbarrier_arrive_expect_tx,
    mbarrier_wait,
    s32,
    successor,
    u32,
    u64,
)
from cuda_kernels.kernels.hopper.parts import make_load
from cuda_kernels.kernels.hopper.scales import CHUNK, grains_of, own_columns, scale_at, scales_of_stage
from cuda_kernels.kernels.hopper.window import in_matrices, in_window
from simlayout.hardware.tables.arch import LANES


def make_produce(config, places, ring, ctas, unit_at, walk):
    """produce(smem, rank, source, tiles_m, tiles_n, work): loads all that the CTA multiplies, by one thread or, of a grouped
    configuration, by the first one of a warp that finds the tiles together. source: maps of A and of B, whether they have a
    matrix each; tiles_m, tiles_n: rows and columns of tiles; work: as of `make_body`."""
    below, beside, stages = config.cluster_m, config.cluster_n, config.stages
    at_b, bytes_a, bytes_b, at_full, at_empty = places.b, places.a_bytes, places.b_bytes, places.full, places.empty
    placed_a, placed_b = (in_window if window else in_matrices for window in config.windows[:2])
    load_a = make_load(config.a_major, config.tile_m, config.dtype, beside, placed=placed_a)
    load_b = make_load(config.b_major, config.operands[1].rows, config.dtype, below, placed=placed_b)
    next_stage, next_parity, cluster, depth = ring.next_stage, ring.next_parity, config.sharing, config.depth
    place_of, of_row, of_col, first_unit, next_unit = ctas.place, ctas.of_row, ctas.of_col, ctas.first_unit, ctas.next_unit
    begin, find, first_row, first_col, of_a, of_b = (walk.begin, walk.find, walk.first_row, walk.first_col, walk.of_a,
                                                     walk.of_b)
    alone = not config.grouped

    def produce(smem, rank, source, tiles_m, tiles_n, work):
        map_a, map_b, batched_a, batched_b = source
        units, cutting, steps, order = work
        stage, parity = s32(0), s32(1)                   # every stage is free at first: the parity before the first phase
        down, right = place_of(rank)
        to_row, to_col = of_row(down), of_col(right)
        unit, seen = first_unit(), begin(order, tiles_m, tiles_n)
        while unit < units:
            tile, _, step, end = unit_at(unit, steps, cutting)
            seen, place = find(seen, tile, order, tiles_m, tiles_n)
            row, col = first_row(place, down), first_col(place, right)
            which_a, which_b = of_a(place, batched_a), of_b(place, batched_b)
            while step < end and (alone or laneid() == 0):
                full = u32(smem + at_full + 8 * stage)
                mbarrier_wait(u32(smem + at_empty + 8 * stage), u32(parity))
                mbarrier_arrive_expect_tx(full, u32(bytes_a + bytes_b))
                load_a(s32(smem + bytes_a * stage), map_a, full, row, s32(depth * step), which_a, right, to_row)
                load_b(s32(smem + at_b + bytes_b * stage), map_b, full, col, s32(depth * step), which_b, down, to_col)
                parity = next_parity(parity, stage)
                stage = next_stage(stage)
                step = successor(step)
            unit = next_unit(unit)
        if cluster > 1 and (alone or laneid() == 0):
            for _ in range(stages):
                mbarrier_wait(u32(smem + at_empty + 8 * stage), u32(parity))
                parity = next_parity(parity, stage)
                stage = next_stage(stage)

    return produce


def make_copy_scales(config, places):
    """copy(smem, lane, stage, row, col, step, extent): the scales of a stage to shared memory, by a warp: those of the rows
    from `row` on, then those of the columns from `col` on, of number `step` of the 128 of K."""
    (rows_share, columns_share), rows, count = grains_of(config.scaled), config.tile_m, scales_of_stage(config)
    apart, at_scales, scale_bytes = 1 if own_columns(config) else CHUNK, places.scales, config.scale_bytes

    def copy_one(at, i, row, col, step, extent):
        M, N, (_, of_a, of_b, _) = extent
        if i < rows:
            cp_async_ca_4(at, scale_at(of_a, s32(row + i), M, rows_share) + u64(of_a[2]) * u64(step))
        else:
            cp_async_ca_4(at, scale_at(of_b, s32(col + apart * (i - rows)), N, columns_share) + u64(of_b[2]) * u64(step))

    def copy(smem, lane, stage, row, col, step, extent):
        first = s32(smem + at_scales + scale_bytes * stage)
        for j in range(0, count, LANES):
            i = s32(lane + j)
            if i < count:
                copy_one(u32(first + 4 * i), i, row, col, step, extent)

    return copy


def make_produce_scales(config, places, ring, ctas, unit_at, walk):
    """produce(smem, rank, extent, tiles_m, tiles_n, work): copies the scales of all that the CTA multiplies, by one warp;
    extent: M, N, lines as of `scales`; the rest as of `make_produce`."""
    at_full, at_empty, copy = places.full, places.empty, make_copy_scales(config, places)
    next_stage, next_parity = ring.next_stage, ring.next_parity
    place_of, first_unit, next_unit = ctas.place, ctas.first_unit, ctas.next_unit
    begin, find, first_row, first_col, bounded = walk.begin, walk.find, walk.first_row, walk.first_col, walk.bounded

    def produce(smem, rank, extent, tiles_m, tiles_n, work):
        units, cutting, steps, order = work
        stage, parity, lane, unit = s32(0), s32(1), laneid(), first_unit()
        (down, right), seen = place_of(rank), begin(order, tiles_m, tiles_n)
        while unit < units:
            tile, _, step, end = unit_at(unit, steps, cutting)
            seen, place = find(seen, tile, order, tiles_m, tiles_n)
            row, col, here = first_row(place, down), first_col(place, right), bounded(extent, place, order)
            while step < end:
                mbarrier_wait(u32(smem + at_empty + 8 * stage), u32(parity))
                copy(smem, lane, stage, row, col, step, here)
                cp_async_mbarrier_arrive(u32(smem + at_full + 8 * stage))
                parity = next_parity(parity, stage)
                stage = next_stage(stage)
                step = successor(step)
            unit = next_unit(unit)

    return produce
