"""mma.sync of floats of 8, 6 and 4 bits on sm_120 and sm_121, with scale factors and without: its fragments.

They are named as other mma, shape and types of D, A, B and C, and then the kind; where there are scale factors, also how
many of them a row of A has and their type: "m16n8k64.f32.e2m1.e2m1.f32.mxf4nvf4.4X.ue4m3". Of m16n8k32 each element has a
byte of a register, also one of 6 or 4 bits. Nothing of it was measured here.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from simlayout.arguments import typed
from simlayout.errors import InstructionError, require_ints
from simlayout.hardware.matrix.fragments_base import Fragment, a_map, b_map, cd_map
from simlayout.hardware.tables.mma import MmaShape
from simlayout.hardware.tables.provenance import Provenance

SINCE = (12, 0)
"""The first compute capability that has them (ptxas takes them for sm_120a and sm_121a, and for none before)."""

SOURCE = Provenance("documented", "PTX ISA, Matrix Fragments for mma.m16n8k32 and mma.m16n8k64; equal to CUTLASS's "
                    "mma_traits_sm120.hpp")
SCALE_SOURCE = Provenance("documented", "PTX ISA, Block Scaling for mma.sync; with selectors of 0 equal to CUTLASS's "
                          "mma_traits_sm120.hpp")
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


# ---- selectors of scale factors ------------------------------------------------------------------------------------------

BYTE_IDS = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}
"""How many scale factors of a row an instruction takes -> the bytes of a register at which they may begin: byte-id-a, b."""

THREAD_IDS = {"SA": (0, 1), "SB": (0, 1, 2, 3)}
"""thread-id-a says which two of every four lanes bring A's scale factors, thread-id-b which one brings B's. PTX ISA, Block
Scaling for mma.sync, Valid values for various selector components; ptxas takes these and no others."""


@typed(InstructionError, own=("operand",))
@dataclass(frozen=True)
class ScaleSource:
    """From where a block-scaled mma.sync takes the scale factors of "SA" or "SB": (row of A or column of B, factor along K)
    -> (lane, byte of its register). byte, thread: the operands byte-id and thread-id. InstructionError for others.

    With bytes 0 to 3 by turns a register holds the scale factors of four instructions along K (1X), of two (2X) or one (4X).

    >>> name = "m16n8k32.f32.e4m3.e4m3.f32.mxf8f6f4.1X.ue8m0"
    >>> ScaleSource(name, "SA")(9, 0), ScaleSource(name, "SA", byte=2, thread=1)(9, 0), ScaleSource(name, "SB", 3, 2)(5, 0)
    ((5, 0), (7, 2), (22, 3))
    """

    name: str
    operand: str
    byte: int = 0
    thread: int = 0
    source: Provenance = SCALE_SOURCE

    def __post_init__(self):
        there = isinstance(self.operand, str) and self.operand in THREAD_IDS
        fragment = SCALED_FRAGMENTS.get((self.name, self.operand)) if there else None
        if fragment is None:
            raise InstructionError(f"{self.name!r} has no scale factors {self.operand!r}: name a block-scaled mma.sync, and "
                                   "SA or SB")
        require_ints(InstructionError, f"{self.name}, {self.operand}", byte=self.byte, thread=self.thread)
        bytes_, threads = BYTE_IDS[self.factors], THREAD_IDS[self.operand]
        if self.byte not in bytes_ or self.thread not in threads:
            raise InstructionError(f"{self.name}, {self.operand}: byte-id {self.byte}, thread-id {self.thread}; it has "
                                   f"byte-ids {', '.join(map(str, bytes_))} and thread-ids {', '.join(map(str, threads))}")

    @property
    def factors(self) -> int:
        """Scale factors of a row, or of a column."""
        return SCALED_MMAS[self.name].vectors

    @property
    def lines(self) -> int:
        """Rows of A, or columns of B."""
        return SCALED_MMAS[self.name].m if self.operand == "SA" else SCALED_MMAS[self.name].n

    @typed(InstructionError)
    def __call__(self, line: int, factor: int) -> tuple[int, int]:
        """(lane, byte of its register) of a scale factor of a row or column; InstructionError outside."""
        if not (0 <= line < self.lines and 0 <= factor < self.factors):
            raise InstructionError(f"{self.name}, {self.operand}: no scale factor {factor} of {line}; there are "
                                   f"{self.lines} with {self.factors} each")
        lane = 4 * (line % 8) + (2 * self.thread + line // 8 if self.operand == "SA" else self.thread)
        return lane, self.byte + factor

    def registers(self, scales: ArrayLike) -> np.ndarray:
        """uint32 [32]: the register of every lane, 0 where the hardware does not look. scales: uint8 [16, factors] of A,
        [factors, 8] of B. InstructionError for others.

        >>> scales = ScaleSource("m16n8k64.f32.e2m1.e2m1.f32.mxf4.2X.ue8m0", "SB", byte=2)
        >>> hex(scales.registers(np.full((2, 8), 0x7F, np.uint8))[4])
        '0x7f7f0000'
        """
        given = np.asarray(scales)
        wanted = (self.lines, self.factors) if self.operand == "SA" else (self.factors, self.lines)
        if given.shape != wanted or given.dtype != np.uint8:
            raise InstructionError(f"{self.name}, {self.operand}: scale factors are uint8 {list(wanted)}, not {given.dtype} "
                                   f"{list(given.shape)}")
        held = np.zeros(32, np.uint32)
        for line in range(self.lines):
            for factor in range(self.factors):
                lane, byte = self(line, factor)
                value = given[line, factor] if self.operand == "SA" else given[factor, line]
                held[lane] |= np.uint32(int(value) << 8 * byte)
        return held
