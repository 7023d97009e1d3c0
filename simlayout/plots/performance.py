"""Measured speed, drawn: shares of cuBLAS as dots by size or by waves, and ladders of kernels as bars.

Sizes are inches and points on a 13.33 x 7.5 inch slide, where no text is under 10 points.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.plots.aliases import Axes
from simlayout.plots.library import matplotlib, shown_figure
from simlayout.plots.place import one_axes
from simlayout.plots.style import fitted, text_width

SERIES = (("#0077BB", "o"), ("#EE7733", "s"), ("#009988", "D"), ("#CC3311", "^"), ("#555555", "X"), ("#33BBEE", "v"),
          ("#EE3377", "P"))
"""A colour and a marker per series: Paul Tol's "vibrant" scheme, distinct to the colour-blind, and markers for the rest."""

BARS = ("#0077BB", "#CC3311", "#00806A", "#555555", "#332288")
"""A colour per group of bars, on which white text is read."""

PUBLISHED = "#FFFFFF"                       # a diamond with a black edge
TEXT, NOTE, TITLE = 12, 10, 14              # points
SLIDE, TALL = 13.33, 6.6                    # inches: width and height of a picture of dots
MANY = 20                                   # bars, from which on they are lower and their text smaller
HEADLINE = 8.4                              # inches of a title and a legend above bars
NAMED = 3                                   # of the lowest dots, if their names do not meet
NUMBER, DIAMOND = 0.045, 0.014              # shares that the number of a bar, and half a diamond, take of the axis


@dataclass(frozen=True)
class Dot:
    """A measurement: where it stands on the x axis, its share of cuBLAS, the series it belongs to, and its name."""

    x: float
    share: float
    series: str
    name: str = ""


@dataclass(frozen=True)
class Bar:
    """A kernel in a ladder: its share of cuBLAS (None: not measured), the published one (None: none), what to say where
    nothing was measured, the group that gives its colour, and the GPU of the published share."""

    label: str
    share: float | None
    published: float | None = None
    note: str = ""
    group: str = ""
    where: str = ""


@typed()
def share_by_size(dots: Sequence[Dot], ax: Axes | None = None, title: str = "matmul beside cuBLAS") -> Axes:
    """Draws shares of cuBLAS against the size of products; returns the Axes.

    dots: Dots; x: the edge of the cube with as many multiplications, (M N K)**(1/3). ax: where to draw; None makes a figure
    (`ax.figure`). Raises SimlayoutError without dots, or if Matplotlib is missing.

    >>> ax = share_by_size([Dot(4096, 1.01, "squares"), Dot(256, 0.9, "random", "256 x 256 x 256")])
    >>> ax.get_xlabel()
    'size of the product: (M N K)^(1/3)'
    """
    ax = _scatter(dots, ax, title)
    ticks = [n for n in (2**e for e in range(4, 18)) if min(d.x for d in dots) / 1.5 <= n <= max(d.x for d in dots) * 1.5]
    ax.set_xticks(ticks, list(map(str, ticks)))
    ax.set_xlabel("size of the product: (M N K)^(1/3)", fontsize=TEXT)
    return ax


@typed()
def share_by_waves(dots: Sequence[Dot], ax: Axes | None = None,
                   title: str = "matmul beside cuBLAS, by how often its tiles fill the GPU") -> Axes:
    """Draws shares of cuBLAS against waves of tiles; returns the Axes.

    dots: Dots; x: tiles of C over the CTAs that the GPU holds: just above a whole number the last wave is nearly empty. ax,
    errors: as of `share_by_size`.

    >>> share_by_waves([Dot(0.97, 1.0, "squares"), Dot(1.1, 0.8, "squares")]).get_xlabel()
    'waves: tiles of C / CTAs at a time (the lines are full waves)'
    """
    ax = _scatter(dots, ax, title)
    least, most = (f(d.x for d in dots) for f in (min, max))
    for wave in range(1, 9):
        if least / 1.5 <= wave <= most * 1.5:
            ax.axvline(wave, color="0.8", linewidth=0.8, zorder=0)
    ticks = [t for t in (0.125, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 16, 32, 64, 128) if least / 1.5 <= t <= most * 1.5]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_xlabel("waves: tiles of C / CTAs at a time (the lines are full waves)", fontsize=TEXT)
    return ax


@typed()
def ladder(bars: Sequence[Bar], ax: Axes | None = None, title: str = "share of cuBLAS") -> Axes:
    """Draws Bars from the top downwards, measured shares as bars and published ones as diamonds; returns the Axes.

    Bars stand in the order in which they are given; those of a group have one colour.

    ax, errors: as of `share_by_size`.

    >>> ax = ladder([Bar("tile 64x64", 0.4, 0.44), Bar("mbarriers in PTX", None, 0.98, "ours are from the start")])
    >>> [t.get_text() for t in ax.get_yticklabels()]
    ['tile 64x64', 'mbarriers in PTX']
    """
    if not bars:
        raise SimlayoutError("no bars to draw: measure something first")
    groups = list(dict.fromkeys(bar.group for bar in bars))
    if (ax := one_axes(ax)) is None:
        ax = shown_figure(figsize=(SLIDE, ladder_height(len(bars))), layout="constrained").add_subplot()
    measured = [(i, bar.share) for i, bar in enumerate(bars) if bar.share is not None]
    published = [(i, bar.published) for i, bar in enumerate(bars) if bar.published is not None]
    ax.barh([i for i, _ in measured], [share for _, share in measured], height=0.66, zorder=2,
            color=[_bar_colour(groups, bars[i]) for i, _ in measured])
    for i, share in measured:
        _write_share(ax, i, share, bars[i].published)
    for i, bar in enumerate(bars):
        if bar.share is None and bar.note:
            ax.text(0.008, i, bar.note, fontsize=NOTE, style="italic", va="center_baseline", zorder=3)
    if published:
        ax.plot([share for _, share in published], [i for i, _ in published], "D", color=PUBLISHED, markeredgecolor="black",
                markersize=8, zorder=4)
    lines = _ladder_legend(ax, bars, groups)
    ax.axvline(1, color="black", linewidth=1.2, zorder=1)
    ax.set_yticks(range(len(bars)), [bar.label for bar in bars])
    top = max([1.0, *(share for _, share in (*measured, *published))])
    ax.set(xlim=(0, 1.08 * top), ylim=(len(bars) - 0.4, -0.6))
    ax.set_xlabel("share of cuBLAS's speed (line: 1); further right is better", fontsize=TEXT)
    finished(ax, fitted(title, HEADLINE, TITLE), 6 + 20 * lines)
    ax.tick_params("y", labelsize=TEXT if len(bars) <= MANY else NOTE)
    ax.xaxis.grid(True, color="0.9", zorder=0)
    return ax


