"""Lesson 5: the practical swizzle problems."""

from simlayout.algebra import Layout
from simlayout.lessons.exercises.answers import Exercise, Right, judge_tile
from simlayout.lessons.exercises.said import Said
from simlayout.proofs import Access

SQUARE, HALVES, WIDE = (Layout((16, n), (n, 1)) for n in (16, 32, 256))


def _matrices(name, tile, lanes, domain, instructions):
    """An Access for each instruction, all of the same lanes."""
    return tuple(Access(f"{name} ({instruction})", instruction, tile, lanes, domain, "f16") for instruction in instructions)


LOADS = ("ldmatrix.x4", "ldmatrix.x4.trans")
OF_SQUARE = _matrices("tile", SQUARE, lambda tid: (tid % 16, 8 * (tid // 16)), {"tid": 32}, (*LOADS, "stmatrix.x4"))
OF_HALVES = _matrices("half", HALVES, lambda tid, half: (tid % 16, 16 * half + 8 * (tid // 16)), {"tid": 32, "half": 2},
                      LOADS)
OF_WIDE = (
    *_matrices("rows", WIDE, lambda tid, i: (i, 16 * (tid % 16) + 8 * (tid % 32 // 16)), {"tid": 32, "i": 16}, LOADS[:1]),
    *_matrices("blocks", WIDE, lambda tid, k: (tid % 16, 16 * k + 8 * (tid % 32 // 16)), {"tid": 32, "k": 16}, LOADS[:1]),
)


def _judge(plain, accesses):
    def judge(answer):
        tile = judge_tile(answer, plain, accesses)
        return Right(Said("{} accesses without conflicts, and no byte wasted", len(accesses)),
                     accesses[0].with_tile(tile).plot)

    return judge


EXERCISES = {
    "5.1": Exercise(Said("a swizzle of the 16x16 tile of halves, as sl.Swizzle(B, M, S)"), _judge(SQUARE, OF_SQUARE)),
    "5.2": Exercise(Said("a swizzle of the 16x32 tile of halves"), _judge(HALVES, OF_HALVES)),
    "5.3": Exercise(Said("a swizzle of the 16x256 tile of halves that serves rows and blocks"), _judge(WIDE, OF_WIDE)),
}
