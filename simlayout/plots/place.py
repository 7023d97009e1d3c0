"""Where the panels of a picture go: a figure of the right size, the place of one Axes, or Axes of their own."""

import numpy as np

from simlayout.errors import SimlayoutError
from simlayout.plots.library import matplotlib, shown_figure


def own_axes(ax, count):
    """`ax` as a tuple of `count` Axes, one for each panel; None if `ax` is None, or one Axes for all panels.

    ax: None, an Axes, or a sequence of Axes (an array, as `pyplot.subplots` makes it, row by row). Raises SimlayoutError for
    any other number of Axes, or for what is none.
    """
    if ax is None or _is_axes(ax):
        return None
    axes = tuple(np.ravel(np.asarray(ax, object)))
    if len(axes) != count or not all(map(_is_axes, axes)):
        what = f"{len(axes)} Axes" if all(map(_is_axes, axes)) else f"a {type(ax).__name__}"
        raise SimlayoutError(f"there are {count} panels, and ax is {what}: give one Axes for all of them, or {count}")
    return axes


def one_axes(ax):
    """`ax` itself, which is one Axes or None; SimlayoutError for anything else."""
    if ax is not None and not _is_axes(ax):
        raise SimlayoutError(f"there is one panel, and ax is {type(ax).__name__}: give one Axes, or None")
    return ax


def frame(ax, size):
    """The place in which panels are laid out: a new figure of `size` inches, or `ax`, which becomes an invisible frame."""
    if ax is None:
        return shown_figure(figsize=size)
    ax.set_axis_off()
    return ax


def part(parent, place):
    """New Axes in a frame (see `frame`). place: left, bottom, width and height, as shares of the frame.

    Those in an Axes are its children: they move with it, where a figure's layout does move it.
    """
    return parent.inset_axes(place) if _is_axes(parent) else parent.add_axes(place)


def write(parent, x, y, text, **style):
    """Writes a text into a frame, never read as a formula. x, y: as shares of the frame."""
    transform = parent.transAxes if _is_axes(parent) else parent.transSubfigure
    parent.text(x, y, text, transform=transform, parse_math=False, **style)


def inches(ax):
    """(width, height) of an Axes as it is placed now, in a figure or in a part of one."""
    return ax.bbox.width / ax.figure.dpi, ax.bbox.height / ax.figure.dpi


def _is_axes(thing):
    return isinstance(thing, matplotlib().axes.Axes)
