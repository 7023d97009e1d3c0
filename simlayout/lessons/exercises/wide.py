"""Lesson 2: wide accesses."""

import numpy as np

from simlayout.algebra import Layout
from simlayout.hardware import analyze
from simlayout.lessons.exercises.answers import Exercise, Refused, Right, drawn, pair_that_meets, warp_addresses
from simlayout.lessons.exercises.said import Said
from simlayout.proofs import Access
from simlayout.testing import assert_bijective, assert_conflict_free

THREADS, PIECES = 32, 2


def judge_pairs(answer):
    """2.1: 16 different addresses that ld.shared.b128 serves in two wavefronts, though lanes 0 and 1 differ."""
    addresses = warp_addresses(answer, 16)
    different = len(np.unique(addresses))
    if different != 16:
        raise Refused("the lanes have {} different addresses, not 16", different)
    if addresses[0] == addresses[1]:
        raise Refused("lanes 0 and 1 have one address, {}: pair the lanes in the other way", addresses[0])
    one = analyze("ld.shared.b128", addresses)
    if one.wavefronts[0] == 2:
        return Right(draw=drawn("ld.shared.b128", addresses))
    raise Refused("{} wavefronts: {}", int(one.wavefronts[0]), _why(addresses, one))


def _why(addresses, one):
    """The lanes that break the pairs; if all lanes pair up, those that conflict."""
    if one.ideal[0] == 2:
        return Said("the lanes pair up, but {}", pair_that_meets("ld.shared.b128", addresses))
    lanes = np.arange(32)
    firsts = [(int(np.argmax(addresses != addresses[lanes ^ step])), step) for step in (1, 2)]
    lane, step = max(firsts, key=lambda first: (first[0], -first[1]))
    first, second = addresses[[lane, lane ^ step]]
    return Said("lanes {} and {} (lane ^ {}) have the addresses {} and {}; groups merge only if lane ^ 1, or lane ^ 2, has "
                "the same address all over the warp", lane, lane ^ step, step, first, second)


def judge_pieces(answer):
    """2.2: where the two 16-byte pieces of each thread lie."""
    if not callable(answer):
        raise Refused("a function (tid, i) -> offset in floats is asked for, not {}", repr(answer))
    pieces = Access("pieces", "ld.shared.b128", answer, None, {"tid": THREADS, "i": PIECES}, "f32")
    offsets = pieces.offsets()
    if (offsets % 4).any():
        i, tid = (int(x) for x in np.argwhere(offsets % 4)[0])
        raise Refused("tid = {}, i = {}: offset {} is not a multiple of 4 floats, 16 bytes", tid, i, offsets[i, tid])
    assert_bijective(pieces, size=THREADS * PIECES * 4)
    assert_conflict_free(pieces)
    return Right(draw=pieces.plot)


BLOCK = Layout((16, 32), (32, 1))


def judge_lanes(answer):
    """2.3: which pair of floats each lane reads, so that every one is read once and without conflicts."""
    if not callable(answer):
        raise Refused("a function (tid, k) -> (row, col) is asked for, not {}", repr(answer))
    load = Access("block", "ld.shared.b64", BLOCK, answer, {"tid": 32, "k": 8}, "f32")
    assert_bijective(load)
    assert_conflict_free(load)
    return Right(draw=load.plot)


EXERCISES = {
    "2.1": Exercise(Said("32 addresses, 16 different ones, lanes 0 and 1 apart, that ld.shared.b128 reads in 2 wavefronts"),
                    judge_pairs),
    "2.2": Exercise(Said("a function (tid, i) -> offset in floats of the i-th 16 bytes of each thread"), judge_pieces),
    "2.3": Exercise(Said("a function (tid, k) -> (row, col) by which ld.shared.b64 reads a 16x32 tile of f32"), judge_lanes),
}
