"""Lesson 3: ldmatrix."""

from simlayout.algebra import Layout
from simlayout.hardware import fragment
from simlayout.lessons.exercises.asking import Exercise, Refused, Right, integer, judge_tile
from simlayout.proofs import Access

MMA = "m16n8k16.f32.f16.f16.f32"
ROWS, COLUMNS, MOST = 16, 64, 80
PLAIN = Layout((ROWS, COLUMNS), (COLUMNS, 1))
LOADS = tuple(Access(f"load ({name})", name, PLAIN, lambda tid, k: (tid % 16, 16 * k + 8 * (tid // 16)),
                     {"tid": 32, "k": 4}, "f16") for name in ("ldmatrix.x4", "ldmatrix.x4.trans"))


def judge_pitch(answer):
    """3.1: the pitch of a padded 16x64 tile."""
    pitch = integer(answer, "the pitch")
    if not COLUMNS <= pitch <= MOST:
        raise Refused(f"a pitch of {pitch} halves: rows have {COLUMNS}, and the pitch is to be at most {MOST}")
    padded = Layout((ROWS, COLUMNS), (pitch, 1))
    judge_tile(padded, PLAIN, LOADS, padded.cosize)
    return Right(f"rows begin {2 * pitch} bytes apart", LOADS[0].with_tile(padded).plot)


def row_of_a(lane):
    """The (row, k) whose 16 bytes lane 8m + r must give, so that register m of every lane is register m of fragment A."""
    return fragment(MMA, "A")(4 * (lane % 8), 2 * (lane // 8))


def row_of_b(lane):
    """The same of two B, 16 x 8 each, side by side, by .trans: row r of matrix m is (k, n) of eight n."""
    matrix, row = divmod(lane, 8)
    k, n = fragment(MMA, "B")(row // 2, 2 * (matrix % 2) + row % 2)
    return k, n + 8 * (matrix // 2)


def _judge_lanes(expected, operand):
    def judge(answer):
        if not callable(answer):
            raise Refused(f"a function tid -> (row, col) is asked for, not {answer!r}")
        for lane in range(32):
            answered = tuple(int(x) for x in answer(lane))
            if answered != expected(lane):
                raise Refused(f"lane {lane} gives the 16 bytes from {answered} on: row {lane % 8} of matrix {lane // 8}, "
                              f"which comes into register {lane // 8}. There mma wants other elements of {operand}, from "
                              f"{expected(lane)} on")
        return Right()

    return judge


EXERCISES = {
    "3.1": Exercise(f"a pitch in halves, at most {MOST}, for a 16x64 tile", judge_pitch),
    "3.2": Exercise("a function tid -> (row, k) of A by which ldmatrix.x4 fills fragment A of m16n8k16",
                    _judge_lanes(row_of_a, "A")),
    "3.3": Exercise("a function tid -> (k, n) of B by which ldmatrix.x4.trans fills two fragments B of m16n8k16",
                    _judge_lanes(row_of_b, "B")),
}
