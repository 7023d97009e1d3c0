"""A report or a Trace as JSON, as `simlayout run --json` and `simlayout trace --json` print it: its lines, and where a line
kept the addresses of its costliest instruction, a State that shows its banks."""

import json
import re
from pathlib import Path

from simlayout.errors import SimlayoutError
from simlayout.explorer.pack import packed
from simlayout.explorer.state import Refusal, State, Use, state_of
from simlayout.explorer.worked import MOST_RECORDED, worked
from simlayout.files import reading
from simlayout.hardware.tables.arch import LANES

MOST_BYTES = 64 << 20       # of a report
MOST_LINES = 2000
MOST_EXPORTED = 40_000      # bytes of the lines of an exported page, as they are packed
NUMBERS = ("instructions", "wavefronts", "ideal", "excess", "sectors", "least")
ELEMENT = {1: "s8", 2: "f16"}           # bytes of an instruction -> elements that it moves; wider ones are words of f32


def read_report(path):
    """The lines of a report's file: dicts for the page. Raises SimlayoutError for what is no such file."""
    with reading(path):
        data = Path(path).read_bytes()
    if len(data) > MOST_BYTES:
        raise SimlayoutError(f"{path}: {len(data)} bytes; a report has at most {MOST_BYTES}")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise SimlayoutError(f"{path} is no JSON: write it with `simlayout run --json report.json program.py`") from None
    lines = report_lines(value)
    if not lines:
        raise SimlayoutError(f"{path} has no lines that access memory: expected what `simlayout run --json`, or "
                             "`simlayout trace --json`, prints")
    return lines


def report_lines(value):
    """The lines of a decoded report that access memory, by kernel and file: {kernel, file, line, source, counts, state}.

    >>> report_lines({"kernel": "k", "lines": [{"file": "a.py", "line": 3, "source": "x", "instructions": 1,
    ...               "wavefronts": 4, "ideal": 1}]})[0]["excess"]
    3
    """
    if not isinstance(value, dict):
        return ()
    kernels = value.get("kernels") if isinstance(value.get("kernels"), list) else [value]
    found = []
    for kernel in kernels:
        lines = kernel.get("lines") if isinstance(kernel, dict) else None
        name = kernel.get("name", kernel.get("kernel", "")) if isinstance(kernel, dict) else ""
        found += [row for line in (lines if isinstance(lines, list) else ()) if (row := _row(name, line))]
    return tuple(found[:MOST_LINES])


def _row(kernel, line):
    """One line for the page; None for what is none, or accesses no memory."""
    if not isinstance(line, dict) or type(line.get("line")) is not int:
        return None
    counts = {name: line[name] for name in NUMBERS if type(line.get(name)) is int}
    if not counts.get("instructions") and not counts.get("sectors"):
        return None
    counts["excess"] = counts.get("wavefronts", 0) - counts.get("ideal", 0)
    file = str(line.get("file", ""))
    source = str(line.get("source", "")).strip()
    return {"kernel": str(kernel), "file": file, "line": line["line"], "source": source, **counts,
            "state": _state(file, line["line"], line.get("worst"))}


def _state(file, line, worst):
    """The State of a line's costliest instruction, as a dict; None where the report has no addresses of it."""
    if not isinstance(worst, dict) or not isinstance(worst.get("addresses"), list):
        return None
    addresses = worst["addresses"]
    known = [a for a in addresses if type(a) is int and 0 <= a < MOST_RECORDED]
    if len(addresses) != LANES or not known or not isinstance(worst.get("instruction"), str):
        return None
    width = max((int(n) for n in re.findall(r"\.b(\d+)$", worst["instruction"])), default=128) // 8
    dtype, size = (ELEMENT[width], width) if width in ELEMENT else ("f32", 4)
    rows = (max(known) + width - 1) // 128 + 1
    text = " ".join(str(a) if type(a) is int else "-" for a in addresses)
    use = Use(f"{Path(file).name}:{line}", worst["instruction"], addresses=text)
    return State(f"({rows},{128 // size}):({128 // size},1)", dtype, accesses=(use,)).as_dict()


# ---- in an exported page ----------------------------------------------------------------------------------------------

def exported_lines(sources):
    """(lines of a report, its title): the costliest lines that fit into a page."""
    lines = [line if line["state"] and _is_counted(line["state"]) else {**line, "state": None} for line in sources.lines]
    title = sources.title
    while len(packed(lines)) > MOST_EXPORTED:
        costly = sorted(range(len(lines)), key=lambda number: -lines[number]["excess"])[:len(lines) * 3 // 4]
        lines = [lines[number] for number in sorted(costly)]
        title = f"{sources.title}: the {len(lines)} costliest of {len(sources.lines)} lines"
    return lines, title


def exported_state(state, lines):
    """The State that an exported page begins with: of a line that it does not count another one of the report."""
    if not is_recorded(state):
        return state
    if len(state.accesses) > 1:
        raise Refusal("an exported page shows a line of a report alone, without other accesses", "request")
    worked(state.without_view())                         # raises for addresses that have no answer
    if _is_counted(state.as_dict()):
        return state
    other = next((line["state"] for line in lines if line["state"]), None)
    if other is None:
        raise Refusal(f"{state.accesses[0].op} is a loop, whose rounds an exported page does not count", "request")
    return state_of(other)


def is_recorded(state):
    """Whether a State is a line of a report."""
    return any(use.addresses.strip() for use in state.accesses)


def _is_counted(state):
    """Whether a page can count the addresses that a line has recorded: they have an answer, and are of no loop."""
    try:
        work, = worked(state_of(state))
    except Refusal:
        return False
    return work.analysis.instruction.rule != "retry"
