"""Lesson 4: fragments."""

from simlayout import plots
from simlayout.algebra import Layout
from simlayout.hardware import fragment
from simlayout.lessons.exercises.answers import Exercise, Refused, Right, integer, judge_tile
from simlayout.lessons.exercises.said import Said
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
        raise Refused("a pair (lane, value) is asked for, not {}", repr(answer))
    lane, value = integer(answer[0], Said("the lane")), integer(answer[1], Said("the value"))
    if not 0 <= lane < lanes or not 0 <= value < values:
        raise Refused("lane {}, value {}: there are lanes 0 to {}, each with values 0 to {}", lane, value, lanes - 1,
                      values - 1)
    return lane, value


def judge_holder(answer):
    """4.1: who holds an element of D."""
    d = fragment(MMA, "D")
    lane, value = pair_of(answer, d.lanes, d.values)
    element = tuple(int(x) for x in d(lane, value))
    if element != ELEMENT:
        raise Refused("value {} of lane {} is element {} of D, not {}", value, lane, element, ELEMENT)
    return Right(draw=lambda: plots.fragment(d))


def judge_map(answer):
    """4.2: the map of A."""
    if not callable(answer):
        raise Refused("a function (lane, value) -> (row, col) is asked for, not {}", repr(answer))
    a = fragment(MMA, "A")
    for lane in range(a.lanes):
        for value in range(a.values):
            answered = tuple(int(x) for x in answer(lane, value))
            element = tuple(int(x) for x in a(lane, value))
            if answered != element:
                raise Refused("lane {}, value {}: {} is said, and the fragment has element {}", lane, value, answered,
                              element)
    return Right(Said("on all {} values", a.lanes * a.values), lambda: plots.fragment(a))


def judge_store(answer):
    """4.3: a place for D, stored as pairs of halves."""
    tile = judge_tile(answer, PLAIN, (STORE,), MOST)
    return Right(Said("16 instructions, a wavefront each"), STORE.with_tile(tile).plot)


EXERCISES = {
    "4.1": Exercise(Said("(lane, value) of element {} of D of m16n8k16", ELEMENT), judge_holder),
    "4.2": Exercise(Said("a function (lane, value) -> (row, col) of fragment A of m16n8k16"), judge_map),
    "4.3": Exercise(Said("a place for 16x64 halves of D, of at most 1152 halves, stored by st.shared.b32"), judge_store),
}
