"""Arrays that remember which access they address, so that counts come out per access and not only per line."""

from typing import Any

import numpy as np

from simlayout.hardware.tables.arch import LANES


class Tagged(np.ndarray):
    """A lane-varying integer that carries the name of the access whose index function made it, through arithmetic.

    marks: which elements of the tile it addresses (`simlayout.machine.hazards.elements.Marks`), where that is declared.

    >>> address = 1024 + 2 * tag(np.arange(32), "load A")
    >>> address.access
    'load A'
    """

    access = marks = None

    def __array_finalize__(self, source):
        self.access, self.marks = getattr(source, "access", None), getattr(source, "marks", None)


def tag(value: Any, name: str, marks: Any = None) -> Any:
    """Marks lane-varying value(s) with an access name; a uniform integer becomes one per lane.

    >>> tag(3, "load A").access, tag(3, "load A").shape
    ('load A', (32,))
    """
    if isinstance(value, tuple):
        return tuple(tag(v, name, marks) for v in value)
    if not isinstance(value, int | np.integer | np.ndarray):
        return value
    tagged = np.asarray(value)
    tagged = (tagged if tagged.ndim else np.full(LANES, tagged)).view(Tagged)
    tagged.access, tagged.marks = name, marks            # type: ignore[attr-defined]
    return tagged
