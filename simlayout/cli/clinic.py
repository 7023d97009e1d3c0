"""clinic: questions that users asked about bank conflicts, worked and executed."""

from simlayout.cli.text import field, print_json
from simlayout.clinic import page, pages

EXAMPLES = """
    simlayout clinic
    simlayout clinic cutlass-3172
    """

NOTES = """
    Each page says what was asked and where, what happens (with numbers that this version computes: its tests run every
    example), why, which layout helps, and what could not be reproduced.
    """


def add_command(commands, command):
    """Adds `clinic`; command: the function that makes a parser with examples."""
    parser = command(commands, "clinic", clinic, "worked cases of bank conflicts that users asked about", EXAMPLES, NOTES)
    parser.add_argument("page", nargs="?", metavar="NAME", help="the page to print (default: list them)")
    parser.add_argument("--json", action="store_true", help="print one JSON object: the titles by name, or a page's text")


def clinic(options):
    """`simlayout clinic`."""
    if options.json:
        found = pages() if options.page is None else [page(options.page)]
        print_json({p.name: p.title if options.page is None else p.text for p in found})
    elif options.page is None:
        column = max(len(p.name) for p in pages()) + 2
        print("\n".join(field(p.name, p.title, column) for p in pages()))
    else:
        print(page(options.page).text.rstrip())
    return 0
