"""The sparse A of tcgen05.mma.sp: half of K is stored, and metadata in tensor memory says which half.

A row of A falls into groups, and half of each is stored: `simlayout.hardware.matrix.sparse` has the patterns and the codes,
four bits to a group, which are those of mma.sp. A in shared memory is the tile of a dense instruction with half of K, so an
`OperandTile` has its descriptors. Where the four bits of each group lie in TMEM is here; nothing of it was measured.
"""

from dataclasses import dataclass

from simlayout.arguments import typed
from simlayout.errors import InstructionError, require_ints
from simlayout.hardware.matrix.tmem import TMEM_LANES
from simlayout.hardware.tables.mma_sp import PATTERNS, Pattern
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tcgen05 import Kind, kind_of

SOURCE = Provenance("documented", "CUTLASS, tmem_e_frg and tmem_e_frg_ws, to which it is equal; PTX ISA, tcgen05: Sparse "
                    "Matrices, whose text has patterns and codes, and pictures of the layout")

PATTERN_OF = {"tf32": PATTERNS["1:2"], "mxf4": PATTERNS["4:8"], "mxf4nvf4": PATTERNS["4:8"]}
"""Kind -> its Pattern; other kinds have 2:4 (PTX ISA, tcgen05: Sparse Matrices)."""

INTERLEAVED = "f16", "tf32"
"""Kinds whose metadata fill one column: eight rows and the next eight share lanes, and the halves of K lie 8 lanes apart."""

GROUP_BITS, COLUMN_BITS = 4, 32


@typed(InstructionError)
@dataclass(frozen=True)
class MetadataInTmem:
    """Where tcgen05.mma.sp reads the metadata of A: (row of the CTA, group along K) -> its places.

    kind: as in KINDS. rows: of A in the CTA: 128, with .ws also 64 and 32, which lie in the lanes again for the other parts
    of N. source: the Provenance of the map. InstructionError for others: of 64 rows without .ws PTX has a picture alone.

    >>> metadata = MetadataInTmem("f16")
    >>> metadata.groups, metadata.columns, metadata(row=9, group=5)
    (8, 1, ((9, 0, 20),))
    >>> MetadataInTmem("f8f6f4")(9, 20)                            # of the second instruction, which has columns 2 and 3
    ((9, 2, 16),)
    """

    kind: str
    rows: int = 128
    ws: bool = False
    source: Provenance = SOURCE

    def __post_init__(self):
        require_ints(InstructionError, "metadata in TMEM", rows=self.rows)
        scaled = self.row.scaled
        allowed = () if self.ws and scaled else (32, 64, 128) if self.ws else (128,)
        if self.rows not in allowed:
            raise InstructionError(f"tcgen05.mma.sp.kind::{self.row.name}{' with .ws' * self.ws}: metadata of {self.rows} "
                                   f"rows in a CTA; known is {', '.join(map(str, allowed)) or 'none'}")

    @property
    def row(self) -> Kind:
        """What the table says of its kind."""
        return kind_of(self.kind)

    @property
    def pattern(self) -> Pattern:
        """Which part of a group is stored."""
        return PATTERN_OF.get(self.row.name, PATTERNS["2:4"])

    @property
    def groups(self) -> int:
        """Groups along K of an instruction."""
        return self.row.k_of("sparse") // self.pattern.columns

    @property
    def columns(self) -> int:
        """Columns of TMEM that the metadata of an instruction take."""
        return 1 if self.row.name in INTERLEAVED else 2

    def selector(self, step: int) -> int:
        """The sparsity selector of the step'th instruction along K: which column of a pair has its metadata, where they take
        one; else 0. The address that the instruction is given is that of the pair."""
        return step % 2 if self.columns == 1 else 0

    def __call__(self, row: int, group: int) -> tuple:
        """((lane, column, first bit of the column), ...): the places of a group's four bits, all of which have to hold them;
        groups count on from one instruction to the next. InstructionError outside."""
        require_ints(InstructionError, "metadata in TMEM", row=row, group=group)
        if not 0 <= row < self.rows or group < 0:
            raise InstructionError(f"no group {group} of row {row}: there are {self.rows} rows")
        step, inside = divmod(group, self.groups)
        if self.columns == 1:
            half, nibble = divmod(inside, self.groups // 2)
            lane, bit = row % 8 + 8 * half + 16 * (row // 16), 16 * (row // 8 % 2) + GROUP_BITS * nibble
        else:
            lane, bit = row, GROUP_BITS * inside
        column = self.columns * step + bit // COLUMN_BITS
        return tuple((lane + start, column, bit % COLUMN_BITS) for start in range(0, TMEM_LANES, self.rows))
