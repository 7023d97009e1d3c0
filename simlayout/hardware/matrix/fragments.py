"""Fragments: which element of an operand each lane of a warp holds, for mma, mma.sp, wmma, ldmatrix and the like.

The tables here say which mma there are; `fragments_base` has the formulas that say where their elements are. wmma,
mma.sp and wgmma have files of their own, and `fragment` finds them all.
"""

import reprlib
from dataclasses import dataclass

from simlayout.errors import InstructionError
from simlayout.hardware.matrix.fragments_base import (
    BITS,
    LANES,
    Fragment,
    MmaShape,
    a_map,
    b_map,
    cd_map,
    hint,
    matrix_map,
    matrix_trans_map,
    per_register,
)
from simlayout.hardware.matrix.sparse import SPARSE_FRAGMENTS
from simlayout.hardware.matrix.wgmma_fragments import wgmma_fragment
from simlayout.hardware.matrix.wmma import WMMA_FRAGMENTS
from simlayout.hardware.tables.provenance import Provenance

__all__ = ["BITS", "FRAGMENTS", "LANES", "MMAS", "QUAD_PAIR_MMAS", "Fragment", "Mma", "QuadPairMma", "fragment", "mma_of"]


@dataclass(frozen=True)
class Mma(MmaShape):
    """A warp-level mma: D = A B + C. types: those of D, A, B and C, in the order of the name."""

    @property
    def name(self):
        """The name: shape, the types of D, A, B and C, and .satfinite, .xor.popc or .and.popc."""
        return ".".join((self.shape, *self.types)) + self.suffix

    @property
    def opcode(self):
        """The instruction as PTX writes it, without operands.

        >>> mma_of("m16n8k32.s32.s8.u8.s32.satfinite").opcode
        'mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32'
        """
        early, late = (self.suffix, "") if self.suffix == ".satfinite" else ("", self.suffix)
        return f"mma.sync.aligned.{self.shape}.row.col{early}.{'.'.join(self.types)}{late}"

    def operands(self):
        """{operand: (rows, cols, dtype)}."""
        d, a, b, c = self.types
        return {"A": (self.m, self.k, a), "B": (self.k, self.n, b), "C": (self.m, self.n, c), "D": (self.m, self.n, d)}


@dataclass(frozen=True)
class QuadPairMma:
    """mma.m8n8k4 of f16: four products of their own, one by each quad-pair (lanes 4q to 4q + 3 and 16 + 4q to 19 + 4q).

    Its operands are stacks of four: rows 8q to 8q + 7 of A, C and D and rows 4q to 4q + 3 of B are those of quad-pair q.
    layouts: of A and of B, "row" or "col", part of the name; types: those of D, A, B and C.
    """

    layouts: tuple
    types: tuple
    m, n, k, matrices = 8, 8, 4, 4

    @property
    def name(self):
        """m8n8k4, the layouts of A and B, the types of D, A, B and C."""
        return ".".join(("m8n8k4", *self.layouts, *self.types))

    @property
    def opcode(self):
        """The instruction as PTX writes it, without operands."""
        return f"mma.sync.aligned.{self.name}"

    def operands(self):
        """{operand: (rows, cols, dtype)} of the stacks."""
        d, a, b, c = self.types
        return {"A": (32, 4, a), "B": (16, 8, b), "C": (32, 8, c), "D": (32, 8, d)}


def _pairs(*types):
    return tuple((a, b) for a in types for b in types)


_FP8, _INT8, _INT4, _B1 = _pairs("e4m3", "e5m2"), _pairs("s8", "u8"), _pairs("s4", "u4"), _pairs("b1")
_WRAP_OR_CLAMP, _BITWISE = ("", ".satfinite"), (".xor.popc", ".and.popc")

