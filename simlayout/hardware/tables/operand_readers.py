"""What reads its operands from shared memory through 64-bit descriptors, as a table: wgmma and tcgen05.mma."""

from dataclasses import dataclass

from simlayout.algebra.swizzle_modes import ATOM_32B
from simlayout.errors import InstructionError, brief
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tcgen05 import HAVE_TCGEN05


@dataclass(frozen=True)
class Bits:
    """Where a field lies in a word: `size` bits from bit `low` on.

    >>> print(Bits(46, 3), Bits(52, 1), Bits(46, 3).of(1 << 46 | 1 << 49), hex(Bits(4, 2).put(3)))
    bits 46-48 bit 52 1 0x30
    """

    low: int
    size: int

    @property
    def mask(self) -> int:
        """The field's bits in the word."""
        return (1 << self.size) - 1 << self.low

    def of(self, word: int) -> int:
        """The field's value in a word."""
        return (word & self.mask) >> self.low

    def put(self, value: int) -> int:
        """A word with the value in this field alone."""
        return value << self.low

    def __str__(self) -> str:
        return f"bits {self.low}-{self.low + self.size - 1}" if self.size > 1 else f"bit {self.low}"


ADDRESS, LEADING, STRIDE, BASE_OFFSET = Bits(0, 14), Bits(16, 14), Bits(32, 14), Bits(49, 3)
"""The fields that all descriptors have in one place. The first three are in units of 16 bytes."""

CONSTANT = Bits(46, 3)
"""The field that tells descriptors apart."""


@dataclass(frozen=True)
class OperandReader:
    """A row of READERS.

    name: as `reader=` takes it. arches: those that have the instruction. constant: what its descriptors have in bits
    46-48. swizzle: where they have the swizzle mode; the number of each is in `simlayout.algebra.swizzle_modes`. absolute:
    the bit that makes the leading offset an address, None where there is none. types: (element type, the orders that it may
    lie in). atom_32b: the (type, order) that take ATOM_32B, and no other swizzle. source: of all that.
    """

    name: str
    arches: tuple
    constant: int
    swizzle: Bits
    absolute: Bits | None
    types: tuple
    atom_32b: tuple
    source: Provenance

    @property
    def arch(self) -> str:
        """The first architecture that has it."""
        return self.arches[0]

    def majors(self, dtype: str) -> tuple[str, ...]:
        """The orders in which it takes a type, () for one that it does not have."""
        return dict(self.types).get(dtype, ())

    @property
    def fields(self) -> tuple[Bits, ...]:
        """All fields of its descriptors; other bits are 0."""
        more = () if self.absolute is None else (self.absolute,)
        return (ADDRESS, LEADING, STRIDE, CONSTANT, BASE_OFFSET, *more, self.swizzle)

    @property
    def reserved(self) -> int:
        """The bits that are in no field."""
        return (1 << 64) - 1 & ~sum(field.mask for field in self.fields)


_EITHER, _K = ("K", "MN"), ("K",)


def _types(either, k):
    return tuple((dtype, _EITHER) for dtype in either) + tuple((dtype, _K) for dtype in k)


READERS = {row.name: row for row in (
    OperandReader(
        "wgmma", ("sm_90",), 0, Bits(62, 2), None, _types(("f16", "bf16"), ("tf32", "e4m3", "e5m2", "s8", "u8")), (),
        Provenance("documented", "PTX ISA, wgmma.mma_async: Matrix descriptor; imm-trans-a and imm-trans-b are for types "
                   "of 16 bits")),
    OperandReader(
        "tcgen05", HAVE_TCGEN05, 1, Bits(61, 3), Bits(52, 1),
        _types(("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"), ()), (("tf32", "MN"),),
        Provenance("documented", "PTX ISA, tcgen05: Shared memory descriptor; CUTLASS, mma_sm100_desc.hpp, whose "
                   "UMMA::InstrDescriptor says which types may be MN-major, and sm100_common.inl, which has MN-major tf32 "
                   "with atoms of 32 bytes alone")),
)}
"""Name -> OperandReader. e2m1, e2m3 and e3m2 of tcgen05's kind::f8f6f4 lie 16 to each 16 bytes, as e4m3 does; those of
kind::mxf4 lie 32 to each 16 bytes."""


def operand_reader(name: str) -> OperandReader:
    """The row of a name; InstructionError for others.

    >>> operand_reader("tcgen05").arch
    'sm_100'
    """
    if name not in READERS:
        raise InstructionError(f"no reader {brief(name)} of operands in shared memory; there are {', '.join(READERS)}")
    return READERS[name]


def takes_swizzle(reader: OperandReader, dtype: str, major: str, swizzle: int | str) -> bool:
    """Whether an operand of a type, in an order, may have a swizzle.

    >>> [takes_swizzle(READERS["tcgen05"], "tf32", "MN", swizzle) for swizzle in (128, ATOM_32B)]
    [False, True]
    """
    return (swizzle == ATOM_32B) == ((dtype, major) in reader.atom_32b)
