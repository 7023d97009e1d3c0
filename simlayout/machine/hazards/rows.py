"""Memory as rows: an aligned access is some rows of a table that is as wide as the access."""

import numpy as np

from simlayout.hardware.tables.instructions import INSTRUCTIONS

WIDTHS = tuple(sorted({row.bytes for row in INSTRUCTIONS.values()}))
"""Bytes that one lane can move to or from shared memory: powers of two."""


def room_for(size):
    """The size rounded up to whole rows of the widest access.

    >>> room_for(1000) >= 1000, room_for(1024)
    (True, 1024)
    """
    return -(-size // WIDTHS[-1]) * WIDTHS[-1]


def rows_of(cells):
    """{n: view} of an array of as many entries as `room_for` gives, as rows of n entries, n in WIDTHS: an aligned access is
    some of its rows."""
    return {n: cells.reshape(-1, n) for n in WIDTHS}


def touching(rows, nbytes, addresses):
    """(which [m], row [m]): every pair of an entry of `addresses` (bytes) and an entry of `rows` (units of nbytes) with that
    byte in it, as indices.

    >>> [found.tolist() for found in touching(np.array([3, 0, 3]), 4, np.array([1, 12, 16]))]
    [[0, 1, 1], [1, 0, 2]]
    """
    order = np.argsort(rows, kind="stable")
    sorted_rows, wanted = rows[order], addresses // nbytes
    first = np.searchsorted(sorted_rows, wanted)
    count = np.searchsorted(sorted_rows, wanted, "right") - first
    which = np.repeat(np.arange(len(addresses)), count)
    return which, order[np.repeat(first, count) + np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)]
