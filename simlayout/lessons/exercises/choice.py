"""Lesson 6: padding, rotation or XOR."""

from simlayout.algebra import Layout, Rotation
from simlayout.lessons.exercises.answers import Exercise, Refused, Right, integer, judge_tile
from simlayout.lessons.exercises.said import Said
from simlayout.proofs import Access

PLAIN = Layout((64, 32), (32, 1))
LOAD = Access("load", "ldmatrix.x4", PLAIN, lambda tid, i, k: (16 * i + tid % 16, 16 * k + 8 * (tid // 16)),
              {"tid": 32, "i": 4, "k": 2}, "f16")
COPY = Access("copy", "st.shared.b128", PLAIN, lambda tid, i: (8 * i + tid // 4, 8 * (tid % 4)), {"tid": 32, "i": 8}, "f16")
MOST_BYTES = 5120

ODD = Layout((24, 48), (48, 1))
OF_ODD = Access("load", "ldmatrix.x2", ODD, lambda tid, i, k: (8 * i + tid % 8, 16 * k + 8 * (tid // 8 % 2)),
                {"tid": 32, "i": 3, "k": 3}, "f16")


def judge_pitch(answer):
    """6.1: padding that serves the load."""
    pitch = integer(answer, Said("the pitch"))
    if pitch < 32:
        raise Refused("a pitch of {} halves: rows of 32 halves overlap", pitch)
    if 64 * 2 * pitch > MOST_BYTES:
        raise Refused("a pitch of {} halves: 64 rows take {} bytes, and may take {}", pitch, 64 * 2 * pitch, MOST_BYTES)
    padded = Layout((64, 32), (pitch, 1))
    judge_tile(padded, PLAIN, (LOAD,), padded.cosize)
    excess = int(COPY.with_tile(padded).analyze().excess[0])
    return Right(Said("the load is free, and each copy has {} excess wavefronts", excess), LOAD.with_tile(padded).plot)


def judge_rotation(answer):
    """6.2: a rotation that serves load and copy."""
    if not isinstance(answer, Rotation):
        raise Refused("a rotation is asked for, sl.Rotation(chunk, count, line), not {}", repr(answer))
    tile = judge_tile(answer, PLAIN, (LOAD, COPY))
    return Right(Said("load and copy are free, and no byte is wasted"), LOAD.with_tile(tile).plot)


def judge_odd(answer):
    """6.3: rows that are no power of two."""
    tile = judge_tile(answer, ODD, (OF_ODD,))
    return Right(Said("no byte is wasted"), OF_ODD.with_tile(tile).plot)


EXERCISES = {
    "6.1": Exercise(Said("a pitch in halves for the 64x32 tile, within {} bytes", MOST_BYTES), judge_pitch),
    "6.2": Exercise(Said("sl.Rotation(chunk, count, line) for the 64x32 tile"), judge_rotation),
    "6.3": Exercise(Said("a place for a 24x48 tile of halves within its 1152 elements"), judge_odd),
}
