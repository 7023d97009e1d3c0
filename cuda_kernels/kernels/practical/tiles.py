"""The shared-memory tiles of the practical-swizzle problems, who touches what in them, and the excess it is known for.

A tile maps (row, column, slot) to an element; a slot is one matrix of the problem. Three shapes: 16x16 (problem 1.1), 16x32
(1.2), 16x256 (2.1, 3.1). Every layout of a shape serves the same accesses, so that two variants of a problem differ in
nothing but their index functions, which are emitted when they are first used.
"""

from dataclasses import dataclass
from functools import lru_cache

from simlayout.algebra import Layout, Rotation, Swizzle
from simlayout.proofs import Access

PLAIN = {
    "16x16": Layout((16, 16, 2), (16, 1, 256)),
    "16x32": Layout((16, 32, 1), (32, 1, 512)),
    "16x256": Layout((16, 256, 4), (256, 1, 4096)),
}
"""Shape -> the row-major tile, with as many slots as a problem needs."""

TILES = {
    "16x16": {
        "none": PLAIN["16x16"],
        "shift": Rotation(8, 2, 64) @ PLAIN["16x16"],
        "xor": Swizzle(1, 3, 3) @ PLAIN["16x16"],
        "rearranged": PLAIN["16x16"],                   # the layout stays; lanes give other addresses and exchange registers
    },
    "16x32": {
        "none": PLAIN["16x32"],
        "shift": Rotation(8, 4, 64) @ PLAIN["16x32"],
        "xor": Swizzle(2, 3, 3) @ PLAIN["16x32"],
    },
    "16x256": {
        "none": PLAIN["16x256"],
        "shift rows": Rotation(8, 2, 64) @ PLAIN["16x256"],
        "shift rows wide": Rotation(8, 8, 64) @ PLAIN["16x256"],
        "shift blocks": Rotation(8, 8, 256) @ PLAIN["16x256"],
        "shift": Rotation(8, 2, 64) @ Rotation(8, 8, 256) @ PLAIN["16x256"],
        "xor rows": Swizzle(1, 3, 3) @ PLAIN["16x256"],
        "xor rows wide": Swizzle(3, 3, 3) @ PLAIN["16x256"],
        "xor blocks": Swizzle(3, 3, 5) @ PLAIN["16x256"],
        "xor": Swizzle(1, 3, 3) @ Swizzle(3, 3, 5) @ PLAIN["16x256"],
    },
}
"""Shape -> layout name -> tile. "rows" serves rows read as 16x16 matrices, "blocks" the 16x16 blocks; plain "shift" and
"xor" serve every access of their shape, for 16x256 by two layers. With two chunks in a row, as in 16x16, the two are one."""


@dataclass(frozen=True)
class Known:
    """What one layout is known for. excess: wavefronts beyond the ideal of one ldmatrix.x4 or stmatrix.x4, per pattern;
    source: who says so."""

    excess: dict
    source: str


_MODEL = "8 rows of 16 bytes per phase of ldmatrix and stmatrix, counted per bank"

KNOWN = {
    ("16x16", "none"): Known({"matrix": 4}, "practical-swizzle 1: 4 per 16x16 matrix; 12 profiled = 8 LDSM + 4 STS"),
    ("16x16", "shift"): Known({"matrix": 0}, _MODEL),
    ("16x16", "xor"): Known({"matrix": 0}, "practical-swizzle 2: swizzle<3,1,3> there, Swizzle<1,3,3> in CUTLASS's order"),
    ("16x16", "rearranged"): Known({"matrix": 0}, "practical-swizzle 1: addresses rearranged, registers exchanged"),
    ("16x32", "none"): Known({"matrix": 12}, "practical-swizzle 1: 3 * 4 per half, 24 for both"),
    ("16x32", "shift"): Known({"matrix": 0}, _MODEL),
    ("16x32", "xor"): Known({"matrix": 0}, "practical-swizzle 1 and 2: two bits of the row, Swizzle<2,3,3>"),
    ("16x256", "none"): Known({"rows": 4, "blocks": 28},
                              "practical-swizzle 2.1: 64 and 448 per operand of 16 warps; its repository counts 128 + 896"),
    ("16x256", "shift rows"): Known({"rows": 0, "blocks": 28}, _MODEL),
    ("16x256", "shift rows wide"): Known({"rows": 0, "blocks": 12}, _MODEL),
    ("16x256", "shift blocks"): Known({"rows": 4, "blocks": 0}, _MODEL),
    ("16x256", "shift"): Known({"rows": 0, "blocks": 0}, _MODEL),
    ("16x256", "xor rows"): Known({"rows": 0, "blocks": 28}, "practical-swizzle 2: its 16x16 swizzle on a row of 256"),
    ("16x256", "xor rows wide"): Known({"rows": 0, "blocks": 12}, _MODEL),
    ("16x256", "xor blocks"): Known({"rows": 4, "blocks": 0}, "practical-swizzle 2.1: its first layer, <5,3,3> there"),
    ("16x256", "xor"): Known({"rows": 0, "blocks": 0}, "practical-swizzle 2.1: two layers"),
}
"""(shape, layout) -> what it is known for. A st.shared.b32 of C has a quarter of that excess: it writes what is one of four
phases of stmatrix.x4."""


# ---- who touches what: (tid, loop variables, slot) -> (row, column, slot) --------------------------------------------

PAIRS = {"j": 2, "r": 2}
"""Loops over the four registers of a 16x16 result: its 16x8 halves j, and rows 0-7 or 8-15 of each."""


