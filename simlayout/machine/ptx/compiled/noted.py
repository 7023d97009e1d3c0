"""What the compiled loop has noted of global memory, counted as `engine.sectors` counts it."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import jit
from simlayout.machine.engine.sectors import SECTOR
from simlayout.machine.ptx.memory.space import SHARED, WINDOW


@jit
def count_sectors(log_step, log_lanes, log_addresses, n, nbytes, taken, counts):
    """Adds to int64 [steps, 5], of each step: its warp instructions, the sectors that they touch, the least number of these,
    and the two of `engine.sectors.near_of`.

    log_step, log_lanes, log_addresses: see `loop`, of which the first n are counted; nbytes: int64 [steps], of each lane, 0
    of a step that is not counted; taken: int64 [steps], as of `engine.sectors.taken_of`.
    """
    held = np.zeros(LANES, np.int64)
    for k in range(n):
        step, used = log_step[k], 0
        if not nbytes[step]:
            continue
        for i in range(LANES):
            if log_lanes[k] >> np.uint32(i) & np.uint32(1):
                address, to = log_addresses[k, i], used
                while to > 0 and held[to - 1] > address:
                    held[to] = held[to - 1]
                    to -= 1
                held[to] = address
                used += 1
        if 0 <= held[0] - SHARED < WINDOW:               # a generic address
            continue
        words, sectors = 1, 1
        for i in range(1, used):
            gap = held[i] - held[i - 1]
            words += gap != 0
            if taken[step] < gap < SECTOR:
                counts[step, 3] += 1
                counts[step, 4] += gap
            sectors += held[i] // SECTOR != held[i - 1] // SECTOR
        counts[step, 0] += 1
        counts[step, 1] += sectors
        counts[step, 2] += (words * nbytes[step] + SECTOR - 1) // SECTOR


@jit
def count_touched(addresses, lanes, pieces):
    """(sectors that warp instructions touch with others of their place, how many their bytes would fill), summed up.

    addresses: int64 [n, 32]; lanes: uint32 [n], a bit for each that takes part; pieces: int64 [m, 2], as of
    `engine.sectors.touched_of`.
    """
    starts, ends = np.zeros(LANES * len(pieces), np.int64), np.zeros(LANES * len(pieces), np.int64)
    touched = filled = 0
    for k in range(len(addresses)):
        used = 0
        for p in range(len(pieces)):
            for i in range(LANES):
                if lanes[k] >> np.uint32(i) & np.uint32(1):
                    start, to = addresses[k, i] + pieces[p, 0], used
                    while to > 0 and starts[to - 1] > start:
                        starts[to], ends[to] = starts[to - 1], ends[to - 1]
                        to -= 1
                    starts[to], ends[to] = start, start + pieces[p, 1]
                    used += 1
        reached, bytes = starts[0], 0
        next_sector = starts[0] // SECTOR
        for i in range(used):
            bytes += max(ends[i] - max(starts[i], reached), 0)
            last = (ends[i] - 1) // SECTOR
            touched += max(last - max(starts[i] // SECTOR, next_sector) + 1, 0)
            reached, next_sector = max(reached, ends[i]), max(next_sector, last + 1)
        filled += (bytes + SECTOR - 1) // SECTOR
    return touched, filled
