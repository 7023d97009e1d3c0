"""What `analyze` is given, checked: addresses, masks, and the operands that copies alone have."""

from functools import lru_cache

import numpy as np

from simlayout.errors import AddressError, InstructionError, brief
from simlayout.hardware.tables.arch import LANES

EVERY = np.ones((1, LANES), bool)
EVERY.setflags(write=False)


def integers(addresses, lanes=LANES):
    """The addresses as an array of ints [n, lanes], not copied if they are one; refuses anything else."""
    if callable(addresses):
        raise AddressError("addresses are ints, not a function: Access(name, instruction, layout, lanes, domain).analyze() "
                           "asks a layout for them")
    if isinstance(addresses, np.ma.MaskedArray):
        raise AddressError("addresses are a masked array, whose mask does not count: give addresses.filled(0), and "
                           "active=~addresses.mask")
    try:
        given = np.asarray(addresses)
    except Exception as error:                           # whatever an object does that says it is an array
        raise AddressError(f"addresses are one array of ints, [n, {lanes}] or [{lanes}], {lanes} in each row "
                           f"({error})") from None
    if given.dtype.kind == "O":                          # what no integer of NumPy is, and what was given beside it
        others = [x for x in given.flat if isinstance(x, bool) or not isinstance(x, int | np.integer)]
        large = max(map(abs, given.flat)) if not others else 0
        raise AddressError(f"addresses are byte addresses, so integers, not {brief(others[0])}" if others else
                           f"address {large} is out of range: no memory has so many bytes")
    if given.dtype.kind not in "iu" and given.size:
        raise AddressError(f"addresses are byte addresses, so integers, not {given.dtype}; convert them first")
    if given.ndim not in (1, 2) or given.shape[-1] != lanes:
        raise AddressError(f"addresses of shape {given.shape}: give one per lane, [n, {lanes}] or [{lanes}]")
    if given.dtype.kind not in "iu":                     # none at all: NumPy calls an empty list floats
        given = given.astype(np.int64)
    return given.reshape(-1, lanes)


def rows_of(mask, rows):
    """The mask (bool [n or 1, lanes], None for all lanes) of some accesses, a slice."""
    return mask if mask is None or len(mask) == 1 else mask[rows]


def active_of(mask, n, lanes=LANES):
    """bool [n, lanes] of a mask; a view."""
    return np.broadcast_to(True if mask is None else mask, (n, lanes))


def addresses_of(given, mask):
    """int64 [n, lanes], 0 in idle lanes; where ints given [n, lanes] are so already, these themselves."""
    addresses = given.astype(np.int64, copy=False)
    return addresses if mask is None else np.where(mask, addresses, 0)


def signed(given):
    """The addresses as C-contiguous int32 or int64: not copied if they are so, or unsigned of that size. An unsigned one
    that is too large turns negative, and is refused as well."""
    kind = given.dtype
    if kind.isnative and kind.itemsize >= 4:
        return np.ascontiguousarray(given).view(f"i{kind.itemsize}")
    return np.ascontiguousarray(given, np.int64)


@lru_cache(64)
def _used(groups, lanes):
    """bool [1, lanes]: the lanes whose address is read; None if all are."""
    used = np.zeros((1, lanes), bool)
    used[:, [lane for group in groups for lane in group]] = True
    used.setflags(write=False)
    return None if used.all() else used


def mask_of(row, active, n):
    """The lanes that are active and whose address the instruction reads: bool [n or 1, lanes], None for all of them."""
    lanes, used = row.lanes, _used(row.groups, row.lanes)
    if active is None:
        return used
    try:
        mask = np.asarray(active)
    except Exception as error:                           # likewise
        raise AddressError(f"active is one array of bools, [n, {lanes}] or [{lanes}] ({error})") from None
    if mask.dtype != bool or mask.shape[-1:] != (lanes,) or mask.ndim > 2:
        raise AddressError(f"active is {mask.dtype} of shape {mask.shape}: give bool [n, {lanes}] or [{lanes}]")
    if mask.ndim == 2 and len(mask) not in (1, n):
        raise AddressError(f"active has {len(mask)} rows, addresses {n}: give one row for each, or one")
    mask = mask.reshape(-1, lanes)
    if row.needs_whole_warp:
        if not mask.all():
            access, lane = np.argwhere(~mask)[0]
            why = "is .sync.aligned" if row.is_matrix else "exchanges what lanes load"
            raise InstructionError(f"{row} {why}: all {lanes} lanes execute it, but lane {lane} of access {access} "
                                   f"is inactive; give every lane an address and drop the mask")
        return used
    return mask if used is None else mask & used


