"""Floating-point arithmetic with its rounding in its name: what the compiler neither fuses nor splits.

It may fuse `x * y + z` into one fma or not (`simlayout.machine.python.products`); these say which.
"""

import numpy as np

from cuda_kernels.intrinsics.instruction import instruction
from simlayout.numerics.fma import NAN_F32, fma, fma_f32


@instruction("fma.rn.f32 $0, $1, $2, $3;", "f32 <- f32 f32 f32", ordered=False)
def fma_rn_f32(warp, a, b, c):
    """a * b + c, rounded once to nearest even (PTX ISA: fma)."""
    return fma_f32(a, b, c)


@instruction("fma.rn.f64 $0, $1, $2, $3;", "f64 <- f64 f64 f64", ordered=False)
def fma_rn_f64(warp, a, b, c):
    """a * b + c, rounded once to nearest even."""
    result = fma(*(np.array(x) for x in np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (a, b, c)))))
    return result if result.ndim else float(result)


@instruction("mul.rn.f32 $0, $1, $2;", "f32 <- f32 f32", ordered=False)
def mul_rn_f32(warp, a, b):
    """a * b, rounded to nearest even whatever is added to it (PTX ISA: mul, with .rn never contracted)."""
    product = np.multiply(a, b, dtype=np.float32)
    return np.where(np.isnan(product), NAN_F32, product)[()]


@instruction("mul.rn.f64 $0, $1, $2;", "f64 <- f64 f64", ordered=False)
def mul_rn_f64(warp, a, b):
    """a * b, rounded to nearest even whatever is added to it."""
    product = np.multiply(a, b, dtype=np.float64)
    return product if product.ndim else float(product)
