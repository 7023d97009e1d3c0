"""wgmma: how an instruction finds its operands in shared memory (PTX ISA: Asynchronous warpgroup level matrix instructions).

A 64-bit descriptor holds a start address, two strides and a swizzle. An instruction reads 64 rows of A, or N columns of B,
and 32 bytes of each along K: 16 elements of 16 bits, 8 of tf32, 32 of 8 bits. All there is are 8 rows of 16 bytes, the core
matrices; a swizzle lays 2, 4 or 8 of them side by side into rows of 32, 64 or 128 bytes and permutes their chunks.
"""

from dataclasses import dataclass

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.swizzle_modes import SWIZZLE_MODES, swizzle_mode
from simlayout.errors import AddressError, InstructionError, LayoutError, VerificationError
from simlayout.hardware.matrix.tma import TensorMap, swizzled
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tensor_ops import tensor_op

K_BYTES = 32
"""Bytes along K that one instruction reads, whatever the type."""

TYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8")
"""Element types of A and B (PTX ISA, wgmma.mma_async); those of 16 bits may be MN-major."""

MEASURED = Provenance("measured", "192 configurations on one NVIDIA H200 (driver 580.159, CUDA 13.0) with Nsight Compute "
                      "2025.3.1, 2026-11-21: swizzles, K- and MN-major, odd strides; 16-bit operands")
ASSUMED = Provenance("assumed", "as of 16-bit operands, of which as many bytes are read")


@dataclass(frozen=True)
class Descriptor:
    """A matrix descriptor; all in bytes. leading, stride: the leading and stride dimension byte offsets (LBO, SBO), whose
    meaning depends on the layout (`operand_addresses`); swizzle: 0, 32, 64 or 128; base_offset: 0 where the pattern starts
    on its period, else bits 7 to 9 of where it starts.

    Raises LayoutError for what the fields cannot hold.

    >>> hex(Descriptor(0x400, 16, 1024, 128).encode()), Descriptor.decode(0x4000004000010040).stride
    ('0x4000004000010040', 1024)
    """

    address: int
    leading: int
    stride: int
    swizzle: int
    base_offset: int = 0

    def __post_init__(self):
        for name in ("address", "leading", "stride"):
            value = getattr(self, name)
            if value % 16 or not 0 <= value < 2**18:
                raise LayoutError(f"wgmma descriptor: {name} {value} bytes; it must be a multiple of 16 below 2**18")
        swizzle_mode(self.swizzle, "wgmma descriptor")
        if self.base_offset not in range(8):
            raise LayoutError(f"wgmma descriptor: base offset {self.base_offset}; it has 3 bits")

    def encode(self) -> int:
        """The 64 bits."""
        return (self.address >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32 | self.base_offset << 49
                | swizzle_mode(self.swizzle).descriptor << 62)

    @classmethod
    def decode(cls, bits: int) -> "Descriptor":
        """The Descriptor of 64 bits."""
        swizzle = next(mode.span for mode in SWIZZLE_MODES.values() if mode.descriptor == bits >> 62 & 3)
        return cls((bits & 0x3FFF) << 4, (bits >> 16 & 0x3FFF) << 4, (bits >> 32 & 0x3FFF) << 4, swizzle, bits >> 49 & 7)


def majors_of(dtype):
    """The orders in which wgmma takes an operand from shared memory: by K, and if its elements have 16 bits by rows of A or
    columns of B (PTX ISA, wgmma.mma_async: imm-trans-a, imm-trans-b).

    >>> majors_of("bf16"), majors_of("e4m3")
    (('K', 'MN'), ('K',))
    """
    return ("K", "MN") if dtype_of(dtype).bits == 16 else ("K",)


def _size_of(dtype, major, what):
    """Bytes of an element of an operand that wgmma has; LayoutError for others."""
    name = dtype_of(dtype).name
    if name not in TYPES:
        raise LayoutError(f"{what} of {name}: wgmma takes {', '.join(TYPES)}")
    if major not in majors_of(name):
        raise LayoutError(f"{what}: {major}-major {name}: wgmma takes K-major ones, and MN-major ones of 16 bits")
    return dtype_of(name).bytes


