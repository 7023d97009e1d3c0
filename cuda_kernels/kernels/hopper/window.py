"""Where boxes lie in maps over whose rows a window slides (`simlayout.hardware.matrix.window`), so that they end where a
group of rows does."""

from cuda_kernels.intrinsics import s32

WINDOW = 256
"""Rows of the window: those of the highest box that TMA has."""


def in_window(row, end):
    """(row of the window, where that begins) of a box that begins at a row and in which there are rows up to `end`, which is
    at least 1. A box behind the end begins with the last row instead, so that none lies wholly outside."""
    first = s32(min(row, end - 1))
    left = s32(min(end - first, WINDOW))
    return s32(WINDOW - left), s32(first + left)


def in_matrices(row, matrix):
    """The same coordinates in a map of matrices that lie behind one another."""
    return row, matrix
