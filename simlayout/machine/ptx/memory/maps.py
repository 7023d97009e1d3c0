"""Tensor maps as bytes: 128 of them, as a CUtensorMap is, that say what a simlayout.TensorMap does.

What cuTensorMapEncodeTiled writes is not documented, so the fields lie here as in FIELDS. A program copies the bytes, passes
their address, and changes a field by tensormap.replace, but never looks inside.
"""

from functools import lru_cache

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import AddressError, MachineError, SimlayoutError
from simlayout.hardware.matrix.tma import TensorMap

MARK = b"simlayout.TensorMap"

FIELDS = np.dtype([("global_address", "<u8"), ("global_dim", "<u8", 5), ("global_stride", "<u8", 4), ("box_dim", "<u2", 5),
                   ("element_stride", "u1", 5), ("rank", "u1"), ("elemtype", "u1"), ("interleave_layout", "u1"),
                   ("swizzle_mode", "u1"), ("fill_mode", "u1"), ("mark", "S28")])
"""The fields by the names of tensormap.replace; rank is one less than the number of dimensions (PTX ISA: tensormap.replace).
`mark` tells these bytes from others."""

MAP_BYTES = FIELDS.itemsize
"""128, of a CUtensorMap (CUDA Driver API)."""

ELEMENTS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "tf32", "tf32")
"""Element types by the numbers that PTX gives them (PTX ISA: tensormap.replace, .elemtype; 8 and 12 flush subnormals)."""

SWIZZLES = 0, 32, 64, 128
"""Bytes of a swizzle by number (PTX ISA: tensormap.replace, .swizzle_mode)."""

FILLS = "zero", "nan"
"""What the outside reads as, by number (PTX ISA: tensormap.replace, .fill_mode)."""


KNOWN = {"rank": 5, "elemtype": len(ELEMENTS), "interleave_layout": 1, "swizzle_mode": len(SWIZZLES),
         "fill_mode": len(FILLS)}
"""Of the fields that are numbers of something, how many the machine has."""


class Maps:
    """The tensor maps of a launch. space: its GlobalSpace.

    >>> from simlayout.machine.engine.global_memory import Allocation
    >>> from simlayout.machine.ptx.memory.space import GlobalSpace
    >>> tensor = TensorMap.of(np.zeros((64, 64)), (16, 8))
    >>> maps = GlobalSpace(Allocation).maps
    >>> maps.named(maps.encoded(tensor), 0) is tensor
    True
    """

    def __init__(self, space):
        self._space, self._known = space, {}             # _known: bytes -> the TensorMap that they say

    def encoded(self, tensor_map: TensorMap) -> bytes:
        """The bytes of a TensorMap. Raises MachineError for one without an array."""
        if tensor_map.array is None:
            raise MachineError("a TensorMap without an array: make it with simlayout.TensorMap.of(array, box)")
        rank = len(tensor_map.dims)
        fields = np.zeros((), FIELDS)
        fields["mark"], fields["rank"] = MARK, rank - 1
        fields["global_address"] = self._space.address(tensor_map.array)
        fields["global_dim"][:rank], fields["global_stride"][:rank - 1] = tensor_map.dims, tensor_map.strides
        fields["box_dim"][:rank], fields["element_stride"][:rank] = tensor_map.box, tensor_map.element_strides
        fields["elemtype"] = ELEMENTS.index(_plain(tensor_map.dtype))
        fields["swizzle_mode"], fields["fill_mode"] = SWIZZLES.index(tensor_map.swizzle), FILLS.index(tensor_map.fill)
        self._known[fields.tobytes()] = tensor_map
        return fields.tobytes()

    def named(self, data: bytes, address: int) -> TensorMap:
        """The TensorMap that bytes at an address say. Raises MachineError for bytes that are none."""
        if data not in self._known:
            self._known[data] = self._decoded(np.frombuffer(data, FIELDS)[0], address)
        return self._known[data]

    def _decoded(self, fields, address):
        if fields["mark"] != MARK:
            raise MachineError(f"the bytes at {address:#x} are no tensor map that was passed: pass a simlayout.TensorMap as "
                               "the argument (what cuTensorMapEncodeTiled encodes is not documented, so it cannot be read)")
        rank, kind = int(fields["rank"]) + 1, int(fields["elemtype"])
        try:
            for field, known in KNOWN.items():
                if fields[field] >= known:
                    raise MachineError(f".{field} {fields[field]}: the machine has 0 to {known - 1}" if known > 1 else
                                       f".{field} {fields[field]}: the machine has none but 0")
            dims, strides, box, steps = ([int(v) for v in fields[name][:n]] for name, n in (
                ("global_dim", rank), ("global_stride", rank - 1), ("box_dim", rank), ("element_stride", rank)))
            array = self._array(int(fields["global_address"]), ELEMENTS[kind], dims, strides)
            return TensorMap(ELEMENTS[kind], tuple(dims), tuple(strides), tuple(box), tuple(steps),
                             SWIZZLES[int(fields["swizzle_mode"])], FILLS[int(fields["fill_mode"])], 0, array)
        except (SimlayoutError, IndexError) as error:
            raise MachineError(f"the tensor map at {address:#x}: {error}") from None

    def _array(self, address, dtype, dims, strides):
        """The NumPy array at an address."""
        dtype = TYPES[dtype].plain
        one = np.arange(32) == 0
        for allocation, _, offsets in self._space.resolve(np.full(32, address, np.uint64), one, dtype.itemsize):
            if allocation is None:
                break
            whole, first = _owner(allocation.bytes), int(offsets[0]) + allocation.zero
            steps = (dtype.itemsize, *strides)
            if first + sum((n - 1) * s for n, s in zip(dims, steps)) + dtype.itemsize > allocation.bytes.size:
                raise AddressError(f"a tensor of {dims} elements, strides {strides} bytes, reaches past the end of the "
                                   f"{allocation.text}")
            flat = whole.reshape(-1).view(np.uint8)[first:first + dtype.itemsize].view(dtype)
            return np.lib.stride_tricks.as_strided(flat, dims[::-1], steps[::-1])
        raise AddressError(f"a tensor at {address:#x}, {self._space.nearest(address)}")


def _owner(data):
    """The array whose bytes an Allocation has. MachineError if it has gaps."""
    array = data.base.array
    if not array.flags.c_contiguous:
        raise MachineError("a tensor map that a program makes needs an array without gaps: pass np.ascontiguousarray(array)")
    return array


@lru_cache(None)
def _plain(dtype):
    """The name of an element type as TMA knows it: what has no number of its own goes by its size."""
    return dtype if dtype in ELEMENTS else f"u{TYPES[dtype].bits}"


def is_map(value: object) -> bool:
    """Whether an argument is a TensorMap."""
    return isinstance(value, TensorMap)
