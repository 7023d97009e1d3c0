"""wgmma_persistent: one CTA per SM walks over tiles; a producer keeps TMA loads in flight, consumer warpgroups multiply.

The stages, their mbarriers and clusters are those of `hopper_pipeline`; empty[s] counts one arrival per consumer warpgroup
that reads the stage. The producer does not stop where a tile ends: while consumers store one tile of C, the stages of the
next one fill. With pingpong the consumers take the CTA's tiles in turns: each waits at a named barrier until the other has
issued its products, and multiplies while that one stores. A cluster ends without a barrier: each producer waits last until
all stages are released, so that no CTA ends while another may still arrive at its mbarriers.
"""

from cuda_kernels.intrinsics import (
    aligned_shared,
    bar_arrive_some,
    bar_sync_some,
    bulk_wait_group_read_if,
    cluster_arrive_relaxed,
    cluster_sync,
    cluster_wait,
    ctaid_x,
    f32,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    here,
    mbarrier_arrive_expect_tx,
    mbarrier_wait,
    prefetch_tensormap,
    register_array,
    s32,
    setmaxnreg,
    successor,
    tid_x,
    u32,
    u64,
    uniform,
    wgmma_wait_group,
)
from cuda_kernels.kernels.hopper.order import quotient, tile_of
from cuda_kernels.kernels.hopper.parts import DEPTH, make_load, make_store_direct, make_store_tma
from cuda_kernels.kernels.hopper.pipeline import make_cluster, make_ring
from cuda_kernels.kernels.hopper.slices import make_add_slices
from cuda_kernels.kernels.hopper.split import make_reduce, slice_of, tile_unit, unit_of


