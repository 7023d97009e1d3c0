"""What pages say, and records hold, for tests that compare both."""

import json
import lzma

from places import DATA
from texts import TEXTS


def read(name):
    opened = lzma.open if name.endswith(".xz") else open
    with opened(DATA / name, "rt") as file:
        return json.load(file)


def text_of(page):
    return next(path for path in TEXTS if path.stem == page).read_text()


def says(page, *fragments):
    """Asserts that a page holds the fragments, however its lines are broken."""
    text = " ".join(text_of(page).split())
    for fragment in fragments:
        assert fragment in text, fragment


def cells(page, row):
    """[text of each cell] behind the first of a row of a table."""
    line, = (line for line in text_of(page).splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.split("|")[2:-1]]
