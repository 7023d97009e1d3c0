"""The instruction of each line that cost the most wavefronts at once, for whoever wants to see its banks."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simlayout.hardware import analyze
from simlayout.machine.engine.patterns import Patterns


@dataclass(frozen=True)
class Worst:
    """An instruction of shared memory. addresses: bytes that its 32 lanes asked for, None of a lane that took no part."""

    instruction: str
    wavefronts: int
    addresses: tuple[int | None, ...]

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON: what the explorer reads."""
        return {**vars(self), "addresses": list(self.addresses)}


def worst_of(patterns: Iterable[Patterns]) -> dict[tuple[str, int], Worst]:
    """{(file, line): Worst} of a trace's patterns; of several that cost as much the first."""
    found: dict[tuple[str, int], Worst] = {}
    for seen in patterns:
        wavefronts = analyze(seen.instruction, seen.addresses, seen.active).wavefronts
        first, place = int(np.argmax(wavefronts)), (seen.file, seen.line)
        if place not in found or found[place].wavefronts < wavefronts[first]:
            lanes = zip(seen.addresses[first].tolist(), seen.active[first].tolist())
            found[place] = Worst(seen.instruction, int(wavefronts[first]), tuple(a if on else None for a, on in lanes))
    return found
