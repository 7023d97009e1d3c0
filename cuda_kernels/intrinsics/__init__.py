"""PTX instructions for kernels written in Python, named as in the PTX ISA.

Each has a Numba lowering and a CPU-machine twin side by side; see `cuda_kernels.intrinsics.instruction`.
"""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
