"""How long configurations of `wgmma_persistent` take at a product: an estimate for many of them at once."""

from copy import copy
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cuda_kernels.gemm.hopper import cut_tiles
from cuda_kernels.gemm.hopper_parts import DEPTH
from cuda_kernels.gemm.hopper_split import loads_at_once

GHZ = 1.485
"""The clock that clocks below are counted in. The GPU's own moves between 1.2 and 1.98 GHz with the power that it draws."""

ROW_BYTES = 2 * DEPTH
"""Of a row of A or a column of B in a stage."""


@dataclass(frozen=True)
class Rates:
    """What an estimate is made of, for one GPU.

    A launch, microseconds: launch; cluster: in clusters, more; skew: until all SMs have begun, where all do.
    A step of 64 along K: column_clocks of a wgmma m64nNk16 per column; tall: times as much for more than two consumers;
    turn: clocks at least, turn_pair times as many for two or more consumers; latency: microseconds of a load that only the
    stages ahead hide; row: clocks of TMA per row; beyond: what a row outside of the matrix costs a CTA, in rows inside;
    nowhere: such rows per nanosecond of all CTAs together; delivered: bytes per nanosecond that all SMs take; l2: that L2
    serves, a row for several CTAs of a cluster counted once; peers: the part of a step that waiting for them costs, for each
    doubling of their number. Where rows lie across L2's lines of 128 bytes, TMA takes across_row times as long, and L2
    serves across_l2; where they also start in the middle of a sector of 32 bytes, half_row and half_l2.
    A tile, microseconds: tile; corner: per 128 x 256 elements; box: per box of C; second: of these, the part that a second
    CTA of the SM adds. Adding up the parts of a cut tile, microseconds: through global memory reduce, and reduce_load per
    round of loads; in a cluster exchange, and exchange_load per group of 8 columns and slice.
    dram: bytes per nanosecond. hard, hard_memory: the power in which times that overlap are added: 1 is a sum, much is a
    maximum; within a step, and of computing and DRAM.
    """

    launch: float
    cluster: float
    skew: float
    column_clocks: float
    tall: float
    turn: float
    turn_pair: float
    latency: float
    row: float
    beyond: float
    nowhere: float
    delivered: float
    peers: float
    l2: float
    across_row: float
    across_l2: float
    half_row: float
    half_l2: float
    tile: float
    corner: float
    box: float
    second: float
    reduce: float
    reduce_load: float
    exchange: float
    exchange_load: float
    dram: float
    hard: float
    hard_memory: float


H200 = Rates(launch=1.71, cluster=0.228, skew=0.404, column_clocks=0.456, tall=1.01, turn=117, turn_pair=1.71,
             latency=0.818, row=1.21, beyond=0.37, nowhere=14, delivered=17600, peers=0.012, l2=18500, across_row=1.17,
             across_l2=14200, half_row=1.79, half_l2=10500, tile=0.0232, corner=1.49, box=0.0661, second=0.628, reduce=3.37,
             reduce_load=0.181, exchange=2.16, exchange_load=0.172, dram=4290, hard=3.7, hard_memory=3.65)
"""Fitted to 6,073 times of 623 configurations at 89 products (`tests/data/h200_tuning.json`): `python -m
cuda_kernels.tuning_fit`. They are for choosing: not each of them is what its name says."""


