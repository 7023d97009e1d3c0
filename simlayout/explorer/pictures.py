"""Pictures of what has no lanes: where a TMA box lands, and what wgmma reads of an operand's tile."""

from dataclasses import replace

from simlayout.algebra.swizzle_modes import swizzle_mode
from simlayout.hardware.matrix.operand_tile import OperandTile
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.plots import landing
from simlayout.plots.style import colour_of
from simlayout.plots.wgmma import operand_panel
from simlayout.wording import by

LINES = 8                   # of 128 bytes, after which every swizzle repeats


def pictures(plan, instruction):
    """Panels for JSON of an access of a plan without lanes, of A and of B, or of C; none for what a plan does not tell.

    A plan tells it by `tensors(first, k)`, [(TensorMap, loads)], and by its `config`: `operands`, OperandTiles, and of
    A, B and C `boxes()`, elements, and `swizzles`, bytes.

    >>> from types import SimpleNamespace
    >>> tiles = SimpleNamespace(config=SimpleNamespace(operands=(OperandTile(64, 64, "f16"),)))
    >>> [panel["title"] for panel in pictures(tiles, "wgmma.m64n64k16.f32.f16.f16")]
    ['A: 64 x 64 f16, K-major, SWIZZLE_128B: first 8 of 64 lines']
    """
    config, found = getattr(plan, "config", None), []
    if instruction.startswith("wgmma"):
        found = [(operand_panel(tile, name, LINES), tile.bytes) for name, tile in zip("AB", getattr(config, "operands", ()))
                 if isinstance(tile, OperandTile)]
    elif instruction == "cp.async.bulk.tensor" and hasattr(plan, "tensors"):
        found = [_boxes(f"{name}: {len(loads)} box{'es' * (len(loads) > 1)}", tensor)
                 for name, (tensor, loads) in zip("AB", plan.tensors(0, 0))]
    elif instruction == "cp.async.bulk.tensor.global" and hasattr(config, "swizzles"):
        box = config.boxes()[2][:2]                      # of elements of 2 bytes: those of 4 are stored without TMA
        found = [_boxes("C: boxes", TensorMap(config.dtype, box, (2 * box[0],), box, swizzle=config.swizzles[2]))]
    return [_plain(panel, size) for panel, size in found]


def _boxes(what, tensor):
    """(the Panel of a TensorMap's box, its bytes)."""
    size = by(n for n in tensor.shape if n > 1)
    title = f"{what} of {size} {tensor.dtype}, {swizzle_mode(tensor.swizzle)}"
    return replace(landing(tensor, LINES), title=title), tensor.box_bytes


def _plain(panel, size):
    """A Panel for JSON."""
    lines = size // 128
    return {"title": panel.title + (f": first {LINES} of {lines} lines" if lines > LINES else ""), "width": panel.width,
            "height": panel.height, "boxes": [[*b[:4], colour_of(b.colour), b.text] for b in panel.boxes],
            "columns": panel.columns, "rows": panel.rows, "frames": panel.frames, "xlabel": panel.xlabel,
            "ylabel": panel.ylabel, "words": [text for _, text in panel.legend]}
