"""What the compiled loop executes at once: all parts of a warp, and all warps of a CTA over barriers of it."""

import numpy as np

from simlayout.jit import jit
from simlayout.machine.ptx.compiled.encode import BARRIER, BRANCH
from simlayout.machine.ptx.compiled.executor import execute
from simlayout.machine.ptx.compiled.rows import LANES
from simlayout.machine.ptx.doubts import INTERVAL

U64 = np.uint64

RUNS, AT_BARRIER, STOPS = range(3)
"""What a warp does: it goes on; it stands at a barrier of the whole CTA; it stands at a step that is not compiled, or where
its lanes part."""


@jit
def execute_all(which, at, end, turn, rounds, left, masks, rows, code, targets, kinds, operands, hows, keeps, elements,
                offsets, copies, places, executed, memory, ranges, log_step, log_lanes, log_addresses, log_used, state, who,
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
                                elements, offsets, copies, places, executed, memory[which[w]], ranges, log_step, log_lanes,
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


@jit
def execute_parts(at, masks, ran, count, begun, budget, longest, end, rows, code, targets, kinds, operands, hows, keeps,
                  elements, offsets, copies, places, executed, memory, ranges, log_step, log_lanes, log_addresses, log_used,
                  state, who, shared_wrote, shared_read, global_wrote, global_read):
    """Executes the parts of a warp as `parts.Parts` does, also where their lanes part and meet, until one needs more, or one
    has stood while the others executed more than `longest`; at most `budget` steps. Returns how many parts there are then;
    state[0] is as of `execute`.

    at: int64 [32], where each part is; masks: uint64 [32, 32]; ran: int64 [32], when each last ran, in steps of the warp, of
    which it has executed `begun`; all are changed; count: how many parts. The rest is as of `execute`.
    """
    done = 0
    while done < budget:
        count = _meet(at, masks, ran, count)
        first, oldest = 0, 0
        for p in range(1, count):
            first = p if places[at[p]] < places[at[first]] else first
            oldest = p if ran[p] < ran[oldest] else oldest
        if begun + done - ran[oldest] > longest:
            break
        limit = end
        for p in range(count):
            if p != first and places[at[p]] < limit:
                limit = places[at[p]]
        to = execute(at[first], limit, budget - done, masks[first], rows, code, targets, kinds, operands, hows, keeps,
                     elements, offsets, copies, places, executed, memory, ranges, log_step, log_lanes, log_addresses,
                     log_used, state, who, shared_wrote, shared_read, global_wrote, global_read)
        steps = state[0]
        done += steps
        at[first], ran[first] = to, begun + done
        if state[2] or done >= budget:
            break
        if steps and count > 1 and places[to] >= limit:
            continue                                     # another part may be here
        if kinds[to] != BRANCH or not _part(first, masks, count, rows, operands[to, 6], U64(hows[to, 6])):
            break
        executed[to] += 1
        done += 1
        at[first], at[count], ran[count] = targets[to], to + 1, begun + done
        count += 1
    state[0] = done
    return _meet(at, masks, ran, count)


@jit
def _meet(at, masks, ran, count):
    """Parts that are at the same place become one; returns how many there are then."""
    p = 1
    while p < count:
        q = 0
        while q < p and at[q] != at[p]:
            q += 1
        if q == p:
            p += 1
            continue
        count -= 1
        for i in range(LANES):
            masks[q, i] |= masks[p, i]
            masks[p, i] = masks[count, i]
        at[p], ran[p] = at[count], ran[count]
    return count


@jit
def _part(first, masks, count, rows, guard, flip):
    """Lanes of a part for which a guard does not hold become the last part; False, and nothing changes, unless some lanes
    are on either side."""
    if guard < 0:
        return False
    goes, stays = U64(0), U64(0)
    for i in range(LANES):
        holds = U64(0) - (rows[guard, i] ^ flip)
        goes |= masks[first, i] & holds
        stays |= masks[first, i] & ~holds
    if goes == U64(0) or stays == U64(0):
        return False
    for i in range(LANES):
        holds = U64(0) - (rows[guard, i] ^ flip)
        masks[count, i] = masks[first, i] & ~holds
        masks[first, i] &= holds
    return True
