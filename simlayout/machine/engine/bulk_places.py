"""What a bulk copy reads or writes: the box of a tensor map, a run of bytes of an array, or one of shared memory.

Each has `bytes`, how many; `coords`, of a box; `load()`, what is there as 16-byte cells, uint8 [n, 16]. Those in global
memory also have `store(cells, reduce)`, `stored(cells)`, the bytes that a store of these cells writes, and `spans()`.
Reductions come with them.
"""

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SHARED_BYTES, AddressError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.arithmetic.floats import flush_f32
from simlayout.machine.hazards.proxies import CELL


def _added_flushed(there, comes):
    return flush_f32(flush_f32(there) + flush_f32(comes))


def _incremented(there, limit):
    return np.where(there >= limit, 0, there + 1).astype(there.dtype)


def _decremented(there, limit):
    return np.where((there == 0) | (there > limit), limit, there - 1).astype(there.dtype)


_ORDERED = "f16", "bf16", "u32", "s32", "u64", "s64"
REDUCTIONS = {"add": (np.add, ("f16", "bf16", "u32", "s32", "u64", "f32", "f64")),
              "min": (np.minimum, _ORDERED), "max": (np.maximum, _ORDERED),
              "inc": (_incremented, ("u32",)), "dec": (_decremented, ("u32",)),
              "and": (np.bitwise_and, ("b32", "b64")), "or": (np.bitwise_or, ("b32", "b64")),
              "xor": (np.bitwise_xor, ("b32", "b64"))}
"""Operation of a reduction -> what it does to (what is there, what comes), and of which element types (PTX ISA:
cp.reduce.async.bulk; ptxas 13.0 takes just these)."""

SHARED_REDUCTIONS = {"add": ("u32", "s32", "u64"), "min": ("u32", "s32"), "max": ("u32", "s32"), "inc": ("u32",),
                     "dec": ("u32",), "and": ("b32",), "or": ("b32",), "xor": ("b32",)}
"""Operation -> element types, of reductions whose destination is shared memory (from the same sources)."""


class Box:
    """The box of a simlayout.TensorMap at element coordinates."""

    def __init__(self, launch, tensor_map, coords):
        self._launch, self._map, self.coords, self.bytes = launch, tensor_map, coords, tensor_map.box_bytes

    def load(self):
        """See the module."""
        return _cells(self._map.gather(self.coords))

    def store(self, cells, reduce=None):
        """Writes cells; with `reduce` what is there becomes reduce(what is there, what the cells hold)."""
        values = self._values(cells)
        if reduce is not None:
            values = reduce(self._map.gather(self.coords), values)
        self._map.scatter(self.coords, values)

    def stored(self, cells):
        """See the module; innermost dimension first."""
        return self._values(cells)[self._map.inside(self.coords)].view(np.uint8)

    def used(self):
        """bool [cells, CELL]: which bytes of its cells are of elements of the tensor."""
        return np.repeat(self._map.inside(self.coords), self._map.itemsize).reshape(-1, CELL)

    def spans(self):
        """(Allocation, int64 [n] where in it the rows start, bytes of each): as far as they lie inside."""
        allocation = self._launch.allocation(self._map.array)
        starts, nbytes = self._map.spans(self.coords)
        return allocation, starts + allocation.origin, nbytes

    def _values(self, cells):
        return cells.reshape(-1).view(self._map.array.dtype).reshape(self._map.shape)


