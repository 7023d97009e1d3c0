"""How long configurations of `wgmma_persistent` take at a product: an estimate for many of them at once."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cuda_kernels.gemm.hopper import cut_tiles
from cuda_kernels.gemm.hopper_parts import DEPTH


@dataclass(frozen=True)
class Rates:
    """What an estimate is made of, for one GPU.

    launch, latency: microseconds before a kernel's first step, and of a load that nothing hides. reduce, exchange:
    microseconds that adding up the parts of cut tiles takes, through global memory and in a cluster. tile, tile_corner:
    microseconds that a tile costs besides its steps, and more of it for each 128 x 256 elements. lost: of computing and
    of memory traffic, the share of the shorter that does not hide behind the longer. dram, l2, l2_half: bytes per nanosecond
    from DRAM; from L2 by all SMs, where rows start on whole 32-byte sectors, and where they start in the middle of one.
    clocks, column_clocks: of a wgmma m64nNk16 in a kernel, at least and per column; ghz: the clock then.
    """

    launch: float
    latency: float
    reduce: float
    exchange: float
    tile: float
    tile_corner: float
    lost: float
    dram: float
    l2: float
    l2_half: float
    clocks: float
    column_clocks: float
    sm: float = 20.0
    fill: float = 6.0
    reduce_part: float = 0.3
    cluster: float = 0.2


GHZ = 1.485

H200 = Rates(launch=1.5, latency=1.6, reduce=10.3, exchange=3.0, tile=0.44, tile_corner=1.38, lost=0.2, dram=4.2, l2=11.7,
             l2_half=6.84, clocks=200, column_clocks=0.52, sm=8.0, fill=5.0, reduce_part=0.3, cluster=0.3)
"""Fitted to 1,712 times of 12 configurations at 111 products (one NVIDIA H200, driver 580.159, 2026-11-21): half of them
within 9 percent. exchange is a guess."""


class Estimates:
    """Estimates for a fixed tuple of Hopper configurations; their a_major, b_major and types do not matter.

    >>> from cuda_kernels.gemm.hopper import Hopper
    >>> small, large = Estimates((Hopper(64, 64, 8), Hopper()))(8192, 8192, 8192)
    >>> bool(small > large)
    True
    """

    def __init__(self, configs):
        self.configs = configs
        for name in ("tile_m", "tile_n", "stages", "cluster_m", "cluster_n", "slices", "split", "resident"):
            setattr(self, name, np.array([getattr(c, name) for c in configs]))
        self.turned = np.array([c.c_major == "M" for c in configs])

    def __call__(self, M, N, K, matrices=1, sms=132, half_sectors=False, rates=H200):
        """float64 [configurations]: microseconds. M, N: of C; a configuration whose c_major is "M" makes its transpose.
        half_sectors: whether rows of A or B start in the middle of a 32-byte sector."""
        rows, cols = np.where(self.turned, N, M), np.where(self.turned, M, N)
        height, width = self.tile_m * self.cluster_m, self.tile_n * self.cluster_n
        tall, wide = _up(rows, height), _up(cols, width)
        tiles = tall * wide * matrices
        slots, steps = self.slots(sms), -(-K // DEPTH)
        whole, parts = cut_tiles(self, tiles, slots, steps)
        left = tiles - whole
        waves = _up(whole, slots)
        busy = np.minimum(slots, np.where(whole > 0, tiles, left * parts)) * self.cluster_m * self.cluster_n
        together = _up(busy, sms)
        multiply = np.maximum(together * self.tile_m / 16 * rates.column_clocks * self.tile_n, rates.clocks) / GHZ / 1e3
        loaded = 2 * DEPTH * (np.minimum(rows, self.tile_m) / self.cluster_n
                              + np.minimum(cols, self.tile_n) / self.cluster_m)
        loads = loaded * busy / (rates.l2_half if half_sectors else rates.l2) / 1e6
        beyond_m, beyond_n = tall * height - rows, wide * width - cols
        most = np.minimum(beyond_m, self.tile_m) / self.cluster_n + np.minimum(beyond_n, self.tile_n) / self.cluster_m
        mean = beyond_m / tall / self.cluster_m / self.cluster_n + beyond_n / wide / self.cluster_n / self.cluster_m
        own = loaded * together * rates.sm / 1e6
        fill_mean, fill_most = (together * x * rates.fill / GHZ / 1e3 for x in (mean, most))
        step = np.maximum(np.maximum(multiply, loads), np.maximum(rates.latency / self.stages, own + fill_mean))
        last = np.maximum(step, own + fill_most)
        tile = rates.tile + rates.tile_corner * self.tile_m * self.tile_n / 32768
        add_up = np.where(self.slices > 1, rates.exchange, rates.reduce + rates.reduce_part * parts)
        time = rates.launch + np.maximum(waves - 1, 0) * (steps * step + tile) + (waves > 0) * (steps * last + tile)
        time = time + (left > 0) * (_up(steps, parts) * last + tile + add_up)
        time = time + rates.cluster * (self.cluster_m * self.cluster_n * self.slices > 1)
        memory = rates.launch + tile + 2 * matrices * (M * K + N * K + M * N) / rates.dram / 1e6
        time = np.maximum(time, memory) + rates.lost * np.minimum(time, memory)
        return np.where((self.slices > 1) & (parts == 1), np.inf, time)

    @lru_cache(8)                                        # noqa: B019  one table, few GPUs
    def slots(self, sms):
        """int64 [configurations]: `Hopper.slots` of each."""
        return np.array([c.slots(sms) for c in self.configs])


def _up(a, b):
    return -(-a // b)
