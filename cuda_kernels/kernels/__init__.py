"""The GEMM kernels by name."""

from cuda_kernels.kernels.hgemm import hgemm
from cuda_kernels.kernels.kernel import Kernel
from cuda_kernels.kernels.tutorial import tutorial
from cuda_kernels.kernels.warptile import warptile

KERNELS = hgemm.KERNELS | tutorial.KERNELS
"""Those of mma.sync: f16, A and B by K."""

EVERY = KERNELS | {warptile.KERNEL.name: warptile.KERNEL}
"""All Kernels, that on CUDA cores too."""

__all__ = ["EVERY", "KERNELS", "Kernel"]
