"""mma_tma: 192x256x64 tiles with operands from TMA: mma.sync as fast as it gets on Hopper.

All eight warps multiply 96 x 64, for which they read a sixth less shared memory per product than for 64 x 64: A goes through
few registers, a band of 16 rows at a time, and the accumulators take the rest. Thread 0 loads as well: late in a chunk of K
it waits until every warp has read the chunk before, and has its stage filled again. No barrier of the CTA is left in the
loop, no cp.async and no address of global memory, which is what `mma_swizzled` waits for. The stages, their mbarriers and
clusters are those of `pipeline`; empty[s] counts one arrival per warp.
"""

from dataclasses import dataclass

from cuda_kernels.emitted import mma_tma as index
from cuda_kernels.intrinsics import (
    aligned_shared,
    b32,
    bar_sync,
    bar_warp_sync,
    cluster_sync,
    cvt_rn_bf16x2_f32,
    cvt_rn_f16x2_f32,
    f32,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    ld_volatile_shared_b128,
    ldmatrix_x4,
    mbarrier_arrive_expect_tx,
    mbarrier_wait,
    mma_sync,
    register_array,
    s32,
    st_shared_b32,
    successor,
    tid_x,
    u32,
    u64,
)
from cuda_kernels.kernels.common import element, make_clear, store_by_halves, store_whole
from cuda_kernels.kernels.hopper.mma_tma_plan import BANDS, COLUMNS, DEPTH, READS, STEPS, read_c_col, read_c_row
from cuda_kernels.kernels.hopper.order import quotient, tile_of
from cuda_kernels.kernels.hopper.parts import make_load
from cuda_kernels.kernels.hopper.pipeline import make_cluster, make_ring


def make_fragments(dtype):
    """(load_band(smem, tid, i, ks, stage, ra), load_columns(smem, tid, j, ks, stage, rb), multiply(i, j, ra, rb, acc)): band
    i of A and 16 columns of B of step ks of a stage to the registers, and the product of band i and 8 columns."""
    mma, load_a, load_b = mma_sync(f"m16n8k16.f32.{dtype}.{dtype}.f32"), index.load_a, index.load_b

    def load_band(smem, tid, i, ks, stage, ra):
        half = i % 2
        ra[half, 0], ra[half, 1], ra[half, 2], ra[half, 3] = ldmatrix_x4(smem + load_a(tid, i, ks, stage))

    def load_columns(smem, tid, j, ks, stage, rb):
        rb[2 * j, 0], rb[2 * j, 1], rb[2 * j + 1, 0], rb[2 * j + 1, 1] = ldmatrix_x4(smem + load_b(tid, j, ks, stage))

    def multiply(i, j, ra, rb, acc):
        half = i % 2
        acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3] = mma(
            ra[half, 0], ra[half, 1], ra[half, 2], ra[half, 3], rb[j, 0], rb[j, 1], acc[i, j, 0], acc[i, j, 1],
            acc[i, j, 2], acc[i, j, 3])

    return load_band, load_columns, multiply


