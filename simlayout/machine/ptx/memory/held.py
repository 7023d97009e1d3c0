"""The arrays that the compiled loop works with; those of a Program are `encode.Encoded`.

The loop is passed of each group an int64 array with the addresses of its arrays (`numbers`), so that a call of it is quick;
whoever calls it keeps the arrays.
"""

from typing import NamedTuple

import numpy as np

from simlayout.hardware.tables.arch import LANES


class Held(NamedTuple):
    """The warps of a CTA.

    rows: uint64 [warps, n, 32], their registers, of which the last `program.ROOM` are scratch; places: int64 [warps, 6],
    where its memory is; who: int64 [warps, 9], with what its accesses are looked at; see below of both.
    Of the parts of each warp (see `parts`): parts: int64 [warps], how many there are; at: int64 [warps, 32], the step where
    each is; masks: uint64 [warps, 32, 32], all ones for its lanes; ran: int64 [warps, 32], when it last ran, in steps of the
    warp. begun: int64 [warps], the steps that each warp has executed; left: how many it may execute now; doing: what it
    does, see `together`. warps: how many there are. numbers: of all of these.
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
    doing: np.ndarray
    warps: int
    numbers: np.ndarray


ROWS, PLACES, WHO, PARTS, AT, MASKS, RAN, BEGUN, LEFT, DOING, WARPS = range(len(Held._fields) - 1)
"""Where `numbers` has them."""

PLACES_EACH, WHO_EACH = 6, 9
"""Numbers of each warp."""

SHARED_AT, SHARED_SIZE, LOCAL_AT, LOCAL_SIZE, PARAMETERS_AT, PARAMETERS_SIZE = range(PLACES_EACH)
"""Of `places`: where in this process shared memory, the local memory of the first lane and that of parameters begin, and how
many bytes each has, local memory for each lane."""

CELL, WROTE, CTA, INTERVAL, FIRST, ARRIVED, SYNCED, PARTED, GUARDED = range(WHO_EACH)
"""Of `who`, with which the accesses of a warp are looked at: log2 of the bytes of a cell of memory; where in this process
the flags are of what its lanes have written of their local memory, 0 for none; its CTA + 1, the interval between barriers
that it is in, from 1 on, its first thread; at how many barriers it has arrived otherwise than in the compiled loop, at
how many bar.warp.sync of all its lanes it has been, and at how many of some. All are 0 where nobody looks. And which sets
of accumulators have a guard, a bit each (see `lowering.accumulators`): the loop stops in front of a step that watches one
of them."""

(EXECUTED,                                               # int64 [steps], how often each was executed
 RANGES, ARRAYS,                                         # int64 [arrays, 5], where global memory is, and how many arrays
 EXECUTE,                                                # `enter.address_of_loop`
 STATE,                                                  # int64 [3], what the loop says of what it did
 LOG_STEP, LOG_LANES, LOG_ADDRESSES, LOG_USED, LOG_ROOM,  # accesses of shared and global memory, see Log
 SHARED_WROTE, SHARED_READ, SHARED_UPDATED, SHARED_BY, CELLS,    # as of `Doubts.shared_of`, and how many cells that are
 GLOBAL_WROTE, GLOBAL_READ, GLOBAL_UPDATED, GLOBAL_BY,   # `Doubts.everywhere`
 EQUAL, DOUBTED,                                         # of Doubts; the second may be 0
 UNWRITTEN_TIMES, UNWRITTEN_ORDER, UNWRITTEN_COUNT,      # of an Unwritten, or 0
 ORDERED,                                                # where a Look has what it is asked by (see `ordered`), or 0
 COMMON) = range(26)
"""The numbers of what all warps of a launch have in common: where in this process these arrays begin, and how long some are.
From SHARED_WROTE on they are 0 where nobody looks for hazards, and SHARED_UPDATED and GLOBAL_UPDATED where no atomic is. The
last one is how many there are."""

ARRAY_ADDRESS, ARRAY_SIZE, ARRAY_AT, ARRAY_WRITEABLE, ARRAY_CELLS, ARRAY_EACH = range(6)
"""Of RANGES, for each array (see `GlobalSpace.ranges`): its first address, its bytes, where that is in this process, whether
it may be written, and where its cells begin among those of all; and how many numbers that are."""

DONE, STORED, MAY_TELL = range(3)
"""Of STATE: how many steps it has executed; how many stores that others may see, until somebody asks; 1 where it stopped at
an access that may have something to tell of."""

WHOLE_GRID, WHOLE_CTA, ALL_PARTS, ONE_PART = range(4)
"""What `enter.enter` executes."""

ENDED, STOPS, FULL, ENOUGH = range(4)
"""What a CTA does: all its threads have ended; a warp stands at a step that is not compiled, or needs to be looked at; no
more accesses can be noted; a warp has executed all that it may."""

NEXT_CTA, HAS_BEGUN, OF_ENDED = range(3)
"""Where a grid is: which CTA is next, whether that has begun, and the steps of those that have ended meanwhile."""


class Start(NamedTuple):
    """How a CTA begins.

    size: int64 [3], the grid along x, y and z; fresh: int64, the rows that are zero then (see `fresh`); indices: int64
    [m, 2], the rows that have the CTA's index, and along which axis; masks: uint64 [warps, 32], the lanes that there
    are; at: int64 [2], the first step, and how many steps a warp may execute. shared_first: uint8, shared memory at the
    start; shared: uint8, local: uint8 [warps, 32, bytes], the memory itself; written, local_first: the same, what of
    local memory has been written, and what it is at the start. fresh_rows: how many rows are zero; numbered: how many
    have the index; shared_bytes, local_bytes: of all of the memory.
    """

    size: np.ndarray
    fresh: np.ndarray
    indices: np.ndarray
    masks: np.ndarray
    at: np.ndarray
    shared_first: np.ndarray
    shared: np.ndarray
    local: np.ndarray
    written: np.ndarray
    local_first: np.ndarray
    fresh_rows: int
    numbered: int
    shared_bytes: int
    local_bytes: int


(GRID, FRESH, INDICES, FIRST_MASKS, BEGINS, FIRST_SHARED, SHARED_MEMORY, LOCAL_MEMORY, LOCAL_WRITTEN, FIRST_LOCAL,
 FRESH_ROWS, NUMBERED, SHARED_BYTES, LOCAL_BYTES) = range(len(Start._fields))
"""Where `numbers` has them."""


class Log:
    """Room for `room` accesses: int64 steps, uint32 lanes, int64 [room, 32] addresses; used: int64 [1], how many.
    common: the numbers of a launch that notes its accesses here; state: int64 [3], see there. loop: where it is."""

    def __init__(self, room: int, loop: int):
        self.step, self.lanes = np.zeros(room, np.int64), np.zeros(room, np.uint32)
        self.addresses, self.used = np.zeros((room, LANES), np.int64), np.zeros(1, np.int64)
        self.state, self.common = np.zeros(3, np.int64), np.zeros(COMMON, np.int64)
        self.common[EXECUTE] = loop
        self.common[STATE:LOG_ROOM + 1] = numbers((self.state, self.step, self.lanes, self.addresses, self.used, room))


def numbers(group: tuple) -> np.ndarray:
    """int64 [fields]: where in this process the arrays of a group begin, and its numbers as they are."""
    return np.array([address_of(one) if isinstance(one, np.ndarray) else one for one in group], np.int64)


def address_of(array: np.ndarray) -> int:
    """Where in this process an array begins."""
    return array.__array_interface__["data"][0]


def held_of(warps: int, rows: np.ndarray) -> Held:
    """A Held of so many warps. rows: uint64 [n, 32], the registers of each."""
    parts, begun, left, doing = (np.zeros(warps, np.int64) for _ in range(4))
    made = Held(np.empty((warps, *rows.shape), np.uint64), np.zeros((warps, PLACES_EACH), np.int64),
                np.zeros((warps, WHO_EACH), np.int64), parts, np.zeros((warps, LANES), np.int64),
                np.zeros((warps, LANES, LANES), np.uint64), np.zeros((warps, LANES), np.int64), begun, left, doing, warps,
                np.zeros(0, np.int64))
    made.rows[:] = rows
    return made._replace(numbers=numbers(made[:-1]))