def make_body(config):
    """The kernel's Python function for a Hopper configuration.

    Its arguments: tensor maps of A, B and C; the address of C; M, N, K; matrices in the batch; 1 or 0: whether A and B have
    a matrix each; elements from row to row of C and bytes from matrix to matrix; tiles that are one unit of work, and into
    how many parts each of the others is cut, with their workspace and counters (`hopper_split`); `Hopper.order`.
    """
    block = config.block
    rows, cols, stages, consumers, bands = config.tile_m, config.tile_n, config.stages, config.consumers, config.bands
    tile_a, tile_b = config.operands
    bytes_a, bytes_b, staging = config.row_bands * tile_a.bytes, tile_b.bytes, config.staging_bytes
    at_b, at_c = stages * bytes_a, stages * (bytes_a + bytes_b)
    at_full = at_c + consumers * staging
    at_empty = at_full + 8 * stages
    by_tma, split, slices = config.store == "tma", config.split, config.slices
    below, beside, cluster = config.cluster_m, config.cluster_n, config.sharing
    ctas = make_cluster(config)
    ring = make_ring(stages, at_full, config.tile_consumers * ctas.peers)
    next_stage, next_parity, begin = ring.next_stage, ring.next_parity, ring.begin
    rank_in_cluster, place, of_row, of_col, release = ctas.rank, ctas.place, ctas.of_row, ctas.of_col, ctas.release
    first_row, first_col, first_unit, next_unit, teller = (ctas.first_row, ctas.first_col, ctas.first_unit, ctas.next_unit,
                                                           ctas.teller)
    load_a, load_b = make_load(config.a_major, rows, beside), make_load(config.b_major, tile_b.rows, below)
    band_a = tile_a.bytes                                # 64 rows of A: in both orders they lie together
    multiply, wait_step = config.multiply, wgmma_wait_group(0, 1)
    describe_a, describe_b = (tile.descriptor().encode() for tile in config.operands)
    wait_all = wgmma_wait_group(cols // 2, 0, bands)
    move_registers = config.registers is not None
    fewer, more = (setmaxnreg(count, bool(i)) for i, count in enumerate(config.registers or (40, 232)))
    stores_read, store_tma = bulk_wait_group_read_if(0), make_store_tma(config) if by_tma else None
    store_direct, reduce, add_slices = make_store_direct(config), make_reduce(config), make_add_slices(config)
    accumulators = cols // 2
    unit_at = slice_of if slices > 1 else unit_of if split else tile_unit
    pingpong, own_bands = config.pingpong, 0 if config.pingpong else bands
    first_turn = consumers + 1                           # named barriers: 0 is all threads', then one per consumer

    def show_mbarriers():
        if cluster > 1:
            cluster_arrive_relaxed()
            cluster_wait()                               # those of the peers are there
        else:
            bar_arrive_some(u32(0), u32(block))

    def await_mbarriers():
        if cluster > 1:
            cluster_arrive_relaxed()
            cluster_wait()
        else:
            bar_sync_some(u32(0), u32(block))

    def multiply_one(acc, other, a, b, added):
        multiply(acc, a, b, added)

    def multiply_two(acc, other, a, b, added):
        multiply(acc, other, a, b, added)

    def wait_one(acc, other):
        wait_all(acc)

    def wait_two(acc, other):
        wait_all(acc, other)

    multiply_bands, wait_bands = (multiply_one, wait_one) if bands == 1 else (multiply_two, wait_two)

    def pass_over(unit, steps, cutting, stage, parity):
        """(the CTA's unit behind this one, which is the other consumer's, the stage and parity there)."""
        _, _, step, end = unit_at(unit, steps, cutting)
        passed = s32(stage + end - step)
        rounds = quotient(passed, stages)
        return next_unit(unit), s32(passed - stages * rounds), s32((parity + rounds) % 2)

    def store(acc, smem, t, consumer, map_c, matrix_at, row, col, matrix, M, N, ldc):
        """A band of C, whole."""
        if by_tma:
            store_tma(acc, s32(smem + at_c + staging * consumer), t, consumer + 1, map_c, row, col, matrix)
        else:
            store_direct(acc, matrix_at, t, row, col, M, N, ldc)

    def produce(smem, rank, map_a, map_b, units, cutting, tiles_m, tiles_n, steps, batched_a, batched_b, order):
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
                load_a(s32(smem + bytes_a * stage), map_a, full, row, s32(DEPTH * step), s32(matrix * batched_a),
                       right, to_row)
                load_b(s32(smem + at_b + bytes_b * stage), map_b, full, col, s32(DEPTH * step), s32(matrix * batched_b),
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

    def consume(smem, rank, t, consumer, map_c, c, units, cutting, tiles_m, tiles_n, M, N, steps, ldc, matrix_c,
                workspace, counters, order):
        whole, parts, _, by_parts, _ = cutting
        acc, other = register_array((accumulators,), f32), register_array((accumulators if bands == 2 else 1,), f32)
        stage, parity, leader = s32(0), s32(0), s32(t == 0)
        down, right = place(rank)
        tells = teller(t, down, right)
        window = s32(smem & 0x3FFFF)                     # a descriptor has 18 bits of an address, not the CTA's rank
        from_a, from_b = s32(window + band_a * own_bands * consumer), s32(window + at_b)
        unit, waits = first_unit(), s32(consumer)
        if pingpong and waits:
            unit, stage, parity = pass_over(unit, steps, cutting, stage, parity)
        while unit < units:
            tile, part, step, end = unit_at(unit, steps, cutting)
            tile_row, tile_col, matrix = tile_of(tile, tiles_m, tiles_n, order)
            added, before = s32(0), u32(smem + at_empty)
            if pingpong and waits:
                bar_sync_some(u32(first_turn + consumer), u32(256))
            while step < end:
                a = u64(describe_a) | u64(u32(from_a + bytes_a * stage) >> 4)
                b = u64(describe_b) | u64(u32(from_b + bytes_b * stage) >> 4)
                mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))
                multiply_bands(acc, other, a, b, added)
                wait_step()                              # the products before these have read their stage
                release(t, tells, added, before)
                added, before = s32(1), u32(smem + at_empty + 8 * stage)
                parity = next_parity(parity, stage)
                stage = next_stage(stage)
                step = successor(step)
            if pingpong:
                waits = s32(1)
                if next_unit(unit) < units:              # the other consumer may begin
                    bar_arrive_some(u32(first_turn + 1 - consumer), u32(256))
            wait_bands(acc, other)
            release(t, tells, 1, before)
            row, col = s32(first_row(tile_row, down) + 64 * own_bands * consumer), first_col(tile_col, right)
            matrix_at, cut_tile = c + u64(matrix) * matrix_c, s32(cluster * (tile - whole) + rank)
            if slices > 1 and unit >= whole:
                add_slices(acc, smem, t, consumer, part, matrix_at, row, col, here(M), here(N), here(ldc))
            elif split and unit >= whole:
                reduce(acc, workspace, counters, here(t), consumer + 1, s32(own_bands * consumer), cut_tile, part,
                       here(parts), by_parts, matrix_at, row, col, here(M), here(N), here(ldc))
                if bands == 2:
                    reduce(other, workspace, counters, here(t), consumer + 1, s32(own_bands * consumer + 1), cut_tile, part,
                           here(parts), by_parts, matrix_at, s32(row + 64), col, here(M), here(N), here(ldc))
            else:
                store(acc, smem, t, consumer, map_c, matrix_at, row, col, matrix, M, N, ldc)
                if bands == 2:
                    store(other, smem, t, consumer, map_c, matrix_at, s32(row + 64), col, matrix, M, N, ldc)
            unit = next_unit(unit)
            if pingpong:
                unit, stage, parity = pass_over(unit, steps, cutting, stage, parity)
        if by_tma:
            stores_read(leader)                          # shared memory must outlive the copies that read it

    def gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, ldc, matrix_c, whole, parts, workspace,
             counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left):
        tid, smem, rank = tid_x(), aligned_shared(), rank_in_cluster()
        tiles_m, tiles_n = quotient(M + below * rows - 1, below * rows), quotient(N + beside * cols - 1, beside * cols)
        steps, order = quotient(K + DEPTH - 1, DEPTH), (group, by_matrix, by_group, by_rows, by_last)
        left = s32(tiles_m * tiles_n * matrices - whole)
        units, cutting = s32(whole + parts * left), (whole, parts, left, by_parts, by_left)
        warpgroup = uniform(s32(u32(tid) // u32(128)))
        if warpgroup == consumers:
            if tid == 128 * consumers:
                begin(smem, map_a, map_b)
            show_mbarriers()
            if move_registers:
                fewer()
            griddepcontrol_launch_dependents()           # the next kernel may take SMs as this one leaves them
            griddepcontrol_wait()                        # what the one before has written is there
            if tid == 128 * consumers:
                produce(smem, rank, map_a, map_b, units, cutting, tiles_m, tiles_n, steps, batched_a, batched_b, order)
            if slices > 1 and ctaid_x() < units - whole:
                cluster_sync()                           # as the consumers do when they add up the slices of a tile
        else:
            if by_tma and tid == 0:
                prefetch_tensormap(map_c)
            await_mbarriers()
            if move_registers:
                more()
            griddepcontrol_launch_dependents()
            griddepcontrol_wait()
            consume(smem, rank, s32(tid % 128), warpgroup, map_c, c, units, cutting, tiles_m, tiles_n, M, N, steps,
                    ldc, matrix_c, workspace, counters, order)
        if slices > 1:
            cluster_sync()                               # no CTA ends while another reads its part of a tile

    return gemm