def make_steps(dtype):
    """(begin, bands, turn, end): how a warp multiplies 96 x 64 x 16, six bands of 16 rows one after the other. ra: the
    band's fragment of A and the next one's, b32 (2, 4); rb: all of B, b32 (8, 2).

    begin(smem, tid, ra, rb) loads what the first step needs. bands(smem, tid, ks, stage, ra, rb, acc) multiplies all bands
    of step ks of a stage but the last one. turn(smem, tid, ks, stage, ra, rb, acc) multiplies that while it loads what step
    ks of a stage, the next one, needs: each part of B as its last product is done. end(ra, rb, acc) does where nothing
    comes next.
    """
    (load_band, load_columns, multiply), last = make_fragments(dtype), BANDS - 1

    def begin(smem, tid, ra, rb):
        load_band(smem, tid, 0, 0, 0, ra)
        for j in range(COLUMNS // 2):
            load_columns(smem, tid, j, 0, 0, rb)

    def bands(smem, tid, ks, stage, ra, rb, acc):
        for i in range(last):
            load_band(smem, tid, i + 1, ks, stage, ra)
            for j in range(COLUMNS):
                multiply(i, j, ra, rb, acc)

    def turn(smem, tid, ks, stage, ra, rb, acc):
        load_band(smem, tid, 0, ks, stage, ra)
        for j in range(COLUMNS // 2):
            multiply(last, 2 * j, ra, rb, acc)
            multiply(last, 2 * j + 1, ra, rb, acc)
            load_columns(smem, tid, j, ks, stage, rb)

    def end(ra, rb, acc):
        for j in range(COLUMNS):
            multiply(last, j, ra, rb, acc)

    return begin, bands, turn, end


def make_store(out):
    """store(acc, smem, tid, address of C, row, column, M, N, ldc): the tile of C through shared memory at byte smem."""
    store_c, read_c = index.store_c, index.read_c
    pack = cvt_rn_f16x2_f32 if out == "f16" else cvt_rn_bf16x2_f32

    def store(acc, smem, tid, c, row, col, M, N, ldc):
        for i in range(BANDS):
            for j in range(COLUMNS):
                for r in range(2):
                    st_shared_b32(smem + store_c(tid, i, j, r), pack(acc[i, j, 2 * r + 1], acc[i, j, 2 * r]))
        bar_sync()
        in_lines = c % u64(16) == u64(0) and ldc % 8 == 0
        for i in range(READS):
            v0, v1, v2, v3 = ld_volatile_shared_b128(smem + read_c(tid, i))
            here, first = s32(row + read_c_row(tid, i)), s32(col + read_c_col(tid))
            if here < M and in_lines and first + 8 <= N:
                store_whole(element(c, here, ldc, first), v0, v1, v2, v3, 8)
            elif here < M:
                store_by_halves(element(c, here, ldc, first), v0, v1, v2, v3, N - first)

    return store


@dataclass(frozen=True)
class StagePlaces:
    """Bytes from the start of a CTA's shared memory: of the B of a stage from the stage's start on; of the mbarriers of the
    stages, full and empty."""

    b: int
    full: int
    empty: int

    @classmethod
    def of(cls, config):
        """Those of a Hopper configuration."""
        full = config.stages * config.stage_bytes
        return cls(config.row_bands * config.operands[0].bytes, full, full + 8 * config.stages)


def make_fill(config, places, ctas):
    """fill(smem, stage, parity, chunk, source): thread 0 has a stage loaded, as soon as it is empty. source: the maps of A
    and B, the tile's first row and column, the matrices of A and B, and the CTA's place in the cluster, down and right."""
    stage_bytes, of_row, of_col = config.stage_bytes, ctas.of_row, ctas.of_col
    at_b, at_full, at_empty = places.b, places.full, places.empty
    load_a = make_load("K", config.tile_m, config.dtype, config.cluster_n)
    load_b = make_load("K", config.tile_n, config.dtype, config.cluster_m)

    def fill(smem, stage, parity, chunk, source):
        map_a, map_b, row, col, matrix_a, matrix_b, down, right = source
        full, at = u32(smem + at_full + 8 * stage), s32(smem + stage_bytes * stage)
        mbarrier_wait(u32(smem + at_empty + 8 * stage), u32(parity))
        mbarrier_arrive_expect_tx(full, u32(stage_bytes))
        load_a(at, map_a, full, row, s32(DEPTH * chunk), matrix_a, right, of_row(down))
        load_b(s32(at + at_b), map_b, full, col, s32(DEPTH * chunk), matrix_b, down, of_col(right))

    return fill


def make_main_loop(config, places, ring, ctas):
    """(fill_first(smem, chunks, source), main_loop(smem, tid, acc, chunks, source, lane, tells)): thread 0 has all stages
    but one loaded; all chunks of K are multiplied, each stage filled again when it is read. source: as of `make_fill`; lane:
    of the warp; tells: what `Cluster.teller` gives for it."""
    fill, last = make_fill(config, places, ctas), config.stages - 1
    at_full, at_empty = places.full, places.empty
    next_stage, next_parity, release = ring.next_stage, ring.next_parity, ctas.release
    begin, bands, turn, end = make_steps(config.dtype)

    def fill_first(smem, chunks, source):
        for s in range(last):
            if s < chunks:
                fill(smem, s32(s), s32(1), s32(s), source)

    def main_loop(smem, tid, acc, chunks, source, lane, tells):
        ra, rb = register_array((2, 4), b32), register_array((COLUMNS, 2), b32)
        chunk, stage, parity = s32(0), s32(0), s32(0)
        filled, filling, before = s32(last), s32(1), s32(last)
        mbarrier_wait(u32(smem + at_full), u32(0))
        begin(smem, tid, ra, rb)
        while chunk < chunks:
            bar_warp_sync()                              # all lanes have the fragments of the chunk before
            release(lane, tells, s32(chunk > 0), u32(smem + at_empty + 8 * before))
            for ks in range(STEPS - 1):
                bands(smem, tid, ks, stage, ra, rb, acc)
                turn(smem, tid, ks + 1, stage, ra, rb, acc)
            if tid == 0 and chunk + last < chunks:       # so late, all warps of the cluster have come that far
                fill(smem, filled, filling, s32(chunk + last), source)
            filling = next_parity(filling, filled)
            filled = next_stage(filled)
            bands(smem, tid, STEPS - 1, stage, ra, rb, acc)
            before = stage
            parity = next_parity(parity, stage)
            stage = next_stage(stage)
            chunk = successor(chunk)
            if chunk < chunks:
                mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))
                turn(smem, tid, 0, stage, ra, rb, acc)
        end(ra, rb, acc)

    return fill_first, main_loop


