"""Global memory: the bytes of NumPy arrays behind pointers, and what its shadow is told of loads and stores."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from simlayout.errors import AddressError, MachineError, brief
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.memory import PerLane, lane_addresses
from simlayout.machine.hazards.units import in_array


class _Span:
    """A range of bytes of memory as NumPy asks for it: `np.asarray(span)` is uint8 and views them."""

    def __init__(self, array, low, high):
        self.array = array                               # keeps the memory alive
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (high - low,),
                                    "data": (low, not array.flags.writeable)}


def _bounds(array):
    """(lowest byte address, one past the highest) of an array with elements."""
    start = array.__array_interface__["data"][0]
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    return start + sum(s for s in steps if s < 0), start + sum(s for s in steps if s > 0) + array.itemsize


def _buffer(array):
    """uint8: all of the buffer whose memory an array is made of; the array itself where none is behind it."""
    try:
        return array if array.base is None else np.frombuffer(array.base, np.uint8)
    except (TypeError, ValueError, BufferError):
        return array


@dataclass(frozen=True, slots=True)
class Store:
    """What a store does to global memory: uint8 [n, nbytes] data of n lanes, what was there before, and what is there after.

    width: bytes of one of its values, of which a vector has several; strong: as of `GlobalPointer.read`.
    """

    data: np.ndarray
    before: np.ndarray
    after: np.ndarray
    width: int
    strong: bool


class Allocation:
    """The bytes that an array argument gives a kernel: from the array's lowest to its highest.

    bytes: uint8, these; zero: where in them element [0, ..., 0] lies; text: what they are
    root: the addresses where the memory that the array views begins and ends, or the buffer that this is a part of
    origin: where element [0, ..., 0] lies in that
    aligned: how far that element is from the start of the viewed memory, taken for a GPU allocation (aligned to 256 bytes)
    elements: how bytes are told: (bytes of an element, shape, strides)
    shadow: the GlobalShadow of the root, if hazards are looked for; launch: whose warps read and write it, if any
    """

    def __init__(self, array):
        if not isinstance(array, np.ndarray):
            raise MachineError(f"a kernel is given an array of NumPy, not {brief(array)}: wrap it in np.asarray")
        if array.dtype.hasobject:
            raise MachineError(f"an array of {array.dtype} holds Python objects, and a GPU sees bytes: give it a dtype of "
                               "fixed size")
        self.text = f"{array.dtype} array of shape {array.shape}"
        self.elements = array.itemsize, array.shape, array.strides
        self.bytes, self.zero, self.aligned, self._windows = np.empty(0, np.uint8), 0, 0, {}
        self.root, self.origin, self.shadow, self.launch = (0, 0), 0, None, None
        if array.size:
            root = array
            while isinstance(root.base, np.ndarray):
                root = root.base
            start, (low, high) = array.__array_interface__["data"][0], _bounds(array)
            self.bytes = np.asarray(_Span(array, low, high))
            self.zero, self.aligned = start - low, start - _bounds(root)[0]
            self.root = _bounds(_buffer(root))
            self.origin = start - self.root[0]

    def told(self, bytes):
        """Sorted bytes from element [0, ..., 0] as text."""
        return f"{in_array(bytes, *self.elements)} of the {self.text}"

    @property
    def is_passed(self):
        """Whether it is an argument of a launch."""
        return " of argument " in self.text

    def passed_as(self, position, name=""):
        """It is an argument of a launch: the first has position 1."""
        if not self.is_passed:                           # an array that is passed twice is the first
            self.text += f" of argument {position}" + (f" ({name})" if name else "")

    def window(self, nbytes):
        """uint8 [positions, nbytes]: row p is the nbytes bytes from position p on (a view; rows overlap)."""
        if nbytes not in self._windows:
            shape = self.bytes.size - nbytes + 1, nbytes
            self._windows[nbytes] = np.lib.stride_tricks.as_strided(self.bytes, shape, (1, 1))
        return self._windows[nbytes]

    def positions(self, offset, active, nbytes, alignment, verb):
        """int64 [active lanes]: where in the bytes each active lane's access starts. Raises AddressError."""
        offsets = lane_addresses(offset, f"{verb} global memory")[active]
        positions = offsets + self.zero
        outside = np.bitwise_or.reduce(positions | (self.bytes.size - nbytes - positions)) < 0
        if outside or np.bitwise_or.reduce(offsets + self.aligned) & (alignment - 1):
            self._fault(active, offsets, nbytes, alignment, verb)
        return positions

    def read(self, positions, active, nbytes, alignment, strong, copies, width, used=None):
        """Tells the shadow of a load; returns its Access."""
        at, alignment = positions + (self.origin - self.zero), gcd(alignment, self.origin - self.aligned)
        lanes = _lanes(active)
        if used is not None:
            nbytes, elements = used
            at, lanes = (at[:, None] + nbytes * np.array(elements)).reshape(-1), np.repeat(lanes, len(elements))
        return self.shadow.read(at, lanes, nbytes, gcd(alignment, nbytes), self, strong, copies, width)

    def wrote(self, positions, active, store, alignment):
        """Tells the shadow of a Store; returns its Access."""
        at, alignment = positions + (self.origin - self.zero), gcd(alignment, self.origin - self.aligned)
        return self.shadow.wrote(at, _lanes(active), store, alignment, self)

    def watched(self, shadows, make):
        """This allocation, its memory under the shadow that `shadows` ({root: shadow}) has or `make(bytes)` makes."""
        if self.root not in shadows:
            low, high = self.root
            shadows[self.root] = make(high - low)
        self.shadow = shadows[self.root]
        return self

    def _fault(self, active, offsets, nbytes, alignment, verb):
        low, high = -self.zero, self.bytes.size - self.zero - 1
        for lane, offset in zip(np.flatnonzero(active).tolist(), offsets.tolist(), strict=True):
            if offset < low or offset + nbytes - 1 > high:
                there = f"bytes {low} to {high}" if self.bytes.size else "no bytes"
                raise AddressError(f"lane {lane} {verb} bytes {offset} to {offset + nbytes - 1}, outside the "
                                   f"{self.text} ({there}): guard the access or fix the address")
            if (offset + self.aligned) % alignment:
                raise AddressError(f"lane {lane} {verb} {nbytes} bytes at byte {offset} of the {self.text}, not "
                                   f"aligned to {alignment}: use a narrower access, or rows of a multiple of it")


