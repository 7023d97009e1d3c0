"""Floating-point arithmetic with its rounding in its name: what the compiler neither fuses nor splits.

It may fuse `x * y + z` into one fma or not (`simlayout.machine.python.products`); these say which.
"""

import numpy as np

from cuda_kernels.intrinsics.instruction import instruction


@instruction("fma.rn.f32 $0, $1, $2, $3;", "f32 <- f32 f32 f32", ordered=False)
def fma_rn_f32(warp, a, b, c):
    """a * b + c, rounded once to nearest even (PTX ISA: fma)."""
    from simlayout.numerics.fma import fma_f32

    return fma_f32(a, b, c)


@instruction("fma.rn.f64 $0, $1, $2, $3;", "f64 <- f64 f64 f64", ordered=False)
def fma_rn_f64(warp, a, b, c):
    """a * b + c, rounded once to nearest even. A NaN is that of b, c, or else a."""
    from simlayout.machine.arithmetic.floats import fuse_f64

    return _lanes_f64(fuse_f64, a, b, c)


@instruction("mul.rn.f32 $0, $1, $2;", "f32 <- f32 f32", ordered=False)
def mul_rn_f32(warp, a, b):
    """a * b, rounded to nearest even whatever is added to it (PTX ISA: mul, with .rn never contracted)."""
    return _f32(np.multiply(a, b, dtype=np.float32))


@instruction("add.rn.f32 $0, $1, $2;", "f32 <- f32 f32", ordered=False)
def add_rn_f32(warp, a, b):
    """a + b, rounded to nearest even even where one of them is a product (PTX ISA: add, with .rn never contracted)."""
    return _f32(np.add(a, b, dtype=np.float32))


@instruction("mov.b32 $0, $1;", "f32 <- b32", ordered=False)
def f32_of_bits(warp, bits):
    """The f32 whose bits a register holds."""
    return np.asarray(bits).astype(np.uint32).view(np.float32)[()]


@instruction("mul.rn.f64 $0, $1, $2;", "f64 <- f64 f64", ordered=False)
def mul_rn_f64(warp, a, b):
    """a * b, rounded to nearest even whatever is added to it. A NaN is that of b, or else a."""
    from simlayout.machine.arithmetic.floats import multiply_f64

    return _lanes_f64(multiply_f64, a, b)


def _f32(made):
    """f32 numbers or lanes with the NaN that arithmetic makes."""
    from simlayout.machine.arithmetic.floats import canonical_f32

    return canonical_f32(np.asarray(made))[()]


def _lanes_f64(operation, *values):
    """An operation of f64 on numbers and lanes: an array, or a float if all are numbers."""
    made = operation(*np.broadcast_arrays(*(np.atleast_1d(np.asarray(value, np.float64)) for value in values)))
    return made if any(np.ndim(value) for value in values) else float(made[0])
