"""A GPU that is simulated: memory, modules of PTX, launches. What libraries see of it is up to their adapters.

Addresses of its memory are addresses of this process, so that memory which host and device share has one address.
"""

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import prod
from threading import Lock, RLock
from time import perf_counter
from typing import Any

import numpy as np

from simlayout.errors import HazardError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.launch import MOST_TOGETHER
from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.languages import NUMBA
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.entry import MOST_WARPS, Entry
from simlayout.machine.ptx.memory.heap import Heap
from simlayout.machine.ptx.memory.space import GlobalSpace
from simlayout.machine.ptx.module import Module
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.programs.unset import unset, written
from simlayout.progress import Console

ALIGNMENT = 512
"""Of what is allocated, in bytes, as cudaMalloc's is (seen on an H100 and an H200)."""

LEAST_APART, MOST_APART = 1 << 12, 1 << 16
"""Bytes behind an allocation that are no other one's: as many as it has itself, between these. So an index that leaves an
array by a row or two is outside all of them."""

MOST_ASKED = 64
"""Answers that are kept of what lies at some addresses: many launches pass the same arrays again and again."""

MOST_FILLED = 1 << 28
"""Bytes of an allocation that are filled, so that a read of what was never written shows."""


class _Memory:
    """Bytes at an address of this process, as NumPy asks for them; keeps what they are a part of."""

    def __init__(self, address, nbytes, owner):
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (nbytes,), "data": (address, False)}


