"""The bank model: from the byte addresses of a warp to wavefronts.

Shared memory has 32 banks of 4-byte words; word w lies in bank w % 32. One wavefront takes at most one word from each
bank, so a group of lanes that is served together needs as many wavefronts as its fullest bank has words. Lanes that
touch the same word share it (or, for atomics and cp.async, queue for it: then every lane counts).

An aligned access of 8 or 16 bytes covers 2 or 4 whole neighbouring banks, so it is counted as one wide word in one of
16 or 8 wide banks: the counts are the same and the arrays are shorter.
"""

import numpy as np

BANKS = 32
WORD_BYTES = 4
_CHUNK = 8192  # accesses at a time: memory stays flat, and the arrays stay in the cache
_BANK_BIT, _LINE_BIT = 25, 5  # of a key: bank, then line (row of words, < 2**20), then lane
_IDLE = BANKS << _BANK_BIT


def wavefronts(instruction, addresses, active):
    """(wavefronts, ideal) of n accesses of a warp, int64 [n] each.

    instruction: a row of INSTRUCTIONS. addresses: bytes, int [n, 32]; active: bool [n, 32]. Both are trusted:
    `analyze` checks them. Ideal is the number of lane groups, after pair merging, that have an active lane.
    """
    total = np.zeros((2, len(addresses)), np.int64)
    for start in range(0, len(addresses), _CHUNK):
        chunk, live = addresses[start:start + _CHUNK], active[start:start + _CHUNK]
        keys = lane_keys(chunk, live, instruction.bytes, instruction.merges)
        total[:, start:start + _CHUNK] = _of_groups(keys, instruction.groups)
        if instruction.paired_groups:
            merged = np.flatnonzero(paired(keys))
            total[:, start + merged] = _of_groups(keys[merged], instruction.paired_groups)
    total[0] *= instruction.times
    return total[0], total[1]


def lane_keys(addresses, active, access_bytes, merges):
    """One int32 per lane that says where it goes: bank, line, and, where equal words do not merge, lane; [n, 32]."""
    word_bytes = max(access_bytes, WORD_BYTES)
    banks = BANKS * WORD_BYTES // word_bytes
    word = addresses.astype(np.int32) // word_bytes
    keys = (word & banks - 1) << _BANK_BIT | (word // banks) << _LINE_BIT
    if not merges:
        keys |= np.arange(keys.shape[1], dtype=np.int32)
    return np.where(active, keys, _IDLE)


def _of_groups(keys, groups):
    """(wavefronts, groups with an active lane) of accesses served in the lane groups given, int [n] each.

    In order of their keys, the words of a bank stand side by side, and each step to another key is one more distinct
    word. Idle lanes all hold one word of an extra bank: a single pass, which never exceeds that of the others.
    """
    ordered = np.sort(np.take(keys, groups, axis=1), axis=-1)
    first, *others = np.ascontiguousarray(np.moveaxis(ordered, -1, 0))
    words = fullest = np.ones(first.shape, np.int8)
    before = first
    for key in others:
        words = words * (key >> _BANK_BIT == before >> _BANK_BIT) + (key != before)
        fullest = np.maximum(fullest, words)
        before = key
    occupied = first != _IDLE
    return (fullest * occupied).sum(axis=1), occupied.sum(axis=1)


def paired(keys):
    """Whether each access merges lane groups, bool [n]: 64-bit loads then take the warp at once, 128-bit ones halves.

    It does when every active lane has the same address as lane ^ 1, or that partner is inactive; or when this holds
    with lane ^ 2. The test is over the whole warp. Measured, not documented: not with ^ 3, and not with ^ 4.
    """
    return partners_agree(keys, 1).all(axis=1) | partners_agree(keys, 2).all(axis=1)


def partners_agree(keys, step):
    """For the 16 pairs (lane, lane ^ step), in order of their lower lane: same address, or one is inactive; [n, 16]."""
    pairs = keys.reshape(len(keys), -1, 2, step)
    lower, upper = pairs[:, :, 0], pairs[:, :, 1]
    return ((lower == upper) | (lower == _IDLE) | (upper == _IDLE)).reshape(len(keys), -1)
