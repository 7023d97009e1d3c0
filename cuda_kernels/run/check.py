"""Checks a product: rounds operands to their type, and compares C with float64."""

import numpy as np

from simlayout.numerics.formats import bf16_bits
from simlayout.numerics.formats import exact as exact_values

FULL_CHECK = 2**31
"""Up to this many multiply-adds every element of C is compared with float64; in larger products 256 random rows are."""


def rounded(dtype, values):
    """float32 values as "f16", or as the bits of "bf16" in uint16, to the nearest, ties to even."""
    return values.astype(np.float16) if dtype == "f16" else bf16_bits(values)


def values_of(matrix):
    """float64 values of f16, or of the bits of bf16."""
    return matrix.astype(np.float64) if matrix.dtype == np.float16 else exact_values("bf16", matrix)


def compare(c, a, b, accumulate, generator):
    """Largest error of C over its bound, and a sentence. Bound per element: one rounding of the result to its type, and one
    rounding of the accumulator per k16 step, on |A| |B|."""
    rows = np.arange(len(a))
    if c.size * a.shape[1] > FULL_CHECK:
        rows = np.sort(generator.choice(len(a), min(256, len(a)), replace=False))
    exact, some, b = values_of(a[rows]), values_of(c[rows]), values_of(b)
    reference = exact @ b.T
    scale = np.abs(exact) @ np.abs(b).T
    unit = 2.0**-10 if accumulate == "f16" else 2.0**-22
    result, half_ulp = ("f16", 2.0**-11) if c.dtype == np.float16 else ("bf16", 2.0**-8)
    bound = half_ulp * np.abs(reference) + (a.shape[1] // 16 + 2) * unit * scale + 2.0**-24
    wrong = np.abs(some - reference) / bound
    error = float(np.max(np.where(np.isnan(wrong), np.inf, wrong)))
    covered = "every element" if len(rows) == len(a) else f"{len(rows)} random rows"
    return error, (f"{covered} within {error:.3f} of the rounding bound for {result} results and {accumulate} accumulation, "
                   "against float64")
