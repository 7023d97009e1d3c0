"""The bank x wavefront grid of one instruction, drawn: who is served where, and which wavefronts are one too many.

Sizes are inches and points on a 13.33 x 7.5 inch slide, where no text is under 8 points.
"""

from collections.abc import Sequence

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError, require
from simlayout.hardware.banks.analysis import Analysis
from simlayout.hardware.banks.model import BANKS
from simlayout.hardware.banks.phases import phases
from simlayout.plots.aliases import Axes, SeveralAxes
from simlayout.plots.kinds import OF_ACCESS, Kind, counts
from simlayout.plots.library import matplotlib
from simlayout.plots.panel import CONFLICT
from simlayout.plots.place import frame, one_axes, own_axes, part, write
from simlayout.plots.style import (
    BAR,
    COLOURS,
    LINE,
    SLIDE,
    TEXT,
    TITLE,
    legend,
    mark,
    mark_patch,
    patch,
    wrapped,
)
from simlayout.proofs import Access
from simlayout.proofs.access import at_loops
from simlayout.wording import counted, ranges, tile_name

TOTAL = 10                                  # points
CELL, TITLE_LINE = 0.2, 0.2                 # inches: width of a bank and height of a line of the title
LEFT, RIGHT, HEAD = 0.55, 1.35, 0.5         # inches: row numbers, totals, and bank numbers beside and above the grid
GAP = 0.65                                  # rows between phases: room for two lines beside a phase of one row


