"""analyze: checked addresses in, wavefronts out, with where the rule comes from."""

from dataclasses import dataclass

import numpy as np

from simlayout.errors import AddressError, InstructionError
from simlayout.hardware import banks
from simlayout.hardware.arch import Arch, arch_of
from simlayout.hardware.instructions import Instruction
from simlayout.hardware.instructions import instruction as instruction_of
from simlayout.hardware.provenance import Provenance

WARP_LANES = 32


@dataclass(frozen=True, eq=False)
class Analysis:
    """What n accesses of one instruction cost.

    addresses: bytes, int64 [n, 32], 0 in idle lanes; active: bool [n, 32], False also where the instruction ignores the
    address.
    wavefronts: passes through the banks, int64 [n]; ideal: the number of lane groups (after pair merging) that have an
    active lane, int64 [n]. exact: whether the hardware is known to agree for every address pattern.
    """

    instruction: Instruction
    arch: Arch
    addresses: np.ndarray
    active: np.ndarray
    wavefronts: np.ndarray
    ideal: np.ndarray
    provenance: Provenance
    exact: bool

    @property
    def excess(self):
        """Wavefronts beyond the ideal, int64 [n]."""
        return self.wavefronts - self.ideal

    @property
    def conflicts(self):
        """What Nsight Compute's bank-conflict counter shows, int64 [n].

        The excess for loads, stores, ldmatrix, stmatrix and cp.async.ca; one less than the wavefronts for red and
        atom; always 0 for cp.async.cg.
        """
        if self.instruction.counter == "excess":
            return self.excess
        if self.instruction.counter == "wavefronts - 1":
            return np.maximum(self.wavefronts - 1, 0)
        return np.zeros_like(self.wavefronts)

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
            "exact": self.exact,
            "caveat": self.instruction.caveat,
            "provenance": {"kind": self.provenance.kind, "text": self.provenance.text, "cases": self.provenance.cases},
        }


def analyze(instruction, addresses, active=None, arch="sm_90"):
    """Counts the wavefronts of n accesses of a warp to shared memory, as the hardware does.

    instruction: a PTX name ("ldmatrix.x4", "ld.shared.v4.f32") or an Instruction.
    addresses: bytes, int [n, 32], or [32] for one access. For ldmatrix and stmatrix lane 8m + r holds row r of matrix
    m, and lanes beyond the last matrix are ignored.
    active: bool [n, 32] or [32], all lanes if None. arch: "sm_75" to "sm_100"; the rules are measured on sm_90 and
    assumed to be the same elsewhere, which `.provenance` says.

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
    wavefronts, ideal = banks.wavefronts(row, addresses, active)
    return Analysis(row, chip, addresses, active, wavefronts, ideal, _provenance(row, chip), row.exact)


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


def _provenance(row, chip):
    """The row's own on sm_90, where it was measured; elsewhere the same rule, as an assumption."""
    if chip.name == "sm_90":
        return row.source
    return Provenance("assumed", f"the rule of sm_90, taken to hold on {chip.name} ({row.source})")
