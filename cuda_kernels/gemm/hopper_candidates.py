"""The configurations of `wgmma_persistent` that may suit a product."""

from cuda_kernels.gemm.hopper import RESERVED, SHARED_LIMIT, Hopper
from simlayout.errors import SimlayoutError

TILES = {64: range(16, 257, 16), 128: range(16, 257, 16), 192: (64, 96, 128, 144, 160, 176, 192),
         256: (32, 64, 96, 112, 128)}
"""Columns of the tiles that are considered, by their rows; each for C and for its transpose."""

SHARED = ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4), (2, 2), (4, 2), (2, 4))
"""(cluster_m, cluster_n) that are considered."""


SLICES_REGISTERS = 36
"""What a kernel that adds up slices needs beside its accumulators: with 32 it spilled (192 x 192 in two slices)."""


def fitted(tile_m, tile_n, resident=1, **options):
    """The Hopper configuration with as many stages as fit, to 12, and four staging buffers or, where that leaves fewer than
    four stages or is more than the tile has, two or one; None where it cannot be."""
    sizes = dict(tile_m=tile_m, tile_n=tile_n, resident=resident, producer=1 if resident == 2 or tile_m > 128 else 4)
    try:
        least = Hopper(**sizes, stages=2, buffers=1, c_major=options.get("c_major", "N"))
        room = SHARED_LIMIT // resident - RESERVED
        for buffers in (4, 2, 1):
            staging = least.consumers * least.staging_bytes * buffers
            stages = min(12, (room - staging) // (least.stage_bytes + 16))
            if stages >= 4 and buffers * least.box_n <= tile_n:
                break
        return Hopper(**sizes, stages=stages, buffers=buffers, **options)
    except SimlayoutError:
        return None


def _candidates():
    for tile_m, tile_n, c_major in ((m, n, c) for m, columns in TILES.items() for n in columns for c in "NM"):
        for cluster_m, cluster_n in SHARED if tile_n >= 32 else ((1, 1),):
            yield fitted(tile_m, tile_n, c_major=c_major, cluster_m=cluster_m, cluster_n=cluster_n, split=True)
        if tile_m <= 128 and tile_n >= 64:
            yield fitted(tile_m, tile_n, 2, c_major=c_major, split=True)
        for slices in (2, 3, 4, 6, 8):
            made = fitted(tile_m, tile_n, c_major=c_major, slices=slices)
            if made and tile_n // 2 + SLICES_REGISTERS <= made.launch_registers:
                yield made


CANDIDATES = tuple(c for c in _candidates() if c is not None)
"""The configurations that are considered, for f16 and K-major operands."""
