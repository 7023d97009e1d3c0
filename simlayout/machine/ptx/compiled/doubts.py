"""Whether loads and stores may take part in a race: a look that is quick, and never misses one (see `ptx.looks.doubts`).

Each cell of memory has three marks (see `marks`): of who wrote it last, of who has read it, and of who has changed it by an
atomic; that of who wrote it says several also where one has written in a doubt. A fourth number, uint32, says by what the
last one wrote that any has written, of which the marks say when: `encode.LIKE` of the stores if they are of one place and of
one value, MIXED if they are not. What the functions are given are pointers. Row `cells` has for each lane the bytes from the
start of the memory, `total` is how many bytes it touches there, and `mine` the mark of a thread now.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.encode import COUNT, ELEMENTS, LIKE, SIZE
from simlayout.machine.ptx.compiled.pointers import load_8, load_16, load_32, load_64
from simlayout.machine.ptx.memory.held import CELL, CTA, FIRST, INTERVAL, PARTED, SYNCED
from simlayout.machine.ptx.memory.marks import (
    ALL,
    MIXED,
    NOBODY,
    by_several,
    by_thread,
    by_warp,
    cta_of,
    in_global,
    in_shared,
    interval_of,
    warp_of,
    when_of,
    who_of,
)

for each in (by_several, by_thread, by_warp, cta_of, in_global, in_shared, interval_of, warp_of, when_of, who_of):
    within(each)

U64, I64, U32 = np.uint64, np.int64, np.uint32
SURE, SAME, UNWRITTEN, DOUBTFUL, UNSURE = range(5)
"""Of an access: that there is nothing to tell of it; that it stores what another thread stores there too, and nothing orders
the two; that it reads what nobody has written; that it may race; anything else. The third and the fourth go on where they
are noted (`Doubts.unwritten`, `Doubts.doubted`)."""


@within
def shared_load(cells, total, lanes, who, wrote, read):
    """SURE of a load that is no part of a race, DOUBTFUL of one that may be, UNWRITTEN of one of what nobody wrote; notes
    that its lanes have read."""
    shift, how, now = who[CELL], SURE, now_of(True, who)
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = by_thread(now, who[FIRST] + i)
        for cell in cells_of(cells[i], total, shift):
            writer, reader = wrote[cell], read[cell]
            if writer == NOBODY:
                how = max(how, UNWRITTEN)
            elif _unordered(writer, mine):
                how = DOUBTFUL
            if not _unordered(reader, mine):
                read[cell] = mine
            elif warp_of(reader) == warp_of(mine):
                read[cell] = by_warp(now, warp_of(mine))
            else:
                read[cell] = by_several(now)
    return how


@within
def global_load(cells, cached, total, lanes, who, wrote, read):
    """As `shared_load`, of global memory, which is written before anybody writes. cached: as of `encode`."""
    shift, how, now = who[CELL], SURE, now_of(False, who)
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = by_thread(now, who[FIRST] + i)
        for cell in cells_of(cells[i], total, shift):
            writer, reader = wrote[cell], read[cell]
            if writer != NOBODY and (cached or _meet(writer, mine)):
                how = DOUBTFUL
            if reader == ALL:
                continue
            if reader == NOBODY:
                read[cell] = mine
            elif _apart(reader, mine):
                read[cell] = ALL
            elif when_of(reader) != now:
                read[cell] = mine
            elif reader != mine:
                read[cell] = by_several(now)
    return how


@within
def store(shared, step, rows, at, cells, lanes, who, wrote, read, by):
    """SURE of a store of shared or global memory that is no part of a race, SAME where it stores again what is there,
    DOUBTFUL where it may race; notes that its lanes have written. step: of the table; rows: the registers; row `at` has
    where in this process the addresses are, at which nothing is stored yet."""
    total, like = step[SIZE] * step[COUNT], U32(step[LIKE])
    shift, how, now = who[CELL], SURE, now_of(shared, who)
    wrong, mixed = U32(0), U32(0)                        # a bit for each lane that may race, or overwrites something else
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine, bit, same = by_thread(now, who[FIRST] + i), U32(1) << U32(i), I64(-1 if like else 0)
        for cell in cells_of(cells[i], total, shift):
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
        mine, bit, there = by_thread(now, who[FIRST] + i), U32(1) << U32(i), cells_of(cells[i], total, shift)
        if _races(shared, wrote[there.start], mine) and not agrees(step, rows, at, lanes, i):
            wrong |= bit
        for cell in there:
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
    notes that its lanes have written, or, where that goes on, that they do until it has landed."""
    shift, how, now = who[CELL], SURE, now_of(shared, who)
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = by_thread(now, who[FIRST] + i)
        for cell in cells_of(cells[i], total, shift):
            if _races(shared, wrote[cell], mine) or _races(shared, read[cell], mine):
                how = DOUBTFUL
                wrote[cell] = _many(shared, wrote[cell], read[cell], mine)
            else:
                wrote[cell] = mine
            if goes_on:
                wrote[cell] = ALL
            by[cell] = U32(MIXED)
    return how