def banks(analysis: Analysis, index: int = 0, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draws access `index` of an Analysis: the banks across (64 for wide reads of gfx950, else 32), wavefronts downwards,
    grouped by phase. Returns the Axes.

    Every cell is a word that a wavefront delivers, as wide as the access (16 bytes fill four banks), labelled with the
    lane it serves, or with all of them where a word is broadcast; the colour is the lane's too. Wavefronts beyond the
    first of a phase are conflicts: their cells have a frame and a bar. Which word of a full bank goes into which
    wavefront is a choice of presentation (first come by lane): the hardware's counters only tell how many there are.

    ax: where to draw; None makes a figure of the right size (`ax.figure`). title: None names the instruction.
    Raises SimlayoutError if the index is out of range, or if Matplotlib is missing.

    >>> import simlayout as sl
    >>> ax = banks(sl.analyze("ld.shared.b32", [4 * lane for lane in range(32)]))
    >>> ax.get_xlabel()
    'bank'
    """
    require(Analysis, "banks", analysis)
    phase_list = phases(analysis, index)
    if title is None:
        title = f"{analysis.instruction}, instruction {index} of {len(analysis)}"
    title, entries = wrapped(title, 72, 3), _legend_entries([analysis], [phase_list])
    if (ax := one_axes(ax)) is None:
        width = {32: 1, 64: 1.5}[analysis.row(index).banks] * BANKS * CELL
        _, (ax,) = _axes(None, 1, width + LEFT + RIGHT, [phase_list], [title], entries)
    _draw(ax, analysis, index, phase_list, _rows(phase_list), title)
    legend(ax, entries, loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=0.8)
    return ax


def access(which: Access, index: int = 0, ax: Axes | None = None) -> Axes:
    """Draws instruction `index` of an Access, under the access's name and tile, as `banks` does; returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`).

    >>> import simlayout as sl
    >>> load = sl.Access("A", "ldmatrix.x4", sl.Layout((16, 64), (64, 1)), lambda tid: (tid % 16, 8*(tid // 16)))
    >>> access(load).get_title(loc="left")
    'A: ldmatrix.x4 of (16,64):(64,1), f16\\nlane tid: row tid % 16, column 8*(tid // 16)'
    """
    require(Access, "access", which)
    return banks(which.analyze(), index, ax, f"{which.name}: {named(which)}")


LONG = 60
"""Letters that a map of lanes may take in a title."""


def named(access):
    """An Access in a title: its instruction, tile and dtype, and, where it is short, its map of lanes to coordinates; of one
    that is itself the map to offsets, that.

    >>> import simlayout as sl
    >>> named(sl.Access("A", "ld.shared.b32", sl.Layout((32, 32), (32, 1)), lambda tid: (tid, 0), dtype="f32"))
    'ld.shared.b32 of (32,32):(32,1), f32\\nlane tid: row tid, column 0'
    >>> named(sl.Access("A", "ld.shared.b128", lambda tid, i: 8*tid + 4*i, None, {"tid": 32, "i": 2}, "f32"))
    'ld.shared.b128 of a function, f32\\nlane tid: offset 8*tid + 4*i'
    >>> named(sl.Access("A", "ld.shared.b32", "(2,4,4):(16,4,1)", lambda tid: (tid // 16, tid // 4 % 4, 0), dtype="f32"))
    'ld.shared.b32 of (2,4,4):(16,4,1), f32\\nlane tid: (tid // 16, (tid // 4) % 4, 0)'
    """
    from simlayout.codegen.symbols import symbol

    what = f"{access.instruction} of {tile_name(access.tile)}, {access.dtype}"
    try:
        point = [symbol(name, size) for name, size in access.domain.items()]
        parts = access.coordinate(*point) if access.lanes else (access.offset(*point),)
        texts = [_coordinate_text(part) for part in parts]
    except Exception:                                    # the user's own function, which may be no formula: no map
        return what
    if len(texts) == 2:
        words = f"row {texts[0]}, column {texts[1]}"
    elif len(texts) == 1:
        words = f"{'column' if access.lanes else 'offset'} {texts[0]}"
    else:
        words = f"({', '.join(texts)})"
    return what if len(words) > LONG else f"{what}\nlane tid: {words}"


def _coordinate_text(part):
    """A part of a coordinate, which may be nested, as people write it."""
    from simlayout.codegen.printer import taught_text

    return f"({', '.join(map(_coordinate_text, part))})" if isinstance(part, tuple) else taught_text(part)


@typed()
def comparison(before: Analysis, after: Analysis, index: int = 0, titles: Sequence[str] = ("before", "after"),
               ax: SeveralAxes | None = None, title: str = "") -> tuple[Axes, ...]:
    """Draws access `index` of two Analyses side by side, to one scale; returns the two Axes. title: of both, on one line.

    ax: where to draw: None makes a figure as wide as a slide; one Axes becomes a frame around both, and of two each gets
    one, as in `simlayout.plots.together`. Raises SimlayoutError as `banks` does, and for another number of Axes.

    >>> import simlayout as sl
    >>> tiles = sl.Layout((16, 64), (64, 1)), sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
    >>> axes = comparison(*(sl.Access("A", "ldmatrix.x4", t, lambda tid: (tid % 16, 8*(tid // 16))).analyze()
    ...                     for t in tiles))
    >>> [ax.get_title(loc="left") for ax in axes]
    ['before', 'after']
    """
    require(Analysis, "comparison", before, after)
    analyses = before, after
    if len(titles) != 2:
        raise SimlayoutError(f"comparison: titles are two texts, not {len(titles)}")
    phase_lists, titles = [phases(a, index) for a in analyses], [wrapped(t, 62, 3) for t in titles]
    rows, separate = max(map(_rows, phase_lists)), own_axes(ax, 2)
    if separate:
        for own, analysis, title in zip(separate, analyses, titles, strict=True):
            banks(analysis, index, own, title).set_ylim(rows, 0)
        return separate
    entries, high = _legend_entries(analyses, phase_lists), max(map(_row_height, phase_lists))
    short = min(phase_lists, key=_rows)
    room = (rows - _rows(short)) * high - 0.4 - _foot(entries)      # below the shorter grid, which the legend may have
    parent, axes = _axes(ax, 2, SLIDE, phase_lists, titles, entries if room < 0 else [], title)
    for own, analysis, its, title in zip(axes, analyses, phase_lists, titles, strict=True):
        _draw(own, analysis, index, its, rows, title)
    if room < 0:
        legend(parent, entries, loc="lower center")
    else:
        below = 1 - (_rows(short) + 0.4 / high) / rows
        legend(axes[phase_lists.index(short)], entries, loc="upper left", bbox_to_anchor=(0, below), borderaxespad=0)
    return axes


def _axes(ax, count, width, phase_lists, titles, entries, title=""):
    """(frame, axes): `count` Axes side by side with room around each, in an Axes, or in a new figure `width` inches wide."""
    grid = max(map(_rows, phase_lists)) * max(map(_row_height, phase_lists))
    foot = 0.25 + max(0.7 - grid, 0) + _foot(entries)
    head = HEAD + TITLE_LINE * max(title.count("\n") + 1 for title in titles)
    height = foot + grid + head + (0.35 if title else 0)
    parent = frame(ax, (width, height))
    if title:
        write(parent, LEFT / width, 1 - 0.12 / height, title, fontsize=TITLE, fontweight="bold", va="top")
    each = width / count
    across, up, wide, high = LEFT / width, foot / height, (each - LEFT - RIGHT) / width, grid / height
    return parent, tuple(part(parent, (n / count + across, up, wide, high)) for n in range(count))


def _foot(entries):
    """Inches that a legend needs."""
    return LINE * 1.25 * sum(text.count("\n") + 1 for _, text in entries)


def _rows(phase_list):
    """The height of the grid in rows: wavefronts (one row for a phase without any) and gaps."""
    return sum(max(phase.wavefronts, 1) + GAP for phase in phase_list) - GAP


def _row_height(phase_list):
    """Inches that the tallest label of a cell needs."""
    lines = max((label(s).count("\n") + 1 for phase in phase_list for s in phase.served), default=1)
    return LINE * lines + 0.03


def label(served):
    """The text of a cell: a lane, two lanes, a run of lanes, or the first lane and how many more.

    >>> from simlayout.hardware.banks.phases import Served
    >>> [label(Served(0, 0, 4, 0, lanes)) for lanes in ((5,), (0, 4), (0, 1, 2, 3), (0, 2, 9))]
    ['5', '0, 4', '0 to 3', '0 +2']
    """
    lanes, wide = served.lanes, served.width == 4
    if len(lanes) == 1:
        return str(lanes[0])
    if len(lanes) == 2:
        return f"{lanes[0]}, {lanes[1]}" if wide else f"{lanes[0]}\n{lanes[1]}"
    run = lanes[-1] - lanes[0] == len(lanes) - 1
    parts = (lanes[0], "to", lanes[-1]) if run else (lanes[0], f"+{len(lanes) - 1}")
    return (" " if wide else "\n").join(map(str, parts))


def _draw(ax, analysis, index, phase_list, rows, title):
    """The grid, its labels and its totals."""
    top, number, boxes, across, called = 0.0, 0, [], analysis.row(index).banks, analysis.arch.vendor.wavefront
    for phase in phase_list:
        boxes += [(s.bank, top + s.wavefront, s) for s in phase.served]
        _frame(ax, top, number, phase, across, called)
        number += phase.wavefronts
        top += max(phase.wavefronts, 1) + GAP
    ax.set(xlim=(0, across), ylim=(rows, 0))
    _cells(ax, boxes)
    ax.set_xlabel("bank", fontsize=TEXT + 1)
    ax.xaxis.set_label_position("top")
    ax.set_ylabel(called, fontsize=TEXT + 1, loc="top", labelpad=20)
    ax.set_xticks([b + 0.5 for b in (*range(0, across, 4), across - 1)], [*range(0, across, 4), across - 1])
    ax.set_yticks([])
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0, labelsize=TEXT)
    ax.spines[:].set_visible(False)
    ax.set_title(title, fontsize=TITLE, loc="left", parse_math=False)
    total = f"{counted(int(analysis.wavefronts[index]), called)},\nideal {int(analysis.ideal[index])}"
    _beside(ax, total, across, 0, fontsize=TOTAL, fontweight="bold", va="bottom")


def _frame(ax, top, number, phase, across, called):
    """Draws the empty grid of a phase, the numbers of its wavefronts (from `number` on), and the text beside it. across: its
    banks; called: what a wavefront is called."""
    rows, lanes = phase.wavefronts, named_lanes(phase.lanes)
    if rows:
        ax.vlines(range(across + 1), top, top + rows, color="0.85", linewidth=0.5, zorder=0, clip_on=False)
        ax.hlines([top + w for w in range(rows + 1)], 0, across, color="0.85", linewidth=0.5, zorder=0, clip_on=False)
    for w in range(rows):
        ax.text(-0.4, top + w + 0.5, str(number + w), fontsize=TEXT, ha="right", va="center_baseline")
    cost = counted(rows, called) if rows else "none active"
    if phase.times > 1 and rows:
        cost += f"\nin {phase.times} passes"
    _beside(ax, f"{lanes}\n{cost}", across, top + max(rows, 1) / 2, fontsize=TEXT, va="center")


def named_lanes(lanes):
    """The lanes of a phase, as short as its place beside the grid: more than two runs stand for themselves.

    >>> named_lanes((0, 1, 2, 3, 20, 21, 22, 23)), named_lanes((0, 1, 4, 5, 8, 9))
    ('lanes 0–3, 20–23', '0–1, 4–5, 8–9')
    """
    runs = ranges(lanes).replace("-", "\N{EN DASH}")
    return runs if runs.count(",") > 1 else f"lanes {runs}"


def _beside(ax, text, across, y, **style):
    """A text to the right of the grid of `across` banks."""
    ax.annotate(text, (across, y), (6, 6 if y == 0 else 0), "data", "offset points", annotation_clip=False, **style)


def _cells(ax, boxes):
    """All cells in one collection, the bars and the frames of conflicts in two more, and one text per cell."""
    make = matplotlib().collections.PolyCollection
    shapes = [[(x, y), (x + s.width, y), (x + s.width, y + 1), (x, y + 1)] for x, y, s in boxes]
    extra = [(x, y, s.width, 1) for x, y, s in boxes if s.wavefront]
    colours = [_colour(s) for *_, s in boxes]
    ax.add_collection(make(shapes, facecolor=colours, edgecolor="white", linewidth=0.8, zorder=1, clip_on=False))
    if extra:
        mark(ax, extra)
    for x, y, s in boxes:
        ax.annotate(label(s), (x + s.width / 2, y + 0.5), (0, BAR / 2 * (s.wavefront > 0)), "data", "offset points",
                    fontsize=TEXT, ha="center", va="center_baseline", linespacing=0.95, zorder=4, annotation_clip=False)


def _colour(served):
    return COLOURS[served.lanes[0] % len(COLOURS)]


def _legend_entries(analyses, phase_lists):
    """[(handle, text)] of the legend: the meanings of the colours, numbers and marks that occur."""
    served = [s for its in phase_lists for phase in its for s in phase.served]
    words = "number: the lane that gets its word here; colour: lane mod 8"
    if any("+" in label(s) for s in served):
        words += "; +n: and n more lanes"
    entries = [(tuple(patch(facecolor=c) for c in COLOURS), words)]
    if any(s.wavefront for s in served):
        entries.append((mark_patch(), CONFLICT.format(analyses[0].arch.vendor.wavefront)))
    if any(a.instruction.rule == "bypass" for a in analyses):
        entries.append((patch(facecolor="none"), "a wavefront of cp.async.cg: a line of 128 bytes, or a part of one"))
    for caveat in sorted({a.caveat for a in analyses if not a.exact}):
        entries.append((patch(facecolor="none"), wrapped(f"not known exactly: {caveat}", 100, 3)))
    return entries


# ---- for the command line ------------------------------------------------------------------------------------------------

def _draw_banks(request):
    index = request.options.index[0]
    access, analysis = request.access()
    what, *lanes = named(access).split("\n")
    title = "\n".join([f"{what}, instruction {index} of {len(analysis)}{at_loops(access, index)}", *lanes])
    return banks(analysis, index, title=title), counts(analysis, index)


def _draw_compare(request):
    if request.options.other is None:
        raise SimlayoutError("--kind compare draws two layouts: name the other with --with LAYOUT")
    index = request.options.index[0]
    first, analysis = request.access()
    second, other = request.access(layout=request.options.other)
    titles = [named(access) for access in (first, second)]
    return comparison(analysis, other, index, titles), f"{counts(analysis, index)}; then {counts(other, index)}"


BANKS_KIND = Kind("banks", "a LAYOUT, --op: who is served in which bank and wavefront (the default)",
                  ("'(16,64):(64,1)' -o before.svg",
                   "'Sw<3,3,3> o (16,64):(64,1)' --op ldmatrix.x4 --index 1 -o after.png"), _draw_banks, OF_ACCESS)
COMPARE_KIND = Kind("compare", "a LAYOUT and --with another: the same before and after",
                    ("'(16,64):(64,1)' --kind compare --with 'Sw<3,3,3> o (16,64):(64,1)' -o both.svg",), _draw_compare,
                    (*OF_ACCESS, "other"))
