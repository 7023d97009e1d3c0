"""analyze: checked addresses in, wavefronts out, with where the rule comes from."""

from dataclasses import dataclass

import numpy as np

from simlayout.errors import AddressError, InstructionError
from simlayout.hardware import banks
from simlayout.hardware.arch import Arch, arch_of
from simlayout.hardware.copies import past_cache, through_cache
from simlayout.hardware.counts import Count
from simlayout.hardware.instructions import Instruction
from simlayout.hardware.instructions import instruction as instruction_of
from simlayout.hardware.records import provenance
from simlayout.hardware.retries import retried

WARP_LANES = 32


RULES = {"banks": lambda row, addresses, active, *_: Count.exactly(*banks.wavefronts(row, addresses, active)),
         "copy": through_cache, "bypass": past_cache, "retry": retried}
"""The rule of a row, by its name: a function of (row, addresses, active, sources, valid) that gives a Count."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """What n accesses of one instruction cost.

    addresses: bytes, int64 [n, 32], 0 in idle lanes; active: bool [n, 32], False also where the instruction ignores the
    address.
    wavefronts: passes through the banks, int64 [n]; ideal: the number of lane groups (after pair merging) that have an
    active lane, int64 [n]. at_least, at_most: bounds, equal to the wavefronts where these are known exactly.
    loads: wavefronts of the loads in the loop that an atomic may be (counted apart, under ld), else 0, int64 [n].
    sources: global bytes that a copy reads, int64 [n, 32], None where not given; valid: its src-size in bytes, likewise.
    """

    instruction: Instruction
    arch: Arch
    addresses: np.ndarray
    active: np.ndarray
    wavefronts: np.ndarray
    ideal: np.ndarray
    at_least: np.ndarray
    at_most: np.ndarray
    loads: np.ndarray
    caveat: str = ""
    sources: np.ndarray | None = None
    valid: np.ndarray | None = None

    @property
    def exact(self):
        """Whether the numbers are the hardware's: a bool for all n accesses. Otherwise `caveat` says why not."""
        return bool((self.at_least == self.at_most).all())

    @property
    def provenance(self):
        """Where the rule comes from: the records that confirm it (see `records`), or why it is believed."""
        return provenance(self.instruction, self.arch)

    @property
    def excess(self):
        """Wavefronts beyond the ideal, int64 [n]."""
        return self.wavefronts - self.ideal

    @property
    def conflicts(self):
        """What Nsight Compute's bank-conflict counter shows, int64 [n].

        The passes of all groups beyond the first of each: the excess, but for atomics, which pass several times (cas) or
        never wait (those that retry: 0). It shows nothing for cp.async.cg, and for .ca it varies from run to run
        around the excess.
        """
        if self.instruction.rule in ("bypass", "retry"):
            return np.zeros_like(self.wavefronts)
        return self.wavefronts // self.instruction.times - self.ideal

    def __len__(self):
        return len(self.addresses)

    def explain(self, index=0):
        """Text, at most 100 columns: access `index` by phases, banks, words and lanes. See `explain.explain`."""
        from simlayout.hardware.explain import explain

        return explain(self, index)

    def as_dict(self):
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


def analyze(instruction, addresses, active=None, arch="sm_90", sources=None, valid=None):
    """Counts the wavefronts of n accesses of a warp to shared memory, as the hardware does.

    instruction: a PTX name ("ldmatrix.x4", "ld.shared.v4.f32") or an Instruction.
    addresses: bytes, int [n, 32], or [32] for one access. For ldmatrix and stmatrix lane 8m + r holds row r of matrix
    m, and lanes beyond the last matrix are ignored.
    active: bool [n, 32] or [32], all lanes if None. arch: "sm_75" to "sm_100"; the rules are measured on sm_90 and
    assumed to be the same elsewhere, which `.provenance` says.
    sources: for cp.async alone, the global addresses that it reads, bytes, int [n, 32] or [32]; only their places in
    banks, sectors and lines matter, so that any base will do that is a multiple of 128. Without them the wavefronts are
    those of the destinations alone (as if every lane read a bank of its own), and `at_least` and `at_most` bound them
    for all sources. valid: the src-size of cp.async, bytes that are read (the rest becomes zero), int [n, 32] or [32];
    None for the instruction without it, which costs less for .cg.

    Raises AddressError for addresses that are not integers, of the wrong shape, misaligned, negative or beyond the
    shared memory of a CTA (active lanes only), and InstructionError for an instruction that is unknown, that `arch`
    does not have, or whose lanes may not be inactive.

    >>> r = analyze("ld.shared.b32", [128 * lane for lane in range(32)])
    >>> r.wavefronts.tolist(), r.ideal.tolist(), r.conflicts.tolist()
    ([32], [1], [31])
    >>> analyze("ld.shared.b128", [[0] * 32, list(range(0, 512, 16))]).wavefronts.tolist()
    [2, 4]
    """
    row, chip = instruction_of(instruction), arch_of(arch)
    if chip.capability < row.since:
        first = "sm_{}{}".format(*row.since)
        raise InstructionError(f"{row} does not exist on {chip.name}; it needs {first} or newer")
    addresses = _addresses(addresses)
    active = _active(row, active, addresses)
    addresses = np.where(active, addresses, 0) if not active.all() else addresses
    _check(row, chip, addresses)
    given = None if sources is None else _sources(row, sources, active)
    sizes = None if valid is None else _valid(row, valid, active)
    made = RULES[row.rule](row, addresses, active, given, sizes)
    loads = np.zeros_like(made.wavefronts) if made.loads is None else made.loads
    exact = (made.at_least == made.at_most).all()
    caveat = "" if exact else UNKNOWN_SOURCES if row.kind == "copy" and given is None else row.caveat
    return Analysis(row, chip, addresses, active, made.wavefronts, made.ideal, made.at_least, made.at_most, loads, caveat,
                    given, sizes)


