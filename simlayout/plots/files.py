"""Figures as files: SVG whose text stays text, or PNG; written whole or not at all."""

from io import BytesIO
from pathlib import Path

from simlayout.errors import SimlayoutError
from simlayout.files import write_whole
from simlayout.plots.library import matplotlib

FORMATS = ("svg", "png")
DPI = 160
"""Pixels per inch of a PNG: a 13.33 inch slide is 2133 pixels wide."""


def format_of(path):
    """"svg" or "png", by the file's name; SimlayoutError for any other."""
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise SimlayoutError(f"cannot draw {str(path)!r}: name a file that ends in .svg or .png")
    return suffix


def rendered(figure, kind="svg"):
    """The figure as the bytes of an SVG (text as text, no date: equal figures are equal bytes) or PNG file."""
    out = BytesIO()
    with matplotlib().rc_context({"svg.fonttype": "none", "svg.hashsalt": "simlayout"}):
        figure.savefig(out, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
    return out.getvalue()


def save(figure, path):
    """Writes a figure to FILE.svg or FILE.png; SimlayoutError for another name, or a file that cannot be written."""
    write_whole(path, rendered(figure, format_of(path)))
