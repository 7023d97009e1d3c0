"""Register arrays: what `cuda.local.array` of constant shape is to a warp.

Accumulators of wgmma belong to the tensor core for a while. Such an array has a guard, which is told of every touch.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from simlayout.errors import AddressError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.memory import POISON
from simlayout.machine.hazards.guards import Registers

_LANE = np.arange(LANES)


@lru_cache(64)
def _elements(shape):
    """{index: the same as a tuple of ints} of an array of this shape; of a small one, as registers are."""
    return {index: index for index in product(*map(range, shape))} if prod(shape) <= 4096 else {}


class RegisterArray(Registers):
    """An array private to each lane: one value per element and lane, NumPy storage [*shape, 32].

    warp: the Warp whose mask guards assignments. shape: tuple of ints. dtype: NumPy dtype of an element.
    `r[i, j]` reads an array [32] (a copy; signed integers come as int64), `r[i, j] = value` writes the active lanes; indices
    may be lane-varying. Contents start undefined: poison (NaN, or all bits set).

    Raises AddressError for an index outside the shape, naming the lane where indices are lane-varying.
    """

    __slots__ = ("shape", "dtype", "values", "_elements")
    __iter__ = None

    def __init__(self, warp: Any, shape: int | Sequence[int], dtype: DTypeLike):
        super().__init__(warp)
        self.shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
        self.dtype = np.dtype(dtype)
        room = np.full((*self.shape, LANES * self.dtype.itemsize), POISON, np.uint8)
        self.values = room.view(self.dtype)
        self._elements = _elements(self.shape)

    def __len__(self):
        return self.shape[0]

    def fill(self, data: np.ndarray) -> None:
        """All elements of all lanes become data, uint8 [bytes]."""
        self.values.reshape(-1).view(np.uint8)[:] = data

    def _index(self, key):
        """The NumPy index of an element's lanes; `key` with the lane axis added where an index is lane-varying."""
        if self.guard is not None:
            self.guard.touched(self)
        key = key if key.__class__ is tuple else (key,)
        try:
            known = self._elements.get(key)              # ints inside the shape, as nearly always
            if known is not None and sum(key).__class__ is int:
                return known
        except TypeError:                                # an array cannot be hashed
            pass
        if len(key) != len(self.shape):
            raise AddressError(f"a register array of shape {self.shape} takes {len(self.shape)} indices, "
                               f"not {len(key)}")
        varying = False
        for k, size in zip(key, self.shape, strict=True):
            if k.__class__ is int:
                if not 0 <= k < size:
                    self._fault(key)
            else:
                varying = True
        return self._varying(key) if varying else key

    def _varying(self, key):
        arrays = []
        for k, size in zip(key, self.shape, strict=True):
            k = np.broadcast_to(np.asarray(k), (LANES,))
            if k.dtype.kind not in "iu":
                raise AddressError(f"an index of a register array is an integer, not {k.dtype}")
            if ((k < 0) | (k >= size))[self.warp.active].any():
                self._fault(key)
            arrays.append(np.where(self.warp.active, k, 0))
        return (*arrays, _LANE)

    def _fault(self, key):
        for lane in np.flatnonzero(self.warp.active).tolist():
            at = tuple(int(np.broadcast_to(k, (LANES,))[lane]) for k in key)
            if any(not 0 <= k < size for k, size in zip(at, self.shape, strict=True)):
                raise AddressError(f"lane {lane} indexes a register array of shape {self.shape} with {at}")

    def __getitem__(self, key):
        value = self.values[self._index(key)]
        return value.astype(np.int64) if self.dtype.kind == "i" else value.copy()

    def __setitem__(self, key, value):
        index = self._index(key)
        if not isinstance(value, np.ndarray):
            value = np.asarray(value).astype(self.dtype, copy=False)
        if self.warp.whole:
            self.values[index] = value                   # integers wrap, as registers do
        else:
            self.values[index] = np.where(self.warp.active, value, self.values[index])

    def __repr__(self):
        return f"RegisterArray({self.shape}, {self.dtype})"
