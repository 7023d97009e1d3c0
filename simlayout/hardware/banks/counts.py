"""What a rule answers for n accesses."""

from dataclasses import dataclass

import numpy as np


def occupied(row, active):
    """Lane groups of an Instruction with an active lane, int64 [n]; active: bool [n, 32]."""
    return sum(active[:, list(g)].any(axis=1).astype(np.int64) for g in row.groups)


@dataclass(frozen=True, eq=False)
class Count:
    """int64 [n] each. wavefronts: the number, or the best guess between at_least and at_most; ideal: groups with an
    active lane, see `Analysis`; loads: wavefronts of the loads in the loop that an atomic may be."""

    wavefronts: np.ndarray
    ideal: np.ndarray
    at_least: np.ndarray
    at_most: np.ndarray
    loads: np.ndarray | None = None

    @classmethod
    def exactly(cls, wavefronts, ideal):
        """Where the rule gives the number."""
        return cls(wavefronts, ideal, wavefronts, wavefronts)