class Estimates:
    """Estimates for a fixed tuple of Hopper configurations; their a_major, b_major and types do not matter.

    >>> from cuda_kernels.gemm.hopper import Hopper
    >>> small, large = Estimates((Hopper(64, 64, 8), Hopper()))(8192, 8192, 8192)
    >>> bool(small > large)
    True
    """

    def __init__(self, configs):
        self.configs = configs
        for name in ("tile_m", "tile_n", "box_n", "stages", "resident", "cluster_m", "cluster_n", "sharing", "slices",
                     "split"):
            setattr(self, name, np.array([getattr(c, name) for c in configs]))
        self.turned = np.array([c.c_major == "M" for c in configs])
        self.clustered = self.sharing * self.slices > 1
        self.doublings = np.log2(self.sharing)
        self.rounds = np.array([c.tile_n // 8 // loads_at_once(c) for c in configs])

    def take(self, numbers):
        """The Estimates of the configurations with these numbers, in their order."""
        taken = copy(self)
        taken.configs = tuple(self.configs[i] for i in numbers)
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray):
                setattr(taken, name, values[numbers])
        return taken

    def __call__(self, M, N, K, matrices=1, sms=132, lie=0, rates=H200):
        """float64 [configurations]: microseconds; infinity for slices that cut nothing, which the same without slices does
        better. M, N: of C; a configuration whose c_major is "M" makes its transpose. lie: of the rows of A and B,
        as of `lie_of`. All of them may be arrays with a value for each configuration."""
        rows, cols = np.where(self.turned, N, M), np.where(self.turned, M, N)
        tall, wide = _up(rows, self.tile_m * self.cluster_m), _up(cols, self.tile_n * self.cluster_n)
        tiles, slots, steps = tall * wide * matrices, self.slots(sms), _up(K, DEPTH)
        whole, parts = cut_tiles(self, tiles, slots, steps)
        left, waves = tiles - whole, _up(whole, slots)
        busy = np.minimum(slots, np.where(whole > 0, tiles, left * parts)) * self.sharing
        beyond_m, beyond_n = tall * self.cluster_m * self.tile_m - rows, wide * self.cluster_n * self.tile_n - cols
        usual = beyond_m / (tall * self.sharing) + beyond_n / (wide * self.sharing)
        most = np.minimum(beyond_m, self.tile_m) / self.cluster_n + np.minimum(beyond_n, self.tile_n) / self.cluster_m
        step, last = (self._step(rates, rows, cols, x, usual, busy, sms, lie) for x in (usual, most))
        tile = rates.tile + rates.corner * self.tile_m * self.tile_n / 32768 + rates.box * (self.tile_n // self.box_n)
        tile = tile * np.where(busy > sms, 1 + rates.second, 1)
        time = np.maximum(waves - 1, 0) * (steps * step + tile) + (waves > 0) * (steps * last + tile)
        time = time + (left > 0) * (_up(steps, parts) * last + tile)
        memory = 2 * matrices * (M * K + N * K + M * N) / rates.dram / 1e3
        ends = rates.launch + rates.cluster * self.clustered + rates.skew * np.minimum(busy / sms, 1)
        ends = ends + (left > 0) * self._add_up(rates, parts)
        return np.where((self.slices > 1) & (parts == 1), np.inf, ends + _together(rates.hard_memory, time, memory))

    def _step(self, rates, rows, cols, beyond, usual, busy, sms, lie):
        """Microseconds of a step of all CTAs that are busy. beyond: rows outside of the matrix that a CTA loads."""
        together = _up(busy, sms)                        # CTAs of an SM
        multiply = together * self.tile_m * self.tile_n / 16 * rates.column_clocks
        multiply = multiply * np.where(self.tile_m > 128, rates.tall, 1)
        turn = rates.turn * np.where(self.tile_m > 64, rates.turn_pair, 1)
        own_m, own_n = np.minimum(rows, self.tile_m), np.minimum(cols, self.tile_n)
        asked = own_m / self.cluster_n + own_n / self.cluster_m
        tma = together * (asked + rates.beyond * beyond) * rates.row * np.choose(lie, (1, rates.across_row, rates.half_row))
        served = (asked + rates.beyond * beyond) / np.choose(lie, (rates.l2, rates.across_l2, rates.half_l2))
        delivered = (own_m + own_n) / rates.delivered
        step = _together(rates.hard, *(clocks / GHZ / 1e3 for clocks in (multiply, turn, tma)), rates.latency / self.stages,
                         *(ROW_BYTES * busy * x / 1e3 for x in (served, delivered)), busy * usual / rates.nowhere / 1e3)
        return step * (1 + rates.peers * self.doublings)

    def _add_up(self, rates, parts):
        """Microseconds that adding up the parts of a tile takes."""
        return np.where(self.slices > 1,
                        rates.exchange + rates.exchange_load * _up(self.tile_n // 8, self.slices) * self.slices,
                        rates.reduce + rates.reduce_load * _up(self.rounds, parts) * parts)

    @lru_cache(8)                                        # noqa: B019  one table, few GPUs
    def slots(self, sms):
        """int64 [configurations]: `Hopper.slots` of each."""
        return np.array([c.slots(sms) for c in self.configs])


def lie_of(*sizes):
    """How rows of so many 16-bit elements lie in memory, one after another: 0 on lines of 128 bytes; 1 across them; 2 across
    them and, some, from the middle of a sector of 32 bytes on. The worst of several, or of several arrays.

    >>> lie_of(4096, 128), lie_of(4096, 144), lie_of(136)
    (0, 1, 2)
    """
    found = np.max([np.where(np.asarray(n) % 64 == 0, 0, np.where(np.asarray(n) % 16 == 0, 1, 2)) for n in sizes], axis=0)
    return found if found.ndim else int(found)


def _up(a, b):
    return -(-a // b)


def _together(power, *times):
    """The norm of times that overlap: at least the longest of them."""
    longest = np.maximum.reduce(np.broadcast_arrays(*times))
    return longest * sum((x / longest) ** power for x in times) ** (1 / power)
