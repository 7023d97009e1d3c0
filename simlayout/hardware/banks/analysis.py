"""analyze: checks addresses and counts their wavefronts, with the provenance of the rule."""

import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simlayout.algebra.aliases import ArrayLike
from simlayout.errors import AddressError, InstructionError, brief
from simlayout.excess import WithExcess
from simlayout.hardware.banks import model
from simlayout.hardware.banks.copies import past_cache, through_cache
from simlayout.hardware.banks.counts import Count
from simlayout.hardware.banks.operands import (
    access_of,
    active_of,
    addresses_of,
    integers,
    mask_of,
    refuse,
    sources_of,
    valid_of,
)
from simlayout.hardware.banks.retries import retried
from simlayout.hardware.tables.arch import DEFAULT_ARCH, Arch, arch_of
from simlayout.hardware.tables.instructions import Instruction
from simlayout.hardware.tables.instructions import instruction as instruction_of
from simlayout.hardware.tables.provenance import Provenance, provenance
from simlayout.shown import Shown
from simlayout.wording import counted

RULES = {"copy": through_cache, "bypass": past_cache, "retry": retried}
"""The rule of a row, by its name: a function of (row, addresses, active, sources, valid) that returns a Count. The rule
"banks" is not here, because it checks the addresses while it counts: see `model.checked_wavefronts`."""

FAST_FROM = 1 << 12
"""From this many accesses on, Numba counts if it is loaded. NumPy counts fewer in about a millisecond."""