UNKNOWN_SOURCES = "the sources in global memory count too, and were not given: this is what the destinations cost"


_ONLY_COPIES = {"sources": "reads no global memory", "valid": "has no src-size"}


def _of_copy(row, name, values, active):
    """An operand that copies alone have, int64 [n, 32], 0 in idle lanes; raises for other instructions and shapes."""
    if row.kind != "copy":
        raise InstructionError(f"{row} {_ONLY_COPIES[name]}: leave out {name}")
    given = _addresses(values)
    if len(given) not in (1, len(active)):
        raise AddressError(f"{name} has {len(given)} rows, addresses {len(active)}: give one row for each, or one")
    return np.where(active, given, 0)


def _sources(row, sources, active):
    """The sources of a copy as int64 [n, 32], 0 in idle lanes; raises AddressError where they cannot be any."""
    given = _of_copy(row, "sources", sources, active)
    if (given < 0).any() or (given % row.bytes).any():
        access, lane, address = _first((given < 0) | (given % row.bytes != 0), given)
        raise AddressError(f"access {access}, lane {lane}: source {address} is not a multiple of {row.bytes} bytes from 0 "
                           f"on; {row} needs one")
    return given


def _valid(row, valid, active):
    """The src-size of a copy as int64 [n, 32]; raises AddressError outside 0 to the bytes of the copy."""
    given = _of_copy(row, "valid", valid, active)
    if (given < 0).any() or (given > row.bytes).any():
        access, lane, size = _first((given < 0) | (given > row.bytes), given)
        raise AddressError(f"access {access}, lane {lane}: src-size {size}; {row} takes 0 to {row.bytes} bytes")
    return given


def _addresses(addresses):
    """The addresses as int64 [n, 32]; refuses anything but integers of that shape."""
    given = np.asarray(addresses)
    if given.dtype.kind not in "iu":
        raise AddressError(f"addresses are byte addresses, so integers, not {given.dtype}; convert them first")
    if given.ndim not in (1, 2) or given.shape[-1] != WARP_LANES:
        raise AddressError(f"addresses of shape {given.shape}: give one per lane, [n, 32] or [32]")
    return given.astype(np.int64).reshape(-1, WARP_LANES)


def _active(row, active, addresses):
    """bool [n, 32]: the lanes that are active and whose address the instruction reads."""
    used = np.zeros(WARP_LANES, bool)
    used[[lane for group in row.groups for lane in group]] = True
    if active is None:
        return np.broadcast_to(used, addresses.shape)
    mask = np.asarray(active)
    if mask.dtype != bool or mask.shape[-1:] != (WARP_LANES,) or mask.ndim > 2:
        raise AddressError(f"active is {mask.dtype} of shape {mask.shape}: give bool [n, 32] or [32]")
    if mask.ndim == 2 and len(mask) not in (1, len(addresses)):
        raise AddressError(f"active has {len(mask)} rows, addresses {len(addresses)}: give one row for each, or one")
    mask = np.broadcast_to(mask, addresses.shape)
    if row.needs_whole_warp and not mask.all():
        access, lane = np.argwhere(~mask)[0]
        raise InstructionError(f"{row} is .sync.aligned: all 32 lanes execute it, but lane {lane} of access {access} "
                               f"is inactive; give every lane an address and drop the mask")
    return mask & used


def _check(row, chip, addresses):
    """Raises AddressError at the first address that the instruction cannot take (idle lanes hold 0)."""
    top = chip.shared_bytes_per_cta
    if addresses.size == 0:
        return
    if addresses.min() < 0 or addresses.max() > top - row.bytes:
        access, lane, address = _first((addresses < 0) | (addresses > top - row.bytes), addresses)
        fault = "negative" if address < 0 else "out of range"
        raise AddressError(f"access {access}, lane {lane}: address {address} is {fault}; {row} reaches bytes 0 to "
                           f"{top - 1}: {chip.name} has {top // 1024} KiB of shared memory per CTA")
    if np.bitwise_or.reduce(addresses, axis=None) % row.bytes:
        access, lane, address = _first(addresses % row.bytes != 0, addresses)
        below = address // row.bytes * row.bytes
        nearest = below if address - below <= row.bytes // 2 else below + row.bytes
        raise AddressError(f"access {access}, lane {lane}: address {address} is misaligned; {row} needs a multiple of "
                           f"{row.bytes} bytes, the nearest is {nearest}")


def _first(bad, addresses):
    """(access, lane, address) of the first True of `bad`, as Python ints."""
    access, lane = (int(i) for i in np.argwhere(bad)[0])
    return access, lane, int(addresses[access, lane])
