"""Where loads and stores of the compiled loop are. Rows are pointers to 32 uint64; `lanes` has all ones where a lane takes
part."""

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.encode import (
    FIRST,
    GENERIC,
    GLOBAL,
    KIND,
    LAST,
    LOAD,
    LOCAL,
    OFFSET,
    PARAMETERS,
    SHARED,
    SPACE,
    STORE,
    A,
)
from simlayout.machine.ptx.compiled.pointers import behind, i64s
from simlayout.machine.ptx.compiled.registers import I64, U64, row_of
from simlayout.machine.ptx.memory.held import (
    ARRAY_ADDRESS,
    ARRAY_AT,
    ARRAY_CELLS,
    ARRAY_EACH,
    ARRAY_SIZE,
    ARRAY_WRITEABLE,
    ARRAYS,
    LOCAL_AT,
    LOCAL_SIZE,
    PARAMETERS_AT,
    PARAMETERS_SIZE,
    RANGES,
    SHARED_AT,
    SHARED_SIZE,
)
from simlayout.machine.ptx.memory.space import LOCAL as AT_LOCAL
from simlayout.machine.ptx.memory.space import PARAMETERS as AT_PARAMETERS
from simlayout.machine.ptx.memory.space import SHARED as AT_SHARED
from simlayout.machine.ptx.memory.space import WINDOW

_WINDOWS = ~I64(WINDOW - 1)
_LEAST, _MOST = I64(-(1 << 63)), I64((1 << 63) - 1)


@within
def address_bits(space):
    """The bits that an address has in a space."""
    return I64(0xFFFFFFFF) if space == SHARED else I64(-1)


@within
def space_of(step, lanes, warp):
    """(the space that a step accesses, where that begins); of generic addresses by that of the first lane."""
    base, window = row_of(warp, step[A]), I64(0)
    if step[SPACE] == GENERIC:
        for i in range(LANES - 1, -1, -1):
            window = I64(base[i]) + step[OFFSET] & _WINDOWS if lanes[i] else window
    if window == AT_SHARED:
        return SHARED, window
    if window == AT_LOCAL:
        return LOCAL, window
    if window == AT_PARAMETERS and step[KIND] == LOAD:
        return PARAMETERS, window
    return (GLOBAL if step[SPACE] == GENERIC else step[SPACE]), I64(0)


@within
def locate(step, space, start, total, lanes, warp):
    """Puts into row `found` where in this process the addresses of a step are, and into row `cells` how many bytes from the
    start of the memory, of global memory of all; False if one is outside, of shared memory of those that it may have, or not
    aligned. space, start: as of `space_of`; total: the bytes of each lane."""
    base, offset = row_of(warp, step[A]), step[OFFSET] - start
    memory, at, cells = warp.memory, warp.found, warp.cells
    keep, low, high, odd = address_bits(step[SPACE]), _MOST, _LEAST, I64(0)
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
