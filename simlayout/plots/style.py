"""What all figures share: colours, sizes, many texts drawn quickly, and a legend.

Sizes are inches and points on a 13.33 x 7.5 inch slide, where no text is under 8 points.
"""

from functools import lru_cache
from textwrap import wrap

import numpy as np

from simlayout.plots.library import matplotlib

COLOURS = ("#77AADD", "#EE8866", "#EEDD88", "#FFAABB", "#99DDFF", "#44BB99", "#BBCC33", "#AAAA00")
"""Eight that carry black text, of what is only told apart: lanes, warps, matrices, pieces of a row. Paul Tol's "light"
scheme: distinct to the colour-blind."""

PLACES = ("#D69388", "#EEC969", "#B4AB64", "#B8E534", "#A5F1B9", "#60B2B8", "#9BA6EE", "#E9C4F2")
"""Of the eight places of 16 bytes in a line of shared memory, in the order of the rainbow: only of banks. They differ in
lightness too, so that the colour-blind tell them apart: a picture of a large tile has no numbers."""

MARK = "#A50026"
"""Of what is one wavefront too many: the frame and the bar of a cell, the frame of a bar. Of nothing else."""

NAMED = {"ideal": "#A8C3DC", "excess": "#F4A08F", "within": "#DDDDDD", "bank": "#8CCBEA", "line": "#BBCC33",
         **{f"place {i}": colour for i, colour in enumerate(PLACES)}}
"""Colours with a meaning of their own: ideal wavefronts, excess, the bits of an address, places in a line."""

BAR = 2.4                                   # points: height of the bar of a marked cell

EMPTY = "#F2F2F2"
"""Of a cell that belongs to nobody."""

TEXT, TITLE = 8, 11                         # points
LINE = 0.135                                # inches: height of a line of text
SLIDE, TALL = 13.33, 7.5                    # inches: width and height of a slide
BEFORE = {"left": 0, "center": 0.5, "right": 1}
"""Where a text is anchored -> the share of it that lies left of there."""

CAPITAL, DESCENT = 0.73, 0.24               # of DejaVu Sans, in sizes: height of a digit, depth of a g


def colour_of(index):
    """The colour of a cell: one of NAMED by its name; else COLOURS, over and over; EMPTY for an index below 0.

    >>> colour_of(8) == colour_of(0), colour_of(-1), colour_of("place 0") == PLACES[0]
    (True, '#F2F2F2', True)
    """
    if isinstance(index, str):
        return NAMED[index]
    return EMPTY if index < 0 else COLOURS[index % len(COLOURS)]


@lru_cache(maxsize=65536)
def text_width(text, size=TEXT):
    """Inches that the longest line of a text takes.

    >>> 0.05 < text_width("7") < 0.09, text_width("12\\n7") == text_width("12")
    (True, True)
    """
    return max(map(_advances, text.split("\n"))) * size / 72


@lru_cache(maxsize=65536)
def _advances(line):
    return sum(map(_advance, line))


@lru_cache(maxsize=4096)
def _advance(character):
    """The width of a character of the font, in sizes."""
    matplotlib()                                        # SimlayoutError without it
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return text_to_path.get_text_width_height_descent(character, FontProperties(size=100), False)[0] / 100


def text_height(text):
    """Inches that the lines of a text take."""
    return LINE * (text.count("\n") + 1)


def wrapped(text, columns, lines):
    """The text in lines, cut after the last one allowed.

    >>> wrapped("one two three", 7, 1)
    'one two ...'
    """
    all_lines = [line for part in str(text).splitlines() for line in wrap(part, columns)]
    return "\n".join(all_lines[:lines]) + (" ..." if len(all_lines) > lines else "")


def fitted(text, inches, size=TITLE):
    """The text in lines of at most so many inches, as far as its words allow.

    >>> fitted("one two three", 0.7)
    'one two\\nthree'
    """
    lines = []
    for part in str(text).split("\n"):
        words = part.split(" ")
        lines.append(words[0])
        for word in words[1:]:
            if text_width(f"{lines[-1]} {word}", size) > inches:
                lines.append(word)
            else:
                lines[-1] += f" {word}"
    return "\n".join(lines)


def add_labels(ax, texts, side="center", shift=(0, 0), size=TEXT):
    """Writes [(x, y, text)] into the Axes as one artist: a text each takes ten times as long. An SVG has them as text.

    x, y: data coordinates of a text's middle, or with side "left" or "right" of that end; shift: from there, in points.
    """
    artist = _labels_class()(texts, side, shift, size)
    artist.set_zorder(4)
    ax.add_artist(artist)
    artist.set_clip_on(False)
    return artist


