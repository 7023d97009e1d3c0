"""cuda_hgemm's kernel: 256x128x32 tiles, 8 warps of 64x64, ldmatrix x4 / x2, C through shared memory.

`mma_base`, `mma_padded` and `mma_permuted` are this one kernel with three layouts of its shared memory: the plan
below says who touches what, the body calls the index functions emitted from it. One stage copies through
registers (the synchronous mma_base.cu); two to four stages use cp.async. `mma_swizzled` has chunks of twice the depth, so
that half as many barriers do, and loads B by ldmatrix x4.
"""

from dataclasses import dataclass
from importlib import import_module

from cuda_kernels.intrinsics import (
    b32,
    bar_sync,
    dynamic_shared,
    f32,
    here,
    ld_volatile_shared_b128,
    ldmatrix_x2,
    ldmatrix_x4,
    register_array,
    st_shared_b32,
    tid_x,
    u64,
)
from cuda_kernels.kernels import common
from cuda_kernels.kernels.common import cta_col, cta_row_back_and_forth, cta_row_of, element, valid_bytes
from cuda_kernels.kernels.kernel import Kernel, choice
from cuda_kernels.kernels.pipeline import make_main_loop, meet_and_hold
from simlayout.plan import Plan
from simlayout.proofs import Access, Source

BLOCK_ROWS, BLOCK_COLS, WARPS = 256, 128, 8
THREADS = 32 * WARPS


@dataclass(frozen=True)
class Options:
    """stages: 1 (copies through registers) to 4 (cp.async). accumulate: "f16" or "f32". stripes: of 16 tiles along N, walked
    from the first row of tiles to the last, "forward", or every other one back, "serpentine": the rows of A that a stripe
    ends with are those that the next one begins with. The rest is set by `Kernel.fitted`: ab_aligned, c_aligned: rows of A
    and B, of C, start on 16 bytes (without it cp.async cannot be used: one stage); whole: M, N and K are multiples of the
    tile, so no copy needs a guard."""

    stages: int = 4
    accumulate: str = "f32"
    stripes: str = "forward"
    ab_aligned: bool = True
    c_aligned: bool = True
    whole: bool = False

    def __post_init__(self):
        choice("stages", self.stages, (1, 2, 3, 4))
        choice("accumulate", self.accumulate, ("f16", "f32"))
        choice("stripes", self.stripes, ("forward", "serpentine"))

    @property
    def depth(self):
        """The stages that are really used."""
        return self.stages if self.ab_aligned else 1


# ---- who touches what: (tid, loop variables) -> (row, column[, stage]) -------------------------------------------

@dataclass(frozen=True)
class Family:
    """What the kernels of this module differ in. ab_tile: (row, column, stage) with the rows of B below those of A; c_tile:
    (row, column); excess: declared per access, {"load A": 12, ...}; chunk_k: depth of a chunk, 32 or 64; b_matrices: 8x8
    matrices of B per ldmatrix, 2 or 4."""

    name: str
    ab_tile: object
    c_tile: object
    excess: dict
    chunk_k: int = 32
    b_matrices: int = 2

    @property
    def beside(self):
        """Lanes that copy 16 bytes each of one row."""
        return self.chunk_k // 8

    @property
    def below(self):
        """Rows that a warp copies at once."""
        return 32 // self.beside


