"""Whether loads and stores may take part in a race: a look that is quick, and never misses one (see `machine.ptx.doubts`).

For every cell of memory two numbers say who wrote it last and who has read it, uint64: the interval between barriers of the
whole CTA, and the thread. Shared memory: interval << 48 | how often its warp has been at a bar.warp.sync << 16 | thread + 1;
global memory: CTA + 1 << 32 | interval << 16 | thread + 1. 0 is nobody; instead of a thread several may be there, also where
one has written in a doubt. A third number says who has changed it by an atomic. What the functions are given are pointers.
"""

import numpy as np

from simlayout.jit import within
from simlayout.machine.ptx.compiled.rows import LANES
from simlayout.machine.ptx.doubts import (
    ALL,
    CELL,
    CTA,
    FIRST,
    INTERVAL,
    SEVERAL,
    SHARED_CELL,
    SOME_OF_WARP,
    SYNCED,
)

U64, I64 = np.uint64, np.int64
SURE, DOUBTFUL, UNSURE = range(3)
"""Of an access: that there is nothing to tell of it; that it may race, and goes on all the same; anything else."""


@within
def shared_load(at, start, total, lanes, who, wrote, read):
    """SURE of a load that is no part of a race, DOUBTFUL of one that may be, UNSURE of one of what nobody wrote; notes that
    its lanes have read."""
    shift, how = who[SHARED_CELL], SURE
    count = max(total >> shift, 1)
    here = who[INTERVAL] << 48 | who[SYNCED] << 16
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = U64(here | who[FIRST] + i + 1)
        first = (I64(at[i]) - start) >> shift
        for cell in range(first, first + count):
            writer, reader = wrote[cell], read[cell]
            if not writer:
                return UNSURE
            if _unordered(writer, mine):
                how = DOUBTFUL
            if not _unordered(reader, mine):
                read[cell] = mine
            elif _warp(reader) == _warp(mine):
                read[cell] = U64(here | SOME_OF_WARP + _warp(mine))
            else:
                read[cell] = U64(here | SEVERAL)
    return how


@within
def shared_store(at, start, total, lanes, who, wrote, read):
    """The same of a store."""
    shift, how = who[SHARED_CELL], SURE
    count = max(total >> shift, 1)
    here = who[INTERVAL] << 48 | who[SYNCED] << 16
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = U64(here | who[FIRST] + i + 1)
        first = (I64(at[i]) - start) >> shift
        for cell in range(first, first + count):
            if _unordered(wrote[cell], mine) or _unordered(read[cell], mine):
                how = DOUBTFUL
                wrote[cell] = U64(here | SEVERAL)
            else:
                wrote[cell] = mine
    return how


@within
def updated_in_shared(at, start, total, lanes, who, updated):
    """DOUBTFUL of a load or store that may race with an atomic, else SURE."""
    shift = who[SHARED_CELL]
    count = max(total >> shift, 1)
    here = who[INTERVAL] << 48 | who[SYNCED] << 16
    for i in range(LANES):
        if lanes[i]:
            mine = U64(here | who[FIRST] + i + 1)
            first = (I64(at[i]) - start) >> shift
            for cell in range(first, first + count):
                if _unordered(updated[cell], mine):
                    return DOUBTFUL
    return SURE


@within
def _unordered(before, mine):
    """Whether neither a barrier nor a bar.warp.sync surely orders an access of shared memory before one by a thread now."""
    if before >> U64(48) != mine >> U64(48) or before & U64(0xFFFF) == mine & U64(0xFFFF):
        return False
    return before >> U64(16) == mine >> U64(16) or _warp(before) != _warp(mine)


@within
def _warp(access):
    """The number of the warp of an access of shared memory, or one that no warp has."""
    thread = I64(access & U64(0xFFFF))
    return thread - SOME_OF_WARP if thread >= SOME_OF_WARP else thread - 1 >> 5


@within
def global_load(cells, cached, total, lanes, who, wrote, read):
    """The same of a load of global memory. Row `cells` has the bytes from the start of all of it; cached: as of
    `encode`."""
    shift, how = who[CELL], SURE
    count = max(total >> shift, 1)
    here = who[CTA] << 32 | who[INTERVAL] << 16
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
def global_store(cells, total, lanes, who, wrote, read):
    """The same of a store."""
    shift, how = who[CELL], SURE
    count = max(total >> shift, 1)
    here = who[CTA] << 32 | who[INTERVAL] << 16
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = U64(here | who[FIRST] + i + 1)
        first = I64(cells[i]) >> shift
        for cell in range(first, first + count):
            writer, reader = wrote[cell], read[cell]
            if not (writer and _meet(writer, mine) or reader and _meet(reader, mine)):
                wrote[cell] = mine
                continue
            how = DOUBTFUL
            if writer and _apart(writer, mine) or reader and _apart(reader, mine):
                wrote[cell] = ALL
            else:
                wrote[cell] = U64(here | SEVERAL)
    return how


@within
def updated_in_global(cells, total, lanes, who, updated):
    """The same of global memory."""
    shift = who[CELL]
    count = max(total >> shift, 1)
    here = who[CTA] << 32 | who[INTERVAL] << 16
    for i in range(LANES):
        if lanes[i]:
            mine = U64(here | who[FIRST] + i + 1)
            first = I64(cells[i]) >> shift
            for cell in range(first, first + count):
                if updated[cell] and _meet(updated[cell], mine):
                    return DOUBTFUL
    return SURE


@within
def _meet(one, other):
    """Whether an access before may be unordered with one now: by another CTA, or another thread in the same interval."""
    return _apart(one, other) or one >> U64(16) == other >> U64(16) and one != other


@within
def _apart(one, other):
    """Whether two accesses are by different CTAs."""
    return one >> U64(32) != other >> U64(32)
