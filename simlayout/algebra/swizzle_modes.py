"""TMA's swizzle modes as a table: what each does to an address, and the numbers by which tensor maps and wgmma know it."""

from dataclasses import dataclass

from simlayout.errors import LayoutError

CHUNK_BITS, ROWS_ABOVE = 4, 3
"""M and S of every mode in bytes: chunks of 2**4 bytes change places, by the bits 3 above theirs, which count rows of 128
bytes. PTX ISA, Tensor swizzling modes; measured: `simlayout.hardware.matrix.tma`."""


@dataclass(frozen=True)
class SwizzleMode:
    """A row of SWIZZLE_MODES.

    span: bytes within which chunks change places, 0 for none. bits: B of Swizzle<B,4,3>, in bytes. tensor_map: its
    CUtensorMapSwizzle. descriptor: bits 62-63 of a wgmma matrix descriptor, other numbers than those.

    >>> mode = SWIZZLE_MODES[128]
    >>> print(mode, hex(mode.mask), mode.period, mode.row)
    SWIZZLE_128B 0x70 1024 128
    """

    span: int
    bits: int
    tensor_map: int
    descriptor: int

    @property
    def mask(self) -> int:
        """The bits of a byte address that change."""
        return (1 << self.bits) - 1 << CHUNK_BITS

    @property
    def period(self) -> int:
        """Bytes after which the pattern repeats; without a swizzle the alignment that any box needs."""
        return 1 << self.bits + CHUNK_BITS + ROWS_ABOVE

    @property
    def row(self) -> int:
        """Bytes of the rows in which a wide box lies: the span, without a swizzle one chunk."""
        return self.span or 1 << CHUNK_BITS

    def __str__(self) -> str:
        return f"SWIZZLE_{self.span}B" if self.span else "SWIZZLE_NONE"


SWIZZLE_MODES = {mode.span: mode for mode in (
    SwizzleMode(0, 0, 0, 0),
    SwizzleMode(32, 1, 1, 3),
    SwizzleMode(64, 2, 2, 2),
    SwizzleMode(128, 3, 3, 1),
)}
"""Span in bytes -> mode. bits: PTX ISA, Tensor swizzling modes; tensor_map: cuda.h, CUtensorMapSwizzle; descriptor: PTX ISA,
wgmma, Matrix descriptor."""


def swizzle_mode(span, of: str = "") -> SwizzleMode:
    """The mode of a span in bytes. of: whose swizzle it is, for the LayoutError of a span that no mode has.

    >>> str(swizzle_mode(0))
    'SWIZZLE_NONE'
    >>> swizzle_mode(48, "tensor map")
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: tensor map: swizzle of 48 bytes; there are 0, 32, 64, 128
    """
    if span not in SWIZZLE_MODES:
        start = f"{of}: " if of else ""
        raise LayoutError(f"{start}swizzle of {span} bytes; there are {', '.join(map(str, SWIZZLE_MODES))}")
    return SWIZZLE_MODES[span]
