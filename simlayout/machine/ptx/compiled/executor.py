"""The loop that executes steps of one part of a warp until it comes to one that is not compiled, or to where others are.

What a number stands for is said in `encode` and `held`. A row of registers is a pointer to 32 uint64.
"""

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.access import load_matrices, load_or_store
from simlayout.machine.ptx.compiled.calls import enter, leave, pass_on
from simlayout.machine.ptx.compiled.encode import (
    ALTERED,
    BARRIER,
    BRANCH,
    CALL,
    CODE,
    COMPUTE,
    COPIES,
    EXIT,
    FIELDS,
    FIRST,
    FLIP,
    GUARD,
    HOW_A,
    HOW_B,
    HOW_C,
    HOW_D,
    JOIN,
    KEEP,
    KIND,
    LOAD,
    MATRICES,
    MOVE,
    OFFSET,
    PLACE,
    PRODUCT,
    REGISTERS,
    RESULT,
    RETURN,
    SECOND,
    SIZE,
    SPECIAL,
    SPLIT,
    STORE,
    TABLE,
    TAKE,
    TARGET,
    WATCHES,
    A,
    B,
    C,
    D,
)
from simlayout.machine.ptx.compiled.exchanges import SYNC, all_named, exchange
from simlayout.machine.ptx.compiled.pointers import behind, call, i64s, u64s
from simlayout.machine.ptx.compiled.registers import ONES, U64, ZERO, Warp, every, read, registers_at, row_of, some, write
from simlayout.machine.ptx.compiled.rows import compute
from simlayout.machine.ptx.memory.held import (
    CTA,
    DONE,
    EXECUTED,
    GUARDED,
    LOG_USED,
    PLACES,
    PLACES_EACH,
    STATE,
    SYNCED,
    WHO,
    WHO_EACH,
)


@within
def _goes_to(step, at, part, lanes, whole, warp):
    """The step behind a branch, a call, a return or an end, number `at`; -1 where the loop stops in front of it: at an end,
    at a call of a function that they are in, and where some lanes of a part go and others stay."""
    guarded = step[GUARD] >= 0
    if guarded and not some(lanes):
        return at + 1
    if guarded and not whole:
        for i in range(LANES):
            if part[i] & ~lanes[i]:
                return -1
    if step[KIND] == BRANCH:
        return step[TARGET]
    if step[KIND] == RETURN:
        return leave(warp.rows, step, lanes)
    if step[KIND] == CALL and enter(warp.rows, step, lanes, at):
        pass_on(warp.rows, warp.copies, step[A], step[B], lanes, warp.memory, warp.who)
        return step[TARGET]
    return -1


@within
def _exchanges(step, lanes, warp):
    """What all lanes of a warp do together."""
    result, room = warp.result, warp.room
    exchange(step[CODE], step[FLIP], row_of(warp, step[A]), row_of(warp, step[B]), row_of(warp, step[C]), result, room)
    if step[CODE] != SYNC:
        write(row_of(warp, step[SECOND]), room, ONES, True, lanes)
        write(row_of(warp, step[RESULT]), result, ONES, True, lanes)
    elif warp.who[CTA]:
        warp.who[SYNCED] += 1


@within
def _computes(step, lanes, whole, warp):
    """One result, of rows alone."""
    kind, a, b = step[KIND], row_of(warp, step[A]), row_of(warp, step[B])
    room, result = warp.room, warp.result
    if kind == COMPUTE:
        c, d = row_of(warp, step[C]), row_of(warp, step[D])
        if step[ALTERED]:
            a, b = read(a, step[HOW_A], room), read(b, step[HOW_B], behind(room, LANES))
            c, d = read(c, step[HOW_C], behind(room, 2 * LANES)), read(d, step[HOW_D], behind(room, 3 * LANES))
        compute(step[CODE], result, a, b, c, d)
    elif kind == MOVE:
        result = read(a, step[HOW_A], room)
    else:                                                # JOIN
        shift = U64(step[SIZE])
        for i in range(LANES):
            result[i] = a[i] | (b[i] << shift)
    write(row_of(warp, step[RESULT]), result, U64(step[KEEP]), whole, lanes)


@within
def _splits(step, lanes, whole, warp):
    """Two results of one register."""
    a, shift = row_of(warp, step[A]), U64(step[SIZE])
    for i in range(LANES):
        warp.room[i] = a[i]
        warp.result[i] = a[i] >> shift
    if step[RESULT] >= 0:
        write(row_of(warp, step[RESULT]), warp.room, U64(step[KEEP]), whole, lanes)
    if step[SECOND] >= 0:
        write(row_of(warp, step[SECOND]), warp.result, U64(step[KEEP]), whole, lanes)


def execute(w, at, limit, patience, mask, held, steps, common):
    """Executes from step `at` on; returns where it stopped, and says more of it in STATE (see `held`).

    w: the number of the warp; limit: a place in the order; patience: most steps; mask: uint64 [32], all ones where a lane
    takes part. held, steps, common: as of `enter.enter`. The last four are addresses.
    """
    mask, held, steps, common = u64s(mask), i64s(held), i64s(steps), i64s(common)
    table, executed, state = i64s(steps[TABLE]), i64s(common[EXECUTED]), i64s(common[STATE])
    rows_at = registers_at(w, held, steps)
    rows = u64s(rows_at)
    room = behind(rows, LANES * steps[REGISTERS])
    part, guarded = behind(room, 4 * LANES), behind(room, 5 * LANES)
    memory, who = behind(i64s(held[PLACES]), PLACES_EACH * w), behind(i64s(held[WHO]), WHO_EACH * w)
    warp = Warp(rows, i64s(steps[COPIES]), memory, who, common, state, i64s(common[LOG_USED]), room,
                 behind(room, 6 * LANES), behind(room, 8 * LANES), behind(room, 7 * LANES), guarded)
    done, step = 0, behind(table, FIELDS * at)
    for i in range(LANES):
        part[i] = mask[i]
    full = every(part)
    while done < patience:
        kind = step[KIND]
        if kind == SPECIAL or kind == BARRIER or step[WATCHES] & who[GUARDED]:
            break
        lanes, whole, to = part, full, at + 1
        if step[GUARD] >= 0:
            guard, flip = row_of(warp, step[GUARD]), U64(step[FLIP])
            for i in range(LANES):
                guarded[i] = part[i] & (ZERO - (guard[i] ^ flip))
            lanes, whole = guarded, full and every(guarded)
        if kind == COMPUTE or kind == MOVE or kind == JOIN:
            _computes(step, lanes, whole, warp)
        elif kind == LOAD or kind == STORE:
            if not load_or_store(step, at, lanes, whole, warp):
                break
        elif kind == BRANCH or kind == CALL or kind == RETURN or kind == EXIT:
            to = _goes_to(step, at, part, lanes, whole, warp)
            if to < 0:
                break
        elif kind == SPLIT:
            _splits(step, lanes, whole, warp)
        elif kind == TAKE:
            pass_on(rows, warp.copies, step[A], step[B], lanes, memory, who)
        elif not whole:                                  # what all lanes do together
            break
        elif kind == PRODUCT:
            call(step[OFFSET], (rows_at, step[FIRST]))
        elif kind == MATRICES:
            if not load_matrices(step, at, lanes, warp):
                break
        elif not all_named(row_of(warp, step[D])):
            break
        else:
            _exchanges(step, lanes, warp)
        executed[at] += 1
        done += 1
        at, step = to, behind(table, FIELDS * to)
        if step[PLACE] >= limit:
            break
    state[DONE] = done
    return at
