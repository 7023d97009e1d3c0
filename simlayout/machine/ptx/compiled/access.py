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
    FIRST,
    GENERIC,
    GLOBAL,
    HOW,
    KEEP,
    KIND,
    LAST,
    LOAD,
    LOCAL,
    OFFSET,
    PARAMETERS,
    SHARED,
    SIZE,
    SPACE,
    STORE,
    A,
)
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
from simlayout.machine.ptx.memory import space as windows
from simlayout.machine.ptx.memory.held import (
    ARRAY_ADDRESS,
    ARRAY_AT,
    ARRAY_CELLS,
    ARRAY_EACH,
    ARRAY_SIZE,
    ARRAY_WRITEABLE,
    ARRAYS,
    CTA,
    DOUBTED,
    EQUAL,
    GLOBAL_BY,
    GLOBAL_READ,
    GLOBAL_UPDATED,
    GLOBAL_WROTE,
    LOCAL_AT,
    LOCAL_SIZE,
    LOG_ADDRESSES,
    LOG_LANES,
    LOG_ROOM,
    LOG_STEP,
    MAY_TELL,
    ORDERED,
    PARAMETERS_AT,
    PARAMETERS_SIZE,
    RANGES,
    SHARED_AT,
    SHARED_BY,
    SHARED_READ,
    SHARED_SIZE,
    SHARED_UPDATED,
    SHARED_WROTE,
    STORED,
    UNWRITTEN_COUNT,
    UNWRITTEN_ORDER,
    UNWRITTEN_TIMES,
    WROTE,
)

U32 = np.uint32
_LEAST, _MOST, _BITS = I64(-(1 << 63)), I64((1 << 63) - 1), I64(0xFFFFFFFF)      # an address of shared memory has 32


@within
def _space_of(step, lanes, warp):
    """(the space that a step accesses, where that begins); of generic addresses by that of the first lane."""
    base, window = row_of(warp, step[A]), I64(0)
    if step[SPACE] == GENERIC:
        for i in range(LANES - 1, -1, -1):
            window = I64(base[i]) + step[OFFSET] & -windows.WINDOW if lanes[i] else window
    if window == windows.SHARED:
        return SHARED, window
    if window == windows.LOCAL:
        return LOCAL, window
    if window == windows.PARAMETERS and step[KIND] == LOAD:
        return PARAMETERS, window
    return (GLOBAL if step[SPACE] == GENERIC else step[SPACE]), I64(0)


@within
def _locate(step, space, start, total, lanes, warp):
    """Puts into row `found` where in this process the addresses of a step are, and into row `cells` how many bytes from the
    start of the memory, of global memory of all; False if one is outside, of shared memory of those that it may have, or not
    aligned. space, start: as of `_space_of`; total: the bytes of each lane."""
    base, offset = row_of(warp, step[A]), step[OFFSET] - start
    memory, at, cells = warp.memory, warp.found, warp.cells
    keep, low, high, odd = _BITS if step[SPACE] == SHARED else I64(-1), _MOST, _LEAST, I64(0)
    for i in range(LANES):
        address = (I64(base[i]) + offset) & keep
        on = I64(lanes[i])
        odd |= address & on
        low = min(low, address if on else _MOST)
        high = max(high, address if on else _LEAST)
        at[i] = U64(address)
    if odd & (total - 1):
        return False
    if space == GLOBAL:
        return _locate_global(low, high, total, step[KIND] == STORE, lanes, warp)
    if space == SHARED and (low < step[FIRST] or high > step[LAST]):
        return False
    start, size = memory[SHARED_AT], memory[SHARED_SIZE]
    if space == LOCAL:
        start, size = memory[LOCAL_AT], memory[LOCAL_SIZE]
    elif space == PARAMETERS:
        start, size = memory[PARAMETERS_AT], memory[PARAMETERS_SIZE]
    if low < 0 or high > size - total:
        return False
    each = size if space == LOCAL else I64(0)
    for i in range(LANES):
        cells[i] = at[i]
        at[i] += U64(start + i * each)
    return True


@within
def _locate_global(low, high, total, write, lanes, warp):
    """The same of global memory. Row `found` has the addresses, of which low and high are the ends."""
    ranges, count, at, cells = i64s(warp.common[RANGES]), warp.common[ARRAYS], warp.found, warp.cells
    r = _range_of(low, total, ranges, count)
    if r < 0:
        return False
    here = behind(ranges, ARRAY_EACH * r)
    if write and not here[ARRAY_WRITEABLE]:
        return False
    if high <= here[ARRAY_ADDRESS] + here[ARRAY_SIZE] - total:              # as nearly always: all lanes are in one array
        for i in range(LANES):
            offset = I64(at[i]) - here[ARRAY_ADDRESS]
            at[i], cells[i] = U64(here[ARRAY_AT] + offset), U64(here[ARRAY_CELLS] + offset)
        return True
    for i in range(LANES):
        if lanes[i]:
            if not _inside(here, total, I64(at[i])):
                r = _range_of(I64(at[i]), total, ranges, count)
                if r < 0:
                    return False
                here = behind(ranges, ARRAY_EACH * r)
            if write and not here[ARRAY_WRITEABLE]:
                return False
            offset = I64(at[i]) - here[ARRAY_ADDRESS]
            at[i], cells[i] = U64(here[ARRAY_AT] + offset), U64(here[ARRAY_CELLS] + offset)
    return True


@within
def _inside(here, total, address):
    """Whether `total` bytes are all in an array."""
    return address >= here[ARRAY_ADDRESS] and address <= here[ARRAY_ADDRESS] + here[ARRAY_SIZE] - total


@within
def _range_of(address, total, ranges, count):
    """The number of the range that an address is in, -1 if it is in none."""
    for r in range(count):
        if _inside(behind(ranges, ARRAY_EACH * r), total, address):
            return r
    return -1


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
    n, bits, keep = warp.log_used[0], U32(0), _BITS if step[SPACE] == SHARED else I64(-1)
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
                    lacking += 0 if load_8(flags + byte) else 1
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
    (space, start), size, stores = _space_of(step, lanes, warp), step[SIZE], step[KIND] == STORE
    full = space <= SHARED and warp.log_used[0] == warp.common[LOG_ROOM]
    if full or not _locate(step, space, start, size * step[COUNT], lanes, warp):
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
    if warp.log_used[0] == warp.common[LOG_ROOM] or not _locate(step, SHARED, I64(0), step[SIZE], warp.others, warp):
        return False
    if warp.who[CTA] and not _goes_on(_matrices_are_fine(step, lanes, warp), at, warp):
        return False
    _note(step, at, lanes, warp)
    for m in range(step[COUNT]):
        if step[ELEMENTS + m] >= 0:
            _get_matrix(row_of(warp, step[ELEMENTS + m]), warp.found, m, step[CODE])
    return True
