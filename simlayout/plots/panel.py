"""A panel: boxes with texts on a grid, as data; and how panels become a figure of the right size.

Most figures are panels. What computes one says in its boxes what it found; `draw` and `together` add nothing to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError, require
from simlayout.plots import style
from simlayout.plots.aliases import Axes, SeveralAxes
from simlayout.plots.library import matplotlib
from simlayout.plots.place import frame, one_axes, own_axes, part, write

CONFLICT = "red frame and bar: a {} beyond the first of its lanes (a conflict)"
"""What `marked` means in a picture of lanes; {}: what the vendor of the chip calls a wavefront."""

MOST = 8192
"""Boxes that a panel draws: more are no picture for people."""

NARROW, LOW, BANK = 0.14, 0.15, 0.1         # inches: the least that a box measures across and down, and a bank across
WITH_TITLE = 3.3                            # inches across that a title may take for itself
GAP, EDGE, HEAD, TITLE_LINE = 0.3, 0.12, 0.17, 0.2      # inches: between panels, around, column numbers, lines of a title
MOST_WIDE = style.SLIDE - 2 * EDGE          # inches across that a panel may take
HEADLINE = 6                                # inches across that a title above all panels may take for itself
BOLD = 1.14                                 # width of bold text, in that of plain
LINE_BYTES = 128
FOOT = 0.16                                 # inches: a line of the legend


class Box(NamedTuple):
    """A rectangle from (x, y), y downwards, with a text; colour: of `style.colour_of`; marked: with a frame and a bar."""

    x: float
    y: float
    width: float
    height: float
    colour: int | str
    text: str = ""
    marked: bool = False


@dataclass(frozen=True)
class Panel:
    """What one Axes shows, in units of its grid.

    width, height: of the grid; boxes: Boxes. columns, rows: ((position, text), ...) above and left of the grid; sides: the
    same to its right. frames: ((x, y, width, height), ...) drawn thick. legend: ((colours, meaning), ...), no colours where
    it speaks of texts; marked: what the frame and the bar of a cell mean. xlabel, ylabel: what the numbers of columns and
    rows count. low: inches that a box measures down at least. bytes: of a unit across, 0 if it is none of memory: panels of
    bytes share a scale. Raises SimlayoutError for more boxes than MOST.
    """

    title: str
    width: float
    height: float
    boxes: Sequence[Box]
    columns: Sequence[tuple] = ()
    rows: Sequence[tuple] = ()
    sides: Sequence[tuple] = ()
    frames: Sequence[tuple] = ()
    legend: Sequence[tuple] = ()
    marked: str = ""
    xlabel: str = ""
    ylabel: str = ""
    low: float = LOW
    bytes: float = 0

    def __post_init__(self):
        if len(self.boxes) > MOST:
            raise SimlayoutError(f"{self.title}: {len(self.boxes)} cells are no picture, {MOST} at most: draw a part")
        for name in ("boxes", "columns", "rows", "sides", "frames", "legend"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def counts_banks(self) -> bool:
        """Whether its columns are banks."""
        return self.xlabel.startswith("bank")

    def unit(self) -> tuple[float, float]:
        """(width, height) in inches of a unit of the grid, in which every text has room."""
        wide = [(style.text_width(b.text) + 0.06) / b.width for b in self.boxes if b.text]
        high = [(style.text_height(b.text) + 0.015) / b.height for b in self.boxes if b.text]
        wide += [(style.text_width(t) + style.text_width(u) + 0.12) / 2 / (q - p)
                 for (p, t), (q, u) in zip(self.columns, self.columns[1:])]
        high += [style.text_height(t) / (q - p) for (p, t), (q, _) in zip(self.rows, self.rows[1:])]
        high += [(style.text_height(t) + style.text_height(u)) / 2 / (q - p)
                 for (p, t), (q, u) in zip(self.sides, self.sides[1:])]
        least = min((b.width for b in self.boxes), default=1), min((b.height for b in self.boxes), default=1)
        narrow = NARROW / least[0]
        if not any(b.text for b in self.boxes):          # colours alone may be narrower, on a slide
            left, right, _ = self.margins()
            narrow = min(narrow, (MOST_WIDE - left - right) / self.width)
        narrow = max(narrow, BANK if self.counts_banks else 0)
        return max([narrow, *wide]), max([self.low / least[1], *high])

    def margins(self) -> tuple[float, float, float]:
        """Inches (left, right, above) that what stands around the grid needs, but for the title."""
        left = max([style.text_width(t) for _, t in self.rows], default=0) + (0.1 if self.rows else 0)
        right = max([style.text_width(t) for _, t in self.sides], default=0) + (0.12 if self.sides else 0)
        return left + (0.2 if self.ylabel else 0), right, HEAD * (bool(self.columns) + bool(self.xlabel))

    def size(self, unit: tuple[float, float] | None = None) -> tuple[float, float]:
        """(width, height) in inches, but for the title and the legend. unit: of the grid, None for the panel's own."""
        (wide, high), (left, right, above) = unit or self.unit(), self.margins()
        return self.width * wide + left + right, self.height * high + above

    def without_texts(self) -> "Panel":
        """The same without the texts in its boxes, and without what the legend says of them."""
        return replace(self, boxes=tuple(b._replace(text="") for b in self.boxes),
                       legend=tuple(entry for entry in self.legend if entry[0]))

    def within(self, high: float) -> "Panel":
        """The same at most so many inches high, and no wider than a slide: itself, or without texts in boxes, which are
        smaller, and with fewer numbers.

        >>> one = Panel("tall", 1, 200, [Box(0, y, 1, 1, 0, str(y)) for y in range(200)])
        >>> one.within(50) is one, round(one.within(5).size()[1], 3)
        (True, 5.0)
        >>> line = Panel("wide", 200, 1, [Box(x, 0, 1, 1, 0, str(x)) for x in range(200)])
        >>> round(line.within(5).size()[0], 2)
        13.09
        """
        panel = self if self.size()[0] <= MOST_WIDE else self.without_texts()
        if panel.size()[1] > high:
            low = (high - self.margins()[2]) / self.height
            panel = replace(self.without_texts(), low=low * min((b.height for b in self.boxes), default=1),
                            rows=_thinned(self.rows, low, style.LINE), sides=())
        if panel.size()[0] > MOST_WIDE:                # the numbers of columns need more than the columns
            left, right, _ = panel.margins()
            most = max([style.text_width(text) for _, text in self.columns], default=0) + 0.06
            panel = replace(panel, columns=_thinned(self.columns, (MOST_WIDE - left - right) / self.width, most))
        return panel

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it; see `draw`."""
        return draw(self, ax)


def _thinned(numbers, unit, least):
    """Every number, or every second, fourth, ... of them, so that they stand at least so many inches apart."""
    kept, step = numbers, 1
    while len(kept) > 1 and least > unit * (kept[1][0] - kept[0][0]):
        step *= 2
        kept = numbers[::step]
    return kept


def draw(panel: Panel, ax: Axes | None = None) -> Axes:
    """Draws a panel into Axes, or into a figure of the right size; returns the Axes.

    >>> ax = draw(Panel("two", 2, 1, [Box(0, 0, 1, 1, 0, "a"), Box(1, 0, 1, 1, 1, "b", True)], marked="late"))
    >>> [text for label in ax.artists[-2:] for *_, text in label.texts], ax.get_title(loc="left")
    (['a', 'b'], 'two')
    """
    require(Panel, "draw", panel)
    if (ax := one_axes(ax)) is None:
        return together([panel])[0]
    _fill(ax, panel, panel.title)
    entries = _entries([panel])
    if entries:
        style.legend(ax, entries, loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=0.6)
    return ax


@typed()
def together(panels: Sequence[Panel], across: int | Sequence[int] | None = None, title: str = "",
             ax: SeveralAxes | None = None) -> tuple[Axes, ...]:
    """Draws several panels, `across` of them beside each other (None: all); returns a tuple of their Axes, in order.

    across: an int; or for each column the number of panels that stand in it, one below the other.

    ax: where to draw; None makes a figure of the right size. One Axes becomes an invisible frame, in whose place panels,
    title and legend are laid out as in a figure of their own, all lengths but those of texts in proportion. Of a sequence of
    Axes each gets a panel (see `draw`), and there is no place for a title above all. Raises SimlayoutError for no panels,
    for another number of Axes, for a title without a place, or if Matplotlib is missing.

    >>> one = Panel("one", 1, 1, [Box(0, 0, 1, 1, 0, "a")])
    >>> [ax.get_title(loc="left") for ax in together([one, one], title="both")]
    ['one', 'one']
    """
    if not panels:
        raise SimlayoutError("no panels to draw")
    separate = own_axes(ax, len(panels))
    if separate and title:
        raise SimlayoutError(f"no place for the title {title!r} above {len(separate)} Axes: leave it out, or give one for "
                             "all")
    if separate:
        return tuple(draw(panel, own) for panel, own in zip(panels, separate, strict=True))
    slots = _slots(panels)
    stands = _grid if across is None or isinstance(across, int) else _stacks
    placed, across_all, down_all = stands(slots, across or len(slots))
    entries = _entries(panels)
    wide = max([across_all + 2 * EDGE, 2.5, *map(_legend_width, entries)])
    title = style.fitted(title, max(wide - 2 * EDGE, HEADLINE) / BOLD, style.TITLE)
    wide = max(wide, style.text_width(title, style.TITLE) * BOLD + 2 * EDGE)
    foot = sum(FOOT * (text.count("\n") + 1) for _, text in entries) + (0.15 if entries else 0.05)
    top = EDGE + (TITLE_LINE * (title.count("\n") + 1) + 0.1 if title else 0)
    high = top + down_all + foot + EDGE
    parent, axes = frame(ax, (wide, high)), []
    if title:
        write(parent, EDGE / wide, 1 - EDGE / high, title, fontsize=style.TITLE, fontweight="bold", va="top")
    for slot, x, y in placed:
        panel, (left, _, above), (unit_x, unit_y) = slot.panel, slot.panel.margins(), slot.unit
        width, down = panel.width * unit_x, panel.height * unit_y
        place = (EDGE + x + left) / wide, 1 - (top + y + above + down) / high, width / wide, down / high
        axes.append(part(parent, place))
        _fill(axes[-1], panel, slot.title)
    if entries:
        style.legend(parent, entries, loc="lower left", bbox_to_anchor=(0.02 / wide, 0.0))
    return tuple(axes)


class _Slot(NamedTuple):
    """A panel in a figure: its unit, its title in lines, and inches across, of its title and of all below that."""

    panel: Panel
    unit: tuple
    title: str
    wide: float
    head: float
    high: float


def _slots(panels):
    """The slots of all panels, in order. Panels that show banks share one scale, and so do those of one size that count the
    same; bytes of a row are as wide as bytes of a line, as long as that makes no panel wider than a line."""
    scales = {}
    for panel in panels:
        scales.setdefault(_scale(panel), []).append(panel.unit())
    byte = max([p.unit()[0] / p.bytes for p in panels if p.counts_banks and p.bytes], default=0)
    slots = []
    for panel in panels:
        unit = tuple(map(max, zip(*scales[_scale(panel)])))
        if panel.width * panel.bytes <= LINE_BYTES:
            unit = max(unit[0], byte * panel.bytes), unit[1]
        left, (wide, high) = panel.margins()[0], panel.size(unit)
        title = style.fitted(panel.title, max(wide - left, WITH_TITLE if len(panels) > 1 else style.SLIDE - 1 - left))
        wide = max(wide, left + style.text_width(title, style.TITLE) + 0.05)
        slots.append(_Slot(panel, unit, title, wide, TITLE_LINE * (title.count("\n") + 1) + 0.1, high))
    return slots


def _grid(slots, across):
    """([(slot, x, y)], width, height) in inches of slots line by line, in columns; y: below its title. A last line that is
    shorter keeps its own widths."""
    lines = [slots[i:i + across] for i in range(0, len(slots), across)]
    full = [line for line in lines if len(line) == len(lines[0])]
    columns = [max(line[i].wide for line in full) for i in range(len(full[0]))]
    placed, y, widest = [], 0.0, 0.0
    for line in lines:
        head, x = max(s.head for s in line), 0.0
        for i, slot in enumerate(line):
            placed.append((slot, x, y + head))
            x += (columns[i] if line in full else slot.wide) + GAP
        widest = max(widest, x - GAP)
        y += head + max(s.high for s in line) + GAP / 2
    return placed, widest, y - GAP / 2


def _stacks(slots, counts):
    """The same of slots one below the other, so many in each column."""
    if sum(counts) != len(slots) or min(counts, default=0) < 1:
        raise SimlayoutError(f"{len(slots)} panels do not stand in columns of {', '.join(map(str, counts))}")
    placed, x, highest, left = [], 0.0, 0.0, list(slots)
    for count in counts:
        stack, left, y = left[:count], left[count:], 0.0
        for slot in stack:
            placed.append((slot, x, y + slot.head))
            y += slot.head + slot.high + GAP / 2
        highest = max(highest, y - GAP / 2)
        x += max(s.wide for s in stack) + GAP
    return placed, x - GAP, highest


def _scale(panel):
    """Equal for panels that share a scale."""
    return "banks" if panel.counts_banks else (panel.width, panel.height, panel.xlabel, panel.ylabel)


def _legend_width(entry):
    return 1.1 + max(map(style.text_width, entry[1].split("\n")))


def _fill(ax, panel, title):
    """Everything but the legend."""
    ax.set(xlim=(0, panel.width), ylim=(panel.height, 0))
    ax.set_axis_off()                                    # Matplotlib's own ticks take longer than all the rest
    left, _, above = panel.margins()
    ax.set_title(title, fontsize=style.TITLE, loc="left", parse_math=False, y=1, pad=72 * above + 5)
    style.add_labels(ax, [(place, 0, text) for place, text in panel.columns], "center", (0, 72 * HEAD / 2 - 1))
    style.add_labels(ax, [(0, place, text) for place, text in panel.rows], "right", (-4, 0))
    style.add_labels(ax, [(panel.width, place, text) for place, text in panel.sides], "left", (6, 0))
    if panel.xlabel:
        style.add_labels(ax, [(0, 0, panel.xlabel)], "left", (0, 72 * (above - HEAD / 2) - 1))
    if panel.ylabel:
        ax.annotate(panel.ylabel, (0, 0.5), (7 - 72 * left, 0), "axes fraction", "offset points", fontsize=style.TEXT,
                    rotation=90, ha="center", va="center", annotation_clip=False)
    if panel.frames:
        behind = [style.corners(*frame) for frame in panel.frames]
        ax.add_collection(matplotlib().collections.PolyCollection(behind, facecolor=style.EMPTY, zorder=0), autolim=False)
    _boxes(ax, panel, *panel.unit())


def _boxes(ax, panel, wide, high):
    """All boxes in one collection, marks in two more, frames in another, and all texts in two artists. wide, high: inches of
    a unit of the grid, for the lines between low boxes not to cover them."""
    make = matplotlib().collections.PolyCollection
    shapes = [style.corners(*b[:4]) for b in panel.boxes]
    thin = 72 * min((side for b in panel.boxes for side in (b.width * wide, b.height * high)), default=1)     # points
    ax.add_collection(make(shapes, facecolor=[style.colour_of(b.colour) for b in panel.boxes], edgecolor="white",
                           linewidth=min(0.8, 0.15 * thin), zorder=1, clip_on=False), autolim=False)
    marked = [b[:4] for b in panel.boxes if b.marked]
    if marked:
        style.mark(ax, marked)
    if panel.frames:
        ax.add_collection(make([style.corners(*f) for f in panel.frames], facecolor="none", edgecolor="black", linewidth=1.4,
                               zorder=5, clip_on=False), autolim=False)
    for with_bar in (False, True):
        style.add_labels(ax, [(b.x + b.width / 2, b.y + b.height / 2, b.text) for b in panel.boxes
                              if b.text and b.marked == with_bar], shift=(0, style.BAR / 2 * with_bar))


def _entries(panels):
    """(handle, text) of the legends of all panels, each once."""
    shown, marks = {}, {}
    for panel in panels:
        for colours, text in panel.legend:
            shown.setdefault(text, set()).update(colours)
        if panel.marked and any(b.marked for b in panel.boxes):
            marks[panel.marked] = style.mark_patch()
    entries = [(tuple(style.patch(facecolor=style.colour_of(c)) for c in sorted(colours, key=str))
                or (style.patch(facecolor="none"),), text) for text, colours in shown.items()]
    return [*entries, *((handle, text) for text, handle in marks.items())]
