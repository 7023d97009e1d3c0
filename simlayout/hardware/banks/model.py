"""The bank model: from the byte addresses of a warp to wavefronts.

Shared memory has 32 banks of 4-byte words; word w lies in bank w % 32. (Some instructions of gfx950 see 64 of them.) One
wavefront takes at most one word from each bank, so a group of lanes that is served together needs as many wavefronts as
its fullest bank has words. Lanes that touch the same word share it (or, for atomics and cp.async, queue for it: then every
lane counts).

An aligned access of 8 or 16 bytes covers 2 or 4 whole neighbouring banks, so it is counted as one wide word in one of
16 or 8 wide banks: the counts are the same and the arrays are shorter.

This is the model in NumPy, for one access and for many; `fast` counts the same with Numba, `sweep` on a GPU.
"""

from functools import lru_cache

import numpy as np

from simlayout.hardware.banks.operands import addresses_of, rows_of
from simlayout.hardware.tables.arch import LANES

BANKS = 32
"""Of every chip of NVIDIA; those that serve an instruction are in its row."""

WORD_BYTES = 4
_CHUNK = 256  # accesses at a time: memory stays flat, and the arrays stay in the cache
_LANE_BIT = 20  # of a key; the word comes below
_IDLE = np.int32(-1)
_LANE = np.arange(LANES, dtype=np.int32)  # of the warps whose lanes pair up
_NUMBER = np.arange(_CHUNK, dtype=np.int32)[:, None]
_PAIRS = np.stack([[_LANE[_LANE & step == upper * step] for step in (1, 2)] for upper in (0, 1)])  # [lower or upper, step]


def wavefronts(instruction, addresses, active):
    """(wavefronts, ideal) of n accesses of a warp, int64 [n] each.

    instruction: a row of the tables. addresses: bytes, int [n, lanes]; active: bool [n, lanes]. Both are trusted:
    `analyze` checks them. Ideal is the number of lane groups, after pair merging, that have an active lane.
    """
    total = np.empty((2, len(addresses)), np.int64)
    for rows in chunks(len(addresses), _CHUNK):
        total[:, rows] = _counts(instruction, addresses[rows], active[rows])
    return total[0], total[1]


def checked_wavefronts(instruction, addresses, mask, shared_bytes):
    """(wavefronts, ideal, fault): as `wavefronts`, and the first access with an address that is negative, misaligned or
    reaches beyond shared_bytes, or None. With a fault the counts mean nothing.

    addresses: bytes, any ints [n, lanes]; mask: the active lanes that the instruction reads, bool [n or 1, lanes], None
    for all of them. Only those are looked at.
    """
    total = np.empty((2, len(addresses)), np.int64)
    for rows in chunks(len(addresses), _CHUNK):
        live = rows_of(mask, rows)
        clean = addresses_of(addresses[rows], live)
        fault = first_fault(instruction, clean, shared_bytes)
        if fault is not None:
            return *total, rows.start + fault
        total[:, rows] = _counts(instruction, clean, live)
    return *total, None


def chunks(n, size):
    """Slices of `size` that cover range(n)."""
    return [slice(start, start + size) for start in range(0, n, size)]


def first_fault(instruction, addresses, shared_bytes):
    """The first access with an address (int64 [n, lanes], 0 in idle lanes) that is negative, misaligned or reaches beyond
    shared_bytes, or None.

    As the last legal address is aligned, address | (last - address) is negative or has low bits for just these.
    """
    last, low = last_address(instruction, shared_bytes), instruction.bytes - 1
    marks = addresses | (last - addresses)
    seen = int(np.bitwise_or.reduce(marks, axis=None))
    if seen >= 0 and not seen & low:
        return None
    seen = np.bitwise_or.reduce(marks, axis=1)
    return int(np.argmax((seen < 0) | (seen & low != 0)))


def last_address(instruction, shared_bytes):
    """The highest byte address that an instruction may access."""
    return (shared_bytes // instruction.bytes - 1) * instruction.bytes


def _counts(instruction, addresses, active):
    """[wavefronts, ideal] of a chunk, int64 [2, n]; active: None for all lanes."""
    keys = lane_keys(addresses, active, instruction.bytes, instruction.merges)
    banks = instruction.banks * WORD_BYTES // max(instruction.bytes, WORD_BYTES)
    total = _of_groups(keys, instruction.groups, banks)
    if instruction.paired_groups:
        merged, = paired(keys).nonzero()
        if merged.size:
            total[:, merged] = _of_groups(keys[merged], instruction.paired_groups, banks)
    if instruction.times > 1:
        total[0] *= instruction.times
    return total


def lane_keys(addresses, active, access_bytes, merges):
    """One int32 per lane, equal where lanes share what they want: the word, and, where equal words do not merge, the
    lane; -1 in idle lanes; [n, lanes]. active: bool [n or 1, lanes], None for all."""
    keys = (addresses >> max(access_bytes, WORD_BYTES).bit_length() - 1).astype(np.int32)
    if not merges:
        keys |= np.arange(keys.shape[1], dtype=np.int32) << _LANE_BIT
    return keys if active is None else np.where(active, keys, _IDLE)


def _of_groups(keys, groups, banks):
    """[wavefronts, groups with an active lane] of accesses served in the lane groups given, int64 [2, n].

    With the number of the lane's group below the word, the lowest bits of a key say in which queue it waits, and equal
    words of a group are equal keys, which sorting brings together: each step to another key is one more word that waits.
    """
    n, (bits, numbers) = len(keys), _numbered(groups, keys.shape[1])
    ordered = keys << bits | numbers
    ordered.sort(axis=1)
    waits = ordered >= 0
    waits[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    queue = (ordered & (banks << bits) - 1) * n + _NUMBER[:n]
    lengths = np.bincount(queue[waits], minlength=(banks << bits) * n).reshape(banks, 1 << bits, n)
    fullest = np.maximum.reduce(lengths)
    return np.add.reduce((fullest, fullest.astype(bool)), axis=1)


@lru_cache(64)
def _numbered(groups, lanes):
    """(bits that number the groups, int32 [lanes]: for each lane the number of its group, -1 where none has it)."""
    group_of = np.full(lanes, _IDLE)
    for number, group in enumerate(groups):
        group_of[list(group)] = number
    return (len(groups) - 1).bit_length(), group_of


def paired(keys):
    """Whether each access merges lane groups, bool [n]: 64-bit loads then take the warp at once, 128-bit ones halves.

    It does when every active lane has the same address as lane ^ 1, or that partner is inactive; or when this holds
    with lane ^ 2. The test is over the whole warp. Measured, not documented: not with ^ 3, and not with ^ 4.
    """
    most = np.maximum.reduce(_differences(keys), axis=2)
    return np.minimum(most[:, 0], most[:, 1]) <= 0


def partners_agree(keys, step):
    """For the 16 pairs (lane, lane ^ step), in order of their lower lane: same address, or one is inactive; [n, 16].
    step: 1 or 2."""
    return _differences(keys)[:, step - 1] <= 0


def _differences(keys):
    """For both steps and their pairs, int32 [n, 2, 16]: above 0 where both lanes are active and their keys differ. (Keys of
    active lanes have no sign bit, and that of an idle one is -1.)"""
    pairs = keys.take(_PAIRS, axis=1)
    return pairs[:, 0] ^ pairs[:, 1]
