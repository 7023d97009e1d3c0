"""Fragments: which element of an operand each lane of a warp holds, for mma, mma.sp, wmma, ldmatrix and the like.

`tables.mma` says which mma there are, `fragments_base` has the formulas that say where their elements are. wmma, mma.sp
and wgmma have files of their own, and `fragment` finds them all.
"""

import copyreg

from simlayout.errors import InstructionError, brief
from simlayout.hardware.matrix.fragments_base import (
    Fragment,
    confirmed,
    fragments_of,
    matrix_map,
    matrix_trans_map,
)
from simlayout.hardware.matrix.mfma import AMD_FRAGMENTS
from simlayout.hardware.matrix.scaled_mma import SCALED_FRAGMENTS
from simlayout.hardware.matrix.sparse import SPARSE_FRAGMENTS
from simlayout.hardware.matrix.tmem import TmemFragment, tmem_fragment
from simlayout.hardware.matrix.wgmma_fragments import wgmma_fragment
from simlayout.hardware.matrix.wmma import WMMA_FRAGMENTS
from simlayout.hardware.tables.mma import MMAS, QUAD_PAIR_MMAS, hint, spelled


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


def _quad_pair_fragments():
    source = confirmed("PTX ISA, Matrix Fragments for mma.m8n8k4 with .f16; equal to CuTe's SM70 MMA_Traits")
    for mma in QUAD_PAIR_MMAS.values():
        for operand, (rows, cols, dtype) in mma.operands().items():
            key = (operand, mma.layouts["AB".index(operand)]) if operand in "AB" else ("D", dtype)
            yield Fragment(mma.name, operand, (rows, cols), dtype, source, _QUAD_PAIR_MAPS[key])


def _matrix_fragments():
    for op in ("ldmatrix", "stmatrix"):
        source = confirmed(f"PTX ISA, {op}: matrix m is rows 8m to 8m + 7 of the stack and register m of every lane")
        for count in (1, 2, 4):
            for suffix, formula in (("", matrix_map), (".trans", matrix_trans_map)):
                yield Fragment(f"{op}.x{count}{suffix}", None, (8 * count, 8), "b16", source, formula)
    source = confirmed("PTX ISA, movmatrix: D holds the transpose; (row, col) is where the element was in A")
    for operand, formula in (("A", matrix_map), ("D", matrix_trans_map)):
        yield Fragment("movmatrix.trans", operand, (8, 8), "b16", source, formula)


FRAGMENTS = {(f.name, f.operand): f for rows in (
    fragments_of(MMAS, "PTX ISA, Matrix Fragments for mma, of each shape; equal to CuTe MMA_Traits"), _matrix_fragments(),
    _quad_pair_fragments()) for f in rows}
FRAGMENTS |= SPARSE_FRAGMENTS | WMMA_FRAGMENTS | SCALED_FRAGMENTS | AMD_FRAGMENTS
"""Every fragment that a warp holds, by (instruction, operand); the operand of ldmatrix and stmatrix is None."""


def fragment(name: str, operand: str | None = None) -> Fragment:
    """The fragment of an operand of an instruction; its `source` says whether the map is measured, documented or assumed.

    name and operand: an mma ("m16n8k16.f32.f16.f16.f32": shape, types of D, A, B and C; for m8n8k4 of f16 the layouts of A
    and B before the types) or an mma.sp ("mma.sp.m16n8k32.f32.f16.f16.f32") with "A", "B", "C" or "D", where A of mma.sp
    is the compressed one; a wmma ("wmma.m16n16k16.f16.row": shape, type and layout of the operand) with "load.a",
    "load.b", "load.c" or "store.d"; "movmatrix.trans" with "A" or "D"; ldmatrix and stmatrix without. A wgmma
    ("wgmma.m64n256k16.f32.f16.f16") has "D", and "A" where A comes from registers; its lanes are the 128 threads of the
    warpgroup. So has a wgmma.sp ("wgmma.sp.m64n256k32.f32.f16.f16"), with the compressed A.
    Those of sm_120's kinds ("m16n8k64.f32.e2m1.e2m1.f32.mxf4nvf4.4X.ue4m3") have "SA" and "SB" too, their scale
    factors. tcgen05.ld and st ("tcgen05.ld.32x32b.x8") have no operand; their rows and columns are lanes and columns of
    TMEM. AMD's have the names of its assembly, and A, B, C, D: "v_mfma_f32_16x16x16_f16", or of RDNA3
    "v_wmma_f32_16x16x16_f16_w32", and with "_gfx12" behind it of RDNA4.

    Raises InstructionError naming what is known.

    >>> fragment("m16n8k16.f32.f16.f16.f32", "A")(lane=5, value=2)
    (9, 2)
    >>> fragment("m16n8k16.f32.f16.f16.f32", "B").shape, fragment("ldmatrix.x4.trans")(0, 1)
    ((16, 8), (1, 0))
    >>> fragment("wmma.m16n16k16.f32.row", "store.d")(lane=0, value=4), fragment("wmma.m16n16k16.f16.col", "load.a").copies
    ((0, 8), 2)
    >>> fragment("wgmma.m64n64k16.f32.f16.f16", "D")(lane=127, value=31)
    (63, 63)
    >>> fragment("wgmma.sp.m64n8k32.f32.f16.f16", "A").shape
    (64, 16)
    >>> fragment("v_mfma_f32_16x16x16_f16", "A")(lane=17, value=3), fragment("v_mfma_f32_32x32x8_f16", "D")(lane=32, value=5)
    ((1, 7), (13, 0))
    """
    if not isinstance(name, str) or not isinstance(operand, str | None):
        raise InstructionError(f"no fragment known for {brief(name)}, {brief(operand)}: give names, text such "
                               "as 'm16n8k16.f32.f16.f16.f32' and 'A'")
    if name.startswith("m64n"):                          # 64 rows: nothing but wgmma has them
        name = f"wgmma.{name}"
    if name.startswith("wgmma."):
        return wgmma_fragment(name.replace(".mma_async", "").replace(".sync.aligned", ""), operand)
    if name.startswith("tcgen05."):
        if operand is not None:
            raise InstructionError(f"{name} has one fragment and no operands; leave out {brief(operand)}")
        return tmem_fragment(name)
    result = FRAGMENTS.get((name, operand)) or FRAGMENTS.get((spelled(name, _names()), operand))
    if result is None:
        raise InstructionError(_unknown(spelled(name, _names()), operand))
    return result


for _class in (Fragment, TmemFragment):                  # the map of one is a function that has no name
    copyreg.pickle(_class, lambda one: (fragment, (one.name, one.operand)))


def _unknown(name, operand):
    """The error line for a fragment that is not in the table."""
    operands = [o for n, o in FRAGMENTS if n == name]
    if operands == [None]:
        return f"{name} has one fragment and no operands; leave out {brief(operand)}"
    if operands:
        known = ", ".join(operands)
        return (f"{name} has a fragment for each operand: name one of {known}" if operand is None else
                f"{name} has no operand {brief(operand)}; it has {known}")
    return f"no fragment known for {brief(name)}; {hint(name, _names())}"


def _names():
    """The names of FRAGMENTS."""
    return dict.fromkeys(name for name, _ in FRAGMENTS)
