"""mma_permuted: 16-byte chunks rotate with the row, one step per 128-byte line. No access conflicts."""

from cuda_kernels.kernels.hgemm.hgemm import kernel
from simlayout.algebra import Layout, Rotation

AB_TILE = Rotation(8, 4, 64) @ Layout((384, 32, 4), (32, 1, 12288))
C_TILE = Rotation(8, 16, 128, 8) @ Layout((256, 128), (128, 1))

KERNEL = kernel("mma_permuted", "cuda_hgemm with rotated 16-byte chunks", AB_TILE, C_TILE)
