"""The consumers of `wgmma_persistent`: warpgroups that multiply the stages (`multiply`) and write their rows of C."""

from cuda_kernels.intrinsics import (
    bar_sync_some,
    bulk_wait_group_read_if,
    here,
    mbarrier_wait,
    register_array,
    s32,
    successor,
    u32,
    u64,
)
from cuda_kernels.kernels.hopper.bring import make_bring
from cuda_kernels.kernels.hopper.epilogue import make_lines, make_matrix_of
from cuda_kernels.kernels.hopper.multiply import make_multiply_unit
from cuda_kernels.kernels.hopper.order import quotient
from cuda_kernels.kernels.hopper.parts import make_store_direct, make_store_tma, make_write_lines
from cuda_kernels.kernels.hopper.promote import make_promoted_unit
from cuda_kernels.kernels.hopper.scales import grains_of
from cuda_kernels.kernels.hopper.sectors import make_store_sectors
from cuda_kernels.kernels.hopper.slices import make_add_slices
from cuda_kernels.kernels.hopper.split import make_reduce
from cuda_kernels.kernels.hopper.sums import SUMS
from cuda_kernels.kernels.hopper.turns import make_turns


def make_store(config, places):
    """store(acc, smem, t, consumer, c, row, col, matrix, target): a band of 64 rows of C, by TMA, line by line or directly;
    as of `make_write`. Of a grouped product what ends with the group, and nothing of a band without rows."""
    at_c, staging, store_direct, (_, lines_here) = places.c, places.staging, make_store_direct(config), make_lines(config)
    store_tma = make_store_tma(config) if config.store == "tma" else None
    store_sectors = make_store_sectors(config, make_write_lines(config)) if config.store == "sectors" else None

    def store_by_tma(acc, smem, t, consumer, c, row, col, matrix, target):
        store_tma(acc, s32(smem + at_c + staging * consumer), t, consumer + 1, c, target[0], row, col, matrix, target[3])

    def store_by_sectors(acc, smem, t, consumer, c, row, col, matrix, target):
        store_sectors(acc, s32(smem + at_c + staging * consumer), t, consumer + 1, c, row, col, target[3])

    def store_directly(acc, smem, t, consumer, c, row, col, matrix, target):
        store_direct(acc, t, c, row, col, target[3])

    def store_group_directly(acc, smem, t, consumer, c, row, col, matrix, target):
        M, N, lines = target[3]                          # taken from where they are: else two bands spilled 8 to 332 bytes
        store_direct(acc, here(t), c, row, col, (here(M), here(N), lines_here(lines)))

    def store_group(acc, smem, t, consumer, c, row, col, matrix, target):
        M, N, _ = target[3]
        if row < M and col < N:
            store_by_tma(acc, smem, t, consumer, c, row, col, N if down else M, target)

    down = config.c_major == "M"
    by_tma, directly = (store_group, store_group_directly) if config.grouped else (store_by_tma, store_directly)
    return {"tma": by_tma, "sectors": store_by_sectors, "direct": directly}[config.store]


def make_teller_of(config):
    """teller_of(t): which of those that tell that a stage is free a thread is: of the warpgroup's threads or, where all
    warps tell, of its warp's."""
    def of_all(t):
        return t

    def of_warp(t):
        return s32(t % 32)

    return of_warp if grains_of(config.scaled) else of_all


