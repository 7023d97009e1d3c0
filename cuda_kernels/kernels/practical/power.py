"""Problem 1.1: the n-th power of a 16x16 matrix, by one warp.

A stays in slot 0; P, a power of A, comes from slot 0 first and then from slot 1, where P A is stored. A is read twice over:
as left factor by ldmatrix.x4, as right factor by ldmatrix.x4.trans. For n = 2 that is the tutorial's profile: 8 excess
wavefronts of LDSM and 4 of STS.

The swizzle (Swizzle<1,3,3>) and the rearrangement give ldmatrix the very same addresses. The swizzle has moved the data
there beforehand; the rearrangement reads it where it is, and exchanges the registers that so come to wrong lanes.
"""

from functools import cached_property

import numpy as np

from cuda_kernels.intrinsics import bar_sync, dynamic_shared, ldmatrix_x4, tid_x
from cuda_kernels.kernels.practical.common import (
    copy_in,
    copy_out,
    exchange,
    exchange_transposed,
    indices,
    keep,
    ldmatrix_x4_trans,
    make_store,
    times,
)
from cuda_kernels.kernels.practical.problem import Practical, Use


class Power(Practical):
    """A (16, 16), n to A^n."""

    problem, layouts, shape, slots = "1.1", ("none", "shift", "xor", "rearranged"), "16x16", 2
    inputs, results, takes_power = ((16, 16),), ((16, 16),), True

    @property
    def uses(self):
        """The copy of A; A as right factor; P as left factor and P A, n - 1 times; A^n out."""
        layout, store = self.layout, self.stored("store")
        copied, multiplied = ("copy", layout), (store, layout)
        return (
            Use("copy", layout),
            Use("load right", layout, stored_by=(copied,)),
            Use("load left", layout, lambda n: n - 1, (copied, multiplied)),
            Use(store, layout, lambda n: n - 1),
            Use("read", layout, stored_by=(copied, multiplied)),
        )

    @cached_property
    def body(self):
        """The kernel's Python function (addresses of A and of A^n, n)."""
        copy, load_left, load_right, by_matrix, by_pairs, read = indices(
            self.shape, self.layout, "copy", "load left", "load right", "store", "store pairs", "read")
        store = make_store(by_matrix, by_pairs, self.store)
        rearranged = self.layout == "rearranged"
        ordered, ordered_transposed = (exchange, exchange_transposed) if rearranged else (keep, keep)

        def power(a, c, n):
            tid, smem = tid_x(), dynamic_shared()
            copy_in(smem + copy(tid, 0), a, 8 * tid)
            bar_sync()
            b0, b1, b2, b3 = ldmatrix_x4_trans(smem + load_right(tid, 0))
            b0, b1, b2, b3 = ordered_transposed(tid, b0, b1, b2, b3)
            slot = 0
            for _ in range(1, n):
                a0, a1, a2, a3 = ldmatrix_x4(smem + load_left(tid, slot))
                a0, a1, a2, a3 = ordered(tid, a0, a1, a2, a3)
                c0, c1, c2, c3 = times(a0, a1, a2, a3, b0, b1, b2, b3)
                c0, c1, c2, c3 = ordered(tid, c0, c1, c2, c3)
                bar_sync()                                # all of slot 1 has been read
                slot = 1
                store(smem, tid, slot, c0, c1, c2, c3)
                bar_sync()
            copy_out(c, smem + read(tid, slot), 8 * tid)

        return power

    @staticmethod
    def reference(a, n):
        """A^n, as NumPy has it."""
        return (np.linalg.matrix_power(a.astype(np.float64), n),)