def make_copy_maps(family):
    """(copy_a_row, copy_b_row, copy_col): rows of A's and of B's tile (a column of the product) that a thread copies, 32 and
    16 rows per warp, and the first of the 8 columns (of K)."""
    beside, below = family.beside, family.below

    def copy_a_row(tid, i):
        return 32 * (tid // 32) + tid % 32 // beside + below * i

    def copy_b_row(tid, i):
        return 16 * (tid // 32) + tid % 32 // beside + below * i

    def copy_col(tid):
        return 8 * (tid % beside)

    return copy_a_row, copy_b_row, copy_col


def read_c_row(tid, i):
    """Row of C that a thread takes back: 2 rows per warp and step, 16 lanes per row."""
    return 32 * (tid // 32) + 2 * i + tid % 32 // 16


def read_c_col(tid):
    """First of its 8 columns."""
    return 8 * (tid % 16)


def _load_a(tid, i, ks, stage):
    return 64 * (tid // 64) + 16 * i + tid % 16, 16 * ks + 8 * (tid % 32 // 16), stage


def _load_b(tid, j, ks, stage):
    return BLOCK_ROWS + 64 * (tid // 32 % 2) + 8 * j + tid % 8, 16 * ks + 8 * (tid % 16 // 8), stage


def _load_b_wide(tid, j, ks, stage):
    row = BLOCK_ROWS + 64 * (tid // 32 % 2) + 16 * j + 8 * (tid % 32 // 16) + tid % 8
    return row, 16 * ks + 8 * (tid % 16 // 8), stage


def _store_c(tid, i, j, r):
    return 64 * (tid // 64) + 16 * i + 8 * r + tid % 32 // 4, 64 * (tid // 32 % 2) + 8 * j + 2 * (tid % 4)


def make_plan(family, options):
    """The plan of a variant."""
    asynchronous = options.depth > 1
    copy = "cp.async.cg.16" if asynchronous else "st.shared.b128"
    copy_a_row, copy_b_row, copy_col = make_copy_maps(family)
    stages, steps, ab_tile = {"stage": options.depth}, family.chunk_k // 16, family.ab_tile
    b_rows = 8 * family.b_matrices // 2                  # of B that an ldmatrix brings

    def access(label, instruction, tile, lanes, source=None, **loops):
        return Access(label, instruction, tile, lanes, {"tid": THREADS, **loops}, "f16", family.excess.get(label, 0), source)

    def copied(operand, row, first, trips):
        """The copies of an operand, whose rows lie in the tile from `first` on."""
        source = Source(operand, lambda tid, i, stage: (row(tid, i), copy_col(tid)), sized=None)
        return access(f"copy {operand}", copy, ab_tile, lambda tid, i, stage: (first + row(tid, i), copy_col(tid), stage),
                      source if asynchronous else None, i=trips, **stages)

    each_step = (
        copied("A", copy_a_row, 0, 32 // family.below),
        copied("B", copy_b_row, BLOCK_ROWS, 16 // family.below),
        access("load A", "ldmatrix.x4", ab_tile, _load_a, i=4, ks=steps, **stages),
        access("load B", f"ldmatrix.x{family.b_matrices}", ab_tile, _load_b if family.b_matrices == 2 else _load_b_wide,
               j=64 // b_rows, ks=steps, **stages),
    )
    each_tile = (
        access("store C", "st.shared.b32", family.c_tile, _store_c, i=4, j=8, r=2),
        access("read C", "ld.shared.b128", family.c_tile, lambda tid, i: (read_c_row(tid, i), read_c_col(tid)), i=16),
    )
    agreements = ((("copy A", "copy B"), "load A"), (("copy A", "copy B"), "load B"), (("store C",), "read C"))
    stage_bytes = 2 * ab_tile.layout.stride[2] if hasattr(ab_tile, "layout") else 2 * ab_tile.stride[2]
    return Plan(family.name, (BLOCK_ROWS, BLOCK_COLS, family.chunk_k), WARPS, options.depth,
                f"m16n8k16.{options.accumulate}.f16.f16.{options.accumulate}", each_step, each_tile, agreements,
                max(options.depth * stage_bytes, 2 * family.c_tile.cosize))


def make_load_fragments(index, b_matrices):
    """load_fragments(smem, tid, ks, stage, buffer, ra, rb): those of a warp's 64 x 64 x 16; b_matrices: as of Family."""
    load_a, load_b = index.load_a, index.load_b

    def load_b_by_two(smem, tid, ks, stage, buffer, rb):
        for j in range(8):
            rb[buffer, j, 0], rb[buffer, j, 1] = ldmatrix_x2(smem + load_b(tid, j, ks, stage))

    def load_b_by_four(smem, tid, ks, stage, buffer, rb):
        for j in range(4):
            rb[buffer, 2 * j, 0], rb[buffer, 2 * j, 1], rb[buffer, 2 * j + 1, 0], rb[buffer, 2 * j + 1, 1] = ldmatrix_x4(
                smem + load_b(tid, j, ks, stage))

    fragments_b = load_b_by_two if b_matrices == 2 else load_b_by_four

    def load_fragments(smem, tid, ks, stage, buffer, ra, rb):
        for i in range(4):
            ra[buffer, i, 0], ra[buffer, i, 1], ra[buffer, i, 2], ra[buffer, i, 3] = ldmatrix_x4(
                smem + load_a(tid, i, ks, stage))
        fragments_b(smem, tid, ks, stage, buffer, rb)

    return load_fragments


def make_body(index, family, options):
    """The kernel's Python function; `index` holds the emitted index functions, in bytes."""
    copy_a_row, copy_b_row, copy_col = make_copy_maps(family)
    below, deep_a, deep_b = family.below, 32 // family.below, 16 // family.below
    copy_a, copy_b = index.copy_a, index.copy_b
    store_c, read_c = index.store_c, index.read_c
    stages, wide = options.depth, options.accumulate == "f32"
    registers, scalar = (4, f32) if wide else (2, b32)
    multiply = common.multiply_f32 if wide else common.multiply_f16
    packed = common.packed_f32 if wide else common.packed_f16
    store_global = common.store_whole if options.c_aligned else common.store_by_halves
    if not options.ab_aligned:
        copy = common.copy_by_halves
    else:
        copy = (common.copy_whole if options.whole else common.copy_async) if stages > 1 else common.copy_through_registers

    first_row = cta_row_back_and_forth if options.stripes == "serpentine" else cta_row_of

    def copy_chunk(smem, tid, stage, k, from_a, from_b, row0, col0, M, N, K, lda, ldb):
        kk, along = k + copy_col(tid), u64(2) * u64(k)
        row0, col0 = here(row0), here(col0)              # which rows exist is not kept in registers
        for i in range(deep_a):
            copy(smem + copy_a(tid, i, stage), from_a + (along + u64(2 * below * i) * u64(lda)),
                 valid_bytes(row0 + copy_a_row(tid, i), M, kk, K))
        for i in range(deep_b):
            copy(smem + copy_b(tid, i, stage), from_b + (along + u64(2 * below * i) * u64(ldb)),
                 valid_bytes(col0 + copy_b_row(tid, i), N, kk, K))

    load_fragments = make_load_fragments(index, family.b_matrices)

    def multiply_fragments(buffer, ra, rb, acc):
        for i in range(4):
            for j in range(8):
                multiply(acc, i, j if i % 2 == 0 else 7 - j, ra, rb, buffer)

    main_loop = make_main_loop(stages, family.chunk_k, copy_chunk, load_fragments, multiply_fragments, meet_and_hold,
                               steps=family.chunk_k // 16)

    def gemm(a, b, c, M, N, K, lda, ldb, ldc):
        row0, col0 = first_row(BLOCK_ROWS, M), cta_col(BLOCK_COLS)
        if row0 >= M or col0 >= N:
            return
        tid, smem = tid_x(), dynamic_shared()
        acc = register_array((4, 8, registers), scalar)
        ra = register_array((2, 4, 4), b32)           # two buffers: one is loaded while the other is multiplied
        rb = register_array((2, 8, 2), b32)
        for i in range(4):
            for j in range(8):
                for r in range(registers):
                    acc[i, j, r] = 0
        from_a = element(a, row0 + copy_a_row(tid, 0), lda, copy_col(tid))    # further rows are `below` down, each
        from_b = element(b, col0 + copy_b_row(tid, 0), ldb, copy_col(tid))
        main_loop(smem, tid, ra, rb, acc, from_a, from_b, row0, col0, M, N, K, lda, ldb)
        for i in range(4):
            for j in range(8):
                for r in range(2):
                    st_shared_b32(smem + store_c(tid, i, j, r), packed(acc, i, j, r))
        bar_sync()
        for i in range(16):
            v0, v1, v2, v3 = ld_volatile_shared_b128(smem + read_c(tid, i))
            row, col = row0 + read_c_row(tid, i), col0 + read_c_col(tid)
            if row < M and col < N:
                store_global(element(c, row, ldc, col), v0, v1, v2, v3, N - col)

    return gemm


def kernel(name, summary, ab_tile, c_tile, excess=(), chunk_k=32, b_matrices=2):
    """A Kernel of this family with its tile layouts."""
    family = Family(name, ab_tile, c_tile, dict(excess), chunk_k, b_matrices)

    def body(options):
        return make_body(import_module(f"cuda_kernels.emitted.{name}"), family, options)

    return Kernel(name, summary, Options(), lambda options: make_plan(family, options), body, lambda options: name,
                  lambda: {name: make_plan(family, Options(stages=4)).accesses})
