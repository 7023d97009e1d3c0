"""Addresses of a PTX program: which array, which shared, local or parameter bytes a 64-bit number means.

Arrays that are passed get addresses as if a GPU allocator had placed them, aligned to 256 bytes and far apart, the same in
every run. Shared, local and parameter memory appear in windows of the generic address space (PTX ISA, Generic Addressing).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from simlayout.machine.ptx.memory.maps import Maps

FIRST, ALIGNMENT, GAP = 0x7F00_0000_0000, 512, 1 << 20
"""Where the first array lies; what all are aligned to, and how far apart they are at least, in bytes."""

SHARED, LOCAL, PARAMETERS = 0x7E00_0000_0000, 0x7D00_0000_0000, 0x7C00_0000_0000
"""Where the windows of shared (of the cluster), local and parameter memory begin."""

HEAP = 0x7B00_0000_0000
"""Where the heap of a module lies."""

NEAR = 4096
"""An address so many bytes off an argument, or off null, is likely to be meant for it, whatever else lies nearer."""

WINDOW, RANK = 1 << 32, 1 << 24
"""Bytes of each window; and of each CTA's part in that of a cluster, whose first part is the CTA's own (PTX ISA: mapa)."""


def in_window(addresses: np.ndarray) -> np.ndarray:
    """int64: where addresses of shared memory, uint64, are in its window. ptxas takes their lower 32 bits, so they may be
    generic ones, and sums wrap: what lies below 0 is negative."""
    return addresses.astype(np.int32).astype(np.int64)


class GlobalSpace:
    """The arrays of a launch by address. allocate: gives the Allocation of an array (`Launch.allocation`). workspace: the
    address of the barrier of all CTAs, 0 if they do not run together.

    >>> from simlayout.machine.engine.global_memory import Allocation
    >>> space = GlobalSpace(Allocation)
    >>> a = np.arange(8, dtype=np.int32)
    >>> hex(space.address(a)), hex(space.address(a[2:])), space.address(np.zeros(3)) - space.address(a) > 1000
    ('0x7f0000000000', '0x7f0000000008', True)
    """

    def __init__(self, allocate):
        self._allocate, self._next = allocate, FIRST
        self.heap: Any = None                            # the Heap of `malloc` in kernels
        self._roots = {}                                 # where memory lies in this process -> its address
        self._known = set()                              # id of each Allocation, which _ranges keep
        self.maps, self._placed = Maps(self), []
        self.workspace = 0
        self._ranges = []                                # (first byte, one past the last, Allocation, address of element 0)

    def address(self, array: np.ndarray) -> int:
        """The address of element [0, ..., 0]; arrays that share memory share addresses."""
        allocation = self._allocate(array)
        if allocation.root not in self._roots:
            self._roots[allocation.root] = self._placed_at(allocation)
        at = self._roots[allocation.root] + allocation.origin
        first = at - allocation.zero
        entry = first, first + allocation.bytes.size, allocation, at
        if id(allocation) not in self._known:
            self._known.add(id(allocation))
            self._ranges.insert(0, entry)
        return at

    def goes_on_from(self, other: "GlobalSpace") -> None:
        """What another space has given an address has it here, too, once it is admitted."""
        self._roots, self._next = dict(other._roots), other._next

    def passed(self, array: np.ndarray, position: int, name: str) -> None:
        """An array is an argument of the launch, the first of which has position 1; name: of the parameter, or ""."""
        self._allocate(array).passed_as(position, name)

    def _placed_at(self, allocation):
        """The address of the first byte of the memory that an Allocation is a part of."""
        if self.heap is not None and self.heap.is_at(allocation.root[0]):
            return HEAP
        low, high = allocation.root
        skew = (allocation.aligned - allocation.origin) % 256
        at = self._next + skew
        self._next += -(-(high - low + skew + GAP) // ALIGNMENT) * ALIGNMENT
        return at

    def malloc(self, nbytes: int) -> int:
        """The address of so many bytes of the heap, 0 where it has no room. Whoever had them before is forgotten."""
        start = self.heap.allocate(nbytes)
        if start is None:
            return 0
        shadow = self._allocate(self.heap.bytes).shadow
        if shadow is not None:
            shadow.forget(start, start + nbytes)
        return self.address(self.heap.bytes) + start

    def free(self, address: int) -> None:
        """Gives bytes of the heap back. Raises AddressError for an address that malloc has not given."""
        self.heap.free(address - self.address(self.heap.bytes))

    def admit(self, array: np.ndarray, text: str) -> None:
        """Memory that a launch may touch; text: what it is."""
        self.address(array)
        self._allocate(array).text = text

    def expect(self, parameters: np.ndarray) -> None:
        """A launch has these parameters, uint8: what they point to will be touched."""

    @property
    def count(self) -> int:
        """How many arrays there are."""
        return len(self._ranges)

    def writeable(self) -> Iterator[np.ndarray]:
        """uint8: the memory of each array that may be written."""
        yield from (allocation.bytes for *_, allocation, _ in self._ranges if allocation.bytes.flags.writeable)

    def memory(self) -> Iterator[tuple[int, int, int, bool]]:
        """(first address, one past the last, where that is in this process, whether it may be written) of each array; of
        those that have the same bytes once."""
        yield from dict.fromkeys(
            (first, last, allocation.bytes.__array_interface__["data"][0], allocation.bytes.flags.writeable)
            for first, last, allocation, _ in self._ranges)

    def ranges(self) -> np.ndarray:
        """int64 [n, 5], of each array, by address: the first one, bytes, where that is in this process, whether it may be
        written, and where it begins among all, each at a cell of its own of 8 bytes."""
        made, cells = [], 0
        for first, last, here, writeable in sorted(self.memory()):
            made.append((first, last - first, here, writeable, cells))
            cells += (last - first + 15) // 8 * 8
        return np.array(made, np.int64)

    def map_address(self, tensor_map: Any) -> int:
        """The address of a tensor map that lies in global memory."""
        return self.place(np.frombuffer(self.maps.encoded(tensor_map), np.uint8))

    def place(self, data: np.ndarray) -> int:
        """The address of a copy of some bytes, which lives as long as the launch."""
        data = data.copy()
        self._placed.append(data)
        return self.address(data)

    def resolve(self, addresses: np.ndarray, active: np.ndarray, nbytes: int) -> Iterator[tuple]:
        """(Allocation, lanes bool [32], offsets int64 [32]) of each array in which active lanes have nbytes at addresses,
        uint64 [32]; (None, lanes, None) of those in none."""
        signed, left = addresses.view(np.int64), active
        for first, last, allocation, zero in self._ranges:
            here = left & (signed >= first) & (signed <= last - nbytes)
            if here.any():
                yield allocation, here, signed - zero
                left = left & ~here
                if not left.any():
                    return
        if left.any():
            yield None, left, None

    def nearest(self, address, passed=()):
        """What lies nearest to an address, as text: of the arrays that some of `passed`, addresses, are in; where there are
        none, an argument, if it is not much farther than it is long."""
        if address < NEAR:
            return "behind a null pointer"

        def far(entry):
            return max(entry[0] - address, address - entry[1] + 1)

        meant = [entry for entry in self._ranges if any(entry[0] <= at < max(entry[1], entry[0] + 1) for at in passed)]
        likely = [entry for entry in self._ranges if entry[2].is_passed and far(entry) <= max(NEAR, entry[1] - entry[0])]
        best = min(meant or likely or self._ranges, key=far, default=None)
        if best is None:
            return "where no array is"
        first, last, allocation, _ = best
        if first <= address < last:
            return f"{address - first} bytes into the {allocation.text}"
        (low, high), start = allocation.root, self._roots.get(allocation.root, 0)
        viewed = ", in the memory of which that is a view" * (start <= address < start + high - low)
        if address < first:
            return f"{first - address} bytes before the {allocation.text}{viewed}"
        return (f"{f'{address - last} bytes past' if address > last else 'right behind'} the end of the {allocation.text}"
                + viewed)