def operand_addresses(descriptor: "Descriptor", mn: int, k: int, dtype: str, major: str) -> np.ndarray:
    """int64 [mn, k]: the shared byte address of every element that one wgmma reads.

    mn: 64 for A, N for B; k: elements along K, K_BYTES in all. major: "K", or "MN" (16-bit elements).

    K-major, the stride leads from 8 rows to the next 8 and the leading one from 16 bytes of K to the next 16; with a swizzle
    it is not used. MN-major, the stride leads from 8 k to the next 8 and the leading one from as many rows as the swizzle
    spans to the next; without a swizzle a block is 8 rows, and the two change places.

    Source: PTX ISA, Matrix descriptor and canonical layouts; equal to CUTLASS's `make_gmma_desc` layouts
    (`tests/hardware/test_wgmma.py`). Raises LayoutError for another k,
    other types, or a base offset, whose effect is not modelled.

    >>> operand_addresses(Descriptor(0, 16, 1024, 128), 64, 16, "f16", "K")[9, :16:8].tolist()
    [1168, 1152]
    """
    size = _size_of(dtype, major, "an operand")
    if k * size != K_BYTES:
        raise LayoutError(f"one wgmma reads {K_BYTES} bytes along K, {K_BYTES // size} elements of {dtype}, not {k}")
    if mn % 8 or not 8 <= mn <= 256:
        raise LayoutError(f"an operand of {mn} rows: A has 64, B from 8 to 256 columns, a multiple of 8")
    if descriptor.base_offset:
        raise LayoutError(f"base offset {descriptor.base_offset}: its effect is not modelled; start the pattern on "
                          f"a multiple of {swizzle_mode(descriptor.swizzle).period} bytes, and leave it 0")
    row, col = np.arange(mn, dtype=np.int64)[:, None], np.arange(k, dtype=np.int64)[None, :]
    first, leading, stride, span = descriptor.address, descriptor.leading, descriptor.stride, descriptor.swizzle
    if major == "K":
        along = col * size
        if not span:
            return first + row // 8 * stride + row % 8 * 16 + along // 16 * leading + along % 16
        return swizzled(first + row // 8 * stride + row % 8 * span + along, span)
    if not span:
        return first + row // 8 * stride + row % 8 * 2 + col // 8 * leading + col % 8 * 16
    block = span // 2                                    # elements of a row
    return swizzled(first + row // block * leading + row % block * 2 + col // 8 * stride + col % 8 * span, span)


def operand_wavefronts(name: str, a: str = "shared") -> tuple[int, Provenance]:
    """(wavefronts, Provenance) with which one wgmma reads its operands: 16 for A from shared memory, N / 4 for B.

    No layout changes it. a: "shared" or "registers". Raises InstructionError for what is no wgmma.

    >>> operand_wavefronts("wgmma.m64n256k16.f32.f16.f16")[0]
    80
    """
    op = _wgmma(name, a)
    return (16 if a == "shared" else 0) + op.n // 4, MEASURED if dtype_of(op.b).bits == 16 else ASSUMED


def fewest_clocks(name: str, a: str = "shared") -> int:
    """Clocks of an SM below which no wgmma stays: the larger of N / 2, for the products in its four tensor cores, and its
    operand wavefronts, one clock for each 128 bytes of shared memory. Takes the arguments of `operand_wavefronts`.

    A wgmma of n < 64 waits for its operands, wider ones hide them. Issued back to back, they took 32.7 clocks for n8, 35.6
    for n64, 68 for n128 and 133 for n256, whatever the layout (16-bit operands; one NVIDIA H200, 2026-11-21).

    >>> [fewest_clocks(f"wgmma.m64n{n}k16.f32.f16.f16") for n in (8, 64, 256)]
    [18, 32, 128]
    """
    return max(_wgmma(name, a).n // 2, operand_wavefronts(name, a)[0])


def _wgmma(name, a):
    op = tensor_op(name)
    if op.family != "wgmma" or a not in ("shared", "registers"):
        raise InstructionError(f"{name} with A from {a!r}: give a wgmma, and \"shared\" or \"registers\"")
    return op


@dataclass(frozen=True)
class OperandTile:
    """A tile of A (rows x depth of K) or of B (columns x depth) in shared memory, as TMA boxes put it and wgmma reads it.

    rows: of A, or columns of B; depth: elements of K. major: "K" or "MN", the contiguous dimension. swizzle: bytes. A
    K-major tile is one box [rows][swizzle bytes of K] after another; an MN-major one boxes [depth][swizzle bytes of rows];
    without a swizzle boxes are 16 bytes wide.

    >>> tile = OperandTile(256, 64, "f16")
    >>> tile.box, tile.bytes, tile.starts, tile.descriptor().stride
    ((64, 256), 32768, (0, 32, 64, 96), 1024)
    >>> print(tile.prove())
    all 16384 elements of a 256 x 64 f16 tile, K-major, 128-byte swizzle: wgmma reads each where TMA put it
    """

    rows: int
    depth: int
    dtype: str
    major: str = "K"
    swizzle: int = 128

    def __post_init__(self):
        size = _size_of(self.dtype, self.major, "operand tile")
        swizzle_mode(self.swizzle, "operand tile")
        contiguous = self.depth if self.major == "K" else self.rows
        if contiguous * size % self.span or self.depth * size % K_BYTES or self.rows % 8:
            what = f"{self.rows} x {self.depth} of {self.dtype}, {self.major}-major"
            raise LayoutError(f"operand tile: {what}: its contiguous "
                              f"side must fill rows of {self.span} bytes, K {K_BYTES}-byte steps, rows groups of 8")
        if self.rows > 256 or self.depth > 256:
            raise LayoutError(f"operand tile: {self.rows} x {self.depth}: no side of a box has more than 256 elements")

    @property
    def span(self) -> int:
        """Bytes of a box's rows."""
        return swizzle_mode(self.swizzle).row

    @property
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
        steps = self.depth * dtype_of(self.dtype).bytes // K_BYTES
        if self.major == "MN":
            return tuple(16 * self.span * s for s in range(steps))
        if not self.swizzle:
            return tuple(2 * self.box_bytes * s for s in range(steps))
        return tuple(K_BYTES * s // self.span * self.box_bytes + K_BYTES * s % self.span for s in range(steps))

    def descriptor(self, address: int = 0) -> Descriptor:
        """The Descriptor of its first instruction along K, for a tile at shared byte address `address`: its low 18 bits, a
        multiple of the swizzle's period (AddressError)."""
        period = swizzle_mode(self.swizzle).period
        if address % period:
            raise AddressError(f"operand tile at shared address {address}: its {self.swizzle}-byte swizzle repeats every "
                               f"{period} bytes, so it must start on a multiple")
        strides = {("K", True): (16, 8 * self.span), ("K", False): (self.box_bytes, 128),
                   ("MN", True): (self.box_bytes, 8 * self.span), ("MN", False): (128, self.box_bytes)}
        return Descriptor(address & 0x3FFFF, *strides[self.major, self.swizzle > 0], self.swizzle)

    def put(self, address: int = 0) -> np.ndarray:
        """int64 [rows, depth]: the shared byte address at which TMA puts each element."""
        wide, deep = self.box
        tensor = TensorMap(self.dtype, self.box, (self.span,), self.box, swizzle=self.swizzle)
        boxes = np.stack([tensor.landing(address + self.box_bytes * i) for i in range(self.boxes)])
        if self.major == "K":
            return boxes.transpose(1, 0, 2).reshape(self.rows, self.depth)
        return boxes.transpose(0, 2, 1).reshape(self.rows, self.depth)

    def read(self, address: int = 0) -> np.ndarray:
        """int64 [rows, depth]: the shared byte address at which wgmma reads each element."""
        first, k = self.descriptor(address), K_BYTES // dtype_of(self.dtype).bytes
        steps = (Descriptor(first.address + start, first.leading, first.stride, self.swizzle) for start in self.starts)
        parts = [operand_addresses(step, self.rows, k, self.dtype, self.major) for step in steps]
        return np.concatenate(parts, axis=1)

    def prove(self, address: int = 0) -> "OperandProof":
        """The OperandProof that wgmma reads element (row, k) exactly where TMA put it; VerificationError with the first
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
        mode = f"{t.swizzle}-byte swizzle" if t.swizzle else "no swizzle"
        return (f"all {self.elements} elements of a {t.rows} x {t.depth} {t.dtype} tile, {t.major}-major, {mode}: wgmma "
                "reads each where TMA put it")
