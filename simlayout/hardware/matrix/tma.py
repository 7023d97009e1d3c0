"""TMA: tensor maps, and where each byte of a box lands in shared memory (PTX ISA: Tensors, Swizzling modes).

A tensor map describes a tensor in global memory and the box that one instruction moves. In shared memory the box is dense,
innermost dimension first, in rows of its innermost dimension; with a swizzle, 16-byte chunks change places within the
row's span: bits 4 and up of the byte address are XORed with the bits that count rows of 128 bytes, 7 and up. The swizzle
acts on absolute addresses, so its pattern starts at multiples of 1024, 512 or 256 bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.aliases import AnyDType
from simlayout.algebra.dtypes import TYPES
from simlayout.algebra.swizzle_modes import swizzle_mode
from simlayout.arguments import as_int, typed
from simlayout.drawn import drawn_by
from simlayout.errors import AddressError, LayoutError, brief

DTYPES = {name: row for name, row in TYPES.items() if row.tma is not None}
"""The element types that TMA has."""

FILLS = {name: row.nan for name, row in DTYPES.items() if row.exponent and row.bits >= 16}
"""Element type -> the bits of the NaN that fills the outside. PTX and cuda.h call it a special constant and do not say
which: assumed, as of the NaNs that tensor cores make."""


def swizzled(address, span):
    """The byte address to which a box's byte goes that would lie at `address` without a swizzle; ints and arrays alike.

    span: 0, 32, 64 or 128 bytes, or `ATOM_32B`, else LayoutError. The same function undoes it. Source: PTX ISA, Swizzling
    modes.

    >>> swizzled(0x90, 128), swizzled(swizzled(0x90, 128), 128)
    (128, 144)
    """
    mode = swizzle_mode(span)
    return address ^ (address >> mode.shift & mode.mask)


def _fault(text):
    raise LayoutError(f"tensor map: {text}")


@typed(LayoutError, own=("dtype", "dims", "strides", "box"))
@dataclass(frozen=True)
class TensorMap:
    """A tensor in global memory and a box of it.

    dtype: one of DTYPES, or what `dtype_of` takes for one. dims: elements along each dimension, innermost first, 1 to 5 of
    them. strides: bytes from one index to the next in dims 1 and up (dim 0 is contiguous). box: elements that a box spans.
    element_strides: every how many elements are moved, along each dimension; TMA ignores the first. swizzle: 0, 32, 64 or
    128 bytes, or "128B_ATOM_32B", which only Blackwell has. fill: "zero" or "nan", what the outside reads as. address:
    global byte address, if known. array: the NumPy array behind it, for `gather` and `scatter`. Not interleaved.

    Raises LayoutError for what cuTensorMapEncodeTiled would refuse (CUDA Driver API, Tensor Map Object Management),
    naming the limit.

    >>> tensor = TensorMap("f16", (64, 1000), (128,), (64, 128), swizzle=128)
    >>> tensor.box_bytes, tensor.offsets()[1, :16:8].tolist()
    (16384, [144, 128])
    """

    dtype: str
    dims: tuple
    strides: tuple
    box: tuple
    element_strides: Any = None
    swizzle: int | str = 0
    fill: str = "zero"
    address: int = 0
    array: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        if self.element_strides is None and isinstance(self.dims, tuple | list):
            object.__setattr__(self, "element_strides", (1,) * len(self.dims))
        for name in ("dims", "strides", "box", "element_strides"):
            try:
                object.__setattr__(self, name, tuple(as_int(v) for v in getattr(self, name)))
            except TypeError:
                _fault(f"{name} {brief(getattr(self, name))}; give a tuple of integers")
        self._check_tensor()
        self._check_box()

    def _check_tensor(self):
        """The limits of what lies in global memory."""
        rank = len(self.dims)
        if not isinstance(self.dtype, str) or self.dtype not in DTYPES:
            object.__setattr__(self, "dtype", dtype_of(self.dtype).name)
        if self.dtype not in DTYPES:
            _fault(f"no element type {self.dtype!r}; there are {', '.join(DTYPES)}")
        if not 1 <= rank <= 5:
            _fault(f"{rank} dimensions; it takes 1 to 5")
        for name, wanted in (("box", rank), ("element_strides", rank), ("strides", rank - 1)):
            if len(getattr(self, name)) != wanted:
                _fault(f"{len(getattr(self, name))} {name} for {rank} dimensions; give {wanted}")
        for i, n in enumerate(self.dims):
            if not 1 <= n <= 2**32:
                _fault(f"dimension {i} has {n} elements; 1 to 2**32 are allowed")
        for i, stride in enumerate(self.strides, 1):
            if stride % 16 or not (self.dims[i] > 1) <= stride < 2**40:       # CUTLASS gives a batch of 1 the stride 0
                _fault(f"stride {stride} bytes of dimension {i}; it must be a multiple of 16 below 2**40, and above 0 where "
                       "there is more than one element")
        if self.address % 16 or not 0 <= self.address < 2**64:
            _fault(f"address {self.address:#x}; the tensor must start on 16 bytes, below 2**64")

    def _check_box(self):
        """The limits of what an instruction moves."""
        for i, n in enumerate(self.box):
            if not 1 <= n <= 256:
                _fault(f"box of {n} elements along dimension {i}; 1 to 256 are allowed")
        for i, n in enumerate(self.element_strides):
            if not 1 <= n <= 8:
                _fault(f"element stride {n} of dimension {i}; 1 to 8 are allowed")
        if self.row_bytes % 16:
            _fault(f"box rows of {self.row_bytes} bytes; they must be a multiple of 16")
        mode = swizzle_mode(self.swizzle, "tensor map")
        if mode.span and self.row_bytes > mode.span:
            _fault(f"box rows of {self.row_bytes} bytes in a {mode.words}; make box[0] at most "
                   f"{mode.span // self.itemsize}")
        if self.fill not in ("zero", "nan") or (self.fill == "nan" and self.dtype not in FILLS):
            _fault(f"fill {brief(self.fill)} for {self.dtype}; \"zero\", or \"nan\" for floating-point types")

    @classmethod
    @typed(LayoutError, own=("array",))
    def of(cls, array: np.ndarray, box: Sequence[int], swizzle: int | str = 128, dtype: AnyDType | None = None,
           fill: str = "zero") -> "TensorMap":
        """The map of a NumPy array whose last axis is contiguous; box innermost first. dtype: for types that NumPy lacks,
        held in unsigned integers of their size.

        >>> TensorMap.of(np.zeros((5, 40, 64), np.uint16), (64, 8, 1), dtype="bf16").strides
        (128, 5120)
        """
        if not isinstance(array, np.ndarray):
            _fault(f"it is of a NumPy array, not {brief(array)}")
        kind = dtype_of(array.dtype if dtype is None else dtype)
        if kind.bytes != array.itemsize:
            _fault(f"{kind.name} in an array of {array.dtype}; view it as integers of {kind.bytes} bytes")
        if array.ndim and array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
            _fault(f"the array's last axis has stride {array.strides[-1]} bytes; it must be contiguous")
        strides = array.strides[-2::-1] if array.ndim > 1 else ()
        strides = tuple(stride if n > 1 else 16 for n, stride in zip(array.shape[-2::-1], strides))    # that of one is free
        return cls(kind.name, array.shape[::-1], strides, tuple(box), None, swizzle, fill, 0, array)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return dtype_of(self.dtype).bytes

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of the box."""
        return self.box[0] * self.itemsize

    @property
    def ahead(self) -> int:
        """Bytes from where the map begins to its array."""
        return 0

    @property
    def enum(self) -> int:
        """The CUtensorMapSwizzle of the swizzle."""
        return swizzle_mode(self.swizzle).tensor_map

    @property
    def dtype_enum(self) -> int:
        """The CUtensorMapDataType of the elements."""
        return DTYPES[self.dtype].tma

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements of the box that are moved along each dimension, innermost last, as of an array."""
        steps = zip(self.box[1:], self.element_strides[1:], strict=True)
        return (self.box[0], *(-(-n // s) for n, s in steps))[::-1]

    @property
    def box_bytes(self) -> int:
        """Bytes of a box, outside elements included: what its mbarrier counts."""
        return prod(self.shape) * self.itemsize

    def offsets(self) -> np.ndarray:
        """int64 [box, innermost last]: byte offset of every element from the start of a box that lies on the pattern's
        period."""
        return self.landing(0)

    @typed(AddressError)
    def landing(self, address: int) -> np.ndarray:
        """int64 [box, innermost last]: absolute shared byte address of every element of a box at `address`.

        Raises AddressError unless `address` is a multiple of 128; LayoutError for several rows narrower than the swizzle:
        where those lie is not documented.
        """
        if address % 128 or not 0 <= address < 1 << 62:
            raise AddressError(f"TMA: a box at shared address {address}; it must start on 128 bytes")
        mode = swizzle_mode(self.swizzle)
        if self.row_bytes < mode.span and prod(self.shape[:-1]) > 1:
            _fault(f"where rows of {self.row_bytes} bytes lie in a {mode.words} is not documented; make box[0] "
                   f"{mode.span // self.itemsize}")
        dense = np.arange(prod(self.shape), dtype=np.int64).reshape(self.shape) * self.itemsize
        return swizzled(address + dense, self.swizzle)

    plot = drawn_by("tma", "Draws where the 16-byte chunks of a box land.")

    @typed(AddressError)
    def coordinates(self, coords: Sequence[int]) -> tuple[np.ndarray, ...]:
        """The tensor coordinates of every element of the box at element coordinates `coords`: a tuple, innermost first, of
        int64 arrays [box, innermost last]. They may lie outside. AddressError for another number of coordinates.

        >>> TensorMap("f32", (64, 64), (256,), (4, 2)).coordinates((8, -1))[1].tolist()
        [[-1, -1, -1, -1], [0, 0, 0, 0]]
        """
        self._check_number(coords)
        steps = (1, *self.element_strides[1:])[::-1]
        axes = [int(c) + s * np.arange(n, dtype=np.int64) for c, n, s in zip(coords[::-1], self.shape, steps, strict=True)]
        return tuple(np.meshgrid(*axes, indexing="ij")[::-1])

    def inside(self, coords: Sequence[int]) -> np.ndarray:
        """bool [box, innermost last]: which elements of the box at element coordinates exist."""
        return self._inside(coords)[1]

    def _check_number(self, coords):
        """Refuses another number of coordinates than dimensions."""
        if len(coords) != len(self.dims):
            raise AddressError(f"TMA: {len(coords)} coordinates for a tensor of {len(self.dims)} dimensions")

    def _need_array(self):
        if self.array is None:
            _fault("it has no array to read or write: make it with TensorMap.of")

    def _inside(self, coords):
        """(index arrays of the box in the array, bool where they exist), both shaped as the box."""
        self._need_array()
        index = self.coordinates(coords)[::-1]
        inside = np.logical_and.reduce([(i >= 0) & (i < n) for i, n in zip(index, self.array.shape, strict=True)])
        return [np.where(inside, i, 0) for i in index], inside

    @typed(AddressError)
    def spans(self, coords: Sequence[int]) -> tuple[np.ndarray, int]:
        """(int64 [n], bytes): where the rows of the box at element coordinates start, counted from the array's first
        element, and how long each of them is, as far as they lie inside.

        >>> [found.tolist() for found in map(np.asarray, TensorMap.of(np.zeros((8, 64)), (2, 4)).spans((63, -2)))]
        [[504, 1016], 8]
        """
        self._check_number(coords)
        self._need_array()
        low, high = max(coords[0], 0), min(coords[0] + self.box[0], self.dims[0])
        starts = np.array([low * self.itemsize] if low < high else [], np.int64)
        steps = zip(coords[1:], self.shape[-2::-1], self.element_strides[1:], self.dims[1:], self.array.strides[-2::-1],
                    strict=True)
        for c, n, step, size, stride in steps:
            index = c + step * np.arange(n, dtype=np.int64)
            index = index[(index >= 0) & (index < size)]
            starts = (stride * index[:, None] + starts).reshape(-1)
        return starts, max(high - low, 0) * self.itemsize

    def gather(self, coords: Sequence[int]) -> np.ndarray:
        """The box at element coordinates (innermost first; they may lie outside), an array [box, innermost last]."""
        index, inside = self._inside(coords)
        values = self.array[tuple(index)]
        bits = values.view(f"u{values.itemsize}")
        bits[~inside] = FILLS[self.dtype] if self.fill == "nan" else 0
        return values

    @typed(AddressError)
    def scatter(self, coords: Sequence[int], values: np.ndarray) -> None:
        """Writes a box, as `gather` returns it, where it lies inside of the tensor."""
        values = np.asarray(values)
        if values.shape != self.shape:
            _fault(f"values of shape {values.shape} for boxes of shape {self.shape}")
        index, inside = self._inside(coords)
        self.array[tuple(i[inside] for i in index)] = values[inside]
