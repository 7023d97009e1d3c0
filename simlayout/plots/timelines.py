"""What a pipeline is in time: Spans of stages on a clock, and what the clock counts."""

from dataclasses import dataclass

import numpy as np

from simlayout.hardware.tables.arch import LANES

LABELLED = ("copy", "read")
"""Kinds of Spans that show their chunk."""


@dataclass(frozen=True)
class Span:
    """What happens to a stage from clock `start` to `end`: `kind`, of a Timeline's `meaning`, to chunk number `chunk`."""

    stage: int
    kind: str
    chunk: int
    start: int
    end: int


@dataclass(frozen=True)
class Timeline:
    """The Spans of a run, in the order of their starts, how many stages there are, and the clocks of all.

    meaning: what each kind of Span says; axis: what a clock is.
    """

    title: str
    stages: int
    clocks: int
    spans: tuple

    axis = ("clocks of shared memory: wavefronts so far (copies by what they write), in the order in which the CPU machine "
            "executes")
    meaning = {"copy": "copies into the stage are issued (number: the chunk of K)",
               "wait": "under way from global memory, or waiting to be read",
               "read": "fragments are read from the stage"}

    @property
    def rows(self) -> list[str]:
        """The names of what the Spans' stages are."""
        return [f"stage {i}" for i in range(self.stages)]

    def label(self, span: Span) -> str:
        """What a Span shows where it has room."""
        return str(span.chunk) if span.kind in LABELLED else ""


@dataclass(frozen=True)
class TmaTimeline(Timeline):
    """The Timeline of a CTA whose stages TMA fills, for one tile of C or several, of `steps` chunks of K each.

    Chunks are counted over all tiles. A "wait" begins as TMA is asked for the chunk; a "copy" is TMA's writing; a "read" of
    wgmma goes on until a wait covers it; what is read and not yet released is "held"; then the stage is free. reader: what
    reads the stages, "wgmma" or "ldmatrix". Spans of kind "store" lie in a row behind the stages: that of C, where it passes
    through shared memory.
    """

    steps: int = 1
    reader: str = "wgmma"

    axis = ("clocks of shared memory: wavefronts (of wgmma: its operands') and TMA bytes / 128, in the order in which the "
            "CPU machine executes: as late as PTX allows")

    @property
    def meaning(self) -> dict[str, str]:             # type: ignore[override]
        """What each kind of Span says."""
        until = ": from issue to the wait for it" if self.reader == "wgmma" else ""
        return {"copy": "TMA writes the stage (number: the chunk of K)", "wait": Timeline.meaning["wait"],
                "read": f"{self.reader} reads it{until}", "held": "read, but not released by all readers",
                "store": "C passes through shared memory"}

    @property
    def rows(self) -> list[str]:
        """The names of what the Spans' stages are."""
        return [*super().rows, *["C"] * any(span.kind == "store" for span in self.spans)]

    def label(self, span: Span) -> str:
        """What a Span shows where it has room: the chunk of its own tile."""
        return str(span.chunk % self.steps) if span.kind in LABELLED else ""


def wavefronts(accesses):
    """Wavefronts of each of [(instruction, byte addresses int64 [32], active lanes bool [32] or None)]: int64 [n].

    >>> at = np.arange(32)
    >>> wavefronts([("ld.shared.b32", 4 * at, None), ("ld.shared.b32", 8 * at, None), ("ld.shared.b32", 8 * at, at < 16)])
    array([1, 2, 1])
    """
    from simlayout.hardware import analyze

    costs, everyone = np.zeros(len(accesses), np.int64), np.full(LANES, True)
    for name in dict.fromkeys(instruction for instruction, *_ in accesses):
        mine = [i for i, access in enumerate(accesses) if access[0] == name]
        active = np.stack([everyone if accesses[i][2] is None else accesses[i][2] for i in mine])
        costs[mine] = analyze(name, np.stack([accesses[i][1] for i in mine]), active=active).wavefronts
    return costs


def clocks(costs):
    """Clocks before each of n events, and of all: int64 [n + 1]."""
    return np.concatenate([[0], np.cumsum(costs)]).astype(np.int64)
