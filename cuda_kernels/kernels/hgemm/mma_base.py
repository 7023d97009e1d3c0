"""mma_base: rows of 64 bytes as they come. ldmatrix meets 4-way conflicts, the C store 8-way ones."""

from cuda_kernels.kernels.hgemm.hgemm import kernel
from simlayout.algebra import Layout

AB_TILE = Layout((384, 32, 4), (32, 1, 12288))
C_TILE = Layout((256, 128), (128, 1))

KERNEL = kernel("mma_base", "cuda_hgemm without any measure against bank conflicts", AB_TILE, C_TILE,
                {"load A": 12, "load B": 6, "store C": 7})
