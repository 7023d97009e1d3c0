"""Which warp-level mma there are, as a table: their shapes, types and names."""

import re
from dataclasses import dataclass

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import InstructionError, brief
from simlayout.wording import nearest


def per_register(dtype):
    """Elements per register.

    >>> per_register("s4"), per_register("f64")
    (8, 1)
    """
    return max(1, 32 // TYPES[dtype].bits)


@dataclass(frozen=True)
class MmaShape:
    """What every m x n x k product has. types: those of D, A, B and C; suffix: what PTX adds, such as .satfinite."""

    m: int
    n: int
    k: int
    types: tuple
    suffix: str = ""

    @property
    def shape(self) -> str:
        """The shape as PTX writes it."""
        return f"m{self.m}n{self.n}k{self.k}"


@dataclass(frozen=True)
class Mma(MmaShape):
    """A warp-level mma: D = A B + C. types: those of D, A, B and C, in the order of the name."""

    family = "mma.sync"

    @property
    def name(self) -> str:
        """The name: shape, the types of D, A, B and C, and .satfinite, .xor.popc or .and.popc."""
        return ".".join((self.shape, *self.types)) + self.suffix

    @property
    def opcode(self) -> str:
        """The instruction as PTX writes it, without operands.

        >>> mma_of("m16n8k32.s32.s8.u8.s32.satfinite").opcode
        'mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32'
        """
        early, late = (self.suffix, "") if self.suffix == ".satfinite" else ("", self.suffix)
        return f"mma.sync.aligned.{self.shape}.row.col{early}.{'.'.join(self.types)}{late}"

    def operands(self) -> dict[str, tuple[int, int, str]]:
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
    def name(self) -> str:
        """m8n8k4, the layouts of A and B, the types of D, A, B and C."""
        return ".".join(("m8n8k4", *self.layouts, *self.types))

    @property
    def opcode(self) -> str:
        """The instruction as PTX writes it, without operands."""
        return f"mma.sync.aligned.{self.name}"

    def operands(self) -> dict[str, tuple[int, int, str]]:
        """{operand: (rows, cols, dtype)} of the stacks."""
        d, a, b, c = self.types
        return {"A": (32, 4, a), "B": (16, 8, b), "C": (32, 8, c), "D": (32, 8, d)}


def pairs(*types):
    """(type of A, type of B) of an mma that mixes these types.

    >>> pairs("s8", "u8")
    (('s8', 's8'), ('s8', 'u8'), ('u8', 's8'), ('u8', 'u8'))
    """
    return tuple((a, b) for a in types for b in types)


_FP8, _INT8, _INT4, _B1 = pairs("e4m3", "e5m2"), pairs("s8", "u8"), pairs("s4", "u4"), pairs("b1")
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


def mma_of(name: str) -> Mma:
    """The Mma row of a name; raises InstructionError naming what is known.

    >>> mma_of("m16n8k8.f32.tf32.tf32.f32").k
    8
    """
    found = MMAS.get(spelled(name, MMAS)) if isinstance(name, str) else None
    if found is None:
        raise InstructionError(f"unknown mma {brief(name)}; {hint(name, MMAS)}")
    return found


def spelled(name, names):
    """A name as PTX writes it, with its qualifiers, in the spelling that a table of names has; itself if it has none.

    >>> spelled("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", MMAS)
    'm16n8k8.f32.tf32.tf32.f32'
    """
    short = re.sub(_QUALIFIERS, "", str(name))
    return next((found for found in (name, short, short.replace(".row.col", "")) if found in names), name)


_QUALIFIERS = r"\.(sync|aligned)(?=\.)|::ordered_metadata|^mma\.(?:sync\.aligned\.)?(?=m\d)"
"""Of a name of PTX: what all instructions have, so that no name of a table says it."""


def hint(name, names, example="m16n8k16.f32.f16.f16.f32"):
    """The names nearest to an unknown one, or else all their stems and how they are written.

    >>> hint("m16n8k16", ["m16n8k16.s32.u8.u8.s32", "m16n8k16.f32.f16.f16.f32"])
    'did you mean m16n8k16.f32.f16.f16.f32 or m16n8k16.s32.u8.u8.s32?'
    """
    stems = dict.fromkeys(re.match(r"v_[a-z]+|[^.]*", known)[0] for known in names)
    short = re.sub(_QUALIFIERS, "", str(name)).replace(".row.col", "")
    first = short.split(".")[0]
    stem = first if first in stems else next(iter(nearest(name, stems, cutoff=0.8)), None)
    near = (nearest(example, [known for known in names if stem and known.startswith(f"{stem}.")], 3, 0)
            or nearest(short, names, 3, 0.5))
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(stems)}, written as in {example}"
