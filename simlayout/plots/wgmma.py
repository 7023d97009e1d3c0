"""wgmma's operands: which 16 bytes of a tile in shared memory each instruction along K reads, and its core matrices."""

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.swizzle_modes import swizzle_mode
from simlayout.arguments import typed
from simlayout.errors import require
from simlayout.hardware.banks.model import BANKS, WORD_BYTES
from simlayout.hardware.matrix.operand_tile import K_BYTES, OperandTile
from simlayout.plots.layouts import BANK_LABEL, CHUNK_BYTES, LINE_BYTES, bank_numbers
from simlayout.plots.panel import Box, Panel

CORE_ROWS = 8               # of a core matrix, each of 16 bytes (PTX ISA, wgmma: core matrices)
FIRST = "frame: the first core matrix, 8 rows of 16 bytes"


@typed()
def operand_panel(tile: OperandTile, name: str = "A", most: int = 64) -> Panel:
    """The Panel of an operand's tile in shared memory: lines of 128 bytes, and what its descriptors read in each place.

    name: of the operand; most: lines that are drawn. A box is 16 bytes: the row and k of its first element, in the colour
    of the wgmma along K that reads it; those of the first core matrix have a frame.

    >>> panel = operand_panel(OperandTile(64, 64, "f16"), most=8)
    >>> [box.text for box in panel.boxes[:3]], panel.frames[:3]
    (['0, 0', '0, 8', '0, 16'], ((0.0, 0, 4.0, 1), (4.0, 1, 4.0, 1), (8.0, 2, 4.0, 1)))
    """
    require(OperandTile, "operand_panel", tile)
    size = dtype_of(tile.dtype).bytes
    each, step = CHUNK_BYTES // size, K_BYTES // size
    places, boxes, frames = tile.read(), [], []
    row_step, k_step = (1, each) if tile.major == "K" else (each, 1)
    for (i, j), byte in np.ndenumerate(places[::row_step, ::k_step]):
        line, inside = divmod(int(byte), LINE_BYTES)
        row, k = i * row_step, j * k_step
        if line < most:
            boxes.append(Box(inside / WORD_BYTES, line, CHUNK_BYTES / WORD_BYTES, 1, k // step, f"{row}, {k}"))
            if row < CORE_ROWS and k < each:
                frames.append(boxes[-1][:4])
    high = min(most, tile.bytes // LINE_BYTES)
    rows = "row" if name == "A" else "column"
    words = f"{rows} of {name}, k of the first of {each} elements; colour: the wgmma along K that reads them"
    title = f"{name}: {tile.rows} x {tile.depth} {tile.dtype}, {tile.major}-major, {swizzle_mode(tile.swizzle)}"
    return Panel(title, BANKS, high, boxes, bank_numbers(), tuple((y + 0.5, str(y)) for y in range(high)), frames=frames,
                 legend=((tuple(sorted({b.colour for b in boxes})), words), ((), FIRST)), xlabel=BANK_LABEL, ylabel="line",
                 bytes=WORD_BYTES)
