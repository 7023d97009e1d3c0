"""Fragments of wmma: PTX keeps them opaque, so this is what one architecture does (sm_90), not a promise of the ISA.

A wmma is made of two mma: m16n16 of two halves of n, m32n8 of two halves of m, m8n32 of the transposed m32n8 (what is
A there is the transposed B here, and C and D are transposed too), m8n8 of one. The layout in memory does not change
who holds what. Where A and B of f16 have more registers than elements to fill them, the registers repeat.
"""

from simlayout.hardware.matrix.fragments_base import Fragment, a_map, b_map, cd_map
from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.mma import per_register
from simlayout.hardware.tables.provenance import Provenance

SOURCE = Provenance("measured", "wmma fragments are opaque in PTX; loads and stores of index matrices on one NVIDIA H200, "
                    "2026-11-21, see tests/data/h200_fragments.npz")
"""Who says so, for every row."""

_FLOAT, _BOTH = ("f16", "f32"), ("row", "col")

FAMILIES = (
    # m, n, k, types of A and B, types of C and D, layouts of A, layouts of B
    (16, 16, 16, ("f16", "bf16", "s8", "u8"), (*_FLOAT, "s32"), _BOTH, _BOTH),
    (32, 8, 16, ("f16", "bf16", "s8", "u8"), (*_FLOAT, "s32"), _BOTH, _BOTH),
    (8, 32, 16, ("f16", "bf16", "s8", "u8"), (*_FLOAT, "s32"), _BOTH, _BOTH),
    (16, 16, 8, ("tf32",), ("f32",), _BOTH, _BOTH),
    (8, 8, 4, ("f64",), ("f64",), _BOTH, _BOTH),
    (8, 8, 32, ("s4", "u4"), ("s32",), ("row",), ("col",)),
    (8, 8, 128, ("b1",), ("s32",), ("row",), ("col",)),
)
"""Which wmma there are (PTX ISA, wmma.load and wmma.store; every row assembles for sm_90a)."""

TILES = {
    (16, 16): ((1, (0, 0)), (2, (0, 8)), (2, (0, 8))),
    (32, 8): ((2, (16, 0)), (1, (0, 0)), (2, (16, 0))),
    (8, 8): ((1, (0, 0)), (1, (0, 0)), (1, (0, 0))),
}
"""(m, n) -> for A, for B, for C and D: how many operands of an mma there are, and the (row, col) from one to the next."""

F16_REGISTERS = 8
"""Registers of A and of B of f16, whatever the shape (PTX ISA, wmma.load: matrix fragment)."""


def _tiled(formula, values, count, step):
    """An mma's operand of `values` values per lane, `count` times, `step` apart; more values than that repeat it all."""
    def tiled(lane, value):
        row, col = formula(lane, value % values)
        tile = value // values % count
        return row + step[0] * tile, col + step[1] * tile

    return tiled


def _transposed(formula):
    return lambda lane, value: formula(lane, value)[::-1]


def _maps(m, n, k, per):
    """The formulas of A, of B, and of C and D."""
    if (m, n) == (8, 32):
        a, b, cd = _maps(32, 8, k, per)
        return _transposed(b), _transposed(a), _transposed(cd)
    rows = 8 if m == 8 else 16
    pieces = ((a_map(rows, per), rows * k), (b_map(per), k * 8), (cd_map, rows * 8))
    return tuple(_tiled(formula, elements // LANES, *tiles)
                 for (formula, elements), tiles in zip(pieces, TILES[m, n], strict=True))


def _fragments():
    for m, n, k, inputs, sums, a_layouts, b_layouts in FAMILIES:
        name = f"wmma.m{m}n{n}k{k}"
        for dtype in inputs:
            per = per_register(dtype)
            a, b, _ = _maps(m, n, k, per)
            for operand, shape, formula, layouts in (("load.a", (m, k), a, a_layouts), ("load.b", (k, n), b, b_layouts)):
                copies = F16_REGISTERS * per * LANES // (shape[0] * shape[1]) if dtype == "f16" else 1
                for layout in layouts:
                    yield Fragment(f"{name}.{dtype}.{layout}", operand, shape, dtype, SOURCE, formula, copies)
        for dtype in sums:
            _, _, cd = _maps(m, n, k, per_register(dtype))
            for layout in _BOTH:
                for operand in ("load.c", "store.d"):
                    yield Fragment(f"{name}.{dtype}.{layout}", operand, (m, n), dtype, SOURCE, cd)


WMMA_FRAGMENTS = {(f.name, f.operand): f for f in _fragments()}
"""Every wmma.load and wmma.store, by (wmma.SHAPE.TYPE.LAYOUT, "load.a", "load.b", "load.c" or "store.d")."""
