"""Fragments of MatmulTutorial's kernel: how they are loaded, multiplied, and how C leaves the registers."""

from cuda_kernels.intrinsics import (
    bar_sync,
    ld_shared_b32,
    ld_shared_v2_f32,
    st_shared_f32,
    st_shared_v2_f32,
    wmma_load,
    wmma_mma,
    wmma_store,
)
from cuda_kernels.kernels import common
from cuda_kernels.kernels.tutorial.plan import BLOCK, WMMA_STRIDE


def make_fragments(index, options):
    """(load_fragments(smem, tid, ks, stage, buffer, ra, rb), shape of ra, shape of rb): one k16 step of a warp."""
    tiles_n, buffers = BLOCK // options.beside // 8, options.fragments
    load_a, load_b = (make(index, tiles_n // 2) for make in LOADS[options.loads])

    def load_fragments(smem, tid, ks, stage, buffer, ra, rb):
        load_a(smem, tid, ks, stage, buffer, ra)
        load_b(smem, tid, ks, stage, buffer, rb)

    if options.loads == "wmma":
        return load_fragments, (buffers, 4, 8), (buffers, tiles_n // 2, 8)
    return load_fragments, (buffers, 4, 4), (buffers, tiles_n, 2)


# ---- makers of load(smem, tid, ks, stage, buffer, registers): four blocks of 16 rows of A, `pairs` of 16 columns of B

def make_a_by_ldmatrix(index, pairs):
    """By ldmatrix, of A."""
    return common.make_load_a(index.load_a)


def make_b_by_ldmatrix(index, pairs):
    """By ldmatrix, of B."""
    return common.make_load_b(index.load_b, pairs)


def make_a_by_lds(index, pairs):
    """Word by word, of A."""
    lds_a = index.lds_a

    def load(smem, tid, ks, stage, buffer, ra):
        for i in range(4):
            for h in range(2):
                for q in range(2):
                    ra[buffer, i, h + 2 * q] = ld_shared_b32(smem + lds_a(tid, i, h, q, ks, stage))

    return load


def make_b_by_lds(index, pairs):
    """Word by word, of B."""
    lds_b = index.lds_b

    def load(smem, tid, ks, stage, buffer, rb):
        for i in range(pairs):
            for h in range(2):
                for q in range(2):
                    rb[buffer, 2 * i + h, q] = ld_shared_b32(smem + lds_b(tid, i, h, q, ks, stage))

    return load


def make_a_by_wmma(index, pairs):
    """By wmma.load, of A."""
    load_a, wmma_a = index.load_a, wmma_load("a", "f16", "row")

    def load(smem, tid, ks, stage, buffer, ra):
        for i in range(4):
            (ra[buffer, i, 0], ra[buffer, i, 1], ra[buffer, i, 2], ra[buffer, i, 3], ra[buffer, i, 4], ra[buffer, i, 5],
             ra[buffer, i, 6], ra[buffer, i, 7]) = wmma_a(smem + load_a(tid - tid % 32, i, ks, stage), WMMA_STRIDE)

    return load


def make_b_by_wmma(index, pairs):
    """By wmma.load, of B."""
    load_b, wmma_b = index.load_b, wmma_load("b", "f16", "col")

    def load(smem, tid, ks, stage, buffer, rb):
        for i in range(pairs):
            (rb[buffer, i, 0], rb[buffer, i, 1], rb[buffer, i, 2], rb[buffer, i, 3], rb[buffer, i, 4], rb[buffer, i, 5],
             rb[buffer, i, 6], rb[buffer, i, 7]) = wmma_b(smem + load_b(tid - tid % 32, i, ks, stage), WMMA_STRIDE)

    return load


LOADS = {"ldmatrix": (make_a_by_ldmatrix, make_b_by_ldmatrix), "lds": (make_a_by_lds, make_b_by_lds),
         "mixed": (make_a_by_lds, make_b_by_ldmatrix), "wmma": (make_a_by_wmma, make_b_by_wmma)}
"""Option `loads` -> the makers of A and of B."""


# ---- products and C --------------------------------------------------------------------------------------------------

def make_multiply(options):
    """multiply_fragments(buffer, ra, rb, acc): all mma of a k16 step of a warp."""
    tiles_n, back = BLOCK // options.beside // 8, int(options.serpentine)
    multiply = (common.multiply_f16 if options.accumulate == "f16" else
                common.multiply_f32 if options.mma == "m16n8k16" else common.multiply_f32_k8)
    wmma_multiply = wmma_mma("row", "col")

    def multiply_by_mma(buffer, ra, rb, acc):
        for i in range(4):
            for j in range(tiles_n):
                multiply(acc, i, j if back * i % 2 == 0 else tiles_n - 1 - j, ra, rb, buffer)

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

    return multiply_by_wmma if options.loads == "wmma" else multiply_by_mma


def make_store(index, options):
    """store_tile(smem, tid, acc): C from the registers to shared memory, as f32; of two groups of warps, their sum."""
    make = make_store_sums if options.split_k else make_store_by_wmma if options.loads == "wmma" else make_store_by_mma
    return make(index, options)


def halves(options):
    """(low, high): what takes column 2t, and column 2t + 1, of an accumulator as f32."""
    wide = options.accumulate == "f32"
    return (common.low_f32, common.high_f32) if wide else (common.low_f16, common.high_f16)


def make_store_by_mma(index, options):
    """store_tile of `make_store`, in pairs of columns or one by one."""
    store_c, store_c_scalar, (low, high) = index.store_c, index.store_c_scalar, halves(options)
    tiles_n = BLOCK // options.beside // 8

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

    return store_by_mma


def make_store_by_wmma(index, options):
    """store_tile of `make_store`, by wmma.store of 16 x 16."""
    store_c, tiles_n, wmma_c = index.store_c, BLOCK // options.beside // 8, wmma_store("f32", "row")

    def store_by_wmma(smem, tid, acc):
        for i in range(4):
            for n in range(tiles_n // 2):
                j = 2 * n
                wmma_c(smem + store_c(tid - tid % 32, i, j, 0), WMMA_STRIDE, acc[i, j, 0], acc[i, j, 1], acc[i, j, 2],
                       acc[i, j, 3], acc[i, j + 1, 0], acc[i, j + 1, 1], acc[i, j + 1, 2], acc[i, j + 1, 3])

    return store_by_wmma


def make_store_sums(index, options):
    """store_tile of `make_store` where two groups of warps have each multiplied half of K."""
    store_c, send_c, take_c, (low, high) = index.store_c, index.send_c, index.take_c, halves(options)
    tiles_n, group = BLOCK // options.beside // 8, 64 * options.beside

    def send(smem, tid, acc, first):
        for i in range(2):
            for j in range(tiles_n):
                for r in range(2):
                    st_shared_v2_f32(smem + send_c(tid, i, j, r), low(acc, first + i, j, r), high(acc, first + i, j, r))

    def add_and_store(smem, tid, acc, first):
        for i in range(2):
            for j in range(tiles_n):
                for r in range(2):
                    v0, v1 = ld_shared_v2_f32(smem + take_c(tid, i, j, r))
                    st_shared_v2_f32(smem + store_c(tid, i, j, r), low(acc, first + i, j, r) + v0,
                                     high(acc, first + i, j, r) + v1)

    def store_sums(smem, tid, acc):
        """Each group sends the products of half of the tile to the other and adds up the other half: its own come first in
        neither, f32 addition being commutative."""
        if tid < group:
            send(smem, tid, acc, 2)
        else:
            send(smem, tid, acc, 0)
        bar_sync()
        if tid < group:
            add_and_store(smem, tid, acc, 0)
        else:
            add_and_store(smem, tid, acc, 2)

    return store_sums
