"""A warp as its instruction twins see it: lanes, shared memory, asynchronous copies, barriers."""

from functools import lru_cache

import numpy as np

from simlayout.errors import AddressError, InstructionError, MachineError
from simlayout.machine.divergence import Lanes
from simlayout.machine.memory import lane_addresses
from simlayout.machine.tags import LANES

_LANE = np.arange(LANES)
_LANE.setflags(write=False)


@lru_cache(None)
def matrix_rows(instruction):
    """How many lanes give row addresses: 8 per matrix.

    >>> matrix_rows("ldmatrix.x2.trans")
    16
    """
    for part in instruction.split("."):
        if part in ("x1", "x2", "x4"):
            return 8 * int(part[1])
    raise InstructionError(f"{instruction!r} names no number of matrices: write x1, x2 or x4, as in ldmatrix.x4")


class Warp(Lanes):
    """32 lanes of a CTA. A twin is called as `twin(warp, *operands)`.

    tid: int64 [32], index in the CTA (x fastest); thread: its x, y and z, each int64 [32]; lane: int64 [32], 0..31;
    warp_index: int; index, grid, block: (x, y, z) of the CTA, the grid and the block; active: bool [32];
    cta: the Cta (its `.shared` is the SharedMemory).

    Every shared access checks bounds and alignment of the active lanes (AddressError) and is counted.
    Addresses are bytes, one per lane (int array [32]) or uniform (int). `instruction` is the PTX name to count.
    """

    def __init__(self, cta, warp_index):
        self.cta, self.warp_index, self.lane = cta, warp_index, _LANE
        self.tid = warp_index * LANES + _LANE
        self.tid.setflags(write=False)
        x, y, _ = cta.block
        self.thread = self.tid % x, self.tid // x % y, self.tid // (x * y)
        self.index, self.grid, self.block = cta.index, cta.grid, cta.block
        self.waiting = None                              # (ready: () -> bool, text) while blocked
        self.pause = None                                # set by the scheduler: gives the turn back
        self._open, self._groups = [], []                # cp.async: copies of the open group, closed groups
        super().__init__(self.tid < cta.threads)

    def __repr__(self):
        return f"warp {self.warp_index} of CTA {self.index}"

    def _mask(self):
        return None if self.whole else self.active

    def shared_load(self, instruction, addresses, nbytes):
        """Loads nbytes (1, 2, 4, 8 or 16) per lane: uint8 [32, nbytes], zeros in inactive lanes."""
        made = lane_addresses(addresses, instruction)
        data = self.cta.shared.read(instruction, made, nbytes, self._mask())
        self.record(instruction, addresses, made)
        return data

    def shared_store(self, instruction, addresses, data):
        """Stores uint8 [32, nbytes] in the active lanes."""
        made = lane_addresses(addresses, instruction)
        self.cta.shared.write(instruction, made, _lane_data(instruction, data), self._mask())
        self.record(instruction, addresses, made)

    def shared_rows(self, instruction, addresses):
        """ldmatrix: the 16-byte rows that lanes 0..8x-1 address, uint8 [8x, 16]; row r of matrix m is 8m + r."""
        made = self._row_addresses(instruction, addresses)
        rows = self.cta.shared.read(instruction, made[:matrix_rows(instruction)], 16, None)
        self.record(instruction, addresses, made)
        return rows

    def shared_store_rows(self, instruction, addresses, rows):
        """stmatrix: stores uint8 [8x, 16] rows where lanes 0..8x-1 point."""
        made = self._row_addresses(instruction, addresses)
        count = matrix_rows(instruction)
        if np.shape(rows) != (count, 16):
            raise InstructionError(f"{instruction}: stores uint8 rows of shape ({count}, 16), not {np.shape(rows)}")
        self.cta.shared.write(instruction, made[:count], rows, None)
        self.record(instruction, addresses, made)

    def _row_addresses(self, instruction, addresses):
        if not self.whole:
            self.require_convergence(instruction)
            raise MachineError(f"{instruction} needs all 32 lanes: launch blocks of a multiple of 32 threads")
        return lane_addresses(addresses, instruction)

    def record(self, instruction, addresses, lanes=None):
        """Counts one shared-memory warp instruction; shared_load and the others do so themselves.

        addresses: as the kernel gave them (their access name is read off); lanes: the same as int64 [32], if at hand.
        """
        lanes = lane_addresses(addresses, instruction) if lanes is None else lanes
        self.cta.recorder.add(instruction, getattr(addresses, "access", None), self.site, lanes, self._mask())

    def commit_copy(self, instruction, addresses, data):
        """cp.async: counted and read now; uint8 [32, nbytes] lands in shared memory as late as PTX allows.

        That is at the wait_group of this warp that covers it: a read before that sees the old bytes.
        """
        made = lane_addresses(addresses, instruction)
        data = np.array(_lane_data(instruction, data))
        self.cta.shared.check(instruction, made, data.shape[1], self._mask())      # a fault belongs to this line
        self.record(instruction, addresses, made)
        self._open.append((instruction, made.copy(), data, self._mask()))

    def commit_group(self):
        """cp.async.commit_group: closes the group of all copies since the last one (an empty group counts)."""
        self.require_convergence("cp.async.commit_group on the machine")
        self._groups.append(self._open)
        self._open = []

    def wait_group(self, pending):
        """cp.async.wait_group: lands all committed groups of this warp but the newest `pending` ones."""
        self.require_convergence("cp.async.wait_group on the machine")
        while len(self._groups) > pending:
            for instruction, addresses, data, mask in self._groups.pop(0):
                self.cta.shared.write(instruction, addresses, data, mask)

    def barrier(self, id=0, threads=None):
        """bar.sync id, threads: waits until that many threads of the CTA arrived (all of them by default)."""
        self.require_convergence(f"bar.sync {id}")
        self.block_until(*self.cta.barrier(id).arrive(self, threads))

    def block_until(self, ready, text):
        """Gives the turn to other warps until ready() is true; `text` says what is waited for."""
        if not ready():
            self.waiting = ready, text
            self.pause()
            self.waiting = None


def _lane_data(instruction, data):
    if getattr(data, "dtype", None) != np.uint8 or data.ndim != 2 or len(data) != LANES:
        shape = f"{getattr(data, 'dtype', type(data).__name__)} {np.shape(data)}"
        raise AddressError(f"{instruction}: stores uint8 of shape (32, bytes per lane), not {shape}")
    return data
