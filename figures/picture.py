"""What a picture of the gallery is: a name, the data that it shows, and how they are drawn."""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from hashlib import sha256

import numpy as np

from simlayout.hardware import Analysis
from simlayout.plots import comparison, phases, together


@dataclass(frozen=True)
class Picture:
    """name: of its files; says: the sentence that it is there to say, which stands above it; data: () -> what is drawn, as
    dataclasses, tuples and numbers; draw: (data, the sentence) -> Axes."""

    name: str
    says: str
    data: Callable
    draw: Callable

    def digest(self):
        """Of the data: 16 hexadecimal digits that change where anything drawn does."""
        return digest(self.data())


def joined(across=None):
    """The draw function of a picture whose data are Panels."""
    return partial(_joined, across=across)


def _joined(panels, says, across):
    return together(panels, across, says)


def headed(draw):
    """The draw function of a picture whose data have a title: the sentence stands above it."""
    return lambda data, says: draw(replace(data, title=f"{says}\n{data.title}"))


def compared(analyses, titles, index=0):
    """(data, draw) of two bank grids side by side."""
    return (lambda: (tuple(analyses), tuple(titles), index)), _compared


def _compared(made, says):
    return comparison(*made[0], made[2], made[1], title=says)


def digest(data):
    """sha256 of the data as JSON, 16 digits.

    >>> digest((1, "a")) == digest([1, "a"]), digest((1,)) == digest((2,))
    (True, False)
    """
    return sha256(json.dumps(plain(data), sort_keys=True).encode()).hexdigest()[:16]


def plain(data):
    """The data as dicts, lists, str, int, float, bool and None; of an Analysis the words that its pictures show."""
    if isinstance(data, Analysis):
        return [str(data.instruction), [plain(phases(data, i)) for i in range(min(len(data), 4))]]
    if is_dataclass(data):
        return {f.name: plain(getattr(data, f.name)) for f in fields(data)}
    if isinstance(data, (list, tuple)):
        return [plain(item) for item in data]
    if isinstance(data, np.ndarray):
        return plain(data.tolist())
    if isinstance(data, np.generic):
        return data.item()
    if isinstance(data, (str, int, float, bool, type(None))):
        return data
    raise TypeError(f"{type(data).__name__} is no data to draw")
