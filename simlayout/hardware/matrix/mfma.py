"""Fragments of AMD's matrix instructions, MFMA (CDNA, waves of 64 lanes) and WMMA (RDNA, waves of 32), by AMD's names.

An MFMA of R rows has 64 / R groups of R lanes. A lane holds one row of A (one column of B): neighbours along k, the next
group's lanes those after them. C and D come four rows at a time. Two numbers of blocks, `2b`, are two products side by
side: the operands are then stacks, rows of one block below those of the other. RDNA3 and RDNA4 give one WMMA different
fragments, so that a name ends as the compiler's builtin does: `_w32` or `_w32_gfx12`.
"""

from dataclasses import replace

from simlayout.hardware.matrix.fragments_base import Fragment
from simlayout.hardware.tables.provenance import Provenance

_CALCULATOR = "AMD's matrix instruction calculator (ROCm/amd_matrix_instruction_calculator)"
_MFMA = Provenance("documented", f"{_CALCULATOR}; IREE's getSingleSubgroupLayout is equal")
_BLOG = Provenance("documented", "ROCm blog, Matrix Core programming on CDNA3 and CDNA4")
_CDNA4 = Provenance("documented", f"{_BLOG.text}; IREE's getSingleSubgroupLayout is equal")
_WIDE = Provenance(
    "disputed", "k = 64(v/16) + 16(l/16) + v%16, as Triton has it (kWidth 16), and as 32x32x64 is documented; IREE has k = "
    "32(l/16) + v, which gives the same product as long as there are no scales")
_RDNA4 = Provenance(
    "disputed", f"k = 8(v/4) + 4(l/16) + v%4 by {_CALCULATOR}; IREE and Triton have k = 8(l/16) + v, which gives the same "
    "product up to rounding, because A and B are permuted alike")
_WMMA = Provenance("documented", f"{_CALCULATOR}; IREE's getSingleSubgroupLayout is equal")


