"""Lesson 3: ldmatrix."""

from simlayout import plots
from simlayout.algebra import Layout
from simlayout.hardware import fragment
from simlayout.lessons.exercises.answers import Exercise, Refused, Right, integer, judge_tile
from simlayout.lessons.exercises.said import Said
from simlayout.proofs import Access

MMA = "m16n8k16.f32.f16.f16.f32"
ROWS, COLUMNS, MOST = 16, 64, 80
PLAIN = Layout((ROWS, COLUMNS), (COLUMNS, 1))
LOADS = tuple(Access(f"load ({name})", name, PLAIN, lambda tid, k: (tid % 16, 16 * k + 8 * (tid // 16)),
                     {"tid": 32, "k": 4}, "f16") for name in ("ldmatrix.x4", "ldmatrix.x4.trans"))


def judge_pitch(answer):
    """3.1: the pitch of a padded 16x64 tile."""
    pitch = integer(answer, Said("the pitch"))
    if not COLUMNS <= pitch <= MOST:
        raise Refused("a pitch of {} halves: rows have {}, and the pitch is to be at most {}", pitch, COLUMNS, MOST)
    padded = Layout((ROWS, COLUMNS), (pitch, 1))
    judge_tile(padded, PLAIN, LOADS, padded.cosize)
    return Right(Said("rows begin {} bytes apart", 2 * pitch), LOADS[0].with_tile(padded).plot)


def row_of_a(lane):
    """The (row, k) whose 16 bytes lane 8m + r must give, so that register m of every lane is register m of fragment A."""
    return fragment(MMA, "A")(4 * (lane % 8), 2 * (lane // 8))


def row_of_b(lane):
    """The same of two B, 16 x 8 each, side by side, by .trans: row r of matrix m is (k, n) of eight n."""
    matrix, row = divmod(lane, 8)
    k, n = fragment(MMA, "B")(row // 2, 2 * (matrix % 2) + row % 2)
    return k, n + 8 * (matrix // 2)


def _judge_lanes(expected, operand, instruction):
    def judge(answer):
        if not callable(answer):
            raise Refused("a function tid -> (row, col) is asked for, not {}", repr(answer))
        for lane in range(32):
            answered = tuple(int(x) for x in answer(lane))
            if answered != expected(lane):
                raise Refused("lane {} gives the 16 bytes from {} on: row {} of matrix {}, which comes into register {}. "
                              "There mma wants other elements of {}, from {} on", lane, answered, lane % 8, lane // 8,
                              lane // 8, operand, expected(lane))
        given = Access(operand, instruction, Layout((16, 16), (16, 1)), answer, {"tid": 32}, "f16")
        return Right(draw=lambda: plots.draw(plots.touched(given, colour="phase", title=f"{instruction}: {operand}")))

    return judge


EXERCISES = {
    "3.1": Exercise(Said("a pitch in halves, at most {}, for a 16x64 tile", MOST), judge_pitch),
    "3.2": Exercise(Said("a function tid -> (row, k) of A by which ldmatrix.x4 fills fragment A of m16n8k16"),
                    _judge_lanes(row_of_a, "A", LOADS[0].instruction)),
    "3.3": Exercise(Said("a function tid -> (k, n) of B by which ldmatrix.x4.trans fills two fragments B of m16n8k16"),
                    _judge_lanes(row_of_b, "B", LOADS[1].instruction)),
}
