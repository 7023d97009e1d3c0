"""What the compiled loop executes at once: all parts of a warp, and all warps of a CTA, over barriers of it."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.encode import (
    BARRIER,
    BRANCH,
    CALL,
    CODE,
    END,
    EXIT,
    FIELDS,
    FLIP,
    GUARD,
    KIND,
    PLACE,
    RETURN,
    TABLE,
)
from simlayout.machine.ptx.compiled.pointers import address, behind, call, copy, i64s, u64s
from simlayout.machine.ptx.compiled.registers import registers_of
from simlayout.machine.ptx.memory.held import (
    AT,
    BEGUN,
    CTA,
    DOING,
    DONE,
    ENDED,
    ENOUGH,
    EXECUTE,
    EXECUTED,
    FULL,
    INTERVAL,
    LEFT,
    LOG_ROOM,
    LOG_USED,
    MASKS,
    MAY_TELL,
    PARTS,
    RAN,
    STATE,
    STOPS,
    WARPS,
    WHO,
    WHO_EACH,
)
from simlayout.machine.ptx.memory.marks import MOST_INTERVALS

U64 = np.uint64

_RUNS, _AT_BARRIER, _STOPS = range(3)
"""What a warp does: it goes on, or has ended; it stands at a barrier of the whole CTA; it stands at a step that needs more
than this."""


@within
def execute(w, at, limit, patience, mask, held, steps, common):
    """As `executor.execute`, by its address: see `enter`."""
    return call(common[EXECUTE], (w, at, limit, patience, address(mask), address(held), address(steps), address(common)))


@within
def execute_parts(w, budget, longest, held, steps, common):
    """Executes the parts of warp `w` as `parts.Parts` does, also where lanes part, meet and end, until one needs more, or
    one has stood while the others executed more than `longest`, or all have ended; at most `budget` steps. The parts and the
    steps of the warp change; STATE is as of `execute`. held, steps, common: as of `enter.enter`."""
    table, executed, state = i64s(steps[TABLE]), i64s(common[EXECUTED]), i64s(common[STATE])
    at, ran = behind(i64s(held[AT]), LANES * w), behind(i64s(held[RAN]), LANES * w)
    masks, rows = behind(u64s(held[MASKS]), LANES * LANES * w), registers_of(w, held, steps)
    parts, begun, left = i64s(held[PARTS]), i64s(held[BEGUN]), i64s(held[LEFT])
    done, chosen, count = 0, -1, parts[w]
    while done < budget and count:
        first = chosen
        if chosen < 0:
            count = _meet(at, masks, ran, count)
            first, oldest = 0, 0
            for p in range(1, count):
                first = p if _place(table, at[p]) < _place(table, at[first]) else first
                oldest = p if ran[p] < ran[oldest] else oldest
            if begun[w] + done - ran[oldest] > longest:
                break
        limit = steps[END]
        for p in range(count):
            if p != first and _place(table, at[p]) < limit:
                limit = _place(table, at[p])
        jumps = chosen >= 0                              # that is all it does now
        most = 1 if jumps else budget - done
        to = execute(w, at[first], limit, most, behind(masks, LANES * first), held, steps, common)
        number, chosen = state[DONE], -1
        done += number
        at[first], ran[first] = to, begun[w] + done
        if state[MAY_TELL] or done >= budget:
            break
        if number and (jumps or count > 1 and _place(table, to) >= limit):
            continue                                     # another part may be here
        step = behind(table, FIELDS * to)
        kind = step[KIND]
        parts_ways = kind == BRANCH or kind == CALL or kind == RETURN or kind == EXIT
        if parts_ways and step[GUARD] >= 0 and _part(behind(masks, LANES * first), behind(masks, LANES * count),
                                                behind(rows, LANES * step[GUARD]), U64(step[FLIP])):
            at[count], ran[count] = to + 1, begun[w] + done
            count, chosen = count + 1, first             # those that go do so at once
        elif kind == EXIT:
            executed[to] += 1
            done += 1
            count -= 1
            _move(first, count, at, masks, ran)
        else:
            break
    parts[w] = _meet(at, masks, ran, count)
    begun[w] += done
    left[w] -= done
    state[DONE] = done


@within
def _place(table, at):
    return table[FIELDS * at + PLACE]


@within
def _move(to, of, at, masks, ran):
    """A part gets another number."""
    if to != of:
        at[to], ran[to] = at[of], ran[of]
        copy(behind(masks, LANES * to), behind(masks, LANES * of), LANES)


@within
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
            masks[LANES * q + i] |= masks[LANES * p + i]
        _move(p, count, at, masks, ran)
    return count


@within
def _part(mask, other, guard, flip):
    """Lanes of a part for which a guard does not hold become another one; False, and nothing changes, unless some lanes are
    on either side."""
    goes, stays = U64(0), U64(0)
    for i in range(LANES):
        holds = U64(0) - (guard[i] ^ flip)
        goes |= mask[i] & holds
        stays |= mask[i] & ~holds
    if goes == U64(0) or stays == U64(0):
        return False
    for i in range(LANES):
        holds = U64(0) - (guard[i] ^ flip)
        other[i] = mask[i] & ~holds
        mask[i] &= holds
    return True


@within
def execute_cta(turn, longest, held, steps, common):
    """Executes all warps of a CTA, each for `turn` steps at a time, until one of them needs more, or all have ended; returns
    which. longest: as of `execute_parts`; held, steps, common: as of `enter.enter`."""
    warps, table, state, log_used = held[WARPS], i64s(steps[TABLE]), i64s(common[STATE]), i64s(common[LOG_USED])
    parts, at, left, doing = i64s(held[PARTS]), i64s(held[AT]), i64s(held[LEFT]), i64s(held[DOING])
    for w in range(warps):
        doing[w] = _RUNS
    while True:
        arrived, over, stops = 0, 0, False
        for w in range(warps):
            most = min(turn, left[w])
            if doing[w] == _RUNS and parts[w]:
                if most <= 0:
                    return ENOUGH
                execute_parts(w, most, longest, held, steps, common)
                if state[MAY_TELL]:
                    return STOPS
                if log_used[0] == common[LOG_ROOM]:
                    return FULL
                if parts[w] and state[DONE] < most:
                    meets = parts[w] == 1 and table[FIELDS * at[LANES * w] + KIND] == BARRIER
                    doing[w] = _AT_BARRIER if meets else _STOPS
            arrived += doing[w] == _AT_BARRIER
            stops |= doing[w] == _STOPS
            over += parts[w] == 0
        if over == warps:
            return ENDED
        if stops:
            return STOPS
        if arrived + over == warps:
            if not _opens(over, held, steps, common):
                return STOPS
            for w in range(warps):
                doing[w] = _RUNS


@within
def _opens(over, held, steps, common):
    """Whether the barrier opens at which all warps stand that have not ended: then they have passed it. over: how many have
    ended."""
    warps, table, at, parts = held[WARPS], i64s(steps[TABLE]), i64s(held[AT]), i64s(held[PARTS])
    executed, begun, left, barrier = i64s(common[EXECUTED]), i64s(held[BEGUN]), i64s(held[LEFT]), -1
    for w in range(warps):
        who = behind(i64s(held[WHO]), WHO_EACH * w)
        if parts[w]:
            number = table[FIELDS * at[LANES * w] + CODE]
            if barrier >= 0 and number != barrier:
                return False
            barrier = number
            if who[CTA] and (over or who[INTERVAL] + 1 >= MOST_INTERVALS):
                i64s(common[STATE])[MAY_TELL] = 1
                return False
    for w in range(warps):
        if parts[w]:
            executed[at[LANES * w]] += 1
            at[LANES * w] += 1
            begun[w] += 1
            left[w] -= 1
            i64s(held[WHO])[WHO_EACH * w + INTERVAL] += 1
    return True
