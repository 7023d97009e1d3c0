"""mma_swizzled: chunks of 64, one row per 128-byte line, 16-byte chunks XORed with the row. No access conflicts."""

from cuda_kernels.kernels.hgemm.hgemm import kernel
from cuda_kernels.kernels.hgemm.mma_permuted import C_TILE
from simlayout.algebra import Layout, Swizzle

AB_TILE = Swizzle(3, 3, 3) @ Layout((384, 64, 4), (64, 1, 24576))

KERNEL = kernel("mma_swizzled", "cuda_hgemm with chunks of 64 and Swizzle<3,3,3>", AB_TILE, C_TILE, chunk_k=64, b_matrices=4)