FAMILIES = (
    # m, n, depths, (D and C, ...), ((A, B), ...), suffixes
    (16, 8, (8, 16), ("f32", "f16"), (("f16", "f16"),), ("",)),
    (16, 8, (8, 16), ("f32",), (("bf16", "bf16"),), ("",)),
    (16, 8, (4, 8), ("f32",), (("tf32", "tf32"),), ("",)),
    (16, 8, (16, 32), ("f32", "f16"), _FP8, ("",)),
    (16, 8, (16, 32), ("s32",), _INT8, _WRAP_OR_CLAMP),
    (8, 8, (16,), ("s32",), _INT8, _WRAP_OR_CLAMP),
    (16, 8, (32, 64), ("s32",), _INT4, _WRAP_OR_CLAMP),
    (8, 8, (32,), ("s32",), _INT4, _WRAP_OR_CLAMP),
    (16, 8, (128, 256), ("s32",), _B1, _BITWISE),
    (8, 8, (128,), ("s32",), _B1, _BITWISE),
    (8, 8, (4,), ("f64",), (("f64", "f64"),), ("",)),
    (16, 8, (4, 8, 16), ("f64",), (("f64", "f64"),), ("",)),
)
"""Which warp-level mma instructions exist (PTX ISA, table of mma shapes and types; every row assembles for sm_90a)."""

MMAS = {row.name: row for row in (
    Mma(m, n, k, (cd, a, b, cd), suffix)
    for m, n, depths, accumulators, inputs, suffixes in FAMILIES
    for k in depths for cd in accumulators for a, b in inputs for suffix in suffixes
)}

QUAD_PAIR_MMAS = {row.name: row for row in (
    QuadPairMma((a, b), (d, "f16", "f16", c))
    for a in ("row", "col") for b in ("row", "col") for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32"))
)}
"""The forms of m8n8k4 of f16 (PTX ISA, mma; sm_90 has no such instruction: ptxas makes a routine of each)."""


def _row_in_quad_pair(lane):
    """Which of the eight rows (or columns) that a quad-pair's lanes number one by one this lane has."""
    return lane % 4 + lane // 16 * 4


def _quad_pair(lane):
    return lane // 4 % 4


