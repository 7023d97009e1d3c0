"""Operands in shared memory: where wgmma and tcgen05.mma read each element, and the tiles that TMA puts there for them.

An instruction reads some rows of A, or columns of B, and 32 bytes of each along K: 16 elements of 16 bits, 8 of tf32, 32 of
8 bits. All there is are 8 rows of 16 bytes, the core matrices; a swizzle lays 2, 4 or 8 of them side by side into rows of
32, 64 or 128 bytes and permutes their chunks (PTX ISA: Asynchronous warpgroup level matrix instructions; tcgen05, Canonical
layouts).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.swizzle_modes import ATOM_32B, SwizzleMode, swizzle_mode
from simlayout.arguments import typed
from simlayout.errors import AddressError, LayoutError, VerificationError, require_ints
from simlayout.hardware.matrix.descriptor import LIMIT, Descriptor
from simlayout.hardware.matrix.tma import TensorMap, swizzled
from simlayout.hardware.tables.operand_readers import operand_reader, takes_swizzle

K_BYTES = 32
"""Bytes along K that one instruction reads, whatever the type; of B twice as many where A is sparse."""

LEAST_ROWS, MOST_ROWS = 8, 256
"""Rows of A, or columns of B, of an operand: at least, and at most. They are a multiple of the least."""


def majors_of(dtype, reader: str = "wgmma"):
    """The orders in which a reader takes an operand from shared memory: by K, or by rows of A and columns of B.

    >>> majors_of("bf16"), majors_of("e4m3"), majors_of("e4m3", "tcgen05")
    (('K', 'MN'), ('K',), ('K', 'MN'))
    """
    return operand_reader(reader).majors(dtype_of(dtype).name)


def _size_of(row, dtype, major, swizzle, what):
    """Bytes of an element of an operand that a reader has; LayoutError for others."""
    name = dtype_of(dtype).name
    if not row.majors(name):
        raise LayoutError(f"{what} of {name}: {row.name} takes {', '.join(t for t, _ in row.types)}")
    if major not in row.majors(name):
        either = ", ".join(t for t, majors in row.types if "MN" in majors)
        raise LayoutError(f"{what}: {major}-major {name}: {row.name} takes K-major ones, and MN-major ones of {either}")
    if not takes_swizzle(row, name, major, swizzle):
        others = " and ".join(f"{m}-major {t}" for t, m in row.atom_32b) or "none"
        fix = (f"of {row.name}'s operands {others} has these; give 0, 32, 64 or 128" if swizzle == ATOM_32B else
               f"{row.name} takes it with {ATOM_32B!r} alone")
        raise LayoutError(f"{what}: {major}-major {name}, {swizzle_mode(swizzle).words}: {fix}")
    return dtype_of(name).bytes


def k_rows(mode: SwizzleMode) -> int:
    """How many k an MN-major pattern has one below the other before the stride leads on: 8, of ATOM_32B 4."""
    return 8 if mode.chunk_bits == 4 else 4


@typed(LayoutError, own=("dtype",))
def operand_addresses(descriptor: "Descriptor", mn: int, k: int, dtype: str, major: str) -> np.ndarray:
    """int64 [mn, k]: the shared byte address of every element that one instruction reads.

    mn: rows of A (64 of wgmma), N for B; k: elements along K, K_BYTES in all, or twice as many for the B of wgmma.sp.
    major: "K", or "MN" (`majors_of`).

    K-major, the stride leads from 8 rows to the next 8 and the leading one from 16 bytes of K to the next 16; with a swizzle
    from as many bytes as it spans to the next, where K is that long (B of wgmma.sp alone). MN-major, the stride leads from 8
    k to the next 8 (of ATOM_32B 4) and the leading one from as many rows as the swizzle spans to the next; without a swizzle
    a block is 16 bytes of rows, and the two change places.

    Source: PTX ISA, matrix descriptors and canonical layouts; equal to CUTLASS's `make_gmma_desc` and `make_umma_desc`
    (`tests/hardware/test_wgmma.py`, `tests/oracles/test_blackwell.py`); of wgmma.sp `tests/data/h200_wgmma_sp.json`. Raises
    LayoutError for another k, other types, and for a base offset or a leading offset that is an address, whose effects are
    not modelled.

    >>> operand_addresses(Descriptor(0, 16, 1024, 128), 64, 16, "f16", "K")[9, :16:8].tolist()
    [1168, 1152]
    """
    row_of, mode = descriptor.row, descriptor.mode
    size = _size_of(row_of, dtype, major, descriptor.swizzle, "an operand")
    if k * size not in (K_BYTES, 2 * K_BYTES):
        raise LayoutError(f"one {row_of.name} reads {K_BYTES} bytes along K, {K_BYTES // size} elements of {dtype}, not {k} "
                          "(twice as many of B where A is sparse)")
    if mn % LEAST_ROWS or not LEAST_ROWS <= mn <= MOST_ROWS:
        raise LayoutError(f"an operand of {mn} rows: they are a multiple of {LEAST_ROWS}, to {MOST_ROWS}")
    if descriptor.base_offset:
        raise LayoutError(f"base offset {descriptor.base_offset}: its effect is not modelled; start the pattern on "
                          f"a multiple of {mode.period} bytes, and leave it 0")
    if descriptor.absolute:
        raise LayoutError("a leading offset that is an address: it is for sm_103's instructions with 96 of K, whose "
                          "addresses k96_addresses has")
    row, col = np.arange(mn, dtype=np.int64)[:, None], np.arange(k, dtype=np.int64)[None, :]
    first, leading, stride, span = descriptor.address, descriptor.leading, descriptor.stride, mode.row
    if major == "K":
        along = col * size
        at = first + row // 8 * stride + row % 8 * span + along // span * leading + along % span
        return swizzled(at, descriptor.swizzle) if mode.span else at
    block, deep = span // size, k_rows(mode)             # elements of a row, rows of a pattern
    if not mode.span:
        leading, stride = stride, leading
    at = first + row // block * leading + row % block * size + col // deep * stride + col % deep * span
    return swizzled(at, descriptor.swizzle)


@typed(LayoutError, own=("dtype",))
@dataclass(frozen=True)
class OperandTile:
    """A tile of A (rows x depth of K) or of B (columns x depth) in shared memory, as TMA boxes put it and a reader reads it.

    rows: of A, or columns of B; depth: elements of K. major: "K" or "MN", the contiguous dimension. swizzle: bytes, or
    "128B_ATOM_32B", which MN-major tf32 needs. reader: "wgmma" or "tcgen05". A K-major tile is one box [rows][swizzle bytes
    of K] after another; an MN-major one boxes [depth][swizzle bytes of rows]; without a swizzle boxes are 16 bytes wide.

    >>> tile = OperandTile(256, 64, "f16")
    >>> tile.box, tile.bytes, tile.starts, tile.descriptor().stride
    ((64, 256), 32768, (0, 32, 64, 96), 1024)
    >>> print(tile.prove())
    all 16384 elements of a 256 x 64 f16 tile, K-major, 128-byte swizzle: wgmma reads each where TMA put it
    >>> print(OperandTile(64, 8, "tf32", "MN", "128B_ATOM_32B", "tcgen05").prove())
    all 512 elements of a 64 x 8 tf32 tile, MN-major, 128-byte swizzle of 32-byte atoms: tcgen05 reads each where TMA put it
    """

    rows: int
    depth: int
    dtype: str
    major: str = "K"
    swizzle: int | str = 128
    reader: str = "wgmma"

    def __post_init__(self):
        require_ints(LayoutError, "operand tile", rows=self.rows, depth=self.depth)
        swizzle_mode(self.swizzle, "operand tile")
        object.__setattr__(self, "dtype", dtype_of(self.dtype).name)
        size = _size_of(operand_reader(self.reader), self.dtype, self.major, self.swizzle, "operand tile")
        side = "depth" if self.major == "K" else "rows"
        for name, unit, why in ((side, self.span, f"a row of a box has {self.span} bytes"),
                                ("rows", 8 * size, "rows go by 8"),
                                ("depth", K_BYTES, f"an instruction reads {K_BYTES} bytes of each row")):
            if getattr(self, name) * size % unit:
                narrower = ", or take a narrower swizzle" if unit == self.span > 32 else ""
                what = f"{self.rows} x {self.depth} of {self.dtype}, {self.major}-major"
                raise LayoutError(f"operand tile: {what}: {why}: make {name} a multiple of {unit // size}{narrower}")
        if not (0 < self.rows <= MOST_ROWS and 0 < self.depth <= MOST_ROWS):
            raise LayoutError(f"operand tile: {self.rows} x {self.depth}: a side of a box has 1 to {MOST_ROWS} elements")

    @property
    def mode(self) -> SwizzleMode:
        """What the table says of its swizzle."""
        return swizzle_mode(self.swizzle)

    @property
    def span(self) -> int:
        """Bytes of a box's rows."""
        return self.mode.row

    @cached_property
    def bytes(self) -> int:
        """Bytes of the tile."""
        return self.rows * self.depth * dtype_of(self.dtype).bytes

    @property
    def box(self) -> tuple[int, int]:
        """The box of its tensor map, innermost first, in elements."""
        wide = self.span // dtype_of(self.dtype).bytes
        return (wide, self.rows) if self.major == "K" else (wide, self.depth)

    @property
    def box_bytes(self) -> int:
        """Bytes of a box: from one box of the tile to the next."""
        return self.span * self.box[1]

    @property
    def boxes(self) -> int:
        """How many boxes it takes."""
        return self.bytes // self.box_bytes

    @property
    def starts(self) -> tuple[int, ...]:
        """Bytes to add to the descriptor's address for each instruction along K of the tile."""
        size = dtype_of(self.dtype).bytes
        steps = self.depth * size // K_BYTES
        if self.major == "MN":
            return tuple(K_BYTES // size * self.span * s for s in range(steps))
        if not self.mode.span:
            return tuple(2 * self.box_bytes * s for s in range(steps))
        return tuple(K_BYTES * s // self.span * self.box_bytes + K_BYTES * s % self.span for s in range(steps))

    @typed(AddressError)
    def descriptor(self, address: int = 0) -> Descriptor:
        """The Descriptor of its first instruction along K, for a tile at shared byte address `address`: its low 18 bits, a
        multiple of the swizzle's period (AddressError)."""
        period = self.mode.period
        if address % period or address < 0:
            raise AddressError(f"operand tile at shared address {address}: its {self.mode.words} repeats every {period} "
                               "bytes, so it must start on a multiple, and not be negative")
        down = k_rows(self.mode) * self.span             # bytes of a pattern along K of an MN-major tile
        strides = {("K", True): (16, 8 * self.span), ("K", False): (self.box_bytes, 128),
                   ("MN", True): (self.box_bytes, down), ("MN", False): (128, self.box_bytes)}
        leading, stride = strides[self.major, self.mode.span > 0]
        return Descriptor(address % LIMIT, leading, stride, self.swizzle, reader=self.reader)

    @typed(AddressError)
    def put(self, address: int = 0) -> np.ndarray:
        """int64 [rows, depth]: the shared byte address at which TMA puts each element."""
        wide, deep = self.box
        tensor = TensorMap(self.dtype, self.box, (self.span,), self.box, swizzle=self.swizzle)
        boxes = np.stack([tensor.landing(address + self.box_bytes * i) for i in range(self.boxes)])
        if self.major == "K":
            return boxes.transpose(1, 0, 2).reshape(self.rows, self.depth)
        return boxes.transpose(0, 2, 1).reshape(self.rows, self.depth)

    @typed(AddressError)
    def read(self, address: int = 0) -> np.ndarray:
        """int64 [rows, depth]: the shared byte address at which each element is read."""
        first, k = self.descriptor(address), K_BYTES // dtype_of(self.dtype).bytes
        steps = (replace(first, address=first.address + start) for start in self.starts)
        parts = [operand_addresses(step, self.rows, k, self.dtype, self.major) for step in steps]
        return np.concatenate(parts, axis=1)

    @typed(AddressError)
    def prove(self, address: int = 0) -> "OperandProof":
        """The OperandProof that its reader reads element (row, k) exactly where TMA put it; VerificationError with the first
        element for which it does not."""
        wrong = self.put(address) != self.read(address)
        if wrong.any():
            row, k = (int(i) for i in np.argwhere(wrong)[0])
            at = {"row": row, "k": k, "put": int(self.put(address)[row, k]), "read": int(self.read(address)[row, k])}
            raise VerificationError(f"{self}: element (row {row}, k {k}) lies at byte {at['put']} and is read at "
                                    f"{at['read']}", at)
        return OperandProof(self, address, self.rows * self.depth)


@dataclass(frozen=True)
class OperandProof:
    """What `OperandTile.prove` compared: all `elements` of a tile at shared byte address `address`."""

    tile: OperandTile
    address: int
    elements: int

    def __str__(self):
        t = self.tile
        return (f"all {self.elements} elements of a {t.rows} x {t.depth} {t.dtype} tile, {t.major}-major, {t.mode.words}: "
                f"{t.reader} reads each where TMA put it")
