"""The arrays that the compiled loop works with, as it is passed them; those of a Program are `encode.Encoded`."""

from typing import NamedTuple

import numpy as np

from simlayout.hardware.tables.arch import LANES


class Held(NamedTuple):
    """The warps of a CTA.

    rows: uint64 [warps, n, 32], their registers, of which the last `program.ROOM` are scratch; places: int64 [warps, 6],
    where in this process shared, local and parameter memory are, and their bytes; who: int64 [warps, 7], see `doubts`.
    Of the parts of each warp (see `parts`): parts: int64 [warps], how many there are; at: int64 [warps, 32], the step where
    each is; masks: uint64 [warps, 32, 32], all ones for its lanes; ran: int64 [warps, 32], when it last ran, in steps of the
    warp. begun: int64 [warps], the steps that each warp has executed; left: how many it may execute now.
    """

    rows: np.ndarray
    places: np.ndarray
    who: np.ndarray
    parts: np.ndarray
    at: np.ndarray
    masks: np.ndarray
    ran: np.ndarray
    begun: np.ndarray
    left: np.ndarray


class Common(NamedTuple):
    """What all warps of a launch have in common.

    executed: int64 [steps], how often each was; ranges: int64 [n, 5], of the arrays: first address, bytes, where that is in
    this process, whether it may be written, and where it begins among all. state: int64 [3], what the loop says of what it
    did: see `executor.execute`. log_step, log_lanes, log_addresses: int64 [NOTED], uint32 [NOTED], int64 [NOTED, 32], the
    accesses of shared and global memory; log_used: int64 [1], how many they are. The rest is of `doubts`: who wrote and who
    read shared and global memory, empty where nobody looks.
    """

    executed: np.ndarray
    ranges: np.ndarray
    state: np.ndarray
    log_step: np.ndarray
    log_lanes: np.ndarray
    log_addresses: np.ndarray
    log_used: np.ndarray
    shared_wrote: np.ndarray
    shared_read: np.ndarray
    global_wrote: np.ndarray
    global_read: np.ndarray


def held_of(warps: int, rows: np.ndarray) -> Held:
    """A Held of so many warps. rows: uint64 [n, 32], the registers of each."""
    made = Held(np.empty((warps, *rows.shape), np.uint64), np.zeros((warps, 6), np.int64), np.zeros((warps, 7), np.int64),
                np.zeros(warps, np.int64), np.zeros((warps, LANES), np.int64), np.zeros((warps, LANES, LANES), np.uint64),
                np.zeros((warps, LANES), np.int64), np.zeros(warps, np.int64), np.zeros(warps, np.int64))
    made.rows[:] = rows
    return made
