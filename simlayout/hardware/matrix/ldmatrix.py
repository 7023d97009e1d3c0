"""Which ldmatrix brings an mma operand from shared memory to registers, as CuTe's make_tiled_copy_A/B has it.

Two things decide. How many 8 x 8 matrices of 16-bit units the warp's operand tile holds gives x1, x2 or x4; which way
it lies in shared memory gives .trans. The addresses then follow from the order of the fragment's registers: matrix i
of the tile is register i of every lane, first the registers of one mma, then the mmas along M (or N), then along K.
"""

from dataclasses import dataclass

from simlayout.algebra.aliases import Index
from simlayout.algebra.dtypes import TYPES
from simlayout.arguments import typed
from simlayout.errors import InstructionError, brief
from simlayout.hardware.tables.mma import mma_of
from simlayout.shown import Shown
from simlayout.wording import by

ROW_BYTES = 16
TOO_FEW_VALUES = "TiledCopy uses too few vals for selected CopyAtom"
"""CuTe's own compile-time message when an ldmatrix loads more matrices than the tile has to give."""

ATOMS = {
    ("K", 1): "SM75_U32x1_LDSM_N", ("K", 2): "SM75_U32x2_LDSM_N", ("K", 4): "SM75_U32x4_LDSM_N",
    ("MN", 1): "SM75_U16x2_LDSM_T", ("MN", 2): "SM75_U16x4_LDSM_T", ("MN", 4): "SM75_U16x8_LDSM_T",
}
"""CuTe's copy atoms by (major, matrices per instruction); source: CUTLASS, cute/arch/copy_sm75.hpp.

N counts 32-bit registers, T counts 16-bit values: U16x8_T and U32x4_N both load four matrices.
"""


