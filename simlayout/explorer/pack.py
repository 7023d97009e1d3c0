"""Answers made small for a page that holds them: numbers as differences, rows as columns, then deflate and base64. And an
array of ints as one text, which Python writes in a sixth of the time that a JSON list of them takes."""

import base64
import json
import zlib

import numpy as np

FEWEST = 4                  # numbers in a list from which on differences are shorter


def packed(value):
    """JSON values as base64 of deflated JSON (RFC 1951), in which `link.js` undoes what `columns` did.

    >>> len(packed(list(range(100_000)))) < 1000
    True
    """
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    text = json.dumps(columns(value), separators=(",", ":"), allow_nan=False)
    return base64.b64encode(squeeze.compress(text.encode()) + squeeze.flush()).decode()


def columns(value):
    """JSON values with ints as {"+": differences}, objects of the same keys as {"*": {key: values}}, and lists of as many
    ints each as {"#": how many, "of": all of them}. No object of the explorer has such keys. Objects that hold others are
    left as rows, because their texts repeat one another.

    >>> columns([3, 4, 5, 9]), columns([{"a": 1}, {"a": 2}]), columns([[1, 2], [3, 4]])
    ({'+': [3, 1, 1, 4]}, {'*': {'a': [1, 2]}}, {'#': 2, 'of': {'+': [1, 1, 1, 1]}})
    """
    if isinstance(value, dict):
        return {key: columns(part) for key, part in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) >= FEWEST and _ints(value):
        return {"+": [after - before for before, after in zip([0, *value], value)]}
    if _alike(value, dict, tuple) and not any(isinstance(part, dict) for row in value for part in row.values()):
        return {"*": {key: columns([row[key] for row in value]) for key in value[0]}}
    if _alike(value, (list, tuple), len) and all(map(_ints, value)):
        return {"#": len(value[0]), "of": columns([n for row in value for n in row])}
    return [columns(part) for part in value]


def ints_text(numbers):
    """Ints of less than 32 bits, an array of any shape, as base64 of their little-endian int32, row by row.

    >>> ints_of(ints_text(np.array([[0, 1], [70_000, 5]])))
    [0, 1, 70000, 5]
    """
    return base64.b64encode(numbers.astype("<i4").tobytes()).decode()


def ints_of(text):
    """The list of ints of an `ints_text`."""
    return np.frombuffer(base64.b64decode(text), "<i4").tolist()


def _ints(value):
    return all(type(n) is int for n in value)


def _alike(rows, kind, form):
    """Whether there are several rows of a kind, none empty, of one form."""
    return len(rows) > 1 and all(isinstance(row, kind) and row for row in rows) and len({form(row) for row in rows}) == 1
