"""The configurations of `wgmma_persistent` that may suit a product."""

from dataclasses import replace
from functools import lru_cache
from itertools import chain, product

from cuda_kernels.kernels.hopper.config import Hopper, staged_bytes, widest_box
from cuda_kernels.kernels.hopper.places import BARRIERS
from cuda_kernels.kernels.hopper.rules import RESERVED, SHARED_LIMIT
from cuda_kernels.kernels.hopper.scales import grains_of
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError

KK = "K", "K"
"""The majors of A and B in `x @ w.T`."""

OF_OPERANDS = "c_major", "a_major", "b_major", "dtype", "scaled"

FEW = "1x1", "2x1", "1x2"
DOWN = *FEW, "4x1"
MANY = *DOWN, "1x4", "2x4", "4x2"
"""cluster_m x cluster_n. With 2x2 the best of a product took 1.13 of the best with one of these (geometric mean of 14, by
hand on an H200), and less at one of them, 0.94; with 3x1 or 1x3 1.15 (of 20, of which 14 have 288 to 640 rows; 1.07 at
least)."""


def columns(first, last):
    """Multiples of 8 to the last one: a tile that covers what a coarser one would stick out of computes so much less."""
    return range(first, last + 1, 8)


TILES = ((64, 1, (16,), FEW[:1]), (64, 1, columns(24, 128), MANY), (64, 1, columns(136, 256), DOWN),
         (128, 1, (16, 32, 48), FEW[:2]), (128, 1, columns(64, 152), MANY), (128, 1, columns(160, 184), DOWN),
         (128, 1, columns(192, 256), FEW), (192, 1, columns(72, 128), MANY), (192, 1, columns(136, 200), (*FEW, "1x4")),
         (256, 2, columns(128, 192), FEW), (256, 1, (16,), FEW[:1]), (256, 1, columns(64, 128), FEW))
"""(rows, bands, columns, clusters) of the tiles that are considered, for C and for its transpose. Where they were measured,
192 x 200 was faster than all others at 44 of 142 products, by up to 12 percent, and 128 x 160 to 184 in clusters of 4x1 at
32 of 100 (`tests/data/h200_wider_row.json.xz`). Two CTAs of an SM were faster than one at 32 of the 496 products of all
records, by at most 2.3 percent, so that there are none."""

PINGPONG = ((64, 1, columns(64, 128), MANY), (64, 1, columns(136, 256), DOWN), (128, 2, columns(64, 152), MANY),
            (128, 2, columns(160, 184), DOWN), (128, 2, (192,), FEW), (128, 2, columns(176, 192), MANY[-2:]))
"""The same of the tiles that consumers multiply in turns. 128 x 176 to 192 in clusters of eight were faster than all others
at 20 of 24 products whose K is an odd multiple of 8 from 208 to 488, by up to 13 percent, and at 12 of 107 with another K,
by at most 3 (`tests/data/h200_multicast_row.json.xz`). Where rows of A and B start off sectors, L2 serves few neighbours
together: those of a cluster share what TMA loads."""

WHOLE = {(True, 128, 160, "1x2", "N")}
"""(whether consumers multiply in turns, rows, columns, cluster, c_major) of tiles that are not cut along K, because ptxas
has their kernel spill 8 bytes then. None of the 67 others of two bands and 144 or more columns that are cut does."""

STAGINGS = (64, 2), (32, 2), (64, 1), (32, 1), (16, 1)
"""(columns, buffers) in which C is staged, the likeliest first. At as many stages, two of 64 columns took 1 percent less
than two of 32 or one of 64, and one of 32 took 0.8 percent more than these; a stage more made up for as much (geometric
means of some hundred tiles at 14 products on an H200)."""

SLICED = ((64, columns(16, 64), FEW[:1], (2, 3, 4, 5, 6, 8)), (64, columns(72, 128), FEW[:1], (2, 3, 4, 6, 8)),
          (128, columns(32, 128)[::2], FEW[:1], (2, 3, 4, 6, 8)), (64, columns(32, 152), FEW[1:], (2, 3, 4)),
          (128, columns(48, 128), FEW[1:], (2, 3, 4)), (64, columns(24, 128), ("2x2",), (2,)),
          (128, columns(64, 128)[::2], ("2x2",), (2,)))
