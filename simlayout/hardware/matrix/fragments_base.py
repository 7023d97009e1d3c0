"""What a fragment is, and the three formulas that nearly all of them are made of.

With g = lane // 4, t = lane % 4 and E elements in a register, A, B and C of every mma m16n8k* and m8n8k* follow
`a_map`, `b_map` and `cd_map` (PTX ISA, "Matrix Fragments for mma"; equal to CuTe's MMA_Traits). wmma and mma.sp are
made of the same pieces.
"""

from dataclasses import dataclass, field
from functools import cached_property
from numbers import Number

import numpy as np

from simlayout.algebra.checked import Checked
from simlayout.drawn import drawn_by
from simlayout.errors import InstructionError, brief
from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.mma import per_register
from simlayout.hardware.tables.provenance import Provenance
from simlayout.shown import Shown
from simlayout.wording import by, counted


@dataclass(frozen=True)
class Fragment(Shown):
    """One operand of one instruction, as a map from (lane, value) to (row, col).

    Rows and columns are those of the operand: (m, k) of A, (k, n) of B, (m, n) of C and D; of ldmatrix, stmatrix and
    movmatrix, those of the stack of 8 x 8 matrices of 16-bit elements. Values count the elements of a lane in register
    order, lowest bits first: value v is in register v // per_register. It takes ints, NumPy arrays and traced symbols
    alike, so an Access's lanes may be one, `lambda tid, v: d(tid % 32, 2*v)`.

    shape: (rows, cols); lanes: 32, of wgmma the 128 threads of a warpgroup; values: elements per lane; dtype: of the
    elements; registers: per lane, of 32 bits (of 64 bits for f64); copies: how many (lane, value) hold each element (1 but
    for some operands of wmma, and scale factors); source: the Provenance of the map.
    """

    name: str
    operand: str | None
    shape: tuple
    dtype: str
    source: Provenance
    formula: object = field(repr=False, compare=False)
    copies: int = 1
    lanes: int = LANES

    def __str__(self):
        """What it maps, and who says so.

        >>> from simlayout.hardware import fragment
        >>> print(fragment("ldmatrix.x4"))
        ldmatrix.x4: 32 x 8 elements of b16; each of 32 lanes has 8, in 4 registers
        measured: ...
        """
        often = f", and each element is in {self.copies} places" if self.copies > 1 else ""
        return (f"{self.title}: {by(self.shape)} elements of {self.dtype}; each of {self.lanes} lanes has {self.values}, in "
                f"{counted(self.registers, 'register')}{often}\n{self.source}")

    def __call__(self, lane, value):
        """(row, col) of a lane's value; InstructionError for a lane or a value that there is not, or that is no integer."""
        return self.formula(_below(lane, self.lanes, "lane", self), _below(value, self.values, "value", self))

    @property
    def title(self) -> str:
        """What errors call it: the instruction, and its operand."""
        return self.name if self.operand is None else f"{self.operand} of {self.name}"

    @cached_property
    def values(self) -> int:
        """Elements per lane."""
        return self.shape[0] * self.shape[1] * self.copies // self.lanes

    @property
    def per_register(self) -> int:
        """Elements per register."""
        return per_register(self.dtype)

    @property
    def registers(self) -> int:
        """Registers per lane: of 32 bits, or of 64 bits for f64."""
        return -(-self.values // self.per_register)

    def coordinates(self) -> np.ndarray:
        """(row, col) of every lane and value: int64 [lanes, values, 2].

        >>> from simlayout.hardware import fragment
        >>> fragment("m16n8k16.f32.f16.f16.f32", "A").coordinates()[1].tolist()
        [[0, 2], [0, 3], [8, 2], [8, 3], [0, 10], [0, 11], [8, 10], [8, 11]]
        """
        lane, value = np.meshgrid(np.arange(self.lanes), np.arange(self.values), indexing="ij")
        return np.stack(self(lane, value), axis=-1)

    plot = drawn_by("fragment", "Draws who holds which elements, in the PTX manual's form.")


def _below(given, limit, what, fragment):
    """A lane or value, ints from 0 to limit - 1 or an array of such, checked; symbols pass, by their range."""
    if isinstance(given, Checked):                       # what an Access's index function is called with
        _below(np.ndarray.view(given, np.ndarray), limit, what, fragment)
        return given
    if isinstance(given, np.ndarray):
        if given.dtype.kind not in "iu":
            raise InstructionError(f"{fragment.title}: a {what} is an integer, not {given.dtype}")
        if given.size and not 0 <= given.min() <= given.max() < limit:
            wrong = given[(given < 0) | (given >= limit)].flat[0]
            raise InstructionError(f"{fragment.title}: {what} {wrong}, and there are 0 to {limit - 1}")
        return given
    if isinstance(given, int | np.integer):
        least = most = given = int(given)
    elif isinstance(given, Number | str) or not hasattr(type(given), "__floordiv__"):
        raise InstructionError(f"{fragment.title}: a {what} is an integer or an array of them, not {brief(given)}")
    else:                                                # a symbol, perhaps with a range
        least, most = getattr(given, "lo", 0), getattr(given, "hi", 0)
    if least < 0 or most >= limit:
        raise InstructionError(f"{fragment.title}: {what} {least if least < 0 else most}, and there are 0 to {limit - 1}")
    return given


def a_map(rows, per):
    """A of 16 rows: registers walk down 8 rows, then along k; of 8 rows: along k alone. per: elements per register."""
    if rows == 8:
        return lambda lane, value: (lane // 4, per * (lane % 4) + value % per + 4 * per * (value // per))
    return lambda lane, value: (lane // 4 + 8 * (value // per % 2),
                                per * (lane % 4) + value % per + 4 * per * (value // (2 * per)))


def b_map(per):
    """B: registers walk along k."""
    return lambda lane, value: (per * (lane % 4) + value % per + 4 * per * (value // per), lane // 4)


def cd_map(lane, value):
    """C and D: two neighbours of a row, then the same 8 rows below."""
    return lane // 4 + 8 * (value // 2), 2 * (lane % 4) + value % 2


def matrix_map(lane, value):
    """ldmatrix, stmatrix: two neighbours of a row of matrix value // 2."""
    return 8 * (value // 2) + lane // 4, 2 * (lane % 4) + value % 2


def matrix_trans_map(lane, value):
    """The same of the transposed matrix: two neighbours of a column."""
    return 8 * (value // 2) + 2 * (lane % 4) + value % 2, lane // 4


def confirmed(text):
    """The Provenance of a map that a GPU confirmed; text: who says so."""
    return Provenance("measured", f"{text}; confirmed on one NVIDIA H200, 2026-11-21, see tests/data/h200_fragments.npz")


def fragments_of(mmas, text):
    """Yields the Fragments of the operands of a table of mma; text: as of `confirmed`."""
    for mma in mmas.values():
        for operand, (rows, cols, dtype) in mma.operands().items():
            per = per_register(dtype)
            formula = {"A": a_map(mma.m, per), "B": b_map(per)}.get(operand, cd_map)
            yield Fragment(mma.name, operand, (rows, cols), dtype, confirmed(text), formula)