class DeviceMemory:
    """What is allocated, by address.

    >>> memory = DeviceMemory()
    >>> address = memory.allocate(100)
    >>> address % 512, memory.extent(address + 99) == (address, 100), memory.extent(address + 100)
    (0, True, None)
    >>> memory.free(address)
    >>> memory.used
    0
    """

    def __init__(self):
        self._starts: list[int] = []
        self._arrays: dict[int, np.ndarray] = {}
        self._ends: tuple[np.ndarray, np.ndarray] | None = None      # where each begins and ends, while nothing changes
        self._asked: dict[Any, Any] = {}                             # answers of `all_at` and `ranges`, likewise
        self._lock = Lock()
        self.texts: dict[int, str] = {}                              # where it begins -> which argument of a launch it is
        self.elements: dict[int, tuple] = {}                         # likewise, where they are known
        self.seen = False                                            # whether the host may have read any of it
        self.fresh: set[int] = set()                                 # where what begins that nothing has written

    @property
    def used(self) -> int:
        """Bytes that are allocated."""
        return sum(array.size for array in self._arrays.values())

    def allocate(self, nbytes: int, fresh: bool = False) -> int:
        """The address of nbytes new bytes, which are 0xFF: a read of what was never written shows. Those of more than
        MOST_FILLED are 0, and take room in this process only where they are touched. fresh: whether it will be said what is
        `written` there."""
        room = np.zeros(nbytes + ALIGNMENT + min(max(nbytes, LEAST_APART), MOST_APART), np.uint8)
        first = -room.ctypes.data % ALIGNMENT
        if nbytes <= MOST_FILLED:
            room[first:first + nbytes] = 0xFF
        address = self.adopt(room.ctypes.data + first, nbytes, room)
        if fresh:
            self.fresh.add(address)
        return address

    def written(self, address: int) -> None:
        """Something has been written to the allocation that an address lies in."""
        extent = self.extent(address) if self.fresh else None
        if extent is not None:
            self.fresh.discard(extent[0])

    def adopt(self, address: int, nbytes: int, owner: Any = None) -> int:
        """Makes memory of this process the device's too; returns its address. owner: kept as long as the memory is."""
        with self._lock:
            if address not in self._arrays:
                self._starts.insert(bisect_right(self._starts, address), address)
            self._arrays[address] = np.asarray(_Memory(address, nbytes, owner))
            self._changed()
        return address

    def free(self, address: int) -> None:
        """Gives memory back. Raises MachineError if none begins there."""
        with self._lock:
            if address not in self._arrays:
                raise MachineError(f"no memory was allocated at {address:#x}, or it is free already")
            del self._starts[bisect_left(self._starts, address)]
            del self._arrays[address]
            self.fresh.discard(address)
            self._changed()

    def _changed(self):
        self._ends, self._asked = None, {}

    def find(self, address: int) -> np.ndarray | None:
        """uint8: the allocation that an address lies in."""
        at = bisect_right(self._starts, address)
        if not at:
            return None
        array = self._arrays[self._starts[at - 1]]
        return array if address < self._starts[at - 1] + max(array.size, 1) else None

    def all_at(self, addresses: np.ndarray) -> dict[int, np.ndarray]:
        """{where it begins: the allocation}, by address, of all that some addresses, uint64, lie in."""
        with self._lock:
            if self._ends is None:
                starts = np.array(self._starts, np.uint64)
                sizes = [max(self._arrays[start].size, 1) for start in self._starts]
                self._ends = starts, starts + np.array(sizes, np.uint64)
            starts, ends = self._ends
            behind = np.searchsorted(starts, addresses, "right")         # the first that begins behind each address
            hits = behind[addresses < ends[behind - 1]] if len(starts) else behind[:0]
            return self._once(hits.tobytes(), lambda: {self._starts[at - 1]: self._arrays[self._starts[at - 1]]
                                                       for at in sorted(set(hits.tolist()) - {0})})

    def ranges(self, starts: Iterable[int], make: Callable[[], np.ndarray]) -> np.ndarray:
        """What make() tells of the allocations that begin there, as long as none changes."""
        with self._lock:
            return self._once(tuple(starts), make)

    def _once(self, key, make):
        if key not in self._asked:
            if len(self._asked) == MOST_ASKED:
                self._asked = {}
            self._asked[key] = make()
        return self._asked[key]

    def passed(self, address: int, text: str, elements: tuple | None = None) -> None:
        """The allocation that an address lies in is an argument, as a text such as " of argument 1 (a)" says. elements: as
        of Allocation, of an array that begins there."""
        extent = self.extent(address)
        if extent is not None:
            self.texts[extent[0]] = text
            if elements is not None and extent[0] == address:
                self.elements[address] = elements

    def forget_passed(self) -> None:
        """No allocation is an argument any more."""
        self.texts, self.elements = {}, {}

    def extent(self, address: int) -> tuple[int, int] | None:
        """(where the allocation begins, its bytes) that an address lies in."""
        array = self.find(address)
        return None if array is None else (array.ctypes.data, array.size)

    def check(self, address: int, nbytes: int, what: str) -> None:
        """Raises MachineError unless all nbytes bytes at an address are of one allocation."""
        extent = self.extent(address) if nbytes else (address, 0)
        if extent is None:
            raise MachineError(f"{what}: {address:#x} is no address of this device's memory, or it was freed")
        start, size = extent
        if address + nbytes > start + size:
            raise MachineError(f"{what}: {nbytes} bytes at {address:#x}, and the allocation of {size} bytes has "
                               f"{start + size - address} from there on")


def move(target: int, source: int, nbytes: int) -> None:
    """Copies bytes of this process; they may overlap."""
    ctypes.memmove(target, source, nbytes)


