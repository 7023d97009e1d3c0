"""Launches: what all CTAs of one run share, what a launch runs, and how its CTAs follow one another."""

from dataclasses import dataclass
from math import prod

from simlayout.errors import SHARED_BYTES, MachineError, SimlayoutError, brief, require_ints
from simlayout.hardware.tables.arch import LANES, MOST_THREADS, cuda_arch_of
from simlayout.machine.engine.cta import Residents
from simlayout.machine.engine.events import watcher
from simlayout.machine.engine.global_memory import Allocation
from simlayout.machine.engine.memory import POISON
from simlayout.machine.engine.scheduler import run_residents
from simlayout.machine.engine.trace import Recorder
from simlayout.machine.hazards.elements import Elements
from simlayout.machine.hazards.global_shadow import GlobalShadow
from simlayout.machine.hazards.kinds import HazardLog
from simlayout.machine.hazards.releases import Counters
from simlayout.wording import counted

MOST_TOGETHER = 2**14
"""Threads that may run together and be looked at for hazards: each has a number for every other, twice (see `clocks`)."""

MOST_WARPS = 2**12
"""Warps that may run together at all, where each is a thread of the operating system."""

MOST_CTAS = 2**31 - 1, 65535, 65535
"""Of a grid along x, y and z: CUDA C++ Programming Guide, table of technical specifications per compute capability."""

MOST_IN_CLUSTER = 16
"""CTAs of a cluster: as before; 8, where a kernel does not ask for more."""

MOST_ALONG_Z = 64
"""Threads of a block along z: as before."""


NEVER_WAITED = "cp.async never waited for: legal, as nothing reads what it brings"
"""What is noted of copies, unless a hazard says so already."""


class Launch:
    """What all CTAs of one run report to.

    recorder: the Recorder; log: the HazardLog, None where nobody looks for hazards; doubts: what is in its place where
    no shadows find hazards (see `ptx.looks.doubts`); elements: the Elements that accesses
    declare, or None; registers: of a thread at launch, or None; watch: who is told of Events, or None; running: the Warp
    whose turn it is; narrow: whether some strong accesses reach less than the GPU (see `scopes`), said before anything
    happens; landings: where boxes of TMA land (`Cta.landing`); counters: what was released at addresses of global
    memory, a Counters; not_started: how many CTAs are yet to come; fill: the word that is all over shared and local memory
    before something is written, or `memory.MIXED`; unset: the word of registers that nothing has written
    (`ptx.looks.unset`). python: as of `HazardLog`.
    """

    def __init__(self, arch, hazards, accesses=(), registers=None, python=None):
        self.recorder, self.registers, self.watch = Recorder(arch), registers, watcher()
        log = HazardLog(hazards, python)
        self.log, self.doubts = None if log.mode == "off" else log, None
        self.elements = Elements(accesses) if accesses and self.log is not None else None
        self.running, self.landings, self.counters, self.not_started = None, {}, Counters(self), 0
        self.narrow, self.fill, self.unset = False, 0x01010101 * POISON, 0
        self.dynamic_bytes = self.clock = self.changes = 0
        self._shadows = {}                               # memory (where it starts and ends) -> GlobalShadow
        self._allocations = {}                           # id of an array -> Allocation, which keeps it

    def ended_by(self, error):
        """Says in a SimlayoutError, or an interrupt, which hazards have been reported before it, since one of them may have
        led to it: what reads outside its arrays may never end."""
        before = () if self.log is None else self.log.hazards()
        told = f"before that: {counted(len(before), 'hazard')}, the first {before[0]}" if before else ""
        if isinstance(error, SimlayoutError):
            error.before = before
            error.args = (f"{error}; {told}", *error.args[1:]) if told else error.args
        elif told and hasattr(error, "add_note"):        # of Python 3.11 and later
            error.add_note(told)

    @property
    def shadowed(self):
        """Whether shadows of memory find hazards."""
        return self.log is not None and self.doubts is None

    @property
    def clocked(self):
        """Whether clocks say who is ordered with whom: where shadows look, and some Doubts."""
        return self.log is not None and (self.doubts is None or self.doubts.clocked)

    def look_quickly(self, doubts):
        """Not shadows look for hazards, but Doubts. It is said before anything happens; arrays that are known have shadows,
        which are told of nothing."""
        self.log = self.doubts = doubts
        for allocation in self._allocations.values():
            allocation.shadow = doubts.global_of(allocation) if doubts.clocked else None

    def allocation(self, array):
        """The Allocation of an array, watched if hazards are looked for."""
        allocation = self._allocations.get(id(array))
        if allocation is None:
            allocation = self._allocations[id(array)] = Allocation(array)
            allocation.launch = self
            if self.shadowed:
                allocation.watched(self._shadows, lambda size: GlobalShadow(self, size))
            elif self.clocked:
                allocation.shadow = self.doubts.global_of(allocation)
        return allocation

    def ended(self, warp):
        """Notes what a warp leaves behind: copies that nothing has waited for, and of which no hazard says so already."""
        left = [copy.site for copy in warp.copies.under_way()] if self.log is not None else ()
        told = self._told() if left else ()
        for site in left:
            if site not in told:
                self.recorder.note(site, NEVER_WAITED)

    def _told(self):
        """The (file, line) of which hazards have been told."""
        return {(place.file, place.line) for one in self.log.hazards() for place in (one.first, one.second) if place}

    def trace(self, ptx=()):
        """The Trace of everything so far. ptx: as of Trace."""
        return self.recorder.trace(() if self.log is None else self.log.hazards(), ptx)


