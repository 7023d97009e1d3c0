"""What a run did: executions of every line, warp instructions and wavefronts of shared memory, hazards."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from os.path import basename

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.instructions import CLASSES, class_of
from simlayout.kernel import AccessCount, counts_table
from simlayout.machine.engine.listing import Later, SourceLine, listing, source_lines
from simlayout.machine.engine.patterns import Patterns, PatternStore
from simlayout.machine.engine.sectors import SectorBuffer, SectorCount
from simlayout.shown import Shown
from simlayout.wording import counted

CHUNK = 1024
"""Warp instructions that are buffered before they are analysed together: 128 KiB of addresses."""


def _grouped(counts, key):
    groups = {}
    for c in counts:
        k = key(c)
        groups[k] = groups[k].plus(c) if k in groups else c
    return tuple(groups.values())


@dataclass(frozen=True)
class Trace(Shown):
    """What `run` returns.

    lines: one AccessCount per (source line, instruction, access), of PTX per line of that, by file and line.
    executed: {(file, line): how often a warp executed the statement that begins there}; a loop counts once per entry. Of PTX
    it is how many instructions warps executed there.
    hazards: one Hazard per kind and pair of lines, where they are reported instead of raised.
    notes: sentences on what is legal, but odd. ptx: SourceLines of the PTX text that were executed, without their accesses.
    sectors: of PTX one SectorCount per line and instruction that accesses global memory, but for cp.async and TMA. patterns:
    one Patterns per line and instruction that accesses shared memory at addresses of its lanes, but for cp.async.
    arrays: of PTX its SharedArrays (simlayout.programs), of a size that is known before or that the launch gives.
    """

    lines: tuple
    executed: dict = field(default_factory=dict, compare=False)
    hazards: tuple = ()
    notes: tuple = ()
    ptx: tuple = field(default=(), compare=False)
    sectors: tuple[SectorCount, ...] = field(default=(), compare=False)
    patterns: tuple[Patterns, ...] = field(default=(), compare=False, repr=False)
    arrays: tuple = field(default=(), compare=False, repr=False)

    @property
    def accesses(self) -> tuple[AccessCount, ...]:
        """One AccessCount per access name and instruction, in the order of the source; untagged lines stay apart."""
        return _grouped(self.lines, lambda c: (c.name, c.instruction))

    @typed()
    def count(self, name: str) -> AccessCount:
        """The AccessCount of the access called `name`; raises SimlayoutError if there is none, or several."""
        matching = [c for c in self.accesses if c.name == name]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise SimlayoutError(f"access {name!r} is executed by {', '.join(c.instruction for c in matching)}: pick one "
                                 "from .accesses")
        known = ", ".join(repr(c.name) for c in self.accesses)
        raise SimlayoutError(f"no access {name!r} in this trace; it has {known or 'none'}")

    def by_instruction(self) -> tuple[AccessCount, ...]:
        """One AccessCount per PTX instruction, its name the instruction's."""
        return _grouped((replace(c, name=c.instruction) for c in self.lines), lambda c: c.instruction)

    @typed()
    def source_lines(self, ptx: bool = False) -> tuple[SourceLine, ...]:
        """One SourceLine per executed line: its text ("" where the source is not at hand), its executions, and the sums of
        its accesses, by file and line. ptx: of the PTX text instead; raises SimlayoutError if it was not PTX that ran."""
        return source_lines(self, ptx)

    @typed()
    def listing(self, every_line: bool = True, ptx: bool = False) -> str:
        """The source with its counts, and the hazards, as text.

        every_line: every line that was executed, or only those that access shared memory. ptx: as of `source_lines`.
        """
        return listing(self, every_line, ptx)

    def totals(self) -> dict[str, int]:
        """Wavefronts of shared memory by class, as Nsight Compute's counters add them up: of "ld", "ldmatrix", "st",
        "stmatrix", "copy" (cp.async) and "atom" (red too), each 0 if there are none. Those of stmatrix are in ncu's
        l1tex__data_pipe counter of stores, but not in its smsp__sass one. Loads of the loop that an atomic may be count
        under "ld", as they do there. What wgmma and TMA move is in none of them. Of PTX: where ptxas may make something else
        of it, and how often it did for kernels on an H200, is told in `simlayout guide ptx`.

        >>> Trace((AccessCount("a", "ld.shared.b32", 2, 8, 2), AccessCount("b", "ldmatrix.x4", 1, 4, 4))).totals()
        {'ld': 8, 'ldmatrix': 4, 'st': 0, 'stmatrix': 0, 'copy': 0, 'atom': 0}
        """
        sums = dict.fromkeys(CLASSES.values(), 0)
        for c in self.lines:
            class_name = class_of(c.instruction)
            if class_name is not None:
                sums[class_name] += c.wavefronts
                sums["ld"] += c.loads
        return sums

    def total(self) -> AccessCount:
        """One AccessCount over everything, called "total"."""
        start = AccessCount("total", "", 0, 0, 0)
        for c in self.lines:
            start = start.plus(c)
        return start

    def __repr__(self):
        """In one line: its fields have one for each line of the source, and for each of the PTX.

        >>> Trace((AccessCount("a", "ld.shared.b32", 2, 8, 2),))
        <Trace of 1 access: 8 wavefronts, ideal 2, 0 hazards>
        """
        total = self.total()
        return (f"<Trace of {counted(len(self.accesses), 'access')}: {counted(total.wavefronts, 'wavefront')}, "
                f"ideal {total.ideal}, {counted(len(self.hazards), 'hazard')}>")

    def __str__(self):
        return "\n".join([counts_table([*self.accesses, self.total()]), *map(str, self.hazards)])


