# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from cuda_kernels.kernels import KERNELS as KERNELS, Kernel as Kernel
from cuda_kernels.matmul.grouped import grouped_matmul as grouped_matmul, plan_grouped_matmul as plan_grouped_matmul
from cuda_kernels.matmul.matmul import matmul as matmul, plan_matmul as plan_matmul
