"""Lesson 4: fragments."""

from simlayout import plots
from simlayout.algebra import Layout
from simlayout.hardware import fragment
from simlayout.lessons.exercises.asking import Exercise, Refused, Right, integer, judge_tile
from simlayout.proofs import Access

MMA = "m16n8k16.f32.f16.f16.f32"
ELEMENT = 10, 5
"""Of D, in 4.1."""

PLAIN = Layout((16, 64), (64, 1))
STORE = Access("store D", "st.shared.b32", PLAIN, lambda tid, j, half: (tid // 4 + 8 * half, 8 * j + 2 * (tid % 4)),
               {"tid": 32, "j": 8, "half": 2}, "f16")
MOST = 16 * 72


def pair_of(answer, lanes, values):
    """(lane, value) of an answer; Refused unless it is one."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Refused(f"a pair (lane, value) is asked for, not {answer!r}")
    lane, value = integer(answer[0], "the lane"), integer(answer[1], "the value")
    if not 0 <= lane < lanes or not 0 <= value < values:
        raise Refused(f"lane {lane}, value {value}: there are lanes 0 to {lanes - 1}, each with values 0 to {values - 1}")
    return lane, value


def judge_holder(answer):
    """4.1: who holds an element of D."""
    d = fragment(MMA, "D")
    lane, value = pair_of(answer, d.lanes, d.values)
    element = tuple(int(x) for x in d(lane, value))
    if element != ELEMENT:
        raise Refused(f"value {value} of lane {lane} is element {element} of D, not {ELEMENT}")
    return Right(draw=lambda: plots.fragment(d))


def judge_map(answer):
    """4.2: the map of A."""
    if not callable(answer):
        raise Refused(f"a function (lane, value) -> (row, col) is asked for, not {answer!r}")
    a = fragment(MMA, "A")
    for lane in range(a.lanes):
        for value in range(a.values):
            answered = tuple(int(x) for x in answer(lane, value))
            element = tuple(int(x) for x in a(lane, value))
            if answered != element:
                raise Refused(f"lane {lane}, value {value}: {answered} is said, and the fragment has element {element}")
    return Right(f"on all {a.lanes * a.values} values", lambda: plots.fragment(a))


def judge_store(answer):
    """4.3: a place for D, stored as pairs of halves."""
    tile = judge_tile(answer, PLAIN, (STORE,), MOST)
    return Right("16 instructions, a wavefront each", STORE.with_tile(tile).plot)


EXERCISES = {
    "4.1": Exercise(f"(lane, value) of element {ELEMENT} of D of m16n8k16", judge_holder),
    "4.2": Exercise("a function (lane, value) -> (row, col) of fragment A of m16n8k16", judge_map),
    "4.3": Exercise("a place for 16x64 halves of D, of at most 1152 halves, stored by st.shared.b32", judge_store),
}
