# What the names of this package are, for type checkers: it brings them when they are first used (simlayout.lazy).

from cuda_kernels.kernels.by_name import ALL_KERNELS, KERNELS, as_kernel, named
from cuda_kernels.kernels.hopper.kernel import HOPPER_KERNELS
from simlayout.kernel import Kernel

__all__ = ["ALL_KERNELS", "HOPPER_KERNELS", "KERNELS", "Kernel", "as_kernel", "named"]
