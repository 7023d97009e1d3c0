"""Wavefronts beyond the ideal: of one access, of n, or of all that sums such counts up."""

from typing import Generic, TypeVar

import numpy as np

Number = TypeVar("Number", int, np.ndarray)


class WithExcess(Generic[Number]):
    """What has wavefronts and an ideal, and so an excess. Both are ints, or int64 [n] of n accesses.

    >>> class Pair(WithExcess[int]):
    ...     wavefronts, ideal = 32, 4
    >>> Pair().excess
    28
    """

    wavefronts: Number
    ideal: Number

    @property
    def excess(self) -> Number:
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal
