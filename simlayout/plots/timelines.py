"""A pipeline in time: Spans of its stages on a clock, and what the clock counts."""

from dataclasses import dataclass

import numpy as np

from simlayout.hardware.tables.arch import LANES

LABELLED = ("copy", "read")
"""Kinds of Spans that show their chunk."""


@dataclass(frozen=True)
class Span:
    """What happens to a stage from clock `start` to `end`. kind: a key of the Timeline's `meaning`; chunk: its number."""

    stage: int
    kind: str
    chunk: int
    start: int
    end: int


@dataclass(frozen=True)
class Timeline:
    """The stages of a run in time.

    stages: how many there are; clocks: of the whole run; spans: Spans in the order of their starts.
    meaning: {kind of Span: its text in the legend}; axis: the label of the x axis, which says what a clock is.
    """

    title: str
    stages: int
    clocks: int
    spans: tuple

    axis = ("time, in clocks of shared memory: wavefronts so far (copies by what they write), in the order in which the CPU "
            "machine executes")
    meaning = {"copy": "copies into the stage are issued (number: the chunk of K)",
               "wait": "under way from global memory, or waiting to be read",
               "read": "fragments are read from the stage"}

    @property
    def rows(self) -> list[str]:
        """The labels of the rows, one for each stage that a Span may name."""
        return [f"stage {i}" for i in range(self.stages)]

    def label(self, span: Span) -> str:
        """The text that a Span shows if it has room."""
        return str(span.chunk) if span.kind in LABELLED else ""

    def tile(self, span: Span) -> int:
        """The tile of C that a Span belongs to, from 0 on."""
        return 0


@dataclass(frozen=True)
class TmaTimeline(Timeline):
    """The Timeline of a CTA whose stages TMA fills, for one tile of C or several, of `steps` chunks of K each.

    Chunks are counted over all tiles. A "wait" begins when the load of the chunk is issued. A "copy" is TMA writing it. A
    "read" of wgmma lasts until a wait covers it. A chunk that is read and not yet released is "held"; then the stage is
    free. reader: the instruction that reads the stages, "wgmma" or "ldmatrix". If C passes through shared memory, the Spans
    of kind "store" lie in a row of their own below the stages.
    """

    steps: int = 1
    reader: str = "wgmma"

    axis = ("time, in clocks of shared memory: wavefronts (of wgmma: its operands') and TMA bytes / 128, in the order of "
            "the CPU machine: as late as PTX allows")

    @property
    def meaning(self) -> dict[str, str]:             # type: ignore[override]
        """{kind of Span: its text in the legend}."""
        until = ": from issue to the wait for it" if self.reader == "wgmma" else ""
        return {"copy": "TMA writes the stage (number: the chunk of K)", "wait": Timeline.meaning["wait"],
                "read": f"{self.reader} reads it{until}", "held": "read, but not released by all readers",
                "store": "C passes through shared memory"}

    @property
    def rows(self) -> list[str]:
        """The labels of the rows, one for each stage that a Span may name."""
        return [*super().rows, *["C"] * any(span.kind == "store" for span in self.spans)]

    def label(self, span: Span) -> str:
        """The text that a Span shows if it has room: the number of the chunk within its tile."""
        return str(span.chunk % self.steps) if span.kind in LABELLED else ""

    def tile(self, span: Span) -> int:
        """The tile of C that a Span belongs to, from 0 on; what passes of C itself, by the order in time."""
        if span.kind != "store":
            return span.chunk // self.steps
        reads = [s.chunk for s in self.spans if s.kind == "read" and s.start < span.start]
        return max(reads, default=0) // self.steps


def wavefronts(accesses):
    """int64 [n]: the wavefronts of n accesses, each (instruction, byte addresses int64 [32], active bool [32] or None).

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
    """int64 [n + 1]: the clocks before each of n events, and last those of all events together."""
    return np.concatenate([[0], np.cumsum(costs)]).astype(np.int64)
