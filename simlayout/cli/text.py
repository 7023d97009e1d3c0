"""Text for terminals: one line, a field and its value, JSON."""

import json
import math
from textwrap import wrap

import numpy as np

from simlayout.files import STDIO, deliver

WIDTH = 100
LABEL = 14


def one_line(text, limit=600):
    """The text on one line: what cannot be printed becomes a space, and what is too long ends in dots."""
    made = "".join(c if c.isprintable() else " " for c in text)
    return made if len(made) <= limit else f"{made[:limit]} ..."


def field(label, value, column=LABEL):
    """"label         value", wrapped to 100 columns with the value from one column on."""
    return "\n".join(wrap(str(value), WIDTH, initial_indent=f"{label:<{column}}", subsequent_indent=" " * column))


def tell(target, value, text):
    """A command's answer: the text on stdout; the value as one JSON object in its place where the target is "-", or beside
    it in the file that the target names. value, text: themselves, or functions that make them."""
    if target is not None:
        deliver(target, json_text(value() if callable(value) else value) + "\n")
    if target != STDIO:
        print(text() if callable(text) else text, flush=True)


def json_text(value):
    """One JSON object with sorted keys, on one line; what JSON does not have (NaN, infinity) becomes null."""
    return json.dumps(_plain(value), sort_keys=True, allow_nan=False)


def _plain(value):
    """The value as dicts, lists, str, int, finite float, bool and None."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
