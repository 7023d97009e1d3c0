"""Lesson 1: banks and wavefronts."""

import numpy as np

from simlayout.algebra import Layout
from simlayout.hardware import analyze
from simlayout.lessons.exercises.answers import Exercise, Refused, Right, drawn, judge_tile, pair_that_meets, warp_addresses
from simlayout.lessons.exercises.said import Said
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
        raise Refused("lanes {} and {} have the same word, {}: all 32 are to be different", first, second,
                      addresses[second] // 4)
    one = analyze("ld.shared.b32", addresses)
    wavefronts = int(one.wavefronts[0])
    if wavefronts == WANTED:
        return Right(draw=drawn("ld.shared.b32", addresses))
    met = pair_that_meets("ld.shared.b32", addresses)
    if wavefronts < WANTED:
        why = Said("{}, but no bank has {} words", met, WANTED) if met else Said("no two of its lanes share a bank")
        raise Refused("the load takes fewer wavefronts than {}: {}", WANTED, why)
    phase, bank, after = one.explain().splitlines()[1:4]
    more = " ..." if after.startswith(8 * " ") else ""          # where the bank has more words than a line holds
    raise Refused("the load takes more wavefronts than {}: {}\n{}", WANTED, met, f"{phase}\n{bank}{more}")


def judge_padding(answer):
    """1.2: a padded layout that serves rows and columns."""
    if not isinstance(answer, Layout):
        raise Refused("a Layout of shape (32, 32) is asked for, as in sl.Layout((32, 32), (32, 1)), not {}", repr(answer))
    tile = judge_tile(answer, PLAIN, (BY_ROWS, BY_COLUMNS), 32 * 36)
    return Right(Said("it takes {} bytes, {} more than the tile", 4 * answer.cosize, 4 * (answer.cosize - 1024)),
                 BY_COLUMNS.with_tile(tile).plot)


def judge_permutation(answer):
    """1.3: a permutation of the 1024 words that serves rows and columns."""
    tile = judge_tile(answer, PLAIN, (BY_ROWS, BY_COLUMNS))
    return Right(Said("it wastes no byte"), BY_COLUMNS.with_tile(tile).plot)


EXERCISES = {
    "1.1": Exercise(Said("32 byte addresses of 32 different words that take exactly {} wavefronts", WANTED),
                    judge_addresses),
    "1.2": Exercise(Said("pad a 32x32 tile of f32"), judge_padding),
    "1.3": Exercise(Said("a function (row, col) -> word that permutes the 1024 words of a 32x32 tile of f32"),
                    judge_permutation),
}
