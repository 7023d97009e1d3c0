"""Instructions that the machine does not have: found when a module is loaded, told all at once."""

from collections.abc import Iterable
from dataclasses import dataclass

from simlayout.wording import counted

MOST_NAMED = 4
"""Entries that a refusal names."""


@dataclass(frozen=True)
class Fault:
    """An instruction that cannot be bound. name: opcode and modifiers; line, column: in the PTX text; reason: why."""

    name: str
    line: int
    column: int
    reason: str


@dataclass(frozen=True)
class Unsupported:
    """Equal Faults as one. line: of the first; times: how many there are."""

    name: str
    line: int
    times: int
    reason: str

    def __str__(self) -> str:
        times = "" if self.times == 1 else f", {self.times} times"
        return f"{self.name} (line {self.line}{times}): {self.reason}"


def summed(faults: Iterable[Fault]) -> tuple[Unsupported, ...]:
    """One Unsupported for each name and reason, by first line. A place that several entries reach counts once.

    >>> [str(one) for one in summed(Fault("tex.2d", line, 5, "no textures") for line in (9, 7, 7))]
    ['tex.2d (line 7, 2 times): no textures']
    """
    places: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for fault in faults:
        places.setdefault((fault.name, fault.reason), set()).add((fault.line, fault.column))
    made = [Unsupported(name, min(found)[0], len(found), reason) for (name, reason), found in places.items()]
    return tuple(sorted(made, key=lambda one: (one.line, one.name)))


def refusal(path: str, found: tuple[Unsupported, ...]) -> str:
    """The one line that lists them."""
    return f"{path}: {counted(len(found), 'instruction')} that the machine cannot execute: {'; '.join(map(str, found))}"


def others(names: Iterable[str]) -> str:
    """What to do for the sake of the entries that the machine can execute, behind a refusal.

    >>> others([]), others(["add", "scale"])
    ('', '; simlayout.ptx.read takes the module all the same, for add, scale')
    """
    names = list(names)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"; simlayout.ptx.read takes the module all the same, for {', '.join(names[:MOST_NAMED])}{more}" if names else ""
