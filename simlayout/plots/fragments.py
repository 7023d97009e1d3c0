"""Fragments in the PTX manual's form, T0:{a0,a1}, and what a choice of ldmatrix loads."""

import re
from dataclasses import replace
from numbers import Integral

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import LayoutError, SimlayoutError, brief, require
from simlayout.hardware import Fragment, LdmatrixChoice
from simlayout.hardware import fragment as fragment_of
from simlayout.plots.aliases import Axes
from simlayout.plots.kinds import Kind
from simlayout.plots.layouts import numbers
from simlayout.plots.panel import Box, Panel, draw, together
from simlayout.plots.style import SLIDE

WHOLE, PERIOD = 32, 16
"""Rows of cells up to which all are drawn; of more, those that DRAWN_ROWS names of the 16 of each warp."""

MOST_COLUMNS = 24
"""Columns of cells of which no slide holds more."""

DRAWN_ROWS = (0, 1, 7, 8, 9, 15)


def holders(fragment):
    """{(row, column): [(lane, value), ...]} of a Fragment, by its map."""
    lanes_of = {}
    for lane, values in enumerate(fragment.coordinates().tolist()):
        for value, place in enumerate(values):
            lanes_of.setdefault(tuple(place), []).append((lane, value))
    return lanes_of


def register_shape(fragment):
    """(rows, columns) that the elements of each register fill, if always a rectangle of one shape, else (1, 1).

    >>> from simlayout.hardware import fragment
    >>> [register_shape(fragment("m16n8k16.f32.f16.f16.f32", operand)) for operand in "ABC"]
    [(1, 2), (2, 1), (1, 1)]
    """
    places = fragment.coordinates().reshape(fragment.lanes, -1, fragment.per_register, 2)
    low, high = places.min(axis=2), places.max(axis=2)
    shape = (high - low + 1).reshape(-1, 2)
    same = (shape == shape[0]).all() and shape[0].prod() == fragment.per_register
    return tuple(shape[0].tolist()) if same and not (low % shape[0]).any() else (1, 1)


