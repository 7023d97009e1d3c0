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
