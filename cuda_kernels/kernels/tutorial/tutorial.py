"""MatmulTutorial's kernel with two layouts of its shared memory: one plan (`plan`), one body (`body`), and a table.

Every rung of its ladder is a variant of one of them.
"""

from importlib import import_module
from types import SimpleNamespace

from cuda_kernels.kernels.kernel import ThreadKernel
from cuda_kernels.kernels.tutorial.body import make_body
from cuda_kernels.kernels.tutorial.plan import Options, Tiling, all_accesses, make_plan, written
from simlayout.algebra import Layout, Swizzle
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


TILINGS = (
    # Contiguous 16x16 blocks, rows of 32 bytes: 2-way conflicts nearly everywhere.
    Tiling("mma_blocks", "MatmulTutorial with 16x16 blocks",
           Layout(((16, 8), (16, 2), 4, 2), ((16, 512), (1, 256), 4096, 16384)),
           Layout(((16, 8), (16, 8)), ((16, 2048), (1, 256))), blocks_ab, blocks_c,
           {"copy A": 4, "copy B": 4, "copy A element": 1, "copy B element": 1, "load A": 4, "load B": 4, "lds A": 1,
            "lds B": 1, "store C": 2, "send C": 2, "take C": 2, "store C scalar": 3, "read C": 1}),
    # Two rows per 128-byte line, 16-byte chunks XORed with the line: no conflicts but a scalar store's of C.
    Tiling("mma_crosswise", "MatmulTutorial with crosswise shared memory",
           Swizzle(2, 3, 3) @ Layout(((2, 64), 32, 4, 2), ((32, 64), 1, 4096, 16384)),
           Swizzle(2, 3, 4) @ Layout((128, 128), (128, 1)), crosswise_ab, crosswise_c, {"store C scalar": 1}),
)


def kernel(tiling):
    """The Kernel of a Tiling."""
    name = tiling.name

    def emitted_as(options):
        return f"{name}_split" if options.split_k else name if options.warps == 4 else f"{name}_8warps"

    def index(options):
        if options.addresses == "emitted":
            return import_module(f"cuda_kernels.emitted.{emitted_as(options)}")
        return SimpleNamespace(**{identifier(access): function for access, function in written(tiling, options).items()})

    def emits():
        return {emitted_as(o): tuple(all_accesses(tiling, o).values())
                for o in (Options(), Options(warps=8), Options(warps=8, split_k=True, fragments=1))}

    return ThreadKernel(name, tiling.summary, Options(), lambda options: make_plan(tiling, options),
                        lambda options: make_body(index(options), options), emitted_as, emits, index)


KERNELS = {tiling.name: kernel(tiling) for tiling in TILINGS}
