"""Writes of a byte with which a later access is compared, too, besides the last one.

If nothing orders two stores of one value, either may come last, so a later access must come after both. And a store of the
value that is already there need not come after the last store, but it must come after what stored another value before.
"""

from dataclasses import dataclass

import numpy as np

from simlayout.machine.hazards.touches import Touch


@dataclass(frozen=True, eq=False)
class Rival:
    """A write besides the last one of some bytes. touch: it; bytes: int64 [n], addresses, None for all of it. equal: whether
    it stored what the last one stored, which is not ordered after it; else it stored another value before."""

    touch: Touch
    bytes: np.ndarray | None = None
    equal: bool = True


def together(rivals):
    """The same Rivals, those of one write as one.

    >>> from types import SimpleNamespace
    >>> store = SimpleNamespace(serial=5)
    >>> (both,) = together([Rival(store, np.array([0, 1])), Rival(store, np.array([4]))])
    >>> both.bytes.tolist()
    [0, 1, 4]
    """
    made = {}
    for rival in rivals:
        key = rival.touch.serial, rival.equal
        if key in made:
            rival = Rival(rival.touch, np.union1d(made[key].bytes, rival.bytes), rival.equal)
        made[key] = rival
    return list(made.values())
