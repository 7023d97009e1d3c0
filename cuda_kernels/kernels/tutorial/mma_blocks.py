"""mma_blocks: contiguous 16x16 blocks, rows of 32 bytes: 2-way conflicts nearly everywhere."""

from cuda_kernels.kernels.tutorial.tutorial import kernel
from simlayout.algebra import Layout

AB_TILE = Layout(((16, 8), (16, 2), 4, 2), ((16, 512), (1, 256), 4096, 16384))
C_TILE = Layout(((16, 8), (16, 8)), ((16, 2048), (1, 256)))


def ab_bytes(row, col, stage, operand):
    """AB_TILE by hand, in bytes."""
    return 2 * (row // 16 * 512 + col // 16 * 256 + row % 16 * 16 + col % 16 + 4096 * stage + 16384 * operand)


def c_bytes(row, col):
    """C_TILE by hand, in bytes."""
    return 4 * (row // 16 * 2048 + col // 16 * 256 + row % 16 * 16 + col % 16)


KERNEL = kernel("mma_blocks", "MatmulTutorial with 16x16 blocks", AB_TILE, C_TILE, ab_bytes, c_bytes,
                {"copy A": 4, "copy B": 4, "copy A element": 1, "copy B element": 1, "load A": 4, "load B": 4,
                 "lds A": 1, "lds B": 1, "store C": 2, "send C": 2, "take C": 2, "store C scalar": 3, "read C": 1})
