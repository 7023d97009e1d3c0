"""Problem 2.1: the 16x16 blocks AND the rows of 16x256 matrices A and B, in one kernel of 16 warps.

C1: for each block of 16 columns, Csub = Asub Bsub^T. C2: the same of each row's 256 elements, taken as a 16x16 matrix.
No single swizzle serves both patterns; two layers do, in either order. Each result has its own place in shared and in global
memory, and both are there at the end (the tutorial's repository writes one over the other).
"""

from functools import cached_property

import numpy as np

from cuda_kernels.intrinsics import bar_sync, dynamic_shared, ldmatrix_x4, tid_x
from cuda_kernels.kernels.practical.common import copy_in, copy_out, indices, make_store, times_transposed
from cuda_kernels.kernels.practical.problem import Practical, Use

A, B, C1, C2 = range(4)
"""The slots."""


def of_blocks(a, b):
    """Csub = Asub Bsub^T of the 16x16 blocks of two 16x256 matrices, in their places."""
    a, b = (x.reshape(16, 16, 16).transpose(1, 0, 2).astype(np.float64) for x in (a, b))
    return (a @ b.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(16, 256)


def of_rows(a, b):
    """Csub = Asub Bsub^T of the rows, as 16x16 matrices, of two 16x256 matrices, in their places."""
    a, b = (x.reshape(16, 16, 16).astype(np.float64) for x in (a, b))
    return (a @ b.transpose(0, 2, 1)).reshape(16, 256)


class Patterns(Practical):
    """A and B (16, 256) to C1 and C2."""

    problem, shape, slots = "2.1", "16x256", 4
    layouts = "none", "shift rows", "shift blocks", "shift", "xor rows", "xor blocks", "xor"
    inputs = results = ((16, 256), (16, 256))

    @property
    def uses(self):
        """The copies of A and B; blocks of both and their products; rows of both and theirs; both results out."""
        layout = self.layout
        copied = (("copy", layout),)
        stores = (self.stored("store blocks"), layout), (self.stored("store rows"), layout)
        return (
            Use("copy", layout, 2),
            Use("load blocks", layout, 2, copied),
            Use(*stores[0]),
            Use("load rows", layout, 2, copied),
            Use(*stores[1]),
            Use("read", layout, 2, stores),
        )

    @cached_property
    def body(self):
        """The kernel's Python function (addresses of A, B, C1, C2)."""
        copy, load_blocks, load_rows, read = indices(self.shape, self.layout, "copy", "load blocks", "load rows", "read")
        store_block = make_store(*indices(self.shape, self.layout, "store blocks", "store blocks pairs"), self.store)
        store_row = make_store(*indices(self.shape, self.layout, "store rows", "store rows pairs"), self.store)

        def patterns(a, b, c1, c2):
            tid, smem = tid_x(), dynamic_shared()
            copy_in(smem + copy(tid, A), a, 8 * tid)
            copy_in(smem + copy(tid, B), b, 8 * tid)
            bar_sync()
            a0, a1, a2, a3 = ldmatrix_x4(smem + load_blocks(tid, A))
            b0, b1, b2, b3 = ldmatrix_x4(smem + load_blocks(tid, B))
            c, d, e, f = times_transposed(a0, a1, a2, a3, b0, b1, b2, b3)
            store_block(smem, tid, C1, c, d, e, f)
            a0, a1, a2, a3 = ldmatrix_x4(smem + load_rows(tid, A))
            b0, b1, b2, b3 = ldmatrix_x4(smem + load_rows(tid, B))
            c, d, e, f = times_transposed(a0, a1, a2, a3, b0, b1, b2, b3)
            store_row(smem, tid, C2, c, d, e, f)
            bar_sync()
            copy_out(c1, smem + read(tid, C1), 8 * tid)
            copy_out(c2, smem + read(tid, C2), 8 * tid)

        return patterns

    @staticmethod
    def reference(a, b):
        """C1 and C2, as NumPy has them."""
        return of_blocks(a, b), of_rows(a, b)
