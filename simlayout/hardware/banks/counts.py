"""Wavefronts and their ideal: of what a rule answers for n accesses, and of all that sums such answers up."""

from dataclasses import dataclass

import numpy as np


def occupied(row, active):
    """Lane groups of an Instruction with an active lane, int64 [n]; active: bool [n, 32]."""
    return sum(active[:, list(g)].any(axis=1).astype(np.int64) for g in row.groups)


@dataclass(frozen=True, eq=False)
class Count:
    """int64 [n] each. wavefronts: the number, or the best guess between at_least and at_most; ideal: groups with an
    active lane, see `Analysis`; loads: wavefronts of the loads in the loop that an atomic may be. by_rival: bool [n], where
    wavefronts and ideal are those of the row's rival, None where it has none."""

    wavefronts: np.ndarray
    ideal: np.ndarray
    at_least: np.ndarray
    at_most: np.ndarray
    loads: np.ndarray | None = None
    by_rival: np.ndarray | None = None

    @property
    def exact(self) -> bool:
        """Whether one rule gives every number."""
        return self.by_rival is None and (self.at_least is self.at_most or bool((self.at_least == self.at_most).all()))

    @classmethod
    def exactly(cls, wavefronts, ideal):
        """Where the rule gives the number."""
        return cls(wavefronts, ideal, wavefronts, wavefronts)

    @classmethod
    def disputed(cls, own, rival):
        """What two rules say, (wavefronts, ideal) each, of which one is right: bounds for both, and as the answer, access by
        access, that with more excess. So there is none exactly where neither rule has any."""
        by_rival = rival[0] - rival[1] > own[0] - own[1]
        wavefronts, ideal = np.where(by_rival, rival, own)
        return cls(wavefronts, ideal, np.minimum(own[0], rival[0]), np.maximum(own[0], rival[0]), by_rival=by_rival)
