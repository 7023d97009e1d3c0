"""What a grouped product is given beside its matrices, checked: the offsets of its groups, and scales for each of them."""

import numpy as np

from cuda_kernels.kernels.hopper.scaling import scales_of
from simlayout.errors import SimlayoutError


def check_offsets(shape, strides, dtype, groups):
    """Raises SimlayoutError for offsets that are not int32 [groups], one behind another. strides: BYTES; dtype: NumPy's
    name."""
    if dtype != "int32" or tuple(shape) != (groups,) or (groups > 1 and tuple(strides) != (4,)):
        apart = ", with room between them" * (len(shape) == 1 and tuple(shape) == (groups,) and dtype == "int32")
        raise SimlayoutError(f"offsets is {dtype} of shape {tuple(shape)}{apart}: pass int32 ({groups},), contiguous: for "
                             "each group, whose b there is, the number of the row behind its last one")


def checked_offsets(given, groups, rows_ndim, groups_ndim):
    """The offsets of a product of NumPy arrays, of so many dimensions."""
    if len(given) != 1 or (rows_ndim, groups_ndim) != (2, 3):
        raise SimlayoutError("a grouped kernel takes rows (rows, K), a stack of matrices, one for each group, and offsets")
    offsets = np.asarray(given[0])
    check_offsets(offsets.shape, offsets.strides, offsets.dtype.name, groups)
    return np.ascontiguousarray(offsets)


def sizes_of(offsets, rows):
    """The rows of each group, as the kernels take offsets in a product of so many rows.

    >>> sizes_of(np.array([3, 2, 9], np.int32), 8)
    (3, 0, 6)
    """
    ends = np.clip(offsets, 0, rows)
    return tuple(np.maximum(np.diff(ends, prepend=0), 0).tolist())


def scales_of_groups(name, shape, strides, dtype, groups, lines, K):
    """(Scales of a group's matrix, bytes from those of one group to those of the next) of an array of one element, or with
    a first dimension of groups before what `scales_of` takes; arguments: as of that.

    >>> scales_of_groups("scale_b", (8, 64), (256, 4), "float32", 8, 64, 512)
    (Scales(grain=1, step=4, deep=0, by_blocks=False), 256)
    """
    if dtype == "float32" and all(size == 1 for size in shape):
        return scales_of(name, shape, strides, dtype, lines, K), 0
    if len(shape) < 2 or shape[0] != groups:
        raise SimlayoutError(f"{name} is {dtype} of shape {tuple(shape)}: pass float32 of 1 element, or of shape ({groups}, "
                             f"{lines}), or with scales for every 128 of K for each of the {groups} groups")
    return scales_of(name, shape[1:], strides[1:], dtype, lines, K), strides[0] * (groups > 1)


