"""Loads and stores of the compiled loop. Rows are pointers to 32 uint64; `lanes` has all ones where a lane takes part."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.doubts import (
    DOUBTFUL,
    SAME,
    SURE,
    UNSURE,
    UNWRITTEN,
    global_load,
    shared_load,
    store,
    updated_in,
)
from simlayout.machine.ptx.compiled.encode import (
    CACHED,
    CARRIED,
    CODE,
    COUNT,
    ELEMENTS,
    GLOBAL,
    HOW,
    KEEP,
    KIND,
    LOCAL,
    OFFSET,
    SHARED,
    SIZE,
    SPACE,
    STORE,
    A,
)
from simlayout.machine.ptx.compiled.located import address_bits, locate, space_of
from simlayout.machine.ptx.compiled.ordered import ordered_load, ordered_store
from simlayout.machine.ptx.compiled.pointers import (
    behind,
    i64s,
    load_8,
    load_16,
    load_32,
    load_64,
    store_8,
    store_16,
    store_32,
    store_64,
    u32s,
    u64s,
)
from simlayout.machine.ptx.compiled.registers import I64, ONES, U64, ZERO, read, row_of, some, write
from simlayout.machine.ptx.memory.held import (
    CTA,
    DOUBTED,
    EQUAL,
    GLOBAL_BY,
    GLOBAL_READ,
    GLOBAL_UPDATED,
    GLOBAL_WROTE,
    LOCAL_AT,
    LOG_ADDRESSES,
    LOG_LANES,
    LOG_ROOM,
    LOG_STEP,
    MAY_TELL,
    ORDERED,
    SHARED_BY,
    SHARED_READ,
    SHARED_UPDATED,
    SHARED_WROTE,
    STORED,
    UNWRITTEN_COUNT,
    UNWRITTEN_ORDER,
    UNWRITTEN_TIMES,
    WROTE,
)

U32 = np.uint32


@within
def _of_matrix(at, m, transposed, i, half):
    """Where lane i has its part of matrix m, of whose rows row `at` says where they are: 4 bytes, or one half of them if it
    is transposed (`touches.matrix_pieces`)."""
    if transposed:
        return I64(at[8 * m + 2 * (i % 4) + half]) + 2 * (i // 4)
    return I64(at[8 * m + i // 4]) + 4 * (i % 4)


@within
def _shared_load_is_fine(cells, total, lanes, warp):
    """As `_is_fine`, of a load of `total` bytes from shared memory."""
    who, common = warp.who, warp.common
    if common[ORDERED]:
        return ordered_load(cells, total, lanes, who, i64s(common[ORDERED]))
    how = shared_load(cells, total, lanes, who, u64s(common[SHARED_WROTE]), u64s(common[SHARED_READ]))
    return _beside_atomics(how, True, total, cells, lanes, warp)


@within
def _beside_atomics(how, shared, total, cells, lanes, warp):
    """What is known by all but the atomics of shared or global memory, and by these."""
    updated = warp.common[SHARED_UPDATED if shared else GLOBAL_UPDATED]          # where their marks are, or 0
    if updated and how < DOUBTFUL:
        return max(how, updated_in(shared, cells, total, lanes, warp.who, u64s(updated)))
    return how


@within
def _matrices_are_fine(step, lanes, warp):
    """As `_is_fine`, of ldmatrix by all lanes."""
    how, transposed = SURE, step[CODE]
    for m in range(step[COUNT]):
        for half in range(2 if transposed else 1):
            for i in range(LANES):
                warp.room[i] = U64(_of_matrix(warp.cells, m, transposed, i, half))
            how = max(how, _shared_load_is_fine(warp.room, 2 if transposed else 4, lanes, warp))
    return how


@within
def _get(to, at, behind_it, size, lanes):
    """Loads an element of `size` bytes per lane into a row, from so many bytes behind the addresses of row `at`."""
    if size == 4:
        for i in range(LANES):
            if lanes[i]:
                to[i] = load_32(I64(at[i]) + behind_it)
    elif size == 8:
        for i in range(LANES):
            if lanes[i]:
                to[i] = load_64(I64(at[i]) + behind_it)
    elif size == 2:
        for i in range(LANES):
            if lanes[i]:
                to[i] = load_16(I64(at[i]) + behind_it)
    else:
        for i in range(LANES):
            if lanes[i]:
                to[i] = load_8(I64(at[i]) + behind_it)


@within
def _get_matrix(to, at, m, transposed):
    """Loads what each lane has of matrix m into a row, as of `_of_matrix`."""
    for i in range(LANES):
        if transposed:
            to[i] = load_16(_of_matrix(at, m, True, i, 0)) | load_16(_of_matrix(at, m, True, i, 1)) << U64(16)
        else:
            to[i] = load_32(_of_matrix(at, m, False, i, 0))


@within
def _put(row, at, behind_it, size, lanes):
    """Stores an element of `size` bytes per lane of a row; as `_get`."""
    if size == 4:
        for i in range(LANES):
            if lanes[i]:
                store_32(I64(at[i]) + behind_it, row[i])
    elif size == 8:
        for i in range(LANES):
            if lanes[i]:
                store_64(I64(at[i]) + behind_it, row[i])
    elif size == 2:
        for i in range(LANES):
            if lanes[i]:
                store_16(I64(at[i]) + behind_it, row[i])
    else:
        for i in range(LANES):
            if lanes[i]:
                store_8(I64(at[i]) + behind_it, row[i])


@within
def _note(step, at, lanes, warp):
    """Notes an access of shared or global memory, by step number `at`."""
    common, base, offset = warp.common, row_of(warp, step[A]), step[OFFSET]
    n, bits, keep = warp.log_used[0], U32(0), address_bits(step[SPACE])
    addresses = behind(i64s(common[LOG_ADDRESSES]), LANES * n)
    for i in range(LANES):
        addresses[i] = (I64(base[i]) + offset) & keep & I64(lanes[i])
        bits |= U32(lanes[i] & U64(1)) << U32(i)
    i64s(common[LOG_STEP])[n], u32s(common[LOG_LANES])[n] = at, bits
    warp.log_used[0] = n + 1


@within
def _is_fine(step, space, lanes, warp):
    """SURE of a load or store of which there is nothing to tell, or another of those (see `compiled.doubts`)."""
    stores, total = step[KIND] == STORE, step[SIZE] * step[COUNT]
    rows, at, cells, who, common = warp.rows, warp.found, warp.cells, warp.who, warp.common
    if space == SHARED and not stores:
        return _shared_load_is_fine(cells, total, lanes, warp)
    if space == SHARED and common[ORDERED]:
        return ordered_store(step, rows, at, cells, lanes, who, i64s(common[ORDERED]))
    if space == SHARED:
        how = store(True, step, rows, at, cells, lanes, who, u64s(common[SHARED_WROTE]), u64s(common[SHARED_READ]),
                    u32s(common[SHARED_BY]))
        return _beside_atomics(how, True, total, cells, lanes, warp)
    if space == GLOBAL:
        all_wrote, all_read = u64s(common[GLOBAL_WROTE]), u64s(common[GLOBAL_READ])
        if stores:
            how = store(False, step, rows, at, cells, lanes, who, all_wrote, all_read, u32s(common[GLOBAL_BY]))
            if common[ORDERED] and how == SAME:
                how = DOUBTFUL                           # more than barriers of the whole CTA may order the two
        else:
            how = global_load(cells, step[CACHED], total, lanes, who, all_wrote, all_read)
        return _beside_atomics(how, False, total, cells, lanes, warp)
    if space == LOCAL and who[WROTE]:
        for i in range(LANES):
            if lanes[i]:
                flags, lacking = I64(at[i]) - warp.memory[LOCAL_AT] + who[WROTE], 0
                for byte in range(total):
                    if stores:
                        store_8(flags + byte, U64(1))
                    elif not load_8(flags + byte):
                        lacking += 1
                if lacking > 0 and step[CARRIED] < (2 if lacking == total else 1):         # as `local.local_load`
                    return UNSURE
    return SURE


@within
def _goes_on(how, at, warp):
    """Whether step `at` goes on, of whose access this is known (see `doubts`); notes what there is to tell of it."""
    if how == SURE:
        return True
    common = warp.common
    if how == SAME:
        i64s(common[EQUAL])[at] = 1
        return True
    if how == DOUBTFUL and common[DOUBTED]:
        doubted = i64s(common[DOUBTED])
        doubted[at] = doubted[at] if doubted[at] else warp.who[CTA]
        return True
    if how == UNWRITTEN and common[UNWRITTEN_TIMES]:     # as `Unwritten.add`
        order, count = i64s(common[UNWRITTEN_ORDER]), i64s(common[UNWRITTEN_COUNT])
        i64s(common[UNWRITTEN_TIMES])[at] += 1
        if not order[at]:
            count[0] += 1
            order[at] = count[0]
        return True
    warp.state[MAY_TELL] = 1
    return False


@within
def load_or_store(step, at, lanes, whole, warp):
    """Executes step `at`; False if it is not done: there is no room to note it, its addresses are not plain, or there may be
    something to tell of it."""
    if not (whole or some(lanes)):
        return True
    (space, start), size, stores = space_of(step, lanes, warp), step[SIZE], step[KIND] == STORE
    if space <= SHARED and warp.log_used[0] == warp.common[LOG_ROOM]:
        return False
    if not locate(step, space, start, size * step[COUNT], lanes, warp):
        return False
    if warp.who[CTA] and not _goes_on(_is_fine(step, space, lanes, warp), at, warp):
        return False
    if space <= SHARED:
        _note(step, at, lanes, warp)
    if stores and space != LOCAL:                        # nobody waits for what a lane keeps for itself
        warp.state[STORED] += 1
    for e in range(step[COUNT]):
        element = row_of(warp, step[ELEMENTS + e])
        if stores:
            _put(element, warp.found, e * size, size, lanes)
        elif step[ELEMENTS + e] >= 0:
            _get(warp.room, warp.found, e * size, size, lanes)
            write(element, read(warp.room, step[HOW], behind(warp.room, LANES)), U64(step[KEEP]), whole, lanes)
    return True


@within
def load_matrices(step, at, lanes, warp):
    """The same of ldmatrix by all lanes."""
    for i in range(LANES):
        warp.others[i] = ONES if i < 8 * step[COUNT] else ZERO
    if warp.log_used[0] == warp.common[LOG_ROOM] or not locate(step, SHARED, I64(0), step[SIZE], warp.others, warp):
        return False
    if warp.who[CTA] and not _goes_on(_matrices_are_fine(step, lanes, warp), at, warp):
        return False
    _note(step, at, lanes, warp)
    for m in range(step[COUNT]):
        if step[ELEMENTS + m] >= 0:
            _get_matrix(row_of(warp, step[ELEMENTS + m]), warp.found, m, step[CODE])
    return True
