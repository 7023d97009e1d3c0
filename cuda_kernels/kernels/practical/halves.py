"""Problem 1.2: the product of the two halves of a 16x32 matrix M = [A B], by one warp; A B takes A's place."""

from functools import cached_property

import numpy as np

from cuda_kernels.intrinsics import bar_sync, dynamic_shared, ldmatrix_x4, tid_x
from cuda_kernels.kernels.practical.common import copy_in, copy_out, indices, ldmatrix_x4_trans, make_store, times
from cuda_kernels.kernels.practical.problem import Practical, Use
from cuda_kernels.kernels.practical.tiles import matrix_col, matrix_row


class Halves(Practical):
    """M (16, 32) to A B (16, 16)."""

    problem, layouts, shape, slots = "1.2", ("none", "shift", "xor"), "16x32", 1
    inputs, results = ((16, 32),), ((16, 16),)

    @property
    def uses(self):
        """The copy of M; A and B to registers; A B in A's place, and out of it."""
        layout, store = self.layout, self.stored("store")
        copied = (("copy", layout),)
        return (
            Use("copy", layout),
            Use("load left", layout, stored_by=copied),
            Use("load right", layout, stored_by=copied),
            Use(store, layout),
            Use("read", layout, stored_by=((store, layout),)),
        )

    @cached_property
    def body(self):
        """The kernel's Python function (addresses of M and of A B)."""
        copy, load_left, load_right, by_matrix, by_pairs, read = indices(
            self.shape, self.layout, "copy", "load left", "load right", "store", "store pairs", "read")
        store = make_store(by_matrix, by_pairs, self.store)

        def halves(m, c):
            tid, smem = tid_x(), dynamic_shared()
            for i in range(2):
                copy_in(smem + copy(tid, i, 0), m, 256 * i + 8 * tid)
            bar_sync()
            a0, a1, a2, a3 = ldmatrix_x4(smem + load_left(tid, 0))
            b0, b1, b2, b3 = ldmatrix_x4_trans(smem + load_right(tid, 0))
            c0, c1, c2, c3 = times(a0, a1, a2, a3, b0, b1, b2, b3)
            bar_sync()                                    # all of A has been read
            store(smem, tid, 0, c0, c1, c2, c3)
            bar_sync()
            copy_out(c, smem + read(tid, 0), 16 * matrix_row(tid) + matrix_col(tid))

        return halves

    @staticmethod
    def reference(m):
        """A B, as NumPy has it."""
        m = m.astype(np.float64)
        return (m[:, :16] @ m[:, 16:],)
