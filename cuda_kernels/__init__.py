"""GEMM kernels in Python whose every shared-memory address is a proved, emitted index function.

KERNELS holds them by name; `cuda_kernels.run.runner.run` computes one product on the GPU, or on the CPU machine.
"""

from cuda_kernels.matmul.matmul import matmul as matmul
from cuda_kernels.matmul.matmul import plan_matmul as plan_matmul
from simlayout.lazy import when_used

_MODULES = {"kernels": ("KERNELS", "Kernel"), "matmul.grouped": ("grouped_matmul", "plan_grouped_matmul")}
"""What its first use brings, because a product on the GPU needs one kernel and no other (`matmul` is there at
once: a room has its name)."""

__getattr__, __dir__, __all__ = when_used(__name__, _MODULES, also=("matmul", "plan_matmul"))
