"""Which shared memory the threads of a wgmma kernel touch themselves: the staging of C, and what slices of a tile exchange.
TMA and wgmma do the rest."""

from dataclasses import dataclass
from importlib import import_module

from cuda_kernels.kernels.hopper.sectors import PITCH
from simlayout.algebra import Layout, Swizzle
from simlayout.codegen import identifier
from simlayout.hardware.matrix.wgmma import operand_wavefronts
from simlayout.proofs import Access


def across(tid, i):
    """The element (row, column) whose 16 bytes a lane stores, along its row: of the 16 columns from 16 i on, matrices 0 and
    1 are rows 0-7 and 8-15 of the warp's 16, 2 and 3 the same 8 columns on, as eight accumulators of a wgmma hold them."""
    return tid // 32 * 16 + tid % 16 // 8 * 8 + tid % 8, 16 * i + tid % 32 // 16 * 8


def down(tid, i):
    """The same for 16 bytes down a column: .trans stores column r of a matrix where lane r says."""
    return tid // 32 * 16 + tid % 16 // 8 * 8, 16 * i + tid % 32 // 16 * 8 + tid % 8


def _staging(name, instruction, tile, lanes):
    return Access(name, instruction, tile, lanes, {"tid": 128, "i": 16}, "f16")


STORE_N64 = _staging("store n64", "stmatrix.x4", Swizzle(3, 3, 3) @ Layout((64, (64, 4)), (64, (1, 4096))), across)
STORE_N32 = _staging("store n32", "stmatrix.x4", Swizzle(2, 3, 3) @ Layout((64, (32, 8)), (32, (1, 2048))), across)
STORE_N16 = _staging("store n16", "stmatrix.x4", Swizzle(1, 3, 3) @ Layout((64, (16, 16)), (16, (1, 1024))), across)
STORE_M = _staging("store m", "stmatrix.x4.trans", Swizzle(3, 3, 3) @ Layout((64, 256), (1, 64)), down)
"""A warpgroup's 64 x 256 part of C in boxes for TMA: 64 rows of 64, 32 or 16 columns in the swizzle of 128, 64 or 32 bytes,
and columns of 64 rows in that of 128."""

STORE_LINES = Access("store lines", "stmatrix.x4", Layout((64, PITCH), (PITCH, 1)),
                    lambda tid, i: (across(tid, 0)[0], 8 * i + across(tid, 0)[1]), {"tid": 128, "i": PITCH // 8 - 1}, "f16")
"""The same part of C in lines, at most 200 columns of it: 16 columns from 8 i on."""

EXCHANGE = Access("exchange", "ld.shared.b128", Layout((128, 36, 4), (4, 512, 1)), lambda tid, j: (tid, j, 0),
                  {"tid": 128, "j": 36}, "f32")
"""Four neighbouring accumulators of a warpgroup's threads, number j of what the CTAs of a cluster send one another: at most
36, those of 256 columns in 6 slices."""

EMITTED = {"wgmma": (STORE_N64, STORE_N32, STORE_N16, STORE_M, STORE_LINES, EXCHANGE)}


def store_access(config):
    """How a configuration stages C: one of the accesses above."""
    if config.store == "sectors":
        return STORE_LINES
    return STORE_M if config.c_major == "M" else {64: STORE_N64, 32: STORE_N32, 16: STORE_N16}[config.box_n]


def emitted_function(access, module="wgmma"):
    """The emitted index function of an access: what a kernel calls."""
    return getattr(import_module(f"cuda_kernels.emitted.{module}"), identifier(access.name))


@dataclass(frozen=True)
class HopperCounts:
    """What Nsight Compute will count for one launch. operand_wavefronts: of wgmma
    (`l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma`); stores, store_wavefronts: stmatrix of C, instructions and
    wavefronts; bank_writes: words that TMA loads and stmatrix write (`l1tex__data_bank_writes`)."""

    operand_wavefronts: int
    stores: int
    store_wavefronts: int
    bank_writes: int


@dataclass(frozen=True)
class Tiles:
    """What CTAs do in one product. tiles: that they load; multiplied, stored: bands of 64 rows that they multiply and
    store; boxes: in which they store them, where `store` is "tma"."""

    tiles: int
    multiplied: int
    stored: int
    boxes: int


def tiles_of(config, M, N, matrices=1, sizes=(), sliced=0):
    """The Tiles of a Hopper configuration for one product. sizes: of a grouped configuration, the rows of each group;
    sliced: tiles, those that share loads counted once, that are cut into slices, which store them directly."""
    if not config.grouped:
        tiles = config.sharing * config.tiles(M, N, matrices)
        stored = (tiles - config.sharing * sliced) * config.row_bands
        return Tiles(tiles, tiles * config.row_bands, stored, stored * len(config.box_starts))
    down, (along, across) = config.c_major == "M", config.turned(config.cluster_m, config.cluster_n)
    high, beside = config.group_height // along, across * config.group_grid(M, N, 1)[1]
    tiles = beside * sum(along * -(-rows // config.group_height) for rows in sizes)
    bands = config.bands if not config.pingpong else config.row_bands

    def of_bands(together):
        """Bands, where a consumer leaves out so many if none of them has rows."""
        if down:
            return together * -(-M // (64 * together)) * sum(-(-rows // high) for rows in sizes)
        return together * -(-N // config.tile_n) * sum(-(-rows // (64 * together)) for rows in sizes)

    multiplied = of_bands(bands)
    if not down:
        return Tiles(tiles, multiplied, of_bands(1), of_bands(1) * len(config.box_starts))
    boxes = sum(first < rows for size in sizes for rows in range(size, 0, -high) for first in config.box_starts)
    return Tiles(tiles, multiplied, of_bands(1), -(-M // 64) * boxes)


def predict(config, M, N, K, matrices=1, sizes=(), sliced=0):
    """The HopperCounts of a Hopper configuration for one product, unless `split` cuts tiles; sizes, sliced: as of
    `tiles_of`.

    Boxes that stick out of the matrices count whole: TMA writes their zeros, wgmma reads them.
    """
    done, steps = tiles_of(config, M, N, matrices, sizes, sliced), -(-K // config.depth)
    stores = done.stored * 4 * config.staged_blocks
    (per_store,) = set(store_access(config).analyze().wavefronts.tolist())
    wgmmas = done.multiplied * steps * 4
    return HopperCounts(wgmmas * operand_wavefronts(config.wgmma)[0], stores, stores * per_store,
                        done.tiles * steps * config.stage_bytes // 4 + stores * 128)
