"""Whether loads and stores may take part in a race: a look that is quick, and never misses one (see `machine.ptx.doubts`).

For every cell of memory two numbers say who wrote it last and who has read it: the CTA, the interval between barriers of
the whole CTA, and the thread. Shared memory: interval << 12 | thread + 1, uint32; global memory: CTA + 1 << 32 |
interval << 16 | thread + 1, uint64. 0 is nobody. What the functions are given are pointers.
"""

import numpy as np

from simlayout.jit import within
from simlayout.machine.ptx.compiled.rows import LANES
from simlayout.machine.ptx.doubts import CELL, CTA, FIRST, INTERVAL, SHARED_CELL

U32, U64, I64 = np.uint32, np.uint64, np.int64
SOME = 0xFFF
"""In the place of a thread of shared memory: several threads of the CTA have read it, or have written it in a doubt."""

SURE, DOUBTFUL, UNSURE = range(3)
"""Of an access: that there is nothing to tell of it; that it may race, and goes on all the same; anything else."""

SEVERAL, ALL = 0xFFFF, U64(0xFFFFFFFFFFFFFFFF)
"""The same of global memory; and instead of everything: threads of several CTAs have."""


@within
def shared_load(at, start, total, lanes, who, wrote, read):
    """SURE of a load that is no part of a race, DOUBTFUL of one that may be, UNSURE of one of what nobody wrote; notes that
    its lanes have read."""
    shift, interval, how = who[SHARED_CELL], who[INTERVAL], SURE
    count = max(total >> shift, 1)
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = interval << 12 | who[FIRST] + i + 1
        first = (I64(at[i]) - start) >> shift
        for cell in range(first, first + count):
            writer, reader = I64(wrote[cell]), I64(read[cell])
            if writer == 0:
                return UNSURE
            if writer >> 12 == interval and writer != mine:
                how = DOUBTFUL
            if reader >> 12 != interval:
                read[cell] = U32(mine)
            elif reader != mine:
                read[cell] = U32(interval << 12 | SOME)
    return how


@within
def shared_store(at, start, total, lanes, who, wrote, read):
    """The same of a store."""
    shift, interval, how = who[SHARED_CELL], who[INTERVAL], SURE
    count = max(total >> shift, 1)
    for i in range(LANES):
        if not lanes[i]:
            continue
        mine = interval << 12 | who[FIRST] + i + 1
        first = (I64(at[i]) - start) >> shift
        for cell in range(first, first + count):
            writer, reader = I64(wrote[cell]), I64(read[cell])
            if writer >> 12 == interval and writer != mine or reader >> 12 == interval and reader != mine:
                how = DOUBTFUL
                wrote[cell] = U32(interval << 12 | SOME)
            else:
                wrote[cell] = U32(mine)
    return how


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
def _meet(one, other):
    """Whether an access before may be unordered with one now: by another CTA, or another thread in the same interval."""
    return _apart(one, other) or one >> U64(16) == other >> U64(16) and one != other


@within
def _apart(one, other):
    """Whether two accesses are by different CTAs."""
    return one >> U64(32) != other >> U64(32)
