"""The machine that executes PTX beside what a GPU computed and counted.

    python -m cuda_kernels.conformance.foreign.compare FILE [--rows NAME ...] [--data FOLDER]

FILE: what `gpu` recorded, .json or .json.xz. Results must be equal to the bit, but of kernels with approximate functions
within APART; wavefronts must be equal class by class, or `reasons` says why they are not. Returns 1 if a result differs, or
wavefronts without a reason.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ml_dtypes import finfo

from cuda_kernels.conformance.foreign import ROWS
from cuda_kernels.conformance.foreign.gpu import digest, unpacked
from cuda_kernels.conformance.foreign.row import DATA, array_of

CLASSES = ("ld", "ldmatrix", "st", "stmatrix", "copy", "atom")
"""The classes of `Trace.totals()`, which are counters of the record; stmatrix is what the pipe's stores have on top."""
APART = (1e-5, 1e-6)
"""How far approximate results may be from the GPU's, relative and absolute; relative at least the epsilon of their type."""


@dataclass(frozen=True)
class Verdict:
    """One kernel: what differs in its arrays, as sentences; {class: (the machine's, the GPU's)} wavefronts; hazards' texts;
    failed: what ended the run, if anything did."""

    name: str
    results: list[str] = field(default_factory=list)
    wavefronts: dict[str, tuple[int, int]] = field(default_factory=dict)
    hazards: list[str] = field(default_factory=list)
    failed: str = ""

    @property
    def right(self) -> bool:
        """Whether the result is the GPU's and nothing was reported."""
        return not (self.results or self.hazards or self.failed)

    @property
    def counted(self) -> bool:
        """Whether every class has the GPU's wavefronts."""
        return not self.failed and all(ours == theirs for ours, theirs in self.wavefronts.values())


def judge(row, recorded, data=DATA):
    """The Verdict of a row, run on the machine, beside its record."""
    from simlayout import ptx
    from simlayout.errors import SimlayoutError

    arguments, text = row.arguments(), row.text(data)
    try:
        trace = ptx.load(text)[row.symbol(text)].run(
            row.grid, row.block, *arguments, shared_bytes=row.shared_bytes, cluster=row.cluster, hazards="report"
        )
    except SimlayoutError as error:
        if row.refused and row.refused in str(error) and "failed" in recorded:
            return Verdict(row.name)
        return Verdict(row.name, failed=f"{type(error).__name__}: {error}")
    if row.refused:
        return Verdict(row.name, failed="the machine ran what a GPU refuses")
    if "failed" in recorded:
        return Verdict(row.name, failed=f"the GPU failed: {recorded['failed']}")
    arrays = {i: array_of(arguments[int(i)]) for i in recorded["sha256"]}
    results = [told for i, x in arrays.items() if (told := unlike(x, recorded, i))]
    return Verdict(row.name, results, wavefronts(trace.totals(), recorded), [str(h) for h in trace.hazards])


def unlike(array, recorded, index):
    """How an array differs from the GPU's, as a sentence; empty if it does not."""
    if digest(array) == recorded["sha256"][index]:
        return ""
    kept = recorded.get("arrays", {}).get(index)
    if kept is None:
        return f"argument {index}: other bytes than the GPU's"
    theirs = unpacked(kept, array).astype(np.float64)
    apart = max(APART[0], float(finfo(array.dtype).eps)) if array.dtype.kind in "fV" else APART[0], APART[1]
    off = ~np.isclose(array.astype(np.float64), theirs, *apart, equal_nan=True)
    return (
        f"argument {index}: {int(off.sum())} of {off.size} elements are further than {apart} from the GPU's"
        if off.any()
        else ""
    )


def wavefronts(totals, recorded):
    """{class: (the machine's, the GPU's)} of the classes that the GPU counted.

    >>> wavefronts({"ld": 4, "st": 2, "stmatrix": 1}, {"counters": {"ld": 4, "st": 2, "pipe st": 3, "atom": None}})
    {'ld': (4, 4), 'st': (2, 2), 'stmatrix': (1, 1)}
    """
    counters = dict(recorded.get("counters") or {})
    if counters.get("st") is not None and counters.get("pipe st") is not None:
        counters["stmatrix"] = counters["pipe st"] - counters["st"]
    return {name: (totals.get(name, 0), counters[name]) for name in CLASSES if counters.get(name) is not None}


def report(verdicts):
    """The verdicts as text: a line per kernel and a sum."""
    lines = []
    for v in verdicts:
        apart = ", ".join(f"{name} {ours} (GPU {theirs})" for name, (ours, theirs) in v.wavefronts.items() if ours != theirs)
        told = [v.failed, *v.results, f"wavefronts: {apart}" if apart else "", *v.hazards[:2]]
        lines.append(f"{v.name:<26}{'; '.join(filter(None, told)) or 'equal'}")
    lines.append(
        f"{sum(v.right for v in verdicts)} of {len(verdicts)} results equal, wavefronts of "
        f"{sum(v.counted for v in verdicts)} equal"
    )
    return "\n".join(lines)


def main(arguments=None):
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), metavar="NAME")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    kernels = {kernel["name"]: kernel for kernel in json.loads(options.file.read_text())["kernels"]}
    names = options.rows or [name for name in kernels if name in ROWS]
    verdicts = [judge(ROWS[name], kernels[name], options.data) for name in names]
    print(report(verdicts))
    return int(not all(v.right for v in verdicts))


if __name__ == "__main__":
    sys.exit(main())
