"""Which configuration of `wgmma_persistent` a product gets: an estimate of its time for each, and the least."""

from dataclasses import dataclass
from functools import lru_cache

from cuda_kernels.gemm.hopper import Hopper

LAUNCH, LATENCY = 1.5, 1.3
"""Microseconds that a launch takes before its first step, and that a load takes when nothing hides it."""

REDUCE, REDUCE_PART = 6.0, 0.8
"""Microseconds that adding up the parts of cut tiles takes, and for each part."""

OVERLAP_LOST = 0.25
"""Of computing and of memory traffic, the share of the shorter that does not hide behind the longer."""

DRAM, L2, L2_HALF_SECTORS, ONE_SM = 3580, 13_000, 7200, 120
"""Bytes per nanosecond, times 1000: from DRAM; from L2 by all SMs, in whole 32-byte sectors, and where rows start in the
middle of one; into one SM."""


@dataclass(frozen=True)
class Cost:
    """A tile shape with the stages and staging buffers that suit it. step, tile: microseconds of an SM for 64 of K, and for
    what a tile costs besides."""

    tile_m: int
    tile_n: int
    cluster: int
    stages: int
    buffers: int
    step: float
    tile: float


COSTS = (
    Cost(128, 256, 1, 3, 4, 0.714, 1.77), Cost(128, 256, 1, 4, 2, 0.689, 2.02), Cost(128, 192, 1, 4, 3, 0.554, 1.40),
    Cost(128, 128, 1, 6, 2, 0.352, 1.19), Cost(64, 256, 1, 4, 4, 0.310, 1.15), Cost(64, 128, 1, 8, 2, 0.210, 0.59),
    Cost(64, 64, 1, 10, 1, 0.163, 0.30), Cost(128, 256, 2, 3, 4, 0.718, 2.03), Cost(128, 256, 2, 4, 2, 0.694, 2.14),
    Cost(128, 128, 2, 6, 2, 0.407, 0.88), Cost(64, 128, 2, 8, 2, 0.246, 0.80))
"""Fitted, with the numbers above, to 1,044 times of 12 configurations at 86 products (random ones and those of transformer
layers; one NVIDIA H200, driver 580.159, 2026-11-21): half of them within 10 percent. For choosing among them, no more."""


def estimate(cost, config, M, N, K, matrices, sms, half_sectors):
    """Microseconds that a product may take. half_sectors: whether rows start in the middle of a 32-byte sector of L2."""
    whole, parts = config.cut(M, N, K, matrices, sms)
    wave, steps = sms // config.cluster_m, -(-K // 64)
    tiles = config.tiles(M, N, matrices)
    busy = min(sms, config.grid(M, N, K, matrices, sms))
    loaded = 128 * (min(M, cost.tile_m) + min(N, cost.tile_n) / cost.cluster)
    step = max(cost.step, loaded / ONE_SM / 1000, loaded * busy / (L2_HALF_SECTORS if half_sectors else L2) / 1000)
    if M <= cost.tile_m:
        step = max(step, LATENCY / cost.stages)
    time = LAUNCH + -(-whole // wave) * (steps * step + cost.tile)
    if tiles > whole:
        time += -(-steps // parts) * step + cost.tile + REDUCE + REDUCE_PART * parts
    memory = LAUNCH + cost.tile + 2 * matrices * (M * K + N * K + M * N) / DRAM / 1000
    return max(time, memory) + OVERLAP_LOST * min(time, memory)


@lru_cache(4096)
def choose(M, N, K, matrices, sms, a_major, b_major, dtype, out):
    """The Hopper configuration for C (M, N) = A (M, K) times B (K, N), `matrices` of them, on a GPU with `sms` SMs.

    >>> choose(8192, 8192, 8192, 1, 132, "K", "K", "f16", "f16").tile_n
    256
    """
    half = any(n % 16 == 8 for n in (K if a_major == "K" else M, K if b_major == "K" else N))
    best, time = None, None
    for cost in COSTS:
        store = "direct" if out == "f32" else "tma"
        config = Hopper(cost.tile_m, cost.tile_n, cost.stages, cost.buffers, a_major=a_major, b_major=b_major, dtype=dtype,
                        out=out, store=store, split=True, cluster_m=cost.cluster)
        if cost.tile_n == 64 and (M <= 32 or (M <= 64 and config.tiles(M, N, matrices) > sms)):
            continue                                     # it waits for memory, of which this tile has little under way
        needed = estimate(cost, config, M, N, K, matrices, sms, half)
        if time is None or needed < time:
            best, time = config, needed
    return best
