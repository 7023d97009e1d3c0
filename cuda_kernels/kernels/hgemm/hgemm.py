"""cuda_hgemm's kernel with four layouts of its shared memory: one plan (`plan`), one body (`body`), and a table.

The layouts differ in what they do against bank conflicts. `mma_swizzled` also has chunks of twice the depth, so that half as
many barriers do, and loads B by ldmatrix x4. A further layout is a further row; `python -m cuda_kernels.emitted` then emits
its index functions.
"""

from dataclasses import dataclass, field
from functools import cached_property

from cuda_kernels.kernels.hgemm.body import make_body
from cuda_kernels.kernels.hgemm.plan import Options, make_plan
from cuda_kernels.kernels.kernel import ThreadKernel
from simlayout.algebra import Layout, Rotation, Swizzle
from simlayout.algebra.aliases import IndexFunction

ROTATED_C = Rotation(8, 16, 128, 8) @ Layout((256, 128), (128, 1))
"""The 16-byte chunks of C's rows rotate with the row."""


@dataclass(frozen=True)
class Hgemm(ThreadKernel):
    """What the kernels of this room differ in. ab_tile: (row, column, stage) with the rows of B below those of A; c_tile:
    (row, column); excess: declared per access, {"load A": 12, ...}; chunk_k: depth of a chunk, 32 or 64; b_matrices: 8x8
    matrices of B per ldmatrix, 2 or 4."""

    ab_tile: IndexFunction = field(repr=False)
    c_tile: IndexFunction = field(repr=False)
    excess: dict = field(default_factory=dict, hash=False, repr=False)
    chunk_k: int = field(default=32, repr=False)
    b_matrices: int = field(default=2, repr=False)

    @cached_property
    def plan(self):
        """The plan of the variant."""
        return make_plan(self)

    @cached_property
    def body(self):
        """The kernel's Python function."""
        return make_body(self)

    def emits(self):
        """The accesses with all stages, of which every variant has the first ones."""
        return {self.name: self.with_options(Options(stages=4)).accesses}


KERNELS = {kernel.name: kernel for kernel in (
    # Rows of 64 bytes as they come: ldmatrix meets 4-way conflicts, the store of C 8-way ones.
    Hgemm("mma_base", "cuda_hgemm without any measure against bank conflicts", Options(),
          Layout((384, 32, 4), (32, 1, 12288)), Layout((256, 128), (128, 1)),
          {"load A": 12, "load B": 6, "store C": 7}),
    # 16 bytes of padding per row: the loads become conflict-free, the 16-byte copies 2-way.
    Hgemm("mma_padded", "cuda_hgemm with rows padded by 16 bytes", Options(),
          Layout((384, 32, 4), (40, 1, 15360)), Layout((256, 128), (136, 1)),
          {"copy A": 4, "copy B": 4}),
    # 16-byte chunks rotate with the row, one step per 128-byte line: no access conflicts.
    Hgemm("mma_permuted", "cuda_hgemm with rotated 16-byte chunks", Options(),
          Rotation(8, 4, 64) @ Layout((384, 32, 4), (32, 1, 12288)), ROTATED_C),
    # Chunks of 64, one row per 128-byte line, 16-byte chunks XORed with the row: no access conflicts.
    Hgemm("mma_swizzled", "cuda_hgemm with chunks of 64 and Swizzle<3,3,3>", Options(),
          Swizzle(3, 3, 3) @ Layout((384, 64, 4), (64, 1, 24576)), ROTATED_C, chunk_k=64, b_matrices=4),
)}
