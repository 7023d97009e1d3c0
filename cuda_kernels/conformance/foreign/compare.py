"""The machine that executes PTX beside what a GPU computed and counted.

    python -m cuda_kernels.conformance.foreign.compare FILE [--rows NAME ...] [--data FOLDER]

FILE: what `gpu` recorded, .json or .json.xz. Results must be equal to the bit, but of kernels with approximate functions
within APART; wavefronts must be equal class by class, or `reasons` says why they are not. Returns 1 if a result differs, or
wavefronts without a reason.
"""

import json
import lzma
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from cuda_kernels.bench.command import ended_by, parser_of
from cuda_kernels.conformance.foreign import ROWS
from cuda_kernels.conformance.foreign.gpu import digest, unpacked
from cuda_kernels.conformance.foreign.reasons import REASONS
from cuda_kernels.conformance.foreign.row import DATA, arrays_of

CLASSES = ("ld", "ldmatrix", "st", "copy", "atom")
"""The classes of `Trace.totals()` that are counters of the record."""
ALL = "all"
"""All accesses together: those of stmatrix and of wgmma's operands as well, which have no counter of their own."""
APART = {8: (1e-5, 1e-6), 4: (1e-5, 1e-6), 2: (1e-3, 1e-4)}
"""Bytes of a number -> how far approximate results may be from the GPU's, relative and absolute; of others, such as bytes,
they must be equal."""


@dataclass(frozen=True)
class Verdict:
    """One kernel: what differs in its arrays, as sentences; {class, or ALL: (the machine's, the GPU's)} wavefronts; hazards'
    texts; failed: what ended the run, if anything did."""

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
    def apart(self) -> list[str]:
        """The classes whose wavefronts are not the GPU's; ALL only where it is no other."""
        apart = [name for name, (ours, theirs) in self.wavefronts.items() if ours != theirs]
        return [name for name in apart if name != ALL] or apart

    @property
    def explained(self) -> bool:
        """Whether every class has the GPU's wavefronts, or a reason for others."""
        return not self.failed and all((self.name, name) in REASONS for name in self.apart)


@lru_cache(1)                                                      # a source's rows lie behind one another
def loaded(text):
    """The Module of a PTX text."""
    from simlayout import ptx

    return ptx.load(text)


def ran(row, text, arguments, hazards="report"):
    """The Trace of a row's launch on the machine by some PTX; its arrays are changed."""
    entry = loaded(text)[row.symbol(text)]
    return entry.run(row.grid, row.block, *arguments, shared_bytes=row.shared_bytes, cluster=row.cluster, hazards=hazards)


def judge(row, recorded, data=DATA):
    """The Verdict of a row, run on the machine, beside its record."""
    from simlayout.errors import SimlayoutError

    arguments, text = row.arguments(), row.text(data)
    try:
        trace = ran(row, text, arguments, "raise" if row.refused else "report")
    except SimlayoutError as error:
        if row.refused and row.refused in str(error) and "failed" in recorded:
            return Verdict(row.name)
        return Verdict(row.name, failed=f"{type(error).__name__}: {error}")
    if row.refused:
        return Verdict(row.name, failed="the machine ran what a GPU refuses")
    if "failed" in recorded:
        return Verdict(row.name, failed=f"the GPU failed: {recorded['failed']}")
    arrays = arrays_of(arguments)
    results = [told for i in recorded["sha256"] if i not in row.maps and (told := unlike(arrays[i], recorded, i))]
    return Verdict(row.name, results, wavefronts(trace, recorded), [str(h) for h in trace.hazards])


def unlike(array, recorded, index):
    """How an array differs from the GPU's, as a sentence; empty if it does not."""
    if digest(array) == recorded["sha256"][index]:
        return ""
    kept = recorded.get("arrays", {}).get(index)
    numbers = np.ascontiguousarray(array).view(array.real.dtype) if array.dtype.kind == "c" else array
    apart = APART.get(numbers.itemsize)
    if kept is None or apart is None:
        return f"argument {index}: other bytes than the GPU's"
    theirs = unpacked(kept, numbers).astype(np.float64)
    off = ~np.isclose(numbers.astype(np.float64), theirs, *apart, equal_nan=True)
    return (
        f"argument {index}: {int(off.sum())} of {off.size} elements are further than {apart} from the GPU's"
        if off.any()
        else ""
    )


def wavefronts(trace, recorded):
    """{class, or ALL: (the machine's, the GPU's)} of what the GPU counted."""
    total = trace.total()
    ours = {**trace.totals(), ALL: total.wavefronts + total.loads}
    return {name: (ours[name], theirs) for name, theirs in counted(recorded).items()}


def counted(recorded):
    """{class, or ALL: wavefronts} of the GPU.

    >>> counted({"counters": {"ld": 4, "st": None, "shared": 6, "instructions": 99}})
    {'ld': 4, 'all': 6}
    """
    counters = recorded.get("counters") or {}
    found = {name: counters.get(name) for name in CLASSES} | {ALL: counters.get("shared")}
    return {name: count for name, count in found.items() if count is not None}


def report(verdicts):
    """The verdicts as text: a line per kernel, and sums."""
    lines = []
    for v in verdicts:
        parts = []
        for name in v.apart:
            ours, theirs = v.wavefronts[name]
            parts.append(f"{name} {ours} (GPU {theirs}): {REASONS.get((v.name, name), 'unexplained')}")
        told = [v.failed, *v.results, *parts, *v.hazards[:2]]
        lines.append(f"{v.name:<26}{'; '.join(filter(None, told)) or 'equal'}")
    equal, seen = shared_counts(verdicts)
    lines.append(f"{sum(v.right for v in verdicts)} of {len(verdicts)} results equal")
    lines.append(f"{equal} of {seen} classes of wavefronts equal, those apart that neither counts")
    return "\n".join(lines)


def shared_counts(verdicts):
    """(how many pairs of a kernel and a class have equal wavefronts, how many there are), without pairs where both are 0.

    >>> shared_counts([Verdict("a", wavefronts={"ld": (1, 1), "st": (0, 0), "atom": (2, 3)})])
    (1, 2)
    """
    pairs = [pair for v in verdicts for pair in v.wavefronts.values() if any(pair)]
    return sum(ours == theirs for ours, theirs in pairs), len(pairs)


def about(path):
    """What `gpu` recorded, from a .json or .json.xz: device, driver, date, command, versions, tool and kernels."""
    path = Path(path)
    return json.loads(lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes())


def read(path):
    """{name: record of a kernel} of what `gpu` recorded, in their order."""
    return {kernel["name"]: kernel for kernel in about(path)["kernels"]}


def main(arguments=None):
    """As the module says."""
    parser = parser_of("cuda_kernels.conformance.foreign.compare", __doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), metavar="NAME")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    kernels = read(options.file)
    names = options.rows or [name for name in kernels if name in ROWS]
    verdicts = [judge(ROWS[name], kernels[name], options.data) for name in names]
    print(report(verdicts))
    return int(not all(v.right and v.explained for v in verdicts))


if __name__ == "__main__":
    ended_by(main)
