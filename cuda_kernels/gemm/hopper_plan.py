"""Which shared memory the threads of a wgmma kernel touch themselves: only the staging of C; TMA and wgmma do the rest."""

from simlayout.algebra import Layout, Swizzle
from simlayout.proofs import Access

STAGING = Swizzle(3, 3, 3) @ Layout((64, (64, 4)), (64, (1, 4096)))
"""A warpgroup's 64 x 256 part of C, in boxes of 64 x 64: rows of 128 bytes in TMA's 128-byte swizzle."""

STORE_C = Access(
    "store C", "stmatrix.x4", STAGING,
    lambda tid, j, i: (tid // 32 * 16 + tid % 16 // 8 * 8 + tid % 8, 64 * j + 16 * i + tid % 32 // 16 * 8),
    {"tid": 128, "j": 4, "i": 4}, "f16")
"""Box j, columns 16 i: matrices 0 and 1 are rows 0-7 and 8-15 of the warp's 16, 2 and 3 the same 8 columns on, as eight
neighbouring accumulators of a wgmma hold them."""

EMITTED = {"wgmma": (STORE_C,)}
