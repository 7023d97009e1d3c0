"""A kernel's plan as one sheet: each access, its wavefronts, and its share of the shared-memory clocks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError, refuse, require
from simlayout.kernel import AccessCount, Problem
from simlayout.plan import is_copy
from simlayout.plots import style
from simlayout.plots.aliases import Axes
from simlayout.plots.kinds import Kind
from simlayout.plots.library import matplotlib, shown_figure
from simlayout.plots.panel import BOLD
from simlayout.plots.place import inches, one_axes
from simlayout.wording import by

PROBLEM = 4096, 4096, 4096
IDEAL, EXCESS = style.NAMED["ideal"], style.NAMED["excess"]
ROW, HEAD, FOOT = 0.4, 0.62, 0.95          # inches: an access, the title, the axis and the legend
CLOCKS = 0.85                               # inches below: the two clocks that bound a kernel
WIDE = 8.5                                  # inches: the figure
STEP = "a K step of a CTA"
NOTE = 10                                   # points: what decides
HATCHED: dict[str, Any] = {"edgecolor": style.MARK, "hatch": "////", "linewidth": 0.8}


@dataclass(frozen=True)
class Sheet:
    """What is drawn of a plan: a title, an AccessCount of each access, and the ((name, clocks of a K step), ...) that bound
    it."""

    title: str
    counts: tuple[AccessCount, ...]
    clocks: tuple = ()

    @property
    def wavefronts(self) -> int:
        """Of all accesses."""
        return sum(c.wavefronts for c in self.counts)


@typed()
def sheet_of(counts: Iterable[AccessCount], title: str, clocks: tuple = ()) -> Sheet:
    """The Sheet of some AccessCounts; SimlayoutError if there are none.

    >>> from simlayout.kernel import AccessCount
    >>> counts = AccessCount("load", "ldmatrix.x4", 2, 24, 8), AccessCount("store", "st.shared.b128", 2, 8, 8)
    >>> sheet_of(counts, "title").wavefronts
    32
    """
    made = Sheet(title, tuple(counts), clocks)
    if not made.counts:
        raise SimlayoutError("a plan without accesses is no sheet")
    return made


@typed()
def plan_sheet(plan: Any, problem: tuple[int, int, int] = PROBLEM, name: str = "", dtype: str = "") -> Sheet:
    """The Sheet of a plan (anything with `predict(M, N, K)`) for one problem. name, dtype: of the kernel, for the title.

    >>> import simlayout as sl
    >>> load = sl.Access("load", "ld.shared.b32", sl.Layout(64), domain={"tid": 32}, dtype="f32")
    >>> small = sl.Plan("small", (16, 8, 16), 1, 1, "m16n8k16.f32.f16.f16.f32", (load,), (), (), 256)
    >>> plan_sheet(small, (64, 64, 32)).title
    'small: shared memory in 64 x 64 x 32'
    """
    if not hasattr(plan, "predict"):
        refuse("Plan", "plan_sheet", plan)
    prediction = plan.predict(*problem)
    size = by(problem) + (f", {dtype}" if dtype else "")
    title = f"{name or getattr(plan, 'name', 'plan')}: shared memory in {size}"
    clocks = ("shared memory", prediction.shared_clocks), (prediction.multiplied_by, round(prediction.mma_clocks))
    return sheet_of(prediction.counts, title, clocks)


def plan(which: Any, M: int = PROBLEM[0], N: int = PROBLEM[1], K: int = PROBLEM[2], ax: Axes | None = None) -> Axes:
    """Draws the sheet of a plan (see `plan_sheet`) for C (M, N) = A (M, K) times B (K, N); returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`).

    >>> import simlayout as sl
    >>> load = sl.Access("load", "ld.shared.b32", sl.Layout(64), domain={"tid": 32}, dtype="f32")
    >>> small = sl.Plan("small", (16, 8, 16), 1, 1, "m16n8k16.f32.f16.f16.f32", (load,), (), (), 256)
    >>> plan(small, 64, 64, 32).get_title(loc="left")
    'small: shared memory in 64 x 64 x 32'
    """
    return sheet(plan_sheet(which, (M, N, K)), ax)


def sheet(summary: Sheet, ax: Axes | None = None) -> Axes:
    """Draws a Sheet: a bar per access, as long as its wavefronts, the excess red; returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`), with the clocks of the bounds below.

    >>> from simlayout.kernel import AccessCount
    >>> ax = sheet(sheet_of([AccessCount("load", "ldmatrix.x4", 2, 24, 8)], "one"))
    >>> [int(bar.get_width()) for bar in ax.patches]
    [8, 16]
    """
    require(Sheet, "sheet", summary)
    below = None
    if (ax := one_axes(ax)) is None:
        foot = FOOT + (CLOCKS if summary.clocks else 0)
        high = HEAD + 0.2 * summary.title.count("\n") + foot + ROW * len(summary.counts)
        left = max(style.text_width(text) for text in (STEP, *map(_label, summary.counts))) + 0.2
        figure = shown_figure(figsize=(WIDE, high))
        across = left / WIDE, 1 - (left + 0.2) / WIDE
        ax = figure.add_axes((across[0], foot / high, across[1], ROW * len(summary.counts) / high))
        if summary.clocks:
            grid = ROW * len(summary.counts)
            below = ax.inset_axes((0, (0.12 - foot) / grid, 1, (CLOCKS - 0.1) / grid))
    places = range(len(summary.counts))
    ideals, written = [c.ideal for c in summary.counts], [_written(c, summary.wavefronts) for c in summary.counts]
    ax.barh(places, ideals, color=IDEAL, height=0.62, zorder=2)
    excess = [(y, c.ideal, c.excess) for y, c in zip(places, summary.counts) if c.excess]
    if excess:
        y, left, width = zip(*excess)
        ax.barh(y, width, left=left, color=EXCESS, height=0.62, zorder=2, **HATCHED)
    ends = [(c.wavefronts, text) for c, text in zip(summary.counts, written)]
    style.add_labels(ax, [(at, y, text) for y, (at, text) in enumerate(ends)], "left", (5, 0))
    style.add_labels(ax, [(0, y, _label(c)) for y, c in zip(places, summary.counts)], "right", (-4, 0))
    ax.set(xlim=(0, _reach(ax, ends)),
           ylim=(len(summary.counts) - 0.5, -0.5))
    _axis(ax, "wavefronts of shared memory, all CTAs together (fewer is better)")
    ax.set_title(summary.title, fontsize=style.TITLE, loc="left", parse_math=False, y=1, pad=24)
    ax.annotate(_verdict(summary), (0, 1), (0, 8), "axes fraction", "offset points", fontsize=NOTE, fontweight="bold")
    below_axis = 0, -0.36 / (ROW * len(summary.counts))
    style.legend(ax, _marks(summary.counts), loc="upper left", bbox_to_anchor=below_axis, ncols=2)
    if below is not None:
        _clocks(below, summary)
    return ax


@typed()
def sheets(summaries: Sequence[Sheet], title: str = "", ax: Axes | None = None) -> Axes:
    """Draws several Sheets as a bar each, to compare them: ideal, then the excess of each access; returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`). SimlayoutError for none.

    >>> from simlayout.kernel import AccessCount
    >>> one = sheet_of([AccessCount("load", "ldmatrix.x4", 2, 24, 8)], "plain")
    >>> [int(bar.get_width()) for bar in sheets([one]).patches]
    [8, 16]
    """
    if not summaries:
        raise SimlayoutError("no sheets to draw")
    row = 0.6
    if (ax := one_axes(ax)) is None:
        high = HEAD + FOOT + row * len(summaries)
        left = max(style.text_width(one.title, NOTE) for one in summaries) + 0.25
        ax = shown_figure(figsize=(WIDE, high)).add_axes((left / WIDE, FOOT / high, 1 - (left + 0.2) / WIDE,
                                                          row * len(summaries) / high))
        title = style.fitted(title, (WIDE - left - 0.3) / BOLD, style.TITLE)
    ends, inside = [], []
    for y, one in enumerate(summaries):
        at = sum(c.ideal for c in one.counts)
        ax.barh(y, at, color=IDEAL, height=0.62, zorder=2)
        inside.append((at, at / 2, y, f"{at:,}"))
        for c in one.counts:
            if c.excess:
                ax.barh(y, c.excess, left=at, color=EXCESS, height=0.62, zorder=2, **{**HATCHED, "hatch": None})
                inside.append((c.excess, at + c.excess / 2, y, f"{c.name.split(' (')[0]}\n{c.excess:,}"))
                at += c.excess
        excess = sum(c.excess for c in one.counts)
        ends.append((at, y, f"{at:,} wavefronts" + (f", {excess:,} excess" if excess else ", no excess")))
    reach = _reach(ax, [(at, text) for at, _, text in ends])
    ax.set(xlim=(0, reach), ylim=(len(summaries) - 0.5, -0.5))
    wide, _ = inches(ax)
    fit = [style.text_width(text) < size / reach * wide for size, *_, text in inside]
    style.add_labels(ax, [entry[1:] for entry, fits in zip(inside, fit, strict=True) if fits])
    small = [[text.replace("\n", " ") for (*_, at, text), fits in zip(inside, fit, strict=True) if at == y and not fits]
             for y in range(len(summaries))]
    ends = [(at, y, "\n".join([text, *(f"of it {name}" for name in small[y])])) for at, y, text in ends]
    style.add_labels(ax, ends, "left", (5, 0))
    style.add_labels(ax, [(0, y, one.title) for y, one in enumerate(summaries)], "right", (-6, 0), NOTE)
    _axis(ax, "wavefronts of shared memory (fewer is better)")
    ax.set_title(title, fontsize=style.TITLE, fontweight="bold", loc="left", parse_math=False)
    marks = [(style.patch(facecolor=IDEAL), "ideal, all accesses together"),
             (style.patch(facecolor=EXCESS, edgecolor=style.MARK), "excess, and the access that has it")]
    style.legend(ax, marks, loc="upper left", bbox_to_anchor=(0, -0.36 / (row * len(summaries))), ncols=2)
    return ax


def _axis(ax, words):
    """What the axis of wavefronts looks like."""
    ax.set_yticks([])
    ax.xaxis.set_major_locator(matplotlib().ticker.MaxNLocator(6))
    ax.xaxis.set_major_formatter(matplotlib().ticker.EngFormatter(sep=" "))
    ax.tick_params(labelsize=style.TEXT, length=2)
    ax.set_xlabel(words, fontsize=style.TEXT)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _clocks(ax, summary):
    """The clocks of a K step as bars: the longer one bounds the kernel."""
    most = max(clocks for _, clocks in summary.clocks)
    bound = [clocks == most for _, clocks in summary.clocks]
    ax.barh(range(len(bound)), [clocks for _, clocks in summary.clocks], height=0.7,
            color=["0.35" if longest else "0.75" for longest in bound])
    ends = [(clocks, y, f"{clocks} clocks" + ": the longer one bounds the kernel" * bound[y])
            for y, (_, clocks) in enumerate(summary.clocks)]
    style.add_labels(ax, ends, "left", (5, 0))
    style.add_labels(ax, [(0, y, f"{name},\n{STEP}") for y, (name, _) in enumerate(summary.clocks)], "right", (-4, 0))
    ax.set(xlim=(0, _reach(ax, [(at, text) for at, _, text in ends])), ylim=(len(bound) - 0.5, -0.5))
    ax.set_axis_off()


def _verdict(summary):
    """The wavefronts of all accesses, and how many of them are excess."""
    total, excess = summary.wavefronts, sum(c.excess for c in summary.counts)
    share = f"{_short(excess)} ({excess / total:.0%}) of them excess" if excess else "none of them excess"
    return f"{_short(total)} wavefronts, {share}"


def _short(number):
    """A count in few letters.

    >>> _short(67_108_864), _short(262_144), _short(1_024)
    ('67.1 M', '262 k', '1,024')
    """
    return f"{number / 1e6:.1f} M" if number >= 1e6 else f"{number / 1e3:.0f} k" if number >= 1e5 else f"{number:,}"


def _marks(counts):
    """The entries of the legend."""
    marks = [(style.patch(facecolor=IDEAL), "ideal: without any conflict")]
    if any(c.excess for c in counts):
        copies = any(is_copy(c.instruction) and c.excess for c in counts)
        words = "excess: bank conflicts" + "; of copies: 128-byte lines moved in parts" * copies
        marks.append((style.patch(facecolor=EXCESS, **HATCHED), words))
    return marks


def _label(count):
    return f"{count.name}\n{count.instruction}"


def _reach(ax, ends):
    """Units up to which the axis goes, so that what stands behind each bar has room. ends: [(units, text)]."""
    wide, _ = inches(ax)
    rooms = [max(wide - style.text_width(text) - 0.15, 0.2 * wide) for _, text in ends]
    return max(1, *(units * wide / room for (units, _), room in zip(ends, rooms)))


def _written(count, total):
    """What stands behind a bar. total: wavefronts of all accesses."""
    if count.bytes:
        return f"{count.bytes / 2**20:.0f} MiB by TMA, no wavefronts of threads"
    share = count.wavefronts / (total or 1)
    shown = "<1%" if 0 < share < 0.005 else f"{share:.0%}"
    bound = "" if count.exact else " at least"
    excess = f", {_short(count.excess)} of them excess" if count.excess else ""
    return f"{shown}:{bound} {_short(count.wavefronts)}{excess}"


def _draw_plan(request):
    problem = [getattr(request.options, name) or size for name, size in zip("MNK", PROBLEM, strict=True)]
    kernel = request.kernel().fitted(Problem(*problem))
    summary = plan_sheet(kernel.plan, problem, kernel.name, kernel.dtypes[0])
    return sheet(summary), f"{summary.wavefronts} wavefronts"


PLAN_KIND = Kind("plan", "a kernel (see `simlayout kernels`), -M -N -K (default: 4096 each), --stages: its accesses, "
                 "wavefronts and shares of the clocks",
                 ("mma_permuted --kind plan -M 4096 -N 4096 -K 4096 -o plan.svg",), _draw_plan,
                 ("M", "N", "K", "stages"))
