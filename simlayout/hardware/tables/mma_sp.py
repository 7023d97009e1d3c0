"""Which mma.sp there are, as a table: their shapes, types, names, and which part of A they store; and what a wgmma.sp is
beside them."""

from dataclasses import dataclass

from simlayout.errors import InstructionError, brief
from simlayout.hardware.tables.mma import MmaShape, pairs


@dataclass(frozen=True)
class Pattern:
    """The part of a group of `columns` columns that is stored: `stored` units of `unit` neighbours each.

    codes: {indices of the stored units: the nibble}.
    """

    name: str
    columns: int
    unit: int
    stored: int
    codes: dict


_TWO_OF_FOUR = {(i, j): i | j << 2 for i in range(4) for j in range(i + 1, 4)}

PATTERNS = {p.name: p for p in (
    Pattern("2:4", 4, 1, 2, _TWO_OF_FOUR),
    Pattern("4:8", 8, 2, 2, _TWO_OF_FOUR),
    Pattern("1:2", 2, 1, 1, {(0,): 0b0100, (1,): 0b1110}),
)}
"""2:4 of 16- and 8-bit elements; 4:8 of 4-bit elements, stored in pairs; 1:2 of tf32 (PTX ISA, Sparse matrix storage)."""

_PATTERN_OF = {"tf32": "1:2", "s4": "4:8", "u4": "4:8"}


def pattern_of(dtype: str) -> Pattern:
    """The Pattern of an A with elements of a type.

    >>> pattern_of("f16").name, pattern_of("tf32").name
    ('2:4', '1:2')
    """
    return PATTERNS[_PATTERN_OF.get(dtype, "2:4")]


@dataclass(frozen=True)
class SparseMma(MmaShape):
    """A warp-level mma.sp: D = A B + C with A [m, k] stored as [m, k / 2]. types: those of D, A, B and C."""

    family = "mma.sp"
    threads = 32

    @property
    def name(self) -> str:
        """mma.sp, shape, the types of D, A, B and C, and .satfinite."""
        return ".".join(("mma.sp", self.shape, *self.types)) + self.suffix

    @property
    def opcode(self) -> str:
        """The instruction as PTX writes it, without operands; the indices of a nibble must ascend."""
        return f"mma.sp::ordered_metadata.sync.aligned.{self.shape}.row.col{self.suffix}.{'.'.join(self.types)}"

    @property
    def pattern(self) -> Pattern:
        """The Pattern of A."""
        return pattern_of(self.types[1])

    @property
    def groups(self) -> int:
        """Groups in a row of A: nibbles of metadata."""
        return self.k // self.pattern.columns

    @property
    def contributors(self) -> int:
        """Lanes of every four that bring metadata: as many as the 16 rows of a warp take, eight nibbles each."""
        return self.groups // 4

    @property
    def selectors(self) -> int:
        """Values of the sparsity selector, which says which lanes these are."""
        return 4 // self.contributors

    def check_selector(self, selector: int) -> int:
        """The sparsity selector, if the instruction has it; else raises InstructionError."""
        if selector not in range(self.selectors):
            raise InstructionError(f"{self.name} has sparsity selectors 0 to {self.selectors - 1}, not {brief(selector)}")
        return selector

    def operands(self) -> dict[str, tuple[int, int, str]]:
        """{operand: (rows, cols, dtype)}; A as it is stored."""
        d, a, b, c = self.types
        return {"A": (self.m, self.k // 2, a), "B": (self.k, self.n, b), "C": (self.m, self.n, c),
                "D": (self.m, self.n, d)}


@dataclass(frozen=True)
class SparseWgmma(SparseMma):
    """A wgmma.sp, whose warps bring metadata for 16 rows each, as the warp of an mma.sp does; C is its D."""

    family = "wgmma.sp"
    threads = 128

    @property
    def name(self) -> str:
        """wgmma.sp, shape, the types of D, A and B, and .satfinite."""
        return ".".join(("wgmma.sp", self.shape, *self.types[:3])) + self.suffix

    @property
    def opcode(self) -> str:
        """The instruction as PTX writes it, without operands."""
        return f"wgmma.mma_async.sp.sync.aligned.{self.shape}{self.suffix}.{'.'.join(self.types[:3])}"


FAMILIES = (
    # depths, (D and C, ...), ((A, B), ...), suffixes
    ((16, 32), ("f32", "f16"), (("f16", "f16"),), ("",)),
    ((16, 32), ("f32",), (("bf16", "bf16"),), ("",)),
    ((8, 16), ("f32",), (("tf32", "tf32"),), ("",)),
    ((64,), ("f32",), pairs("e4m3", "e5m2"), ("",)),
    ((32, 64), ("s32",), pairs("s8", "u8"), ("", ".satfinite")),
    ((64, 128), ("s32",), pairs("s4", "u4"), ("", ".satfinite")),
)
"""Which mma.sp there are, all m16n8 (PTX ISA, mma.sp; every row assembles for sm_90a)."""

SPARSE_MMAS = {row.name: row for row in (
    SparseMma(16, 8, k, (cd, a, b, cd), suffix)
    for depths, accumulators, inputs, suffixes in FAMILIES
    for k in depths for cd in accumulators for a, b in inputs for suffix in suffixes
)}