@within
def mark(cells, total, lanes, who, marks, when):
    """Lanes have written, or read. when: as of `now_of`; or ALL, which is the mark of whoever does so for a while."""
    shift = who[CELL]
    for i in range(LANES):
        if lanes[i]:
            for cell in cells_of(cells[i], total, shift):
                marks[cell] = by_thread(when, who[FIRST] + i)


@within
def update(shared, cells, total, lanes, who, wrote, read, updated):
    """SURE of an atomic of shared or global memory that is no part of a race with plain accesses, DOUBTFUL of one that may
    be, UNSURE of one of shared memory that nobody wrote; notes that its warp has updated that."""
    shift, how, now = who[CELL], SURE, now_of(shared, who)
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = by_thread(now, who[FIRST] + i)
        for cell in cells_of(cells[i], total, shift):
            if shared and wrote[cell] == NOBODY:
                how = UNSURE
            elif _races(shared, wrote[cell], mine) or _races(shared, read[cell], mine):
                how = max(how, DOUBTFUL)
            updated[cell] = _updates(shared, updated[cell], mine)
    return how


@within
def updated_in(shared, cells, total, lanes, who, updated):
    """DOUBTFUL of a load or store of shared or global memory that may race with an atomic, else SURE."""
    shift, now = who[CELL], now_of(shared, who)
    for i in range(LANES):
        if lanes[i]:
            mine = by_thread(now, who[FIRST] + i)
            for cell in cells_of(cells[i], total, shift):
                if _races(shared, updated[cell], mine):
                    return DOUBTFUL
    return SURE


@within
def cells_of(at, total, shift):
    """The numbers of the cells that a lane touches from a byte on, a range. shift: who[CELL], which marks that are written
    do not change, though a compiler cannot know that."""
    first = I64(at) >> shift
    return range(first, first + max(total >> shift, 1))


# ---- what marks say --------------------------------------------------------------------------------------------------

@within
def now_of(shared, who):
    """When a warp does something now."""
    return in_shared(who[INTERVAL], who[SYNCED]) if shared else in_global(who[CTA], who[INTERVAL])


@within
def _races(shared, before, mine):
    """Whether nothing surely orders an access, if it is one, before one by a thread now."""
    return _unordered(before, mine) if shared else before != NOBODY and _meet(before, mine)


@within
def _unordered(before, mine):
    """Whether neither a barrier nor a bar.warp.sync surely orders an access of shared memory before one by a thread now."""
    if before == ALL:
        return True
    if interval_of(before) != interval_of(mine) or who_of(before) == who_of(mine):
        return False
    return when_of(before) == when_of(mine) or warp_of(before) != warp_of(mine)


@within
def _meet(before, mine):
    """Whether an access of global memory may be unordered with one now: by another CTA, or another thread in the same
    interval."""
    return _apart(before, mine) or when_of(before) == when_of(mine) and before != mine


@within
def _apart(one, other):
    """Whether two accesses of global memory are by different CTAs."""
    return cta_of(one) != cta_of(other)


@within
def _lately(shared, before, mine):
    """Whether a store is one that a later one by any thread may be unordered with: not where a barrier came behind it."""
    return interval_of(before) == interval_of(mine) or before == ALL if shared else before != NOBODY


@within
def _surely(shared, before, mine, who):
    """Whether, of stores that nothing surely orders, nothing does: not lanes of one warp of which some have met."""
    if warp_of(before) != warp_of(mine) or not shared and _apart(before, mine):
        return True
    return not who[PARTED] and (shared or not who[SYNCED])


@within
def _both(shared, before, mine):
    """What two threads have done that stored one value."""
    if not shared and _apart(before, mine):
        return ALL
    now = when_of(mine)
    return by_warp(now, warp_of(mine)) if warp_of(before) == warp_of(mine) else by_several(now)


@within
def _many(shared, writer, reader, mine):
    """What a thread has done that may race with what was done before."""
    if writer == ALL:
        return writer
    if not shared and (writer != NOBODY and _apart(writer, mine) or reader != NOBODY and _apart(reader, mine)):
        return ALL
    return by_several(when_of(mine))


@within
def _updates(shared, before, mine):
    """What threads have done that changed something by atomics, of which `mine` is now."""
    now = when_of(mine)
    if not shared:
        return by_several(now) if before == NOBODY or not _apart(before, mine) else ALL
    alone = interval_of(before) != interval_of(mine) or warp_of(before) == warp_of(mine)
    return by_warp(now, warp_of(mine)) if alone else by_several(now)


# ---- what is stored --------------------------------------------------------------------------------------------------

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