_QUAD_PAIR_MAPS = {
    # What, its layout or type: where it is, within the stack.
    ("A", "row"): lambda lane, value: (8 * _quad_pair(lane) + _row_in_quad_pair(lane), value),
    ("A", "col"): lambda lane, value: (8 * _quad_pair(lane) + lane // 16 * 4 + value, lane % 4),
    ("B", "row"): lambda lane, value: (4 * _quad_pair(lane) + lane % 4, lane // 16 * 4 + value),
    ("B", "col"): lambda lane, value: (4 * _quad_pair(lane) + value, _row_in_quad_pair(lane)),
    ("D", "f16"): lambda lane, value: (8 * _quad_pair(lane) + _row_in_quad_pair(lane), value),
    ("D", "f32"): lambda lane, value: (8 * _quad_pair(lane) + lane % 2 + value // 2 % 2 * 2 + lane // 16 * 4,
                                       value // 4 * 4 + lane // 2 % 2 * 2 + value % 2),
}
"""PTX ISA, Matrix Fragments for mma.m8n8k4 with .f16; equal to CuTe's SM70 MMA_Traits."""


def _confirmed(text):
    return Provenance("measured", f"{text}; confirmed on one NVIDIA H200, 2026-11-21, see tests/data/h200_fragments.npz")


def _mma_fragments():
    for mma in MMAS.values():
        source = _confirmed(f"PTX ISA, Matrix Fragments for mma.{mma.shape}; equal to CuTe MMA_Traits")
        for operand, (rows, cols, dtype) in mma.operands().items():
            per = per_register(dtype)
            formula = {"A": a_map(mma.m, per), "B": b_map(per)}.get(operand, cd_map)
            yield Fragment(mma.name, operand, (rows, cols), dtype, source, formula)


def _quad_pair_fragments():
    source = _confirmed("PTX ISA, Matrix Fragments for mma.m8n8k4 with .f16; equal to CuTe's SM70 MMA_Traits")
    for mma in QUAD_PAIR_MMAS.values():
        for operand, (rows, cols, dtype) in mma.operands().items():
            key = (operand, mma.layouts["AB".index(operand)]) if operand in "AB" else ("D", dtype)
            yield Fragment(mma.name, operand, (rows, cols), dtype, source, _QUAD_PAIR_MAPS[key])


def _matrix_fragments():
    for op in ("ldmatrix", "stmatrix"):
        source = _confirmed(f"PTX ISA, {op}: matrix m is rows 8m to 8m + 7 of the stack and register m of every lane")
        for count in (1, 2, 4):
            for suffix, formula in (("", matrix_map), (".trans", matrix_trans_map)):
                yield Fragment(f"{op}.x{count}{suffix}", None, (8 * count, 8), "b16", source, formula)
    source = _confirmed("PTX ISA, movmatrix: D holds the transpose; (row, col) is where the element was in A")
    for operand, formula in (("A", matrix_map), ("D", matrix_trans_map)):
        yield Fragment("movmatrix.trans", operand, (8, 8), "b16", source, formula)


FRAGMENTS = {(f.name, f.operand): f for rows in (_mma_fragments, _matrix_fragments, _quad_pair_fragments) for f in rows()}
FRAGMENTS |= SPARSE_FRAGMENTS | WMMA_FRAGMENTS
"""Every fragment that a warp holds, by (instruction, operand); the operand of ldmatrix and stmatrix is None."""


def fragment(name, operand=None):
    """The fragment of an operand of an instruction; its `source` says whether the map is measured, documented or assumed.

    name and operand: an mma ("m16n8k16.f32.f16.f16.f32": shape, types of D, A, B and C; for m8n8k4 of f16 the layouts of A
    and B before the types) or an mma.sp ("mma.sp.m16n8k32.f32.f16.f16.f32") with "A", "B", "C" or "D", where A of mma.sp
    is the compressed one; a wmma ("wmma.m16n16k16.f16.row": shape, type and layout of the operand) with "load.a",
    "load.b", "load.c" or "store.d"; "movmatrix.trans" with "A" or "D"; ldmatrix and stmatrix without. A wgmma
    ("wgmma.m64n256k16.f32.f16.f16") has "D", and "A" where A comes from registers; its lanes are the 128 threads of the
    warpgroup.

    Raises InstructionError naming what is known.

    >>> fragment("m16n8k16.f32.f16.f16.f32", "A")(lane=5, value=2)
    (9, 2)
    >>> fragment("m16n8k16.f32.f16.f16.f32", "B").shape, fragment("ldmatrix.x4.trans")(0, 1)
    ((16, 8), (1, 0))
    >>> fragment("wmma.m16n16k16.f32.row", "store.d")(lane=0, value=4), fragment("wmma.m16n16k16.f16.col", "load.a").copies
    ((0, 8), 2)
    >>> fragment("wgmma.m64n64k16.f32.f16.f16", "D")(lane=127, value=31)
    (63, 63)
    """
    if not isinstance(name, str) or not isinstance(operand, str | None):
        raise InstructionError(f"no fragment known for {reprlib.repr(name)}, {reprlib.repr(operand)}: give names, text such "
                               "as 'm16n8k16.f32.f16.f16.f32' and 'A'")
    if name.startswith("wgmma."):
        return wgmma_fragment(name, operand)
    found = FRAGMENTS.get((name, operand))
    if found is None:
        raise InstructionError(_unknown(name, operand))
    return found


def mma_of(name):
    """The Mma row of a name; raises InstructionError naming what is known.

    >>> mma_of("m16n8k8.f32.tf32.tf32.f32").k
    8
    """
    if name not in MMAS:
        raise InstructionError(f"unknown mma {name!r}; {hint(name, MMAS)}")
    return MMAS[name]


def _unknown(name, operand):
    """The error line for a fragment that is not in the table."""
    operands = [o for n, o in FRAGMENTS if n == name]
    if operands == [None]:
        return f"{name} has one fragment and no operands; leave out {operand!r}"
    if operands:
        return f"{name} has no operand {operand!r}; it has {', '.join(operands)}"
    return f"no fragment known for {name!r}; {hint(name, dict.fromkeys(n for n, _ in FRAGMENTS))}"
