"""The look at shared memory where mbarriers, engines and barriers of some warps order what happens: it asks the clocks.

A *mark* says who has touched a cell of memory, otherwise than those of `memory.marks`: an int64 with a number in its upper
40 bits, of a thread its epoch, of an engine that of what it did, and a code in its lower 24: 1 + the column in the clocks
that the thread or the engine has (see `hazards.clocks`), or SOME + a warp for several of its lanes. 0 is nobody, ON_ITS_WAY
a copy. Each cell has the mark of what wrote it last, and of each warp that of what read it last. Where stores of one value
come in any order the first one is MANY, and each warp has one of its own. What engines read has for each of them, by 16
bytes, 1 + the index of a number: until that is known nobody may write there.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import jit, within
from simlayout.machine.ptx.compiled.doubts import DOUBTFUL, SAME, SURE, UNWRITTEN, agrees, holds
from simlayout.machine.ptx.compiled.encode import COUNT, LIKE, SIZE
from simlayout.machine.ptx.compiled.pointers import i32s, i64s, u32s
from simlayout.machine.ptx.memory.held import CELL, FIRST
from simlayout.machine.ptx.memory.marks import MIXED

U32, I64 = np.uint32, np.int64

(KNOWN, STRIDE, MET, EPOCHS, WARPS, THREADS, WROTE, BY, READ, WRITERS, ENGINES, UNITS, READING, NUMBERS, COLUMNS, FENCED,
 FIELDS) = range(17)
"""What the functions are given, int64: where in this process the table of the clocks is, 0 if nobody knows anything, and the
numbers of one of its rows; where that is before which all is known, and the epochs, of each warp; how many warps and threads
there are; where these are of each cell: what wrote it, by what it was written (see `doubts`), what read it, and what wrote
it where that is MANY, the two of each warp; of engines that read: how many there are, 16-byte units of memory, where the
indices are of each unit, their numbers, and the columns of the engines; where that is what the touch's threads all know to
have passed a fence, by column."""

SOME, MANY, ON_ITS_WAY = 1 << 22, 1 << 23, -1
"""Codes, and a mark; see above."""

PIECE = 2
"""Bytes of a row of a matrix that are of one lane (`touches.matrix_lanes`)."""

_SHIFT = 24

READS, WRITES, CHECKS, ENGINE_READS, COPIES, ENGINE_WRITES, LANDS = range(7)
"""What a touch does: lanes read, or write; they look at what is there; an engine begins to read, or to write, from then on;
a copy by lanes begins; it has landed."""


@within
def mark_of(number, code):
    """A mark."""
    return number << _SHIFT | code


@within
def _number(mark):
    return mark >> _SHIFT


@within
def _code(mark):
    return mark & (1 << _SHIFT) - 1


@within
def _warp(mark):
    """The warp of what threads did."""
    code = _code(mark)
    return code - SOME if code >= SOME else code - 1 >> 5


@within
def _knows(me, column, number, of):
    """Whether a thread knows what a thread or an engine did up to a number."""
    if column < of[THREADS] and (column == me or number < i64s(of[MET])[column >> 5]):
        return True
    return of[KNOWN] != 0 and i32s(of[KNOWN])[me * of[STRIDE] + column] >= number


@within
def _one_before(mark, me, of):
    """Whether what a mark that is not MANY says happens before what a thread does now."""
    if mark == ON_ITS_WAY:
        return False
    number, code = _number(mark), _code(mark)
    if code < SOME:
        return _knows(me, code - 1, number, of)
    for lane in range(LANES):
        if not _knows(me, LANES * (code - SOME) + lane, number, of):
            return False
    return True


@within
def _before(mark, cell, me, of):
    """The same of any mark of what wrote a cell."""
    if mark == ON_ITS_WAY or _code(mark) != MANY:
        return _one_before(mark, me, of)
    writers = i64s(of[WRITERS])
    for warp in range(of[WARPS]):
        each = writers[cell * of[WARPS] + warp]
        if each and not _one_before(each, me, of):
            return False
    return True


@within
def _surely(mark, cell, me, of):
    """Whether of stores of one value, of which not all come before what a thread does now, one surely does not."""
    if _code(mark) != MANY:
        return _one_surely(mark, me, of)
    writers = i64s(of[WRITERS])
    for warp in range(of[WARPS]):
        each = writers[cell * of[WARPS] + warp]
        if each and _one_surely(each, me, of):
            return True
    return False


@within
def _one_surely(mark, me, of):
    """The same of a mark that is not MANY; of several lanes it says when the last one did it, and not which they are."""
    number, warp = _number(mark), _code(mark) - SOME
    if warp < 0:
        return not _one_before(mark, me, of)
    if warp == me >> 5:                                  # the last one may be this thread, and another one earlier
        number = i64s(of[MET])[warp]
    for lane in range(LANES):
        if LANES * warp + lane != me and _knows(me, LANES * warp + lane, number, of):
            return False
    return True


@within
def _together(old, mine, me, of):
    """The mark of what threads of one warp did, of which `mine` is now."""
    if old == 0 or old == mine or _one_before(old, me, of):
        return mine
    return _by_some(mine)


@within
def _by_some(mark):
    """The mark of several lanes of a warp, of which one did something last."""
    return mark_of(_number(mark), SOME + _warp(mark))


@within
def _note_read(cell, me, mine, of):
    at = cell * of[WARPS] + (me >> 5)
    reads = i64s(of[READ])
    old = reads[at]
    if old != mine and old != _by_some(mine):
        reads[at] = _together(old, mine, me, of)


@within
def _may_overwrite(cell, shift, me, of):
    """Whether all that has read a cell happens before what a thread does now."""
    reads = i64s(of[READ])
    for warp in range(of[WARPS]):
        each = reads[cell * of[WARPS] + warp]
        if each and not _one_before(each, me, of):
            return False
    unit = cell << shift >> 4
    for engine in range(of[ENGINES]):
        index = i32s(of[READING])[engine * of[UNITS] + unit]
        if index and not _knows(me, i64s(of[COLUMNS])[engine], i64s(of[NUMBERS])[index - 1], of):
            return False
    return True


@within
def ordered_load(cells, total, lanes, who, of):
    """As `doubts.shared_load`."""
    shift, how = who[CELL], SURE
    count = max(total >> shift, 1)
    wrote, epoch = i64s(of[WROTE]), i64s(of[EPOCHS])[who[FIRST] >> 5]
    for i in range(LANES):
        if not lanes[i]:
            continue
        me = who[FIRST] + i
        first = I64(cells[i]) >> shift
        for cell in range(first, first + count):
            if wrote[cell] == 0:
                how = max(how, UNWRITTEN)
            elif not _before(wrote[cell], cell, me, of):
                how = DOUBTFUL
            _note_read(cell, me, mark_of(epoch, me + 1), of)
    return how


@within
def ordered_store(step, rows, at, cells, lanes, who, of):
    """As `doubts.store`, of shared memory; what is DOUBTFUL is noted nowhere."""
    shift, like, how = who[CELL], U32(step[LIKE]), SURE
    count = max(step[SIZE] * step[COUNT] >> shift, 1)
    wrote, by, epoch = i64s(of[WROTE]), u32s(of[BY]), i64s(of[EPOCHS])[who[FIRST] >> 5]
    mixed = U32(0)                                       # a bit for each lane that overwrites something else
    for i in range(LANES):
        if not lanes[i]:
            continue
        me, bit, same = who[FIRST] + i, U32(1) << U32(i), I64(-1 if like else 0)
        first = I64(cells[i]) >> shift
        for cell in range(first, first + count):
            if not _may_overwrite(cell, shift, me, of):
                return DOUBTFUL
            if wrote[cell] == 0:
                continue
            if same < 0:
                same = I64(holds(step, rows, at, i))
            again = same > 0 and by[cell] == like
            if _before(wrote[cell], cell, me, of):
                mixed |= U32(0) if again or _settled(wrote[cell], of) else bit
            elif again and _surely(wrote[cell], cell, me, of):
                how = SAME
            else:
                return DOUBTFUL
    for i in range(LANES):
        if not lanes[i]:
            continue
        me, bit = who[FIRST] + i, U32(1) << U32(i)
        mine, first = mark_of(epoch, me + 1), I64(cells[i]) >> shift
        for cell in range(first, first + count):
            old = wrote[cell]
            if old == 0 or _before(old, cell, me, of):
                wrote[cell] = mine
            elif not agrees(step, rows, at, lanes, i):
                return DOUBTFUL
            else:
                wrote[cell] = _added(old, mine, cell, me, of)
            by[cell] = U32(MIXED) if mixed & bit else like
    return how


@within
def _settled(mark, of):
    """Whether a barrier of the whole CTA came behind what a thread, or some of a warp, did."""
    code = _code(mark)
    warp = code - 1 >> 5 if code <= of[THREADS] else code - SOME
    return 0 <= warp < of[WARPS] and _number(mark) < i64s(of[MET])[warp]


@within
def _added(old, mine, cell, me, of):
    """The mark of a cell that several have written, of which nothing orders the last one, `mine`, behind the others."""
    writers, here, warp = i64s(of[WRITERS]), cell * of[WARPS], me >> 5
    if _code(old) != MANY:
        writer = _warp(old)
        if writer == warp:
            return _together(old, mine, me, of)
        for each in range(of[WARPS]):
            writers[here + each] = 0
        writers[here + writer] = old
    writers[here + warp] = _together(writers[here + warp], mine, me, of)
    return I64(MANY)


@jit
def touched(what, rows, nbytes, lanes, used, number, who, of):
    """SURE of what a touch does, or another one of those. rows: int64 [n], units of nbytes; lanes: int64 [n, 1] or [n,
    nbytes], who touches them; used: bool [n, nbytes], or with no rows, which bytes are; number: the mark of what has
    landed, 0 if lanes have written; who, of: int64."""
    shift, first = who[CELL], who[FIRST]
    size = 1 << shift
    table = i64s(I64(of.ctypes.data))
    wrote, by, epoch = i64s(table[WROTE]), u32s(table[BY]), i64s(table[EPOCHS])[first >> 5]
    every, how = lanes.shape[1] > 1, SURE
    if every:
        size = min(size, PIECE)                          # a cell may be of two lanes
    for n in range(len(rows)):
        for byte in range(0, nbytes, size):
            if len(used) and not used[n, byte:byte + size].any():
                continue
            me = first + lanes[n, byte if every else 0]
            cell = rows[n] * nbytes + byte >> shift
            mark = wrote[cell]
            if what == READS or what == CHECKS or what == ENGINE_READS:
                if mark == 0:
                    how = UNWRITTEN
                elif not _before(mark, cell, me, table):
                    return DOUBTFUL
            elif what != LANDS:
                if mark and not _before(mark, cell, me, table) or not _may_overwrite(cell, shift, me, table):
                    return DOUBTFUL
            if (what == ENGINE_READS or what == ENGINE_WRITES) and not _fenced(mark, cell, table):
                return DOUBTFUL
            if what == READS:
                _note_read(cell, me, mark_of(epoch, me + 1), table)
    if what < WRITES or what == CHECKS or what == ENGINE_READS:
        return how
    for n in range(len(rows)):
        for byte in range(0, nbytes, size):
            me = first + lanes[n, byte if every else 0]
            cell = rows[n] * nbytes + byte >> shift
            mine = mark_of(epoch, me + 1)
            if what == COPIES or what == ENGINE_WRITES:
                wrote[cell] = I64(ON_ITS_WAY)
            elif number:
                wrote[cell] = number
            elif _code(wrote[cell]) < MANY:
                wrote[cell] = _together(wrote[cell], mine, me, table)          # with another lane of this touch
            else:
                wrote[cell] = mine
            by[cell] = U32(MIXED)
    return SURE


@within
def _fenced(mark, cell, of):
    """Whether what threads wrote has passed a fence of the async proxy."""
    if _code(mark) == MANY:
        writers = i64s(of[WRITERS])
        for warp in range(of[WARPS]):
            each = writers[cell * of[WARPS] + warp]
            if each and not _one_fenced(each, of):
                return False
        return True
    return _one_fenced(mark, of)


@within
def _one_fenced(mark, of):
    number, code = _number(mark), _code(mark)
    if not number or code < SOME and code > of[THREADS]:
        return True                                      # nobody wrote it, or an engine
    if not of[FENCED]:
        return False
    passed = i32s(of[FENCED])
    if code < SOME:
        return passed[code - 1] >= number
    for lane in range(LANES):
        if passed[LANES * (code - SOME) + lane] < number:
            return False
    return True
