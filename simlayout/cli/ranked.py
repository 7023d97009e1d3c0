"""The statements of a run that access shared memory, the worst first, each with a bar; for a terminal and for files."""

import ast
import linecache
from functools import lru_cache
from os.path import basename
from textwrap import wrap

from simlayout.cli.text import is_shown, paint, shades, width

BAR = 20
"""Letters of the longest bar."""

HEAD = "excess", "wavefronts", "ideal", "instructions"
FORM = "{:>8}  {:>10}  {:>8}  {:>12}"


def ranked(lines) -> str:
    """The text of SourceLines (of `Trace.source_lines`) that access shared memory: by excess, then by wavefronts, downwards.

    A bar is as long as the wavefronts of its line: first the ideal ones, then, in red on a terminal, the excess. Statements
    are whole, on one line and without indentation; on a terminal too narrow for them they stand below their counts.

    >>> from simlayout.machine.engine.listing import SourceLine
    >>> print(ranked([SourceLine("k.py", 1, "", 4, 4, 4, 4), SourceLine("k.py", 2, "x = ld(a)", 4, 4, 8, 4)]))
      excess  wavefronts     ideal  instructions
           4           8         4             4  ----------##########  k.py:2  x = ld(a)
           0           4         4             4  ----------            k.py:1
    """
    shown = sorted((s for s in lines if s.instructions), key=lambda s: (-s.excess, -s.wavefronts, s.file, s.line))
    if not shown:
        return "no access of shared memory"
    most = max(s.wavefronts for s in shown) or 1
    places = [f"{basename(s.file)}:{s.line}" for s in shown]
    column = max(map(len, places))
    texts = [statement(s) for s in shown]
    long = len(FORM.format(*HEAD)) + BAR + column + 6
    below = is_shown() and long + max(map(len, texts)) > width()
    rows = [FORM.format(*HEAD)]
    for s, place, text in zip(shown, places, texts, strict=True):
        mark = "" if s.exact else " *"
        excess = paint(FORM.format(f"{s.excess}{mark}", s.wavefronts, s.ideal, s.instructions), "red" if s.excess else None)
        if below:
            room = len(FORM.format(*HEAD)) + 2 + BAR <= width()
            rows.append(f"{excess}  {_bar(s, most)}".rstrip() if room else excess)
            rows += wrap(f"{place}  {text}", width(), initial_indent=" " * 10, subsequent_indent=" " * 12)
        else:
            rows.append(f"{excess}  {_bar(s, most)}  {place:<{column}}  {text}".rstrip())
    from simlayout.machine.engine.listing import FOOT  # there is a Trace, so the machine is loaded

    return "\n".join(rows + ([] if all(s.exact for s in shown) else ["", FOOT]))


def _bar(line, most):
    """Ideal and excess wavefronts of a line in letters; what is there at all has one."""
    ideal, excess = shades()
    whole = max(round(BAR * line.wavefronts / most), 1) if line.wavefronts else 0
    red = min(max(round(BAR * line.excess / most), 1), whole) if line.excess > 0 else 0
    return paint(ideal * (whole - red), "blue") + paint(excess * red, "red") + " " * (BAR - whole)


def statement(line) -> str:
    """The statement of a SourceLine on one line: of Python all its lines, of anything else the line.

    >>> from simlayout.machine.engine.listing import SourceLine
    >>> statement(SourceLine("k.cu", 3, "    x = s[i];", 1))
    'x = s[i];'
    """
    first, last = _spans(line.file).get(line.line, (line.line, line.line))
    if first == last:
        return line.source.strip()
    whole = ""
    for number in range(first, last + 1):
        part = linecache.getline(line.file, number).strip()
        whole += part if not whole or whole.endswith(("(", "[", "{")) else f" {part}"
    return whole.rstrip()


@lru_cache(maxsize=64)
def _spans(file):
    """{line: (first, last)} of the statements without a body of a Python file that take several lines."""
    if not file.endswith(".py"):
        return {}
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):                    # no Python after all, or changed since
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.end_lineno != node.lineno:
            found.update(dict.fromkeys(range(node.lineno, node.end_lineno + 1), (node.lineno, node.end_lineno)))
    return found
