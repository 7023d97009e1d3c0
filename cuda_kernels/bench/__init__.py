"""Kernels against cuBLAS on one GPU, in one run: `simlayout bench`.

`sets` says what is measured, `steps` the ladder of published kernels, `timing` how, `libraries` on whose arrays, `record`
what is kept, `run` does it. `host` times what the host does in calls of `matmul`.
`command` is what all commands that measure have alike.
Nothing here loads torch, CuPy or Numba before it measures.
"""

from cuda_kernels.bench.sets import default_variants
from cuda_kernels.bench.timing import compare_with_cublas

__all__ = ["compare_with_cublas", "default_variants"]
