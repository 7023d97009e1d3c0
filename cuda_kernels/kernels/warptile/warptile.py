"""warptile: C = A B in bf16 on CUDA cores, by warp tiling. Version 1 of the H100 notes (fast.cu's kernel 1, after siboehm).

A CTA of 4 warps makes a 128x128 tile of C in steps of 16 along K; a warp makes 64x64 of it, a thread 8 rows by 4 groups of
4 columns. Both operands lie in shared memory with K outermost, so A is transposed on its way: by 2-byte stores, of which 4
lanes at a time meet in a bank. In version 1 B is (K, N), row-major: it computes another product than version 2 does from
the same memory. The names of the original are BM = BN = 128, BK = 16, WM = WN = 64, TM = 8, TN = 4, WNITER = 4, WMITER = 1,
WSUBM = 64, WSUBN = 16, regM, regN, threadResults. Here M, N and K may be anything.
"""

from dataclasses import dataclass
from importlib import import_module
from math import prod

import numpy as np

from cuda_kernels.intrinsics import (
    bar_sync,
    cvt_rn_bf16x2_f32,
    dynamic_shared,
    f32,
    register_array,
    st_shared_b16,
    tid_x,
    u64,
)
from cuda_kernels.intrinsics.arithmetic import fma_rn_f32
from cuda_kernels.intrinsics.simt import (
    cvt_f32_bf16_high,
    cvt_f32_bf16_low,
    ld_global_v2_b32,
    ld_shared_b64,
    ld_shared_b128,
    st_global_v2_b32,
    st_shared_b64,
)
from cuda_kernels.kernels.common import cta_col, cta_row, element, store_two, two_halves, valid_bytes
from cuda_kernels.kernels.kernel import Kernel
from simlayout.algebra import Layout
from simlayout.plan import Plan, Prediction
from simlayout.proofs import Access

BLOCK, CHUNK_K, WARPS = 128, 16, 4
THREADS = 32 * WARPS
WARP_TILE, GROUP = 64, 16
"""Rows, and columns, of a warp's tile (WM, WN); columns that a warp's lanes cover at once (WSUBN)."""
ROWS, COLS, GROUPS = 8, 4, 4
"""A thread's rows (TM), its neighbouring columns (TN), and how often it has those (WNITER)."""
ACROSS = COLS * GROUPS
"""A thread's columns."""

TILE = Layout((BLOCK, CHUNK_K, 2), (1, BLOCK, BLOCK * CHUNK_K))
"""(row of A or column of B, k, 0 for A or 1 for B) -> elements: As, then Bs, both with K outermost."""

FMA_PER_CLOCK = 4
"""Warp instructions of f32 fma that an SM begins per clock: 128 lanes (CUDA C++ Programming Guide, Arithmetic Instructions,
compute capability 9.0)."""


@dataclass(frozen=True)
class Options:
    """All set by `WarpTile.fitted`. a_aligned, b_aligned, c_aligned: rows of A, B, C start on 8 bytes and are a multiple of
    4 elements long, so 4 elements move at once; whole: M, N and K are multiples of the tile, so no load needs a guard."""

    a_aligned: bool = True
    b_aligned: bool = True
    c_aligned: bool = True
    whole: bool = False


# ---- who touches what: (tid, loop variables) -> coordinates ---------------------------------------------------------

def copy_a_row(tid, i):
    """Row of A's tile that a thread copies 4 elements of: innerRowA + rowStrideA * i."""
    return tid // 4 + 32 * i


def copy_a_k(tid):
    """The first of these 4 elements along K: 4 * innerColA."""
    return 4 * (tid % 4)


def copy_b_k(tid, i):
    """Row of B's tile that a thread copies 4 elements of: innerRowB + rowStrideB * i."""
    return tid // 32 + 4 * i


def copy_b_col(tid):
    """The first of these 4 columns: 4 * innerColB."""
    return 4 * (tid % 32)