LOAD_FROM = 1 << 18
"""From this many accesses on, Numba is loaded, which takes half a second (the first time some seconds, to compile)."""


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Shown, WithExcess[np.ndarray]):
    """The cost of n accesses of one instruction.

    given: the addresses that `analyze` received, bytes, ints [n, lanes]; mask: the lanes that are active and whose address
    the instruction reads, bool [n or 1, lanes], None for all. Neither is copied, so changing them later changes `explain`.
    wavefronts: passes through the banks, int64 [n]; ideal: the number of lane groups (after pair merging) that have an
    active lane (and, of cp.async.cg with a src-size, of 128 bytes that are read), int64 [n]. at_least, at_most: bounds,
    equal to the wavefronts where these are known exactly. loads: some atomics are a loop that loads; the wavefronts of
    these loads, which the hardware counts under ld, else 0, int64 [n].
    sources: global bytes that a copy reads, int64 [n, 32], None where not given; valid: its src-size in bytes, likewise, or
    bool [n, 32], which lanes read. by_rival: bool [n], the accesses whose numbers are those of the instruction's rival, the
    rule of another source; None where sources agree.

    >>> column = analyze("ld.shared.b32", 128 * np.arange(32))         # 32 words of one bank
    >>> column
    <Analysis of 1 ld.shared.b32 on sm_90: 32 wavefronts, ideal 1>
    >>> column.excess.tolist(), column.exact, column.provenance.kind
    ([31], True, 'measured')
    """

    instruction: Instruction
    arch: Arch
    given: np.ndarray
    mask: np.ndarray | None
    wavefronts: np.ndarray
    ideal: np.ndarray
    at_least: np.ndarray
    at_most: np.ndarray
    loads: np.ndarray
    caveat: str = ""
    sources: np.ndarray | None = None
    valid: np.ndarray | None = None
    by_rival: np.ndarray | None = None

    @cached_property
    def addresses(self) -> np.ndarray:
        """Bytes, int64 [n, lanes], 0 in idle lanes; computed at the first use."""
        return addresses_of(self.given, self.mask)

    @property
    def active(self) -> np.ndarray:
        """bool [n, lanes], False also where the instruction ignores the address."""
        return active_of(self.mask, len(self), self.instruction.lanes)

    def row(self, index: int) -> Instruction:
        """The row that the numbers of access `index` come from: the instruction, or its rival."""
        rival = self.instruction.rival
        return rival if rival is not None and self.by_rival is not None and self.by_rival[index] else self.instruction

    @property
    def exact(self) -> bool:
        """Whether the numbers of all n accesses are exactly the hardware's. If not, `caveat` says why."""
        return not self.caveat

    @property
    def provenance(self) -> Provenance:
        """Where the rule comes from: the records that confirm it (see `tables.provenance`), or why it is believed."""
        return provenance(self.instruction, self.arch)

    @property
    def conflicts(self) -> np.ndarray:
        """What Nsight Compute's bank-conflict counter shows, int64 [n].

        It counts the passes of each group after the first, which is the excess. Atomics differ: cas passes several times,
        and those that retry never wait (0). The counter shows nothing for cp.async.cg, and for .ca it varies from run to
        run around the excess.
        """
        if self.instruction.rule in ("bypass", "retry"):
            return np.zeros_like(self.wavefronts)
        return self.wavefronts // self.instruction.times - self.ideal

    def __len__(self):
        return len(self.given)

    def __repr__(self):
        return (f"<Analysis of {len(self)} {self.instruction} on {self.arch.name}: "
                f"{counted(int(self.wavefronts.sum()), self.arch.vendor.wavefront)}, ideal {int(self.ideal.sum())}>")

    def __str__(self):
        """A table of at most 12 lines: the totals, and the worst access.

        >>> both = [[4 * lane for lane in range(32)], [128 * lane for lane in range(32)]]
        >>> print(analyze("ld.shared.b32", both))    # doctest: +ELLIPSIS
        instruction   ld.shared.b32 on sm_90
        accesses      2
        wavefronts    33   1 to 32 per access, 16.5 on average
        ideal         2
        excess        31   94% of the wavefronts
        conflicts     31
        worst         access 1: 32 wavefronts where 1 is ideal; 1 of 2 have excess
        rule          explains ...
        """
        from simlayout.hardware.banks.summary import summary

        return summary(self)

    def explain(self, index: int = 0) -> str:
        """Text, at most 100 columns: access `index` by phases, banks, words and lanes. See `explain.explain`.

        >>> from simlayout import analyze
        >>> print("\\n".join(analyze("ld.shared.b32", [8 * lane for lane in range(32)]).explain().splitlines()[1:3]))
          phase 0, lanes 0-31: 2 wavefronts
            bank 0: word 0 (lane 0), word 32 (lane 16)
        """
        from simlayout.hardware.banks.explain import explain

        if not isinstance(index, int | np.integer) or isinstance(index, bool) or not -len(self) <= index < len(self):
            raise AddressError(f"access {brief(index)} of {len(self)}: they count from 0")
        return explain(self, index)

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON: the totals and one list entry per access."""
        return {
            "instruction": self.instruction.name,
            "arch": self.arch.name,
            "accesses": len(self),
            "wavefronts": self.wavefronts.tolist(),
            "ideal": self.ideal.tolist(),
            "excess": self.excess.tolist(),
            "conflicts": self.conflicts.tolist(),
            "at_least": self.at_least.tolist(),
            "at_most": self.at_most.tolist(),
            "loads": self.loads.tolist(),
            "exact": self.exact,
            "caveat": self.caveat,
            "provenance": {"kind": self.provenance.kind, "text": self.provenance.text, "cases": self.provenance.cases},
        }


def analyze(instruction: str | Instruction, addresses: ArrayLike, active: ArrayLike | None = None,
            arch: str | Arch = DEFAULT_ARCH, sources: ArrayLike | None = None, valid: ArrayLike | None = None) -> Analysis:
    """Counts the wavefronts of n accesses of a warp to shared memory, as the hardware does.

    instruction: a PTX name ("ldmatrix.x4", "ld.shared.v4.f32"), for AMD's chips an LDS one ("ds_read_b128"), or an
    Instruction.
    addresses: bytes, int [n, 32], or [32] for one access; on chips whose waves have 64 lanes, 64 of them. For ldmatrix and
    stmatrix lane 8m + r holds row r of matrix m, and lanes beyond the last matrix are ignored.
    active: as many bools, all lanes if None. arch: "sm_75" to "sm_121"; the rules are measured on sm_90 and assumed to be
    the same elsewhere, which `.provenance` says. Or one of AMD's, "gfx90a" to "gfx1201", measured by others or documented.
    What AMD calls a bank conflict is the excess too.
    sources: for cp.async alone, the global addresses that it reads, bytes, int [n, 32] or [32]; only their places in
    banks, sectors and lines matter, so any base that is a multiple of 128 will do. Without sources the wavefronts are those
    of the destinations alone (as if every lane read its own bank), and `at_least` and `at_most` bound them for all sources.
    valid: the src-size of cp.async, the bytes that are read (the rest becomes zero), int [n, 32] or [32]; None for the
    instruction without it, which costs less for .cg. bool: which lanes read at all, of the instruction with ignore-src;
    ptxas makes that of a src-size that it knows to be 0 or everything.

    Very many accesses are counted with Numba on all cores, if it is installed (`hardware.banks.fast`; equal to NumPy).

    Raises AddressError for addresses that are not integers, of the wrong shape, misaligned, negative or beyond the
    shared memory of a CTA (active lanes only), and InstructionError for an instruction that is unknown, that `arch`
    does not have, or whose lanes may not be inactive.

    >>> r = analyze("ld.shared.b32", [128 * lane for lane in range(32)])
    >>> r.wavefronts.tolist(), r.ideal.tolist(), r.conflicts.tolist()
    ([32], [1], [31])
    >>> analyze("ld.shared.b128", [[0] * 32, list(range(0, 512, 16))]).wavefronts.tolist()
    [2, 4]
    >>> rows = [128 * (lane % 16) + 16 * (lane // 16) for lane in range(64)]
    >>> analyze("ds_read_b128", rows, arch="gfx942").conflicts.tolist()
    [24]
    """
    chip = arch_of(arch)
    row = instruction_of(instruction, chip)
    if row.lanes != chip.lanes or chip.capability and not row.since:
        raise InstructionError(f"this row of {row} is of another chip than {chip.name}: name its own as the arch")
    if chip.capability < row.since:
        first = "sm_{}{}".format(*row.since)
        raise InstructionError(f"{row} does not exist on {chip.name}; it needs {first} or newer")
    given = integers(addresses, row.lanes)
    n = len(given)
    mask = mask_of(row, active, n)
    sources, valid = sources_of(row, sources, mask, n), valid_of(row, valid, mask, n)
    counts = _count(row, chip, given, mask, sources, valid)
    loads = np.zeros(n, np.int64) if counts.loads is None else counts.loads
    caveat = "" if counts.exact else UNKNOWN_SOURCES if row.kind == "copy" and sources is None else row.caveat
    return Analysis(row, chip, given, mask, counts.wavefronts, counts.ideal, counts.at_least, counts.at_most, loads,
                    caveat, sources, valid, counts.by_rival)


UNKNOWN_SOURCES = ("the sources in global memory count too, and were not given (`analyze` takes sources=): this is what "
                   "the destinations cost")


def _count(row, chip, given, mask, sources, valid):
    """The Count of n accesses by the rule of the row. Raises AddressError for the first access with a wrong address."""
    room = chip.shared_bytes_per_cta
    if row.rule == "banks":
        wavefronts, ideal, fault = _counter(row, len(given), room)(row, given, mask, room)
        if fault is not None:
            refuse(row, chip, fault, access_of(given, mask, fault))
        if row.rival is not None:
            return Count.disputed((wavefronts, ideal), model.checked_wavefronts(row.rival, given, mask, room)[:2])
        return Count.exactly(wavefronts, ideal)
    addresses = addresses_of(given, mask)
    fault = model.first_fault(row, addresses, room)
    if fault is not None:
        refuse(row, chip, fault, access_of(given, mask, fault))
    return RULES[row.rule](row, addresses, active_of(mask, len(given)), sources, valid)


def _counter(row, n, room):
    """The function that counts n accesses of the rule "banks": of `fast` if Numba is there and n is large enough to pay,
    else of `model`. Both count the same."""
    if n >= LOAD_FROM or n >= FAST_FROM and "simlayout.hardware.banks.fast" in sys.modules:
        try:
            from simlayout.hardware.banks import fast
        except ImportError:                              # no Numba here, or one that this NumPy is too new for
            return model.checked_wavefronts
        if fast.can_count(row, room):
            return fast.checked_wavefronts
    return model.checked_wavefronts
