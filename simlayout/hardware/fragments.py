"""Fragments: which element of an operand each lane of a warp holds, for mma, ldmatrix and stmatrix.

With g = lane // 4, t = lane % 4 and E elements in a register, the whole family m16n8k* and m8n8k* of mma follows
three formulas (PTX ISA, "Matrix Fragments for mma"; equal to CuTe's MMA_Traits): `_a`, `_b` and `_cd` below. The table
says which instructions exist; the formulas say where their elements are.
"""

import difflib
from dataclasses import dataclass, field

import numpy as np

from simlayout.errors import InstructionError

LANES = 32
BITS = {"f64": 64, "f32": 32, "s32": 32, "tf32": 32, "f16": 16, "bf16": 16, "b16": 16, "e4m3": 8, "e5m2": 8, "s8": 8,
        "u8": 8}
_MMA_SOURCE = "PTX ISA, Matrix Fragments for mma.{shape}; equal to CuTe MMA_Traits"
_MATRIX_SOURCE = "PTX ISA, {op}: matrix m is rows 8m to 8m + 7 of the stack and register m of every lane"


@dataclass(frozen=True)
class Fragment:
    """One operand of one instruction, as a map from (lane, value) to (row, col).

    Rows and columns are those of the operand: (m, k) of A, (k, n) of B, (m, n) of C and D; of ldmatrix and stmatrix,
    those of the stack of 8 x 8 matrices of 16-bit elements. Values count the elements of a lane in register order,
    lowest bits first: value v is in register v // per_register. It takes ints, NumPy arrays and traced symbols alike.

    shape: (rows, cols); lanes: 32; values: elements per lane; dtype: of the elements; registers: per lane, of 32 bits
    (of 64 bits for f64); source: where the map is defined.
    """

    name: str
    operand: str | None
    shape: tuple
    dtype: str
    source: str
    formula: object = field(repr=False, compare=False)
    lanes: int = LANES

    def __call__(self, lane, value):
        """(row, col) of a lane's value."""
        return self.formula(lane, value)

    @property
    def values(self):
        """Elements per lane."""
        return self.shape[0] * self.shape[1] // self.lanes

    @property
    def per_register(self):
        """Elements per register."""
        return _per_register(self.dtype)

    @property
    def registers(self):
        """Registers per lane: of 32 bits, or of 64 bits for f64."""
        return self.values // self.per_register

    def coordinates(self):
        """(row, col) of every lane and value: int64 [lanes, values, 2].

        >>> fragment("m16n8k16.f32.f16.f16.f32", "A").coordinates()[1].tolist()
        [[0, 2], [0, 3], [8, 2], [8, 3], [0, 10], [0, 11], [8, 10], [8, 11]]
        """
        lane, value = np.meshgrid(np.arange(self.lanes), np.arange(self.values), indexing="ij")
        return np.stack(self(lane, value), axis=-1)


@dataclass(frozen=True)
class Mma:
    """A warp-level mma: D = A B + C. types: those of D, A, B and C, in the order of the name."""

    m: int
    n: int
    k: int
    types: tuple
    suffix: str = ""

    @property
    def shape(self):
        """The shape as PTX writes it."""
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def name(self):
        """The name: shape, the types of D, A, B and C, and .satfinite."""
        return ".".join((self.shape, *self.types)) + self.suffix

    def operands(self):
        """{operand: (rows, cols, dtype)}."""
        d, a, b, c = self.types
        return {"A": (self.m, self.k, a), "B": (self.k, self.n, b), "C": (self.m, self.n, c), "D": (self.m, self.n, d)}


