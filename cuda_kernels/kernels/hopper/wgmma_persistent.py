"""wgmma_persistent: one CTA per SM walks over tiles; a producer keeps TMA loads in flight, consumer warpgroups multiply.

The stages, their mbarriers and clusters are those of `pipeline`; empty[s] counts one arrival per consumer warpgroup
that reads the stage. The producer does not stop where a tile ends: while consumers store one tile of C, the stages of the
next one fill. With pingpong the consumers take the CTA's tiles in turns: each waits at a named barrier until the other has
issued its products, and multiplies while that one stores. A cluster ends without a barrier: each producer waits last until
all stages are released, so that no CTA ends while another may still arrive at its mbarriers.
"""

from cuda_kernels.intrinsics import (
    aligned_shared,
    bar_arrive_some,
    bar_sync_some,
    cluster_arrive_relaxed,
    cluster_wait,
    f32_of_bits,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    prefetch_tensormap,
    s32,
    setmaxnreg,
    tid_x,
    u32,
    uniform,
)
from cuda_kernels.kernels.hopper.consumer import make_consume
from cuda_kernels.kernels.hopper.order import quotient
from cuda_kernels.kernels.hopper.pipeline import make_cluster, make_ring
from cuda_kernels.kernels.hopper.places import Places
from cuda_kernels.kernels.hopper.prefetch import make_prefetch
from cuda_kernels.kernels.hopper.producer import make_produce, make_produce_scales
from cuda_kernels.kernels.hopper.scales import grains_of
from cuda_kernels.kernels.hopper.slices import slice_of
from cuda_kernels.kernels.hopper.split import tile_unit, unit_of
from cuda_kernels.kernels.hopper.walk import make_walk
from simlayout.hardware.tables.arch import LANES

PRODUCER = 9
"""The named barrier of the producer's warps; 0 is all threads', then come the consumers'; 10 is the first one of `turns`."""


def make_meeting(config):
    """(show_mbarriers(), await_mbarriers()): the producer shows that the mbarriers are set up, first to its own warps if a
    second one uses them; the consumers wait until those of all CTAs of the cluster are. So does the producer if it sends
    something there; if only slices do, it waits when it has nothing else to do."""
    block, sharing, cluster = config.block, config.sharing, config.cluster_ctas

    def show_mbarriers():
        if cluster > 1:
            cluster_arrive_relaxed()
        else:
            bar_arrive_some(u32(0), u32(block))
        if sharing > 1:
            cluster_wait()                               # those of the peers are there

    def show_to_warps():                                 # one barrier for all would do, but compute-sanitizer's synccheck
        bar_sync_some(u32(PRODUCER), u32(128))           # wants all threads to wait at the same place then
        show_mbarriers()

    def await_mbarriers():
        if cluster > 1:
            cluster_arrive_relaxed()
            cluster_wait()
        else:
            bar_sync_some(u32(0), u32(block))

    return show_to_warps if grains_of(config.scaled) and sharing == 1 else show_mbarriers, await_mbarriers


def make_change_registers(config):
    """(fewer(), more()): what the producer and the consumers do to have the registers that they need."""
    fewer, more = (setmaxnreg(count, bool(i)) for i, count in enumerate(config.registers or (40, 232)))

    def as_they_are():
        pass

    return (fewer, more) if config.registers is not None else (as_they_are, as_they_are)


