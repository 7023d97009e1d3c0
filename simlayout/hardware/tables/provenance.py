"""Where a rule of the hardware comes from."""

from dataclasses import dataclass


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
