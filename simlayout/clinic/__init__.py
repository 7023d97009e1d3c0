"""The clinic: questions that users asked about bank conflicts, worked and executed, a page for each.

A page is Markdown whose examples are doctests; the tests run all of them. `simlayout clinic` lists the pages, and
`simlayout clinic NAME` prints one.

>>> [p.name for p in pages()]
['cutlass-1882', 'cutlass-2810', 'cutlass-3172', 'hgemm-4', 'leetcuda-formula', 'llama-28536']
>>> page("hgemm-4").title
'The 16x16 tile of halves that costs ldmatrix.x2.trans two conflicts'
"""

from dataclasses import dataclass
from importlib.resources import files

from simlayout.errors import SimlayoutError

__all__ = ["Page", "page", "pages"]

HEADINGS = ("The question", "What happens", "Why", "Which layout helps", "What we could not reproduce")
"""Of every page, in this order."""


@dataclass(frozen=True)
class Page:
    """One case. name: of its file; text: Markdown."""

    name: str
    text: str

    @property
    def title(self):
        """Its first line: what it is about."""
        return self.text.splitlines()[0].lstrip("# ")


def pages():
    """All Pages, by name."""
    folder = files(__package__) / "pages"
    found = [Page(f.name[:-len(".md")], f.read_text("utf-8")) for f in folder.iterdir() if f.name.endswith(".md")]
    return sorted(found, key=lambda p: p.name)


def page(name):
    """The Page of that name; SimlayoutError, with the names that there are, if there is none."""
    known = {p.name: p for p in pages()}
    if name not in known:
        raise SimlayoutError(f"no page {name!r} in the clinic; there are {', '.join(known)}")
    return known[name]
