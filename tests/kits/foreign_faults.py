"""Planted faults in CUDA C++: small kernels with one fault each, and the same kernel without it.

tests/data/foreign/faults holds sources and PTX (`cuda_kernels.conformance.foreign.build` compiles them). Of every function
NAME there are two entries: NAME_bad and NAME_good. The comment "@NAME" marks the lines of the fault in the source.
"""

import lzma
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from places import DATA

from simlayout.errors import SimlayoutError
from simlayout.hardware import TensorMap

FOLDER = DATA / "foreign" / "faults"
ITEMS = 256
"""Items of both arrays."""

RACES = "read after write", "write after read", "write after write", "lane race"
KINDS = {
    "missing __syncthreads": RACES,
    "missing __syncwarp": ("lane race",),
    "divergent barrier": ("divergence", "deadlock"),
    "deadlock": ("deadlock",),
    "barrier count": ("divergence", "deadlock", "MachineError"),
    "shuffle from a lane that is not there": ("inactive source", "divergence"),
    "wrong mask": ("inactive source", "divergence", "deadlock"),
    "collision": ("collision",),
    "global out of bounds": ("out of bounds",),
    "misaligned": ("misaligned", "AddressError"),
    "shared out of bounds": ("out of bounds",),
    "uninitialised shared": ("unwritten read",),
    "uninitialised local": ("unwritten read",),
    "global race": ("global race", *RACES),
    "missing copy wait": ("early read", "write in flight"),
    "missing commit": ("early read",),
    "wrong wait count": ("early read", "write in flight"),
    "buffer in use": ("write after read",),
    "missing proxy fence": ("missing proxy fence",),
    "missing wgmma fence": ("missing wgmma fence",),
    "early accumulator": ("early accumulator",),
    "operand in use": ("early write", "write after read"),
    "transaction bytes": ("MachineError", "deadlock", "early read"),
    "mbarrier initialised or arrived at wrongly": ("MachineError", "deadlock", "divergence", "unwritten read", *RACES),
    "mbarrier phase": ("early read",),
    "copy in flight": ("early read", "early write", "write in flight", "write after read"),
    "early exit": ("early exit",),
    "cluster": ("early exit", "global race", "unwritten read", *RACES),
}
"""What was planted -> the kinds of hazard, or the errors, any of which tells it."""


@dataclass(frozen=True)
class Fault:
    """One function, compiled with its fault and without: source: the file's stem; kind: a key of KINDS; the launch; mapped:
    its first argument is a tensor map (of int32 [8, 16], boxes of all of it), not an array; n: the third argument. hangs: on
    a GPU the faulty kernel would not end."""

    name: str
    source: str
    kind: str
    blocks: int = 1
    threads: int = 64
    shared_bytes: int = 0
    cluster: int = 1
    mapped: bool = False
    n: int = 64
    hangs: bool = False

    def text(self):
        """The PTX."""
        return _text(self.source)

    def alone(self, twin):
        """The PTX of one entry, "bad" or "good", with the variables that it uses and without lines of source."""
        text = self.text()
        entry = re.search(rf"\.visible \.entry {self.name}_{twin}\(.*?\n}}\n", text, re.S)[0]
        variables = re.findall(r"^\.(?:extern )?\.?shared [^;{]* (\w+)(?:\[\d*\])?;", text, re.M)
        declared = [line for line in text.splitlines() if re.match(r"\.(extern \.)?shared ", line)]
        used = [line for name, line in zip(variables, declared, strict=True) if name in entry]
        body = "\n".join(line for line in entry.splitlines() if not line.lstrip().startswith(".loc"))
        return "\n".join([".version 9.0", ".target sm_90a", ".address_size 64", *used, body, ""])

    def lines(self):
        """The marked lines of the source, a set of numbers."""
        source = (FOLDER / f"{self.source}.cu").read_text().splitlines()
        return {i for i, line in enumerate(source, 1) if re.search(rf"//.*@{self.name}\b", line)}

    def arguments(self):
        """New arguments: in, which holds 0, 1, ..., out, which holds zeros, and n; or a map and out."""
        out = np.zeros(ITEMS, np.int32)
        if self.mapped:
            return [TensorMap.of(np.arange(128, dtype=np.int32).reshape(8, 16), (16, 8), 0), out]
        return [np.arange(ITEMS, dtype=np.int32), out, self.n]

    def at_fault(self, place):
        """Whether a Place of a hazard is on a marked line, itself or by a call."""
        sites = [(place.file, place.line), *place.callers]
        return any(Path(file).name == f"{self.source}.cu" and line in self.lines() for file, line in sites)

    def judge(self, bad):
        """Runs one twin on the machine: (outcome, what it told).

        Outcomes: of the faulty twin "found", "elsewhere" (the right kind, but no marked line), "other kind", "missed"; of
        the clean one "clean", "alarm"."""
        twin = _module(self.source)[f"{self.name}_{'bad' if bad else 'good'}"]
        try:
            trace = twin.run(self.blocks, self.threads, *self.arguments(), shared_bytes=self.shared_bytes,
                             cluster=self.cluster, hazards="report")
            told = [(h.kind, str(h), any(map(self.at_fault, filter(None, (h.first, h.second))))) for h in trace.hazards]
        except SimlayoutError as error:
            kind = error.hazard.kind if getattr(error, "hazard", None) else type(error).__name__
            told = [(kind, str(error), any(re.search(rf"{self.source}\.cu:{line}\b", str(error)) for line in self.lines()))]
        return outcome(told, KINDS[self.kind], bad), told[0][1] if told else ""