def make_body(config):
    """The kernel's Python function for a Hopper configuration.

    Its arguments: tensor maps of A, B and C; the address of C; M, N, K; matrices in the batch; 1 or 0: whether A and B have
    a matrix each; elements from row to row of C and bytes from matrix to matrix; tiles that are one unit of work, and into
    how many parts each of the others is cut, with their workspace and counters (`split`); `Hopper.order`; 1 or 0:
    whether the next kernel may begin early; of a scaled configuration the address and two steps of the scales of A and of B;
    with an epilogue the bits of alpha and beta, and the addresses of the bias, the residual and what is multiplied.

    The producer and the consumers get them in tuples. work: how many units of work there are, how tiles are cut
    (`cutting_of`), steps of a tile along K, the order of tiles (`order_of`). target: the map of C, c, bytes from
    matrix to matrix, (M, N, lines, both as of `epilogue`), the workspace and counters of tiles that are cut.
    """
    rows, cols, depth, consumers = config.tile_m, config.step_n, config.depth, config.consumers
    by_tma, slices, below, beside = config.store == "tma", config.slices, config.cluster_m, config.cluster_n
    places, ctas = Places.of(config), make_cluster(config)
    scales = grains_of(config.scaled) is not None
    ring = make_ring(config.stages, places.full, config.tile_consumers * ctas.peers * (4 if scales else 1),
                     1 + LANES * scales, config.consumers * (slices > 1))
    begin, rank_in_cluster = ring.begin, ctas.rank
    unit_at = slice_of if slices > 1 else unit_of if config.split else tile_unit
    walk, by_warp, reads_first = make_walk(config, ctas), config.grouped, config.grouped or config.lines_scales > 0
    produce = make_produce(config, places, ring, ctas, unit_at, walk)
    fetches = not config.grouped                         # where groups end may be what the kernel ahead writes
    prefetch = make_prefetch(config, ctas, unit_at, walk) if fetches else None
    fetcher = 128 * consumers + (LANES if config.producer > 1 else 0)    # a warp that has nothing else to do yet
    produce_scales = make_produce_scales(config, places, ring, ctas, unit_at, walk) if scales else None
    consume, ordered, counted = make_consume(config, places, ring, ctas, unit_at, walk), walk.ordered, walk.counted
    show_mbarriers, await_mbarriers = make_meeting(config)
    fewer, more = make_change_registers(config)

    def gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, ldc, matrix_c, whole, parts, workspace,
             counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left, early):
        tid, smem, rank = tid_x(), aligned_shared(), rank_in_cluster()
        tiles_m, tiles_n = quotient(M + below * rows - 1, below * rows), quotient(N + beside * cols - 1, beside * cols)
        order = ordered((group, by_matrix, by_group, by_rows, by_last), matrices, M, N)
        steps = quotient(K + depth - 1, depth)
        left = s32(tiles_m * tiles_n * matrices - whole)
        units, cutting = s32(whole + parts * left), (whole, parts, left, by_parts, by_left)
        work = (units, cutting, steps, order)
        warpgroup = uniform(s32(u32(tid) // u32(128)))
        if warpgroup == consumers:
            if tid == 128 * consumers:
                begin(smem, map_a, map_b)
            show_mbarriers()
            fewer()
            if early:
                griddepcontrol_launch_dependents()       # the next kernel may begin on the SMs that this one leaves free
            if fetches and tid == fetcher:
                prefetch(rank, (map_a, map_b, batched_a, batched_b), tiles_m, tiles_n, work)
            griddepcontrol_wait()                        # what the kernel before has written is there, and it reads no more
            there = counted(work, tiles_m, tiles_n)
            if uniform(s32(u32(tid) // u32(LANES))) == 4 * consumers if by_warp else tid == 128 * consumers:
                produce(smem, rank, (map_a, map_b, batched_a, batched_b), tiles_m, tiles_n, there)
            if scales and uniform(s32(u32(tid) // u32(LANES))) == 4 * consumers + 1:
                produce_scales(smem, rank, (M, N, ldc), tiles_m, tiles_n, there)
            if slices > 1 and below * beside == 1:
                cluster_wait()
        else:
            if by_tma and tid == 0:
                prefetch_tensormap(map_c)
            await_mbarriers()
            more()
            if reads_first:                              # else what the producer loads tells them that it has waited
                griddepcontrol_wait()
            target = (map_c, c, matrix_c, (M, N, ldc), (workspace, counters))
            consume(smem, rank, s32(tid % 128), warpgroup, target, tiles_m, tiles_n, counted(work, tiles_m, tiles_n))

    def scaled_gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, ldc, matrix_c, whole, parts, workspace,
                    counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left, early, scale_a, step_a,
                    deep_a, scale_b, step_b, deep_b):
        lines = ldc, (scale_a, step_a, deep_a), (scale_b, step_b, deep_b), 0
        gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, lines, matrix_c, whole, parts, workspace,
             counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left, early)

    def finished_gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, ldc, matrix_c, whole, parts,
                      workspace, counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left, early, alpha,
                      beta, bias, residual, multiply):
        lines = ldc, 0, 0, (f32_of_bits(alpha), f32_of_bits(beta), bias)
        gemm(map_a, map_b, map_c, (c, residual, multiply), M, N, K, matrices, batched_a, batched_b, lines, matrix_c, whole,
             parts, workspace, counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left, early)

    def scaled_finished_gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, ldc, matrix_c, whole, parts,
                             workspace, counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left, early,
                             scale_a, step_a, deep_a, scale_b, step_b, deep_b, alpha, beta, bias, residual, multiply):
        added = f32_of_bits(alpha), f32_of_bits(beta), bias
        lines = ldc, (scale_a, step_a, deep_a), (scale_b, step_b, deep_b), added
        gemm(map_a, map_b, map_c, (c, residual, multiply), M, N, K, matrices, batched_a, batched_b, lines, matrix_c, whole,
             parts, workspace, counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left, early)

    bodies = {(False, False): gemm, (True, False): scaled_gemm, (False, True): finished_gemm,
              (True, True): scaled_finished_gemm}
    return bodies[bool(config.scaled), bool(config.epilogue)]
