"""MatmulTutorial's kernel: 128x128x32 tiles, four cp.async stages, C in f32 through shared memory.

`mma_blocks` (contiguous 16x16 blocks) and `mma_crosswise` (two rows per 128-byte line, chunks XORed with the line)
are this one kernel with two layouts. Two races of the original are not repeated: every refill, even an empty one,
closes its cp.async group, and a barrier separates the last chunk's loads from the C tile that reuses its memory.
"""

from dataclasses import dataclass
from importlib import import_module

from cuda_kernels.gemm import common
from cuda_kernels.gemm.common import cta_col, cta_row, element, valid_bytes
from cuda_kernels.gemm.kernel import Kernel, choice
from cuda_kernels.gemm.pipeline import make_main_loop, meet
from cuda_kernels.ptx import (
    b32,
    bar_sync,
    cvt_rn_f16x2_f32,
    dynamic_shared,
    f32,
    ld_shared_b32,
    ld_volatile_shared_f32,
    ldmatrix_x4,
    register_array,
    st_global_b16,
    st_shared_f32,
    st_shared_v2_f32,
    tid_x,
    u64,
    wmma_load,
    wmma_mma,
    wmma_store,
)
from simlayout.errors import SimlayoutError
from simlayout.proofs import Access, Plan

BLOCK, CHUNK_K, STAGES = 128, 32, 4
WARP_ROWS = 64

WMMA_STRIDE = 16
"""Elements from line to line of the blocks that wmma loads and stores."""


@dataclass(frozen=True)
class Options:
    """warps: 4 (64x64 each) or 8 (64x32 each). loads: fragments by "ldmatrix", by plain "lds", "mixed" (A plain, B by
    ldmatrix), or "wmma": wmma.load, wmma.mma and wmma.store of 16x16 blocks, which must lie in lines of one stride. c_store:
    "float2" (st.shared.b64) or "scalar". accumulate: "f16" or "f32". The rest is set by `Kernel.fitted`: ab_aligned,
    c_aligned: rows of A and B, of C, start on 16 bytes (C is stored by halves either way); whole: M, N and K are multiples
    of the tile, so no copy needs a guard."""

    warps: int = 4
    loads: str = "ldmatrix"
    c_store: str = "float2"
    accumulate: str = "f32"
    ab_aligned: bool = True
    c_aligned: bool = True
    whole: bool = False

    def __post_init__(self):
        choice("warps", self.warps, (4, 8))
        choice("loads", self.loads, ("ldmatrix", "lds", "mixed", "wmma"))
        choice("c_store", self.c_store, ("float2", "scalar"))
        choice("accumulate", self.accumulate, ("f16", "f32"))
        if self.loads == "wmma" and (self.c_store, self.accumulate) != ("float2", "f32"):
            raise SimlayoutError('loads="wmma" accumulates in f32 and stores pairs: set accumulate="f32", c_store="float2"')

    @property
    def stages(self):
        """Four with cp.async; one where rows do not start on 16 bytes and copies go through registers."""
        return STAGES if self.ab_aligned else 1


# ---- who touches what: (tid, loop variables) -> coordinates --------------------------------------------------------
# Warps stand 2 deep along M; along N there are 2 or 4 of them, each `across` columns wide.

def copy_col(tid):
    """First of the 8 columns (of K) that a thread copies."""
    return 8 * (tid % 4)


