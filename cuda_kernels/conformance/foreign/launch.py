"""PTX on the GPU through the CUDA driver alone: any entry, arguments in any order."""

import ctypes
from math import prod

import numpy as np

from cuda_kernels.conformance.foreign.row import Structure
from cuda_kernels.run import driver
from simlayout.errors import SimlayoutError
from simlayout.machine.ptx.parser.grammar import parse

KINDS = {"f32": ctypes.c_float, "f64": ctypes.c_double, "u8": ctypes.c_uint8, "s8": ctypes.c_uint8, "u16": ctypes.c_uint16,
         "s16": ctypes.c_uint16, "b16": ctypes.c_uint16, "u32": ctypes.c_uint32, "s32": ctypes.c_uint32,
         "b32": ctypes.c_uint32, "u64": ctypes.c_uint64, "s64": ctypes.c_uint64, "b64": ctypes.c_uint64}


def parameters_of(text, symbol):
    """The types of an entry's .params, in order: ("u64", 1), or ("b8", 128) for a structure.

    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry f(.param .u64 .ptr .global a, "
    >>> parameters_of(text + ".param .align 64 .b8 b[128], .param .f32 c) { ret; }", "f")
    [('u64', 1), ('b8', 128), ('f32', 1)]
    """
    return [(one.type, prod(one.shape)) for one in parse(text).functions[symbol].parameters]


def owner_of(array):
    """The array whose memory another one lies in: itself, unless it is a view.

    >>> whole = np.arange(12)
    >>> owner_of(np.lib.stride_tricks.as_strided(whole[2:], (2, 3), (32, 8))) is whole       # with a dummy in between
    True
    """
    owner = array
    while (base := getattr(owner, "base", None)) is not None:
        owner = base
    return owner if isinstance(owner, np.ndarray) else array


class Arguments:
    """The arguments of one launch, in host memory that does not move: what `driver.Launch` takes as its parameters.

    types: `parameters_of` the entry; values: arrays (copied to the GPU), numbers, TensorMaps, Structures.
    """

    def __init__(self, cuda, device, types, values):
        if len(types) != len(values):
            raise SimlayoutError(f"{len(values)} arguments for {len(types)} parameters")
        self._places, self._keep, self._copies = [], [], {}
        for (kind, count), value in zip(types, values):
            if isinstance(value, np.ndarray):
                place = ctypes.c_uint64(self._copied(value))
            elif hasattr(value, "box"):
                place = self._aligned(self._map(cuda, device, value))
            elif isinstance(value, Structure):
                place = self._aligned(b"".join(self._field(cuda, device, field) for field in value))
            elif kind == "b8":
                place = (ctypes.c_uint8 * count).from_buffer_copy(bytes(value))
            else:
                number = KINDS[kind]
                place = number(value) if kind[0] == "f" else number(int(value) & (1 << 8 * ctypes.sizeof(number)) - 1)
            self._keep.append(place)
            self._places.append(ctypes.addressof(place))
        self._list = (ctypes.c_void_p * len(values))(*self._places)
        self.pointer = ctypes.c_void_p(ctypes.addressof(self._list))

    def _copied(self, array):
        """The address of a copy on the GPU of the whole memory that an array lies in, at the array's first byte; the same
        memory has one copy."""
        from numba import cuda

        whole = owner_of(array)
        at = whole.__array_interface__["data"][0]
        if (at, whole.nbytes) not in self._copies:
            held = whole.ravel("K").view(np.uint8)   # in the order in which it lies; of types, too, that Numba does not know
            self._copies[at, whole.nbytes] = cuda.to_device(held), held
        there, _ = self._copies[at, whole.nbytes]
        return there.__cuda_array_interface__["data"][0] + array.__array_interface__["data"][0] - at

    def _field(self, cuda, device, field):
        """The bytes of a structure's field."""
        if isinstance(field, bytes):
            return field
        return self._map(cuda, device, field) if hasattr(field, "box") else self._copied(field.to).to_bytes(8, "little")

    def _map(self, cuda, device, tensor):
        """The bytes of a tensor map."""
        room = self._aligned(bytes(driver.MAP_BYTES))
        driver.TensorMapMaker(cuda, device, tensor).encode(ctypes.addressof(room), self._copied(tensor.array))
        return bytes(room)

    def _aligned(self, data):
        """Bytes where a tensor map may lie."""
        room = (ctypes.c_uint8 * (len(data) + driver.MAP_ALIGNMENT))()
        self._keep.append(room)
        at = -(-ctypes.addressof(room) // driver.MAP_ALIGNMENT) * driver.MAP_ALIGNMENT
        ctypes.memmove(at, data, len(data))
        return (ctypes.c_uint8 * len(data)).from_address(at)

    def fetch(self):
        """Copies every array back to where it came from."""
        for there, held in self._copies.values():
            there.copy_to_host(held)


def launch(text, symbol, grid, block, values, shared_bytes=0, cluster=1):
    """Runs an entry of a PTX text on the current GPU; arrays are changed in place. Raises DeviceError if it fails."""
    from numba import cuda as numba_cuda

    cuda, device = driver.cuda(), numba_cuda.get_current_device().id
    held = Arguments(cuda, device, parameters_of(text, symbol), values)
    kernel = cuda.kernel(symbol, text.encode() + b"\0", shared_bytes, device, symbol)
    driver.Launch(cuda, device, kernel, driver.Shape(grid, block, shared_bytes, cluster), held, symbol)(0)
    cuda.synchronize(device, 0)
    held.fetch()