class _Buffer:
    """The addresses of one (instruction, access, line), analysed whenever CHUNK of them are there.

    sourced: whether the copies' global addresses come with them; sized: the type of their src-sizes, None without.
    """

    def __init__(self, instruction, arch, sourced=False, sized=None):
        self.instruction, self.arch = instruction, arch
        self.addresses = np.empty((CHUNK, LANES), np.int32)
        self.sources = np.zeros((CHUNK, LANES), np.int64) if sourced else None
        self.valid = np.zeros((CHUNK, LANES), sized) if sized else None
        self.active = None                               # bool [CHUNK, 32], made when a first lane is missing
        self.used = self.instructions = self.wavefronts = self.ideal = self.loads = 0
        self.exact, self.patterns = True, None if sourced or sized else PatternStore(self._costs)

    def add(self, addresses, active, origin=None):
        if self.used == CHUNK:
            self.flush()
        if self.sources is not None:
            self.sources[self.used] = origin[0]
        if self.valid is not None:
            self.valid[self.used] = origin[1]
        if active is None:
            self.addresses[self.used] = addresses
        else:
            if self.active is None:
                self.active = np.full((CHUNK, LANES), True)
            self.addresses[self.used] = np.where(active, addresses, 0)
            self.active[self.used] = active
        self.used += 1

    def add_all(self, addresses, active):
        """Many at once: int [n, 32], bool [n, 32]."""
        some, at = not active.all(), 0
        while at < len(addresses):
            if self.used == CHUNK:
                self.flush()
            if some and self.active is None:
                self.active = np.full((CHUNK, LANES), True)
            n = min(CHUNK - self.used, len(addresses) - at)
            new = slice(self.used, self.used + n)
            self.addresses[new] = np.where(active[at:at + n], addresses[at:at + n], 0) if some else addresses[at:at + n]
            if self.active is not None:
                self.active[new] = active[at:at + n]
            self.used, at = self.used + n, at + n

    def flush(self):
        if not self.used:
            return
        addresses, n = self.addresses[:self.used], self.used
        active = None if self.active is None else self.active[:n]
        if self.patterns is None:
            sources, valid = (None if x is None else x[:n] for x in (self.sources, self.valid))
            costs = self._costs(addresses, active, sources, valid).sum(axis=1)
        else:
            costs = self.patterns.count(addresses, np.full((n, LANES), True) if active is None else active)
        self.instructions += n
        self.wavefronts, self.ideal, self.loads = (
            known + int(new) for known, new in zip((self.wavefronts, self.ideal, self.loads), costs))
        self.used, self.active = 0, None

    def _costs(self, addresses, active, sources=None, valid=None):
        """int [3, n]: wavefronts, ideal and loads; notes whether they are exact."""
        from simlayout.hardware import analyze

        analysis = analyze(self.instruction, addresses, active=active, arch=self.arch, sources=sources, valid=valid)
        self.exact &= bool(analysis.exact)
        return np.stack(np.broadcast_arrays(analysis.wavefronts, analysis.ideal, analysis.loads))