_ALL = np.arange(LANES)


def _lanes(active):
    """int64 [n]: the lanes in a mask."""
    return _ALL if active.all() else np.flatnonzero(active)


class Cells:
    """The bytes that lanes change one after another, where each of them points: positions int64 [n] in an Allocation."""

    def __init__(self, allocation, positions, nbytes):
        self._window, self._positions, self._launch = allocation.window(nbytes), positions, allocation.launch

    def load(self, which):
        """uint8 [m, nbytes] of some of the n."""
        return self._window[self._positions[which]]

    def store(self, which, data):
        """Writes uint8 [m, nbytes] to some of the n, of which no two are at one place; the launch is told of a change."""
        at = self._positions[which]
        if self._launch is not None and (self._window[at] != data).any():
            self._launch.changes += 1
        self._window[at] = data


_NO_ELEMENTS = ("an array is a pointer to bytes here, without elements: take an instruction, as in "
                "ld_global_f32(a + 4 * i); a kernel of numba.cuda, with a[i], runs by simlayout.simulate")


class GlobalPointer:
    """A byte pointer into a NumPy array: what a kernel receives for an array argument.

    `pointer + n` moves by n bytes, uniform (int) or lane by lane (int array [32]). The pointer starts at element
    [0, ..., 0] whatever the strides are; legal are the bytes from the array's lowest to its highest. Alignment counts
    from the start of the memory that the array views, as if a GPU allocator (256-byte aligned) had made it.

    array: of any dtype. offset: bytes from element [0, ..., 0].

    >>> a = np.arange(64, dtype=np.int32)
    >>> pointer = GlobalPointer(a) + 4 * np.arange(32)
    >>> pointer.read(np.full(32, True), 4).view(np.int32)[:3, 0].tolist()
    [0, 1, 2]
    """

    __slots__ = ("offset", "_allocation")
    __array_ufunc__ = None                               # `int array + pointer` comes to __radd__

    def __init__(self, array: np.ndarray | Allocation, offset: PerLane = 0):
        self.offset = offset
        self._allocation = array if isinstance(array, Allocation) else Allocation(array)

    def __add__(self, distance):
        if isinstance(distance, GlobalPointer):
            raise AddressError("two pointers cannot be added: add a distance in bytes")
        if not isinstance(distance, int) and np.asarray(distance).dtype.kind not in "iu":
            raise AddressError(f"a pointer moves by whole bytes, not by {distance!r}")
        return GlobalPointer(self._allocation, self.offset + distance)

    __radd__ = __add__

    def __sub__(self, distance):
        return self + (-distance)

    def __mod__(self, n):
        """How far the pointer is past a multiple of n bytes, a power of two up to 256; AddressError for other n."""
        if n < 1 or 256 % int(n):
            raise AddressError(f"a pointer's remainder by {n} is not known: arrays start on 256 bytes; take a power of two "
                               "up to that")
        return (self.offset + self._allocation.aligned) % int(n)

    def __getitem__(self, index):
        """Refused: a pointer has no elements."""
        raise MachineError(_NO_ELEMENTS)

    def __setitem__(self, index, value):
        """Refused: a pointer has no elements."""
        raise MachineError(_NO_ELEMENTS)

    def __repr__(self):
        where = self.offset if isinstance(self.offset, int) else "lane-varying"
        return f"GlobalPointer({self._allocation.text}, offset {where})"

    def addresses(self) -> np.ndarray:
        """int64 [32]: where the lanes point, in bytes from the start of the allocation (which is aligned to 256)."""
        return lane_addresses(self.offset, "pointer") + self._allocation.aligned

    def merged(self, lanes: np.ndarray, other: "GlobalPointer") -> "GlobalPointer":
        """This pointer in the lanes of a mask, `other` in the rest; both must point into one array."""
        mine, theirs = self._allocation, other._allocation
        if mine is not theirs:
            raise MachineError(f"a pointer into the {mine.text} in some lanes and into the {theirs.text} in others: "
                               "keep two pointers and put the access inside the `if`")
        return GlobalPointer(mine, np.where(lanes, self.offset, other.offset))

    @property
    def start(self) -> int:
        """The address in this process from which `addresses` count."""
        return self._allocation.root[0] + self._allocation.origin - self._allocation.aligned

    def placed(self, active: np.ndarray, nbytes: int, alignment: int, verb: str) -> tuple[Allocation, np.ndarray]:
        """(Allocation, int64 [active lanes]): where in its bytes each active lane points, checked as for an access.

        verb: what an error says that the lane does, "reads" or "writes".
        """
        allocation = self._allocation
        if verb != "reads" and not allocation.bytes.flags.writeable:
            raise AddressError(f"the {allocation.text} is read-only: pass a writeable array")
        return allocation, allocation.positions(self.offset, active, nbytes, alignment, verb)

    def peek(self, active: np.ndarray, nbytes: int) -> np.ndarray:
        """As `read`, but nobody is told: what a thread that waits looks at again and again."""
        positions = self._allocation.positions(self.offset, active, nbytes, nbytes, "reads")
        data = np.zeros((LANES, nbytes), np.uint8)
        data[active] = self._allocation.window(nbytes)[positions]
        return data

    def read(self, active: np.ndarray, nbytes: int, alignment: int | None = None, strong: bool = False,
             copy: Any = None, width: int | None = None, used: tuple[int, Sequence[int]] | None = None) -> np.ndarray:
        """uint8 [32, nbytes] from where each active lane points; zeros in the others.

        active: bool [32]; alignment: in bytes, a power of two, by default nbytes; strong: whether it may meet other strong
        accesses without being ordered (PTX ISA: Memory Consistency Model); copy: the Warp, if it is a cp.async, which
        `Warp.commit_copy` issues next: then it goes on until that copy lands; width: bytes of a value, if each lane loads a
        vector of them; used: as of `Warp.shared_load`. Raises AddressError.
        """
        alignment = alignment or nbytes
        positions = self._allocation.positions(self.offset, active, nbytes, alignment, "reads")
        data = np.zeros((LANES, nbytes), np.uint8)
        if positions.size:
            data[active] = self._allocation.window(nbytes)[positions]
            if self._allocation.shadow is not None:
                access = self._allocation.read(positions, active, nbytes, alignment, strong, copy is not None,
                                               width or nbytes, used)
                if copy is not None:
                    copy.fetched.append(access)
            if copy is None and self._allocation.launch is not None:
                self._allocation.launch.running.polled(positions, data)
        return data

    def write(self, active: np.ndarray, data: np.ndarray, alignment: int | None = None, strong: bool = False,
              width: int | None = None) -> None:
        """Stores uint8 [32, nbytes] where each active lane points; of lanes that collide the last one wins.

        active: bool [32]; alignment, strong: as of `read`; width: bytes of a value, if each lane stores a vector of them.
        Raises AddressError.
        """
        alignment = alignment or data.shape[1]
        positions, data, before = self._store(active, data, alignment)
        if positions.size and self._allocation.shadow is not None:
            after = self._allocation.window(data.shape[1])[positions]
            store = Store(data, before, after, gcd(width or data.shape[1], alignment), strong)
            self._allocation.wrote(positions, active, store, alignment)

    def cells(self, active: np.ndarray, nbytes: int) -> "Cells":
        """The Cells to which active lanes point: what their atomic changes, which `update` has told of."""
        return Cells(*self.placed(active, nbytes, nbytes, "writes"), nbytes)

    def update(self, active: np.ndarray, nbytes: int, width: int | None = None) -> Any:
        """Tells that each active lane changes nbytes where it points by an atomic, whose lanes do so one after another; the
        Access, None where nobody looks for hazards. width: as of `write`."""
        if self._allocation.shadow is None:
            return None
        positions = self._allocation.positions(self.offset, active, nbytes, nbytes, "writes")
        held = self._allocation.window(nbytes)[positions]
        return self._allocation.wrote(positions, active, Store(held, held, held, width or nbytes, True), nbytes)

    def _store(self, active, data, alignment):
        """Stores uint8 [32, nbytes]; (positions, what is stored, what was there before), of the active lanes."""
        if not self._allocation.bytes.flags.writeable:
            raise AddressError(f"the {self._allocation.text} is read-only: pass a writeable array")
        positions = self._allocation.positions(self.offset, active, data.shape[1], alignment, "writes")
        window, data, launch = self._allocation.window(data.shape[1]), data[active], self._allocation.launch
        before = window[positions]
        if launch is not None and (before != data).any():
            launch.changes += 1
        window[positions] = data
        return positions, data, before
