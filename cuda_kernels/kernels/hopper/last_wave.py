"""How many units of work a GPU does at a time, and how the tiles that are left for the last wave are cut along K; of a
configuration, or of many at once (`cuda_kernels.matmul.choose.model`)."""

import numpy as np

CLUSTERS, CLUSTERS_SMS = np.array([0, 132, 66, 39, 30, 22, 17, 15, 15]), 132
"""Clusters of 1, 2, ... 8 CTAs, one to an SM, that are on the GPU at a time, and its SMs: a cluster lies in one GPC, and
GPCs differ in size (cuOccupancyMaxActiveClusters on one NVIDIA H200, driver 580.159, 2026-11-21;
tests/gpu/test_gpu_matmul.py asks again). Where fewer fit, the last ones start late; where they would wait for one another
(split), `matmul` asks the driver and leaves tiles whole."""

REDUCE_STEPS = 8
"""What it costs to add up the parts of a cut tile, in steps of a 128x256 tile along K; smaller tiles have faster steps."""


def slots(config, sms):
    """Units of work that a GPU with `sms` SMs does at a time (`Hopper.slots`)."""
    return config.resident * config.slices * np.maximum(1, sms * CLUSTERS[config.sharing * config.slices] // CLUSTERS_SMS)


def cut_tiles(config, tiles, slots, steps):
    """(whole tiles, parts of each of the others), as of `Hopper.cut`; of many configurations with arrays for all but the
    steps. tiles: of C; slots: units of work at a time; steps: of a tile along K."""
    rest = tiles % slots
    sliced = (config.slices > 1) & (rest > 0) & (rest * config.slices <= slots) & (config.slices <= steps)
    most = np.minimum(steps, (2**31 - 1) // steps)       # `unit_of` multiplies parts with steps
    longest = -(-steps // np.minimum(slots // np.maximum(rest, 1), most))
    reduce = REDUCE_STEPS * 128 * 256 // (config.tile_m * config.tile_n)
    split = config.split & (rest > 0) & (longest + reduce < steps)
    parts = np.where(sliced, config.slices, np.where(split, -(-steps // longest), 1))
    return np.where(parts > 1, tiles - rest, tiles), parts
