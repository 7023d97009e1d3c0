"""wgmma_persistent: one CTA per SM walks over tiles; a producer keeps TMA loads in flight, consumer warpgroups multiply.

full[s] counts the bytes of stage s, empty[s] one arrival per consumer warpgroup. The producer does not stop where a tile
ends: while consumers store one tile of C, the stages of the next one fill. The CTAs of a cluster work on tiles below one
another: each loads a part of their columns of B and sends it to all of them, so empty[s] counts the consumers of all.
"""

from importlib import import_module

from cuda_kernels.gemm.hopper_parts import DEPTH, make_load, make_store_direct, make_store_tma, quotient, tile_of
from cuda_kernels.gemm.hopper_split import make_reduce, unit_of
from cuda_kernels.ptx import (
    aligned_shared,
    bar_sync,
    bulk_wait_group_read_if,
    cluster_ctarank,
    cluster_sync,
    ctaid_x,
    f32,
    fence_mbarrier_init,
    mbarrier_arrive_cluster_if,
    mbarrier_arrive_expect_tx,
    mbarrier_arrive_if,
    mbarrier_init,
    mbarrier_wait,
    nctaid_x,
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


def one_tile(unit, whole, parts, steps):
    """unit_of where no tile is cut."""
    return s32(unit), s32(0), s32(0), s32(steps)


def beyond(unit, whole):
    """Whether a unit is a part of a cut tile."""
    return unit >= whole


def never(unit, whole):
    """beyond where no tile is cut."""
    return False


def make_body(config):
    """The kernel's Python function for a Hopper configuration.

    Its arguments: tensor maps of A, B and C; the address of C; M, N, K; matrices in the batch; 1 or 0: whether A and B have
    a matrix each; elements from row to row of C and bytes from matrix to matrix; tiles that are one unit of work, and into
    how many parts each of the others is cut, with their workspace and counters (`hopper_split`).
    """
    index = import_module("cuda_kernels.emitted.wgmma")
    rows, cols, stages, consumers, group = config.tile_m, config.tile_n, config.stages, config.consumers, config.group
    bytes_a, bytes_b, staging = 2 * rows * DEPTH, 2 * cols * DEPTH, config.staging_bytes
    at_b, at_c = stages * bytes_a, stages * (bytes_a + bytes_b)
    at_full = at_c + consumers * staging
    at_empty = at_full + 8 * stages
    by_tma = config.store == "tma"
    load_a, load_b = make_load(config.a_major, rows, DEPTH), make_load(config.b_major, cols, DEPTH, config.cluster)
    cluster = config.cluster
    part_a = 2 * 64 * DEPTH                              # a consumer's 64 rows of A: in both orders they lie together
    multiply = config.multiply
    describe_a, describe_b = (tile.descriptor().encode() for tile in config.operands)
    wait_all, wait_one = wgmma_wait_group(cols // 2, 0), wgmma_wait_group(0, 1)
    fewer, more = setmaxnreg(24, False), setmaxnreg(240, True)
    stores_read, move_registers = bulk_wait_group_read_if(0), config.move_registers and consumers == 2
    if by_tma:
        store_tma = make_store_tma(index.store_c, cols, config.buffers, config.out)
    else:
        store_tma = None
    store_direct = make_store_direct(cols, config.out)
    last, accumulators = stages - 1, cols // 2
    reduce = make_reduce(cols, consumers, config.out)
    cut, is_cut = (unit_of, beyond) if config.split else (one_tile, never)

    def next_stage(stage):
        return s32(stage + 1) if stage < last else s32(0)

    def next_parity(parity, stage):
        return parity if stage < last else s32(1 - parity)

    def release_own(t, leader, condition, address):
        mbarrier_arrive_if(s32(leader * condition), address)

    def release_cluster(t, leader, condition, address):
        mbarrier_arrive_cluster_if(s32((t < cluster) * condition), address, u32(t))

    release = release_own if cluster == 1 else release_cluster

    def first_unit():
        return ctaid_x() if cluster == 1 else quotient(ctaid_x(), cluster)

    def next_unit(unit):
        return s32(unit + nctaid_x()) if cluster == 1 else s32(unit + quotient(nctaid_x(), cluster))

    def rank_in_cluster():
        return cluster_ctarank() if cluster > 1 else s32(0)

    def meet():
        if cluster > 1:
            cluster_sync()
        else:
            bar_sync()

    def produce(smem, rank, map_a, map_b, units, whole, parts, tiles_m, tiles_n, steps, batched_a, batched_b):
        stage, parity = s32(0), s32(1)                   # every stage is free at first: the parity before the first phase
        unit = first_unit()
        while unit < units:
            tile, _, step, end = cut(unit, whole, parts, steps)
            tile_row, tile_col, matrix = tile_of(tile, tiles_m, tiles_n, group)
            row, col = s32(rows * (cluster * tile_row + rank)), s32(cols * tile_col)
            while step < end:
                full = u32(smem + at_full + 8 * stage)
                mbarrier_wait(u32(smem + at_empty + 8 * stage), u32(parity))
                mbarrier_arrive_expect_tx(full, u32(bytes_a + bytes_b))
                load_a(s32(smem + bytes_a * stage), map_a, full, row, s32(DEPTH * step), s32(matrix * batched_a), 0)
                load_b(s32(smem + at_b + bytes_b * stage), map_b, full, col, s32(DEPTH * step), s32(matrix * batched_b),
                       rank)
                parity = next_parity(parity, stage)
                stage = next_stage(stage)
                step = successor(step)
            unit = next_unit(unit)

    def consume(smem, rank, t, consumer, map_c, c, units, whole, parts, tiles_m, tiles_n, M, N, steps, ldc, matrix_c,
                workspace, counters):
        acc = register_array((accumulators,), f32)
        stage, parity, leader = s32(0), s32(0), s32(t == 0)
        window = s32(smem & 0x3FFFF)                     # a descriptor has 18 bits of an address, not the CTA's rank
        from_a, from_b = s32(window + part_a * consumer), s32(window + at_b)
        unit = first_unit()
        while unit < units:
            tile, part, step, end = cut(unit, whole, parts, steps)
            tile_row, tile_col, matrix = tile_of(tile, tiles_m, tiles_n, group)
            added, before = s32(0), u32(smem + at_empty)
            while step < end:
                a = u64(describe_a) | u64(u32(from_a + bytes_a * stage) >> 4)
                b = u64(describe_b) | u64(u32(from_b + bytes_b * stage) >> 4)
                mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))
                multiply(acc, a, b, added)
                wait_one()                               # the products before these have read their stage
                release(t, leader, added, before)
                added, before = s32(1), u32(smem + at_empty + 8 * stage)
                parity = next_parity(parity, stage)
                stage = next_stage(stage)
                step = successor(step)
            wait_all(acc)
            release(t, leader, 1, before)
            row = s32(rows * (cluster * tile_row + rank) + 64 * consumer)
            col = s32(cols * tile_col)
            if is_cut(unit, whole):
                reduce(acc, workspace, counters, t, consumer, s32(cluster * (tile - whole) + rank), part, parts,
                       c + u64(matrix) * matrix_c, row, col, M, N, ldc)
            elif by_tma:
                store_tma(acc, s32(smem + at_c + staging * consumer), t, consumer + 1, map_c, row, col, matrix)
            else:
                store_direct(acc, c + u64(matrix) * matrix_c, t, row, col, M, N, ldc)
            unit = next_unit(unit)
        if by_tma:
            stores_read(leader)                          # shared memory must outlive the copies that read it

    def gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, ldc, matrix_c, whole, parts, workspace,
             counters):
        tid, smem = tid_x(), aligned_shared()
        if tid == 32:
            prefetch_tensormap(map_a)
            prefetch_tensormap(map_b)
            if by_tma:
                prefetch_tensormap(map_c)
        if tid == 0:
            for s in range(stages):
                mbarrier_init(u32(smem + at_full + 8 * s), u32(1))
                mbarrier_init(u32(smem + at_empty + 8 * s), u32(consumers * cluster))
            fence_mbarrier_init()
        meet()
        rank = rank_in_cluster()
        tiles_m, tiles_n = quotient(M + cluster * rows - 1, cluster * rows), quotient(N + cols - 1, cols)
        steps = quotient(K + DEPTH - 1, DEPTH)
        units = s32(whole + parts * (tiles_m * tiles_n * matrices - whole))
        warpgroup = uniform(s32(tid // 128))
        if warpgroup == 0:
            if move_registers:
                fewer()
            if tid == 0:
                produce(smem, rank, map_a, map_b, units, whole, parts, tiles_m, tiles_n, steps, batched_a, batched_b)
        else:
            if move_registers:
                more()
            consume(smem, rank, s32(tid % 128), s32(warpgroup - 1), map_c, c, units, whole, parts, tiles_m, tiles_n, M, N,
                    steps, ldc, matrix_c, workspace, counters)
        if cluster > 1:
            cluster_sync()                               # no CTA ends while another may arrive at its mbarriers

    return gemm
