"""Tensor maps whose boxes may end at any row: a window slides over the rows of a matrix.

A box is cut off where a dimension of its map ends. So the rows of a matrix are given two dimensions of the same stride: the
row of a window of so many rows, and the row of the matrix, counted from one window ahead of its first, at which the window
begins. A box that begins so low in the window that no more rows than wanted are left of it ends there: TMA fills the rest
with zeros, or stores none of it. Groups of rows can thus end anywhere, and share one map. (Triton calls such maps ragged;
CUDA Driver API, cuTensorMapEncodeTiled, allows strides that are equal.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simlayout.algebra.aliases import AnyDType
from simlayout.errors import AddressError
from simlayout.hardware.matrix.tma import TensorMap


@dataclass(frozen=True)
class Window(TensorMap):
    """A TensorMap of dimensions (columns, rows of the window, rows of the matrix and one window more), whose memory begins
    one window ahead of the matrix (`ahead`). array: the matrix.

    >>> rows = np.arange(80, dtype=np.float32).reshape(20, 4)
    >>> Window.over(rows, 8, (4, 3)).gather((0, 8 - 2, 8 + 5 - 6))[0, :, 0].tolist()      # from row 5 on, of which 2
    [20.0, 24.0, 0.0]
    """

    @classmethod
    def over(cls, array: np.ndarray, window: int, box: Sequence[int], swizzle: int = 0,
             dtype: AnyDType | None = None) -> "Window":
        """The map of a matrix [rows, columns], or [1, rows, columns]. box: (columns, rows), innermost first, also with a 1
        behind these."""
        array = array.reshape(array.shape[-2:]) if array.ndim == 3 else array
        plain = TensorMap.of(array, tuple(box[:2]), swizzle, dtype)
        (columns, rows), (pitch,) = plain.dims, plain.strides
        dims = window_dims(columns, rows, window)
        return cls(plain.dtype, dims, (pitch, pitch), (*plain.box, 1), None, swizzle, array=array)

    @property
    def ahead(self) -> int:
        """Bytes from where the map begins to the matrix."""
        return self.dims[1] * self.strides[0]

    def _inside(self, coords):
        column, below, first = self.coordinates(coords)
        row = first + below - self.dims[1]
        inside = np.logical_and.reduce([(i >= 0) & (i < n) for i, n in zip((column, below, first), self.dims, strict=True)])
        self._check(row[inside], coords)
        return [np.where(inside, row, 0), np.where(inside, column, 0)], inside

    def spans(self, coords: Sequence[int]) -> tuple[np.ndarray, int]:
        """As of TensorMap."""
        low, high = max(coords[0], 0), min(coords[0] + self.box[0], self.dims[0])
        below = coords[1] + np.arange(self.box[1], dtype=np.int64)
        rows = (coords[2] - self.dims[1] + below)[(below >= 0) & (below < self.dims[1]) & (0 <= coords[2] < self.dims[2])]
        self._check(rows, coords)
        rows = rows if low < high else rows[:0]
        return rows * self.array.strides[0] + low * self.itemsize, max(high - low, 0) * self.itemsize

    def _check(self, rows, coords):
        """Raises AddressError where a GPU would read or write what is not the matrix."""
        if rows.size and (rows.min() < 0 or rows.max() >= len(self.array)):
            raise AddressError(f"TMA: a box at {tuple(map(int, coords))} of a window over {len(self.array)} rows reaches "
                               f"from row {rows.min()} to {rows.max()}: let it end, or begin, within the rows")


def window_dims(columns: int, rows: int, window: int) -> tuple[int, int, int]:
    """The dimensions of a Window over a matrix.

    >>> window_dims(64, 1000, 256)
    (64, 256, 1256)
    """
    return columns, window, rows + window
