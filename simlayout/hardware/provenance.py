"""Where a rule of the hardware comes from."""

from dataclasses import dataclass

H200 = "measured on one NVIDIA H200 (driver 580.159, CUDA 13.0) with Nsight Compute 2025.3.1, 2026-11-21"
"""The measurement behind every sm_90 rule."""


@dataclass(frozen=True)
class Provenance:
    """kind: "measured", "documented" or "assumed"; text: by whom and how; cases: measured cases that agree, 0 if none.

    >>> from simlayout.hardware import analyze
    >>> analyze("st.shared.b64", [8 * lane for lane in range(32)]).provenance.kind
    'measured'
    """

    kind: str
    text: str
    cases: int = 0

    def __str__(self):
        return f"{self.kind}: {self.text}"


def measured(cases, of, note=""):
    """The provenance of a rule that explains all `cases` measured cases of the instructions `of`."""
    return Provenance("measured", f"explains {cases:,} of {cases:,} cases of {of}{note}; {H200}", cases)
