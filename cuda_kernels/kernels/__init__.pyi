# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from cuda_kernels.kernels.by_name import (
    KERNELS as KERNELS, MMA_KERNELS as MMA_KERNELS, as_kernel as as_kernel, named as named
)
from cuda_kernels.kernels.hopper.kernel import HOPPER_KERNELS as HOPPER_KERNELS
from simlayout.kernel import Kernel as Kernel
