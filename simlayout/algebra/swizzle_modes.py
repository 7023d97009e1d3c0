"""TMA's swizzle modes as a table: what each does to an address, and the numbers by which tensor maps and descriptors know
it."""

from dataclasses import dataclass

from simlayout.errors import LayoutError

CHUNK_BITS, ROWS_ABOVE = 4, 3
"""M and S of the modes of SWIZZLE_MODES in bytes: chunks of 2**4 bytes change places, by the bits 3 above theirs, which
count rows of 128 bytes. PTX ISA, Tensor swizzling modes; measured: `simlayout.hardware.matrix.tma`."""


@dataclass(frozen=True)
class SwizzleMode:
    """A row of SWIZZLE_MODES, or ATOM_32B's.

    span: bytes within which chunks change places, 0 for none. bits: B of Swizzle<B,M,S>, in bytes. tensor_map: its
    CUtensorMapSwizzle. wgmma, tcgen05: its number in their matrix descriptors, None where they have none. chunk_bits: M, 4
    where chunks of 16 bytes change places.

    >>> mode = SWIZZLE_MODES[128]
    >>> print(mode, hex(mode.mask), mode.period, mode.row)
    SWIZZLE_128B 0x70 1024 128
    """

    span: int
    bits: int
    tensor_map: int
    wgmma: int | None
    tcgen05: int
    chunk_bits: int = CHUNK_BITS

    @property
    def mask(self) -> int:
        """The bits of a byte address that change."""
        return (1 << self.bits) - 1 << self.chunk_bits

    @property
    def shift(self) -> int:
        """S: how far above the bits that change those lie by which they change. The lowest of these counts 128 bytes."""
        return CHUNK_BITS + ROWS_ABOVE - self.chunk_bits

    @property
    def period(self) -> int:
        """Bytes after which the pattern repeats; without a swizzle the alignment that any box needs."""
        return 1 << self.bits + CHUNK_BITS + ROWS_ABOVE

    @property
    def row(self) -> int:
        """Bytes of the rows in which a wide box lies: the span, without a swizzle one chunk."""
        return self.span or 1 << self.chunk_bits

    @property
    def words(self) -> str:
        """What a sentence calls it.

        >>> SWIZZLE_MODES[0].words, SWIZZLE_MODES[64].words, swizzle_mode(ATOM_32B).words
        ('no swizzle', '64-byte swizzle', '128-byte swizzle of 32-byte atoms')
        """
        if not self.span:
            return "no swizzle"
        atoms = "" if self.chunk_bits == CHUNK_BITS else f" of {1 << self.chunk_bits}-byte atoms"
        return f"{self.span}-byte swizzle{atoms}"

    def __str__(self) -> str:
        atoms = "" if self.chunk_bits == CHUNK_BITS else f"_ATOM_{1 << self.chunk_bits}B"
        return f"SWIZZLE_{self.span}B{atoms}" if self.span else "SWIZZLE_NONE"


SWIZZLE_MODES = {mode.span: mode for mode in (
    SwizzleMode(0, 0, 0, 0, 0),
    SwizzleMode(32, 1, 1, 3, 6),
    SwizzleMode(64, 2, 2, 2, 4),
    SwizzleMode(128, 3, 3, 1, 2),
)}
"""Span in bytes -> mode. bits: PTX ISA, Tensor swizzling modes; tensor_map: cuda.h, CUtensorMapSwizzle; wgmma, tcgen05: PTX
ISA, Matrix descriptor of wgmma, and Shared memory descriptor of tcgen05."""

ATOM_32B = "128B_ATOM_32B"
"""The name of the fifth mode, which only Blackwell has: 32 bytes change places within 128, Swizzle<2,5,2> (cuda.h since
CUDA 12.8; PTX ISA, 128-Byte swizzling with 32B atomicity; CUTLASS, Layout_MN_SW128_32B_Atom)."""

EVERY_MODE = dict[int | str, SwizzleMode]([*SWIZZLE_MODES.items(), (ATOM_32B, SwizzleMode(128, 2, 4, None, 1, 5))])
"""SWIZZLE_MODES and ATOM_32B, by what `swizzle=` is elsewhere."""


def swizzle_mode(span: int | str, of: str = "") -> SwizzleMode:
    """The mode of a span in bytes, or ATOM_32B's. of: whose swizzle it is, for the LayoutError of one that there is not.

    >>> str(swizzle_mode(0))
    'SWIZZLE_NONE'
    >>> swizzle_mode(48, "tensor map")
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: tensor map: swizzle of 48 bytes; there are 0, 32, 64, 128, 128B_ATOM_32B
    """
    if not isinstance(span, int | str) or span not in EVERY_MODE:
        start = f"{of}: " if of else ""
        raise LayoutError(f"{start}swizzle of {span} bytes; there are {', '.join(map(str, EVERY_MODE))}")
    return EVERY_MODE[span]