def _neighbours(rows, depth):
    """k of a lane's value: `depth` neighbours of each group of `rows` lanes."""
    return lambda lane, value: depth * (lane // rows) + value


def _pieces(rows, piece):
    """k where every group of lanes holds pieces of so many neighbours, one from each turn through all groups."""
    groups = 64 // rows
    return lambda lane, value: groups * piece * (value // piece) + piece * (lane // rows) + value % piece


def _operands(rows, depth, k_of, sums):
    """{operand: (shape, formula)} of a product, rows x rows x depth; k_of: (lane, value) -> k; sums: formula of C and D."""
    return {"A": ((rows, depth), lambda lane, value: (lane % rows, k_of(lane, value))),
            "B": ((depth, rows), lambda lane, value: (k_of(lane, value), lane % rows)),
            "C": ((rows, rows), sums), "D": ((rows, rows), sums)}


def _sums_16(lane, value):
    return 4 * (lane // 16) + value, lane % 16


def _sums_32(lane, value):
    return 8 * (value // 4) + 4 * (lane // 32) + value % 4, lane % 32


def _sums_f64(lane, value):
    return 4 * value + lane // 16, lane % 16


_SUMS = {16: _sums_16, 32: _sums_32}

_TYPES = {"f32": "f32", "xf32": "tf32", "f16": "f16", "bf16": "bf16", "fp8": "e4m3", "bf8": "e5m2", "i8": "s8"}
"""AMD's name of a type -> ours, of as many bits. (fp8 and bf8 of CDNA3 have no infinities and one zero; where they are held
is the same.)"""

_SHAPES = (
    # rows, {types: (k, and k of the deeper form that CDNA4 has)}
    (16, {"f32": (4,), "xf32": (8,), "f16": (16, 32), "bf16": (16, 32), "fp8": (32,), "i8": (32, 64)}),
    (32, {"f32": (2,), "xf32": (4,), "f16": (8, 16), "bf16": (8, 16), "fp8": (16,), "i8": (16, 32)}),
)


def _mfma():
    for rows, types in _SHAPES:
        for dtype, depths in types.items():
            for depth, source in zip(depths, (_MFMA, _CDNA4)):
                yield from _of_types(rows, depth, dtype, source)
    yield from _fragments("v_mfma_f64_16x16x4_f64", _operands(16, 4, _neighbours(16, 1), _sums_f64), "f64", "f64", _MFMA)
    for dtype in ("fp8", "bf8"):
        name = f"f8f6f4.{_TYPES[dtype]}"
        yield from _fragments(f"v_mfma_f32_32x32x64_{name}", _operands(32, 64, _pieces(32, 16), _sums_32), _TYPES[dtype],
                              "f32", _BLOG)
        yield from _fragments(f"v_mfma_f32_16x16x128_{name}", _operands(16, 128, _pieces(16, 16), _sums_16), _TYPES[dtype],
                              "f32", _WIDE)
    yield from _two_blocks()


def _of_types(rows, depth, dtype, source):
    """An MFMA of one type, or of every pair of fp8 and bf8."""
    k_of, sums = _neighbours(rows, depth * rows // 64), "s32" if dtype == "i8" else "f32"
    pairs = [(a, b) for a in ("fp8", "bf8") for b in ("fp8", "bf8")] if dtype == "fp8" else [(dtype, dtype)]
    for a, b in pairs:
        types = f"{a}_{b}" if dtype == "fp8" else dtype
        yield from _fragments(f"v_mfma_{'i32' if dtype == 'i8' else 'f32'}_{rows}x{rows}x{depth}_{types}",
                              _operands(rows, depth, k_of, _SUMS[rows]), (_TYPES[a], _TYPES[b]), sums, source)


def _two_blocks():
    """32x32x4 of f16: lanes 32 to 63 hold the operands of a second product."""
    def sums(lane, value):
        row, column = _sums_32(lane, value % 16)
        return 32 * (value // 16) + row, column

    operands = {"A": ((64, 4), lambda lane, value: (lane, value)),
                "B": ((8, 32), lambda lane, value: (4 * (lane // 32) + value, lane % 32)),
                "C": ((64, 32), sums), "D": ((64, 32), sums)}
    yield from _fragments("v_mfma_f32_32x32x4_2b_f16", operands, "f16", "f32", _MFMA)


def _fragments(name, operands, inputs, sums, source, lanes=64):
    """The Fragments of an instruction; inputs: the type of A and B, or of each."""
    a, b = inputs if isinstance(inputs, tuple) else (inputs, inputs)
    for operand, (shape, formula) in operands.items():
        dtype = {"A": a, "B": b}.get(operand, sums)
        yield Fragment(name, operand, shape, dtype, source, formula, lanes=lanes)


def _wmma():
    def of_rdna4(lane, value):
        return 8 * (value // 4) + 4 * (lane // 16) + value % 4

    for dtype in ("f16", "bf16"):
        name = f"v_wmma_f32_16x16x16_{dtype}_w32"
        for f in _fragments(name, _operands(16, 16, lambda lane, value: value, _rdna3_sums), dtype, "f32", _WMMA, lanes=32):
            yield f if f.operand in "CD" else replace(f, copies=2)      # lanes 16 to 31 hold what lanes 0 to 15 hold
        yield from _fragments(f"{name}_gfx12", _operands(16, 16, of_rdna4, _rdna4_sums), dtype, "f32", _RDNA4, lanes=32)
    for a in ("fp8", "bf8"):
        for b in ("fp8", "bf8"):
            yield from _fragments(f"v_wmma_f32_16x16x16_{a}_{b}_w32_gfx12",
                                  _operands(16, 16, _neighbours(16, 8), _rdna4_sums), (_TYPES[a], _TYPES[b]), "f32", _WMMA,
                                  lanes=32)


def _rdna3_sums(lane, value):
    return 2 * value + lane // 16, lane % 16


def _rdna4_sums(lane, value):
    return 8 * (lane // 16) + value, lane % 16


def chips_of(fragment: Fragment) -> tuple[str, ...]:
    """The chips, of those in the tables, that have the instruction of a Fragment, or (gfx90a) the same under an older name.

    Sources: _CALCULATOR's lists of CDNA2, CDNA3, RDNA3 and RDNA4; CDNA4 has CDNA3's without xf32, and its own deeper forms
    (CDNA4 ISA, matrix instructions; LLVM, the features of gfx950).

    >>> [chips_of(AMD_FRAGMENTS[f"v_mfma_f32_16x16x{name}", "A"]) for name in ("16_f16", "8_xf32", "32_fp8_fp8")]
    [('gfx90a', 'gfx942', 'gfx950'), ('gfx942',), ('gfx942', 'gfx950')]
    """
    if "wmma" in fragment.name:
        return ("gfx1201",) if fragment.name.endswith("gfx12") else ("gfx1100",)
    if fragment.source in (_CDNA4, _BLOG, _WIDE):
        return ("gfx950",)
    if "xf32" in fragment.name:
        return ("gfx942",)
    newer = any(name in fragment.name for name in ("fp8", "bf8", "i8"))
    return ("gfx942", "gfx950") if newer else ("gfx90a", "gfx942", "gfx950")


AMD_FRAGMENTS = {(f.name, f.operand): f for rows in (_mfma, _wmma) for f in rows()}
"""Every fragment, by (instruction, "A", "B", "C" or "D")."""
