"""Blackwell's tensor memory: where tcgen05.mma puts its accumulators, and where it reads scale factors."""

import re

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError, require
from simlayout.hardware.matrix.scale_factors import BLOCK_COLUMNS, BLOCK_ROWS, ScalesInTmem, scale_layout
from simlayout.hardware.matrix.tmem import TMEM_LANES, Accumulator, accumulator
from simlayout.hardware.tables.arch import LANES
from simlayout.plots.kinds import Kind
from simlayout.plots.panel import Box, Panel, together
from simlayout.wording import ranges

ROWS = 16
"""Rows of an accumulator that stay together: those of a warp's half."""

SHOWN = (0, 1, 2, 31)
"""Lanes of each warp, and rows of a block, that a picture of scale factors shows."""

LANE = "TMEM lane"


@typed()
def accumulator_panel(made: Accumulator, cta: int = 0) -> Panel:
    """The Panel of the tensor memory of a CTA under an Accumulator: blocks of 16 lanes, and the rows and columns of D there.

    >>> panel = accumulator_panel(accumulator(64, 256))
    >>> [box.text for box in panel.boxes[:2]], panel.title
    (['m 0-15, n 0-255', 'm 16-31, n 0-255'], 'layout F: M 64, N 256')
    """
    require(Accumulator, "accumulator_panel", made)
    path, part = made.path, made.columns
    wide, boxes = max(part // 32, 1), []
    for m in range(cta * (path.m // path.ctas), (cta + 1) * (path.m // path.ctas), ROWS):
        for n in range(0, made.n, part):
            _, lane, column = made(m, n)
            text = f"m {m}-{m + ROWS - 1}, n {n}-{n + part - 1}"
            boxes.append(Box(column / part * wide, lane / ROWS, wide, 1, n // part, text))
    ctas = f", 2 CTAs, CTA {cta}" if path.ctas > 1 else ""
    title = f"layout {made.letter}: M {path.m}, N {made.n}{ctas}{', .ws' * path.ws}{', sparse' * bool(path.sparse)}"
    rows = tuple((i + 0.5, f"{ROWS * i}-{ROWS * i + ROWS - 1}") for i in range(TMEM_LANES // ROWS))
    legend = ((tuple(range(path.parts)), "m, n: rows and columns of D; colour: the part of N"),)
    return Panel(title, wide, TMEM_LANES // ROWS, boxes, ((wide / 2, f"0-{part - 1}"),), rows, legend=legend,
                 xlabel="column of TMEM", ylabel=LANE)


def scale_panels() -> list[Panel]:
    """The Panels of a block of 128 x 4 scale factors: in memory, as 32 rows of 16 bytes, and in tensor memory. A box is four
    bytes, the scale factors of a row of the matrix.

    >>> [[box.text for box in panel.boxes[:4]] for panel in scale_panels()]
    [['m 0', 'm 32', 'm 64', 'm 96'], ['m 0', 'm 1', 'm 2', 'm 31']]
    """
    layout, scales = scale_layout(BLOCK_ROWS, BLOCK_COLUMNS), ScalesInTmem(BLOCK_ROWS)
    memory, held = [], {}
    for m in range(BLOCK_ROWS):
        row, byte = divmod(int(layout(m, 0)), 16)
        if row in SHOWN:
            memory.append(Box(byte // 4, SHOWN.index(row), 1, 1, m // LANES, f"m {m}"))
        for lane, column, _ in scales(m, 0):
            held[lane, column] = m
    lanes = [LANES * warp + lane for warp in range(TMEM_LANES // LANES) for lane in SHOWN]
    tmem = [Box(column, y, 1, 1, held[lane, column] // LANES, f"m {held[lane, column]}")
            for column in range(scales.columns(BLOCK_COLUMNS)) for y, lane in enumerate(lanes)]
    memory.sort(key=lambda box: (box.y, box.x))
    words = "m: a row of A, or column of B, with its four scale factors; colour: m / 32"
    bytes_of = tuple((i + 0.5, f"{4 * i}-{4 * i + 3}") for i in range(4))
    return [Panel(f"in memory: 32 rows of 16 bytes,\nof which {ranges(SHOWN)} are drawn", 4, len(SHOWN), memory, bytes_of,
                  tuple((y + 0.5, str(row)) for y, row in enumerate(SHOWN)),
                  legend=((tuple(range(4)), words),),
                  xlabel="byte", ylabel="row"),
            Panel("in tensor memory: 4 columns, once for each warp", 4, len(lanes), tmem,
                  tuple((i + 0.5, str(i)) for i in range(4)), tuple((y + 0.5, str(lane)) for y, lane in enumerate(lanes)),
                  frames=[(0, len(SHOWN) * warp, 4, len(SHOWN)) for warp in range(4)], xlabel="column",
                  ylabel=f"{LANE} ({ranges(SHOWN)} of each warp)")]


def accumulators() -> list[Panel]:
    """The Panels of all dense accumulators of N = 256: M 128, 64 and 32, by one CTA or two.

    >>> [panel.title[7] for panel in accumulators()]
    ['D', 'F', 'E', 'G', 'B']
    """
    made = [accumulator(128, 256), accumulator(64, 256), accumulator(64, 256, ws=True), accumulator(32, 256, ws=True),
            accumulator(128, 256, 2)]
    return [accumulator_panel(one) for one in made]


def _draw_tmem(request):
    what = request.options.layout
    if what == "scales":
        return together(scale_panels()), "a block of 128 x 4"
    if what == "all":
        return together(accumulators(), 3), "where D lies, by M"
    found = re.fullmatch(r"m(\d{1,3})n(\d{1,3})(\.cta2)?(\.ws)?", what)
    if found is None:
        raise SimlayoutError(f"no accumulator {what!r}: write it as m128n256, m128n256.cta2, m64n256.ws, scales or all")
    made = accumulator(int(found[1]), int(found[2]), 2 if found[3] else 1, bool(found[4]))
    panels = [accumulator_panel(made, cta) for cta in range(made.path.ctas)]
    return together(panels), f"{made.path.m} x {made.n} in {made.columns} columns"


TMEM_KIND = Kind("tmem", "an accumulator of tcgen05.mma, m64n256, m128n256.cta2 or m64n256.ws, or all; or scales, a block "
                 "of scale factors: where they lie in tensor memory", ("m64n256 --kind tmem -o tmem.svg",), _draw_tmem)
