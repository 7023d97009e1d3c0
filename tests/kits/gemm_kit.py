"""What tests of the GEMMs share: operands, and how a variant of a kernel is named in the list of tests."""

import numpy as np


def label(kernel):
    """A kernel's name and the values of all its options."""
    return "-".join([kernel.name, *(str(v) for v in vars(kernel.options).values())])


def normal(shapes, dtype=np.float16, seed=0):
    """A random normal matrix of each shape, rounded from f32."""
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape, np.float32).astype(dtype) for shape in shapes]


def inputs(M, N, K, seed=0):
    """f16 A (M, K) and the transpose of B (N, K)."""
    return normal(((M, K), (N, K)), seed=seed)