def access_of(given, mask, index):
    """`addresses_of` one access, int64 [lanes]."""
    only = slice(index, index + 1)
    return addresses_of(given[only], rows_of(mask, only))[0]


def lane_at_fault(row, chip, addresses):
    """(lane, whether it is out of bounds) of an access whose addresses, int64 [32], 0 in idle lanes, are wrong: the first
    one out of bounds, or where none is, the first misaligned one."""
    outside = (addresses < 0) | (addresses > chip.shared_bytes_per_cta - row.bytes)
    any_outside = bool(outside.any())
    return int(np.argmax(outside if any_outside else addresses % row.bytes != 0)), any_outside


def refuse(row, chip, access, addresses):
    """Raises the AddressError of an access, by its number, whose addresses (int64 [32], 0 in idle lanes) are wrong."""
    top = chip.shared_bytes_per_cta
    lane, outside = lane_at_fault(row, chip, addresses)
    address = int(addresses[lane])
    if outside:
        fault = "negative" if -2**40 < address < 0 else "out of range"
        address = address if fault == "negative" else address % 2**64       # unsigned ones have turned negative
        raise AddressError(f"access {access}, lane {lane}: address {address} is {fault}; {row} reaches bytes 0 to "
                           f"{top - 1}: {chip.name} has {top // 1024} KiB of {chip.vendor.shared_memory} per "
                           f"{chip.vendor.cta}")
    needs = "has a rule for" if row.elsewhere else "needs"
    below = address // row.bytes * row.bytes
    nearest = below if address - below <= row.bytes // 2 else below + row.bytes
    raise AddressError(f"access {access}, lane {lane}: address {address} is misaligned; {row} {needs} a multiple of "
                       f"{row.bytes} bytes, the nearest is {nearest}{row.elsewhere and f' ({row.elsewhere})'}")


_ONLY_COPIES = {"sources": "reads no global memory", "valid": "has no src-size"}


def _of_copy(row, name, values, mask, n):
    """An operand that copies alone have, int64 [n, 32], 0 in idle lanes; raises for other instructions and shapes."""
    if row.kind != "copy":
        raise InstructionError(f"{row} {_ONLY_COPIES[name]}: leave out {name}")
    given = integers(values).astype(np.int64)
    if len(given) not in (1, n):
        raise AddressError(f"{name} has {len(given)} rows, addresses {n}: give one row for each, or one")
    return np.where(active_of(mask, n), given, 0)


def sources_of(row, sources, mask, n) -> np.ndarray | None:
    """The sources of a copy as int64 [n, 32], 0 in idle lanes, or None; raises AddressError where they cannot be any."""
    if sources is None:
        return None
    given = _of_copy(row, "sources", sources, mask, n)
    wrong = (given < 0) | (given % row.bytes != 0)
    if wrong.any():
        access, lane, address = _first(wrong, given)
        raise AddressError(f"access {access}, lane {lane}: source {address} is not a multiple of {row.bytes} bytes from 0 "
                           f"on; {row} needs one")
    return given


def valid_of(row, valid, mask, n) -> np.ndarray | None:
    """The src-size of a copy as int64 [n, 32], or bool [n, 32] where it is all or nothing, or None; raises AddressError
    outside 0 to the bytes of the copy."""
    if valid is None:
        return None
    if np.asarray(valid).dtype == bool:                   # ignore-src: which lanes read
        return _of_copy(row, "valid", np.asarray(valid).astype(np.int8), mask, n).astype(bool)
    given = _of_copy(row, "valid", valid, mask, n)
    wrong = (given < 0) | (given > row.bytes)
    if wrong.any():
        access, lane, size = _first(wrong, given)
        raise AddressError(f"access {access}, lane {lane}: src-size {size}; {row} takes 0 to {row.bytes} bytes")
    return given


def _first(bad, addresses):
    """(access, lane, address) of the first True of `bad`, as Python ints."""
    access, lane = (int(i) for i in np.argwhere(bad)[0])
    return access, lane, int(addresses[access, lane])
