"""Addresses of shared memory as warp instructions gave them, each pattern of 32 once: programs repeat few of them.

What a pattern costs is looked up once, and who looks for a better layout later has the addresses that were really there.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simlayout.hardware.tables.arch import LANES

MOST = 1024
"""Patterns that are kept of one line and instruction, 160 KiB; what comes after them is counted, and not kept."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns of one instruction on one line.

    file, line, ptx_line, instruction: as of an AccessCount. addresses: int32 [n, 32], bytes of shared memory, 0 in lanes
    that are not active; active: bool [n, 32]; times: int64 [n], how many warp instructions had each. others: warp
    instructions with patterns that are not kept.
    """

    file: str
    line: int
    ptx_line: int
    instruction: str
    addresses: np.ndarray
    active: np.ndarray
    times: np.ndarray
    others: int = 0


class PatternStore:
    """Patterns that have been seen, and what each costs.

    analyze: (addresses int32 [n, 32], active bool [n, 32]) -> int [m, n], m numbers of each: wavefronts, ideal and the like.

    >>> store = PatternStore(lambda addresses, active: np.array([addresses[:, 1], active.sum(axis=1)]))
    >>> same = np.tile(4 * np.arange(32, dtype=np.int32), (5, 1))
    >>> store.count(same, np.full((5, 32), True)), store.count(same[:1], np.full((1, 32), True))
    ([20, 160], [4, 32])
    >>> store.kept()[2].tolist()
    [6]
    """

    def __init__(self, analyze):
        self._analyze, self._index = analyze, {}
        self._addresses, self._active, self._times, self._costs, self.others = [], [], [], [], 0

    def count(self, addresses: np.ndarray, active: np.ndarray) -> list[int]:
        """The sums of what warp instructions cost: addresses int32 [n, 32], active bool [n, 32]; n is at least 1."""
        data, masks = addresses.tobytes(), np.packbits(active, axis=1).tobytes()
        first: dict[bytes, int] = {}
        times: dict[bytes, int] = {}
        for i in range(len(addresses)):
            key = data[4 * LANES * i:4 * LANES * (i + 1)] + masks[4 * i:4 * i + 4]
            first.setdefault(key, i)
            times[key] = times.get(key, 0) + 1
        new = [key for key in first if key not in self._index]
        which = [first[key] for key in new]
        costs = dict(zip(new, self._analyze(addresses[which], active[which]).T.tolist())) if new else {}
        total = [0] * len(next(iter(costs.values()), self._costs[0] if self._costs else ()))
        for key, count in times.items():
            at = self._index.get(key)
            cost = costs[key] if at is None else self._costs[at]
            total = [known + count * each for known, each in zip(total, cost)]
            if at is None:
                self._keep(key, addresses[first[key]], active[first[key]], count, cost)
            else:
                self._times[at] += count
        return total

    def _keep(self, key, addresses, active, count, cost):
        if len(self._times) == MOST:
            self.others += count
            return
        self._index[key] = len(self._times)
        self._addresses.append(addresses.copy())
        self._active.append(active.copy())
        self._times.append(count)
        self._costs.append(cost)

    def kept(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(addresses, active, times) as of Patterns."""
        return (np.array(self._addresses, np.int32).reshape(-1, LANES), np.array(self._active, bool).reshape(-1, LANES),
                np.array(self._times, np.int64))


@dataclass(frozen=True)
class Worst:
    """The instruction of a line that cost the most at once, for whoever wants to see its banks. addresses: bytes that its 32
    lanes asked for, None of a lane that took no part."""

    instruction: str
    wavefronts: int
    addresses: tuple[int | None, ...]

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON: what the explorer reads."""
        return {**vars(self), "addresses": list(self.addresses)}


def worst_of(patterns: Iterable[Patterns]) -> dict[tuple[str, int], Worst]:
    """{(file, line): Worst} of a trace's patterns; of several that cost as much the first."""
    from simlayout.hardware import analyze

    found: dict[tuple[str, int], Worst] = {}
    for seen in patterns:
        wavefronts = analyze(seen.instruction, seen.addresses, seen.active).wavefronts
        first, place = int(np.argmax(wavefronts)), (seen.file, seen.line)
        if place not in found or found[place].wavefronts < wavefronts[first]:
            lanes = zip(seen.addresses[first].tolist(), seen.active[first].tolist())
            found[place] = Worst(seen.instruction, int(wavefronts[first]), tuple(a if on else None for a, on in lanes))
    return found
