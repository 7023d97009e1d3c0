"""Text for terminals: one line, a field and its value, JSON."""

import json
import math
import os
import re
import sys
from textwrap import wrap

from simlayout.files import STDIO, deliver

WIDTH, NARROWEST = 100, 40
LABEL, LONGEST = 14, 600


def width():
    """Columns of text: those of COLUMNS, else those of the terminal, else 100, so that files are the same everywhere."""
    columns = os.environ.get("COLUMNS", "")
    if re.fullmatch("[0-9]{1,4}", columns) and int(columns) > 0:
        return max(int(columns), NARROWEST)
    return max(_terminal(), NARROWEST) if _terminal() else WIDTH


def _terminal():
    """Columns of the terminal under stdout, 0 where there is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return 0


def fit(text):
    """A text as wide as COLUMNS or a terminal: tables lose spaces between their columns, and lines that are still too wide
    go on below, further in. A file gets it as it is."""
    if not is_shown():
        return text
    columns = width()
    blocks = text.split("\n\n")
    return "\n\n".join(_fitted(block.split("\n"), columns) for block in blocks)


def is_shown():
    """Whether text is for a terminal, or for somebody who says how wide it may be."""
    return bool(os.environ.get("COLUMNS") or _terminal())


def _fitted(lines, columns):
    if max(map(len, lines)) > columns:
        lines = squeezed(lines)
    return "\n".join(part for line in lines for part in _continued(line, columns))


def squeezed(lines):
    """Lines of a table without the spaces that all of them have between two columns, but two. What begins with `*` is a note
    below the table.

    >>> squeezed(["name      count  ", "load A       12 ", "* a note"])
    ['name    count', 'load A     12', '* a note']
    """
    rows = [line for line in lines if not line.startswith("*")]
    wide = max(map(len, rows), default=0)
    blank = [all(row[i:i + 1] in ("", " ") for row in rows) for i in range(wide)]
    columns = [i for i in range(wide) if not all(blank[i:i + 1] + blank[max(i - 2, 0):i])]
    return [line if line.startswith("*") else "".join(line[i:i + 1] for i in columns).rstrip() for line in lines]


def _continued(line, columns):
    """A line as lines that fit; words that are too long stay whole."""
    if len(line) <= columns:
        return [line]
    indent = " " * min(len(line) - len(line.lstrip()) + 4, columns // 2)
    return wrap(line, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]


def cut(line):
    """A line of source that ends in dots where COLUMNS or a terminal does. A file gets it as it is."""
    return f"{line[:width() - 4]} ..." if is_shown() and len(line) > width() else line


CODES = {"red": "31", "green": "32", "blue": "34", "bold": "1", "dim": "2"}


def coloured():
    """Whether stdout takes colours: never with NO_COLOR (no-color.org), always with FORCE_COLOR, else on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and sys.stdout is not None and sys.stdout.isatty()


def paint(text, colour=None):
    """The text in one of CODES where stdout takes colours, else as it is. Lines have to be as long as they stay."""
    return f"\033[{CODES[colour]}m{text}\033[0m" if colour and text and coloured() else text


def shades():
    """Two letters for the parts of a bar, the light and the dark one: blocks on a terminal that has them."""
    try:
        "\N{LIGHT SHADE}\N{FULL BLOCK}".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "-", "#"
    return ("\N{LIGHT SHADE}", "\N{FULL BLOCK}") if _terminal() else ("-", "#")


def one_line(text):
    """The text on one line: what cannot be printed becomes a space, and what is too long ends in dots."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."


def field(label, value, column=LABEL):
    """"label         value", wrapped to the width of the text with the value from one column on."""
    return "\n".join(wrap(str(value), width(), initial_indent=f"{label:<{column}}", subsequent_indent=" " * column))


def teller(target):
    """What prints a text at once, fitted and perhaps in one of CODES, while a command works; nothing where its answer alone
    goes to stdout: the target of its JSON is "-"."""
    def say(text, colour=None):
        if target != STDIO:
            print(paint(fit(text), colour), flush=True)

    return say


def tell(target, value, text):
    """A command's answer: the text on stdout; the value as one JSON object in its place where the target is "-", or beside
    it in the file that the target names. value, text: themselves, or functions that make them."""
    if target is not None:
        deliver(target, json_text(value() if callable(value) else value) + "\n")
    if target != STDIO:
        print(text() if callable(text) else text, flush=True)


def json_text(value):
    """One JSON object with sorted keys, on one line; what JSON does not have (NaN, infinity) becomes null."""
    return json.dumps(_plain(value), sort_keys=True, allow_nan=False)


def _plain(value):
    """The value as dicts, lists, str, int, finite float, bool and None."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):                         # of NumPy, which is not imported here
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
