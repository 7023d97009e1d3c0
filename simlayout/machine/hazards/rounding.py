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
    """Whether two arrays of uint8 [n, bytes] hold floats that are equal in the first half of their digits. type: PTX's name
    of the floats, None where they are none that arithmetic has rounded.

    >>> a, b = (np.array([[x]], np.float32).view(np.uint8) for x in (1, 1.0001))
    >>> differ_by_rounding("f32", a, b), differ_by_rounding("f32", a, 2 * b), differ_by_rounding(None, a, b)
    (True, False, False)
    """
    if type is None:
        return False
    dtype = dtype_of(type.removesuffix("x2")).numpy
    a, b = (np.ascontiguousarray(x).view(dtype).astype(np.float64) for x in (one, other))
    digits = {2: {"f16": 11, "bf16": 8}.get(type.removesuffix("x2"), 0), 4: 24, 8: 53}[dtype.itemsize]
    return bool(np.isclose(a, b, 2.0 ** (-digits / 2), 0.0, equal_nan=True).all())
