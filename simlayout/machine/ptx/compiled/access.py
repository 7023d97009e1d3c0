"""Loads and stores of the compiled loop. Rows are pointers to 32 uint64; `lanes` has all ones where a lane takes part."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.doubts import (
    DOUBTFUL,
    SAME,
    SURE,
    UNSURE,
    global_load,
    shared_load,
    store,
    updated_in,
)
from simlayout.machine.ptx.compiled.encode import CACHED, COUNT, GLOBAL, KIND, LOCAL, PARAMETERS, SHARED, SIZE, SPACE, STORE
from simlayout.machine.ptx.compiled.held import (
    ARRAY_ADDRESS,
    ARRAY_AT,
    ARRAY_CELLS,
    ARRAY_EACH,
    ARRAY_SIZE,
    ARRAY_WRITEABLE,
    ARRAYS,
    GLOBAL_BY,
    GLOBAL_READ,
    GLOBAL_UPDATED,
    GLOBAL_WROTE,
    LOCAL_AT,
    LOCAL_SIZE,
    LOG_ADDRESSES,
    LOG_LANES,
    LOG_STEP,
    LOG_USED,
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
    WROTE,
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

U32, U64, I64 = np.uint32, np.uint64, np.int64
_LEAST, _MOST = I64(-(1 << 63)), I64((1 << 63) - 1)


@within
def address_bits(space):
    """The bits that an address has in a space."""
    return I64(0xFFFFFFFF) if space == SHARED else I64(-1)


@within
def locate(base, offset, space, total, write, first, last, lanes, memory, common, at, cells):
    """Puts into row `at` where in this process the addresses of row `base` are, and into row `cells` how many bytes from the
    start of the memory, of global memory of all; False if one is outside, of shared memory of first to last, or not
    aligned."""
    keep, low, high, odd = address_bits(space), _MOST, _LEAST, I64(0)
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
        return _locate_global(low, high, total, write, lanes, i64s(common[RANGES]), common[ARRAYS], at, cells)
    if space == SHARED and (low < first or high > last):
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
def _locate_global(low, high, total, write, lanes, ranges, count, at, cells):
    """The same of global memory. Row `at` has the addresses, of which low and high are the ends."""
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
def of_matrix(at, m, transposed, i, half):
    """Where lane i has its part of matrix m, of whose rows row `at` says where they are: 4 bytes, or one half of them if it
    is transposed (`touches.matrix_pieces`)."""
    if transposed:
        return I64(at[8 * m + 2 * (i % 4) + half]) + 2 * (i // 4)
    return I64(at[8 * m + i // 4]) + 4 * (i % 4)


@within
def _shared_load_is_fine(cells, total, lanes, who, common):
    """As `fine`, of a load of `total` bytes from shared memory."""
    if common[ORDERED]:
        return ordered_load(cells, total, lanes, who, i64s(common[ORDERED]))
    how = shared_load(cells, total, lanes, who, u64s(common[SHARED_WROTE]), u64s(common[SHARED_READ]))
    return _beside_atomics(how, True, cells, total, lanes, who, common[SHARED_UPDATED])


@within
def _beside_atomics(how, shared, cells, total, lanes, who, updated):
    """What is known by all but the atomics of shared or global memory, and by these. updated: where their marks are, or
    0."""
    if updated and how < DOUBTFUL:
        return max(how, updated_in(shared, cells, total, lanes, who, u64s(updated)))
    return how


@within
def matrices_are_fine(count, transposed, cells, room, lanes, who, common):
    """As `fine`, of ldmatrix of so many matrices by all lanes. cells: of its rows; room: a row to work with."""
    how = SURE
    for m in range(count):
        for half in range(2 if transposed else 1):
            for i in range(LANES):
                room[i] = U64(of_matrix(cells, m, transposed, i, half))
            how = max(how, _shared_load_is_fine(room, 2 if transposed else 4, lanes, who, common))
    return how


@within
def get(to, at, behind_it, size, lanes):
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
def get_matrix(to, at, m, transposed):
    """Loads what each lane has of matrix m into a row, as of `of_matrix`."""
    for i in range(LANES):
        if transposed:
            to[i] = load_16(of_matrix(at, m, True, i, 0)) | load_16(of_matrix(at, m, True, i, 1)) << U64(16)
        else:
            to[i] = load_32(of_matrix(at, m, False, i, 0))


@within
def put(row, at, behind_it, size, lanes):
    """Stores an element of `size` bytes per lane of a row; as `get`."""
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
def note(base, offset, space, lanes, step, common):
    """Notes an access of shared or global memory."""
    used = i64s(common[LOG_USED])
    n, bits, keep = used[0], U32(0), address_bits(space)
    row = behind(i64s(common[LOG_ADDRESSES]), LANES * n)
    for i in range(LANES):
        row[i] = (I64(base[i]) + offset) & keep & I64(lanes[i])
        bits |= U32(lanes[i] & U64(1)) << U32(i)
    i64s(common[LOG_STEP])[n], u32s(common[LOG_LANES])[n] = step, bits
    used[0] = n + 1


@within
def fine(step, rows, lanes, memory, at, cells, who, common):
    """SURE of a load or store of which there is nothing to tell, or another of those (see `compiled.doubts`). step: of the
    table; rows: the registers."""
    space, stores, total = step[SPACE], step[KIND] == STORE, step[SIZE] * step[COUNT]
    if space == SHARED and not stores:
        return _shared_load_is_fine(cells, total, lanes, who, common)
    if space == SHARED and common[ORDERED]:
        return ordered_store(step, rows, at, cells, lanes, who, i64s(common[ORDERED]))
    if space == SHARED:
        how = store(True, step, rows, at, cells, lanes, who, u64s(common[SHARED_WROTE]), u64s(common[SHARED_READ]),
                    u32s(common[SHARED_BY]))
        return _beside_atomics(how, True, cells, total, lanes, who, common[SHARED_UPDATED])
    if space == GLOBAL:
        all_wrote, all_read = u64s(common[GLOBAL_WROTE]), u64s(common[GLOBAL_READ])
        if stores:
            how = store(False, step, rows, at, cells, lanes, who, all_wrote, all_read, u32s(common[GLOBAL_BY]))
            if common[ORDERED] and how == SAME:
                how = DOUBTFUL                           # more than barriers of the whole CTA may order the two
        else:
            how = global_load(cells, step[CACHED], total, lanes, who, all_wrote, all_read)
        return _beside_atomics(how, False, cells, total, lanes, who, common[GLOBAL_UPDATED])
    if space == LOCAL and who[WROTE]:
        for i in range(LANES):
            if lanes[i]:
                flags = I64(at[i]) - memory[LOCAL_AT] + who[WROTE]
                for byte in range(total):
                    if stores:
                        store_8(flags + byte, U64(1))
                    elif not load_8(flags + byte):
                        return UNSURE
    return SURE
