"""What `print` shows of an Analysis."""

from textwrap import wrap

import numpy as np

from simlayout.wording import counted, plural

LABEL = 14
WIDTH = 100


def summary(analysis):
    """The table of an Analysis: text of at most 12 lines of at most 100 columns."""
    rows = [("instruction", f"{analysis.instruction} on {analysis.arch.name}"), ("accesses", f"{len(analysis)}")]
    if len(analysis):
        rows += _counts(analysis)
    if not analysis.exact:
        least, most = int(analysis.at_least.sum()), int(analysis.at_most.sum())
        rows.append(("bounds", f"{least} to {counted(most, analysis.arch.vendor.wavefront)}: {analysis.caveat}"))
    rows.append(("rule", analysis.provenance.told))
    return "\n".join(line for label, value in rows for line in _lines(label, value))


def _counts(analysis):
    wavefronts, ideal, excess = (int(x.sum()) for x in (analysis.wavefronts, analysis.ideal, analysis.excess))
    least, most = int(analysis.wavefronts.min()), int(analysis.wavefronts.max())
    each = f"{least} per access"
    if least < most:
        each = f"{least} to {most} per access, {wavefronts / len(analysis):.4g} on average"
    figures = [str(x) for x in (wavefronts, ideal, excess, int(analysis.conflicts.sum()))]
    wide = max(map(len, figures))
    called = plural(analysis.arch.vendor.wavefront)
    share = f"   {excess / wavefronts:.0%} of the {called}" if excess else ""
    rows = [(called, f"{figures[0]:<{wide}}   {each}"), ("ideal", figures[1]),
            ("excess", f"{figures[2]:<{wide}}{share}".rstrip()), ("conflicts", figures[3])]
    if analysis.loads.any():
        rows.append(("loads", f"{int(analysis.loads.sum())}   in the loop of the atomic, counted apart"))
    worst = int(np.argmax(analysis.excess))
    with_excess = int((analysis.excess > 0).sum())
    text = (f"access {worst}: {int(analysis.wavefronts[worst])} {called} where {int(analysis.ideal[worst])} "
            f"{'is' if analysis.ideal[worst] == 1 else 'are'} ideal; {with_excess} of {len(analysis)} have excess")
    return [*rows, ("worst", text if with_excess else "no access has excess")]


def _lines(label, value):
    """A row, on two lines at most."""
    return wrap(value, WIDTH, initial_indent=f"{label:<{LABEL}}", subsequent_indent=" " * LABEL, max_lines=2,
                placeholder=" ...", drop_whitespace=True, replace_whitespace=False) or [label]
