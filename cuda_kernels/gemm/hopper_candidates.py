"""The configurations of `wgmma_persistent` that may suit a product."""

from itertools import product

from cuda_kernels.gemm.hopper import RESERVED, SHARED_LIMIT, Hopper
from simlayout.errors import SimlayoutError

FEW = "1x1", "2x1", "1x2"
SOME = *FEW, "4x1", "1x4", "2x4"
MANY = *SOME, "4x2"
"""cluster_m x cluster_n."""

TILES = ((64, 1, (16,), FEW[:1]), (64, 1, (32, 48, 64, 80, 96, 112, 128), MANY),
         (64, 1, (144, 160, 176, 192, 208, 224, 240, 256), (*FEW, "4x1")),
         (128, 1, (16, 32, 48), FEW[:2]), (128, 1, (64, 80, 96, 112, 128, 144), MANY),
         (128, 1, (160, 176, 192, 208, 224, 240, 256), FEW), (192, 1, (80, 96, 112, 128, 144, 160, 176, 192), FEW),
         (256, 2, (128, 144, 160, 176, 192), FEW), (256, 1, (16,), FEW[:1]),
         (256, 1, (64, 80, 96, 112, 128), FEW))
"""(rows, bands, columns, clusters) of the tiles that are considered, for C and for its transpose."""

SLICED = {(64, 16): (2, 4), (64, 32): (2, 4), (64, 64): (2, 3, 4), (64, 128): (2,), (128, 64): (2,)}
"""Into how many slices tiles may be cut. Adding them up takes 36 registers beside the accumulators: 192 x 192 spilled."""

SHALLOW = {(128, 16): FEW[:2]}
"""Tiles that are considered with 8 stages, too: a product that waits for DRAM took 1.1 percent less with these than with 12
(1 x 28672 x 8192, `tests/data/h200_few.json`)."""

TWICE = ((64, 16), (64, 32), (64, 64), (64, 128), (128, 64), (128, 128))
"""Tiles of which an SM may hold two CTAs."""


def fitted(tile_m, tile_n, resident=1, most=12, **options):
    """The Hopper configuration with as many stages as fit, to `most`, and four staging buffers or, where that leaves
    fewer than four stages or is more than the tile has, two or one; None where it cannot be."""
    bands = options.pop("bands", 1)
    sizes = dict(tile_m=tile_m, tile_n=tile_n, resident=resident, bands=bands,
                 producer=1 if resident == 2 or tile_m // bands > 128 else 4)
    try:
        least = Hopper(**sizes, stages=2, buffers=1, c_major=options.get("c_major", "N"))
        room = SHARED_LIMIT // resident - RESERVED
        for buffers in (4, 2, 1):
            staging = least.consumers * least.staging_bytes * buffers
            stages = min(most, (room - staging) // (least.stage_bytes + 16))
            if stages >= 4 and buffers * least.box_n <= tile_n:
                break
        return Hopper(**sizes, stages=stages, buffers=buffers, **options)
    except SimlayoutError:
        return None


def _candidates():
    for tile_m, bands, columns, clusters in TILES:
        for tile_n, cluster, c_major in product(columns, clusters, "NM"):
            cluster_m, cluster_n = map(int, cluster.split("x"))
            options = dict(bands=bands, c_major=c_major, cluster_m=cluster_m, cluster_n=cluster_n)
            yield fitted(tile_m, tile_n, split=True, **options) or fitted(tile_m, tile_n, **options)
    for (tile_m, tile_n), clusters in SHALLOW.items():
        for cluster, c_major in product(clusters, "NM"):
            cluster_m, cluster_n = map(int, cluster.split("x"))
            yield fitted(tile_m, tile_n, most=8, c_major=c_major, cluster_m=cluster_m, cluster_n=cluster_n, split=True)
    for (tile_m, tile_n), slices in SLICED.items():
        for c_major in "NM":
            yield from (fitted(tile_m, tile_n, c_major=c_major, slices=n) for n in slices)
    for tile_m, tile_n in TWICE:
        yield from (fitted(tile_m, tile_n, 2, c_major=c_major, split=True) for c_major in "NM")


CANDIDATES = tuple(c for c in _candidates() if c is not None)
"""The configurations that are considered, for f16 and K-major operands."""
