"""A kernel's plan as one sheet: each access, its wavefronts, and its share of the shared-memory clocks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from simlayout.errors import SimlayoutError
from simlayout.kernel import AccessCount, Problem
from simlayout.plan import is_copy
from simlayout.plots import style
from simlayout.plots.aliases import Axes
from simlayout.plots.kinds import Kind
from simlayout.plots.library import matplotlib, shown_figure
from simlayout.plots.place import inches, one_axes

PROBLEM = 4096, 4096, 4096
IDEAL, EXCESS = style.COLOURS[0], style.COLOURS[1]
ROW, HEAD, FOOT = 0.44, 0.62, 0.95          # inches: an access, the title, the axis and the legend
WIDE = 10                                   # inches: the figure


@dataclass(frozen=True)
class Line:
    """An access on the sheet: its name, its PTX name, warp instructions, wavefronts and ideal of the whole problem, the
    share of all accesses' wavefronts, and the bytes that TMA moves without any."""

    name: str
    instruction: str
    instructions: int
    wavefronts: int
    ideal: int
    share: float
    bytes: int = 0


@dataclass(frozen=True)
class Sheet:
    """What is drawn of a plan: a title, a Line per access, and what the two bounds say."""

    title: str
    lines: tuple
    bounds: str


def sheet_of(counts: Iterable[AccessCount], title: str, bounds: str = "") -> Sheet:
    """The Sheet of some AccessCounts; SimlayoutError if there are none.

    >>> from simlayout.kernel import AccessCount
    >>> counts = AccessCount("load", "ldmatrix.x4", 2, 24, 8), AccessCount("store", "st.shared.b128", 2, 8, 8)
    >>> [(line.name, line.share) for line in sheet_of(counts, "title").lines]
    [('load', 0.75), ('store', 0.25)]
    """
    if not counts:
        raise SimlayoutError("a plan without accesses is no sheet")
    total = sum(c.wavefronts for c in counts) or 1
    return Sheet(title, tuple(Line(c.name, c.instruction, c.instructions, c.wavefronts, c.ideal, c.wavefronts / total,
                                   getattr(c, "bytes", 0)) for c in counts), bounds)


def plan_sheet(plan: Any, problem: tuple[int, int, int] = PROBLEM, name: str = "") -> Sheet:
    """The Sheet of a plan (anything with `predict(M, N, K)`) for one problem."""
    prediction = plan.predict(*problem)
    title = f"{name or getattr(plan, 'name', 'plan')}: shared memory in {' x '.join(map(str, problem))}"
    bounds = f"per K step of a CTA: {prediction.clocks}: bound by {prediction.bound}; {prediction.steps} K steps"
    return sheet_of(prediction.counts, title, bounds)


def plan(which: Any, M: int = PROBLEM[0], N: int = PROBLEM[1], K: int = PROBLEM[2], ax: Axes | None = None) -> Axes:
    """Draws the sheet of a plan (see `plan_sheet`) for C (M, N) = A (M, K) times B (K, N); returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`).
    """
    return sheet(plan_sheet(which, (M, N, K)), ax)


def sheet(summary: Sheet, ax: Axes | None = None) -> Axes:
    """Draws a Sheet: a bar per access, as long as its wavefronts, the excess hatched; returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`).

    >>> from simlayout.kernel import AccessCount
    >>> ax = sheet(sheet_of([AccessCount("load", "ldmatrix.x4", 2, 24, 8)], "one"))
    >>> [int(bar.get_width()) for bar in ax.patches]
    [8, 16]
    """
    if (ax := one_axes(ax)) is None:
        high = HEAD + FOOT + ROW * len(summary.lines)
        left = max(style.text_width(_label(line)) for line in summary.lines) + 0.2
        ax = shown_figure(figsize=(WIDE, high)).add_axes((left / WIDE, FOOT / high, 1 - (left + 0.2) / WIDE,
                                                          ROW * len(summary.lines) / high))
    places = range(len(summary.lines))
    ideals = [min(line.ideal, line.wavefronts) for line in summary.lines]
    ax.barh(places, ideals, color=IDEAL, height=0.62, zorder=2)
    excess = [(y, i, line.wavefronts - i) for y, i, line in zip(places, ideals, summary.lines) if line.wavefronts > i]
    if excess:
        y, left, width = zip(*excess)
        ax.barh(y, width, left=left, color=EXCESS, edgecolor="0.3", hatch="////", height=0.62, zorder=2, linewidth=0.8)
    style.add_labels(ax, [(line.wavefronts, y, _written(line)) for y, line in zip(places, summary.lines)], "left", (5, 0))
    style.add_labels(ax, [(0, y, _label(line)) for y, line in zip(places, summary.lines)], "right", (-4, 0))
    ax.set(xlim=(0, _reach(ax, summary.lines)), ylim=(len(summary.lines) - 0.5, -0.5))
    ax.set_yticks([])
    ax.xaxis.set_major_formatter(matplotlib().ticker.EngFormatter(sep=" "))
    ax.tick_params(labelsize=style.TEXT, length=2)
    ax.set_xlabel("wavefronts of shared memory, all CTAs together", fontsize=style.TEXT)
    ax.set_title(summary.title, fontsize=style.TITLE, loc="left", parse_math=False, y=1, pad=22 if summary.bounds else 6)
    if summary.bounds:
        ax.annotate(summary.bounds, (0, 1), (0, 8), "axes fraction", "offset points", fontsize=style.TEXT)
    ax.spines[["top", "right", "left"]].set_visible(False)
    marks = [(style.patch(facecolor=IDEAL), "ideal: one wavefront per group of lanes")]
    if excess:
        marks.append((style.patch(facecolor=EXCESS, edgecolor="0.3", hatch="////"), _meaning(summary.lines)))
    style.legend(ax, marks, loc="upper left", bbox_to_anchor=(0, -0.36 / (ROW * len(summary.lines))), ncols=2)
    return ax


def _meaning(lines):
    """What excess comes from."""
    copies = any(is_copy(line.instruction) and line.wavefronts > line.ideal for line in lines)
    return "excess: bank conflicts" + "; of copies: 128-byte lines moved in parts" * copies


def _label(line):
    return f"{line.name}\n{line.instruction}"


def _reach(ax, lines):
    """Wavefronts up to which the axis goes, so that what stands behind each bar has room."""
    wide, _ = inches(ax)
    rooms = [max(wide - style.text_width(_written(line)) - 0.15, 0.2 * wide) for line in lines]
    return max(1, *(line.wavefronts * wide / room for line, room in zip(lines, rooms)))


def _written(line):
    """What stands behind a bar."""
    if line.bytes:
        return f"{line.bytes / 2**20:.0f} MiB by TMA, no wavefronts of threads"
    excess = line.wavefronts - line.ideal
    share = "<1%" if 0 < line.share < 0.005 else f"{line.share:.0%}"
    return f"{share}: {line.wavefronts:,} wavefronts" + (f", {excess:,} of them excess" if excess else "")


def _draw_plan(request):
    problem = [getattr(request.options, name) or size for name, size in zip("MNK", PROBLEM, strict=True)]
    kernel = request.kernel().fitted(Problem(*problem))
    summary = plan_sheet(kernel.plan, problem, kernel.name)
    return sheet(summary), f"{sum(line.wavefronts for line in summary.lines)} wavefronts"


PLAN_KIND = Kind("plan", "a kernel (see `simlayout kernels`), -M -N -K (default: 4096 each), --stages: its accesses, "
                 "wavefronts and shares of the clocks",
                 ("mma_permuted --kind plan -M 4096 -N 4096 -K 4096 -o plan.svg",), _draw_plan)
