"""mma_crosswise: two rows per 128-byte line, 16-byte chunks XORed with the line. No conflicts but a scalar C store's."""

from cuda_kernels.kernels.tutorial.tutorial import kernel
from simlayout.algebra import Layout, Swizzle

AB_TILE = Swizzle(2, 3, 3) @ Layout(((2, 64), 32, 4, 2), ((32, 64), 1, 4096, 16384))
C_TILE = Swizzle(2, 3, 4) @ Layout((128, 128), (128, 1))


def ab_bytes(row, col, stage, operand):
    """AB_TILE by hand, in bytes: the line, and in it the column XORed with the line."""
    line = row // 2
    return 2 * (64 * line + (32 * (row % 2) + col ^ (line & 3) << 3) + 4096 * stage + 16384 * operand)


def c_bytes(row, col):
    """C_TILE by hand, in bytes."""
    return 4 * (128 * row + (col ^ (row & 3) << 3))


KERNEL = kernel("mma_crosswise", "MatmulTutorial with crosswise shared memory", AB_TILE, C_TILE, ab_bytes, c_bytes,
                {"store C scalar": 1})