def _bar_colour(groups, bar):
    return BARS[groups.index(bar.group) % len(BARS)]


def _ladder_legend(ax, bars, groups):
    """Writes above the bars what colours and diamonds mean, where that is more than one thing; returns in how many lines."""
    patches, lines = matplotlib().patches, matplotlib().lines
    entries = [(patches.Patch(color=_bar_colour(groups, bar)), bar.group or "measured here")
               for bar in {bar.group: bar for bar in bars}.values()]
    diamond = lines.Line2D([], [], marker="D", color=PUBLISHED, markeredgecolor="black", ls="")
    for where in dict.fromkeys(bar.where for bar in bars if bar.published is not None):
        entries.append((diamond, f"published: {where}" if where else "published"))
    if len(entries) > 1:
        handles, texts = zip(*entries, strict=True)
        wide = [text_width(text, NOTE) + 0.6 for text in texts]
        across = len(texts) if sum(wide) < HEADLINE else max(int(HEADLINE / max(wide)), 1)
        ax.legend(handles, texts, fontsize=NOTE, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, frameon=False,
                  ncols=across)
        return -(-len(entries) // across)
    return 0


def _write_share(ax, i, share, published):
    """The number of a bar, at its end: inside of a long one, behind a short one, clear of the diamond."""
    if share > 0.1:
        hidden = published is not None and share - NUMBER < published < share + DIAMOND
        x = published - DIAMOND if hidden else share - 0.008
        ax.text(x, i, f"{share:.2f}", fontsize=NOTE, va="center_baseline", zorder=3, ha="right", color="white")
    else:
        hidden = published is not None and share - DIAMOND < published < share + NUMBER
        x = published + DIAMOND if hidden else share + 0.008
        ax.text(x, i, f"{share:.2f}", fontsize=NOTE, va="center_baseline", zorder=3, ha="left", color="black")


def ladder_height(count):
    """Inches that a ladder of so many bars needs."""
    return 1.6 + count * (0.29 if count <= MANY else 0.185)


def _scatter(dots, ax, title):
    """Dots by series on a logarithmic x axis, the line at 1, the legend, and the names of the lowest."""
    if not dots:
        raise SimlayoutError("no dots to draw: measure something first")
    if (ax := one_axes(ax)) is None:
        ax = shown_figure(figsize=(SLIDE, TALL), layout="constrained").add_subplot()
    names = list(dict.fromkeys(d.series for d in dots))
    for i, name in enumerate(names):
        own = [d for d in dots if d.series == name]
        colour, marker = SERIES[i % len(SERIES)]
        mean = exp(sum(log(d.share) for d in own) / len(own))
        ax.plot([d.x for d in own], [d.share for d in own], ls="", marker=marker, color=colour, markersize=8, alpha=0.85,
                label=f"{name} ({len(own)}): {mean:.2f}")
    ax.axhline(1, color="black", linewidth=1.2, zorder=1)
    ax.set_xscale("log", base=2)
    ax.minorticks_off()
    low, high = min(d.share for d in dots), max(d.share for d in dots)
    ax.set_ylim(min(0.9, low) - 0.06, max(1.1, high) + 0.06)
    ax.set_xlim(min(d.x for d in dots) / 1.25, max(d.x for d in dots) * 1.25)
    ax.yaxis.grid(True, color="0.9", zorder=0)
    ax.set_ylabel("share of cuBLAS's speed (line: 1); higher is better", fontsize=TEXT)
    ax.legend(fontsize=TEXT, loc="best", title="set (products): geometric mean", title_fontsize=TEXT)
    finished(ax, title)
    _name_lowest(ax, dots)
    return ax


def _name_lowest(ax, dots):
    """Writes names under the lowest dots, as long as they do not overlap."""
    to_axes = (ax.transScale + ax.transLimits).transform
    places = []
    for d in sorted(dots, key=lambda d: d.share)[:NAMED]:
        x, y = to_axes((d.x, d.share))
        if d.name and all(abs(x - other_x) > 0.15 or abs(y - other_y) > 0.04 for other_x, other_y in places):
            side = "left" if x < 0.1 else "right" if x > 0.9 else "center"
            ax.annotate(d.name, (d.x, d.share), (0, -7), textcoords="offset points", fontsize=NOTE, ha=side, va="top")
            places.append((x, y))


def finished(ax, title, pad=6):
    """Writes a title above an Axes and clears its frame."""
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=TEXT, length=3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(title, fontsize=TITLE, loc="left", parse_math=False, pad=pad)
