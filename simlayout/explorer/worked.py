"""What a State comes to: its accesses, from text, from a kernel's plan or from a report, each counted and, where it has an
index function, proved. Kept for the next question about it."""

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.nested import mode_sizes
from simlayout.codegen.notations import tile as parse_tile
from simlayout.errors import SimlayoutError
from simlayout.explorer.sources import NONE
from simlayout.explorer.state import Refusal, access_of, blamed
from simlayout.hardware import analyze, instruction
from simlayout.hardware.tables.arch import LANES, cuda_arch_of
from simlayout.proofs import verify

MOST_RECORDED = 1 << 20     # bytes of shared memory that a recorded address may name


@dataclass(frozen=True)
class Recorded:
    """An instruction of which a report kept the addresses: as much of an Access as the page needs. addresses: int64 [32],
    bytes; active: bool [32]."""

    name: str
    instruction: str
    tile: object
    dtype: str
    addresses: np.ndarray
    active: np.ndarray
    domain: dict = field(default_factory=lambda: {"tid": LANES})

    @property
    def elements(self):
        """Elements that the instruction moves per address."""
        return max(instruction(self.instruction).bytes // dtype_of(self.dtype).bytes, 1)

    def point(self, row, lane):
        """As of an Access."""
        return {"tid": lane}


@dataclass(frozen=True, eq=False)
class Worked:
    """The results that all instructions of an access share.

    certificate: None for a recorded one. offsets: of the tile's elements, in elements, int64 [rows, columns].
    """

    access: object
    certificate: object
    analysis: object
    offsets: np.ndarray

    def total(self):
        """{name: sum over all instructions}, for JSON."""
        return {name: int(counts.sum()) for name, counts in counts_of(self.analysis).items()}


def counts_of(analysis):
    """{name: int64 [n]} of an Analysis; least, most: bounds of the wavefronts."""
    return {**{name: getattr(analysis, name) for name in ("wavefronts", "ideal", "excess", "conflicts")},
            "least": analysis.at_least, "most": analysis.at_most}


@lru_cache(16)
def worked(state, sources=NONE):
    """(Worked of each access) of a State. Raises Refusal with the number of the access whose field is at fault."""
    accesses = _of_kernel(state, sources) if state.kernel else None
    made = []
    for number in range(len(accesses or state.accesses)):
        try:
            made.append(_one(state, accesses[number] if accesses else None, number))
        except Refusal as refusal:
            if refusal.field in ("op", "lanes", "domain", "addresses") and not state.kernel:
                refusal.access = number
            raise
    return tuple(made)


def of_before(state, sources=NONE):
    """The Worked of the pinned layout; None where nothing is pinned. Raises Refusal of "before" where it does not fit."""
    if not state.before.strip():
        return None
    try:
        return worked(replace(state, layout=state.before, before="").without_view(), sources)
    except Refusal as refusal:
        raise Refusal(f"the pinned layout {state.before[:80]!r}: {refusal}", "before") from None


def _one(state, access, number):
    if access is None and state.accesses[number].addresses.strip():
        return _recorded(state, state.accesses[number], number)
    access = access or access_of(state, number)
    use = state.accesses[number] if number < len(state.accesses) else None
    fault, text = ("lanes", use.lanes) if use and use.lanes.strip() and not state.kernel else ("layout", state.layout)
    with blamed(fault, text):
        certificate, analysis = verify(access, arch=state.arch), access.analyze(state.arch)
    return Worked(access, certificate, analysis, _rows(access.tile))


def _of_kernel(state, sources):
    """The accesses of a kernel to one of its tiles, in the State's layout if it has one."""
    with blamed("kernel"):
        parts = sources.parts(state.kernel)
        if state.part >= len(parts):
            raise SimlayoutError(f"kernel {state.kernel} has {len(parts)} tiles that threads access through index functions")
    with blamed("arch", state.arch):
        cuda_arch_of(state.arch)
    accesses = parts[state.part]
    if not state.layout.strip():
        return accesses
    with blamed("layout", state.layout):
        tile = parse_tile(state.layout, None, accesses[0].dtype)
        return tuple(replace(access.with_tile(tile), excess=None) for access in accesses)       # told, not refused


def _recorded(state, use, number):
    """The Worked of a recorded instruction, in memory as it lies."""
    with blamed("arch", state.arch):
        cuda_arch_of(state.arch)
    with blamed("op", use.op):
        row = instruction(use.op)
    with blamed("layout", state.layout):
        tile = parse_tile(state.layout, None, state.dtype)
    words = use.addresses.split()
    if len(words) != LANES or not all(re.fullmatch(r"-|[0-9]{1,8}", word) for word in words):
        raise Refusal(f"addresses are {LANES} numbers of bytes, or - for a lane that takes no part", "addresses")
    active = np.array([word != "-" for word in words])
    addresses = np.array([0 if word == "-" else int(word) for word in words], np.int64)
    if addresses.max() > MOST_RECORDED:
        raise Refusal(f"an address lies beyond {MOST_RECORDED} bytes", "addresses")
    with blamed("addresses"):
        analysis = analyze(row, addresses[None], active[None], state.arch)
    access = Recorded(use.name or f"access {number}", row.name, tile, state.dtype, addresses, active)
    return Worked(access, None, analysis, _rows(tile))


def _rows(tile):
    """The offsets as rows and columns: one mode is one row, and of more than two all but the first are columns."""
    rows = mode_sizes(tile)[0] if tile.rank > 1 else 1
    return tile.offsets().reshape(rows, -1, order="F")