class DeviceSpace(GlobalSpace):
    """The memory of a SimulatedDevice as one launch sees it: what is allocated, once it is touched or expected to be.

    What is expected has an Allocation when Python looks for an address: the compiled loop needs none.
    """

    def __init__(self, memory: DeviceMemory, allocate: Callable):
        super().__init__(allocate)
        self._memory = memory
        self._expected: dict[int, np.ndarray] = {}           # where it begins -> memory without an Allocation

    def _placed_at(self, allocation):
        return allocation.root[0]

    def admit(self, array: np.ndarray, text: str) -> None:
        """As of GlobalSpace."""
        start = array.__array_interface__["data"][0]
        self._memory.texts[start] = f" of {text}"
        self._expected = self._expected | {start: array}

    def expect(self, parameters: np.ndarray) -> None:
        """As of GlobalSpace."""
        self._expected = self._expected | self._memory.all_at(parameters[:len(parameters) // 8 * 8].view(np.uint64))

    @property
    def count(self) -> int:
        """As of GlobalSpace."""
        return super().count + len(self._expected)

    def memory(self) -> Iterator[tuple[int, int, int, bool]]:
        """As of GlobalSpace."""
        yield from super().memory()
        for start, array in self._expected.items():
            yield start, start + array.size, start, True

    def ranges(self) -> np.ndarray:
        """As of GlobalSpace."""
        make = super().ranges
        return make() if super().count else self._memory.ranges(self._expected, make)

    def writeable(self) -> Iterator[np.ndarray]:
        """As of GlobalSpace."""
        yield from super().writeable()
        yield from self._expected.values()

    def resolve(self, addresses: np.ndarray, active: np.ndarray, nbytes: int) -> Iterator[tuple]:
        """As of GlobalSpace."""
        self._find_all()
        for allocation, lanes, offsets in super().resolve(addresses, active, nbytes):
            if allocation is not None or not self._add(addresses[lanes]):
                yield allocation, lanes, offsets
            else:
                yield from super().resolve(addresses, lanes, nbytes)

    def _find_all(self):
        """What was expected has an Allocation from now on."""
        expected, self._expected = self._expected, {}
        for array in expected.values():
            self._find(array)

    def _find(self, array):
        """The address of memory, which has an Allocation from now on."""
        start = array.__array_interface__["data"][0]
        allocation, of = self._allocate(array), self._memory.texts.get(start, "")
        allocation.text = f"device array of {array.size} bytes{of}"                  # of what, a driver does not know
        allocation.elements = self._memory.elements.get(start, allocation.elements)
        return self.address(array)

    def _add(self, addresses):
        """Whether some of the addresses are of allocations that this launch had not touched yet."""
        before, start, end = self.count, 0, 0
        for address in np.unique(addresses).tolist():
            array = self._memory.find(address) if not start <= address < end else None
            if array is not None:
                start = self._find(array)
                end = start + array.size
        return self.count > before


@dataclass(frozen=True)
class Launched:
    """A launch: the kernel's name (as its source has it, where that is known), grid and block (x, y, z), shared_bytes of
    dynamic shared memory, seconds that the machine took, once it was compiled, its Trace, and whether it was watched for
    hazards."""

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    seconds: float
    trace: Trace
    watched: bool = True


def three(size: int | tuple[int, ...]) -> tuple[int, ...]:
    """A grid or a block as (x, y, z).

    >>> three(5), three((4, 2))
    ((5, 1, 1), (4, 2, 1))
    """
    return (*size, 1, 1)[:3] if isinstance(size, tuple | list) else (size, 1, 1)


class SimulatedDevice:
    """A GPU of an architecture. launches: a Launched for each, in their order. hazards: as of `Entry.run`. told: called with
    each Launched; gave_up: with the name of a kernel whose launch raised, or was interrupted. together: whether all CTAs of
    a grid run at the same time, as in a cooperative launch, if a GPU has room for them. progress: makes a context with a
    `Progress` for the launch of a kernel, by its name. declared: {PTX symbol: (file, line, shape)} of arrays in shared
    memory, as libraries tell them."""

    def __init__(self, arch: str = "sm_90", hazards: str = "report", told: Callable[[Launched], None] | None = None,
                 progress: Callable[[str], Any] | None = None, gave_up: Callable[[str], None] | None = None,
                 together: bool = False):
        self.arch, self.hazards, self.memory, self.launches = arch, hazards, DeviceMemory(), []
        self._progress = progress or (lambda name: nullcontext())
        self.declared: dict[str, tuple[str, int, tuple[int, ...]]] = {}
        self._told, self._gave_up, self.heap, self._together = told, gave_up, Heap(self._room), together
        self.passing: dict[int, str] = {}                    # id of what a library passes to a launch -> what to call it
        self.notes: Callable[[Entry, Trace], tuple[str, ...]] = lambda entry, trace: ()     # what it notes of a launch
        self._one = RLock()

    def module(self, text: str | syntax.Module, path: str = "<ptx>") -> Module:
        """A Module, of PTX text or of what that was parsed to, whose variables, and whatever its kernels point to, lie in
        this device's memory. Its lines in Python files are Numba's, because Triton loads modules otherwise."""
        parsed = parse(text, path) if isinstance(text, str) else text
        made = Module(parsed, lambda allocate: DeviceSpace(self.memory, allocate), self._room, self.heap, NUMBA)
        made.declared = self.declared
        return made

    def _room(self, nbytes):
        """uint8 [nbytes] of zeros in this device's memory."""
        data = self.memory.find(self.memory.allocate(nbytes))
        data[:] = 0
        return data

    def forget(self, module: Module) -> None:
        """A module is unloaded: the memory of its variables is free."""
        for address in module.addresses.values():
            self.memory.free(address)

    def launch(self, entry: Entry, grid: int | tuple[int, ...], block: int | tuple[int, ...], values: tuple,
               shared_bytes: int = 0, cluster: int | tuple[int, ...] = 1, together: bool = False, name: str = "") -> Trace:
        """Runs an entry of a module of this device. values: as of `Entry.run`; a pointer is an address. A grid that runs
        together is watched for hazards up to MOST_TOGETHER threads. Launches by several threads come one after another."""
        with self._one:
            try:
                return self._launched(entry, grid, block, values, shared_bytes, cluster, together, name)
            except BaseException:
                if self._gave_up is not None:
                    self._gave_up(name or entry.name)
                raise

    def _launched(self, entry, grid, block, values, shared_bytes, cluster, together, name):
        start, grid, block = perf_counter() - Console.waited, three(grid), three(block)
        together = together or self._together and prod(grid) * -(-prod(block) // LANES) <= MOST_WARPS
        watched = self.hazards != "off" and (not together or prod(grid) * prod(block) <= MOST_TOGETHER)
        with self._progress(name or entry.name) as moved:
            trace = entry.run(grid, block, *values, shared_bytes=shared_bytes, cluster=cluster, together=together,
                              hazards=self.hazards if watched else "off", arch=self.arch, progress=moved)
        trace = self._with_unset(entry, values, trace) if self.memory.fresh and watched else trace
        trace = replace(trace, notes=(*trace.notes, *self.notes(entry, trace)))
        launched = Launched(name or entry.name, grid, block, shared_bytes, perf_counter() - Console.waited - start,
                            trace, watched)
        self.launches.append(launched)
        if self._told is not None:
            self._told(launched)
        return trace

    def _with_unset(self, entry, values, trace):
        """The Trace of a launch with Hazards of what nothing had written. What the kernel may store to is written now."""
        starts = {number: extent[0] for number, value in enumerate(values) if isinstance(value, int | np.integer)
                  and (extent := self.memory.extent(int(value))) is not None}
        fresh = {number: self.memory.texts.get(start, "") for number, start in starts.items() if start in self.memory.fresh}
        found, stored = unset(entry, trace, set(starts), fresh), written(entry)
        if stored is None or not all(isinstance(value, int | float | np.number) for value in values):
            self.memory.fresh.clear()
        self.memory.fresh -= {starts[number] for number in (stored or ()) if number in starts}
        if found and self.hazards == "raise":
            raise HazardError(found[0].text, found[0])
        return replace(trace, hazards=(*trace.hazards, *found)) if found else trace