def _maps(warps):
    """The coordinate functions for a number of warps."""
    threads, beside = 32 * warps, warps // 2
    across = BLOCK // beside

    def copy_row(tid, i):
        return tid // 4 + threads // 4 * i

    def warp_row(tid):
        return WARP_ROWS * (tid // (32 * beside))

    def warp_col(tid):
        return across * (tid // 32 % beside)

    def fragment_row(first, tid, i, h):
        return first + 16 * i + 8 * h + tid % 32 // 4

    def ldmatrix_row(first, tid, i):
        return first + 16 * i + 8 * (tid % 32 // 16) + tid % 8

    def ldmatrix_col(tid, ks):
        return 16 * ks + 8 * (tid % 16 // 8)

    def read_row(tid, i):
        return tid // BLOCK + threads // BLOCK * i

    return {
        "copy A": lambda tid, i, stage: (copy_row(tid, i), copy_col(tid), stage, 0),
        "copy B": lambda tid, i, stage: (copy_row(tid, i), copy_col(tid), stage, 1),
        "load A": lambda tid, i, ks, stage:
            (warp_row(tid) + 16 * i + tid % 16, 16 * ks + 8 * (tid % 32 // 16), stage, 0),
        "load B": lambda tid, i, ks, stage: (ldmatrix_row(warp_col(tid), tid, i), ldmatrix_col(tid, ks), stage, 1),
        "lds A": lambda tid, i, h, q, ks, stage:
            (fragment_row(warp_row(tid), tid, i, h), 16 * ks + 8 * q + 2 * (tid % 4), stage, 0),
        "lds B": lambda tid, i, h, q, ks, stage:
            (fragment_row(warp_col(tid), tid, i, h), 16 * ks + 8 * q + 2 * (tid % 4), stage, 1),
        "store C": lambda tid, i, j, r: (fragment_row(warp_row(tid), tid, i, r), warp_col(tid) + 8 * j + 2 * (tid % 4)),
        "store C scalar": lambda tid, i, j, r, e:
            (fragment_row(warp_row(tid), tid, i, r), warp_col(tid) + 8 * j + 2 * (tid % 4) + e),
        "read C": lambda tid, i: (read_row(tid, i), tid % BLOCK),
    }, copy_row, read_row


def _all_accesses(ab_tile, c_tile, excess, options):
    """Every access that some variant uses, by name: (when, Access)."""
    maps, _, _ = _maps(options.warps)
    threads, deep = 32 * options.warps, 512 // (32 * options.warps)
    groups_b, pieces_c = 128 // (options.warps // 2) // 16, 128 // (options.warps // 2) // 8
    copy = "cp.async.cg.16" if options.ab_aligned else "st.shared.b128"
    halves = {"h": 2, "q": 2, "ks": 2, "stage": options.stages}
    table = (
        ("copy A", copy, ab_tile, "f16", {"i": deep, "stage": options.stages}),
        ("copy B", copy, ab_tile, "f16", {"i": deep, "stage": options.stages}),
        ("load A", "ldmatrix.x4", ab_tile, "f16", {"i": 4, "ks": 2, "stage": options.stages}),
        ("load B", "ldmatrix.x4", ab_tile, "f16", {"i": groups_b, "ks": 2, "stage": options.stages}),
        ("lds A", "ld.shared.b32", ab_tile, "f16", {"i": 4, **halves}),
        ("lds B", "ld.shared.b32", ab_tile, "f16", {"i": groups_b, **halves}),
        ("store C", "st.shared.b64", c_tile, "f32", {"i": 4, "j": pieces_c, "r": 2}),
        ("store C scalar", "st.shared.b32", c_tile, "f32", {"i": 4, "j": pieces_c, "r": 2, "e": 2}),
        ("read C", "ld.shared.b32", c_tile, "f32", {"i": BLOCK * BLOCK // threads}),
    )
    return {name: Access(name, instruction, tile, maps[name], {"tid": threads, **loops}, dtype, excess.get(name, 0))
            for name, instruction, tile, dtype, loops in table}


def _stride(ab_tile):
    """Elements from one row of a 16 x 16 block to the next, None where that varies."""
    found = {ab_tile(row + 1, col, 0, 0) - ab_tile(row, col, 0, 0) for row in range(15) for col in range(16)}
    return found.pop() if len(found) == 1 else None


def make_plan(name, ab_tile, c_tile, excess, options):
    """The plan for a tile layout. ab_tile: (row, column, stage, operand); c_tile: (row, column), f32."""
    made = _all_accesses(ab_tile, c_tile, excess, options)
    if options.loads == "wmma" and _stride(ab_tile) != WMMA_STRIDE:
        raise SimlayoutError(f"{name}: wmma reads lines that lie {WMMA_STRIDE} elements apart, and those of its tiles do "
                             "not: use mma_blocks")
    load_a = "load A" if options.loads in ("ldmatrix", "wmma") else "lds A"
    load_b = "lds B" if options.loads == "lds" else "load B"
    store_c = "store C" if options.c_store == "float2" else "store C scalar"
    agreements = ((("copy A",), load_a), (("copy B",), load_b), ((store_c,), "read C"))
    return Plan(name, (BLOCK, BLOCK, CHUNK_K), options.warps, options.stages,
                f"m16n8k16.{options.accumulate}.f16.f16.{options.accumulate}",
                (made["copy A"], made["copy B"], made[load_a], made[load_b]), (made[store_c], made["read C"]),
                agreements, max(2 * ab_tile.cosize, 4 * c_tile.cosize))


def make_body(index, options):
    """The kernel's Python function; `index` holds the emitted index functions, in bytes."""
    copy_a, copy_b, load_a, load_b, lds_a, lds_b = (index.copy_a, index.copy_b, index.load_a, index.load_b,
                                                    index.lds_a, index.lds_b)
    store_c, store_c_scalar, read_c = index.store_c, index.store_c_scalar, index.read_c
    _, copy_row, read_row = _maps(options.warps)
    wide = options.accumulate == "f32"
    registers, scalar = (4, f32) if wide else (2, b32)
    multiply = common.multiply_f32 if wide else common.multiply_f16
    low, high = (common.low_f32, common.high_f32) if wide else (common.low_f16, common.high_f16)
    copy = (common.copy_whole if options.whole else common.copy_async) if options.ab_aligned else common.copy_by_halves
    deep, tiles_n = 512 // (32 * options.warps), BLOCK // (options.warps // 2) // 8
    below = 8 * options.warps                        # rows that all threads copy at once

    def copy_chunk(smem, tid, stage, k, from_a, from_b, row0, col0, M, N, K, lda, ldb):
        kk, along = k + copy_col(tid), u64(2) * u64(k)
        for i in range(deep):
            copy(smem + copy_a(tid, i, stage), from_a + (along + u64(2 * below * i) * u64(lda)),
                 valid_bytes(row0 + copy_row(tid, i), M, kk, K))
        for i in range(deep):
            copy(smem + copy_b(tid, i, stage), from_b + (along + u64(2 * below * i) * u64(ldb)),
                 valid_bytes(col0 + copy_row(tid, i), N, kk, K))

    def a_by_ldmatrix(smem, tid, ks, stage, buffer, ra):
        for i in range(4):
            ra[buffer, i, 0], ra[buffer, i, 1], ra[buffer, i, 2], ra[buffer, i, 3] = ldmatrix_x4(
                smem + load_a(tid, i, ks, stage))

    def a_by_lds(smem, tid, ks, stage, buffer, ra):
        for i in range(4):
            for h in range(2):
                for q in range(2):
                    ra[buffer, i, h + 2 * q] = ld_shared_b32(smem + lds_a(tid, i, h, q, ks, stage))

    def b_by_ldmatrix(smem, tid, ks, stage, buffer, rb):
        for i in range(tiles_n // 2):
            rb[buffer, 2 * i, 0], rb[buffer, 2 * i, 1], rb[buffer, 2 * i + 1, 0], rb[buffer, 2 * i + 1, 1] = ldmatrix_x4(
                smem + load_b(tid, i, ks, stage))

    def b_by_lds(smem, tid, ks, stage, buffer, rb):
        for i in range(tiles_n // 2):
            for h in range(2):
                for q in range(2):
                    rb[buffer, 2 * i + h, q] = ld_shared_b32(smem + lds_b(tid, i, h, q, ks, stage))

    wmma_a, wmma_b = wmma_load("a", "f16", "row"), wmma_load("b", "f16", "col")
    wmma_multiply, wmma_c = wmma_mma("row", "col"), wmma_store("f32", "row")

    def a_by_wmma(smem, tid, ks, stage, buffer, ra):
        for i in range(4):
            (ra[buffer, i, 0], ra[buffer, i, 1], ra[buffer, i, 2], ra[buffer, i, 3], ra[buffer, i, 4], ra[buffer, i, 5],
             ra[buffer, i, 6], ra[buffer, i, 7]) = wmma_a(smem + load_a(tid - tid % 32, i, ks, stage), WMMA_STRIDE)

    def b_by_wmma(smem, tid, ks, stage, buffer, rb):
        for i in range(tiles_n // 2):
            (rb[buffer, i, 0], rb[buffer, i, 1], rb[buffer, i, 2], rb[buffer, i, 3], rb[buffer, i, 4], rb[buffer, i, 5],
             rb[buffer, i, 6], rb[buffer, i, 7]) = wmma_b(smem + load_b(tid - tid % 32, i, ks, stage), WMMA_STRIDE)

    by_wmma = options.loads == "wmma"
    fragments_a = {"ldmatrix": a_by_ldmatrix, "wmma": a_by_wmma}.get(options.loads, a_by_lds)
    fragments_b = {"lds": b_by_lds, "wmma": b_by_wmma}.get(options.loads, b_by_ldmatrix)

    def load_fragments(smem, tid, ks, stage, buffer, ra, rb):
        fragments_a(smem, tid, ks, stage, buffer, ra)
        fragments_b(smem, tid, ks, stage, buffer, rb)

    def multiply_by_mma(buffer, ra, rb, acc):
        for i in range(4):
            for j in range(tiles_n):
                multiply(acc, i, j if i % 2 == 0 else tiles_n - 1 - j, ra, rb, buffer)

    def multiply_by_wmma(buffer, ra, rb, acc):
        for i in range(4):
            for n in range(tiles_n // 2):
                j = 2 * n
                (acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3], acc[i, j + 1, 0], acc[i, j + 1, 1],
                 acc[i, j + 1, 2], acc[i, j + 1, 3]) = wmma_multiply(
                    ra[buffer, i, 0], ra[buffer, i, 1], ra[buffer, i, 2], ra[buffer, i, 3], ra[buffer, i, 4],
                    ra[buffer, i, 5], ra[buffer, i, 6], ra[buffer, i, 7], rb[buffer, n, 0], rb[buffer, n, 1],
                    rb[buffer, n, 2], rb[buffer, n, 3], rb[buffer, n, 4], rb[buffer, n, 5], rb[buffer, n, 6],
                    rb[buffer, n, 7], acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3], acc[i, j + 1, 0],
                    acc[i, j + 1, 1], acc[i, j + 1, 2], acc[i, j + 1, 3])

    multiply_fragments = multiply_by_wmma if by_wmma else multiply_by_mma

    main_loop = make_main_loop(options.stages, CHUNK_K, copy_chunk, load_fragments, multiply_fragments, meet)

    def store_pairs(smem, tid, i, j, r, acc):
        st_shared_v2_f32(smem + store_c(tid, i, j, r), low(acc, i, j, r), high(acc, i, j, r))

    def store_scalars(smem, tid, i, j, r, acc):
        st_shared_f32(smem + store_c_scalar(tid, i, j, r, 0), low(acc, i, j, r))
        st_shared_f32(smem + store_c_scalar(tid, i, j, r, 1), high(acc, i, j, r))

    store = store_pairs if options.c_store == "float2" else store_scalars

    def store_by_mma(smem, tid, acc):
        for i in range(4):
            for j in range(tiles_n):
                for r in range(2):
                    store(smem, tid, i, j, r, acc)

    def store_by_wmma(smem, tid, acc):
        for i in range(4):
            for n in range(tiles_n // 2):
                j = 2 * n
                wmma_c(smem + store_c(tid - tid % 32, i, j, 0), WMMA_STRIDE, acc[i, j, 0], acc[i, j, 1], acc[i, j, 2],
                       acc[i, j, 3], acc[i, j + 1, 0], acc[i, j + 1, 1], acc[i, j + 1, 2], acc[i, j + 1, 3])

    store_tile = store_by_wmma if by_wmma else store_by_mma
    shape_a, shape_b = ((2, 4, 8), (2, tiles_n // 2, 8)) if by_wmma else ((2, 4, 4), (2, tiles_n, 2))

    def gemm(a, b, c, M, N, K, lda, ldb, ldc):
        row0, col0 = cta_row(BLOCK), cta_col(BLOCK)
        if row0 >= M or col0 >= N:
            return
        tid, smem = tid_x(), dynamic_shared()
        acc = register_array((4, tiles_n, registers), scalar)
        ra = register_array(shape_a, b32)             # two buffers: one is loaded while the other is multiplied
        rb = register_array(shape_b, b32)
        for i in range(4):
            for j in range(tiles_n):
                for r in range(registers):
                    acc[i, j, r] = 0
        from_a = element(a, row0 + copy_row(tid, 0), lda, copy_col(tid))     # further rows are `below` down, each
        from_b = element(b, col0 + copy_row(tid, 0), ldb, copy_col(tid))
        main_loop(smem, tid, ra, rb, acc, from_a, from_b, row0, col0, M, N, K, lda, ldb)
        store_tile(smem, tid, acc)
        bar_sync()
        for i in range(BLOCK * deep // 4):
            value = ld_volatile_shared_f32(smem + read_c(tid, i))
            row, col = row0 + read_row(tid, i), col0 + tid % BLOCK
            if row < M and col < N:
                st_global_b16(element(c, row, ldc, col), cvt_rn_f16x2_f32(value, value))

    return gemm


def kernel(name, summary, ab_tile, c_tile, excess=()):
    """A Kernel of this family with its tile layouts."""
    def emitted_as(options):
        return name if options.warps == 4 else f"{name}_8warps"

    def body(options):
        return make_body(import_module(f"cuda_kernels.emitted.{emitted_as(options)}"), options)

    def emits():
        return {emitted_as(o): tuple(_all_accesses(ab_tile, c_tile, dict(excess), o).values())
                for o in (Options(warps=4), Options(warps=8))}

    return Kernel(name, summary, Options(), lambda options: make_plan(name, ab_tile, c_tile, dict(excess), options), body,
                  emitted_as, emits)
