"""mma.sync of floats of 8, 6 and 4 bits on sm_120 and sm_121, with scale factors and without: its fragments.

They are named as other mma, shape and types of D, A, B and C, and then the kind; where there are scale factors, also how
many of them a row of A has and their type: "m16n8k64.f32.e2m1.e2m1.f32.mxf4nvf4.4X.ue4m3". Of m16n8k32 each element has a
byte of a register, also one of 6 or 4 bits. Nothing of it was measured here.
"""

from dataclasses import dataclass
from itertools import product

from simlayout.hardware.matrix.fragments_base import Fragment, a_map, b_map, cd_map
from simlayout.hardware.tables.mma import MmaShape
from simlayout.hardware.tables.provenance import Provenance

SINCE = (12, 0)
"""The first compute capability that has them (ptxas takes them for sm_120a and sm_121a, and for none before)."""

SOURCE = Provenance("documented", "PTX ISA, Matrix Fragments for mma.m16n8k32 and mma.m16n8k64; equal to CUTLASS's "
                    "mma_traits_sm120.hpp")
SCALE_SOURCE = Provenance("documented", "CUTLASS, mma_traits_sm120.hpp, where the selectors of bytes and threads are 0; PTX "
                          "ISA, Block Scaling for mma.sync")
"""Of A, B, C and D; of the scale factors."""


@dataclass(frozen=True)
class ScaledMma(MmaShape):
    """A row of SCALED_MMAS. types: those of D, A, B and C. kind: PTX's .kind. vectors: scale factors of a row of A, 0 for
    none; scale: their type."""

    kind: str = ""
    vectors: int = 0
    scale: str = ""

    @property
    def name(self) -> str:
        """Shape, types, kind, and number and type of scale factors.

        >>> [row.name for row in SCALED_MMAS.values()][-1]
        'm16n8k64.f32.e2m1.e2m1.f32.mxf4nvf4.4X.ue8m0'
        """
        scaled = (f"{self.vectors}X", self.scale) if self.vectors else ()
        return ".".join((self.shape, *self.types, self.kind, *scaled))

    @property
    def opcode(self) -> str:
        """The instruction as PTX writes it, without operands."""
        scaled = f".block_scale.scale_vec::{self.vectors}X" if self.vectors else ""
        stype = f".{self.scale}" if self.vectors else ""
        return f"mma.sync.aligned.{self.shape}.row.col.kind::{self.kind}{scaled}.{'.'.join(self.types)}{stype}"


_BYTES, _FOURS = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"), ("e2m1",)

FAMILIES = (
    # k, types of A and of B, types of C and D, kind, scale factors of a row of A, their type
    (32, _BYTES, ("f32", "f16"), "f8f6f4", 0, ""),
    (32, _BYTES, ("f32",), "mxf8f6f4", 1, "ue8m0"),
    (64, _FOURS, ("f32",), "mxf4", 2, "ue8m0"),
    (64, _FOURS, ("f32",), "mxf4nvf4", 2, "ue8m0"),
    (64, _FOURS, ("f32",), "mxf4nvf4", 4, "ue4m3"),
    (64, _FOURS, ("f32",), "mxf4nvf4", 4, "ue8m0"),
)
"""Which there are, all m16n8 (PTX ISA, mma: .kind, and its table of scale vectors; the last since PTX 9.1). kind::f8f6f4 of
types of 8 bits alone is the mma without a kind, which older chips have too."""

SCALED_MMAS = {row.name: row for row in (
    ScaledMma(16, 8, k, (d, a, b, d), "", kind, vectors, scale)
    for k, inputs, sums, kind, vectors, scale in FAMILIES for d in sums for a, b in product(inputs, inputs)
    if vectors or not {a, b} <= {"e4m3", "e5m2"})}


def _scales_of_a(lane, value):
    """Two neighbours of every four lanes have a row each, 8 apart; the other two, which are not read, as those."""
    return lane // 4 + 8 * (lane % 2), value


def _scales_of_b(lane, value):
    """One of every four lanes has a column; the other three, which are not read, as that."""
    return value, lane // 4


def _fragments():
    for mma in SCALED_MMAS.values():
        d, a, b, _ = mma.types
        held = "b4" if mma.k == 64 else "b8"
        per = 8 if mma.k == 64 else 4
        for operand, shape, dtype, formula in (("A", (16, mma.k), a, a_map(16, per)), ("B", (mma.k, 8), b, b_map(per)),
                                               ("C", (16, 8), d, cd_map), ("D", (16, 8), d, cd_map)):
            whole = dtype if operand in "CD" or dtype in ("e4m3", "e5m2") else held
            yield Fragment(mma.name, operand, shape, whole, SOURCE, formula)
        if mma.vectors:
            yield Fragment(mma.name, "SA", (16, mma.vectors), "b8", SCALE_SOURCE, _scales_of_a, copies=2)
            yield Fragment(mma.name, "SB", (mma.vectors, 8), "b8", SCALE_SOURCE, _scales_of_b, copies=4)


SCALED_FRAGMENTS = {(f.name, f.operand): f for f in _fragments()}
"""By (name, "A", "B", "C", "D", and of block-scaled ones "SA" or "SB", the scale factors)."""
