"""GEMM kernels in Python whose every shared-memory address is a proved, emitted index function.

KERNELS holds them by name; `cuda_kernels.run.runner.run` computes one product on the GPU, or on the CPU machine.
"""

import sys

from cuda_kernels.matmul.matmul import matmul as matmul  # at once, because a room has its name
from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)

matmul.__dict__ = vars(sys.modules["cuda_kernels.matmul"])          # `import cuda_kernels.matmul.tune.kept as kept` asks it