def make_body(config):
    """The kernel's Python function for a Hopper configuration of 192x256 tiles; its arguments as of `wgmma_persistent`."""
    rows, cols, below, beside, cluster = (config.tile_m, config.tile_n, config.cluster_m, config.cluster_n, config.sharing)
    places, ctas = StagePlaces.of(config), make_cluster(config)
    ring = make_ring(config.stages, places.full, config.block // 32 * ctas.peers)
    begin, rank_in_cluster, place = ring.begin, ctas.rank, ctas.place
    first_row, first_col, first_unit, teller = ctas.first_row, ctas.first_col, ctas.first_unit, ctas.teller
    fill_first, main_loop = make_main_loop(config, places, ring, ctas)
    clear, store = make_clear(BANDS, COLUMNS, 4), make_store(config.out)

    def meet():
        if cluster > 1:
            cluster_sync()
        else:
            bar_sync()

    def gemm(map_a, map_b, map_c, c, M, N, K, matrices, batched_a, batched_b, ldc, matrix_c, whole, parts, workspace,
             counters, group, by_matrix, by_group, by_rows, by_last, by_parts, by_left, early):
        tid, smem = tid_x(), aligned_shared()
        if tid == 0:
            begin(smem, map_a, map_b)
        meet()
        if early:
            griddepcontrol_launch_dependents()
        griddepcontrol_wait()
        tiles_m, tiles_n = quotient(M + below * rows - 1, below * rows), quotient(N + beside * cols - 1, beside * cols)
        tile_row, tile_col, matrix = tile_of(first_unit(), tiles_m, tiles_n, (group, by_matrix, by_group, by_rows, by_last))
        down, right = place(rank_in_cluster())
        row, col = first_row(tile_row, down), first_col(tile_col, right)
        matrix_a, matrix_b, chunks = s32(matrix * batched_a), s32(matrix * batched_b), quotient(K + DEPTH - 1, DEPTH)
        source, lane = (map_a, map_b, row, col, matrix_a, matrix_b, down, right), s32(tid % 32)
        tells = teller(lane, down, right)
        acc = register_array((BANDS, COLUMNS, 4), f32)
        clear(acc)
        if tid == 0:
            fill_first(smem, chunks, source)
        main_loop(smem, tid, acc, chunks, source, lane, tells)
        bar_sync()                                       # the stages are read: C may take their place
        store(acc, smem, tid, c + u64(matrix) * matrix_c, row, col, M, N, ldc)
        if cluster > 1:
            cluster_sync()                               # no CTA ends while another may arrive at its mbarriers

    return gemm
