"""All warps of a CTA in one compiled loop, turn by turn, over barriers of the whole CTA, until one needs more."""

import numpy as np

from simlayout.jit import jit
from simlayout.machine.ptx.compiled.encode import BARRIER
from simlayout.machine.ptx.compiled.executor import execute
from simlayout.machine.ptx.doubts import INTERVAL

RUNS, AT_BARRIER, STOPS = range(3)
"""What a warp does: it goes on; it stands at a barrier of the whole CTA; it stands at a step that is not compiled, or where
its lanes part."""


@jit
def execute_all(which, at, end, turn, rounds, left, masks, rows, code, targets, kinds, operands, hows, keeps, elements,
                offsets, places, executed, memory, ranges, log_step, log_lanes, log_addresses, log_used, state, who,
                shared_wrote, shared_read, global_wrote, global_read):
    """Executes warps from steps at[w] on, each for `turn` steps at a time, until one stops, or for so many rounds; returns
    whether it is that, and not that no more accesses can be noted.

    which: int64 [warps], their indices in the CTA: all that have not ended. at, left: int64 [warps], changed: where each is,
    and how many steps it still may execute; masks: uint64 [warps, 32]. rows: uint64 [all, n, 32]; memory: int64 [all, 6];
    who: int64 [all, 7]: of all warps of the CTA. The rest is as of `execute`.
    """
    warps = len(at)
    doing = np.full(warps, RUNS)
    for _ in range(rounds):
        arrived = 0
        for w in range(warps):
            if doing[w] == RUNS:
                if log_used[0] + turn > len(log_step):
                    return False
                if left[w] < turn:
                    return True
                at[w] = execute(at[w], end, turn, masks[w], rows[which[w]], code, targets, kinds, operands, hows, keeps,
                                elements, offsets, places, executed, memory[which[w]], ranges, log_step, log_lanes,
                                log_addresses, log_used, state, who[which[w]], shared_wrote, shared_read, global_wrote,
                                global_read)
                left[w] -= state[0]
                if state[2]:
                    return True
                if state[0] < turn:
                    doing[w] = AT_BARRIER if kinds[at[w]] == BARRIER else STOPS
            arrived += doing[w] == AT_BARRIER
        for w in range(warps):
            if doing[w] == STOPS or doing[w] == AT_BARRIER and arrived == warps and hows[at[w], 0] != hows[at[0], 0]:
                return True
        if arrived == warps:
            for w in range(warps):
                executed[at[w]] += 1
                at[w] += 1
                left[w] -= 1
                who[which[w], INTERVAL] += 1
                doing[w] = RUNS
    return True