class Recorder:
    """Collects executions and accesses while warps run; `trace()` counts them."""

    def __init__(self, arch):
        self.arch, self.contended = arch, False          # whether a warp's shared memory is other warps' too
        self.unsure = set()                              # sites of what the hardware may execute more or less often
        self.came = {}                                   # (index of a CTA or None, address) -> whose atomic came last
        self.sums = None                                 # looks at atomics that add floats, where somebody does
        self.executed = defaultdict(int)                 # (file, line) -> executions by warps
        self._buffers, self._notes = {}, Counter()
        self._counts = {}                                # (instruction, file, line) -> what `count` noted
        self._sectors = {}                               # (instruction, site) -> SectorBuffer
        self._counted = []                               # of `sectors_later`

    def add(self, instruction, access, site, addresses, active, origin=None):
        """Notes one warp instruction.

        instruction: PTX name; access: name or None; site: (file, line), of PTX also its line; addresses: int64 [32], bytes;
        active: bool [32], None if all lanes are; origin: of a copy, (global addresses int64 [32], src-size, or bool: whether
        it is read, or None).
        """
        kind = (origin is not None, None if origin is None or origin[1] is None else np.asarray(origin[1]).dtype.char)
        self._buffer(instruction, access, site, kind).add(addresses, active, origin)

    def add_all(self, instruction, site, addresses, active):
        """Notes warp instructions of one line: addresses int [n, 32], bytes; active bool [n, 32]."""
        self._buffer(instruction, None, site, (False, None)).add_all(addresses, active)

    def sectors(self, instruction: str, site: tuple, nbytes: int, pieces: np.ndarray | None = None) -> SectorBuffer:
        """What counts the accesses of global memory of an instruction on a line. nbytes: of each lane; pieces: as of
        SectorBuffer."""
        key = instruction, site
        buffer = self._sectors.get(key)
        if buffer is None:
            buffer = self._sectors[key] = SectorBuffer(nbytes, pieces)
        return buffer

    def sectors_later(self, counted: Callable[[], Iterable[tuple]]) -> None:
        """What counts accesses of global memory gives them when somebody looks: of each the arguments of `sectors`, of
        `SectorBuffer.add_counts` and, where it has pieces, of `add_touched`."""
        self._counted.append(counted)

    def _buffer(self, instruction, access, site, kind):
        key = instruction, access, site, kind
        buffer = self._buffers.get(key)
        if buffer is None:
            buffer = self._buffers[key] = _Buffer(instruction, self.arch, *kind)
        return buffer

    def count(self, instruction, site, wavefronts=0, bytes=0):
        """Notes one warp instruction whose cost depends on no address: wavefronts, of which none are excess, or bytes."""
        name = f"{basename(site[0])}:{site[1]}"
        one = AccessCount(name, instruction, 1, wavefronts, wavefronts, True, bytes, *site)
        known = self._counts.get((instruction, site))
        self._counts[instruction, site] = one if known is None else known.plus(one)

    def note(self, site, text):
        """Notes a sentence about a (file, line)."""
        self._notes[site, text] += 1

    def note_once(self, site, text):
        """Notes a sentence about a (file, line), however often it is true."""
        self._notes[site, text] = 1

    def has_noted(self, site, text):
        """Whether a sentence about a (file, line) is noted."""
        return (site, text) in self._notes

    def trace(self, hazards=(), ptx=()):
        """The Trace of everything noted so far, with these Hazards and SourceLines of PTX."""
        if self.sums is not None:
            self.sums.look()
        counts = list(self._counts.values())
        for (instruction, access, site, _), b in self._buffers.items():
            b.flush()
            name = f"{basename(site[0])}:{site[1]}" if access is None else access
            again = self.contended and b.loads or site in self.unsure    # lanes try again after other warps, too
            counts.append(AccessCount(name, instruction, b.instructions, b.wavefronts, b.ideal, b.exact and not again, 0,
                                      *site, loads=b.loads))
        lines = tuple(sorted(counts, key=lambda c: (c.file, c.line, c.name, c.instruction, c.ptx_line)))
        notes = tuple(f"{basename(file)}:{line}: {n} {text}" for ((file, line), text), n in self._notes.items())
        return Trace(lines, dict(self.executed), hazards, notes, ptx, sectors=Later(self._sector_counts),
                     patterns=self._patterns())

    def _sector_counts(self):
        counts = []
        while self._counted:
            for what, sums, touched in self._counted.pop()():
                buffer = self.sectors(*what)
                buffer.add_counts(*sums)
                if buffer.pieces is not None:
                    buffer.add_touched(*touched)
        for (instruction, site), b in self._sectors.items():
            b.flush()
            counts.append(SectorCount(*_placed(site), instruction, b.instructions, b.sectors, b.least, b.touched,
                                      b.filled, b.taken, b.close, b.between))
        return tuple(sorted(counts, key=lambda c: (c.file, c.line, c.instruction, c.ptx_line)))

    def _patterns(self):
        """Of buffers that have been flushed."""
        return tuple(Patterns(*_placed(site), instruction, *b.patterns.kept(), b.patterns.others)
                     for (instruction, _, site, _), b in self._buffers.items() if b.patterns is not None)


def _placed(site):
    """(file, line, line of the PTX text or 0) of a site."""
    return (*site, 0)[:3]