class Bytes:
    """nbytes of global memory where lane `lane` of a GlobalPointer points.

    Raises AddressError if they are outside of the array, or not whole aligned cells.
    """

    coords = ()

    def __init__(self, pointer, lane, nbytes, verb):
        self._allocation, positions = pointer.placed(np.arange(LANES) == lane, nbytes, CELL, verb)
        self._start, self.bytes = int(positions[0]), nbytes

    def load(self):
        """See the module."""
        return self._allocation.bytes[self._start:self._start + self.bytes].reshape(-1, CELL).copy()

    def store(self, cells, reduce=None):
        """Writes cells; with `reduce` what is there becomes reduce(the cells there, cells)."""
        if reduce is not None:
            cells = reduce(self.load(), cells)
        self._allocation.bytes[self._start:self._start + self.bytes] = cells.reshape(-1)

    @staticmethod
    def stored(cells):
        """See the module."""
        return cells.reshape(-1)

    def spans(self):
        """As of Box."""
        allocation = self._allocation
        return allocation, np.array([self._start + allocation.origin - allocation.zero]), self.bytes


class SharedBytes:
    """Cells of a CTA's shared memory. rows: int64 [n], which."""

    coords = ()

    def __init__(self, cta, rows):
        self._cta, self._rows, self.bytes = cta, rows, CELL * len(rows)

    def load(self):
        """See the module."""
        return self._cta.shared.load(self._rows, CELL)


def cells_at(instruction, shared, address, nbytes):
    """int64 [n]: the cells of nbytes of a SharedMemory from a byte address on. Raises AddressError.

    >>> from simlayout.machine.engine.memory import SharedMemory
    >>> cells_at("cp.async.bulk", SharedMemory(1024), 64, 48).tolist()
    [4, 5, 6]
    """
    check_size(instruction, nbytes)
    if address % CELL:
        raise AddressError(f"{instruction}: shared address {address} is no multiple of {CELL}: bulk copies move whole cells")
    if address < 0 or address + nbytes > shared.size:
        raise AddressError(f"{instruction}: {nbytes} bytes at {address} reach past the {shared.size} bytes of shared "
                           f"memory: ask for more dynamic shared memory ({SHARED_BYTES}) or fix the address")
    return np.arange(address // CELL, (address + nbytes) // CELL)


def check_size(instruction, nbytes):
    """Raises AddressError unless a bulk copy moves so many bytes."""
    if nbytes < 0 or nbytes % CELL:
        raise AddressError(f"{instruction} of {nbytes} bytes: a bulk copy moves a multiple of {CELL}; copy the rest "
                           "otherwise")


class CellReduction:
    """What a reduction of runs of bytes does to (cells that are there, cells that come), uint8 [n, 16] each.

    dtype: PTX's name of the elements' type; shared: whether the destination is shared memory. name: of the operation and the
    type; s32 and u32 have one sum. Raises MachineError for what PTX does not have.

    >>> add = CellReduction("cp.reduce.async.bulk", "add", "s32", shared=True)
    >>> one = np.ones((1, 4), np.int32).view(np.uint8)
    >>> add.name, add(one, one).view(np.int32).tolist()
    ('add.u32', [[2, 2, 2, 2]])
    """

    def __init__(self, instruction, op, dtype, shared=False):
        self._function, self._dtype = reduction(instruction, op, dtype, shared), TYPES[dtype].numpy
        if (op, dtype) == ("add", "f32"):
            self._function = _added_flushed
        self.name = "add.u32" if (op, dtype) == ("add", "s32") else f"{op}.{dtype}"

    def __call__(self, there, comes):
        return _cells(self._function(there.view(self._dtype), comes.view(self._dtype)))


def reduction(instruction, op, dtype=None, shared=False):
    """What a reduction does to elements: see REDUCTIONS. dtype: PTX's name of their type; None: not to be checked."""
    if not isinstance(op, str) or op not in REDUCTIONS:
        raise MachineError(f"{instruction} {op!r}: the machine has {', '.join(REDUCTIONS)}")
    function, dtypes = REDUCTIONS[op][0], (SHARED_REDUCTIONS[op] if shared else REDUCTIONS[op][1])
    if dtype is not None and dtype not in dtypes:
        raise MachineError(f"{instruction} {op} of {dtype}: it takes {', '.join(dtypes)}{' in shared memory' * shared}")
    return function


def _cells(values):
    """Elements as 16-byte cells, uint8 [n, 16]."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1, CELL)
