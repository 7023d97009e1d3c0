"""The file that holds what a GPU computed, and what is printed of it."""

import json
import lzma
from pathlib import Path

from cuda_kernels.conformance.opcodes.judge import Verdict
from simlayout.files import write_whole

SHOWN = 60
"""Cases that differ and are printed with an example."""


def write(path: Path, about: dict, verdicts: list[Verdict], refused: dict[str, str]) -> None:
    """Writes a record, compressed if its name ends in .xz: about, {name: Verdict}, {name: reason}."""
    rows = ",\n".join(f" {json.dumps(verdict.name)}: {json.dumps(verdict.as_dict())}" for verdict in verdicts)
    text = f'{json.dumps(about, indent=1)[:-2]},\n "refused": {json.dumps(refused, indent=1)},\n "forms": {{\n{rows}}}}}\n'
    write_whole(path, lzma.compress(text.encode(), preset=9) if path.suffix == ".xz" else text)


def read(path: Path) -> dict:
    """A record as plain values."""
    data = Path(path).read_bytes()
    return json.loads(lzma.decompress(data) if Path(path).suffix == ".xz" else data)


def summary(verdicts: list[Verdict], refused: dict[str, str]) -> str:
    """What differs, with an example of each; what the driver refused, by reason."""
    lines, wrong = [], [v for v in verdicts if v.different]
    for v in wrong[:SHOWN]:
        given, theirs, ours = v.examples[0]
        lines.append(f"{v.name}: {v.different} of {v.cases} differ: of {given} the GPU makes {theirs}, the table {ours}")
    if len(wrong) > SHOWN:
        lines.append(f"... and {len(wrong) - SHOWN} more: {', '.join(v.name for v in wrong[SHOWN:])}")
    lines += [f"{v.name}: not compared, {v.missing}" for v in verdicts if v.missing]
    reasons: dict[str, list[str]] = {}
    for name, reason in refused.items():
        reasons.setdefault(_without_line(reason), []).append(name)
    lines += [f"refused, {reason}: {len(names)} ({', '.join(names[:3])}...)" for reason, names in reasons.items()]
    known = [v for v in verdicts if not v.missing]
    lines.append(f"{len(known)} forms on {sum(v.cases for v in known):,} operands: {len(wrong)} differ somewhere, in "
                 f"{sum(v.different for v in wrong):,} results; {len(refused)} refused; "
                 f"{len(verdicts) - len(known)} not compared")
    return "\n".join(lines)


def _without_line(reason):
    """A reason of ptxas without the place in the file."""
    return reason.split("error")[-1].strip(" :")
