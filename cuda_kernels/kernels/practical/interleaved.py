"""Problem 3.1: blocks, then rows, of 16x256 matrices through the same shared memory, by 16 warps.

First Csub = Asub Bsub^T of the 16x16 blocks, written back over A; then the same of the rows of what now is there and of B,
written back again; then to global memory. The tutorial's idea is to interleave two layouts: copy for the blocks, write the
blocks' results back in the layout for the rows. Its loads are free of conflicts, but that write-back is a pattern of blocks
in the layout for rows, and is not. The two layers of problem 2.1 serve both, so the layout need not change at all.

B never changes: where layouts interleave, it is copied twice, once for each.
"""

from functools import cached_property

from cuda_kernels.intrinsics import bar_sync, dynamic_shared, ldmatrix_x4, tid_x
from cuda_kernels.kernels.practical.common import copy_in, copy_out, indices, make_store, times_transposed
from cuda_kernels.kernels.practical.patterns import of_blocks, of_rows
from cuda_kernels.kernels.practical.problem import Practical, Use

A, B, B_AGAIN = range(3)
"""The slots; the last one where layouts interleave."""


class Interleaved(Practical):
    """A and B (16, 256) to C."""

    problem, shape = "3.1", "16x256"
    inputs, results = ((16, 256), (16, 256)), ((16, 256),)
    layouts = {
        "none": ("none", "none"),
        "shift interleaved": ("shift blocks", "shift rows"),
        "shift interleaved wide": ("shift blocks", "shift rows wide"),
        "shift": ("shift", "shift"),
        "xor interleaved": ("xor blocks", "xor rows"),
        "xor interleaved wide": ("xor blocks", "xor rows wide"),
        "xor": ("xor", "xor"),
    }
    """Layout of the problem -> the layout for the blocks, and the one for the rows."""

    @property
    def pair(self):
        """The layout for the blocks, and the one for the rows."""
        return self.layouts[self.layout]

    @property
    def changes(self):
        """Whether the layouts interleave."""
        first, second = self.pair
        return first != second

    @property
    def slots(self):
        """Matrices in shared memory: B comes twice where layouts interleave."""
        return 3 if self.changes else 2

    @property
    def uses(self):
        """The copies of A and B; the blocks and their products in A's place; the rows and theirs; C out."""
        first, second = self.pair
        blocks, rows = ((self.stored(f"store {what}"), second) for what in ("blocks", "rows"))
        again = (Use("copy", second),) * self.changes
        return (
            Use("copy", first, 2),
            *again,
            Use("load blocks", first, 2, (("copy", first),)),
            Use(*blocks),
            Use("load rows", second, 2, (("copy", second), blocks)),
            Use(*rows),
            Use("read", second, stored_by=(rows,)),
        )

    @cached_property
    def body(self):
        """The kernel's Python function (addresses of A, B, C)."""
        first, second = self.pair
        copy, load_block = indices(self.shape, first, "copy", "load blocks")
        copy_again, load_row, read = indices(self.shape, second, "copy", "load rows", "read")
        store_block = make_store(*indices(self.shape, second, "store blocks", "store blocks pairs"), self.store)
        store_row = make_store(*indices(self.shape, second, "store rows", "store rows pairs"), self.store)
        changes = self.changes
        b_rows = B_AGAIN if changes else B

        def interleaved(a, b, c):
            tid, smem = tid_x(), dynamic_shared()
            copy_in(smem + copy(tid, A), a, 8 * tid)
            copy_in(smem + copy(tid, B), b, 8 * tid)
            if changes:
                copy_in(smem + copy_again(tid, B_AGAIN), b, 8 * tid)
            bar_sync()
            a0, a1, a2, a3 = ldmatrix_x4(smem + load_block(tid, A))
            b0, b1, b2, b3 = ldmatrix_x4(smem + load_block(tid, B))
            c0, c1, c2, c3 = times_transposed(a0, a1, a2, a3, b0, b1, b2, b3)
            bar_sync()                                    # all of A has been read: in another layout its bytes are others'
            store_block(smem, tid, A, c0, c1, c2, c3)
            bar_sync()
            a0, a1, a2, a3 = ldmatrix_x4(smem + load_row(tid, A))
            b0, b1, b2, b3 = ldmatrix_x4(smem + load_row(tid, b_rows))
            c0, c1, c2, c3 = times_transposed(a0, a1, a2, a3, b0, b1, b2, b3)
            bar_sync()
            store_row(smem, tid, A, c0, c1, c2, c3)
            bar_sync()
            copy_out(c, smem + read(tid, A), 8 * tid)

        return interleaved

    @staticmethod
    def reference(a, b):
        """C, as NumPy has it."""
        return (of_rows(of_blocks(a, b), b),)
