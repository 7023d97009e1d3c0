"""mma_crosswise: two rows per 128-byte line, 16-byte chunks XORed with the line. No conflicts but a scalar C store's."""

from cuda_kernels.gemm.tutorial import kernel
from simlayout.algebra import Layout, Swizzle

AB_TILE = Swizzle(2, 3, 3) @ Layout(((2, 64), 32, 4, 2), ((32, 64), 1, 4096, 16384))
C_TILE = Swizzle(2, 3, 4) @ Layout((128, 128), (128, 1))

KERNEL = kernel("mma_crosswise", "MatmulTutorial with crosswise shared memory", AB_TILE, C_TILE, {"store C scalar": 1})