def matrix_row(tid):
    """Row of a 16x16 matrix that a lane names for ldmatrix.x4 and stmatrix.x4: matrices 0 and 1 stand below each other."""
    return tid % 16


def matrix_col(tid):
    """First of its 8 columns: matrices 2 and 3 stand right of 0 and 1."""
    return 8 * (tid % 32 // 16)


def pair_row(tid, r):
    """Row of the pair of C in a lane's register r of one 16x8 half (PTX ISA: mma.m16n8k16, fragment C)."""
    return 8 * r + tid % 32 // 4


def pair_col(tid, j):
    """First of its two columns, in half j."""
    return 8 * j + 2 * (tid % 4)


def rearranged_col(tid):
    """`matrix_col`, exchanged in rows 4-7 and 12-15: the 8 rows of a phase then lie in 128 bytes of different banks."""
    return 8 * (tid % 32 // 16 ^ tid % 8 // 4)


def rearranged_pair_col(tid, j):
    """`pair_col` after the exchange: lanes 16-31 hold rows 4-7 and 12-15, and of these the other half."""
    return 8 * (j ^ tid % 32 // 16) + 2 * (tid % 4)


def _maps_16x16(layout):
    rearranged = layout == "rearranged"
    col, pairs = (rearranged_col, rearranged_pair_col) if rearranged else (matrix_col, pair_col)
    return {
        "copy": ({}, lambda tid, slot: (tid // 2, 8 * (tid % 2), slot)),
        "load left": ({}, lambda tid, slot: (matrix_row(tid), col(tid), slot)),
        "load right": ({}, lambda tid, slot: (matrix_row(tid), col(tid), slot)),
        "store": ({}, lambda tid, slot: (matrix_row(tid), col(tid), slot)),
        "store pairs": (PAIRS, lambda tid, j, r, slot: (pair_row(tid, r), pairs(tid, j), slot)),
        "read": ({}, lambda tid, slot: (tid // 2, 8 * (tid % 2), slot)),
    }


def _maps_16x32(layout):
    return {
        "copy": ({"i": 2}, lambda tid, i, slot: (8 * i + tid // 4, 8 * (tid % 4), slot)),
        "load left": ({}, lambda tid, slot: (matrix_row(tid), matrix_col(tid), slot)),
        "load right": ({}, lambda tid, slot: (matrix_row(tid), 16 + matrix_col(tid), slot)),
        "store": ({}, lambda tid, slot: (matrix_row(tid), matrix_col(tid), slot)),
        "store pairs": (PAIRS, lambda tid, j, r, slot: (pair_row(tid, r), pair_col(tid, j), slot)),
        "read": ({}, lambda tid, slot: (matrix_row(tid), matrix_col(tid), slot)),
    }


def _maps_16x256(layout):
    def row(tid, slot):
        return tid // 32, 16 * matrix_row(tid) + matrix_col(tid), slot

    def block(tid, slot):
        return matrix_row(tid), 16 * (tid // 32) + matrix_col(tid), slot

    return {
        "copy": ({}, lambda tid, slot: (tid // 32, 8 * (tid % 32), slot)),
        "load rows": ({}, row), "load blocks": ({}, block), "store rows": ({}, row), "store blocks": ({}, block),
        "store rows pairs": (PAIRS, lambda tid, j, r, slot: (tid // 32, 16 * pair_row(tid, r) + pair_col(tid, j), slot)),
        "store blocks pairs": (PAIRS, lambda tid, j, r, slot: (pair_row(tid, r), 16 * (tid // 32) + pair_col(tid, j), slot)),
        "read": ({}, lambda tid, slot: (tid // 32, 8 * (tid % 32), slot)),
    }


_SHAPES = {"16x16": (32, 2, _maps_16x16), "16x32": (32, 1, _maps_16x32), "16x256": (512, 4, _maps_16x256)}
"""Shape -> (threads, slots, the coordinate functions of a layout)."""


def _instruction(role):
    if role == "load right":
        return "ldmatrix.x4.trans"
    if role.startswith("load"):
        return "ldmatrix.x4"
    if role.startswith("store"):
        return "st.shared.b32" if role.endswith("pairs") else "stmatrix.x4"
    return {"copy": "st.shared.b128", "read": "ld.shared.b128"}[role]


def _excess(shape, layout, role):
    if role == "copy" or (role == "read" and shape != "16x32"):
        return 0                                     # 8 lanes move 128 bytes in a row, whatever the order of the chunks
    known = KNOWN[shape, layout].excess
    if role == "read":
        return known["matrix"]                             # the left half lies apart: 8 lanes read 8 rows, as ldmatrix does
    pattern = "blocks" if "blocks" in role else "rows" if "rows" in role else "matrix"
    return known[pattern] // 4 if role.endswith("pairs") else known[pattern]


@lru_cache(None)
def accesses(shape, layout):
    """The accesses of a shape in one of its layouts, {role: Access}; an access is called "role (layout)"."""
    threads, slots, maps = _SHAPES[shape]
    return {role: Access(f"{role} ({layout})", _instruction(role), TILES[shape][layout], lanes,
                         {"tid": threads, **loops, "slot": slots}, "f16", _excess(shape, layout, role))
            for role, (loops, lanes) in maps(layout).items()}


def shared_bytes(shape, slots):
    """Dynamic shared memory of a CTA that uses the first `slots` matrices of a shape, in bytes."""
    rows, cols = map(int, shape.split("x"))
    return 2 * rows * cols * slots
