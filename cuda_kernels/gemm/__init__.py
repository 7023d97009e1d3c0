"""The GEMM kernels by name."""

from cuda_kernels.gemm import mma_base, mma_blocks, mma_crosswise, mma_padded, mma_permuted, mma_swizzled
from cuda_kernels.gemm.kernel import Kernel

KERNELS = {module.KERNEL.name: module.KERNEL for module in (mma_base, mma_padded, mma_permuted, mma_swizzled, mma_blocks,
                                                                mma_crosswise)}

__all__ = ["KERNELS", "Kernel"]