def make_write(config, places, ctas):
    """write(acc, other, smem, t, consumer, unit, c, row, col, matrix, target): the consumer's bands of C, or, where the unit
    is a part of a tile, this CTA's share of the sum of all parts.

    t: the thread. unit: its number, its part, the number among the cut tiles, and how these are cut (`cutting_of`). c, row,
    col, matrix: of the matrix, as of `epilogue`; the consumer's first row and column; the matrix's number. target: as of
    `make_body`.
    """
    bands, own_bands = config.bands, first_bands(config)
    store, reduce, add_slices = make_store(config, places), make_reduce(config), make_add_slices(config, places, ctas)
    _, lines_here = make_lines(config)

    def write_whole(acc, other, smem, t, consumer, unit, c, row, col, matrix, target):
        store(acc, smem, t, consumer, c, row, col, matrix, target)
        if bands == 2:
            store(other, smem, t, consumer, c, s32(row + 64), col, matrix, target)

    def write_slice(acc, other, smem, t, consumer, unit, c, row, col, matrix, target):
        number, part, _, cutting = unit
        if number >= cutting[0]:
            M, N, lines = target[3]
            add_slices(acc, smem, t, consumer, part, c, row, col, (here(M), here(N), lines_here(lines)))
        else:
            write_whole(acc, other, smem, t, consumer, unit, c, row, col, matrix, target)

    def write_part(acc, other, smem, t, consumer, unit, c, row, col, matrix, target):
        number, part, cut_tile, cutting = unit
        whole, parts, _, by_parts, _ = cutting
        if number >= whole:
            _, _, _, (M, N, lines), room = target
            reduce(acc, here(t), consumer + 1, room, (cut_tile, s32(own_bands * consumer)), (part, here(parts), by_parts),
                   c, row, col, (here(M), here(N), lines_here(lines)))
            if bands == 2:
                reduce(other, here(t), consumer + 1, room, (cut_tile, s32(own_bands * consumer + 1)),
                       (part, here(parts), by_parts), c, s32(row + 64), col, (here(M), here(N), lines_here(lines)))
        else:
            write_whole(acc, other, smem, t, consumer, unit, c, row, col, matrix, target)

    return write_slice if config.slices > 1 else write_part if config.split else write_whole


def make_pass_over(config, ctas, unit_at):
    """pass_over(unit, steps, cutting, stage, parity): of consumers that have a tile each by turns, the CTA's unit behind
    this one, which is the other consumer's, and the stage and parity there."""
    stages, next_unit = config.stages, ctas.next_unit

    def pass_over(unit, steps, cutting, stage, parity):
        _, _, step, end = unit_at(unit, steps, cutting)
        passed = s32(stage + end - step)
        rounds = quotient(passed, stages)
        return next_unit(unit), s32(passed - stages * rounds), s32((parity + rounds) % 2)

    return pass_over


def first_bands(config):
    """How many bands of a tile are each consumer's; 0 where each has all of them."""
    return 0 if config.pingpong else config.bands


def make_has_rows(config, walk):
    """has_rows(place, down, right, consumer, extent): whether a consumer's part of a tile has rows and columns of C. It is
    asked of groups, whose last tiles may be mostly empty; the products of one that has none are left out."""
    (first_row, first_col, within), own_rows = (walk.first_row, walk.first_col, walk.within), 64 * first_bands(config)

    def always(place, down, right, consumer, extent):
        return s32(1)

    def has_rows(place, down, right, consumer, extent):
        M, N = within(extent[0], extent[1], place)
        return s32(first_row(place, down) + own_rows * consumer < M and first_col(place, right) < N)

    return has_rows if config.grouped else always


def make_leave_unit(config, places, ring, ctas):
    """leave(smem, t, tells, consumer, parity, stage, step, end) -> (stage, parity): releases the stages of a unit of work as
    they come, without their products. The warps go from stage to stage together: of one that was a ring behind or ahead,
    a parity would say too little."""
    at_full, at_empty, next_stage, next_parity = places.full, places.empty, ring.next_stage, ring.next_parity
    release, teller_of = ctas.release, make_teller_of(config)

    def leave_unit(smem, t, tells, consumer, parity, stage, step, end):
        while step < end:
            mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))
            bar_sync_some(u32(consumer + 1), u32(128))
            release(teller_of(t), tells, 1, u32(smem + at_empty + 8 * stage))
            parity = next_parity(parity, stage)
            stage = next_stage(stage)
            step = successor(step)
        return stage, parity

    return leave_unit


