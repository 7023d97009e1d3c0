# What the names of this package are, for type checkers: it brings some when they are first used (simlayout.lazy).

from cuda_kernels.kernels import KERNELS, Kernel
from cuda_kernels.matmul.grouped import grouped_matmul, plan_grouped_matmul
from cuda_kernels.matmul.matmul import matmul, plan_matmul

__all__ = ["KERNELS", "Kernel", "grouped_matmul", "matmul", "plan_grouped_matmul", "plan_matmul"]