@lru_cache
def _text(source):
    return lzma.decompress((FOLDER / f"{source}.ptx.xz").read_bytes()).decode()


@lru_cache
def _module(source):
    from simlayout import ptx

    return ptx.load(_text(source))


def outcome(told, kinds, bad):
    """The outcome of a run. told: [(kind, text, whether on a marked line)]; kinds: those that tell the fault."""
    if not bad:
        return "alarm" if told else "clean"
    if not told:
        return "missed"
    right = [on_line for kind, _, on_line in told if kind in kinds]
    return "found" if any(right) else "elsewhere" if right else "other kind"


def _rows(source, kind, *names, **launch):
    return tuple(Fault(name, source, kind, **launch) for name in names)


FAULTS = {row.name: row for row in (
    *_rows("barriers", "missing __syncthreads", "neighbour", "next_round", "tree"),
    *_rows("barriers", "missing __syncwarp", "lane_exchange", "warp_tree", "lane_shift"),
    *_rows("barriers", "divergent barrier", "half_a_warp", "either_branch", "lanes_rounds", hangs=True),
    *_rows("barriers", "deadlock", "two_doors", "never_told", hangs=True),
    *_rows("barriers", "barrier count", "waits_for_more", hangs=True),
    *_rows("barriers", "barrier count", "other_count", threads=128, hangs=True),
    *_rows("barriers", "barrier count", "arrive_count", "odd_count", hangs=True),
    *_rows("barriers", "shuffle from a lane that is not there", "from_inactive"),
    *_rows("barriers", "wrong mask", "wrong_mask", "absent_voters", hangs=True),
    *_rows("barriers", "collision", "same_word", "same_place", "overlapping"),
    *_rows("memory", "global out of bounds", "one_beyond", "before_first", "last_vector", "wrong_stride", "atomic_beyond"),
    *_rows("memory", "global out of bounds", "no_limit", blocks=5, n=ITEMS),
    *_rows("memory", "misaligned", "unaligned_vector", "unaligned_shared", "unaligned_copy"),
    *_rows("memory", "shared out of bounds", "beyond_dynamic", shared_bytes=256),
    *_rows("memory", "shared out of bounds", "beyond_static", "below_shared"),
    *_rows("memory", "uninitialised shared", "empty_halo", "bins_not_cleared", "short_tile"),
    *_rows("memory", "uninitialised local", "local_holes", "local_end", "local_member"),
    *_rows("memory", "global race", "blocks_collide", "block_reads_block", blocks=2),
    *_rows("memory", "global race", "counter", blocks=4),
    *_rows("memory", "global race", "global_neighbour"),
    *_rows("copies", "missing copy wait", "no_wait", "overwritten"),
    *_rows("copies", "missing __syncthreads", "own_wait_only"),
    *_rows("cub", "missing __syncthreads", "raking_storage", "scan_storage", "sort_storage", "bins_too_early"),
    *_rows("copies", "missing commit", "never_committed", "committed_before", "tail_of_pipeline"),
    *_rows("copies", "wrong wait count", "one_too_many", "stages_not_less_one"),
    *_rows("copies", "buffer in use", "buffer_in_use"),
    *_rows("hopper", "missing proxy fence", "store_unfenced", mapped=True),
    *_rows("hopper", "missing proxy fence", "line_unfenced"),
    *_rows("hopper", "missing proxy fence", "product_unfenced", threads=128),
    *_rows("hopper", "missing wgmma fence", "no_wgmma_fence", threads=128),
    *_rows("hopper", "early accumulator", "sums_too_early", threads=128),
    *_rows("hopper", "operand in use", "operand_overwritten", threads=128),
    *_rows("hopper", "operand in use", "others_operand", threads=256),
    *_rows("hopper", "transaction bytes", "expects_more", hangs=True),
    *_rows("hopper", "transaction bytes", "expects_less"),
    *_rows("hopper", "transaction bytes", "expects_nothing", mapped=True),
    *_rows("hopper", "mbarrier initialised or arrived at wrongly", "initialised_twice", "initialised_late", "one_missing",
           "too_many_arrivals", hangs=True),
    *_rows("hopper", "mbarrier phase", "other_parity"),
    *_rows("hopper", "copy in flight", "box_not_awaited", "store_still_reads", "load_over_reader", mapped=True),
    *_rows("hopper", "early exit", "leaves_before_store"),
    *_rows("hopper", "cluster", "peer_not_ready", "peer_gone", "peer_overwrites", blocks=2, cluster=2),
)}
"""Name -> row."""
