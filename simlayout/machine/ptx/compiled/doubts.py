"""Whether loads and stores may take part in a race: a look that is quick, and never misses one (see `machine.ptx.doubts`).

For every cell of memory two numbers say who wrote it last and who has read it, uint64: the interval between barriers of the
whole CTA, and the thread. Shared memory: interval << 48 | how often its warp has been at a bar.warp.sync << 16 | thread + 1;
global memory: CTA + 1 << 32 | interval << 16 | thread + 1. 0 is nobody; instead of a thread several may be there, also where
one has written in a doubt; ALL is unordered with everything: what threads of several CTAs have done, or a copy that is on
its way. A third number says who has changed it by an atomic; a fourth one, uint32, by what the last one wrote that any has
written, of which the others say when: `encode.LIKE` of the stores if they are of one place and of one value, MIXED if they
are not. What the functions are given are pointers.
"""

import numpy as np

from simlayout.jit import within
from simlayout.machine.ptx.compiled.encode import COUNT, ELEMENTS, LIKE, SIZE
from simlayout.machine.ptx.compiled.pointers import load_8, load_16, load_32, load_64
from simlayout.machine.ptx.compiled.rows import LANES
from simlayout.machine.ptx.doubts import (
    ALL,
    CELL,
    CTA,
    FIRST,
    INTERVAL,
    MIXED,
    PARTED,
    SEVERAL,
    SOME_OF_WARP,
    SYNCED,
)

U64, I64, U32 = np.uint64, np.int64, np.uint32
SURE, SAME, UNWRITTEN, DOUBTFUL, UNSURE = range(5)
"""Of an access: that there is nothing to tell of it; that it stores what another thread stores there too, and nothing orders
the two; that it reads what nobody has written; that it may race; anything else. The third and the fourth go on where they
are noted (`Doubts.unwritten`, `Doubts.doubted`)."""


@within
def shared_load(cells, total, lanes, who, wrote, read):
    """SURE of a load that is no part of a race, DOUBTFUL of one that may be, UNWRITTEN of one of what nobody wrote; notes
    that its lanes have read. Row `cells` has the bytes from the start of the memory, here and below."""
    shift, how = who[CELL], SURE
    count = max(total >> shift, 1)
    here = _now(True, who)
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = U64(here | who[FIRST] + i + 1)
        first = I64(cells[i]) >> shift
        for cell in range(first, first + count):
            writer, reader = wrote[cell], read[cell]
            if not writer:
                how = max(how, UNWRITTEN)
            elif _unordered(writer, mine):
                how = DOUBTFUL
            if not _unordered(reader, mine):
                read[cell] = mine
            elif _warp(reader) == _warp(mine):
                read[cell] = U64(here | SOME_OF_WARP + _warp(mine))
            else:
                read[cell] = U64(here | SEVERAL)
    return how


@within
def updated_in(shared, cells, total, lanes, who, updated):
    """DOUBTFUL of a load or store of shared or global memory that may race with an atomic, else SURE."""
    shift = who[CELL]
    count = max(total >> shift, 1)
    here = _now(shared, who)
    for i in range(LANES):
        if lanes[i]:
            mine = U64(here | who[FIRST] + i + 1)
            first = I64(cells[i]) >> shift
            for cell in range(first, first + count):
                if _races(shared, updated[cell], mine):
                    return DOUBTFUL
    return SURE


@within
def global_load(cells, cached, total, lanes, who, wrote, read):
    """As `shared_load`, of global memory. cached: as of `encode`."""
    shift, how = who[CELL], SURE
    count = max(total >> shift, 1)
    here = _now(False, who)
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = U64(here | who[FIRST] + i + 1)
        first = I64(cells[i]) >> shift
        for cell in range(first, first + count):
            writer, reader = wrote[cell], read[cell]
            if writer and (cached or _meet(writer, mine)):
                how = DOUBTFUL
            if reader == ALL:
                continue
            if not reader:
                read[cell] = mine
            elif reader >> U64(32) != mine >> U64(32):
                read[cell] = ALL
            elif reader >> U64(16) != mine >> U64(16):
                read[cell] = mine
            elif reader != mine:
                read[cell] = U64(here | SEVERAL)
    return how


@within
def store(shared, step, rows, at, cells, lanes, who, wrote, read, by):
    """SURE of a store of shared or global memory that is no part of a race, SAME where it stores again what is there,
    DOUBTFUL where it may race; notes that its lanes have written. step: of the table; rows: the registers; row `at` has
    where in this process the addresses are, at which nothing is stored yet."""
    shift, like, how = who[CELL], U32(step[LIKE]), SURE
    count = max(step[SIZE] * step[COUNT] >> shift, 1)
    here = _now(shared, who)
    wrong, mixed = U32(0), U32(0)                        # a bit for each lane that may race, or overwrites something else
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine, bit, same = U64(here | who[FIRST] + i + 1), U32(1) << U32(i), -1
        first = I64(cells[i]) >> shift
        for cell in range(first, first + count):
            writer = wrote[cell]
            if _races(shared, read[cell], mine):
                wrong |= bit
            if not _lately(shared, writer, mine):
                continue
            if same < 0:
                same = I64(holds(step, rows, at, i))
            again = same > 0 and by[cell] == like
            if not _races(shared, writer, mine):
                mixed |= U32(0) if again else bit
            elif again and _surely(shared, writer, mine, who):
                how = SAME
            else:
                wrong |= bit
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine, bit = U64(here | who[FIRST] + i + 1), U32(1) << U32(i)
        first = I64(cells[i]) >> shift
        if _races(shared, wrote[first], mine) and not agrees(step, rows, at, lanes, i):
            wrong |= bit
        for cell in range(first, first + count):
            by[cell] = U32(MIXED) if (wrong | mixed) & bit else like
            if wrong & bit:
                wrote[cell] = _many(shared, wrote[cell], read[cell], mine)
            elif _races(shared, wrote[cell], mine):
                wrote[cell] = _both(shared, wrote[cell], mine)
            else:
                wrote[cell] = mine
    return DOUBTFUL if wrong else how


