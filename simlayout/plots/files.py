"""Figures as files: SVG whose text stays text, or PNG; written whole or not at all."""

from io import BytesIO
from pathlib import Path

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.files import write_whole
from simlayout.plots.aliases import Drawing
from simlayout.plots.library import matplotlib

FORMATS = ("svg", "png")
DPI = 160
"""Pixels per inch of a PNG: a 13.33 inch slide is 2133 pixels wide."""

COMPRESSION = 3
"""Of a PNG, 1 to 9: 6, the usual one, takes half as long again and saves a tenth."""


def format_of(path):
    """"svg" or "png", by the file's name; SimlayoutError for any other."""
    if hasattr(path, "write"):
        raise SimlayoutError('a picture is saved to a file by its name; `rendered(drawn, "png")` gives its bytes')
    suffix = Path(path).suffix.lower().lstrip(".") if isinstance(path, str | Path) else ""
    if suffix not in FORMATS:
        raise SimlayoutError(f"cannot draw {str(path)!r}: name a file that ends in .svg or .png")
    return suffix


def figure_of(drawn):
    """The Figure that a drawing belongs to. drawn: an Axes, several Axes of one figure, or a Figure.

    Raises SimlayoutError for Axes of several figures, and for what is not drawn.
    """
    try:
        figures = {one.figure.figure for one in np.ravel(np.asarray(drawn, object))}      # of nested figures the outer
    except AttributeError:
        raise SimlayoutError(f"{type(drawn).__name__} is no Figure and no Axes: draw it first") from None
    if len(figures) != 1:
        raise SimlayoutError(f"Axes of one figure are a picture, and these are of {len(figures)}")
    return figures.pop()


@typed()
def rendered(drawn: Drawing, kind: str = "svg") -> bytes:
    """A picture as the bytes of an SVG (text as text, no date: equal figures are equal bytes) or PNG file.

    drawn: a Figure, or Axes of one: what any function that draws returns. The file has the whole figure.

    >>> from simlayout.plots import atom, tma
    >>> rendered(tma(atom(32)))[:5]
    b'<?xml'
    """
    if kind not in FORMATS:
        raise SimlayoutError(f"kind = {kind!r}: choose svg or png")
    figure = figure_of(drawn)
    out = BytesIO()
    fonts = {"font.sans-serif": ["DejaVu Sans", "Verdana"]}      # each text of an SVG names them all
    with matplotlib().rc_context({"svg.fonttype": "none", "svg.hashsalt": "simlayout", **fonts}):
        options = {"metadata": {"Date": None}} if kind == "svg" else {"pil_kwargs": {"compress_level": COMPRESSION}}
        figure.savefig(out, format=kind, dpi=DPI, **options)
    return out.getvalue()


def close(drawn: Drawing | str) -> None:
    """Closes a figure that pyplot keeps. drawn: a Figure, its Axes, or "all" for every figure.

    >>> from matplotlib import pyplot
    >>> from simlayout.plots import atom, tma
    >>> ax = tma(atom(32))
    >>> close(ax)
    >>> ax.figure.number in pyplot.get_fignums()
    False
    """
    matplotlib()
    from matplotlib import pyplot

    pyplot.close("all" if isinstance(drawn, str) and drawn == "all" else figure_of(drawn))


def save(drawn: Drawing, path: str | Path) -> None:
    """Writes a picture (see `rendered`) to FILE.svg or FILE.png.

    Raises SimlayoutError for another name, or a file that cannot be written.

    >>> from simlayout.plots import atom, tma
    >>> save(tma(atom(32)), "picture.gif")
    Traceback (most recent call last):
    ...
    simlayout.errors.SimlayoutError: cannot draw 'picture.gif': name a file that ends in .svg or .png
    """
    write_whole(path, rendered(drawn, format_of(path)))
