"""How long configurations of `wgmma_persistent` take at a product: an estimate for many of them at once."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from cuda_kernels.kernels.hopper.last_wave import cut_tiles, slots
from cuda_kernels.kernels.hopper.parts import depth_of
from cuda_kernels.kernels.hopper.scales import grains_of
from cuda_kernels.kernels.hopper.split import loads_at_once
from cuda_kernels.matmul.choose.figures import H200
from cuda_kernels.matmul.choose.rates import RATES
from cuda_kernels.matmul.choose.trees import PATH, features, learned
from simlayout.algebra.dtypes import TYPES

DEPTH = depth_of("f16")
ROW_BYTES = 2 * DEPTH
"""Bytes of a row of A or a column of B in a stage."""

GPCS = 8
"""GPCs of an H200. CTAs fill one GPC before the next, in the order of their numbers; clusters go to the GPCs in turns
(measured with %smid)."""

DRIFT_STEPS = 32
"""Steps of 64 along K during which CTAs that began together still load the same rows at the same time."""

L2_KEEPS = 0.5
"""The part of L2 in which an operand is kept until the next pass over it: both of its halves keep a copy of what SMs of both
load."""

LEAN = 1 / 128
"""Rows that a CTA requests in a step, per element of its tile: those of 128 x 256 in clusters of 2."""

LONG = 5
"""Microseconds: DRAM traffic that takes longer has more time to overlap with the rest."""


@dataclass(frozen=True)
class Work:
    """The work of a product: each field is an array with a value per configuration (steps, memory and flops belong to the
    product and may be numbers).

    rows, cols: of C, as the kernel has it; whole, left: tiles that stay whole, and that are cut; parts: of each cut tile;
    waves: of whole tiles; busy, busy_last, busy_cut: CTAs at a time, in the last wave, and with the cut tiles; usual, most:
    rows of A and B outside of the matrices that a CTA loads per step, on average and at the edge; off_a, off_b: the
    `misalignment_of` what tiles load of A's and B's lines; aligned [4, configurations]: the part of the rows requested that
    is of each; delivered: rows that the shared memory of a CTA receives in a step; requested: those that it requests;
    paired, gathered: the same if rows that a TPC or a GPC requests more than once count once; memory: bytes of A, B and C
    that pass DRAM; flops: 2 M N K, including the part of the tiles outside C; narrow: whether A and B are of 8 bits, so that
    K counts pairs of their elements; c_bytes: of an element of C.
    """

    rows: np.ndarray
    cols: np.ndarray
    steps: np.ndarray
    whole: np.ndarray
    left: np.ndarray
    parts: np.ndarray
    waves: np.ndarray
    busy: np.ndarray
    busy_last: np.ndarray
    busy_cut: np.ndarray
    usual: np.ndarray
    most: np.ndarray
    off_a: np.ndarray
    off_b: np.ndarray
    aligned: np.ndarray
    delivered: np.ndarray
    requested: np.ndarray
    paired: np.ndarray
    gathered: np.ndarray
    memory: np.ndarray
    flops: np.ndarray
    narrow: bool
    c_bytes: np.ndarray

    @property
    def misalignment(self):
        """The mean of `misalignment_of` over the rows requested, for the trees."""
        return np.arange(len(self.aligned)) @ self.aligned


class Picked(Sequence):
    """The configurations with these numbers, with these values of `group` and `early` if they are given. Each is built when
    it is indexed, because checking thousands of them takes longer than estimating them.

    >>> from cuda_kernels.kernels.hopper.config import Hopper
    >>> [(c.group, c.early) for c in Picked([Hopper()], [0, 0], [1, 4], [False, True])]
    [(1, False), (4, True)]
    """

    def __init__(self, configs, numbers, groups=None, early=None):
        self._configs, self._numbers, self._groups, self._early = configs, numbers, groups, early

    def __len__(self):
        return len(self._numbers)

    def __getitem__(self, i):
        config = self._configs[self._numbers[i]]
        if self._groups is None:
            return config
        return replace(config, group=int(self._groups[i]), early=bool(self._early[i]))


def columns_of(configs):
    """{name: [a number or bool per configuration]}: what Estimates know of Hopper configurations.

    mn_major_a, mn_major_b: of the product's operands.

    >>> from cuda_kernels.kernels.hopper.config import Hopper
    >>> columns_of([Hopper(), Hopper(64, 96, 6, c_major="M")])["turned"]
    [False, True]
    """
    columns = {name: [getattr(c, name) for c in configs] for name in (
        "tile_m", "tile_n", "stages", "resident", "cluster_m", "cluster_n", "sharing", "slices", "split", "group",
        "consumers", "tile_consumers", "pingpong", "early")}
    return columns | {"boxes": [len(c.box_starts) for c in configs], "turned": [c.c_major == "M" for c in configs],
                      "mn_major_a": [c.turned(c.a_major, c.b_major)[0] == "MN" for c in configs],
                      "mn_major_b": [c.turned(c.a_major, c.b_major)[1] == "MN" for c in configs],
                      "rounds": [c.tile_n // 8 // loads_at_once(c) for c in configs],
                      "promotes": [grains_of(c.scaled) is not None for c in configs]}


class Estimates:
    """Estimates for a fixed sequence of Hopper configurations; their types do not matter, since a product has its own.
    trees: the file of the trees that correct them; columns: of `columns_of`, where they are known.

    >>> from cuda_kernels.kernels.hopper.config import Hopper
    >>> small, large = Estimates((Hopper(64, 64, 8), Hopper()))(8192, 8192, 8192)
    >>> bool(small > large)
    True
    """

    def __init__(self, configs, columns=None):
        self.configs, self.trees = configs, PATH
        for name, values in (columns or columns_of(configs)).items():
            setattr(self, name, np.array(values))
        self.clustered = self.sharing * self.slices > 1

    def take(self, numbers):
        """The Estimates of the configurations with these numbers, in their order."""
        taken = copy(self)
        taken.configs = Picked(self.configs, numbers)
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray):
                setattr(taken, name, values[numbers])
        return taken

    def in_ways(self, groups):
        """The Estimates of each of the configurations with each of these numbers as its `group`, without `early` and with
        it: no other option depends on these two."""
        ways = [(group, early) for early in (False, True) for group in groups]
        numbers, way = np.divmod(np.arange(len(self.configs) * len(ways)), len(ways))
        group, early = np.array(ways)[way].T
        estimates = self.take(numbers)
        estimates.group, estimates.early = group, early > 0
        estimates.configs = Picked(self.configs, numbers, group, early)
        return estimates

    def __call__(self, M, N, K, matrices=1, gpu=H200, rates=RATES, narrow=False, c_bytes=2):
        """float64 [configurations]: microseconds. Infinity where slices cut nothing, or a second CTA of each SM has nothing
        to do, because the same configuration without them is better. M, N: of C; a configuration whose c_major is "M"
        computes its transpose. narrow: A and B are of 8 bits, and K is half of theirs; c_bytes: of an element of C. Each
        argument may be an array with a value per configuration."""
        work = self.work(M, N, K, matrices, gpu, narrow=narrow, c_bytes=c_bytes)
        return self.corrected(work, self.times(work, gpu, rates), gpu)

    def corrected(self, work, times, gpu):
        """float64 [configurations]: the times for the Work, multiplied by the factors of the trees."""
        known = np.isfinite(times)
        return times * np.where(known, learned(self.trees)(features(self, work, np.where(known, times, 1.0), gpu)), 1.0)

    def work(self, M, N, K, matrices=1, gpu=H200, uneven=False, narrow=False, c_bytes=2):
        """The Work of a product, which does not depend on rates. uneven: M is the mean of the rows of matrices that may
        have any number of them up to twice as many; narrow, c_bytes: as of a call."""
        rows, cols = np.where(self.turned, N, M), np.where(self.turned, M, N)
        tall, wide = _up(rows, self.tile_m * self.cluster_m), _up(cols, self.tile_n * self.cluster_n)
        if uneven:
            tall = tiles_of_uneven(rows / self.tile_m)
        tiles, free, steps = tall * wide * matrices, slots(self, gpu.sms), _up(K, DEPTH)
        whole, parts = cut_tiles(self, tiles, free, steps)
        left, waves = tiles - whole, _up(whole, free)
        units = np.minimum(free, np.where(whole > 0, tiles, left * parts))
        outside_m, outside_n = tall * self.cluster_m * self.tile_m - rows, wide * self.cluster_n * self.tile_n - cols
        last = np.where(waves > 1, np.minimum(units, whole - (waves - 1) * free), units)
        columns = np.where(self.across[1], _up(self.tile_n, 64) * 64, self.tile_n)
        loaded = np.minimum(rows, self.tile_m), np.minimum(cols, columns)
        off = self._off(rows, cols, K)
        shared = self._shared(*loaded, tall, wide, units // self.resident, np.where(whole > 0, 1, parts), left, gpu.sms)
        return Work(rows, cols, steps, whole, left, parts, waves, units * self.sharing, last * self.sharing,
                    np.clip(left * parts, 1, free) * self.sharing,
                    outside_m / (tall * self.sharing) + outside_n / (wide * self.sharing),
                    np.minimum(outside_m, self.tile_m) / self.cluster_n
                    + np.minimum(outside_n, self.tile_n) / self.cluster_m,
                    *off, self._aligned(*loaded, *off), sum(loaded), *shared,
                    matrices * (2 * (M * K + N * K) + c_bytes * M * N + self._again(tall, wide, 2 * cols * K, free, gpu)),
                    2.0 * tiles * self.sharing * self.tile_m * self.tile_n * K, narrow, c_bytes)

    @property
    def across(self):
        """(whether lines of A run across a tile's rows, those of B across its columns, and not along K): bool
        [configurations] each, of A and B as the kernel has them. What a tile loads of such begins where the tile does."""
        majors = self.mn_major_a, self.mn_major_b
        return tuple(np.where(self.turned, other, own) for own, other in zip(majors, reversed(majors)))

    def _off(self, rows, cols, K):
        """(off_a, off_b) of Work."""
        across_m, across_n = self.across
        return (misalignment_of(np.where(across_m, rows, K)),
                misalignment_of(np.where(across_n, cols, K), np.where(across_n, self.tile_n, 0)))

    def _aligned(self, tile_rows, tile_cols, off_a, off_b):
        """`aligned` of Work. tile_rows, tile_cols: of A and B that a tile loads."""
        own_m, own_n, each = tile_rows / self.cluster_n, tile_cols / self.cluster_m, np.arange(4)[:, None]
        return (own_m * (off_a == each) + own_n * (off_b == each)) / (own_m + own_n)

    def _again(self, tall, wide, nbytes, free, gpu):
        """Bytes of B (`nbytes` of a matrix) that come from DRAM again. Each group of rows of tiles reads all of B, and what
        L2 does not keep must be loaded again by the next group; groups that are worked on at the same time share a pass."""
        group = np.minimum(self.group, tall)
        together = group * np.maximum(1, free // (group * wide))
        return (_up(tall, together) - 1) * np.maximum(0.0, nbytes - L2_KEEPS * gpu.l2_bytes)

    def _shared(self, tile_rows, tile_cols, tall, wide, units, parts, left, sms):
        """(requested, paired, gathered) of Work, from the units that one GPC works on at a time. tile_rows, tile_cols: of A
        and B that a tile loads."""
        few = float(np.max(1.0 * tall * wide * parts, initial=0)) < 2**31   # tiles: 32 bits hold them, and cost less
        tall, wide, parts, left, units = (np.asarray(np.ceil(x), np.int32 if few else np.int64)
                                          for x in (tall, wide, parts, np.maximum(left, 1), units))
        group = np.minimum(self.group, tall).astype(tall.dtype)
        count, slices = np.maximum(units // GPCS, 1), self.slices[:, None]
        i = np.arange(sms // GPCS + 1, dtype=np.int32)   # the units of a GPC
        at = np.where(self.clustered[:, None], slices * (3 + GPCS * (i // slices)) + i % slices, 3 * count[:, None] + i)
        have = i < count[:, None]
        parts, left = parts[:, None], np.where(parts > 1, left, tall * wide)[:, None]
        sliced = slices > 1                              # slices: tile by tile; otherwise part by part
        tile, part = np.where(sliced, at // parts, at % left), np.where(sliced, at % parts, at // left)
        g, w = group[:, None], wide[:, None]
        first = tile // (g * w) * g
        rest, height = tile - first * w, np.clip(tall[:, None] - first, 1, g)
        row, col = (first + rest % height) * parts + part, rest // height * parts + part
        own_m, own_n = tile_rows / self.cluster_n, tile_cols / self.cluster_m
        requested = own_m + own_n
        gathered = (own_m * _different(row, have) + own_n * _different(col, have)) / count
        neighbours = have[:, 1:] & (i[1:] % 2 == 1)      # a second CTA of a TPC
        pairs = np.where(self.clustered, 0, np.clip(2 - sms / np.maximum(units, 1), 0, 1))
        alike = [((x[:, 1:] == x[:, :-1]) & neighbours).sum(1) / np.maximum(neighbours.sum(1), 1) for x in (row, col)]
        paired = requested - pairs * (own_m * alike[0] + own_n * alike[1]) / 2
        return requested, paired, np.minimum(paired, gathered)

    def times(self, work, gpu=H200, rates=RATES):
        """float64 [configurations]: microseconds for the Work on a GPU with these Figures, not corrected. rates: of an
        H200."""
        rates, sms = rates.on(gpu), gpu.sms
        served = self._served(rates, work)
        usual, last, cut = (self._step(rates, work, served, outside, busy, sms) for outside, busy in (
            (work.usual, work.busy), (work.most, work.busy_last), (work.most, work.busy_cut)))
        tile = rates.tile_us + rates.tile_area_us * self.tile_m * self.tile_n / 32768 + rates.store_box_us * self.boxes
        tile = tile * np.where(work.busy > sms, 1 + rates.second_cta_share, 1)
        steps = np.maximum(work.waves - 1, 0) * work.steps * usual + (work.waves > 0) * work.steps * last
        steps = steps + (work.left > 0) * _up(work.steps, work.parts) * cut
        tiles = (work.waves + (work.left > 0)) * tile
        # consumers in turns: a tile is stored while the next one is multiplied, as far as that takes as long
        time = np.where(self.pingpong, np.maximum(steps + tile, (steps + tiles) / 2), steps + tiles)
        memory = work.memory / rates.dram_bytes_per_ns / 1e3
        time = _together(np.maximum(1, rates.norm_with_dram * (memory / LONG) ** rates.norm_with_dram_growth), time, memory)
        power = 1 + rates.row_power_share * np.maximum(0, work.requested / (self.tile_m * self.tile_n) - LEAN)
        time = _together(rates.norm_with_power, time, power * work.flops / rates.power_tflops / 1e6)
        ends = rates.launch_us + rates.cluster_launch_us * self.clustered
        ends = ends + rates.start_skew_us * np.minimum(work.busy / sms, 1)
        ends = ends + (work.left > 0) * self._add_up(rates, work.parts)
        idle = (self.slices > 1) & (work.parts == 1) | (self.resident > 1) & (work.busy <= sms)
        return np.where(idle, np.inf, ends + time)

    def _served(self, rates, work):
        """Rows per CTA and step that L2 serves."""
        drifted = np.minimum(1, DRIFT_STEPS / work.steps) ** rates.drift_power
        crossing = (rates.merged_factor_64, rates.merged_factor_32, rates.merged_factor_16) @ work.aligned[1:]
        together = work.aligned[0] + drifted * crossing
        pair = together * np.minimum(rates.merged_in_tpc, 1)
        near = together * np.minimum(np.where(self.clustered, rates.merged_clusters, rates.merged_in_gpc), 1)
        return work.requested - pair * (work.requested - work.paired) - near * (work.paired - work.gathered)

    def _step(self, rates, work, served, outside, busy, sms):
        """Microseconds of a step of all busy CTAs. served: from `_served`; outside: rows outside of the matrix that a CTA
        loads."""
        resident = _up(busy, sms)                        # CTAs of an SM
        multiply = resident * self.tile_m * self.tile_n / 16 * rates.wgmma_column_clocks
        multiply = multiply * np.where(self.consumers > 2, rates.many_consumers_factor, 1)
        turn = rates.least_step_clocks * np.where(self.tile_consumers > 1, rates.pair_step_factor, 1)
        tma = resident * (work.requested + rates.outside_row_share * outside) * rates.tma_row_clocks
        tma = tma * ((1, rates.tma_factor_64, rates.tma_factor_32, rates.tma_factor_16) @ work.aligned)
        crossing = (1, rates.l2_factor_64, rates.l2_factor_32, rates.l2_factor_16) @ work.aligned
        served = (served + rates.outside_row_share * outside) / (crossing * rates.l2_bytes_per_ns)
        step = _together(rates.norm_in_step, *(clocks / rates.clock_ghz / 1e3 for clocks in (multiply, turn, tma)),
                         rates.load_latency_us / self.stages,
                         ROW_BYTES * busy * work.delivered / rates.delivered_bytes_per_ns / 1e3,
                         busy * work.usual / rates.outside_rows_per_ns / 1e3)
        step = _together(rates.norm_with_l2, step, ROW_BYTES * busy * served / 1e3)
        of_2, of_4, of_8 = rates.cluster_step_factor_2, rates.cluster_step_factor_4, rates.cluster_step_factor_8
        return step * np.choose(self.sharing, (1, 1, of_2, of_2, of_4, 1, 1, 1, of_8))

    def _add_up(self, rates, parts):
        """Microseconds that adding up the parts of a tile takes."""
        return np.where(self.slices > 1,
                        rates.exchange_area_us * self.tile_m * self.tile_n / 32768,
                        rates.reduce_us + rates.reduce_round_us * _up(self.rounds, parts) * parts)


def in_16_bits(K, dtype):
    """(the depth of the product of 16-bit types that one of this dtype is estimated as, whether the dtype is `narrow`).

    >>> in_16_bits(4096, "bf16"), in_16_bits(85, "e4m3")
    ((4096, False), (43, True))
    """
    nbytes = TYPES[dtype].bytes
    return -(-K * nbytes // 2), nbytes == 1


def misalignment_of(*sizes):
    """How what begins every so many 16-bit elements is aligned, as rows of a matrix or what tiles load of them: 0 if each
    starts on a line of 128 bytes, else 1, 2 or 3 if their starts are odd multiples of 64, 32 or 16 bytes. The worst of
    several arrays of sizes.

    >>> misalignment_of(np.array([4096, 96, 96, 136]), np.array([128, 128, 144, 64])).tolist()
    [0, 1, 2, 3]
    """
    return np.max([sum(n % whole > 0 for whole in (64, 32, 16)) for n in sizes], axis=0)


def _different(values, have):
    """int64 [configurations]: how many different values each row has where `have` is true."""
    ordered = np.sort(np.where(have, values, -1), axis=1)
    return (ordered[:, 0] >= 0) + ((ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)).sum(1)


def tiles_of_uneven(mean):
    """float64: the mean number of tiles that take up to twice as many tiles' rows as `mean`, each number as often.

    >>> tiles_of_uneven(np.array([0.1, 0.5, 1, 10])).tolist()
    [1.0, 1.0, 1.5, 10.5]
    """
    whole = np.floor(2 * mean)
    return (whole + 1) * (1 - whole / mean / 4)


def _up(a, b):
    return -(-a // b)


def _together(power, *times):
    """The norm of order `power` of times that overlap: at least the longest of them."""
    longest = np.maximum.reduce(np.broadcast_arrays(*times))
    return longest * sum((x / longest) ** power for x in times) ** (1 / power)
