"""The 64-bit descriptor by which wgmma and tcgen05.mma find an operand in shared memory: one scheme, two rows.

It holds a start address, two byte offsets, a swizzle mode and a base offset (PTX ISA: Matrix descriptor of wgmma; Shared
memory descriptor of tcgen05). `simlayout.hardware.tables.operand_readers` says where each reader has them, and
`operand_tile` what a reader makes of them.
"""

from dataclasses import dataclass

from simlayout.algebra.swizzle_modes import EVERY_MODE, SwizzleMode, swizzle_mode
from simlayout.arguments import typed
from simlayout.errors import LayoutError, require_ints
from simlayout.hardware.tables.operand_readers import (
    ADDRESS,
    BASE_OFFSET,
    CONSTANT,
    LEADING,
    READERS,
    STRIDE,
    OperandReader,
    operand_reader,
)

UNIT = 16
"""Bytes that addresses and offsets are counted in."""

LIMIT = UNIT << ADDRESS.size
"""Bytes below which addresses and offsets lie."""


@typed(LayoutError, own=("swizzle",))
@dataclass(frozen=True)
class Descriptor:
    """A matrix descriptor; all in bytes. leading, stride: the leading and stride dimension byte offsets (LBO, SBO), whose
    meaning depends on the layout (`operand_addresses`); swizzle: 0, 32, 64 or 128, or "128B_ATOM_32B" of tcgen05;
    base_offset: 0 where the pattern starts on its period, else bits 7 to 9 of where it starts. reader: "wgmma" or
    "tcgen05". absolute: `leading` is an address, that of the next tile, as for the 48 bytes of K of sm_103.

    Raises LayoutError for what the fields cannot hold.

    >>> hex(Descriptor(0x400, 16, 1024, 128).encode()), Descriptor.decode(0x4000004000010040).stride
    ('0x4000004000010040', 1024)
    >>> hex(Descriptor(0x400, 16, 1024, 128, reader="tcgen05").encode())
    '0x4000404000010040'
    """

    address: int
    leading: int
    stride: int
    swizzle: int | str
    base_offset: int = 0
    reader: str = "wgmma"
    absolute: bool = False

    def __post_init__(self):
        for name in ("address", "leading", "stride"):
            value = getattr(self, name)
            require_ints(LayoutError, f"{self.reader} descriptor", **{name: value})
            if value % UNIT or not 0 <= value < LIMIT:
                raise LayoutError(f"{self.reader} descriptor: {name} {value} bytes; it must be a multiple of {UNIT} below "
                                  "2**18")
        if self.base_offset not in range(1 << BASE_OFFSET.size):
            raise LayoutError(f"{self.reader} descriptor: base offset {self.base_offset}; it has {BASE_OFFSET.size} bits")
        if _number(self.mode, self.row) is None:
            raise LayoutError(f"{self.reader} descriptor: it has no {self.mode.words}")
        if self.absolute and self.row.absolute is None:
            raise LayoutError(f"{self.reader} descriptor: its leading offset is never an address")

    @property
    def row(self) -> OperandReader:
        """What the table says of its reader."""
        return operand_reader(self.reader)

    @property
    def mode(self) -> SwizzleMode:
        """What the table says of its swizzle."""
        return swizzle_mode(self.swizzle, f"{self.reader} descriptor")

    def encode(self) -> int:
        """The 64 bits."""
        row, number = self.row, _number(self.mode, self.row)
        absolute = row.absolute.put(1) if self.absolute and row.absolute else 0
        return (ADDRESS.put(self.address // UNIT) | LEADING.put(self.leading // UNIT) | STRIDE.put(self.stride // UNIT)
                | CONSTANT.put(row.constant) | BASE_OFFSET.put(self.base_offset) | absolute | row.swizzle.put(number or 0))

    @classmethod
    @typed(LayoutError)
    def decode(cls, bits: int, reader: str = "wgmma") -> "Descriptor":
        """The Descriptor of 64 bits. Raises LayoutError for what is none of the reader's, naming every fault.

        >>> Descriptor.decode(0x4000004000010040, "tcgen05")
        Traceback (most recent call last):
        ...
        simlayout.errors.LayoutError: no tcgen05 descriptor: bits 46-48 are 0, not 1
        """
        if faults := illegal(bits, reader):
            raise LayoutError(f"no {reader} descriptor: {'; '.join(faults)}")
        row = operand_reader(reader)
        swizzle = next(key for key, mode in EVERY_MODE.items() if _number(mode, row) == row.swizzle.of(bits))
        absolute = row.absolute is not None and row.absolute.of(bits) == 1
        return cls(ADDRESS.of(bits) * UNIT, LEADING.of(bits) * UNIT, STRIDE.of(bits) * UNIT, swizzle, BASE_OFFSET.of(bits),
                   reader, absolute)


def illegal(bits: int, reader: str) -> list[str]:
    """What keeps 64 bits from being a reader's descriptor, a sentence for each fault.

    >>> illegal(0x4000404000010040, "tcgen05"), illegal(0x4000404000010040, "wgmma")
    ([], ['bits 46-48 are 1, not 0'])
    """
    row = operand_reader(reader)
    require_ints(LayoutError, f"{reader} descriptor", bits=bits)
    if not 0 <= bits < 1 << 64:
        return [f"{bits:#x} does not fit in 64 bits"]
    faults = []
    if CONSTANT.of(bits) != row.constant:
        faults.append(f"{CONSTANT} are {CONSTANT.of(bits)}, not {row.constant}")
    if extra := bits & row.reserved:
        faults.append(f"reserved bits are set: {', '.join(str(i) for i in range(64) if extra >> i & 1)}")
    numbers = {_number(mode, row) for mode in EVERY_MODE.values()}
    if row.swizzle.of(bits) not in numbers:
        faults.append(f"{row.swizzle} are {row.swizzle.of(bits)}, which is no swizzle mode")
    return faults


def readers_of(bits: int) -> list[str]:
    """The readers whose descriptor 64 bits can be. Bits 46-48 differ, so there is one at most.

    >>> readers_of(0x4000404000010040), readers_of(0x4000004000010040), readers_of(0xFFFFFFFFFFFFFFFF)
    (['tcgen05'], ['wgmma'], [])
    """
    return [name for name in READERS if not illegal(bits, name)]


def _number(mode, row):
    """The number of a swizzle mode in a reader's descriptors; None where it has none."""
    return getattr(mode, row.name)