@lru_cache(None)
def _labels_class():
    """The class of that artist, made when Matplotlib is there to derive it from."""
    matplotlib()                                        # SimlayoutError without it
    from matplotlib.artist import Artist
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text

    class Labels(Artist):
        """texts: [(x, y, text)] in data coordinates; side, shift: as of `add_labels`."""

        def __init__(self, texts, side, shift, size):
            super().__init__()
            self.texts, self.side, self.shift, self.font = list(texts), side, shift, FontProperties(size=size)
            self._anchor = Text(horizontalalignment=side, fontproperties=self.font)      # says how SVG aligns them

        def lines(self, pixels):
            """[(x, baseline, line)] in pixels, so many to a point; x: of the end or the middle that `side` names."""
            step, down = LINE * 72 * pixels * 0.95, CAPITAL / 2 * self.font.get_size_in_points() * pixels
            places = self.axes.transData.transform([text[:2] for text in self.texts]) + np.multiply(self.shift, pixels)
            for (x, y), (*_, text) in zip(places, self.texts, strict=True):
                lines = text.split("\n")
                for i, line in enumerate(lines):
                    yield x, y + ((len(lines) - 1) / 2 - i) * step - down, line

        def get_window_extent(self, renderer=None):
            """The Bbox of all texts in pixels: what cuts a picture to size, as notebooks do, keeps them."""
            from matplotlib.transforms import Bbox

            if not self.texts:
                return Bbox.from_extents(0, 0, 0, 0)
            pixels = self.figure.dpi / 72
            size, before = self.font.get_size_in_points() * pixels, BEFORE[self.side]
            corners = [(x + _advances(line) * size * share, y + size * down) for x, y, line in self.lines(pixels)
                       for share, down in ((-before, -DESCENT), (1 - before, CAPITAL))]
            return Bbox.from_extents(*np.min(corners, 0), *np.max(corners, 0))

        def draw(self, renderer):
            """Pixels: every letter once, at all its places. Other formats: line by line, as text."""
            if not self.texts:
                return
            pixels, context = renderer.points_to_pixels(1), renderer.new_gc()
            context.set_foreground("black")
            draw = _stamp if isinstance(renderer, RendererAgg) else self._write
            draw(renderer, context, self.lines(pixels), self.font.get_size_in_points() * pixels, BEFORE[self.side])
            context.restore()

        def _write(self, renderer, context, lines, size, before):
            high, flips = renderer.get_canvas_width_height()[1], renderer.flipy()
            for x, y, line in lines:
                self._anchor.set_position((x, y))
                left = x - _advances(line) * size * before
                renderer.draw_text(context, left, high - y if flips else y, line, self.font, 0, False, self._anchor)

    return Labels


def _stamp(renderer, context, lines, size, before):
    """Draws lines of text letter by letter, all places of a letter together. size: pixels; before: share of a line that is
    left of its x."""
    matplotlib()                                        # SimlayoutError without it
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D, IdentityTransform

    places = {}
    for x, y, line in lines:
        x -= _advances(line) * size * before
        for character in line:
            if not character.isspace():                      # a blank has no outline
                places.setdefault(character, []).append((x, y))
            x += _advance(character) * size
    context.set_linewidth(0)
    context.set_snap(False)                              # or an l is as thin as a pixel
    shape, here = Affine2D().scale(size / 100), IdentityTransform()
    for character, where in places.items():
        renderer.draw_markers(context, _outline(character), shape, Path(where), here, (0, 0, 0))


@lru_cache(maxsize=4096)
def _outline(character):
    """The Path of a letter at size 100."""
    matplotlib()                                        # SimlayoutError without it
    from matplotlib.textpath import TextPath

    return TextPath((0, 0), character, size=100)


def legend(parent, entries, **place):
    """The legend of an Axes or a Figure. entries: [(handle, or a tuple of them side by side, text)]."""
    handles, texts = zip(*entries, strict=True)
    together = matplotlib().legend_handler.HandlerTuple(ndivide=None, pad=0)
    wide = max((len(h) for h in handles if isinstance(h, tuple)), default=1)
    parent.legend(handles, texts, fontsize=TEXT, frameon=False, handlelength=5 if wide > 3 else 2.5, labelspacing=0.3,
                  borderpad=0.2, handler_map={tuple: together}, **place)


def patch(**style):
    """A rectangle of a legend."""
    return matplotlib().patches.Patch(**style)


def mark(ax, boxes):
    """Marks cells of an Axes, whatever their size: a frame and, at the lower edge, a bar of BAR points.

    boxes: [(x, y, width, height)] in data coordinates, y downwards.
    """
    make = matplotlib().collections.PolyCollection
    bottom, top = ax.get_ylim()
    bar = BAR / 72 * abs(bottom - top) / (ax.bbox.height / ax.figure.dpi)
    bars = [corners(x, y + max(height - bar, 0), width, min(bar, height)) for x, y, width, height in boxes]
    ax.add_collection(make(bars, facecolor=MARK, linewidth=0, zorder=2, clip_on=False), autolim=False)
    ax.add_collection(make([corners(*box) for box in boxes], facecolor="none", edgecolor=MARK, linewidth=1.1, zorder=3,
                           clip_on=False), autolim=False)


def mark_patch():
    """The handle of a marked cell in a legend."""
    return patch(facecolor=NAMED["excess"], edgecolor=MARK, linewidth=1.4)


def corners(x, y, width, height):
    """The corners of a rectangle, around it."""
    return (x, y), (x + width, y), (x + width, y + height), (x, y + height)
