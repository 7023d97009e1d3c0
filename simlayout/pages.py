"""Pages: Markdown files of a package that a command lists and prints, and that a repository shows as they are."""

from dataclasses import dataclass, field
from importlib.resources import files

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.wording import meant

__all__ = ["Page", "Pages"]

ENDING = ".md"


@dataclass(frozen=True)
class Page:
    """One page. name: of its file, without ending; text: Markdown."""

    name: str
    text: str = field(repr=False)

    def __str__(self):
        return self.text

    def _repr_markdown_(self):
        """What a notebook shows: the page."""
        return self.text

    @property
    def title(self) -> str:
        """Its first line: what it is about."""
        return self.text.splitlines()[0].lstrip("# ")


@dataclass(frozen=True)
class Pages:
    """The pages of one package. what: they are together, "the guide"; package: its name; folder: in it, "" for itself;
    order: names in the order of reading, () for that of the alphabet."""

    what: str
    package: str
    folder: str = ""
    order: tuple = ()

    def all(self) -> list[Page]:
        """All Pages of the folder, in order; those that the order does not name come last, by name.

        >>> [one.name for one in Pages("the guide", "simlayout.guide", order=("search", "layouts")).all()][:3]
        ['search', 'layouts', 'accuracy']
        """
        place = {name: i for i, name in enumerate(self.order)}
        pages = [Page(f.name[:-len(ENDING)], f.read_text("utf-8"))
                 for f in files(self.package).joinpath(self.folder).iterdir() if f.name.endswith(ENDING)]
        return sorted(pages, key=lambda p: (place.get(p.name, len(place)), p.name))

    @typed()
    def page(self, name: str) -> Page:
        """The Page of that name; SimlayoutError, with the nearest name and all that there are, if there is none.

        >>> Pages("the guide", "simlayout.guide").page("search").title
        'Searching for a layout'
        """
        known = {p.name: p for p in self.all()}
        if name not in known:
            raise SimlayoutError(f"no page {name!r} in {self.what}{meant(name, known)}; there are {', '.join(known)}")
        return known[name]
