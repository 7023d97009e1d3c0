"""mma_padded: 16 bytes of padding per row. The loads become conflict-free, the 16-byte copies 2-way."""

from cuda_kernels.kernels.hgemm.hgemm import kernel
from simlayout.algebra import Layout

AB_TILE = Layout((384, 32, 4), (40, 1, 15360))
C_TILE = Layout((256, 128), (136, 1))

KERNEL = kernel("mma_padded", "cuda_hgemm with rows padded by 16 bytes", AB_TILE, C_TILE, {"copy A": 4, "copy B": 4})
