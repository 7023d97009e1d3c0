"""The loop that executes steps of one part of a warp until it comes to one that is not compiled, or to where others are.

What a number stands for is said in `encode` and `held`. A row of registers is a pointer to 32 uint64.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.access import fine, get, get_matrix, locate, matrices_are_fine, note, put
from simlayout.machine.ptx.compiled.calls import enter, leave, pass_on
from simlayout.machine.ptx.compiled.doubts import DOUBTFUL, SAME, SURE, UNWRITTEN
from simlayout.machine.ptx.compiled.encode import (
    ALTERED,
    AS_IT_IS,
    BARRIER,
    BRANCH,
    CALL,
    CODE,
    COMPUTE,
    COPIES,
    COUNT,
    CUT_TO_8,
    CUT_TO_16,
    CUT_TO_32,
    ELEMENTS,
    EXCHANGE,
    EXIT,
    FIELDS,
    FIRST,
    FLIP,
    FROM_S8,
    FROM_S16,
    FROM_S32,
    GUARD,
    HOW,
    HOW_A,
    HOW_B,
    HOW_C,
    HOW_D,
    JOIN,
    KEEP,
    KIND,
    LAST,
    LOAD,
    LOCAL,
    MATRICES,
    MOVE,
    OFFSET,
    PLACE,
    PRODUCT,
    REGISTERS,
    RESULT,
    RETURN,
    SECOND,
    SHARED,
    SIZE,
    SPACE,
    SPECIAL,
    STORE,
    TABLE,
    TAKE,
    TARGET,
    A,
    B,
    C,
    D,
)
from simlayout.machine.ptx.compiled.exchanges import SYNC, all_named, exchange
from simlayout.machine.ptx.compiled.held import (
    CTA,
    DONE,
    DOUBTED,
    EQUAL,
    EXECUTED,
    LOG_ROOM,
    LOG_USED,
    MAY_TELL,
    PLACES,
    PLACES_EACH,
    ROWS,
    STATE,
    STORED,
    SYNCED,
    UNWRITTEN_COUNT,
    UNWRITTEN_ORDER,
    UNWRITTEN_TIMES,
    WHO,
    WHO_EACH,
)
from simlayout.machine.ptx.compiled.pointers import behind, call, i64s, u64s
from simlayout.machine.ptx.compiled.rows import compute
from simlayout.machine.ptx.lowering.program import ROOM

U64, I64 = np.uint64, np.int64
_ZERO, _ONES = U64(0), U64(0xFFFFFFFFFFFFFFFF)


@within
def _read(source, how, room):
    """The row that has what a source is read as (see `encode`): the row itself, or row `room`, which then has that."""
    if how == AS_IT_IS:
        return source
    if how == FROM_S32:
        for i in range(LANES):
            room[i] = U64(I64(np.int32(source[i])))
    elif how == CUT_TO_32:
        for i in range(LANES):
            room[i] = source[i] & U64(0xFFFFFFFF)
    elif how == FROM_S8:
        for i in range(LANES):
            room[i] = U64(I64(np.int8(source[i])))
    elif how == FROM_S16:
        for i in range(LANES):
            room[i] = U64(I64(np.int16(source[i])))
    elif how == CUT_TO_8:
        for i in range(LANES):
            room[i] = source[i] & U64(0xFF)
    elif how == CUT_TO_16:
        for i in range(LANES):
            room[i] = source[i] & U64(0xFFFF)
    else:                                                # NEGATED
        for i in range(LANES):
            room[i] = source[i] ^ U64(1)
    return room


@within
def _write(row, value, keep, full, lanes):
    """Writes what `keep` has of row `value` to a row, in the lanes whose entry in row `lanes` is all ones."""
    if full:
        for i in range(LANES):
            row[i] = value[i] & keep
    else:
        for i in range(LANES):
            row[i] = (value[i] & keep & lanes[i]) | (row[i] & ~lanes[i])


@within
def some(lanes):
    """Whether a lane takes part."""
    total = _ZERO
    for i in range(LANES):
        total |= lanes[i]
    return total != _ZERO


@within
def every(lanes):
    """Whether all do."""
    total = _ONES
    for i in range(LANES):
        total &= lanes[i]
    return total == _ONES


@within
def registers_of(w, held, steps):
    """The registers of warp `w`."""
    return u64s(_registers_at(w, held, steps))


@within
def _registers_at(w, held, steps):
    return held[ROWS] + 8 * w * LANES * (steps[REGISTERS] + ROOM)


@within
def _goes_on(how, at, who, common):
    """Whether step `at` goes on, of whose access there is something to tell; notes that."""
    if how == SAME:
        i64s(common[EQUAL])[at] = 1
        return True
    if how == DOUBTFUL and common[DOUBTED]:
        doubted = i64s(common[DOUBTED])
        doubted[at] = doubted[at] if doubted[at] else who[CTA]
        return True
    if how == UNWRITTEN and common[UNWRITTEN_TIMES]:     # as `Unwritten.add`
        order, count = i64s(common[UNWRITTEN_ORDER]), i64s(common[UNWRITTEN_COUNT])
        i64s(common[UNWRITTEN_TIMES])[at] += 1
        if not order[at]:
            count[0] += 1
            order[at] = count[0]
        return True
    return False


def execute(w, at, limit, patience, mask, held, steps, common):
    """Executes from step `at` on; returns where it stopped, and says more of it in STATE (see `held`).

    w: the number of the warp; limit: a place in the order; patience: most steps; mask: uint64 [32], all ones where a lane
    takes part. held, steps, common: as of `enter.enter`. The last four are addresses.
    """
    mask, held, steps, common = u64s(mask), i64s(held), i64s(steps), i64s(common)
    table, copies, executed = i64s(steps[TABLE]), i64s(steps[COPIES]), i64s(common[EXECUTED])
    state, log_used = i64s(common[STATE]), i64s(common[LOG_USED])
    memory, who = behind(i64s(held[PLACES]), PLACES_EACH * w), behind(i64s(held[WHO]), WHO_EACH * w)
    rows_at = _registers_at(w, held, steps)
    rows = u64s(rows_at)
    room = behind(rows, LANES * steps[REGISTERS])
    part, guarded, found = behind(room, 4 * LANES), behind(room, 5 * LANES), behind(room, 6 * LANES)
    result, cells = behind(room, 7 * LANES), behind(room, 8 * LANES)
    done, step = 0, behind(table, FIELDS * at)
    for i in range(LANES):
        part[i] = mask[i]
    full = every(part)
    while done < patience:
        kind = step[KIND]
        if kind == SPECIAL or kind == BARRIER:
            break
        if kind == EXCHANGE and not (full and all_named(behind(rows, LANES * step[D]))):
            break
        lanes, whole = part, full
        if step[GUARD] >= 0:
            guard, flip = behind(rows, LANES * step[GUARD]), U64(step[FLIP])
            for i in range(LANES):
                guarded[i] = part[i] & (_ZERO - (guard[i] ^ flip))
            lanes, whole = guarded, full and every(guarded)
        if kind == BRANCH or kind == CALL or kind == RETURN or kind == EXIT:
            goes = step[GUARD] < 0 or some(lanes)
            if goes and step[GUARD] >= 0 and not whole:
                stays = _ZERO
                for i in range(LANES):
                    stays |= part[i] & ~guarded[i]
                if stays != _ZERO:
                    break
            to = at + 1
            if goes and kind == BRANCH:
                to = step[TARGET]
            elif goes and kind == RETURN:
                to = leave(rows, step, lanes)
            elif goes and kind == CALL and enter(rows, step, lanes, at):
                pass_on(rows, copies, step[A], step[B], lanes, memory, who)
                to = step[TARGET]
            elif goes:
                to = -1                                  # an end, or a call of a function that they are in
            if to < 0:
                break
            executed[at] += 1
            done += 1
            at, step = to, behind(table, FIELDS * to)
            if step[PLACE] >= limit:
                break
            continue
        a, to_row = behind(rows, LANES * step[A]), behind(rows, LANES * step[RESULT])
        if kind == COMPUTE:
            b, c, d = behind(rows, LANES * step[B]), behind(rows, LANES * step[C]), behind(rows, LANES * step[D])
            if step[ALTERED]:
                a, b = _read(a, step[HOW_A], room), _read(b, step[HOW_B], behind(room, LANES))
                c, d = _read(c, step[HOW_C], behind(room, 2 * LANES)), _read(d, step[HOW_D], behind(room, 3 * LANES))
            compute(step[CODE], result, a, b, c, d)
            _write(to_row, result, U64(step[KEEP]), whole, lanes)
        elif kind == MOVE:
            _write(to_row, _read(a, step[HOW_A], room), U64(step[KEEP]), whole, lanes)
        elif kind == LOAD or kind == STORE:
            space, size, offset, store = step[SPACE], step[SIZE], step[OFFSET], kind == STORE
            if whole or some(lanes):
                if space <= SHARED and log_used[0] == common[LOG_ROOM]:
                    break
                total = size * step[COUNT]
                if not locate(a, offset, space, total, store, step[FIRST], step[LAST], lanes, memory, common, found, cells):
                    break
                how = SURE
                if who[CTA]:
                    how = fine(step, rows, lanes, memory, found, cells, who, common)
                if how != SURE and not _goes_on(how, at, who, common):
                    state[MAY_TELL] = 1
                    break
                if space <= SHARED:
                    note(a, offset, space, lanes, at, common)
                if store and space != LOCAL:             # nobody waits for what a lane keeps for itself
                    state[STORED] += 1
                for e in range(step[COUNT]):
                    element = behind(rows, LANES * step[ELEMENTS + e])
                    if store:
                        put(element, found, e * size, size, lanes)
                    elif step[ELEMENTS + e] >= 0:
                        get(room, found, e * size, size, lanes)
                        _write(element, _read(room, step[HOW], behind(room, LANES)), U64(step[KEEP]), whole, lanes)
        elif kind == PRODUCT:
            if not whole:
                break
            call(step[OFFSET], (rows_at, step[FIRST]))
        elif kind == MATRICES:
            if not whole or log_used[0] == common[LOG_ROOM]:
                break
            for i in range(LANES):
                guarded[i] = _ONES if i < 8 * step[COUNT] else _ZERO
            first, last = step[FIRST], step[LAST]
            if not locate(a, step[OFFSET], SHARED, 16, False, first, last, guarded, memory, common, found, cells):
                break
            if who[CTA]:
                how = matrices_are_fine(step[COUNT], step[CODE], cells, room, part, who, common)
                if how != SURE and not _goes_on(how, at, who, common):
                    state[MAY_TELL] = 1
                    break
            note(a, step[OFFSET], SHARED, part, at, common)
            for m in range(step[COUNT]):
                if step[ELEMENTS + m] >= 0:
                    get_matrix(behind(rows, LANES * step[ELEMENTS + m]), found, m, step[CODE])
        elif kind == EXCHANGE:
            exchange(step[CODE], step[FLIP], a, behind(rows, LANES * step[B]), behind(rows, LANES * step[C]), result, room)
            if step[CODE] != SYNC:
                _write(behind(rows, LANES * step[SECOND]), room, _ONES, full, lanes)
                _write(to_row, result, _ONES, full, lanes)
            elif who[CTA]:
                who[SYNCED] += 1
        elif kind == TAKE:
            pass_on(rows, copies, step[A], step[B], lanes, memory, who)
        elif kind == JOIN:
            b, shift = behind(rows, LANES * step[B]), U64(step[SIZE])
            for i in range(LANES):
                result[i] = a[i] | (b[i] << shift)
            _write(to_row, result, U64(step[KEEP]), whole, lanes)
        else:                                            # SPLIT
            shift = U64(step[SIZE])
            for i in range(LANES):
                room[i] = a[i]
                result[i] = a[i] >> shift
            if step[RESULT] >= 0:
                _write(to_row, room, U64(step[KEEP]), whole, lanes)
            if step[SECOND] >= 0:
                _write(behind(rows, LANES * step[SECOND]), result, U64(step[KEEP]), whole, lanes)
        executed[at] += 1
        done += 1
        at, step = at + 1, behind(step, FIELDS)
        if step[PLACE] >= limit:
            break
    state[DONE] = done
    return at
