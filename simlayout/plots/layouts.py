"""Layouts drawn: where each coordinate goes (offset, bank, 16-byte chunk), and what lies where in shared memory."""

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.aliases import AnyDType, IndexFunction
from simlayout.algebra.composed import Layer
from simlayout.algebra.nested import mode_sizes
from simlayout.algebra.notation import as_layout, in_two_modes
from simlayout.arguments import typed
from simlayout.errors import LayoutError
from simlayout.hardware.banks.model import BANKS, WORD_BYTES
from simlayout.plots.aliases import Axes, SeveralAxes
from simlayout.plots.kinds import OF_TILE, Kind
from simlayout.plots.panel import MOST, Box, Panel, draw, together
from simlayout.plots.style import SLIDE
from simlayout.proofs.natural import CHUNK_BYTES
from simlayout.wording import tile_name

BANK_LABEL = "bank (a line is all of them: 128 bytes)"
LINE_BYTES = BANKS * WORD_BYTES
BY = ("offset", "bank", "chunk")

PLACE_COLOURS = (tuple(f"place {i}" for i in range(8)), "colour: the four banks, 0-3 to 28-31, in which it lies")
"""What colours mean in both panels: an element has the same in the tile and in shared memory."""

HIGH = 6.1                                  # inches that a panel may measure on a slide, below titles, above the legend


def extents(tile):
    """(rows, columns) of a tile with one or two modes; LayoutError for another.

    >>> from simlayout.algebra import Layout
    >>> extents(Layout(8)), extents(Layout(((2, 8), 64)))
    ((1, 8), (16, 64))
    """
    if callable(tile) and not isinstance(tile, Layer) and not hasattr(tile, "shape"):
        raise LayoutError(f"{tile_name(tile)} does not say how large its tile is: draw Tile(function, (rows, columns))")
    if not callable(tile) or not hasattr(tile, "shape"):
        raise LayoutError(f"{tile} has no coordinates to draw: compose it with a layout, as in 'Sw<3,3,3> o (16,64):(64,1)'")
    sizes = mode_sizes(tile)
    if len(sizes) > 2:
        raise LayoutError(f"{tile} has {len(sizes)} modes; a picture has rows and columns: nest them, as in "
                          f"{in_two_modes(tile)}")
    return (1, *sizes)[-2:]


def offsets(tile):
    """Offsets in elements of a tile with one or two modes, int64 [rows, columns]."""
    rows, columns = extents(tile)
    row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij", sparse=True)
    values = tile(column) if tile.rank == 1 else tile(row, column)
    return np.broadcast_to(np.asarray(values, np.int64), (rows, columns))


