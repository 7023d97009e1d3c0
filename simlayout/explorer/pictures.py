"""Pictures of what has no lanes: where a TMA box lands, and what wgmma reads of an operand's tile."""

from dataclasses import replace

from simlayout.algebra.swizzle_modes import swizzle_mode
from simlayout.hardware.matrix.wgmma import OperandTile
from simlayout.plots import landing
from simlayout.plots.style import colour_of
from simlayout.plots.wgmma import operand_panel

LINES = 8                   # of 128 bytes, after which every swizzle repeats


def pictures(plan, instruction):
    """Panels for JSON of an access of a plan without lanes, of A and of B; none for what a plan does not tell.

    A plan tells it by `tensors(first, k)`, [(TensorMap, loads)], and by `config.operands`, OperandTiles.

    >>> from types import SimpleNamespace
    >>> tiles = SimpleNamespace(config=SimpleNamespace(operands=(OperandTile(64, 64, "f16"),)))
    >>> [panel["title"] for panel in pictures(tiles, "wgmma.m64n64k16.f32.f16.f16")]
    ['A: 64 x 64 f16, K-major, SWIZZLE_128B: first 8 of 64 lines']
    """
    found = []
    if instruction.startswith("wgmma"):
        tiles = getattr(getattr(plan, "config", None), "operands", ())
        found = [(operand_panel(tile, name, LINES), tile.bytes) for name, tile in zip("AB", tiles)
                 if isinstance(tile, OperandTile)]
    elif instruction == "cp.async.bulk.tensor" and hasattr(plan, "tensors"):
        for name, (tensor, loads) in zip("AB", plan.tensors(0, 0)):
            panel = landing(tensor, LINES)
            size = " x ".join(str(n) for n in tensor.shape if n > 1)
            boxes = f"{name}: {len(loads)} box{'es' * (len(loads) > 1)} of {size} {tensor.dtype}"
            found.append((replace(panel, title=f"{boxes}, {swizzle_mode(tensor.swizzle)}"), tensor.box_bytes))
    return [_plain(panel, size) for panel, size in found]


def _plain(panel, size):
    """A Panel for JSON."""
    lines = size // 128
    return {"title": panel.title + (f": first {LINES} of {lines} lines" if lines > LINES else ""), "width": panel.width,
            "height": panel.height, "boxes": [[*b[:4], colour_of(b.colour), b.text] for b in panel.boxes],
            "columns": panel.columns, "rows": panel.rows, "frames": panel.frames, "xlabel": panel.xlabel,
            "ylabel": panel.ylabel, "words": [text for _, text in panel.legend]}
