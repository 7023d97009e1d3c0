"""guide and clinic: pages to read, how to use the library and questions that users asked, each executed by the tests."""

import re
from functools import partial

from simlayout.cli.options import add, add_own
from simlayout.cli.text import field, tell
from simlayout.clinic import PAGES as CLINIC
from simlayout.errors import SimlayoutError
from simlayout.guide import PAGES as GUIDE


def describe_guide(parser):
    """The parser of `simlayout guide`."""
    _describe(parser, GUIDE, """
        simlayout guide
        simlayout guide layouts
        simlayout guide own-kernels --json
        """, """
    Each page is Markdown whose examples the tests run. --json holds the titles by name, or a page's text.
    """)


def describe_clinic(parser):
    """The parser of `simlayout clinic`."""
    _describe(parser, CLINIC, """
        simlayout clinic
        simlayout clinic cutlass-3172
        """, """
    Each page says what was asked and where, what happens (with numbers that this version computes: its tests run every
    example), why, which layout helps, and what could not be reproduced. --json holds the titles by name, or a page's text.
    """)


def _describe(parser, shelf, examples, notes):
    parser.answer(partial(show, shelf), examples, notes)
    add_own(parser, "page", nargs="?", metavar="NAME", help="the page to print (default: list them)",
            values=lambda: [p.name for p in shelf.all()])
    add(parser, "--json")


def show(shelf, options):
    """`simlayout guide` and `simlayout clinic`: lists Pages, or prints one."""
    if options.page is None:
        pages = shelf.all()
        column = max(len(p.name) for p in pages) + 2
        tell(options.json, {p.name: p.title for p in pages}, "\n".join(field(p.name, p.title, column) for p in pages))
    else:
        one = _asked(shelf, options.page)
        shown = re.sub(r"(?m)^<!-- .* -->\n", "", one.text)           # comments say what writes a table
        tell(options.json, {one.name: one.text}, shown.rstrip())
    return 0


def _asked(shelf, name):
    """The Page of that name; who asks the guide for a lesson is told where the lessons are."""
    try:
        return shelf.page(name)
    except SimlayoutError as error:
        if shelf is not GUIDE or not re.match(r"lessons?\b|[0-9]+$", name):
            raise
        raise SimlayoutError(f"{error}; the lessons are notebooks: `simlayout lesson` lists them") from None
