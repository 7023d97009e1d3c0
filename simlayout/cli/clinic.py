"""clinic: questions that users asked about bank conflicts, worked and executed."""

from simlayout.cli.options import add, add_own
from simlayout.cli.text import field, tell
from simlayout.clinic import page, pages

EXAMPLES = """
    simlayout clinic
    simlayout clinic cutlass-3172
    """

NOTES = """
    Each page says what was asked and where, what happens (with numbers that this version computes: its tests run every
    example), why, which layout helps, and what could not be reproduced. --json holds the titles by name, or a page's text.
    """


def add_command(commands, command):
    """Adds `clinic`; command: the function that makes a parser with examples."""
    parser = command(commands, "clinic", clinic, "worked cases of bank conflicts that users asked about", EXAMPLES, NOTES)
    add_own(parser, "page", nargs="?", metavar="NAME", help="the page to print (default: list them)",
            values=lambda: [p.name for p in pages()])
    add(parser, "--json")


def clinic(options):
    """`simlayout clinic`."""
    found = pages() if options.page is None else [page(options.page)]
    if options.page is None:
        column = max(len(p.name) for p in found) + 2
        tell(options.json, {p.name: p.title for p in found}, "\n".join(field(p.name, p.title, column) for p in found))
    else:
        tell(options.json, {p.name: p.text for p in found}, found[0].text.rstrip())
    return 0
