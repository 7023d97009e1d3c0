"""What the compiled loop executes at once: all parts of a warp, and all warps of a CTA, over barriers of it."""

import numpy as np

from simlayout.jit import jit
from simlayout.machine.ptx.compiled.encode import BARRIER, BRANCH, CALL, EXIT, RETURN
from simlayout.machine.ptx.compiled.executor import execute
from simlayout.machine.ptx.compiled.rows import LANES
from simlayout.machine.ptx.doubts import CTA, INTERVAL, MOST_INTERVALS

U64 = np.uint64

ENDED, STOPS, FULL, ENOUGH = range(4)
"""What a CTA does: all its threads have ended; a warp stands at a step that is not compiled, or needs to be looked at; no
more accesses can be noted; a warp has executed all that it may."""

_RUNS, _AT_BARRIER, _STOPS = range(3)
"""What a warp does: it goes on, or has ended; it stands at a barrier of the whole CTA; it stands at a step that needs more
than this."""


@jit
def execute_parts(w, budget, longest, held, steps, common):
    """Executes the parts of warp `w` as `parts.Parts` does, also where lanes part, meet and end, until one needs more, or
    one has stood while the others executed more than `longest`, or all have ended; at most `budget` steps. held: a Held, in
    which the parts and the steps of the warp change; state[0] is as of `execute`."""
    kinds, places, executed, operands = steps.kinds, steps.places, common.executed, steps.operands
    at, masks, ran, rows, begun = held.at[w], held.masks[w], held.ran[w], held.rows[w], held.begun[w]
    memory, who, state = held.places[w], held.who[w], common.state
    done, chosen, count = 0, -1, held.parts[w]
    while done < budget and count:
        first = chosen
        if chosen < 0:
            count = _meet(at, masks, ran, count)
            first, oldest = 0, 0
            for p in range(1, count):
                first = p if places[at[p]] < places[at[first]] else first
                oldest = p if ran[p] < ran[oldest] else oldest
            if begun + done - ran[oldest] > longest:
                break
        limit = places[len(places) - 1]
        for p in range(count):
            if p != first and places[at[p]] < limit:
                limit = places[at[p]]
        to = execute(at[first], limit, budget - done if chosen < 0 else 1, masks[first], rows, memory, who, steps, common)
        number, chosen = state[0], -1
        done += number
        at[first], ran[first] = to, begun + done
        if state[2] or done >= budget:
            break
        if number and count > 1 and places[to] >= limit:
            continue                                     # another part may be here
        jumps = kinds[to] == BRANCH or kinds[to] == CALL or kinds[to] == RETURN or kinds[to] == EXIT
        if jumps and _part(first, masks, count, rows, operands[to, 6], U64(steps.hows[to, 6])):
            at[count], ran[count] = to + 1, begun + done
            count, chosen = count + 1, first             # those that go do so at once
        elif kinds[to] == EXIT:
            executed[to] += 1
            done += 1
            count -= 1
            at[first], ran[first] = at[count], ran[count]
            for i in range(LANES):
                masks[first, i] = masks[count, i]
        else:
            break
    held.parts[w] = _meet(at, masks, ran, count)
    held.begun[w] += done
    held.left[w] -= done
    state[0] = done


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


@jit
def execute_cta(turn, longest, held, steps, common):
    """Executes all warps of a CTA, each for `turn` steps at a time, until one of them needs more, or all have ended; returns
    which. held: a Held, which changes; longest: as of `execute_parts`."""
    warps, kinds, state = len(held.parts), steps.kinds, common.state
    doing = np.full(warps, _RUNS)
    while True:
        arrived, over, stops = 0, 0, False
        for w in range(warps):
            most = min(turn, held.left[w])
            if doing[w] == _RUNS and held.parts[w]:
                if most <= 0:
                    return ENOUGH
                execute_parts(w, most, longest, held, steps, common)
                if state[2]:
                    return STOPS
                if common.log_used[0] == len(common.log_step):
                    return FULL
                if held.parts[w] and state[0] < most:
                    meets = held.parts[w] == 1 and kinds[held.at[w, 0]] == BARRIER
                    doing[w] = _AT_BARRIER if meets else _STOPS
            arrived += doing[w] == _AT_BARRIER
            stops |= doing[w] == _STOPS
            over += held.parts[w] == 0
        if over == warps:
            return ENDED
        if stops:
            return STOPS
        if arrived + over == warps:
            if not _opens(over, held, steps, common):
                return STOPS
            doing[:] = _RUNS


@jit
def _opens(over, held, steps, common):
    """Whether the barrier opens at which all warps stand that have not ended: then they have passed it. over: how many have
    ended."""
    at, parts, who, barrier = held.at, held.parts, held.who, -1
    for w in range(len(parts)):
        if parts[w]:
            if barrier >= 0 and steps.hows[at[w, 0], 0] != barrier:
                return False
            barrier = steps.hows[at[w, 0], 0]
            if who[w, CTA] and (over or who[w, INTERVAL] + 1 >= MOST_INTERVALS):
                common.state[2] = 1
                return False
    for w in range(len(parts)):
        if parts[w]:
            common.executed[at[w, 0]] += 1
            at[w, 0] += 1
            held.begun[w] += 1
            held.left[w] -= 1
            who[w, INTERVAL] += 1
    return True
