"""How a hazard says which bytes it means: those of shared memory as words too, those of an array as elements."""

import numpy as np

WORD_BYTES = 4
MOST = 4
"""Runs of bytes, or elements, that are named; of what is left the number is."""


def spans(numbers, most=MOST):
    """Sorted ints as text: "0-3, 8", shortened after `most` runs.

    >>> spans([0, 1, 2, 7]), spans(range(0, 100, 2))
    ('0-2, 7', '0, 2, 4, 6 and 46 more')
    """
    runs = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs[:most])
    return text if len(runs) <= most else f"{text} and {len(runs) - most} more"


def named(what, numbers, most=MOST):
    """Sorted ints with the word for them: "byte 12", "bytes 12-15"; most: as of `spans`.

    >>> named("byte", [12]), named("word", [3, 4])
    ('byte 12', 'words 3-4')
    """
    return f"{what}{'s' * (len(numbers) != 1)} {spans(numbers, most)}"


def in_shared(bytes):
    """Sorted bytes of shared memory as text, with the words of 4 bytes that they lie in: those which banks hold.

    >>> in_shared([12]), in_shared(range(60, 68))
    ('shared byte 12 (word 3)', 'shared bytes 60-67 (words 15-16)')
    """
    return f"shared {named('byte', bytes)} ({named('word', np.unique(np.array(bytes) // WORD_BYTES).tolist())})"


def in_local(bytes):
    """Sorted bytes of a thread's own memory as text."""
    return f"local {named('byte', bytes)}"


def in_array(bytes, itemsize, shape, strides):
    """Sorted bytes from element [0, ..., 0] of an array as text, with its elements; without, where they are bytes or it has
    none of its own for each.

    itemsize, strides: in bytes, as NumPy has them.

    >>> in_array(range(12, 16), 4, (8,), (4,)), in_array(range(8, 16), 4, (4, 2), (8, 4))
    ('bytes 12-15 (element 3)', 'bytes 8-15 (elements [1, 0] and 1 more)')
    """
    text, found = named("byte", bytes), _elements(np.array(bytes), itemsize, shape, strides)
    return f"{text} ({found})" if found else text


def _elements(bytes, itemsize, shape, strides):
    order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    reach = itemsize
    for axis in reversed(order):                         # else an element has several places, or none of its own
        if shape[axis] > 1 and strides[axis] < reach:
            return ""
        reach = max(reach, strides[axis] * shape[axis])
    if itemsize == 1 or not shape or not bytes.size or bytes[0] < 0:
        return ""
    index, left = np.zeros((len(shape), bytes.size), np.int64), bytes
    for axis in order:
        index[axis], left = np.divmod(left, strides[axis]) if shape[axis] > 1 else (0, left)
    if (left >= itemsize).any() or (index >= np.array(shape)[:, None]).any():
        return ""
    if len(shape) == 1:
        return named("element", np.unique(index[0]).tolist())
    which = list(dict.fromkeys(map(tuple, index.T.tolist())))
    more = f" and {len(which) - 1} more" if len(which) > 1 else ""
    return f"element{'s' * bool(more)} [{', '.join(map(str, which[0]))}]{more}"
