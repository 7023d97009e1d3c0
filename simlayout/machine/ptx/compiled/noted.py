"""What the compiled loop has noted of global memory, counted as `engine.sectors` counts it."""

import numpy as np

from simlayout.jit import jit
from simlayout.machine.engine.sectors import SECTOR
from simlayout.machine.ptx.compiled.rows import LANES


@jit
def count_sectors(log_step, log_lanes, log_addresses, n, nbytes, counts):
    """Adds to int64 [steps, 3], of each step: its warp instructions, the sectors that they touch, the least number of these.

    log_step, log_lanes, log_addresses: see `loop`, of which the first n are counted; nbytes: int64 [steps], of each lane, 0
    of a step that is not counted.
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
        words, sectors = 1, 1
        for i in range(1, used):
            words += held[i] != held[i - 1]
            sectors += held[i] // SECTOR != held[i - 1] // SECTOR
        counts[step, 0] += 1
        counts[step, 1] += sectors
        counts[step, 2] += (words * nbytes[step] + SECTOR - 1) // SECTOR