def make_consume(config, places, ring, ctas, unit_at, walk):
    """consume(smem, rank, t, consumer, target, tiles_m, tiles_n, work): a consumer's part of all that the CTA
    multiplies. t: the thread's index in the warpgroup; tiles_m, tiles_n: rows and columns of tiles; target, work: as of
    `make_body`."""
    accumulators, bands, own_bands = config.tile_n // 2, config.bands, first_bands(config)
    at_b, band_a = places.b, config.operands[0].bytes    # 64 rows of A: in both orders they lie together
    copied, by_sectors = config.store != "direct", config.store == "sectors"
    pingpong, cluster = config.pingpong, config.sharing
    make_unit = make_promoted_unit if grains_of(config.scaled) else make_multiply_unit
    (hold, multiply_unit, finish), write = make_unit(config, places, ring, ctas), make_write(config, places, ctas)
    bring, arrived, found = make_bring(config, places)
    await_turn, end_turn = make_turns(pingpong)
    pass_over = make_pass_over(config, ctas, unit_at)
    place_of, teller, of_c, bounded = ctas.place, ctas.teller, walk.of_c, walk.bounded
    begin, find, first_row, first_col = walk.begin, walk.find, walk.first_row, walk.first_col
    first_unit, next_unit, stores_read = ctas.first_unit, ctas.next_unit, bulk_wait_group_read_if(0)
    has_rows, leave_unit = make_has_rows(config, walk), make_leave_unit(config, places, ring, ctas)
    scalar, teller_of, matrix_of = SUMS[config.sums].scalar, make_teller_of(config), make_matrix_of(config)

    def bring_scales(smem, t, consumer, place, down, right, extent, order):
        row, col = s32(first_row(place, down) + 64 * own_bands * consumer), first_col(place, right)
        return bring(smem, t, consumer, row, col, bounded(extent, place, order))

    def bring_nothing(smem, t, consumer, place, down, right, extent, order):
        return 0

    begin_tile = bring_scales if config.lines_scales else bring_nothing

    def consume(smem, rank, t, consumer, target, tiles_m, tiles_n, work):
        units, cutting, steps, order = work
        acc, other = register_array((accumulators,), scalar), register_array((accumulators if bands == 2 else 1,), scalar)
        held, stage, parity, leader = hold(t, consumer), s32(0), s32(0), s32(t < 64) if by_sectors else s32(t == 0)
        down, right = place_of(rank)
        tells = teller(teller_of(t), down, right)
        window = s32(smem & 0x3FFFF)                     # a descriptor has 18 bits of an address, not the CTA's rank
        operands = s32(window + band_a * own_bands * consumer), s32(window + at_b)
        unit, waits, seen = first_unit(), s32(consumer), begin(order, tiles_m, tiles_n)
        if pingpong and waits:
            unit, stage, parity = pass_over(unit, steps, cutting, stage, parity)
        while unit < units:
            tile, part, step, end = unit_at(unit, steps, cutting)
            seen, place = find(seen, tile, order, tiles_m, tiles_n)
            brought = begin_tile(smem, t, consumer, place, down, right, target[3], order)
            await_turn(consumer, waits)
            if has_rows(place, down, right, consumer, target[3]):
                stage, parity, before = multiply_unit(acc, other, held, smem, t, tells, parity, stage, operands, step, end)
                end_turn(consumer, next_unit(unit) < units)
                finish(acc, other, held, t, tells, before)
                arrived(consumer)
                row, col = s32(first_row(place, down) + 64 * own_bands * consumer), first_col(place, right)
                matrix = of_c(place)
                c, cut_tile = matrix_of(target[1], u64(matrix) * target[2]), s32(cluster * (tile - cutting[0]) + rank)
                extent = found(bounded(target[3], place, order), brought)
                within = target[0], target[1], target[2], extent, target[4]
                write(acc, other, smem, t, consumer, (unit, part, cut_tile, cutting), c, row, col, matrix, within)
            else:
                stage, parity = leave_unit(smem, t, tells, consumer, parity, stage, step, end)
                end_turn(consumer, next_unit(unit) < units)
                arrived(consumer)
            waits = s32(1)
            unit = next_unit(unit)
            if pingpong:
                unit, stage, parity = pass_over(unit, steps, cutting, stage, parity)
        if copied:
            stores_read(leader)                          # shared memory must outlive the copies that read it

    return consume
