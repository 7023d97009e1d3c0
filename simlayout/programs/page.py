"""The report of a program as one HTML page, which asks for nothing else and runs nothing."""

from collections.abc import Iterable, Iterator
from html import escape
from os.path import basename

from simlayout import __version__
from simlayout.programs.mend import Mend
from simlayout.programs.report import (
    Kernel,
    Line,
    Report,
    given_up,
    launches_text,
    shown_path,
    summary,
    uncoalesced,
    uncoalesced_text,
)

STYLE = """
:root { --ink: #16202a; --soft: #5b6875; --line: #d5dbe1; --bad: #b3261e; --badly: #fbe6e4; --good: #1a6b3c; --well: #e3f3e9;
        --warn: #8a5a00; --warned: #fdf1d7; }
body { font: 18px/1.45 system-ui, sans-serif; color: var(--ink); background: #fff; max-width: 76rem; margin: 2rem auto;
       padding: 0 1.5rem; }
h2 code { font-size: inherit; }
h1 { font-size: 1.9rem; margin: 0 0 .3rem; } h2 { font-size: 1.45rem; margin: 2.4rem 0 .3rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); }
code, td.source, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 1rem; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; width: 100%; }
th { text-align: right; font-weight: 600; color: var(--soft); border-bottom: 2px solid var(--line); padding: .25rem .7rem; }
td { text-align: right; padding: .2rem .7rem; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th.source, td.source { text-align: left; white-space: pre; }
tr.excess td { background: var(--badly); } tr.excess td.excess { color: var(--bad); font-weight: 700; }
tr.sectors td.sectors { background: var(--warned); color: var(--warn); font-weight: 700; }
.card { border-left: .4rem solid var(--line); padding: .5rem 1rem; margin: .8rem 0; }
.mend { border-color: var(--good); background: var(--well); } .hazard { border-color: var(--bad); background: var(--badly); }
.none { border-color: var(--warn); background: var(--warned); }
pre { margin: .4rem 0 0; white-space: pre-wrap; }
.before { color: var(--bad); } .after { color: var(--good); font-weight: 700; }
"""

HEAD = ("line", "executed", "instructions", "wavefronts", "ideal", "excess", "sectors", "least", "source")


def page(report: Report, name: str) -> str:
    """The page as text. name: of the program."""
    return "".join([
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>",
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{escape(name)}: simlayout</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(name)}</h1><p>{escape(summary(report))}</p>",
        *([f"<p>{escape(told)}</p>"] if (told := given_up(report)) else []),
        *_hazards(report.kernels.values()), *_mends(report.mends()),
        *(part for kernel in report.kernels.values() for part in _kernel(kernel)),
        "<h2>The words</h2><p><b>Wavefronts</b> are passes through the 32 banks of shared memory; <b>ideal</b> is their "
        "number without any conflict, and <b>excess</b> what is beyond it. <b>Sectors</b> are pieces of 32 bytes of global "
        "memory that warps ask for; <b>least</b> is how many would hold the bytes.</p>",
        f"<p class='soft'>simlayout {escape(__version__)}: counts, not time.</p></body></html>\n"])


def _hazards(kernels: Iterable[Kernel]) -> Iterator[str]:
    """What is wrong, ahead of what is slow."""
    found = [(kernel.name, hazard) for kernel in kernels for hazard in kernel.hazards]
    if found:
        yield "<h2>Hazards</h2>"
    for name, hazard in found:
        yield f"<div class='card hazard'><b><code>{escape(name)}</code></b>: {hazard.times}{escape(str(hazard))}</div>"


def _mends(found: tuple[Mend, ...]) -> Iterator[str]:
    if found:
        yield "<h2>What would mend it</h2>"
    for mend in found:
        where = f"{escape(basename(mend.file))}:{mend.line}" if mend.file else "not in the source"
        what = f"<code>{escape(mend.name)}</code>" if mend.name else "an array in shared memory"
        if not mend.edits:
            yield (f"<div class='card none'><b>{what}</b> ({where}): excess {mend.excess}; no edit is proposed: "
                   f"{escape(mend.why)}.</div>")
            continue
        cost = f"; {mend.bytes} bytes more" if mend.bytes else ""
        known = f" ({escape(mend.why)})" if mend.why else ""
        changed = "\n".join(f"<span class='before'>- {e.line:>4}  {escape(e.before)}</span>\n"
                            f"<span class='after'>+ {e.line:>4}  {escape(e.after)}</span>" for e in mend.edits)
        yield (f"<div class='card mend'><b>{what}</b> ({where}, in {escape(', '.join(mend.kernels))}): excess {mend.excess} "
               f"becomes {mend.left}{cost}{known}<pre>{changed}</pre></div>")


def _kernel(kernel: Kernel) -> Iterator[str]:
    yield f"<h2><code>{escape(kernel.name)}</code></h2><p class='soft'>{escape(launches_text(kernel))}</p>"
    bad = uncoalesced(kernel)
    for file in dict.fromkeys(line.file for line in kernel.lines):
        yield f"<div class='scroll'><table><caption class='soft'>{escape(shown_path(file))}</caption><tr>"
        yield "".join(f"<th class='{'source' if word == 'source' else ''}'>{word}</th>" for word in HEAD) + "</tr>"
        yield from (_row(line, line in bad) for line in kernel.lines if line.file == file)
        yield "</table></div>"
    yield from (f"<div class='card none'>{escape(uncoalesced_text(line))}</div>" for line in bad)


def _row(line: Line, uncoalesced: bool) -> str:
    kind = " ".join(["excess"] * bool(line.excess) + ["sectors"] * uncoalesced)
    star = "" if line.exact else " *"
    shared = [line.instructions, line.wavefronts, line.ideal, f"{line.excess}{star}"] if line.instructions else [""] * 4
    cells = [line.line or "", line.executions or "", *shared, *([line.sectors, line.least] if line.sectors else [""] * 2)]
    return (f"<tr class='{kind}'>" + "".join(f"<td class='{word}'>{cell}</td>" for word, cell in zip(HEAD, cells))
            + f"<td class='source'>{escape(line.source)}</td></tr>")
