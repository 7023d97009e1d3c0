"""Twins that wait, written once: as generators of what they wait for.

A kernel in Python calls them, so its warp's whole call stack waits (`Warp.block_until`); the steps of a PTX program are run
by a loop that can put a generator aside.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any


def waits(steps: Callable[..., Iterator[tuple]]) -> Callable[..., None]:
    """Makes a method of a Warp of a generator that yields the arguments of `Warp.block_until`, each time that it must wait.

    The generator itself is the method's attribute `steps`.
    """
    @wraps(steps)
    def method(self: Any, *args: Any, **named: Any) -> None:
        for wait in steps(self, *args, **named):
            self.block_until(*wait)

    method.steps = steps                                 # type: ignore[attr-defined]
    return method


class Poll:
    """Something to wait for that can be done without, where nobody in the launch can go on otherwise. done: whether it is
    there; given_up: whether it is done without."""

    def __init__(self, done: Callable[[], bool]):
        self.done, self.given_up = done, False

    def __call__(self) -> bool:
        return self.given_up or self.done()


class AnyOf:
    """Waits of parts of a warp, of which one is enough. waits: [(ready, text, mbarrier)]."""

    def __init__(self, waits: list[tuple]):
        self.waits = waits

    def __call__(self) -> bool:
        return any(ready() for ready, _, _ in self.waits)


def waits_of(warp: Any) -> list[tuple]:
    """[(ready, text, mbarrier)]: all that a warp waits for, of which one is enough."""
    return getattr(warp.waiting[0], "waits", [warp.waiting])
