"""Tensor memory of Blackwell (TMEM): its addresses, and who holds what of it: tcgen05.ld and st, mma's accumulators, cp.

TMEM is 128 lanes of 512 columns of 32 bits, 256 kB for an SM (PTX ISA, Tensor Memory). A lane here is one of these, never a
thread. Nothing of it was measured here: every map is PTX ISA's and equal to CUTLASS's (`tests/oracles/test_blackwell.py`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import AddressError, InstructionError, brief, require_ints
from simlayout.hardware.matrix.fragments_base import Fragment
from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tcgen05 import check_shape

TMEM_LANES, TMEM_COLUMNS = 128, 512
"""Lanes and columns, each of 32 bits, of an SM (PTX ISA, Tensor Memory Addressing)."""

WARP_LANES = LANES
"""Lanes that a warp reaches with tcgen05.ld and st: warp w those from 32 (w % 4) on (PTX ISA, Access restrictions)."""

SOURCE = Provenance("documented", "PTX ISA, tcgen05: Data Movement Shape; equal to CUTLASS's copy_traits_sm100.hpp")
ACCUMULATOR_SOURCE = Provenance("documented", "PTX ISA, tcgen05: Data Path Layout Organization; but for C equal to "
                                "CUTLASS's tmem_frg and tmem_frg_ws")
COPY_SOURCE = Provenance("documented", "PTX ISA, tcgen05.cp; equal to CUTLASS's SM100_UTCCP traits")
"""Of tcgen05.ld and st, of the accumulators, and of tcgen05.cp."""


# ---- addresses and allocation -------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class TmemAddress:
    """A 32-bit address: the lane in bits 16-31, the column in bits 0-15. AddressError outside of the memory.

    >>> hex(TmemAddress(32, 256).encode()), TmemAddress.decode(0x00600010)
    ('0x200100', TmemAddress(lane=96, column=16))
    """

    lane: int
    column: int

    def __post_init__(self):
        require_ints(AddressError, "TMEM address", lane=self.lane, column=self.column)
        if not (0 <= self.lane < TMEM_LANES and 0 <= self.column < TMEM_COLUMNS):
            raise AddressError(f"TMEM address of lane {self.lane}, column {self.column}: there are {TMEM_LANES} lanes of "
                               f"{TMEM_COLUMNS} columns")

    def encode(self) -> int:
        """The 32 bits."""
        return self.lane << 16 | self.column

    @classmethod
    @typed(AddressError)
    def decode(cls, bits: int) -> "TmemAddress":
        """The TmemAddress of 32 bits."""
        require_ints(AddressError, "TMEM address", bits=bits)
        return cls(bits >> 16, bits & 0xFFFF)


@typed(InstructionError)
def tmem_allocation(columns: int) -> int:
    """The fewest columns that tcgen05.alloc gives to hold so many: a power of two, 32 to 512.

    A CTA's allocations together have at most 512; an alloc that does not fit waits. One whole warp allocates, and
    deallocates as many (PTX ISA, tcgen05.alloc). InstructionError for none or more than 512.

    >>> tmem_allocation(8), tmem_allocation(200), tmem_allocation(512)
    (32, 256, 512)
    """
    require_ints(InstructionError, "tcgen05.alloc", columns=columns)
    if not 1 <= columns <= TMEM_COLUMNS:
        raise InstructionError(f"tcgen05.alloc of {columns} columns: it gives 32, 64, 128, 256 or 512")
    return max(32, 1 << (columns - 1).bit_length())


# ---- tcgen05.ld and st --------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class TmemFragment(Fragment):
    """A Fragment whose (row, col) are a lane, from the address's on, and a column. words: registers of a thread."""

    words: int = 0

    @cached_property
    def values(self) -> int:
        """Elements per thread."""
        return self.words * self.per_register


@dataclass(frozen=True)
class TmemShape:
    """A row of TMEM_SHAPES: lanes that the shape has; registers of each thread for .x1, and the largest N of .xN; place:
    (thread, register) -> (lane, column)."""

    lanes: int
    registers: int
    most: int
    place: Callable = field(compare=False)

    @property
    def columns(self) -> int:
        """Columns of .x1: those of all registers, spread over the lanes."""
        return 32 * self.registers // self.lanes


