"""Lesson 10: a kernel as a compiler translated it."""

from importlib.resources import files

import numpy as np

from simlayout.errors import HazardError
from simlayout.lessons.exercises.answers import Exercise, Refused, Right, drawn_load, integer, judge_transposition
from simlayout.lessons.exercises.said import Said

GRID, BLOCK, SIZE = (2, 2), (32, 8), 64
NAME, BARRIER = "transpose", "bar.sync \t0;"


def published():
    """The PTX that the lesson shows."""
    return files("simlayout.guide").joinpath("transpose.ptx").read_text("utf-8")


def judge_mended(answer):
    """10.1: a function from the PTX to one of the same kernel without conflicts."""
    if not callable(answer):
        raise Refused("a function of the text is asked for, not {}", repr(answer))
    text = answer(published())
    if not isinstance(text, str):
        raise Refused("the function returns {}, and PTX is a text", type(text).__name__)
    trace = judge_transposition(
        lambda: _run(text), Said("do stores and loads agree, and the constants too that step 8 rows further?"),
        Said("give each row of the tile other banks"))
    return Right(draw=drawn_load(trace))


def judge_lines(answer):
    """10.2: the lines of the race that is left without the barrier."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Refused("a pair of lines is asked for, not {}", repr(answer))
    first, second = (integer(line, Said("a line")) for line in answer)
    try:
        _run(published().replace(BARRIER, ""))
    except HazardError as error:
        hazard = error.hazard
    if (first, second) == (hazard.second.line, hazard.first.line):
        raise Refused("line {} and line {} are the two, but which of them should come first?", first, second)
    for line, place, what in ((first, hazard.first, Said("stores")), (second, hazard.second, Said("loads"))):
        if line != place.line:
            raise Refused("line {} is not the one: look for the line of transpose.cu that {} shared memory", line, what)
    return Right()


def _run(text):
    """(Trace, c, a) of the kernel in a text."""
    import simlayout as sl

    a = np.random.default_rng(10).standard_normal((SIZE, SIZE)).astype(np.float32)
    c = np.full_like(a, np.nan)
    return sl.ptx.load(text)[NAME].run(GRID, BLOCK, a, c, SIZE), c, a


EXERCISES = {
    "10.1": Exercise(Said("a function of the PTX that returns PTX without bank conflicts"), judge_mended),
    "10.2": Exercise(Said("a pair: the line that should come first, and the other"), judge_lines),
}