"""(rows, columns, clusters that share loads, slices) of the tiles that may be cut into slices. Two slices of 64 rows in 2x2
were faster than all others at 100 of the 194 products where they were measured, by up to 17 percent
(`tests/data/h200_wider_row.json.xz`)."""

SHALLOW = (64, 96), (64, 104), (64, 112), (128, 16)
"""Tiles that are considered with 8 stages, too. 64 x 112 took 4 percent less with these than with 10, 64 x 96 1 percent
less than with 11, 64 x 104 1 percent more than with 10, by product from 20 percent less to 13 more; 64 x 24 to 64 x 88 took
1 to 5 percent more than with 11 or 12 (geometric means, tests/data/h200_stages.json.xz). 128 x 16 took 1.1 percent less than
with 12 where a product waits for DRAM (1 x 28672 x 8192, `tests/data/h200_few.json.xz`)."""

OWN_COLUMNS = 64
"""Columns of a tile at most, where each has a scale of its own for every 128 of K: of 96 to 128 such tiles took 1.3 to 1.6
times as long as others (by hand, on an H100)."""

BY_SECTORS = tuple(Hopper(tile_n=tile_n, buffers=1, group=1, cluster_m=2, bands=2, pingpong=True, store="sectors")
                   for tile_n in (200, 184))
"""What a product gets whose C is `off_sectors`: the first, or the second where that has no room, because B is MN-major.
Microseconds of an H100 (tests/data/h100_sectors.json):

| | by sectors | the best of seven others | cuBLAS |
| 6000 x 7000 x 64 | 34 | 49 | 53 |
| 20000 x 4104 x 128 | 67 | 99 | 103 |
| 14608 x 14312 x 152 | 219 | 255 | 253 |
| 14608 x 14312 x 256 | 216 | 288 | 243 |
"""

SHALLOW_BYTES = 512
"""Bytes of a line of K up to which storing C is most of the work. An H100 took with C by sectors 0.70 to 0.87 of the best of
twelve others up to K = 152, 0.98 to 1.06 from 184 to 216, where C is of 96 to 312 MB, 0.81 at 256 (418 MB) and 1.09 at 320
(tests/data/h100_sectors_deeper.json). Where L2 holds C it took 0.94 to 1.7 of others (tests/data/h100_likely.json.xz)."""

SECTORS_STORED = 2000
"""Bytes of C per nanosecond that are stored by sectors, about: 1490 to 2510 on an H100, 1420 to 2890 on an H200, the fewer
the deeper a product is. Otherwise DRAM reads what it writes, and half of its bandwidth is left, 1676 and 2407. What is
chosen of three or four others took 0.88 of the time by sectors at 43 products in a row on an H200 (geometric mean; 0.78 to
1.05), and 0.90 at 29 alone (0.79 to 1.05): tests/data/h200_sectors_row.json.xz, h200_sectors_alone.json.xz."""


def off_sectors(wanted, gpu):
    """Whether storing C is most of the work and every other line of it starts within a sector of 32 bytes, which two tiles
    would share: L2 then reads such sectors from DRAM (`kernels.hopper.sectors`), unless it can keep C whole. Not on a GPU
    whose DRAM does that in less time than it takes to store C by sectors."""
    line = wanted.N * TYPES[wanted.out].bytes
    return (wanted.store == "tma" and line % 32 == 16 and wanted.matrices * wanted.M * line > gpu.l2_bytes
            and wanted.K * TYPES[wanted.types[0]].bytes <= SHALLOW_BYTES and gpu.dram / 2 < SECTORS_STORED)


