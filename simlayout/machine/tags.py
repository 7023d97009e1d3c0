"""Arrays that remember which access they address, so that counts come out per access and not only per line."""

import numpy as np

LANES = 32
"""Lanes of a warp."""


class Tagged(np.ndarray):
    """A lane-varying integer that carries the name of the access whose index function made it, through arithmetic.

    >>> address = 1024 + 2 * tag(np.arange(32), "load A")
    >>> address.access
    'load A'
    """

    access = None

    def __array_finalize__(self, source):
        self.access = getattr(source, "access", None)


def tag(value, name):
    """Marks lane-varying value(s) with an access name; a uniform integer becomes one per lane."""
    if isinstance(value, tuple):
        return tuple(tag(v, name) for v in value)
    if not isinstance(value, int | np.integer | np.ndarray):
        return value
    made = np.asarray(value)
    made = (made if made.ndim else np.full(LANES, made)).view(Tagged)
    made.access = name
    return made
