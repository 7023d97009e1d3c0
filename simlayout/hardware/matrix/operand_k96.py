"""Operands of sm_103's tcgen05.mma with 96 of K: 48 bytes of e2m1 to each instruction, which cross from buffer to buffer.

96 elements of 4 bits are 48 bytes, and rows of 128 bytes are no multiple of them. So 768 elements of K lie in three buffers,
each rows of 128 bytes with a 128-byte swizzle as TMA writes them, and 8 instructions read 48 bytes each. Where one reaches
the end of a row, it goes on at the start of that row in the next buffer, whose address is the leading offset of its
descriptor. Source: CUTLASS, SM103_MXF4_ULTRA and sm103_blockscaled_mma_warpspecialized.hpp. Nothing of it was measured here.
"""

from dataclasses import dataclass

import numpy as np

from simlayout.algebra.swizzle_modes import SWIZZLE_MODES
from simlayout.arguments import typed
from simlayout.errors import AddressError, LayoutError, VerificationError, brief, require_ints
from simlayout.hardware.matrix.descriptor import LIMIT, Descriptor
from simlayout.hardware.matrix.operand_tile import LEAST_ROWS, MOST_ROWS
from simlayout.hardware.matrix.tma import TensorMap, swizzled
from simlayout.hardware.tables.provenance import Provenance

BUFFERS, STEPS, STEP_BYTES, ROW_BYTES = 3, 8, 48, 128
"""Buffers of a tile, its instructions, bytes of K that one reads, bytes of a row of a buffer."""

SOURCE = Provenance("documented", "CUTLASS, SM103_MXF4_ULTRA and its collective mainloop: descriptors and steps are equal; "
                    "how an instruction crosses follows from them, and PTX has no picture of it")


@typed(LayoutError)
def k96_addresses(descriptor: Descriptor, rows: int) -> np.ndarray:
    """int64 [rows, 48]: the shared byte address of every byte that one instruction with 96 of K reads, two elements in each.

    rows: of A, or columns of B. LayoutError for a descriptor that is not K-major with a 128-byte swizzle and an address for
    its leading offset, or whose patterns do not start on 1024 bytes.

    >>> first, _, third = OperandK96(128, (0, 16384, 32768)).descriptors()[:3]
    >>> k96_addresses(first, 128)[1, [0, 16, 47]].tolist(), k96_addresses(third, 128)[0, [31, 32]].tolist()
    ([144, 128, 191], [127, 16384])
    """
    inside = descriptor.address % ROW_BYTES
    starts = descriptor.address - inside, descriptor.leading
    if not descriptor.absolute or descriptor.swizzle != ROW_BYTES or descriptor.base_offset:
        raise LayoutError("an operand with 96 of K has a 128-byte swizzle, base offset 0, and the address of the next "
                          "buffer as its leading offset (absolute=True)")
    if any(start % SWIZZLE_MODES[ROW_BYTES].period for start in starts):
        raise LayoutError("buffers of an operand with 96 of K start on multiples of "
                          f"{SWIZZLE_MODES[ROW_BYTES].period} bytes, not at {starts[0]} and {starts[1]}")
    row, byte = np.arange(rows, dtype=np.int64)[:, None], inside + np.arange(STEP_BYTES, dtype=np.int64)[None, :]
    at = np.where(byte < ROW_BYTES, starts[0] + byte, starts[1] + byte - ROW_BYTES)
    return swizzled(at + row // 8 * descriptor.stride + row % 8 * ROW_BYTES, ROW_BYTES)


@dataclass(frozen=True)
class OperandK96:
    """A tile of `rows` rows of A, or columns of B, with 768 of K, in three buffers at shared byte `addresses`.

    Raises LayoutError or AddressError for rows that are no multiple of 8 to 256, and buffers that overlap, do not start on
    1024 bytes, or reach beyond what a descriptor can name.

    >>> tile = OperandK96(128, (0, 16384, 32768))
    >>> [(d.address, d.leading) for d in tile.descriptors()[:4]]
    [(0, 0), (48, 0), (96, 16384), (16400, 16384)]
    >>> tile.prove()
    49152
    """

    rows: int
    addresses: tuple[int, int, int]

    def __post_init__(self):
        if not isinstance(self.addresses, tuple | list):
            raise AddressError(f"an operand with 96 of K: the addresses of its {BUFFERS} buffers, not "
                               f"{brief(self.addresses)}")
        require_ints(LayoutError, "an operand with 96 of K", rows=self.rows)
        for address in self.addresses:
            require_ints(AddressError, "an operand with 96 of K", address=address)
        if self.rows % LEAST_ROWS or not LEAST_ROWS <= self.rows <= MOST_ROWS:
            raise LayoutError(f"an operand of {self.rows} rows: they are a multiple of {LEAST_ROWS}, to {MOST_ROWS}")
        period, size = SWIZZLE_MODES[ROW_BYTES].period, self.rows * ROW_BYTES
        if len(self.addresses) != BUFFERS or any(a % period or not 0 <= a <= LIMIT - size for a in self.addresses):
            raise AddressError(f"an operand with 96 of K: {BUFFERS} buffers on multiples of {period} bytes below 2**18, not "
                               f"{', '.join(map(str, self.addresses))}")
        if any(b - a < size for a, b in zip(sorted(self.addresses), sorted(self.addresses)[1:])):
            raise AddressError(f"an operand with 96 of K: buffers of {size} bytes overlap at {self.addresses}")

    def descriptors(self) -> tuple[Descriptor, ...]:
        """The Descriptor of each of the 8 instructions along K."""
        made = []
        for step in range(STEPS):
            buffer, inside = divmod(STEP_BYTES * step, ROW_BYTES)
            last = (STEP_BYTES * (step + 1) - 1) // ROW_BYTES
            made.append(Descriptor(self.addresses[buffer] + inside, self.addresses[last], 8 * ROW_BYTES, ROW_BYTES,
                                   reader="tcgen05", absolute=True))
        return tuple(made)

    def put(self) -> np.ndarray:
        """int64 [rows, 384]: the shared byte address at which TMA puts each byte of a row, two elements in each."""
        box = (ROW_BYTES, self.rows)
        tensor = TensorMap("u8", box, (ROW_BYTES,), box, swizzle=ROW_BYTES)
        return np.concatenate([tensor.landing(address) for address in self.addresses], axis=1)

    def read(self) -> np.ndarray:
        """int64 [rows, 384]: the shared byte address at which each byte is read."""
        return np.concatenate([k96_addresses(d, self.rows) for d in self.descriptors()], axis=1)

    def prove(self) -> int:
        """How many bytes were compared: each is read where TMA put it. VerificationError with the first that is not."""
        put, read = self.put(), self.read()
        if (put != read).any():
            row, byte = (int(i) for i in np.argwhere(put != read)[0])
            at = {"row": row, "byte": byte, "put": int(put[row, byte]), "read": int(read[row, byte])}
            raise VerificationError(f"{self}: row {row}, byte {byte} lies at {at['put']} and is read at {at['read']}", at)
        return put.size