def fitted(tile_m, tile_n, most=12, **options):
    """The Hopper configuration with as many stages as fit, to `most`, and the first of the STAGINGS that leaves room for
    them; None where it cannot be.

    >>> config = fitted(192, 104)
    >>> config.stages, config.box_n, config.buffers
    (5, 32, 2)
    """
    bands = options.get("bands", 1)
    crowded = tile_m // bands > 128 and not grains_of(options.get("scaled", ""))
    options |= dict(tile_m=tile_m, tile_n=tile_n, producer=1 if crowded else 4)
    try:
        least = Hopper(stages=2, buffers=1, box=16, **options)
        stages = {staging: min(most, fit) for staging, fit in _stages(least)}
        box, buffers = max(stages, key=stages.get)
        return replace(least, stages=stages[box, buffers], buffers=buffers,
                       box=0 if box == widest_box(tile_n, least.c_major) else box)
    except SimlayoutError:
        return None


def _stages(config):
    """Yields (staging, how many stages fit beside it) of the STAGINGS that the tile has as many columns for."""
    room, stage = SHARED_LIMIT - RESERVED, config.stage_bytes + BARRIERS + config.scale_bytes
    for box, buffers in STAGINGS:
        if box <= config.tile_n and buffers <= -(-config.tile_n // box):
            own = staged_bytes(box, buffers) + config.exchanged_bytes + 4 * config.lines_scales
            yield (box, buffers), (room - config.consumers * own - config.come_bytes) // stage


def _whole(operands):
    """Yields what is considered of tiles that no slices share. operands: {c_major: options of A, B and scales}."""
    for pingpong, (tile_m, bands, widths, clusters) in (*product([False], TILES), *product([True], PINGPONG)):
        for tile_n, cluster, c_major in product(widths, clusters, "NM"):
            options = dict(operands[c_major], bands=bands, pingpong=pingpong, **_sides(cluster))
            cut = (pingpong, tile_m, tile_n, cluster, c_major) not in WHOLE and fitted(tile_m, tile_n, split=True, **options)
            deepest = cut or fitted(tile_m, tile_n, **options)
            yield deepest
            if deepest and (tile_m, tile_n) in SHALLOW:
                yield fitted(tile_m, tile_n, most=8, split=deepest.split, **options)


def _sliced(operands):
    """The same of tiles in slices."""
    for tile_m, widths, clusters, cuts in SLICED:
        for tile_n, cluster, slices, c_major in product(widths, clusters, cuts, "NM"):
            yield fitted(tile_m, tile_n, slices=slices, **operands[c_major], **_sides(cluster))


def _promoting(operands):
    """The same of tiles of 8-bit operands with scales for every 128 of K: those of TILES whose columns have few enough."""
    for tile_m, bands, widths, clusters in TILES:
        for tile_n, cluster, c_major in product(widths, clusters, "NM"):
            options = dict(operands[c_major], bands=bands, **_sides(cluster))
            if grains_of(options["scaled"])[1] > 1 or tile_n <= OWN_COLUMNS:
                yield fitted(tile_m, tile_n, split=True, **options) or fitted(tile_m, tile_n, **options)


def _sides(cluster):
    return dict(zip(("cluster_m", "cluster_n"), map(int, cluster.split("x"))))


ORDERS = (1, 2, 4, 8, 16)
"""Rows of tiles in the groups that are walked together, of which each candidate may have any."""


@lru_cache(None)
def candidates(majors=KK, scaled=""):
    """The configurations that are considered for A and B with these majors and scales: for C and for its transpose, with as
    many stages as such operands and scales leave room for; of f16, or of e4m3 where only 8-bit operands have such scales.

    >>> len(candidates()) > len(candidates(scaled="1x128")) > 0
    True
    """
    types = ("e4m3", "e4m3") if grains_of(scaled) else ("f16", "f16")
    least = [Hopper(64, 16, 2, c_major=c_major).taking(types, "f16", majors, scaled) for c_major in "NM"]
    operands = {c.c_major: {name: getattr(c, name) for name in OF_OPERANDS} for c in least}
    made = _promoting(operands) if grains_of(scaled) else chain(_whole(operands), _sliced(operands))
    return tuple(c for c in made if c is not None)
