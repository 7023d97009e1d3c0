"""Which shared memory the threads of a wgmma kernel touch themselves: only the staging of C; TMA and wgmma do the rest."""

from dataclasses import dataclass

from simlayout.algebra import Layout, Swizzle
from simlayout.hardware.wgmma import operand_wavefronts
from simlayout.proofs import Access

STAGING = Swizzle(3, 3, 3) @ Layout((64, (64, 4)), (64, (1, 4096)))
"""A warpgroup's 64 x 256 part of C, in boxes of 64 x 64: rows of 128 bytes in TMA's 128-byte swizzle."""

STORE_C = Access(
    "store C", "stmatrix.x4", STAGING,
    lambda tid, j, i: (tid // 32 * 16 + tid % 16 // 8 * 8 + tid % 8, 64 * j + 16 * i + tid % 32 // 16 * 8),
    {"tid": 128, "j": 4, "i": 4}, "f16")
"""Box j, columns 16 i: matrices 0 and 1 are rows 0-7 and 8-15 of the warp's 16, 2 and 3 the same 8 columns on, as eight
neighbouring accumulators of a wgmma hold them."""

EMITTED = {"wgmma": (STORE_C,)}


@dataclass(frozen=True)
class HopperCounts:
    """What Nsight Compute will count for one launch. operand_wavefronts: of wgmma
    (`l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma`); stores, store_wavefronts: stmatrix of C, instructions and
    wavefronts; bank_writes: words that TMA loads and stmatrix write (`l1tex__data_bank_writes`)."""

    operand_wavefronts: int
    stores: int
    store_wavefronts: int
    bank_writes: int


def predict(config, M, N, K, matrices=1):
    """The HopperCounts of a Hopper configuration for one product, without cut tiles.

    Boxes that stick out of the matrices count whole: TMA writes their zeros, wgmma reads them.
    """
    tiles = -(-M // (config.tile_m * config.cluster)) * config.cluster * -(-N // config.tile_n) * matrices
    stages = tiles * -(-K // 64)
    wgmmas = stages * 4 * config.consumers
    store = STORE_C.analyze()
    stores = tiles * config.consumers * 4 * config.tile_n // 16 if config.store == "tma" else 0
    (per_store,) = set(store.wavefronts.tolist())
    return HopperCounts(wgmmas * operand_wavefronts(config.wgmma)[0], stores, stores * per_store,
                        stages * 32 * (config.tile_m + config.tile_n) + stores * 128)