def run(at, size):
    """How many neighbours in a row stay together: 16 bytes' worth of elements, or 4 bytes', or 1, wherever they begin.

    at: offsets in elements, int64 [rows, columns]; size: bytes of an element.

    >>> run(np.arange(16).reshape(1, 16), 2), run(np.arange(16).reshape(16, 1), 2)
    (8, 1)
    """
    for width in (CHUNK_BYTES // size, WORD_BYTES // size):
        if width > 1 and not at.shape[1] % width:
            pieces = at.reshape(at.shape[0], -1, width)
            if (pieces == pieces[..., :1] + np.arange(width)).all() and not (pieces[..., 0] % width).any():
                return width
    return 1


def cells(at, size):
    """(down, across): how many neighbours in a row, or where none are in a column, stay together (see `run`).

    >>> cells(np.arange(16).reshape(1, 16), 2), cells(np.arange(16).reshape(16, 1), 2)
    ((1, 8), (8, 1))
    """
    across = run(at, size)
    return (run(at.T, size), 1) if across == 1 else (1, across)


@typed(own=("tile",))
def logical(tile: IndexFunction, by: str = "offset", dtype: AnyDType = "f16") -> Panel:
    """The Panel of a tile by rows and columns: each cell shows where its element lies.

    by: "offset" (elements), "bank" or "chunk" (the line of 128 bytes and the 16-byte chunk in it). Neighbours that stay
    together are one cell by chunk, and where the tile would be too wide otherwise. Raises LayoutError for more than two
    modes.

    >>> from simlayout.algebra import Layout
    >>> [box.text for box in logical(Layout((2, 4), (64, 1)), "bank").boxes]
    ['0', '0', '1', '1', '0', '0', '1', '1']
    """
    if by not in BY:
        raise LayoutError(f"a layout is drawn by {', '.join(BY)}, not by {by!r}; simlayout.plots.save writes a picture "
                          "to a file")
    tile = as_layout(tile)
    size, at = dtype_of(dtype).bytes, offsets(tile)
    whole = cells(at, size)
    for each in (whole,) if by == "chunk" or at.size > MOST else ((1, 1), whole):
        panel = _logical(tile, by, dtype_of(dtype), at, *each)
        if panel.size()[0] <= SLIDE and panel.size()[1] <= HIGH:
            break
    return panel.within(HIGH)


def _logical(tile, by, dtype, at, down, across):
    (rows, columns), size, width = at.shape, dtype.bytes, down * across
    boxes = []
    for (row, column), offset in np.ndenumerate(at[::down, ::across]):
        byte = int(offset) * size
        text = {"offset": str(offset), "bank": _banks(byte, width * size),
                "chunk": f"{byte // LINE_BYTES}.{byte % LINE_BYTES // CHUNK_BYTES}"}[by]
        boxes.append(Box(column * across, row * down, across, down, _place(byte), text))
    what = {"offset": "offset in elements" + (" of the first of them" if width > 1 else ""),
            "bank": "the bank" if width * size <= WORD_BYTES else "the banks",
            "chunk": "line of 128 bytes . chunk of 16 bytes in it"}[by]
    words = f"{what}" + (f"; a cell is {width} neighbours" if width > 1 else "")
    colours, meaning = PLACE_COLOURS
    step = across if columns // across <= 32 else 4 * across
    return Panel(f"{tile}, {dtype}", columns, rows, boxes, numbers(columns, step, 0.5 * across),
                 numbers(rows, down, 0.5 * down),
                 legend=((colours, meaning), ((), f"in the tile: {words}")), xlabel="column", ylabel="row", bytes=size)


def _place(byte):
    """The colour of the 16 bytes of a line in which a byte lies."""
    return f"place {byte % LINE_BYTES // CHUNK_BYTES}"


def _banks(byte, size):
    """The banks of `size` bytes from `byte` on.

    >>> _banks(132, 2), _banks(128, 16)
    ('1', '0-3')
    """
    first, last = byte // WORD_BYTES % BANKS, (byte + size - 1) // WORD_BYTES % BANKS
    return str(first) if first == last else f"{first}-{last}"


def numbers(count, step=1, middle=0.5):
    """((position, text), ...) of every `step`-th of so many rows or columns.

    >>> numbers(4, 2)
    ((0.5, '0'), (2.5, '2'))
    """
    return tuple((i + middle, str(i)) for i in range(0, count, step))


def memory(tile: IndexFunction, dtype: AnyDType = "f16", title: str = "in shared memory") -> Panel:
    """The Panel of shared memory in lines of 128 bytes: each cell shows the row and column of the element that lies there.

    Raises LayoutError for more than two modes.

    >>> from simlayout.algebra import Layout
    >>> [box.text for box in memory(Layout((2, 16), (16, 1))).boxes]
    ['0, 0', '0, 8', '1, 0', '1, 8']
    """
    size, at = dtype_of(dtype).bytes, offsets(as_layout(tile))
    down, across = cells(at, size)
    width = down * across
    high = -(-(int(at.max()) + 1) * size // LINE_BYTES)
    boxes = []
    for (row, column), offset in np.ndenumerate(at[::down, ::across]):
        line, byte = divmod(int(offset) * size, LINE_BYTES)
        boxes.append(Box(byte / WORD_BYTES, line, width * size / WORD_BYTES, 1, _place(byte),
                         f"{row * down}, {column * across}"))
    words = "in shared memory: row, column" + (f" of the first of {width} neighbours" if width > 1 else "")
    holes = _holes(at, size, high)
    holes = holes if len(boxes) + len(holes) <= MOST else []
    legend = (PLACE_COLOURS, ((), words), *([((-1,), "no element lies there")] if holes else []))
    panel = Panel(title, BANKS, high, boxes + holes, bank_numbers(), numbers(high), legend=legend, xlabel=BANK_LABEL,
                  ylabel="line", bytes=WORD_BYTES)
    return panel.within(HIGH)


def _holes(at, size, lines):
    """A box for each run of bytes, in so many lines and ahead of the last element, in which no element lies."""
    used = np.zeros((lines, LINE_BYTES + 2), bool)           # with an end on either side
    used[:, [0, -1]] = True
    used[-1, (int(at.max()) + 1) * size - (lines - 1) * LINE_BYTES:] = True
    line, byte = np.divmod(np.add.outer(at.ravel() * size, np.arange(size)), LINE_BYTES)
    used[line, byte + 1] = True
    turns = np.argwhere(np.diff(used)).reshape(-1, 2, 2)     # (line, first byte), (line, the byte behind) of each run
    return [Box(first / WORD_BYTES, line, (last - first) / WORD_BYTES, 1, -1, "")
            for (line, first), (_, last) in turns.tolist()]


def bank_numbers(banks=BANKS):
    """Column numbers of the banks: every fourth."""
    return numbers(banks, 4)


@typed(own=("tile",))
def layout(tile: IndexFunction, by: str = "offset", dtype: AnyDType = "f16", ax: Axes | None = None) -> Axes:
    """Draws a tile by its rows and columns (see `logical`); returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`).

    >>> from simlayout.algebra import Layout
    >>> layout(Layout((16, 64), (64, 1)), by="bank").get_title(loc="left")
    '(16,64):(64,1), f16'
    """
    return draw(logical(tile, by, dtype), ax)


@typed(own=("tile",))
def layout_map(tile: IndexFunction, by: str = "offset", dtype: AnyDType = "f16",
               ax: SeveralAxes | None = None) -> tuple[Axes, ...]:
    """Draws a tile twice: its coordinates and where they lie, and shared memory and what lies there; returns the two Axes.

    ax: where to draw: None, one Axes or two, as of `simlayout.plots.together`.

    >>> from simlayout.algebra import Layout
    >>> [ax.get_title(loc="left") for ax in layout_map(Layout((8, 8), (8, 1)))]
    ['(8,8):(8,1), f16', 'in shared memory']
    """
    panels, across = on_a_slide([logical(tile, by, dtype), memory(tile, dtype)])
    return together(panels, across, ax=ax)


def on_a_slide(panels):
    """(two panels, how many stand beside each other): one below the other where both are too wide, and then lower."""
    if sum(p.size()[0] for p in panels) <= SLIDE - 0.6:
        return panels, 2
    if sum(p.size()[1] for p in panels) > HIGH:
        panels = [panel.within(HIGH / 2 - 0.4) for panel in panels]
    return panels, 1


def _draw_layout(request):
    tile, dtype = request.tile(), request.options.dtype
    return layout_map(tile, request.options.by, dtype), f"{tile.size} elements of {dtype}"


LAYOUT_KIND = Kind("layout", "a LAYOUT, --by offset, bank or chunk: where each coordinate lies, and what lies where",
                   ("'Sw<3,3,3> o (16,64):(64,1)' --kind layout --by bank -o layout.svg",), _draw_layout,
                   (*OF_TILE, "by"))