def table(fragment: Fragment, rows: int | range | None = None, columns: int | None = None) -> Panel:
    """The Panel of a Fragment: each cell a register's elements, and who holds them.

    A pair of C's and D's elements, which lie side by side, is one cell as well, as in the PTX manual. rows: how many to
    draw, or a range of them; None: all of 32 rows, else of each warp's 16 those where the pattern begins and ends. columns:
    how many; None: as many as a slide holds.

    >>> from simlayout.hardware import fragment
    >>> [box.text for box in table(fragment("m16n8k16.f32.f16.f16.f32", "A")).boxes[:2]]
    ['T0:{a0,a1}', 'T1:{a0,a1}']
    >>> [box.text for box in table(fragment("m16n8k16.f32.f16.f16.f32", "A"), range(8, 9)).boxes[:2]]
    ['T0:{a2,a3}', 'T1:{a2,a3}']
    """
    require(Fragment, "table", fragment)
    high, wide = register_shape(fragment)
    if (high, wide) == (1, 1) and _pairs(fragment):
        wide = 2
    holds = holders(fragment)
    letter = _letter(fragment)
    for name, count in (("rows", None if isinstance(rows, range) else rows), ("columns", columns)):
        if count is not None and (not isinstance(count, Integral) or count < 1):
            raise SimlayoutError(f"{name} = {brief(count)}: how many to draw, at least 1")
    wanted = rows if rows is None or isinstance(rows, range) else range(rows)
    shown_rows = (_rows(fragment.shape[0], high) if wanted is None else
                  [row for row in range(0, fragment.shape[0], high) if row in wanted])
    if not shown_rows:
        raise SimlayoutError(f"rows = {brief(rows)}: the fragment has rows 0 to {fragment.shape[0] - 1}")
    shown_columns = list(range(0, fragment.shape[1], wide))
    if columns is not None:
        shown_columns = shown_columns[:-(-columns // wide)]
    panel = _table(fragment, holds, letter, (high, wide), shown_rows, shown_columns[:MOST_COLUMNS])
    left, right, _ = panel.margins()
    fit = max(int((SLIDE - 0.3 - left - right) / panel.unit()[0]), 1)
    if fit >= len(shown_columns):
        return panel
    return _table(fragment, holds, letter, (high, wide), shown_rows, shown_columns[:fit])


BLOCK = 8
"""Rows and columns of the blocks in which a warp holds the accumulators of wgmma, and A and C of mma."""


def outline(fragment: Fragment) -> Panel | None:
    """The Panel of a Fragment in blocks of 8 x 8, each with the threads and the elements that hold it; None if it has none.

    Blocks: each belongs to the 32 lanes of a warp, all of which hold in it elements of the same numbers.

    >>> from simlayout.hardware import fragment
    >>> panel = outline(fragment("wgmma.m64n64k16.f32.f16.f16", "D"))
    >>> [box.text for box in panel.boxes[:2]], panel.boxes[-1].colour
    (['T0-T31\\nd0, d1', 'T0-T31\\nd4, d5'], 3)
    """
    require(Fragment, "outline", fragment)
    rows, columns = fragment.shape
    if rows % BLOCK or columns % BLOCK or max(rows, columns) > MOST_COLUMNS * BLOCK:
        return None
    holds, letter, boxes = holders(fragment), _letter(fragment), []
    for top, left in np.ndindex(rows // BLOCK, columns // BLOCK):
        inside = [holder for row in range(BLOCK) for column in range(BLOCK)
                  for holder in holds[BLOCK * top + row, BLOCK * left + column]]
        lanes, values = ({holder[i] for holder in inside} for i in (0, 1))
        if len(lanes) != 32 or max(lanes) - min(lanes) != 31 or len(inside) != 32 * len(values):
            return None
        names = ", ".join(f"{letter}{v}" for v in sorted(values))
        boxes.append(Box(left, top, 1, 1, min(lanes) // 32, f"T{min(lanes)}-T{max(lanes)}\n{names}"))
    ranges = [tuple((i + 0.5, f"{BLOCK * i}-{BLOCK * i + BLOCK - 1}") for i in range(size // BLOCK))
              for size in (columns, rows)]
    words = "T and two numbers: the threads that hold the block, and which of their elements; colour: the warp"
    return Panel(f"{_title(fragment)}: its blocks of 8 x 8", columns // BLOCK, rows // BLOCK, boxes, ranges[0],
                 ranges[1], legend=((tuple(sorted({b.colour for b in boxes})), words),), xlabel="column", ylabel="row")


def _letter(fragment):
    return (fragment.operand or "r").rsplit(".", 1)[-1][:1].lower()


def _title(fragment):
    operand = f", {fragment.operand}" if fragment.operand else ""
    return f"{fragment.name}{operand}: {fragment.shape[0]} x {fragment.shape[1]} {fragment.dtype}"


def parts(fragment: Fragment) -> list[Panel]:
    """The Panels of a Fragment: its table; where that is no whole one, and blocks repeat, these and the first block.

    >>> from simlayout.hardware import fragment
    >>> [len(parts(fragment(name, "D"))) for name in ("m16n8k16.f32.f16.f16.f32", "wgmma.m64n64k16.f32.f16.f16")]
    [1, 2]
    """
    whole = table(fragment)
    blocks = outline(fragment) if whole.title.endswith("in part") else None
    if blocks is None:
        return [whole]
    first = table(fragment, BLOCK, BLOCK)
    words = "T and a number: a thread; in braces: which of its elements are here"
    return [blocks, replace(first, title="the first block", legend=(((), words),),
                            boxes=tuple(b._replace(colour=0) for b in first.boxes))]


def _table(fragment, holds, letter, unit, rows, columns):
    high, wide = unit
    boxes, y, ticks, last = [], 0.0, [], None
    for row in rows:
        y += 0.35 if last is not None and row != last + high else 0
        for x, column in enumerate(columns):
            cell = [holds[row + i, column + j] for i in range(high) for j in range(wide)]
            boxes.append(Box(x, y, 1, 1, cell[0][0][0] % 32 // 4, _text(cell, letter)))
        ticks.append((y + 0.5, str(row) if high == 1 else f"{row}-{row + high - 1}"))
        last, y = row, y + 1
    names = ((x + 0.5, str(c) if wide == 1 else f"{c}-{c + wide - 1}") for x, c in enumerate(columns))
    cut = len(rows) * high < fragment.shape[0] or len(columns) * wide < fragment.shape[1]
    title = _title(fragment) + (", in part" if cut else "")
    words = "T and a number: a thread; in braces: which of its elements are here; colour: its lane divided by 4"
    return Panel(title, len(columns), y, boxes, tuple(names), ticks, legend=((tuple(range(8)), words),),
                 xlabel="column", ylabel="row")


def _pairs(fragment):
    """Whether elements 2i and 2i + 1 of each lane are neighbours in a row, as of C and D."""
    if fragment.values % 2 or fragment.shape[1] % 2:
        return False
    places = fragment.coordinates()
    return bool((places[:, 1::2] - places[:, ::2] == (0, 1)).all() and not (places[:, ::2, 1] % 2).any())


def _text(cell, letter):
    """"T0:{a0,a1}", or with several holders of the same elements, "T0,T16:{a0,a1}"."""
    threads = [lane for lane, _ in cell[0]]
    values = [holder[0][1] for holder in cell]
    names = ",".join(f"{letter}{v}" for v in values) if len(values) <= 4 else f"{letter}{values[0]},..,{letter}{values[-1]}"
    return f"{','.join(f'T{t}' for t in threads)}:{{{names}}}"


def _rows(count, step):
    """The rows that are drawn."""
    if count <= WHOLE * step:
        return list(range(0, count, step))
    return [row for row in range(0, count, step) if row // step % PERIOD in DRAWN_ROWS]


def fragment(which: Fragment, rows: int | range | None = None, columns: int | None = None, ax: Axes | None = None) -> Axes:
    """Draws a Fragment as the PTX manual does (see `table`); returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`).

    >>> import simlayout as sl
    >>> fragment(sl.fragment("m16n8k8.f32.f16.f16.f32", "B")).get_title(loc="left")
    'm16n8k8.f32.f16.f16.f32, B: 8 x 8 f16'
    """
    require(Fragment, "fragment", which)
    return draw(table(which, rows, columns), ax)


@typed()
def choice(chosen: LdmatrixChoice, copy: int = 0) -> Panel:
    """The Panel of an LdmatrixChoice: the warp's tile, which lane names which 16 bytes, and the register they come to.

    Rows are m or n, columns k. Raises LayoutError for a copy that the choice does not have.

    >>> from simlayout.hardware import choose_ldmatrix
    >>> panel = choice(choose_ldmatrix("m16n8k16.f32.f16.f16.f32", "A"))
    >>> panel.boxes[25], panel.title.splitlines()[0]
    (Box(x=8, y=9, width=8, height=1, colour=3, text='T25', marked=False), 'ldmatrix.x4 (SM75_U32x4_LDSM_N)')
    """
    require(LdmatrixChoice, "choice", chosen)
    if not 0 <= copy < chosen.copies:
        raise LayoutError(f"copy {copy}: {chosen.instruction} is executed {chosen.copies} times, 0 to {chosen.copies - 1}")
    lanes = np.arange(8 * chosen.matrices)
    mn, k = (np.broadcast_to(c, lanes.shape) for c in chosen.address(lanes, copy))
    long = chosen.row_elements
    size = (long, 1) if chosen.major == "K" else (1, long)
    boxes = [Box(int(k[lane]), int(mn[lane]), *size, int(lane) // 8, f"T{lane}") for lane in lanes]
    along = "m" if chosen.operand == "A" else "n"
    rows, columns = chosen.tile
    stored = "k" if chosen.major == "K" else along
    title = (f"{chosen.instruction} ({chosen.atom})\n{chosen.mma.split('.')[0]}, {chosen.operand}, {rows} x {columns}, "
             f"{stored} contiguous")
    whole = (long, 8) if chosen.major == "K" else (8, long)
    frames = [(int(k[8 * m]), int(mn[8 * m]), *whole) for m in range(chosen.matrices)]
    words = "T and a number: the lane that names these 16 bytes; colour: the 8x8 matrix, which comes to register 0, 1, 2, 3"
    return Panel(title, columns, rows, boxes, numbers(columns, 4), numbers(rows), frames=frames,
                 legend=((tuple(range(4)), words),), xlabel="k", ylabel=along)


def _draw_fragment(request):
    operand = None if re.match(r"(ld|st)matrix|tcgen05", request.options.layout) else request.options.operand
    shown = fragment_of(request.options.layout, operand)
    return together(parts(shown)), f"{shown.shape[0]} x {shown.shape[1]} {shown.dtype}, {shown.values} per thread"


FRAGMENT_KIND = Kind("fragment", "an mma or wgmma, --operand, or a tcgen05.ld: who holds which elements, in the PTX "
                     "manual's form T0:{a0,a1}",
                     ("m16n8k16.f32.f16.f16.f32 --kind fragment --operand A -o a.svg",), _draw_fragment,
                     ("operand",))
