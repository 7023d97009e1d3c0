"""Device functions that the problems share. Plain Python: they run inlined on the GPU and as they are on a CPU.

A 16x16 matrix of f16 is four registers of a warp in ldmatrix.x4's order: rows 0-7 and 8-15 of columns 0-7, then of columns
8-15. The same four registers are fragment A of mma.m16n8k16, and its two 16x8 results side by side (PTX ISA: mma).
"""

from functools import lru_cache

from cuda_kernels.intrinsics import (
    ld_global_b128,
    ld_volatile_shared_b128,
    mma_m16n8k16_f16_f16_f16_f16,
    st_global_b128,
    st_shared_b32,
    st_shared_b128,
    stmatrix_x4,
    u64,
)
from cuda_kernels.intrinsics.matrices import ldmatrix_sync
from cuda_kernels.kernels.practical.tiles import accesses
from simlayout.codegen import index_function

ldmatrix_x4_trans = ldmatrix_sync("ldmatrix.x4.trans")


def indices(shape, layout, *roles):
    """The index functions of several roles, in bytes, each emitted when it is first used."""
    return [_index(shape, layout, role) for role in roles]


@lru_cache(None)
def _index(shape, layout, role):
    return index_function(accesses(shape, layout)[role])


def copy_in(destination, source, element):
    """16 bytes of a matrix, from its f16 number `element` on, from global to shared memory, through registers."""
    v0, v1, v2, v3 = ld_global_b128(source + u64(2) * u64(element), 1)
    st_shared_b128(destination, v0, v1, v2, v3)


def copy_out(destination, source, element):
    """16 bytes from shared memory to global memory, where the matrix has its f16 number `element`."""
    v0, v1, v2, v3 = ld_volatile_shared_b128(source)
    st_global_b128(destination + u64(2) * u64(element), v0, v1, v2, v3)


def times(a0, a1, a2, a3, b0, b1, b2, b3):
    """A B of two 16x16 matrices in f16. b0-b3: B's registers by ldmatrix.x4.trans: columns 0-7 in the first two."""
    c0, c1 = mma_m16n8k16_f16_f16_f16_f16(a0, a1, a2, a3, b0, b1, 0, 0)
    c2, c3 = mma_m16n8k16_f16_f16_f16_f16(a0, a1, a2, a3, b2, b3, 0, 0)
    return c0, c1, c2, c3


def times_transposed(a0, a1, a2, a3, b0, b1, b2, b3):
    """A B^T. b0-b3: B's registers by ldmatrix.x4, of which R1 and R2 change places: fragment B wants rows 0-7 first."""
    return times(a0, a1, a2, a3, b0, b2, b1, b3)


def keep(tid, r0, r1, r2, r3):
    """The registers as they are: what ldmatrix and stmatrix move where lanes give their addresses in order."""
    return r0, r1, r2, r3


def exchange(tid, r0, r1, r2, r3):
    """Lanes 16-31, which hold rows 4-7 and 12-15, exchange R0 with R2 and R1 with R3: after ldmatrix.x4, and before
    stmatrix.x4, by rearranged addresses."""
    other = tid % 32 // 16 == 1
    return r2 if other else r0, r3 if other else r1, r0 if other else r2, r1 if other else r3


def exchange_transposed(tid, r0, r1, r2, r3):
    """`exchange` after ldmatrix.x4.trans: there the lanes with tid % 4 >= 2 hold rows 4-7 and 12-15."""
    other = tid % 4 // 2 == 1
    return r2 if other else r0, r3 if other else r1, r0 if other else r2, r1 if other else r3


def make_store(by_matrix, by_pairs, store):
    """The function (smem, tid, slot, c0, c1, c2, c3) that stores a 16x16 result as `store` says: "stmatrix" or "pairs".

    by_matrix, by_pairs: the emitted index functions of stmatrix.x4 and of st.shared.b32.
    """
    def store_matrix(smem, tid, slot, c0, c1, c2, c3):
        stmatrix_x4(smem + by_matrix(tid, slot), c0, c1, c2, c3)

    def store_pairs(smem, tid, slot, c0, c1, c2, c3):
        st_shared_b32(smem + by_pairs(tid, 0, 0, slot), c0)
        st_shared_b32(smem + by_pairs(tid, 0, 1, slot), c1)
        st_shared_b32(smem + by_pairs(tid, 1, 0, slot), c2)
        st_shared_b32(smem + by_pairs(tid, 1, 1, slot), c3)

    return {"stmatrix": store_matrix, "pairs": store_pairs}[store]
