"""GEMM kernels in Python whose every shared-memory address is a proved, emitted index function.

KERNELS holds them by name; `cuda_kernels.run.runner.run` computes one product on the GPU, or on the CPU machine.
"""

from cuda_kernels.kernels import KERNELS, Kernel
from cuda_kernels.matmul.grouped import grouped_matmul, plan_grouped_matmul
from cuda_kernels.matmul.matmul import matmul, plan_matmul

__all__ = ["KERNELS", "Kernel", "grouped_matmul", "matmul", "plan_grouped_matmul", "plan_matmul"]