@dataclass(frozen=True)
class Shape:
    """What a launch runs: grid, block, cluster: (x, y, z); shared_bytes: of each CTA; together: whether the whole grid runs
    at the same time."""

    grid: tuple
    block: tuple
    shared_bytes: int
    cluster: tuple
    together: bool

    @classmethod
    def of(cls, grid, block, shared_bytes, cluster, together, launch, most_warps=MOST_WARPS, declared=0):
        """The Shape, checked against what a GPU and this process can hold. declared: how many of the shared bytes are the
        kernel's own variables. Raises MachineError."""
        grid, block, cluster = three_of(grid, "grid"), three_of(block, "block"), three_of(cluster, "cluster")
        if prod(block) > MOST_THREADS:
            raise MachineError(f"block {block} has {prod(block)} threads; a CTA has at most {MOST_THREADS}")
        if block[2] > MOST_ALONG_Z:
            raise MachineError(f"block {block}: a CTA has at most {MOST_ALONG_Z} threads along z")
        if any(n > most for n, most in zip(grid, MOST_CTAS)):
            raise MachineError(f"grid {grid}: a GPU launches at most {MOST_CTAS} CTAs")
        _check_shared(shared_bytes, declared, launch.recorder.arch)
        if prod(cluster) > MOST_IN_CLUSTER or any(n % size for n, size in zip(grid, cluster)):
            raise MachineError(f"cluster {cluster} in a grid of {grid} CTAs: give 1 to {MOST_IN_CLUSTER} CTAs, which divide "
                               "the grid along each axis")
        _check_together(prod(grid if together else cluster), prod(block), launch.shadowed, most_warps)
        return cls(grid, block, shared_bytes, cluster, together)


def run_grid(launch, shape, begin, progress=None, ahead=None, whole=None, only=None):
    """Runs all CTAs of a Launch, so many at a time as its Shape says; or `only` some, numbers in order, each by itself.

    begin, ahead: as of `run_residents`; whole: called with the number of the next CTA, where one runs at a time; it may run
    some, and returns (the number of the next one then, whether that is to be run here).
    """
    if progress is not None and not callable(progress):
        raise MachineError(f"progress = {progress!r}: give a function, called as progress(finished CTAs, all CTAs)")
    count, in_cluster = prod(shape.grid), prod(shape.cluster)
    size, first = count if shape.together else in_cluster, 0
    left = None if only is None else iter([*only, count])
    clusters = tuple(n // size for n, size in zip(shape.grid, shape.cluster))
    while (first if left is None else (first := next(left))) < count:
        if whole is not None and size == 1:
            before, (first, here) = first, whole(first)
            if progress is not None:
                for finished in range(before + 1, first + 1):
                    progress(finished, count)
            if not here:
                continue
        launch.not_started = count - first - size
        indices = [_within(number, clusters, shape.cluster) for number in range(first, first + size)]
        residents = Residents(indices, shape.cluster, shape.grid, shape.block, shape.shared_bytes, launch)
        try:
            run_residents(residents, begin, ahead)
        except (SimlayoutError, KeyboardInterrupt) as error:
            launch.ended_by(error)
            raise
        first += size
        if progress is not None:
            progress(first, count)


def _within(number, clusters, cluster):
    """(x, y, z) of a CTA by its number, where those of one cluster follow one another by rank.

    >>> [_within(number, (1, 2, 1), (2, 1, 2)) for number in range(5)]
    [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0)]
    """
    which, rank = divmod(number, prod(cluster))
    return tuple(size * outer + inner for size, outer, inner in zip(cluster, _index(which, clusters), _index(rank, cluster)))


def _index(number, grid):
    """(x, y, z) by its number; x runs first."""
    rest, x = divmod(number, grid[0])
    z, y = divmod(rest, grid[1])
    return x, y, z


def _check_together(ctas, threads, watched, most_warps):
    """Refuses more CTAs at the same time than this process can hold."""
    count = ctas * threads
    if watched and count > MOST_TOGETHER:
        raise MachineError(f"{count} threads together: who knows whom is kept for {MOST_TOGETHER} at most: use a smaller "
                           'grid, or hazards="off"')
    warps = ctas * -(-threads // LANES)
    if warps > most_warps:
        raise MachineError(f"{warps} warps together: this process holds at most {most_warps}: use a smaller grid")


def three_of(size, what) -> tuple[int, ...]:
    """(x, y, z) of an int or a tuple of up to three."""
    if type(size) is tuple and [*map(type, size)] == [int, int, int] and min(size) >= 1:
        return size                                      # as most are
    sizes = tuple(size) if isinstance(size, tuple | list) else (size,)
    try:
        right = 1 <= len(sizes) <= 3 and all(n >= 1 and n == int(n) for n in sizes)
    except (TypeError, ValueError, OverflowError):       # no number, not one, infinite
        right = False
    if not right:
        raise MachineError(f"{what} {brief(size)}: give one to three positive integers")
    return tuple(int(n) for n in sizes) + (1,) * (3 - len(sizes))


def _check_shared(shared_bytes, declared, arch):
    limit = cuda_arch_of(arch).shared_bytes_per_cta
    require_ints(MachineError, "a launch", shared_bytes=shared_bytes)
    if not 0 <= shared_bytes <= limit:
        own = f"{declared} that the kernel declares, {shared_bytes - declared} by " if declared else ""
        raise MachineError(f"{shared_bytes} bytes of shared memory ({own}{SHARED_BYTES}): a CTA on {arch} has 0 to "
                           f"{limit} of them")
