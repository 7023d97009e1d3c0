"""Where a rule of the hardware comes from."""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from simlayout.hardware.tables.arch import DEFAULT_ARCH, arch_of

FOLDER = Path(__file__).parent / "measured"


@dataclass(frozen=True)
class Provenance:
    """Who says that a rule is so.

    kind: "measured" (here, or by a record that was added), "measured elsewhere" (by others, who published what they found),
    "documented" (by the vendor, or in its source code), "disputed" (sources contradict each other) or "assumed"; text: by
    whom and how; cases: measured cases that agree, 0 if none.

    >>> from simlayout.hardware import analyze
    >>> analyze("st.shared.b64", [8 * lane for lane in range(32)]).provenance.kind
    'measured'
    """

    kind: str
    text: str
    cases: int = 0

    def __str__(self):
        return f"{self.kind}: {self.text}"

    @property
    def told(self) -> str:
        """The text, with its kind where it does not tell that itself."""
        return self.text if self.kind in ("measured", "assumed") else str(self)


@dataclass(frozen=True)
class Summary:
    """What one record file says. about: device, driver, cuda or rocm, tool, date, command ...; cases: {instruction: (cases,
    wrong)}."""

    arch: str
    about: dict
    cases: dict

    def __str__(self):
        about = self.about
        runtime = f"CUDA {about['cuda']}" if "cuda" in about else f"ROCm {about['rocm']}"
        return (f"measured on one {about['device']} (driver {about['driver']}, {runtime}) with {about['tool']}, "
                f"{about['date']}")


@lru_cache(None)
def _summaries():
    """The summaries in measured/*.json."""
    summaries = []
    for path in sorted(FOLDER.glob("*.json")):
        for entry in json.loads(path.read_text()):
            summaries.append(Summary(entry["arch"], entry["about"], {k: tuple(v) for k, v in entry["cases"].items()}))
    return tuple(summaries)


_added = []


def add(summary):
    """Adds a Summary to what `provenance` knows, for this process."""
    _added.append(summary)


def provenance(row, chip):
    """The Provenance of a row's rule on an architecture: what all records of it say, or why it is believed.

    >>> from simlayout.hardware import INSTRUCTIONS, ARCHES
    >>> print(provenance(INSTRUCTIONS["ld.shared.b64"], ARCHES["sm_80"]))    # doctest: +ELLIPSIS
    assumed: the rule of sm_90, taken to hold on sm_80 (...)
    """
    summaries = [s for s in (*_summaries(), *_added) if arch_of(s.arch) == chip and row.name in s.cases]
    cases = sum(s.cases[row.name][0] for s in summaries)
    wrong = sum(s.cases[row.name][1] for s in summaries)
    if summaries:
        how = "bounds" if row.caveat else "explains"
        text = f"{how} {cases - wrong:,} of {cases:,} cases; {'; '.join(dict.fromkeys(map(str, summaries)))}"
        return Provenance("measured", text, cases - wrong)
    if row.said:
        return row.said
    home = arch_of(DEFAULT_ARCH)
    if chip != home:
        return Provenance("assumed", f"the rule of sm_90, taken to hold on {chip.name} ({provenance(row, home)})")
    return Provenance("assumed", row.like or "no record of this instruction: the rule of its neighbours in the table")
