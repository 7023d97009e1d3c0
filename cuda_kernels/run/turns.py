"""Turns: how calls are timed side by side, by whatever has CUDA graphs and a clock: `cuda_kernels.run.stopwatch`, or a
library of arrays in `cuda_kernels.bench.libraries`."""

from collections.abc import Callable, Sequence
from typing import Any

ROTATED, SETS_OF_OPERANDS = 150e6, 8
"""Bytes of operands to rotate over, and sets of them at most: L2 of an H200 holds 50 MB."""

CALLS = 60
"""Calls in a graph at most."""


def sets_of(nbytes: int) -> int:
    """Over how many sets of operands of so many bytes calls rotate.

    >>> sets_of(2**20), sets_of(10**8), sets_of(10**9)
    (8, 2, 1)
    """
    return min(SETS_OF_OPERANDS, 1 + int(ROTATED / nbytes))


def turn(clock: Any, calls: Sequence[Callable], seconds: float) -> Callable[[], float]:
    """A function that takes a turn of about `seconds` and returns the seconds of one call. clock: has `repeated`, which
    makes one function of calls in rotation, and `elapsed`, the seconds of a function."""
    for call in calls:
        call()
    guess = clock.elapsed(lambda: [call() for call in calls]) / len(calls)
    count = max(len(calls), min(CALLS, int(seconds / guess / 2)))
    replay = clock.repeated(calls, count)
    replays = max(1, round(seconds / clock.elapsed(replay)))
    return lambda: clock.elapsed(lambda: [replay() for _ in range(replays)]) / replays / count
