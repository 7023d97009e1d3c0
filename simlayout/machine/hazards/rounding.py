"""Lanes that store sums to one place which differ by rounding alone.

A butterfly of shuffles leaves the same sum in all lanes, but for a compiler that fuses the first addition with the product
before it: a lane then adds its own product before it is rounded, and its neighbour's behind that. LLVM does so with the
products that Triton's `tl.sum(x * y)` adds, and all lanes store.
"""

import numpy as np

from simlayout.algebra import dtype_of

NOTE = ("of sums that differ between lanes by rounding, and which of them stays is undefined: a product is fused with the "
        "first addition of a butterfly (in Triton not with enable_fp_fusion=False)")


def differ_by_rounding(type: str | None, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays of uint8 [n, bytes] hold floats that are equal in the first half of their digits, or in two thirds
    of the digits of the largest one: sums of what nearly adds up to zero have few digits of their own. type: PTX's name of
    the floats, None where they are none that arithmetic has rounded.

    >>> a, b, c = (np.array([[x, y]], np.float32).view(np.uint8) for x, y in ((1, 0), (1.0001, 0), (1, 1e-6)))
    >>> [differ_by_rounding(*each) for each in (("f32", a, b), ("f32", a, c), ("f32", a, 2 * b), (None, a, b))]
    [True, True, False, False]
    """
    if type is None:
        return False
    dtype = dtype_of(type.removesuffix("x2")).numpy
    a, b = (np.ascontiguousarray(x).view(dtype).astype(np.float64) for x in (one, other))
    digits = {2: {"f16": 11, "bf16": 8}.get(type.removesuffix("x2"), 0), 4: 24, 8: 53}[dtype.itemsize]
    largest = np.abs([a, b]).max(initial=0, where=np.isfinite([a, b]))
    return bool(np.isclose(a, b, 2.0 ** (-digits / 2), 2.0 ** (-2 * digits / 3) * largest, equal_nan=True).all())