@within
def write(shared, cells, total, lanes, who, wrote, read, by, goes_on):
    """SURE of a write of shared or global memory that is no part of a race, DOUBTFUL of one that may be, whatever it writes;
    notes that its lanes have written, or, where that goes on, that they do until they have `landed`."""
    shift, how = who[CELL], SURE
    count = max(total >> shift, 1)
    here = _now(shared, who)
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = U64(here | who[FIRST] + i + 1)
        first = I64(cells[i]) >> shift
        for cell in range(first, first + count):
            if _races(shared, wrote[cell], mine) or _races(shared, read[cell], mine):
                how = DOUBTFUL
                wrote[cell] = _many(shared, wrote[cell], read[cell], mine)
            else:
                wrote[cell] = mine
            if goes_on:
                wrote[cell] = U64(ALL)
            by[cell] = U32(MIXED)
    return how


@within
def landed(cells, total, lanes, who, wrote):
    """A copy to shared memory is no longer on its way: its lanes have written now."""
    shift = who[CELL]
    count = max(total >> shift, 1)
    here = _now(True, who)
    for i in range(LANES):
        if lanes[i]:
            first = I64(cells[i]) >> shift
            for cell in range(first, first + count):
                wrote[cell] = U64(here | who[FIRST] + i + 1)


@within
def goes_on_reading(cells, total, lanes, who, read):
    """Lanes read global memory for a while."""
    shift = who[CELL]
    count = max(total >> shift, 1)
    for i in range(LANES):
        if lanes[i]:
            first = I64(cells[i]) >> shift
            for cell in range(first, first + count):
                read[cell] = U64(ALL)


@within
def _now(shared, who):
    """What stands in front of the number of a thread that does something now."""
    return who[INTERVAL] << 48 | who[SYNCED] << 16 if shared else who[CTA] << 32 | who[INTERVAL] << 16


@within
def _races(shared, before, mine):
    """Whether nothing surely orders an access, if it is one, before one by a thread now."""
    return _unordered(before, mine) if shared else before != U64(0) and _meet(before, mine)


@within
def _lately(shared, before, mine):
    """Whether a store is one that a later one by any thread may be unordered with: not where a barrier came behind it."""
    return before >> U64(48) == mine >> U64(48) or before == U64(ALL) if shared else before != U64(0)


@within
def _surely(shared, before, mine, who):
    """Whether, of stores that nothing surely orders, nothing does: not lanes of one warp of which some have met."""
    if _warp(before) != _warp(mine) or not shared and _apart(before, mine):
        return True
    return not who[PARTED] and (shared or not who[SYNCED])


@within
def _both(shared, before, mine):
    """What two threads have done that stored one value."""
    if not shared and _apart(before, mine):
        return U64(ALL)
    alone = _warp(before) == _warp(mine)
    return mine & ~U64(0xFFFF) | U64(SOME_OF_WARP + _warp(mine) if alone else SEVERAL)


@within
def _many(shared, writer, reader, mine):
    """What a thread has done that may race with what was done before."""
    if writer == U64(ALL):
        return writer
    if not shared and (writer != U64(0) and _apart(writer, mine) or reader != U64(0) and _apart(reader, mine)):
        return U64(ALL)
    return mine & ~U64(0xFFFF) | U64(SEVERAL)


@within
def holds(step, rows, at, i):
    """Whether memory has what a lane stores."""
    for e in range(step[COUNT]):
        value, address = rows[LANES * step[ELEMENTS + e] + i], I64(at[i]) + e * step[SIZE]
        if step[SIZE] == 4:
            differs = load_32(address) != value & U64(0xFFFFFFFF)
        elif step[SIZE] == 8:
            differs = load_64(address) != value
        elif step[SIZE] == 2:
            differs = load_16(address) != value & U64(0xFFFF)
        else:
            differs = load_8(address) != value & U64(0xFF)
        if differs:
            return False
    return True


@within
def agrees(step, rows, at, lanes, i):
    """Whether a lane stores what those before it in its warp store at its address."""
    keep = ~U64(0) >> U64(64 - 8 * step[SIZE])
    for j in range(i):
        if lanes[j] and at[j] == at[i]:
            for e in range(step[COUNT]):
                row = LANES * step[ELEMENTS + e]
                if (rows[row + i] ^ rows[row + j]) & keep:
                    return False
            return True
    return True


@within
def _unordered(before, mine):
    """Whether neither a barrier nor a bar.warp.sync surely orders an access of shared memory before one by a thread now."""
    if before == U64(ALL):
        return True
    if before >> U64(48) != mine >> U64(48) or before & U64(0xFFFF) == mine & U64(0xFFFF):
        return False
    return before >> U64(16) == mine >> U64(16) or _warp(before) != _warp(mine)


@within
def _warp(access):
    """The number of the warp of an access of shared memory, or one that no warp has."""
    thread = I64(access & U64(0xFFFF))
    return thread - SOME_OF_WARP if thread >= SOME_OF_WARP else thread - 1 >> 5


@within
def _meet(one, other):
    """Whether an access before may be unordered with one now: by another CTA, or another thread in the same interval."""
    return _apart(one, other) or one >> U64(16) == other >> U64(16) and one != other


@within
def _apart(one, other):
    """Whether two accesses are by different CTAs."""
    return one >> U64(32) != other >> U64(32)