TMEM_SHAPES = {
    "32x32b": TmemShape(32, 1, 128, lambda t, r: (t, r)),
    "16x64b": TmemShape(16, 1, 128, lambda t, r: (t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2)),
    "16x128b": TmemShape(16, 2, 64, lambda t, r: (t // 4 + 8 * (r % 2), t % 4 + 4 * (r // 2))),
    "16x256b": TmemShape(16, 4, 32, lambda t, r: (t // 4 + 8 * (r // 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r // 4))),
    "16x32bx2": TmemShape(16, 1, 128, lambda t, r: (t % 16, r)),
}
"""The shapes of tcgen05.ld and st. Of 16x32bx2 threads 16 to 31 have columns further on: `tmem_fragment`'s split."""


_NAME = re.compile(r"tcgen05\.(?:ld(?!.*unpack)|st(?!.*\.pack))\.(?P<shape>\w+)\.x(?P<times>[0-9]{1,3})"
                   r"(?P<halves>\.(?:un)?pack::16b)?")
"""Names of loads and stores: loads pack, stores unpack."""


def tmem_fragment(name: str, split: int | None = None) -> TmemFragment:
    """What each thread of a warp holds of TMEM: (thread, value) -> (lane from the address's on, column).

    name: "tcgen05.ld.16x256b.x2", also "tcgen05.st...", with ".pack::16b" (of st ".unpack::16b") where registers hold the
    low halves of two columns. split: of 16x32bx2, by how many columns threads 16 to 31 are further on (PTX's
    immHalfSplitoff); None: right behind the others. Raises InstructionError for others.

    >>> tmem_fragment("tcgen05.ld.16x256b.x1")(5, 3), tmem_fragment("tcgen05.ld.32x32b.x8").registers
    ((9, 3), 8)
    >>> tmem_fragment("tcgen05.ld.16x64b.x1.pack::16b").coordinates()[4].tolist()
    [[1, 0], [1, 1]]
    """
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    row = match and TMEM_SHAPES.get(match["shape"])
    if not match or row is None:
        raise InstructionError(f"no fragment known for {brief(name)}: write tcgen05.ld or tcgen05.st, one of "
                               f"{', '.join(TMEM_SHAPES)}, and xN, as in tcgen05.ld.32x32b.x8")
    n, each, halved = int(match["times"]), 2 if match["halves"] else 1, match["shape"] == "16x32bx2"
    if n & (n - 1) or not 1 <= n <= row.most:
        raise InstructionError(f"{name}: {match['shape']} has .x1 to .x{row.most}, powers of two")
    if split is not None:
        require_ints(InstructionError, name, split=split)
        if not halved or not 0 <= split <= TMEM_COLUMNS - each * n:
            raise InstructionError(f"{name}: a split is of 16x32bx2, not negative, and leaves its columns below "
                                   f"{TMEM_COLUMNS}")
    apart = (each * n if split is None else split) if halved else 0
    width = apart + each * n if halved else each * n * row.columns

    def place(thread, value):
        lane, column = row.place(thread, value // each)
        return lane, each * column + value % each + thread // 16 * apart

    dtype, words = "b16" if each == 2 else "b32", n * row.registers
    return TmemFragment(name, None, (row.lanes, width), dtype, SOURCE, place, words=words)


# ---- accumulators of tcgen05.mma ----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class DataPath:
    """A row of DATA_PATHS, one of PTX's Data Path Layout Organizations: of M rows by `ctas` CTAs, with .ws or not. sparse:
    None where it does not matter. parts: into how many parts N is divided, side by side in the lanes; each has N / parts
    columns. scattered: 16 rows lie in each 32 lanes, and 16 lanes stay free."""

    letter: str
    m: int
    ctas: int
    ws: bool = False
    sparse: bool | None = None
    parts: int = 1
    scattered: bool = False

    def __call__(self, m, n, width: int):
        """(CTA, lane, column) of accumulator (m, n), ints or arrays, of a width of N = width."""
        rows, columns = self.m // self.ctas, width // self.parts
        inside = m % rows
        lane = 32 * (inside // 16) + inside % 16 if self.scattered else inside + rows * (n // columns)
        return m // rows, lane, n % columns


DATA_PATHS = (
    DataPath("A", 256, 2),
    DataPath("B", 128, 2, sparse=False, parts=2),
    DataPath("C", 128, 2, sparse=True, scattered=True),
    DataPath("D", 128, 1),
    DataPath("D", 128, 1, ws=True),
    DataPath("E", 64, 1, ws=True, parts=2),
    DataPath("F", 64, 1, scattered=True),
    DataPath("G", 32, 1, ws=True, parts=4),
)
"""Every organization, in the order of the letters; ACCUMULATOR_SOURCE says who has them so."""


@dataclass(frozen=True)
class Accumulator:
    """Where tcgen05.mma of M x N puts D: (m, n) -> (CTA of the pair, lane, column). An element has a column of 32 bits, be
    it f32, f16 or s32.

    source: the Provenance of the map.

    >>> made = accumulator(64, 256)
    >>> made.letter, made.columns, made(17, 5), made.source.kind
    ('F', 256, (0, 33, 5), 'documented')
    """

    path: DataPath
    n: int
    source: Provenance = ACCUMULATOR_SOURCE

    @property
    def letter(self) -> str:
        """PTX's letter of its organization."""
        return self.path.letter

    @property
    def columns(self) -> int:
        """Columns that it takes in each CTA."""
        return self.n // self.path.parts

    def __call__(self, m, n):
        """(CTA, lane, column) of element (m, n), ints or arrays; InstructionError outside."""
        given = m, n
        try:
            m, n = (np.asarray(index) for index in given)
        except ValueError:                               # lists of lists of different lengths
            m = n = np.empty(0)
        if any(index.dtype.kind not in "iu" or not index.size for index in (m, n)):
            raise InstructionError(f"an accumulator's elements are named by integers, not {given!r}")
        if not (np.min(m) >= 0 and np.max(m) < self.path.m and np.min(n) >= 0 and np.max(n) < self.n):
            raise InstructionError(f"an accumulator of {self.path.m} x {self.n} has no element {given!r}")
        return self.path(*(int(index) if index.ndim == 0 else index.astype(np.int64) for index in (m, n)), self.n)

    def places(self) -> np.ndarray:
        """int64 [M, N, 3]: (CTA, lane, column) of every element."""
        m, n = np.meshgrid(np.arange(self.path.m), np.arange(self.n), indexing="ij")
        return np.stack(self.path(m, n, self.n), axis=-1)


@typed(InstructionError)
def accumulator(m: int, n: int, ctas: int = 1, ws: bool = False, sparse: bool = False, kind: str = "f16") -> Accumulator:
    """The Accumulator of a tcgen05.mma of M x N by 1 or 2 CTAs, with .ws or not, sparse or not, of a kind.

    Raises InstructionError for a shape that the kind does not have.

    >>> accumulator(128, 64, ctas=2)(65, 40)
    (1, 65, 8)
    """
    check_shape(kind, m, n, ctas, ws, "sparse" if sparse else "dense")
    path = next(p for p in DATA_PATHS if (p.m, p.ctas, p.ws) == (m, ctas, ws) and p.sparse in (None, sparse))
    return Accumulator(path, n)


# ---- tcgen05.cp ---------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class TmemCopy:
    """A row of TMEM_COPIES: rows that are copied from shared memory, and bytes of each; lanes: a row -> the lanes that it
    goes to. Byte b of a row goes to byte b % 4 of column b // 4 (from the address's on)."""

    rows: int
    bytes: int
    lanes: Callable = field(compare=False)

    def __call__(self, row: int, byte: int) -> tuple:
        """((lane, column, byte of the column), ...): the places of one byte; AddressError outside."""
        require_ints(AddressError, "tcgen05.cp", row=row, byte=byte)
        if not (0 <= row < self.rows and 0 <= byte < self.bytes):
            raise AddressError(f"tcgen05.cp of {self.rows} rows of {self.bytes} bytes has no row {row}, byte {byte}")
        return tuple((lane, byte // 4, byte % 4) for lane in self.lanes(row))


TMEM_COPIES = {
    "128x256b": TmemCopy(128, 32, lambda row: (row,)),
    "128x128b": TmemCopy(128, 16, lambda row: (row,)),
    "4x256b": TmemCopy(4, 32, lambda row: (32 * row,)),
    "32x128b.warpx4": TmemCopy(32, 16, lambda row: tuple(row + 32 * i for i in range(4))),
    "64x128b.warpx2::02_13": TmemCopy(64, 16, lambda row: (row, row + 64)),
    "64x128b.warpx2::01_23": TmemCopy(64, 16, lambda row: (row % 32 + 64 * (row // 32), row % 32 + 64 * (row // 32) + 32)),
}
"""The shapes of tcgen05.cp; COPY_SOURCE says who has them so. Of 4x256b CUTLASS's layout says that row i goes to lane 32 i;
a comment there calls them the last four lanes of each 32."""


def tmem_copy(shape: str) -> TmemCopy:
    """The TmemCopy of a shape of tcgen05.cp, as PTX writes it; InstructionError for others.

    >>> tmem_copy("32x128b.warpx4")(5, 6)
    ((5, 1, 2), (37, 1, 2), (69, 1, 2), (101, 1, 2))
    """
    if not isinstance(shape, str) or shape not in TMEM_COPIES:
        raise InstructionError(f"tcgen05.cp has no shape {shape!r}; it has {', '.join(TMEM_COPIES)}")
    return TMEM_COPIES[shape]