@dataclass(frozen=True)
class LdmatrixChoice(Shown):
    """An ldmatrix that loads a warp's operand tile in `copies` instructions, and the addresses that its lanes give.

    instruction: PTX name; atom: CuTe's name of it. tile: (mn, k) of the warp's operand tile in elements, with (m, k)
    for A and (n, k) for B. matrices: 8 x 8 matrices per instruction; feeds: for every matrix of the tile the
    (mn repetition, k repetition, register) of the fragment that it fills.
    """

    instruction: str
    atom: str
    mma: str
    operand: str
    major: str
    tile: tuple
    matrices: int
    feeds: tuple
    row_elements: int
    atom_matrices: tuple
    repetitions: tuple

    def __str__(self):
        """Which instruction loads what.

        >>> print(choose_ldmatrix("m16n8k16.f32.f16.f16.f32", "B", major="MN"))
        1 ldmatrix.x2.trans (SM75_U16x4_LDSM_T) for B of m16n8k16.f32.f16.f16.f32, 8 x 16, MN-major
        """
        return (f"{self.copies} {self.instruction} ({self.atom}) for {self.operand} of {self.mma}, {by(self.tile)}, "
                f"{self.major}-major")

    @property
    def copies(self) -> int:
        """Instructions that load the whole tile."""
        return len(self.feeds) // self.matrices

    def address(self, lane: Index, copy: Index = 0) -> tuple[Index, Index]:
        """The coordinate (mn, k) in the tile of the 16 bytes that a lane points at, in instruction `copy`.

        The 16 bytes run along k where the tile is K-major, along mn where it is MN-major. Takes ints, arrays and
        symbols alike; lanes from 8 * matrices on point where the hardware does not look.
        """
        matrix = copy * self.matrices + lane // 8 % self.matrices
        atom_mn, atom_k = self.atom_matrices
        atom = matrix // (atom_mn * atom_k)
        mn = 8 * (matrix % atom_mn + atom_mn * (atom % self.repetitions[0]))
        k = self.row_elements * (matrix // atom_mn % atom_k + atom_k * (atom // self.repetitions[0]))
        return (mn + lane % 8, k) if self.major == "K" else (mn, k + lane % 8)


@typed(InstructionError, own=("val_layout", "want"))
def choose_ldmatrix(mma: str, operand: str, val_layout: tuple[int, int, int] = (1, 1, 1), major: str = "K",
                    want: str | None = None) -> LdmatrixChoice:
    """The widest ldmatrix for operand "A" or "B" of an mma whose warp repeats it val_layout times along (M, N, K).

    major: "K" where k is contiguous in shared memory, "MN" where m (or n) is; want: "x1", "x2", "x4" to insist.
    Raises InstructionError if the tile has no whole number of `want` (in CuTe's own words), for 64-bit elements, and
    for MN-major tiles of elements that are not 16 bits wide, which ldmatrix cannot transpose.
    Source: CUTLASS 3.5, cute/atom/copy_atom.hpp and mma_atom.hpp.

    >>> choice = choose_ldmatrix("m16n8k16.f32.f16.f16.f32", "B", val_layout=(1, 2, 1), major="MN")
    >>> choice.instruction, choice.atom, choice.tile
    ('ldmatrix.x4.trans', 'SM75_U16x8_LDSM_T', (16, 16))
    >>> choose_ldmatrix("m16n8k16.f32.f16.f16.f32", "A").address(lane=25)
    (9, 8)
    """
    row = mma_of(mma)
    bits = _element_bits(row, operand, major)
    m, n, k = _repetitions(val_layout)
    repetitions = (m if operand == "A" else n, k)
    row_elements = 8 * ROW_BYTES // bits
    extent = row.m if operand == "A" else row.n
    atom_matrices = (extent // 8, row.k // row_elements)
    total = atom_matrices[0] * atom_matrices[1] * repetitions[0] * repetitions[1]
    matrices = _matrices(total, want, row, operand)
    return LdmatrixChoice(
        instruction=f"ldmatrix.x{matrices}" + (".trans" if major == "MN" else ""), atom=ATOMS[major, matrices],
        mma=row.name, operand=operand, major=major, tile=(extent * repetitions[0], row.k * k), matrices=matrices,
        feeds=_feeds(atom_matrices[0] * atom_matrices[1], repetitions), row_elements=row_elements,
        atom_matrices=atom_matrices, repetitions=repetitions)


def _element_bits(row, operand, major):
    """Bits of the operand's elements; refuses what ldmatrix cannot load."""
    if operand not in ("A", "B"):
        raise InstructionError(f"ldmatrix loads operand 'A' or 'B' of an mma, not {brief(operand)}")
    if major not in ("K", "MN"):
        raise InstructionError(f"major is 'K' or 'MN', the mode that is contiguous in shared memory, not {brief(major)}")
    dtype = row.operands()[operand][2]
    bits = TYPES[dtype].bits
    if bits == 64:
        raise InstructionError(f"{row.name}: ldmatrix deals out 32 bits per lane, {dtype} has 64; use ld.shared")
    if major == "MN" and bits != 16:
        raise InstructionError(f"{row.name}: ldmatrix .trans transposes 16-bit elements, not {dtype}; store the tile "
                               f"K-major")
    return bits


def _repetitions(val_layout):
    """(M, N, K) repetitions as a checked tuple."""
    counts = tuple(val_layout) if isinstance(val_layout, (tuple, list)) else ()
    if len(counts) != 3 or any(not isinstance(c, int) or c < 1 for c in counts):
        raise InstructionError(f"val_layout is three positive repetitions along (M, N, K), not {brief(val_layout)}")
    return counts


def _matrices(total, want, row, operand):
    """Matrices per instruction: the most of 4, 2 and 1 that divide the tile's, or exactly what is wanted."""
    if want is None:
        return next(x for x in (4, 2, 1) if total % x == 0)
    if not isinstance(want, str) or want not in ("x1", "x2", "x4"):
        raise InstructionError(f"want is 'x1', 'x2' or 'x4', not {brief(want)}")
    count = int(want[1:])
    if total % count:
        raise InstructionError(f"{TOO_FEW_VALUES}: operand {operand} of {row.name} holds {total} of the 8x8 "
                               f"matrices in a warp's tile, ldmatrix.{want} loads {count} at a time; widen val_layout "
                               f"or ask for less")
    return count


def _feeds(registers, repetitions):
    """(mn repetition, k repetition, register) of every matrix, in order."""
    return tuple((mn, k, register) for k in range(repetitions[1]) for mn in range(repetitions[0])
                 for register in range(registers))