_FP8 = tuple((a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2"))
_INT8 = tuple((a, b) for a in ("s8", "u8") for b in ("s8", "u8"))

FAMILIES = (
    # m, n, depths, (D and C, ...), ((A, B), ...), suffixes
    (16, 8, (8, 16), ("f32", "f16"), (("f16", "f16"),), ("",)),
    (16, 8, (8, 16), ("f32",), (("bf16", "bf16"),), ("",)),
    (16, 8, (4, 8), ("f32",), (("tf32", "tf32"),), ("",)),
    (16, 8, (16, 32), ("f32", "f16"), _FP8, ("",)),
    (16, 8, (16, 32), ("s32",), _INT8, ("", ".satfinite")),
    (8, 8, (16,), ("s32",), _INT8, ("", ".satfinite")),
    (8, 8, (4,), ("f64",), (("f64", "f64"),), ("",)),
    (16, 8, (4, 8, 16), ("f64",), (("f64", "f64"),), ("",)),
)
"""Which warp-level mma instructions exist (PTX ISA, table of mma shapes and types)."""

MMAS = {row.name: row for row in (
    Mma(m, n, k, (cd, a, b, cd), suffix)
    for m, n, depths, accumulators, inputs, suffixes in FAMILIES
    for k in depths for cd in accumulators for a, b in inputs for suffix in suffixes
)}


def _per_register(dtype):
    return max(1, 32 // BITS[dtype])


def _a(rows, per):
    """A of 16 rows: registers walk down 8 rows, then along k; of 8 rows: along k alone."""
    if rows == 8:
        return lambda lane, value: (lane // 4, per * (lane % 4) + value % per + 4 * per * (value // per))
    return lambda lane, value: (lane // 4 + 8 * (value // per % 2),
                                per * (lane % 4) + value % per + 4 * per * (value // (2 * per)))


def _b(per):
    """B: registers walk along k."""
    return lambda lane, value: (per * (lane % 4) + value % per + 4 * per * (value // per), lane // 4)


def _cd(lane, value):
    """C and D: two neighbours of a row, then the same 8 rows below."""
    return lane // 4 + 8 * (value // 2), 2 * (lane % 4) + value % 2


def _matrix(lane, value):
    """ldmatrix and stmatrix: two neighbours of a row of matrix value // 2."""
    return 8 * (value // 2) + lane // 4, 2 * (lane % 4) + value % 2


def _matrix_trans(lane, value):
    """The same of the transposed matrix: two neighbours of a column."""
    return 8 * (value // 2) + 2 * (lane % 4) + value % 2, lane // 4


def _mma_fragments():
    for mma in MMAS.values():
        source = _MMA_SOURCE.format(shape=mma.shape)
        for operand, (rows, cols, dtype) in mma.operands().items():
            per = _per_register(dtype)
            formula = {"A": _a(mma.m, per), "B": _b(per)}.get(operand, _cd)
            yield Fragment(mma.name, operand, (rows, cols), dtype, source, formula)


def _matrix_fragments():
    for op in ("ldmatrix", "stmatrix"):
        for count in (1, 2, 4):
            for suffix, formula in (("", _matrix), (".trans", _matrix_trans)):
                source = _MATRIX_SOURCE.format(op=op)
                yield Fragment(f"{op}.x{count}{suffix}", None, (8 * count, 8), "b16", source, formula)


FRAGMENTS = {(f.name, f.operand): f for rows in (_mma_fragments, _matrix_fragments) for f in rows()}
"""Every fragment, by (instruction, operand); the operand of ldmatrix and stmatrix is None."""


def fragment(name, operand=None):
    """The fragment of an operand ("A", "B", "C" or "D") of an mma, or of ldmatrix or stmatrix (no operand).

    mma names carry the types of D, A, B and C. Raises InstructionError naming what is known.

    >>> fragment("m16n8k16.f32.f16.f16.f32", "A")(lane=5, value=2)
    (9, 2)
    >>> fragment("m16n8k16.f32.f16.f16.f32", "B").shape, fragment("ldmatrix.x4.trans")(0, 1)
    ((16, 8), (1, 0))
    """
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
        raise InstructionError(f"unknown mma {name!r}; {_hint(name, MMAS)}")
    return MMAS[name]


def _unknown(name, operand):
    """The error line for a fragment that is not in the table."""
    operands = [o for n, o in FRAGMENTS if n == name]
    if operands == [None]:
        return f"{name} has one fragment and no operands; leave out {operand!r}"
    if operands:
        return f"{name} has no operand {operand!r}; it has {', '.join(operands)}"
    return f"no fragment known for {name!r}; {_hint(name, dict.fromkeys(n for n, _ in FRAGMENTS))}"


def _hint(name, names):
    """The names nearest to an unknown one, or else all their stems."""
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    stems = dict.fromkeys(n.split(".")[0] for n in names)
    return f"known are {', '.join(stems)}, written as in m16n8k16.f32.f16.f16.f32"
