"""Lesson 1: banks and wavefronts."""

import numpy as np

from simlayout.algebra import Layout
from simlayout.hardware import analyze
from simlayout.lessons.exercises.asking import Exercise, Refused, Right, drawn, judge_tile, pair_that_meets, warp_addresses
from simlayout.proofs import Access

WANTED = 8
"""Wavefronts that 1.1 asks for."""

PLAIN = Layout((32, 32), (32, 1))
BY_ROWS = Access("row", "ld.shared.b32", PLAIN, lambda tid, k: (k, tid), {"tid": 32, "k": 32}, "f32")
BY_COLUMNS = Access("column", "ld.shared.b32", PLAIN, lambda tid, k: (tid, k), {"tid": 32, "k": 32}, "f32")


def judge_addresses(answer):
    """1.1: 32 different words that take exactly 8 wavefronts."""
    addresses = warp_addresses(answer, 4)
    same = np.flatnonzero(np.triu(addresses[:, None] == addresses[None, :], 1).any(axis=0))
    if same.size:
        second = int(same[0])
        first = int(np.argmax(addresses == addresses[second]))
        raise Refused(f"lanes {first} and {second} have the same word, {addresses[second] // 4}: all 32 are to be different")
    one = analyze("ld.shared.b32", addresses)
    wavefronts = int(one.wavefronts[0])
    if wavefronts == WANTED:
        return Right(draw=drawn("ld.shared.b32", addresses))
    met = pair_that_meets("ld.shared.b32", addresses)
    if wavefronts < WANTED:
        raise Refused(f"the load takes fewer wavefronts than {WANTED}: " +
                      (f"{met}, but no bank has {WANTED} words" if met else "no two of its lanes share a bank"))
    raise Refused(f"the load takes more wavefronts than {WANTED}: {met}\n" +
                  "\n".join(one.explain().splitlines()[1:3]))


def judge_padding(answer):
    """1.2: a padded layout that serves rows and columns."""
    if not isinstance(answer, Layout):
        raise Refused(f"a Layout of shape (32, 32) is asked for, as in sl.Layout((32, 32), (32, 1)), not {answer!r}")
    tile = judge_tile(answer, PLAIN, (BY_ROWS, BY_COLUMNS), 32 * 36)
    return Right(f"it takes {4 * answer.cosize} bytes, {4 * (answer.cosize - 1024)} more than the tile",
                 BY_COLUMNS.with_tile(tile).plot)


def judge_permutation(answer):
    """1.3: a permutation of the 1024 words that serves rows and columns."""
    tile = judge_tile(answer, PLAIN, (BY_ROWS, BY_COLUMNS))
    return Right("it wastes no byte", BY_COLUMNS.with_tile(tile).plot)


EXERCISES = {
    "1.1": Exercise(f"32 byte addresses of 32 different words that take exactly {WANTED} wavefronts", judge_addresses),
    "1.2": Exercise("pad a 32x32 tile of f32", judge_padding),
    "1.3": Exercise("a function (row, col) -> word that permutes the 1024 words of a 32x32 tile of f32", judge_permutation),
}
