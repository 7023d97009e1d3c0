"""A Comparison as a table: a row for each line of the source, below the name of its file."""

from collections.abc import Iterator
from typing import Any

COLUMNS = ("line", "executions", "instructions", "wavefronts", "ideal", "excess", "sectors", "least")
FORM = "{:>6}  {:>10}  {:>12}  {:>10}  {:>8}  {:>8}  {:>8}  {:>8}"
TRACED = "  {:>9}  {:<12}"


def listing(found: Any, every: bool = False) -> Iterator[str]:
    """The lines of text of a Comparison. every: also the lines that access no shared memory."""
    traced = found.prediction is not None
    shown = [line for line in found.lines if line.instructions or line.verdict or every and line.line]
    for file in dict.fromkeys(line.file for line in shown):
        if file:
            yield file
        yield FORM.format(*COLUMNS) + (TRACED.format("predicted", "verdict") if traced else "") + "  source"
        for line in shown:
            if line.file == file:
                yield f"{FORM.format(line.line or '', *_numbers(line))}{_predicted(line, traced)}  {line.source}".rstrip()
    if not shown:
        yield "no access of shared memory"
    total = found.total()
    yield (FORM.format("total", *_numbers(total)) + _predicted(total, traced)).rstrip()


def _numbers(line):
    shared = (line.instructions, line.wavefronts, line.ideal, line.excess)
    return (line.executions or "", *(shared if line.instructions or line.wavefronts else [""] * 4),
            *((line.sectors, line.least) if line.sectors else [""] * 2))


def _predicted(line, traced):
    if not traced:
        return ""
    return TRACED.format(line.predicted.wavefronts if line.predicted.ideal or line.verdict else "", line.verdict)
