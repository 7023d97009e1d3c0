"""TMA: where the 16-byte chunks of a box land in shared memory, in each swizzle mode."""

from collections.abc import Sequence

import numpy as np

from simlayout.algebra.swizzle_modes import SWIZZLE_MODES, swizzle_mode
from simlayout.arguments import typed
from simlayout.errors import SimlayoutError, require
from simlayout.hardware.banks.model import BANKS, WORD_BYTES
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.plots.aliases import Axes, SeveralAxes
from simlayout.plots.kinds import Kind
from simlayout.plots.layouts import BANK_LABEL, CHUNK_BYTES, LINE_BYTES, bank_numbers
from simlayout.plots.panel import Box, Panel, draw, together

ATOM_BYTES = max(mode.period for mode in SWIZZLE_MODES.values())
"""What is drawn of a mode: the longest period of a swizzle."""

SPANS = {str(mode): span for span, mode in SWIZZLE_MODES.items()}
"""Name of a swizzle mode -> its span in bytes."""

WORDS = "numbers: row of the box, 16-byte chunk of the row; colour: that chunk"


@typed()
def landing(tensor_map: TensorMap, most: int = 64) -> Panel:
    """The Panel of a TensorMap's box in shared memory: lines of 128 bytes, and the chunk of the box that lies in each place.

    most: lines that are drawn. Rows count all dimensions but the innermost. Raises LayoutError where it is not documented
    where the box lands.

    >>> panel = landing(TensorMap("f16", (64, 1000), (128,), (64, 8), swizzle=128))
    >>> [box.text for box in panel.boxes[8:12]], [box.x for box in panel.boxes[8:12]]
    (['1.0', '1.1', '1.2', '1.3'], [4.0, 0.0, 12.0, 8.0])
    """
    require(TensorMap, "landing", tensor_map)
    each = CHUNK_BYTES // tensor_map.itemsize
    places = tensor_map.offsets().reshape(-1, tensor_map.shape[-1])[:, ::each]
    boxes = []
    for (row, chunk), byte in np.ndenumerate(places):
        line, inside = divmod(int(byte), LINE_BYTES)
        if line < most:
            boxes.append(Box(inside / WORD_BYTES, line, CHUNK_BYTES / WORD_BYTES, 1, chunk, f"{row}.{chunk}"))
    high = min(most, -(-tensor_map.box_bytes // LINE_BYTES))
    title = f"{swizzle_mode(tensor_map.swizzle)}: rows of {tensor_map.row_bytes} bytes, {tensor_map.dtype}"
    return Panel(title, BANKS, high, boxes, bank_numbers(), tuple((y + 0.5, str(y)) for y in range(high)),
                 legend=((tuple(range(places.shape[1])[:8]), WORDS),), xlabel=BANK_LABEL, ylabel="line",
                 bytes=WORD_BYTES)


def atom(span: int) -> TensorMap:
    """The TensorMap whose box is 1024 bytes in rows as long as a swizzle of `span` bytes allows (0: 128 bytes).

    >>> atom(64).box, atom(128).box
    ((32, 16), (64, 8))
    """
    row = (swizzle_mode(span).span or LINE_BYTES) // 2
    rows = ATOM_BYTES // 2 // row
    return TensorMap("f16", (row, rows), (2 * row,), (row, rows), swizzle=span)


def tma(tensor_map: TensorMap, ax: Axes | None = None) -> Axes:
    """Draws where a TensorMap's box lands (see `landing`); returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`).

    >>> tma(atom(64)).get_title(loc="left")
    'SWIZZLE_64B: rows of 64 bytes, f16'
    """
    return draw(landing(tensor_map), ax)


@typed()
def tma_modes(spans: Sequence[int] = tuple(SWIZZLE_MODES), ax: SeveralAxes | None = None) -> tuple[Axes, ...]:
    """Draws 1024 bytes in several swizzle modes (spans in bytes); returns a tuple of Axes, one per mode.

    ax: where to draw: None, one Axes or as many as modes, as of `simlayout.plots.together`.

    >>> [ax.get_title(loc="left").split(":")[0] for ax in tma_modes((0, 128))]
    ['SWIZZLE_NONE', 'SWIZZLE_128B']
    """
    return together([landing(atom(span)) for span in spans], 2, ax=ax)


def _draw_tma(request):
    name = request.options.layout
    if name == "all":
        return tma_modes(), "four modes"
    if name not in SPANS:
        raise SimlayoutError(f"no swizzle mode {name!r}: give {', '.join(SPANS)} or all")
    return tma(atom(SPANS[name])), f"{ATOM_BYTES} bytes"


TMA_KIND = Kind("tma", "SWIZZLE_NONE, SWIZZLE_32B, SWIZZLE_64B, SWIZZLE_128B, or all: where the chunks of a box land",
                ("SWIZZLE_128B --kind tma -o tma.svg",), _draw_tma)
