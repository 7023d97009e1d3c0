"""MatmulTutorial's kernel with two layouts of its shared memory: one plan (`plan`), one body (`body`), and a table.

Every rung of its ladder is a variant of one of them.
"""

from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace

from cuda_kernels.kernels.kernel import ThreadKernel
from cuda_kernels.kernels.tutorial.body import make_body
from cuda_kernels.kernels.tutorial.plan import Options, all_accesses, make_plan, written
from simlayout.algebra import Layout, Swizzle
from simlayout.algebra.aliases import IndexFunction
from simlayout.codegen import identifier


def blocks_ab(row, col, stage, operand):
    """A and B of mma_blocks by hand, in bytes."""
    return 2 * (row // 16 * 512 + col // 16 * 256 + row % 16 * 16 + col % 16 + 4096 * stage + 16384 * operand)


def blocks_c(row, col):
    """C of mma_blocks by hand, in bytes."""
    return 4 * (row // 16 * 2048 + col // 16 * 256 + row % 16 * 16 + col % 16)


def crosswise_ab(row, col, stage, operand):
    """A and B of mma_crosswise by hand, in bytes: the line, and in it the column XORed with the line."""
    line = row // 2
    return 2 * (64 * line + (32 * (row % 2) + col ^ (line & 3) << 3) + 4096 * stage + 16384 * operand)


def crosswise_c(row, col):
    """C of mma_crosswise by hand, in bytes."""
    return 4 * (128 * row + (col ^ (row & 3) << 3))


@dataclass(frozen=True)
class Tutorial(ThreadKernel):
    """What the kernels of this room differ in. ab_tile: (row, column, stage, operand); c_tile: (row, column), f32; ab_bytes,
    c_bytes: the same layouts, in bytes, as plain Python that a kernel can run; excess: declared per access."""

    ab_tile: IndexFunction = field(repr=False)
    c_tile: IndexFunction = field(repr=False)
    ab_bytes: IndexFunction = field(repr=False)
    c_bytes: IndexFunction = field(repr=False)
    excess: dict = field(default_factory=dict, hash=False, repr=False)

    @cached_property
    def plan(self):
        """The plan of the variant."""
        return make_plan(self)

    @cached_property
    def body(self):
        """The kernel's Python function."""
        return make_body(self.index, self.options)

    @property
    def emitted(self):
        """A module for each way of sharing the tile among warps."""
        options = self.options
        return f"{self.name}_split" if options.split_k else self.name if options.warps == 4 else f"{self.name}_8warps"

    @property
    def index(self):
        """What holds the index functions that the body calls: the emitted ones, or those that are written by hand."""
        if self.options.addresses == "emitted":
            return super().index
        by_hand = written(self)
        return SimpleNamespace(**{identifier(access): function for access, function in by_hand.items()})

    def emits(self):
        """The accesses of all variants that share the tile in one way."""
        ways = (Options(), Options(warps=8), Options(warps=8, split_k=True, fragments=1))
        return {kernel.emitted: tuple(all_accesses(kernel).values()) for kernel in map(self.with_options, ways)}


KERNELS = {kernel.name: kernel for kernel in (
    # Contiguous 16x16 blocks, rows of 32 bytes: 2-way conflicts nearly everywhere.
    Tutorial("mma_blocks", "MatmulTutorial with 16x16 blocks", Options(),
             Layout(((16, 8), (16, 2), 4, 2), ((16, 512), (1, 256), 4096, 16384)),
             Layout(((16, 8), (16, 8)), ((16, 2048), (1, 256))), blocks_ab, blocks_c,
             {"copy A": 4, "copy B": 4, "copy A element": 1, "copy B element": 1, "load A": 4, "load B": 4, "lds A": 1,
              "lds B": 1, "store C": 2, "send C": 2, "take C": 2, "store C scalar": 3, "read C": 1}),
    # Two rows per 128-byte line, 16-byte chunks XORed with the line: no conflicts but a scalar store's of C.
    Tutorial("mma_crosswise", "MatmulTutorial with crosswise shared memory", Options(),
             Swizzle(2, 3, 3) @ Layout(((2, 64), 32, 4, 2), ((32, 64), 1, 4096, 16384)),
             Swizzle(2, 3, 4) @ Layout((128, 128), (128, 1)), crosswise_ab, crosswise_c, {"store C scalar": 1}),
)}
