"""What all 32 lanes of a warp do together: bar.warp.sync, shuffles and votes (`opcodes.warps` says what they do)."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.ptx.compiled.encode import EXCHANGES

U64, I64 = np.uint64, np.int64
SYNC, UP, DOWN, BFLY, IDX, ALL, ANY, UNI, BALLOT = range(len(EXCHANGES))


@within
def all_named(masks):
    """Whether each lane gives a membermask that names all lanes."""
    common = U64(0xFFFFFFFF)
    for i in range(LANES):
        common &= masks[i]
    return common == U64(0xFFFFFFFF)


@within
def exchange(code, flip, a, b, c, result, second):
    """Makes the rows of the two results of a shuffle or a vote of rows a, b, c; flip: 1 if a vote is on what is not so."""
    if code >= ALL:
        _vote(code, flip, a, result)
    elif code != SYNC:
        for i in range(LANES):
            source = _source(code, i, I64(b[i]) & 31, I64(c[i]))
            second[i] = U64(source >= 0)
            result[i] = a[source if source >= 0 else i] & U64(0xFFFFFFFF)


@within
def _source(code, lane, b, c):
    """The lane from which a lane reads; -1 if that is out of range."""
    segment = c >> 8 & 31
    least = lane & segment
    most = least | c & 31 & ~segment
    if code == UP:
        return lane - b if lane - b >= most else -1
    source = lane + b if code == DOWN else lane ^ b if code == BFLY else least | b & ~segment
    return source if source <= most else -1


@within
def _vote(code, flip, a, result):
    bits, count = U64(0), 0
    for i in range(LANES):
        true = a[i] ^ U64(flip)
        bits |= true << U64(i)
        count += I64(true)
    if code == ALL:
        bits = U64(count == LANES)
    elif code == ANY:
        bits = U64(count > 0)
    elif code == UNI:
        bits = U64(count == LANES or count == 0)
    for i in range(LANES):
        result[i] = bits
