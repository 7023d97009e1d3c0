"""Figures as files: SVG whose text stays text, or PNG; written whole or not at all."""

from io import BytesIO
from pathlib import Path

from simlayout.errors import SimlayoutError
from simlayout.files import write_whole
from simlayout.plots.library import matplotlib

FORMATS = ("svg", "png")
DPI = 160
"""Pixels per inch of a PNG: a 13.33 inch slide is 2133 pixels wide."""

COMPRESSION = 3
"""Of a PNG, 1 to 9: 6, the usual one, takes half as long again and saves a tenth."""


def format_of(path):
    """"svg" or "png", by the file's name; SimlayoutError for any other."""
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise SimlayoutError(f"cannot draw {str(path)!r}: name a file that ends in .svg or .png")
    return suffix


def rendered(figure, kind="svg"):
    """The figure as the bytes of an SVG (text as text, no date: equal figures are equal bytes) or PNG file."""
    out = BytesIO()
    fonts = {"font.sans-serif": ["DejaVu Sans", "Verdana"]}      # each text of an SVG names them all
    with matplotlib().rc_context({"svg.fonttype": "none", "svg.hashsalt": "simlayout", **fonts}):
        options = {"metadata": {"Date": None}} if kind == "svg" else {"pil_kwargs": {"compress_level": COMPRESSION}}
        figure.savefig(out, format=kind, dpi=DPI, **options)
    return out.getvalue()


def close(figure):
    """Lets go of a figure that pyplot keeps ("all": of all of them)."""
    matplotlib()
    from matplotlib import pyplot

    pyplot.close(figure)


def save(figure, path):
    """Writes a figure to FILE.svg or FILE.png; SimlayoutError for another name, or a file that cannot be written."""
    write_whole(path, rendered(figure, format_of(path)))
