"""Atomics that are loops: floating-point addition, and every 64-bit operation but exch and cas.

ptxas makes `load; compute; ATOMS.CAST.SPIN; repeat the lanes that failed` of them. A round sends each lane group with
pending lanes through the banks twice. In each bank of a group only the lowest pending lane can succeed, and it fails
if another group has changed its value in the same round. Measured, not documented: see `records`.
"""

from dataclasses import replace

import numpy as np

from simlayout.hardware.banks import model
from simlayout.hardware.banks.counts import Count, occupied
from simlayout.hardware.tables.instructions import INSTRUCTIONS, SKIPPED

_LOADS = {4: "ld.shared.b32", 8: "ld.shared.b64"}


def retried(row, addresses, active, sources=None, valid=None):
    """Count of a retried atomic; addresses: bytes [n, 32]; active: bool [n, 32].

    The number is that of an operation that changes every value (add of anything but zero). `loads` are the wavefronts
    of the loop's own loads, counted under ld.
    """
    wavefronts, loads = _totals(row, addresses, active, changes=True)
    least, most = wavefronts, wavefronts
    if row.caveat == SKIPPED:
        least, most = 0 * wavefronts, np.maximum(wavefronts, _most_of_skipped(row, addresses, active))
    elif row.caveat:
        least = np.minimum(wavefronts, _totals(row, addresses, active, changes=False)[0])
    return replace(Count.exactly(wavefronts, occupied(row, active)), at_least=least, at_most=most, loads=loads)


def rounds(row, addresses, active, changes=True):
    """The rounds of n accesses at once, each as (lanes that try, lanes that succeed), bool [n, 32].

    changes: whether the operation changes every value.
    """
    pending = active
    while pending.any():
        succeeded = np.zeros_like(pending)
        for group in map(list, row.groups):
            lanes = pending[:, group]
            first = lanes & _first_of_its_bank(addresses[:, group], lanes, row.bytes)
            if changes:
                first &= ~_touched(addresses[:, group], addresses, succeeded)
            succeeded[:, group] = first
        yield pending, succeeded
        pending = pending & ~succeeded


def exchanges(row, pending):
    """Wavefronts of the exchanges in one round: `times` for every lane group with pending lanes; int64 [n]."""
    return row.times * occupied(row, pending)


def _totals(row, addresses, active, changes):
    """(wavefronts of the exchanges, of the loads), int64 [n]."""
    load = INSTRUCTIONS[_LOADS[row.bytes]]
    exchanged, loaded = np.zeros((2, len(addresses)), np.int64)
    for pending, _ in rounds(row, addresses, active, changes):
        loaded += model.wavefronts(load, addresses, pending)[0]
        exchanged += exchanges(row, pending)
    return exchanged, loaded


def _most_of_skipped(row, addresses, active):
    """Wavefronts that no loop exceeds, whichever lanes skip their exchange; int64 [n].

    A lane that skips lets the next one of its bank go first, which may then change a value that a lane of a later group
    wants in the same round. So a group has no more rounds than one of its banks has lanes, and lanes of earlier groups that
    want an address of the group's own: each of these makes a lane fail once at most.
    """
    bank, total = addresses // row.bytes % (128 // row.bytes), np.zeros(len(addresses), np.int64)
    earlier = np.zeros(addresses.shape[1], bool)
    for group in map(list, row.groups):
        mine = np.zeros_like(active)
        mine[:, group] = active[:, group]
        wanted = ((addresses[:, :, None] == addresses[:, None, :]) & mine[:, None, :]).any(axis=2)
        slow = mine | (active & wanted & earlier)
        lanes = ((bank[:, :, None] == bank[:, None, :]) & slow[:, None, :]).sum(axis=2)
        total += np.where(mine, lanes, 0).max(axis=1)
        earlier[group] = True
    return row.times * total


def _first_of_its_bank(addresses, live, width):
    """Whether no lower live lane of the group has the same bank, bool [n, lanes]."""
    bank = addresses // width % (128 // width)
    earlier = np.tri(addresses.shape[1], k=-1, dtype=bool)
    return ~((bank[:, :, None] == bank[:, None, :]) & live[:, None, :] & earlier).any(axis=2)


def _touched(addresses, all_addresses, succeeded):
    """Whether a lane that has succeeded this round holds the same address, bool [n, lanes]."""
    return ((addresses[:, :, None] == all_addresses[:, None, :]) & succeeded[:, None, :]).any(axis=2)