def result_row(tid):
    """First of the 8 rows of C's tile that a thread computes."""
    return WARP_TILE * (tid // 64) + ROWS * (tid % 32 // 4)


def result_col(tid, j):
    """First of the 4 columns of group j that a thread computes."""
    return WARP_TILE * (tid // 32 % 2) + GROUP * j + COLS * (tid % 4)


def _access(name, instruction, lanes, excess=0, **loops):
    return Access(name, instruction, TILE, lanes, {"tid": THREADS, **loops}, "bf16", excess)


ACCESSES = (
    _access("store A", "st.shared.b16", lambda tid, i, e: (copy_a_row(tid, i), copy_a_k(tid) + e, 0), excess=3, i=4, e=4),
    _access("store B", "st.shared.b64", lambda tid, i: (copy_b_col(tid), copy_b_k(tid, i), 1), i=4),
    _access("load A", "ld.shared.b128", lambda tid, k: (result_row(tid), k, 0), k=CHUNK_K),
    _access("load B", "ld.shared.b64", lambda tid, j, k: (result_col(tid, j), k, 1), j=GROUPS, k=CHUNK_K),
)


# ---- the plan -------------------------------------------------------------------------------------------------------

class FmaPrediction(Prediction):
    """A Prediction of a kernel on CUDA cores: `mma_clocks` are the clocks per K step of its fma instructions."""

    multiplied_by = "fma"


class FmaPlan(Plan):
    """A Plan whose `mma` is the fma of CUDA cores, a warp instruction of 32 multiply-adds."""

    prediction = FmaPrediction

    def mma_instructions(self):
        """fma instructions of one CTA in one K step."""
        return prod(self.tile) // 32

    def multiply_clocks(self):
        """Clocks of an SM that these take."""
        return self.mma_instructions() / FMA_PER_CLOCK


def make_plan(options):
    """The plan, the same for all options. shared_bytes: 8192 of both tiles."""
    agreements = ((("store A",), "load A"), (("store B",), "load B"))
    return FmaPlan("warptile", (BLOCK, BLOCK, CHUNK_K), WARPS, 1, "fma.rn.f32", ACCESSES, (), agreements, 2 * TILE.cosize)


# ---- the body -------------------------------------------------------------------------------------------------------

def four_whole(source, valid):
    """4 elements of a row in two registers, all of which exist."""
    return ld_global_v2_b32(source, 8)


def four_aligned(source, valid):
    """4 elements that start on 8 bytes; all of them exist, or none: then zeros."""
    return ld_global_v2_b32(source, valid)


def four_by_halves(source, valid):
    """4 elements one by one; zeros where they do not exist (`valid` bytes do)."""
    return two_halves(source, valid, 0), two_halves(source, valid, 2)


def store_four(destination, v0, v1, count):
    """4 elements of C in one 8-byte store."""
    st_global_v2_b32(destination, v0, v1)


def store_by_halves(destination, v0, v1, count):
    """Up to `count` of 4 elements of C, one by one."""
    store_two(destination, v0, count)
    store_two(destination + u64(4), v1, count - 2)


def split(registers, first, packed):
    """The two bf16 of a register as f32 in registers[first] and registers[first + 1]."""
    registers[first] = cvt_f32_bf16_low(packed)
    registers[first + 1] = cvt_f32_bf16_high(packed)


def make_body(options):
    """The kernel's Python function, which calls the emitted index functions (bytes)."""
    index = import_module("cuda_kernels.emitted.warptile")
    store_a, store_b, load_a, load_b = index.store_a, index.store_b, index.load_a, index.load_b
    four_a, four_b = (four_whole if options.whole else four_aligned if aligned else four_by_halves
                      for aligned in (options.a_aligned, options.b_aligned))
    store_c = store_four if options.c_aligned else store_by_halves

    def copy_chunk(smem, tid, k, from_a, from_b, row0, col0, M, N, K, lda, ldb):
        for i in range(4):
            source = from_a + (u64(2) * u64(k) + u64(64 * i) * u64(lda))
            v0, v1 = four_a(source, valid_bytes(row0 + copy_a_row(tid, i), M, k + copy_a_k(tid), K))
            st_shared_b16(smem + store_a(tid, i, 0), v0)
            st_shared_b16(smem + store_a(tid, i, 1), v0 >> 16)
            st_shared_b16(smem + store_a(tid, i, 2), v1)
            st_shared_b16(smem + store_a(tid, i, 3), v1 >> 16)
        for i in range(4):
            source = from_b + (u64(2) * u64(k) + u64(8 * i)) * u64(ldb)
            v0, v1 = four_b(source, valid_bytes(k + copy_b_k(tid, i), K, col0 + copy_b_col(tid), N))
            st_shared_b64(smem + store_b(tid, i), v0, v1)

    def load_registers(smem, tid, k, reg_m, reg_n):
        v0, v1, v2, v3 = ld_shared_b128(smem + load_a(tid, k))
        split(reg_m, 0, v0)
        split(reg_m, 2, v1)
        split(reg_m, 4, v2)
        split(reg_m, 6, v3)
        for j in range(GROUPS):
            v0, v1 = ld_shared_b64(smem + load_b(tid, j, k))
            split(reg_n, COLS * j, v0)
            split(reg_n, COLS * j + 2, v1)

    def store_results(tid, acc, c, row0, col0, M, N, ldc):
        for i in range(ROWS):
            for j in range(GROUPS):
                row, col = row0 + result_row(tid) + i, col0 + result_col(tid, j)
                v0 = cvt_rn_bf16x2_f32(acc[i, COLS * j + 1], acc[i, COLS * j])
                v1 = cvt_rn_bf16x2_f32(acc[i, COLS * j + 3], acc[i, COLS * j + 2])
                if row < M and col < N:
                    store_c(element(c, row, ldc, col), v0, v1, N - col)

    def gemm(a, b, c, M, N, K, lda, ldb, ldc):
        row0, col0 = cta_row(BLOCK), cta_col(BLOCK)
        if row0 >= M or col0 >= N:
            return
        tid, smem = tid_x(), dynamic_shared()
        acc = register_array((ROWS, ACROSS), f32)              # threadResults
        reg_m = register_array((ROWS,), f32)
        reg_n = register_array((ACROSS,), f32)
        for i in range(ROWS):
            for n in range(ACROSS):
                acc[i, n] = 0
        from_a = element(a, row0 + copy_a_row(tid, 0), lda, copy_a_k(tid))       # further rows are 32 down, each
        from_b = element(b, copy_b_k(tid, 0), ldb, col0 + copy_b_col(tid))       # and of B 4
        for chunk in range((K + CHUNK_K - 1) // CHUNK_K):
            copy_chunk(smem, tid, chunk * CHUNK_K, from_a, from_b, row0, col0, M, N, K, lda, ldb)
            bar_sync()
            for k in range(CHUNK_K):
                load_registers(smem, tid, k, reg_m, reg_n)
                for i in range(ROWS):
                    for n in range(ACROSS):
                        acc[i, n] = fma_rn_f32(reg_m[i], reg_n[n], acc[i, n])
            bar_sync()
        store_results(tid, acc, c, row0, col0, M, N, ldc)

    return gemm


# ---- the kernel -----------------------------------------------------------------------------------------------------

class WarpTile(Kernel):
    """C = A @ B for A (M, K), B (K, N) and C (M, N), all row-major bf16: B lies otherwise than that of `Kernel`."""

    dtype = "bf16"
    blas_order = "NN"

    def fitted(self, M, N, K, lda=None, ldb=None, ldc=None, a=0, b=0, c=0):
        """The variant for a problem. lda, ldb, ldc: elements from row to row, by default K, N, N; a, b, c: the addresses."""
        def aligned(address, length, leading):
            return address % 8 == 0 and length % 4 == (leading or length) % 4 == 0

        a_aligned, b_aligned, c_aligned = aligned(a, K, lda), aligned(b, N, ldb), aligned(c, N, ldc)
        whole = a_aligned and b_aligned and M % BLOCK == N % BLOCK == K % CHUNK_K == 0
        return self.variant(a_aligned=a_aligned, b_aligned=b_aligned, c_aligned=c_aligned, whole=whole)

    def unaligned(self, a, b, c):
        """The variant for addresses of A, B and C of which some (bools) do not start on 16 bytes."""
        options = self.options
        return self.variant(a_aligned=options.a_aligned and not a, b_aligned=options.b_aligned and not b,
                            c_aligned=options.c_aligned and not c, whole=options.whole and not (a or b))

    def run(self, a, b, device="auto", progress=None, hazards="raise"):
        """C = A @ B.T as every Kernel does, for bits of bf16 in uint16 arrays: see `cuda_kernels.run.warptile`."""
        from cuda_kernels.run.warptile import run_warptile

        return run_warptile(a, np.ascontiguousarray(b.T), device, progress, hazards)


KERNEL = WarpTile("warptile", "warp tiling in bf16 on CUDA cores, A transposed in shared memory", Options(), make_plan,
                  make_body, lambda options: "warptile", lambda: {"warptile": ACCESSES})
