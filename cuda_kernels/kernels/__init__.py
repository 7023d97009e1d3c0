"""The GEMM kernels by name."""

from cuda_kernels.kernels.hgemm import mma_base, mma_padded, mma_permuted, mma_swizzled
from cuda_kernels.kernels.kernel import Kernel
from cuda_kernels.kernels.tutorial import mma_blocks, mma_crosswise
from cuda_kernels.kernels.warptile import warptile

KERNELS = {module.KERNEL.name: module.KERNEL for module in (mma_base, mma_padded, mma_permuted, mma_swizzled, mma_blocks,
                                                                mma_crosswise)}
"""Those of mma.sync: f16, A and B by K."""

EVERY = KERNELS | {warptile.KERNEL.name: warptile.KERNEL}
"""All Kernels, that on CUDA cores too."""

__all__ = ["EVERY", "KERNELS", "Kernel"]
