"""What a run did to shared memory: warp instructions and wavefronts, per access and per source line."""

from dataclasses import dataclass, replace
from os.path import basename

import numpy as np

from simlayout.errors import SimlayoutError
from simlayout.machine.tags import LANES

CHUNK = 1024
"""Warp instructions that are buffered before they are analysed together: 128 KiB of addresses."""


@dataclass(frozen=True)
class AccessCount:
    """Counts of one access (or one source line).

    name: the access's name, or "file:line" where the address came from no index function. instruction: PTX name.
    file, line: where the kernel executes it (first). instructions: warp instructions; wavefronts, ideal: their sums.
    exact: False where the model only bounds the instruction.
    """

    name: str
    instruction: str
    file: str
    line: int
    instructions: int
    wavefronts: int
    ideal: int
    exact: bool = True

    @property
    def excess(self):
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal

    def _plus(self, other):
        return replace(self, instructions=self.instructions + other.instructions,
                       wavefronts=self.wavefronts + other.wavefronts, ideal=self.ideal + other.ideal,
                       exact=self.exact and other.exact)


def _grouped(counts, key):
    made = {}
    for c in counts:
        k = key(c)
        made[k] = made[k]._plus(c) if k in made else c
    return tuple(made.values())


@dataclass(frozen=True)
class Trace:
    """What `run` returns.

    lines: one AccessCount per (source line, instruction, access), by file and line.
    """

    lines: tuple

    @property
    def accesses(self):
        """One AccessCount per access name and instruction, in the order of the source; untagged lines stay apart."""
        return _grouped(self.lines, lambda c: (c.name, c.instruction))

    def count(self, name):
        """The AccessCount of the access called `name`; raises SimlayoutError if there is none, or several."""
        found = [c for c in self.accesses if c.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise SimlayoutError(f"access {name!r} is executed by {', '.join(c.instruction for c in found)}: pick one "
                                 "from .accesses")
        known = ", ".join(repr(c.name) for c in self.accesses)
        raise SimlayoutError(f"no access {name!r} in this trace; it has {known or 'none'}")

    def by_instruction(self):
        """One AccessCount per PTX instruction, its name the instruction's."""
        return _grouped((replace(c, name=c.instruction) for c in self.lines), lambda c: c.instruction)

    def totals(self):
        """One AccessCount over everything, called "total"."""
        start = AccessCount("total", "", "", 0, 0, 0, 0)
        for c in self.lines:
            start = start._plus(c)
        return start

    def __str__(self):
        head = ("access", "instruction", "line", "instructions", "wavefronts", "ideal", "excess")
        rows = [head, *(_row(c) for c in self.accesses), _row(self.totals())]
        wide = [max(len(r[i]) for r in rows) for i in range(len(head))]
        form = "  ".join(f"{{:{'<' if i < 3 else '>'}{w}}}" for i, w in enumerate(wide))
        return "\n".join(form.format(*r).rstrip() for r in rows)


def _row(count):
    line = f"{basename(count.file)}:{count.line}" if count.line else ""
    return (count.name, count.instruction, line, str(count.instructions), str(count.wavefronts), str(count.ideal),
            str(count.excess) if count.exact else f"{count.excess} (not known exactly)")


class _Buffer:
    """The addresses of one (instruction, access, line), analysed whenever CHUNK of them are there."""

    def __init__(self, instruction, arch):
        self.instruction, self.arch = instruction, arch
        self.addresses = np.empty((CHUNK, LANES), np.int32)
        self.active = None                               # bool [CHUNK, 32], made when a first lane is missing
        self.used = self.instructions = self.wavefronts = self.ideal = 0
        self.exact = True

    def add(self, addresses, active):
        if self.used == CHUNK:
            self.flush()
        if active is None:
            self.addresses[self.used] = addresses
        else:
            if self.active is None:
                self.active = np.full((CHUNK, LANES), True)
            self.addresses[self.used] = np.where(active, addresses, 0)
            self.active[self.used] = active
        self.used += 1

    def flush(self):
        from simlayout.hardware import analyze

        if self.used:
            active = None if self.active is None else self.active[:self.used]
            made = analyze(self.instruction, self.addresses[:self.used], active=active, arch=self.arch)
            self.instructions += self.used
            self.wavefronts += int(np.sum(made.wavefronts))
            self.ideal += int(np.sum(made.ideal))
            self.exact &= bool(made.exact)
        self.used, self.active = 0, None


class Recorder:
    """Collects accesses while warps run; `trace()` counts them."""

    def __init__(self, arch):
        self.arch = arch
        self._buffers = {}

    def add(self, instruction, access, site, addresses, active):
        """Notes one warp instruction.

        instruction: PTX name; access: name or None; site: (file, line); addresses: int64 [32], bytes;
        active: bool [32], None if all lanes are.
        """
        key = instruction, access, site
        buffer = self._buffers.get(key)
        if buffer is None:
            buffer = self._buffers[key] = _Buffer(instruction, self.arch)
        buffer.add(addresses, active)

    def trace(self):
        """The Trace of everything noted so far."""
        counts = []
        for (instruction, access, (file, line)), b in self._buffers.items():
            b.flush()
            name = f"{basename(file)}:{line}" if access is None else access
            counts.append(AccessCount(name, instruction, file, line, b.instructions, b.wavefronts, b.ideal, b.exact))
        return Trace(tuple(sorted(counts, key=lambda c: (c.file, c.line, c.name, c.instruction))))
